/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_relatives.c - processes of the tree that have not attached: forked ones that slept until
 * now, and programs that the loader is still busy with.
 *
 * They are known by the name of our socket in the environment that they were started with, or that
 * the one was from which they were forked: it stays in the memory that /proc shows, also where the
 * library has taken it out of what the program sees. All of /proc is looked at, so only when those
 * that have attached are gone, and if one of them ever started something.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "buffer/attach.h"
#include "recorder/tree_state.h"

#define ENVIRONMENT_BYTES_MAX (2u << 20)
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

/* Whether this process was started with our socket's name; buffer has room for the environment. */
static int is_relative(pid_t pid, const char *sign, char *buffer)
{
    char path[64];
    size_t len = 0;
    ssize_t n;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    while (len < ENVIRONMENT_BYTES_MAX &&
           (n = read(fd, buffer + len, ENVIRONMENT_BYTES_MAX - len)) > 0)
        len += (size_t)n;
    close(fd);
    return memmem(buffer, len, sign, strlen(sign)) != NULL;
}

kymo_err kymo_tree_look_for_more(kymo_tree *t)
{
    char sign[sizeof KYMO_ATTACH_ENV + sizeof t->server.name];
    if (!t->has_relatives || t->stopped || !(t->config.flags & KYMO_SESSION_CHILDREN))
        return KYMO_OK;
    snprintf(sign, sizeof sign, KYMO_ATTACH_ENV "=%s", t->server.name);
    char *buffer = malloc(ENVIRONMENT_BYTES_MAX);
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    while (buffer && dir && (entry = readdir(dir))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && is_relative(pid, sign, buffer))
            wait_for(t, pid);
    }
    if (dir)
        closedir(dir);
    free(buffer);
    return KYMO_OK;
}
