/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_relatives.c - finds processes of the tree that have not attached: forked children without
 * activity, and programs that the loader has not finished with.
 *
 * They are found by the name of our socket, which is in two places. A started program has it in its
 * environment until the library has attached. A forked process has a mapping that is named after
 * the socket: the header of its parent's session (capture/family.h). All of /proc is searched, so
 * this is done only after all attached processes have ended, and only if one of them ever forked or
 * started a program. Processes that began before the recorder are skipped: that is nearly all of a
 * machine's processes, and reading their mappings is slow.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "buffer/attach.h"
#include "observe/task.h"
#include "recorder/tree_state.h"
#include "sys/proc_file.h"

/* Limit of a /proc file that is searched: 65,530 mappings, the kernel's limit, take some 7 MiB. */
#define FILE_BYTES_MAX (32u << 20)
#define CHUNK_BYTES (64u << 10)
#define RELATIVES_MAX 1024u

void kymo_tree_forget_relatives(kymo_tree *t, pid_t pid)
{
    for (size_t i = t->relatives.len; i-- > 0;) {
        struct kymo_tree_relative *r = t->relatives.data[i];
        if (pid != 0 && r->pid != pid)
            continue;
        t->relatives.data[i] = t->relatives.data[--t->relatives.len];
        kymo_poller_remove(t->poller, &r->end);
        close(r->end.fd);
        free(r);
    }
}

static kymo_err on_end(void *context)
{
    struct kymo_tree_relative *r = context;
    kymo_tree_forget_relatives(r->tree, r->pid);
    return KYMO_OK;
}

static void wait_for(kymo_tree *t, pid_t pid)
{
    struct kymo_tree_relative *r = calloc(1, sizeof *r);
    if (!r || t->relatives.len == RELATIVES_MAX || kymo_vec_reserve(&t->relatives, 1) != KYMO_OK) {
        free(r);
        return;
    }
    r->tree = t;
    r->pid = pid;
    r->end = (struct kymo_poll_source){(int)syscall(SYS_pidfd_open, pid, 0), on_end, r};
    if (r->end.fd < 0 || kymo_poller_add(t->poller, &r->end) != KYMO_OK) {
        if (r->end.fd >= 0)
            close(r->end.fd);
        free(r);
        return;
    }
    t->relatives.data[t->relatives.len++] = r;
}

/* Whether our user started the process: a setuid program of another user also runs as root. */
static int is_our_users(pid_t pid)
{
    static const char sign[] = "\nUid:\t";
    char text[2048];
    const char *at = kymo_proc_file_read(text, sizeof text, "/proc/%d/status", (int)pid)
                         ? strstr(text, sign)
                         : NULL;
    return at && strtoul(at + sizeof sign - 1, NULL, 10) == geteuid();
}

/* Whether a /proc file of the process contains the sign; buffer: CHUNK_BYTES. */
static int has_sign(pid_t pid, const char *file, const char *sign, char *buffer)
{
    char path[64];
    size_t sign_len = strlen(sign);
    size_t len = 0;
    size_t seen = 0;
    ssize_t n;
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    while (!found && seen < FILE_BYTES_MAX && (n = read(fd, buffer + len, CHUNK_BYTES - len)) > 0) {
        seen += (size_t)n;
        len += (size_t)n;
        found = memmem(buffer, len, sign, sign_len) != NULL;
        /* It may span two reads. */
        size_t kept = len < sign_len ? len : sign_len - 1;
        memmove(buffer, buffer + len - kept, kept);
        len = kept;
    }
    close(fd);
    return found;
}

/* What identifies relatives. */
struct signs {
    uint64_t since_ticks; /* relatives are not older than this */
    char environment[sizeof KYMO_ATTACH_ENV + KYMO_ATTACH_NAME_MAX + 1];
    char mapping[160];
};

/* A process of another user must also descend from the program. The socket's name is public
 * (/proc/net/unix): any process with that name in its environment or in the name of its memory
 * could otherwise prevent the recording from ending. Its memory is read only after the check of
 * its descent: reading may block on a file system of that user. The recorder itself maps a
 * session that no process has taken yet. */
static int is_relative(const kymo_tree *t, pid_t pid, const struct signs *signs, char *buffer)
{
    return pid != getpid() && kymo_task_start_ticks(pid) >= signs->since_ticks &&
           (is_our_users(pid) || kymo_tree_is_descendant(t, pid)) &&
           (has_sign(pid, "environ", signs->environment, buffer) ||
            has_sign(pid, "maps", signs->mapping, buffer));
}

kymo_err kymo_tree_look_for_more(kymo_tree *t)
{
    struct signs signs = {.since_ticks = kymo_task_start_ticks(getpid())};
    char name[128];
    if (!t->has_relatives || t->stopped || kymo_tree_alive(t) > 0 ||
        !(t->config.flags & KYMO_SESSION_CHILDREN))
        return KYMO_OK;
    snprintf(signs.environment, sizeof signs.environment, KYMO_ATTACH_ENV "=%s", t->server.name);
    kymo_host_memory_name(t->server.name, name, sizeof name);
    snprintf(signs.mapping, sizeof signs.mapping, " /memfd:%s (deleted)\n", name);
    char *buffer = malloc(CHUNK_BYTES);
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    while (buffer && dir && (entry = readdir(dir))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && is_relative(t, pid, &signs, buffer))
            wait_for(t, pid);
    }
    if (dir)
        closedir(dir);
    free(buffer);
    return KYMO_OK;
}
