/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_client.c - finds a recorder, and asks it. See control.h.
 *
 * A process is recorded by an ancestor of its, so the first one upwards that has such a socket is
 * the recorder; one that was left behind by its parent has to be named by its recorder.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "recorder/control.h"

#define ANSWER_SECONDS 5
#define ANCESTORS_MAX 64
#define FOUND_MAX 8u

socklen_t kymo_control_address(pid_t pid, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int len = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, KYMO_CONTROL_NAME "%d",
                       (int)pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* A connection to the socket of that process id, if that very process has it; -1: there is none.
 * Whose it is else is not to hear what we ask. */
static int connect_to(pid_t pid)
{
    struct sockaddr_un address;
    struct ucred from = {0};
    socklen_t len = sizeof from;
    const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
    socklen_t size = kymo_control_address(pid, &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (const struct sockaddr *)&address, size) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &from, &len) == 0 && from.pid == pid &&
        (from.uid == geteuid() || from.uid == 0 || geteuid() == 0))
        return fd;
    close(fd);
    return -1;
}

static pid_t parent_of(pid_t pid)
{
    char path[32];
    char line[1024];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    if (fgets(line, sizeof line, f)) {
        /* The name before it may hold anything, closing brackets as well. */
        const char *end = strrchr(line, ')');
        if (end)
            (void)sscanf(end + 1, " %*c %d", &parent);
    }
    fclose(f);
    return (pid_t)parent;
}

static int find_ancestor(pid_t pid, kymo_error *detail)
{
    pid_t at = pid;
    for (int i = 0; i < ANCESTORS_MAX && at > 0; i++, at = parent_of(at)) {
        int fd = connect_to(at);
        if (fd >= 0)
            return fd;
    }
    kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                   "process %d is no recorder that may be asked, nor recorded by one", (int)pid);
    return -1;
}

/* The process ids in the names of all sockets of recorders; how many. */
static uint32_t list_recorders(pid_t found[FOUND_MAX])
{
    char line[512];
    uint32_t n = 0;
    FILE *f = fopen("/proc/net/unix", "re");
    if (!f)
        return 0;
    while (n < FOUND_MAX && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, " @" KYMO_CONTROL_NAME);
        pid_t pid = at ? (pid_t)strtol(at + 2 + strlen(KYMO_CONTROL_NAME), NULL, 10) : 0;
        uint32_t i = 0;
        while (i < n && found[i] != pid)
            i++;
        if (pid > 0 && i == n)
            found[n++] = pid;
    }
    fclose(f);
    return n;
}

static int find_only(kymo_error *detail)
{
    pid_t found[FOUND_MAX];
    char several[FOUND_MAX * 12] = "";
    int only = -1;
    uint32_t answering = 0;
    uint32_t n = list_recorders(found);
    for (uint32_t i = 0; i < n; i++) {
        int fd = connect_to(found[i]);
        if (fd < 0)
            continue;
        size_t len = strlen(several);
        snprintf(several + len, sizeof several - len, "%s%d", answering ? ", " : "", (int)found[i]);
        if (answering++)
            close(fd);
        else
            only = fd;
    }
    if (answering == 1)
        return only;
    if (only >= 0)
        close(only);
    if (answering)
        kymo_error_set(detail, KYMO_E_INVALID, 0, "several recorders run (%s): say which with -p",
                       several);
    else
        kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "no recorder runs that may be asked");
    return -1;
}

kymo_err kymo_control_ask(pid_t pid, const char *markers, struct kymo_control_answer *answer,
                          kymo_error *detail)
{
    struct kymo_control_request request = {.magic = KYMO_CONTROL_MAGIC};
    size_t len = strlen(markers);
    if (len >= sizeof request.markers)
        return kymo_error_set(detail, KYMO_E_TOO_BIG, 0, "a list of more than %zu bytes",
                              sizeof request.markers - 1);
    memcpy(request.markers, markers, len);
    int fd = pid ? find_ancestor(pid, detail) : find_only(detail);
    if (fd < 0)
        return KYMO_E_NOT_FOUND;
    kymo_err err = KYMO_OK;
    ssize_t n = -1;
    if (send(fd, &request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request)
        n = recv(fd, answer, sizeof *answer, 0);
    if (n == 0 || (n < 0 && (errno == ECONNRESET || errno == EPIPE)))
        err = kymo_error_set(detail, KYMO_E_PERMISSION, 0,
                             "the recorder hung up: it is another user's, or of another version");
    else if (n < 0)
        err = kymo_error_set_errno(detail, "the recorder does not answer");
    else if (n != (ssize_t)sizeof *answer || answer->magic != KYMO_CONTROL_MAGIC)
        err = kymo_error_set(detail, KYMO_E_VERSION, 0, "the recorder is of another version");
    else if (answer->error != KYMO_OK)
        err = kymo_error_set(detail, (kymo_err)answer->error, 0, "the recorder refuses: %s",
                             kymo_err_text((kymo_err)answer->error));
    close(fd);
    return err;
}
