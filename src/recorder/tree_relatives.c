/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_relatives.c - processes of the tree that have not attached: forked ones that slept until
 * now, and programs that the loader is still busy with.
 *
 * They are known by the name of our socket, which is in two places. A program that was started has
 * it in its environment, until the library has attached. A forked process has a mapping that its
 * parent's session, the memory of which is named after the socket, leaves to it: the header
 * (capture/family.h). All of /proc is looked at, so only when those that have attached are gone,
 * and if one of them ever started something. What began before we did is no relative: that is
 * nearly all of a machine's processes, whose mappings the kernel would print for us.
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

/* Of a file of /proc that is looked through: 65,530 mappings, which is what the kernel allows, have
 * some 7 MiB. */
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

/* Whether the process was started by our user: a setuid program of another's runs as root, too. */
static int is_our_users(pid_t pid)
{
    static const char sign[] = "\nUid:\t";
    char text[2048];
    const char *at = kymo_proc_file_read(text, sizeof text, "/proc/%d/status", (int)pid)
                         ? strstr(text, sign)
                         : NULL;
    return at && strtoul(at + sizeof sign - 1, NULL, 10) == geteuid();
}

/* Whether that file of a process in /proc has the sign; buffer: of CHUNK_BYTES. */
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
        /* It may straddle two reads. */
        size_t kept = len < sign_len ? len : sign_len - 1;
        memmove(buffer, buffer + len - kept, kept);
        len = kept;
    }
    close(fd);
    return found;
}

/* By what relatives are known. */
struct signs {
    uint64_t since_ticks; /* none is older */
    char environment[sizeof KYMO_ATTACH_ENV + KYMO_ATTACH_NAME_MAX + 1];
    char mapping[160];
};

/* A process of another user must descend from the program, too. The name of the socket is public
 * (/proc/net/unix): any process with that name in its environment, or in the name of its memory,
 * would keep the recording from its end. The memory of such a process is not read before its
 * descent is known: it may be a file of that user's file system, which need not answer. The
 * recorder itself maps a session that no process has taken yet. */
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
