/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reporter_callback.c - see reporter_callback.h.
 *
 * The program gets a descriptor of the profile's file, opened anew: its offset and what may be done
 * with it are its own. The callback takes as long as it takes; what ends the waiting is the end of
 * the program, which a forked child that holds the socket would hide.
 */
#include "agent/reporter_callback.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/metadata.h"
#include "base/bytes.h"
#include "base/json.h"
#include "sys/clock.h"

/* -1: it is none. */
static int socket_of(const struct kymo_reporter *r)
{
    uint64_t number;
    return kymo_parse_u64(r->target, strlen(r->target), &number) == KYMO_OK && number < 1024
               ? (int)number
               : -1;
}

static kymo_err check(const struct kymo_reporter *r, kymo_error *detail)
{
    int domain = 0, type = 0;
    socklen_t size = sizeof domain;
    const int socket = socket_of(r);
    if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
        getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || domain != AF_UNIX ||
        type != SOCK_SEQPACKET)
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "callback: is for kymo_agent_start, which gives it a socket");
    return KYMO_OK;
}

static kymo_err write_metadata(const struct kymo_metadata *m, kymo_bytes *text)
{
    kymo_json json;
    kymo_json_init(&json, &text->sink);
    kymo_json_begin_object(&json);
    for (uint32_t i = 0; m && i < m->n; i++)
        kymo_json_key_cstr(&json, m->items[i].name, m->items[i].value);
    kymo_json_end_object(&json);
    return kymo_json_finish(&json);
}

static kymo_err send_report(int socket, const struct kymo_interval_profile *p, uint64_t id, int fd,
                            const kymo_bytes *metadata, kymo_error *detail)
{
    struct kymo_agent_report head = {
        .magic = KYMO_AGENT_REPORT_MAGIC,
        .id = id,
        .start_ns = p->start_ns,
        .end_ns = p->end_ns,
        .interval_ns = p->interval_ns,
        .number = p->number,
        .bytes = p->bytes,
        .lost_records = p->lost_records,
        .is_last = p->is_last != 0,
        .pid = p->who->pid,
    };
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof fd),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct iovec parts[] = {{&head, sizeof head}, {metadata->data, metadata->len}};
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    snprintf(head.program, sizeof head.program, "%s", p->who->program);
    snprintf(head.format, sizeof head.format, "%s", p->extension + (p->extension[0] == '.'));
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return KYMO_OK;
    if (errno == EPIPE || errno == ECONNRESET)
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0, "the program takes no more profiles");
    return kymo_error_set_errno(detail, "the profile cannot be handed to the program");
}

/* Until the callback has answered, or nothing will. */
static kymo_err await_answer(int socket, int program, uint64_t id, kymo_error *detail)
{
    struct kymo_agent_report_answer answer;
    struct pollfd ready[] = {{socket, POLLIN, 0}, {program, POLLIN, 0}};
    for (;;) {
        if (poll(ready, 2, -1) < 0 && errno != EINTR)
            return kymo_error_set_errno(detail, "waiting for the callback");
        ssize_t got = recv(socket, &answer, sizeof answer, MSG_DONTWAIT);
        if (got == (ssize_t)sizeof answer && answer.magic == KYMO_AGENT_REPORT_MAGIC) {
            if (answer.id != id)
                continue;
            return answer.error == KYMO_OK ? KYMO_OK
                                           : kymo_error_set(detail, (kymo_err)answer.error, 0,
                                                            "the callback failed: %s",
                                                            kymo_err_text((kymo_err)answer.error));
        }
        if (got >= 0 || ready[1].revents || (errno != EAGAIN && errno != EINTR))
            return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                                  "the program takes no more profiles");
    }
}

/* Who made the socket; the profile may be of another process. */
static int open_program(int socket)
{
    struct ucred maker = {0};
    socklen_t size = sizeof maker;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &size) == 0 && maker.pid > 0
               ? (int)syscall(SYS_pidfd_open, maker.pid, 0)
               : -1;
}

static kymo_err report(const struct kymo_reporter *r, const struct kymo_interval_profile *p,
                       kymo_error *detail)
{
    char path[32];
    kymo_bytes metadata;
    const int socket = socket_of(r);
    const uint64_t id = kymo_clock_ns(CLOCK_MONOTONIC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", p->fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return kymo_error_set_errno(detail, "%s: the profile cannot be opened again", path);
    const int program = open_program(socket);
    kymo_bytes_init(&metadata, KYMO_AGENT_REPORT_METADATA_MAX);
    kymo_err err = write_metadata(p->who->metadata, &metadata);
    if (err == KYMO_OK)
        err = send_report(socket, p, id, fd, &metadata, detail);
    if (err == KYMO_OK)
        err = await_answer(socket, program, id, detail);
    kymo_bytes_deinit(&metadata);
    close(fd);
    if (program >= 0)
        close(program);
    return err;
}

const struct kymo_reporter_kind kymo_reporter_callback = {
    .prefix = "callback:",
    .extension = ".pb.gz",
    .check = check,
    .report = report,
    .is_remote = 1,
    .descriptor = socket_of,
    .is_patient = 1,
};
