/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reports.c - see reports.h.
 *
 * A socket and a thread of their own: a callback may take as long as it wants, while the agent's
 * link is answered.
 */
#include "start/reports.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "buffer/agent_report.h"
#include "capture/hooks.h"
#include "sys/raw.h"

/* glibc's own: one that is blocked would have setuid() in another thread wait for ever. */
#define SIGNALS_OF_LIBC (3ull << 31)

struct kymo_reports {
    int socket;
    pthread_t thread;
    uint32_t is_left; /* by the thread or by its owner: the second one frees */
    kymo_report_fn *report;
    void *data;
    struct {
        struct kymo_agent_report head;
        char metadata[KYMO_AGENT_REPORT_METADATA_MAX + 1];
    } message;
};

static void leave(struct kymo_reports *r)
{
    if (kymo_exchange_acq_rel(&r->is_left, 1u)) {
        close(r->socket);
        free(r);
    }
}

/* The descriptor that came with a message; -1: none. */
static int passed(struct msghdr *message)
{
    int fd = -1;
    const struct cmsghdr *c = CMSG_FIRSTHDR(message);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

/* The next report; 0: there are no more. */
static int hear(struct kymo_reports *r, int *fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {&r->message, sizeof r->message - 1};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n;
    do {
        n = recvmsg(r->socket, &message, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return 0;
    *fd = passed(&message);
    if (*fd < 0 || n < (ssize_t)sizeof r->message.head || message.msg_flags & MSG_TRUNC ||
        r->message.head.magic != KYMO_AGENT_REPORT_MAGIC) {
        if (*fd >= 0)
            close(*fd);
        return 0;
    }
    r->message.metadata[(size_t)n - sizeof r->message.head] = '\0';
    r->message.head.program[sizeof r->message.head.program - 1] = '\0';
    r->message.head.format[sizeof r->message.head.format - 1] = '\0';
    return 1;
}

static void hand_over(struct kymo_reports *r, int fd)
{
    const struct kymo_agent_report *from = &r->message.head;
    const kymo_agent_profile profile = {
        .size = sizeof profile,
        .is_last = from->is_last,
        .fd = fd,
        .format = from->format,
        .bytes = from->bytes,
        .start_ns = from->start_ns,
        .end_ns = from->end_ns,
        .interval_ns = from->interval_ns,
        .number = from->number,
        .lost_records = from->lost_records,
        .metadata = r->message.metadata,
        .program = from->program,
        .pid = from->pid,
    };
    const struct kymo_agent_report_answer answer = {
        .magic = KYMO_AGENT_REPORT_MAGIC,
        .id = from->id,
        .error = r->report(r->data, &profile),
    };
    close(fd);
    (void)!send(r->socket, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void *work(void *reports)
{
    struct kymo_reports *r = reports;
    int fd;
    (void)prctl(PR_SET_NAME, "kymo-reports", 0, 0, 0);
    while (hear(r, &fd))
        hand_over(r, fd);
    leave(r);
    return NULL;
}

/* Not by the name pthread_create: that is our hook, and the thread would be captured. */
static int make_thread(struct kymo_reports *r)
{
    __typeof__(pthread_create) *create = KYMO_REAL(pthread_create);
    const uint64_t blocked = ~SIGNALS_OF_LIBC;
    uint64_t mask;
    kymo_raw_set_mask(&blocked, &mask);
    int err = create(&r->thread, NULL, work, r);
    kymo_raw_set_mask(&mask, NULL);
    return err;
}

kymo_err kymo_reports_create(kymo_report_fn *report, void *data, struct kymo_reports **out,
                             int *agents_end, kymo_error *detail)
{
    int ends[2];
    struct kymo_reports *r = calloc(1, sizeof *r);
    if (!r)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for the reports");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        kymo_err err = kymo_error_set_errno(detail, "no socket for the reports");
        free(r);
        return err;
    }
    r->socket = ends[0];
    r->report = report;
    r->data = data;
    if ((errno = make_thread(r)) != 0) {
        kymo_err err = kymo_error_set_errno(detail, "no thread for the reports");
        close(ends[0]);
        close(ends[1]);
        free(r);
        return err;
    }
    *out = r;
    *agents_end = ends[1];
    return KYMO_OK;
}

void kymo_reports_end(struct kymo_reports *r, uint64_t until_ns)
{
    const struct timespec until = {(time_t)(until_ns / 1000000000u),
                                   (long)(until_ns % 1000000000u)};
    if (!r)
        return;
    (void)shutdown(r->socket, SHUT_RDWR);
    if (pthread_equal(r->thread, pthread_self()) ||
        pthread_clockjoin_np(r->thread, NULL, CLOCK_MONOTONIC, &until) != 0)
        (void)pthread_detach(r->thread);
    leave(r);
}

void kymo_reports_let_go(struct kymo_reports *r)
{
    if (!r)
        return;
    (void)pthread_detach(r->thread);
    leave(r);
}

void kymo_reports_forget(struct kymo_reports *r)
{
    if (!r)
        return;
    close(r->socket);
    free(r);
}
