/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_client.c - finds a recorder, and asks it. See control.h.
 *
 * A process is recorded by an ancestor of its, so the first one upwards that has such a socket is
 * the recorder; one that was left behind by its parent has to be named by its recorder.
 */
#include "control/control.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/proc_file.h"

#define ANSWER_SECONDS 5
/* A file of the heap is made of all that was recorded so far. */
#define FILE_SECONDS 600
/* For all of them together: any process may have made sockets of these names, and may let callers
 * wait. */
#define CONNECT_NS 1000000000ull
#define ANCESTORS_MAX 64
#define FOUND_MAX 8u

socklen_t kymo_control_address(pid_t pid, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int len = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, KYMO_CONTROL_NAME "%d",
                       (int)pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* Waits for a place until then; where that is over, takes one only if it is there at once. */
static int connect_until(int fd, uint64_t deadline_ns, const struct sockaddr_un *address,
                         socklen_t size)
{
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    uint64_t left_us = now_ns < deadline_ns ? (deadline_ns - now_ns) / 1000 : 0;
    struct timeval patience = {(time_t)(left_us / 1000000), (suseconds_t)(left_us % 1000000)};
    if (left_us == 0)
        patience.tv_usec = 1; /* 0 is for ever */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return connect(fd, (const struct sockaddr *)address, size) == 0;
}

/* A connection to the socket of that process id, if that very process has it; -1: there is none.
 * Whose it is else is not to hear what we ask. */
static int connect_to(pid_t pid, uint64_t deadline_ns)
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
    if (connect_until(fd, deadline_ns, &address, size) &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &from, &len) == 0 && from.pid == pid &&
        (from.uid == geteuid() || from.uid == 0 || geteuid() == 0))
        return fd;
    close(fd);
    return -1;
}

static int find_ancestor(pid_t pid, kymo_error *detail)
{
    pid_t at = pid;
    uint64_t deadline_ns = kymo_clock_ns(CLOCK_MONOTONIC) + CONNECT_NS;
    for (int i = 0; i < ANCESTORS_MAX && at > 0; i++, at = (pid_t)kymo_proc_stat(at, 4)) {
        int fd = connect_to(at, deadline_ns);
        if (fd >= 0)
            return fd;
    }
    kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                   "process %d is no recorder that may be asked, nor recorded by one", (int)pid);
    return -1;
}

struct found {
    pid_t pids[FOUND_MAX];
    uint32_t n;
    int fd; /* of the first; -1: none */
};

static int is_found(const struct found *found, pid_t pid)
{
    for (uint32_t i = 0; i < found->n; i++)
        if (found->pids[i] == pid)
            return 1;
    return 0;
}

/* Finds the recorders that may be asked, among all names of recorders' sockets. The names
 * themselves are not counted, since any process may make them. */
static void find_recorders(struct found *found)
{
    char line[512];
    uint64_t deadline_ns = kymo_clock_ns(CLOCK_MONOTONIC) + CONNECT_NS;
    FILE *f = fopen("/proc/net/unix", "re");
    if (!f)
        return;
    while (found->n < FOUND_MAX && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, " @" KYMO_CONTROL_NAME);
        pid_t pid = at ? (pid_t)strtol(at + 2 + strlen(KYMO_CONTROL_NAME), NULL, 10) : 0;
        int fd = pid > 0 && !is_found(found, pid) ? connect_to(pid, deadline_ns) : -1;
        if (fd < 0)
            continue;
        found->pids[found->n++] = pid;
        if (found->fd < 0)
            found->fd = fd;
        else
            close(fd);
    }
    fclose(f);
}

static int find_only(kymo_error *detail)
{
    struct found found = {.fd = -1};
    char several[FOUND_MAX * 12] = "";
    find_recorders(&found);
    if (found.n == 1)
        return found.fd;
    for (uint32_t i = 0; i < found.n; i++) {
        size_t len = strlen(several);
        snprintf(several + len, sizeof several - len, "%s%d", i ? ", " : "", (int)found.pids[i]);
    }
    if (found.n) {
        close(found.fd);
        kymo_error_set(detail, KYMO_E_INVALID, 0, "several recorders run (%s): say which with -p",
                       several);
    } else {
        kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "no recorder runs that may be asked");
    }
    return -1;
}

/* ---- the request ---- */

kymo_err kymo_control_send(int connection, const struct kymo_control_answer *answer, int file)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)answer, sizeof *answer};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (file >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof file);
        memcpy(CMSG_DATA(head), &file, sizeof file);
    }
    ssize_t n = sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n == (ssize_t)sizeof *answer ? KYMO_OK : kymo_err_from_errno(errno);
}

static ssize_t receive(int fd, struct kymo_control_answer *answer, int *file)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec part = {answer, sizeof *answer};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n;
    do {
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof *file))
        memcpy(file, CMSG_DATA(head), sizeof *file);
    return n;
}

static kymo_err refused(const struct kymo_control_request *request, kymo_err err,
                        kymo_error *detail)
{
    if (request->what == KYMO_CONTROL_FLUSH && err == KYMO_E_UNSUPPORTED)
        return kymo_error_set(detail, err, 0,
                              "there is nothing to flush to: kymo record writes one file at the "
                              "end (kymo control snapshot -o FILE writes the recording so far)");
    if (request->what == KYMO_CONTROL_WALL && err == KYMO_E_UNSUPPORTED)
        return kymo_error_set(detail, err, 0,
                              "wall time is not recorded there (kymo record --wall)");
    if (request->what == KYMO_CONTROL_SET && err == KYMO_E_UNSUPPORTED)
        return kymo_error_set(
            detail, err, 0,
            "kymo record has no settings to change but by cpu=, wall=, alloc= and "
            "markers=");
    if (err == KYMO_E_FULL && kymo_control_makes_file(request->what))
        return kymo_error_set(detail, err, 0,
                              "the recorder makes other files at the moment: ask again");
    if (request->what == KYMO_CONTROL_MARKERS || request->what == KYMO_CONTROL_SNAPSHOT ||
        (err != KYMO_E_UNSUPPORTED && err != KYMO_E_NOT_FOUND))
        return kymo_error_set(detail, err, 0, "the recorder refuses: %s", kymo_err_text(err));
    if (err == KYMO_E_NOT_FOUND)
        return kymo_error_set(detail, err, 0, "process %d is not recorded", (int)request->pid);
    if (request->what == KYMO_CONTROL_PROFILE && request->show == KYMO_CONTROL_SHOW_WALL)
        return kymo_error_set(detail, err, 0, "elapsed time is not recorded there (--wall)");
    if (request->what == KYMO_CONTROL_PROFILE && request->show != KYMO_CONTROL_SHOW_ALLOC)
        return kymo_error_set(detail, err, 0,
                              "the recorder keeps the newest events alone (--ring)");
    return kymo_error_set(detail, err, 0,
                          "allocations are not recorded there (kymo record --alloc)");
}

int kymo_control_begin(pid_t pid, const struct kymo_control_request *asked, kymo_error *detail)
{
    struct kymo_control_request request = *asked;
    const struct timeval patience = {.tv_sec =
                                         FILE_SECONDS + (time_t)(asked->duration_ns / 1000000000)};
    request.magic = KYMO_CONTROL_MAGIC;
    int fd = pid ? find_ancestor(pid, detail) : find_only(detail);
    if (fd >= 0 && kymo_control_takes_long(request.what))
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    /* A recorder that hangs up is noticed when the answer is read. */
    if (fd >= 0)
        (void)!send(fd, &request, sizeof request, MSG_NOSIGNAL);
    return fd;
}

kymo_err kymo_control_end(int fd, const struct kymo_control_request *request,
                          struct kymo_control_answer *answer, int *file, kymo_error *detail)
{
    int sent = -1;
    kymo_err err = KYMO_OK;
    ssize_t n = receive(fd, answer, &sent);
    if (n == 0 || (n < 0 && (errno == ECONNRESET || errno == EPIPE)))
        err = kymo_error_set(detail, KYMO_E_PERMISSION, 0,
                             "the recorder hung up: it is another user's or of another version, "
                             "it has ended, or too many ask at once: then ask again");
    else if (n < 0)
        err = kymo_error_set_errno(detail, "the recorder does not answer");
    else if (n != (ssize_t)sizeof *answer || answer->magic != KYMO_CONTROL_MAGIC)
        err = kymo_error_set(detail, KYMO_E_VERSION, 0, "the recorder is of another version");
    else if (answer->error != KYMO_OK)
        err = refused(request, (kymo_err)answer->error, detail);
    else if (kymo_control_is_for_file(request->what) && sent < 0)
        err = kymo_error_set(detail, KYMO_E_IO, 0, "the recorder's file did not arrive");
    close(fd);
    if (file && err == KYMO_OK)
        *file = sent;
    else if (sent >= 0)
        close(sent);
    return err;
}

kymo_err kymo_control_ask(pid_t pid, const struct kymo_control_request *request,
                          struct kymo_control_answer *answer, int *file, kymo_error *detail)
{
    int fd = kymo_control_begin(pid, request, detail);
    return fd < 0 ? KYMO_E_NOT_FOUND : kymo_control_end(fd, request, answer, file, detail);
}
