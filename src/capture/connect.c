/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.c - see connect.h.
 *
 * Raw system calls throughout: a forked child attaches in our signal handler, whatever it was in
 * the middle of.
 */
#include "capture/connect.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/atomic.h"
#include "sys/clock.h"
#include "sys/raw.h"

/* While the recorder is waited for, so often it is looked whether it has been stopped. */
#define LOOKS_A_SECOND 20

static long at(const void *pointer)
{
    return (long)(intptr_t)pointer;
}

static void close_raw(int fd)
{
    if (fd >= 0)
        (void)kymo_syscall3(SYS_close, fd, 0, 0);
}

/* Returns its size; 0: it cannot be one. */
static long address_of(const char *name, struct sockaddr_un *address)
{
    size_t len = strlen(name);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (len == 0 || len > sizeof address->sun_path - 1)
        return 0;
    memcpy(address->sun_path + 1, name, len);
    return (long)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

int kymo_attach_is_reachable(const char *name)
{
    struct sockaddr_un address;
    long size = address_of(name, &address);
    long fd = kymo_syscall3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return 1;
    int is_gone = size == 0 || kymo_syscall3(SYS_connect, fd, at(&address), size) == -ECONNREFUSED;
    close_raw((int)fd);
    return !is_gone;
}

static int dial(const struct kymo_attach_call *call)
{
    const char *name = call->name;
    struct sockaddr_un address;
    long size = address_of(name, &address);
    if (size == 0)
        return -1;
    int fd = (int)kymo_syscall3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int looks = call->patience_seconds * LOOKS_A_SECOND;
    struct timeval look = {.tv_usec = 1000000 / LOOKS_A_SECOND};
    (void)kymo_syscall6(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, at(&look), sizeof look, 0);
    /* connect waits as long as send: when more of us are at the door than the recorder lets in. */
    (void)kymo_syscall6(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, at(&look), sizeof look, 0);
    long result;
    do {
        result = kymo_syscall3(SYS_connect, fd, at(&address), size);
    } while (result == -EINTR || (result == -EAGAIN && looks-- > 0 &&
                                  !kymo_recorder_is_stopped(kymo_recorder_pid(name))));
    if (result != 0) {
        close_raw(fd);
        return -1;
    }
    return fd;
}

/* Whether the recorder that we are connected to has been stopped. */
static int is_stopped(int fd)
{
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    return kymo_syscall6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, at(&peer), at(&size), 0) ==
               0 &&
           peer.pid > 0 && kymo_recorder_is_stopped((uint32_t)peer.pid);
}

static int say_hello(int fd, const struct kymo_attach_call *call)
{
    struct kymo_attach_message nameless;
    struct kymo_attach_message *m = call->hello ? &call->hello->m : &nameless;
    *m = (struct kymo_attach_message){
        .magic = KYMO_ATTACH_MAGIC,
        .kind = KYMO_ATTACH_HELLO,
        .layout = KYMO_SESSION_LAYOUT,
        .pid = (int32_t)kymo_raw_getpid(),
        .tid = (int32_t)kymo_raw_gettid(),
        .parent_pid = call->parent_pid,
        .start = call->start,
        .cpu_ns = kymo_clock_thread_cpu(),
        .filter = (uint32_t)kymo_syscall3(SYS_prctl, PR_GET_SECCOMP, 0, 0),
        .name_bytes = call->hello ? (uint32_t)offsetof(struct kymo_attach_name, text) +
                                        call->hello->name.text_bytes
                                  : 0,
    };
    long bytes = (long)(sizeof *m + m->name_bytes);
    return kymo_syscall6(SYS_sendto, fd, at(m), bytes, MSG_NOSIGNAL, 0, 0) == bytes;
}

static void close_all(int fds[KYMO_ATTACH_DESCRIPTORS])
{
    for (int i = 0; i < KYMO_ATTACH_DESCRIPTORS; i++) {
        close_raw(fds[i]);
        fds[i] = -1;
    }
}

/* WELCOME, and the descriptors that came with it (-1: none). */
static int hear_welcome(int fd, int patience_seconds, struct kymo_attach_message *m,
                        int passed[KYMO_ATTACH_DESCRIPTORS])
{
    int looks = patience_seconds * LOOKS_A_SECOND;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(KYMO_ATTACH_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec iov = {m, sizeof *m};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    int came[KYMO_ATTACH_DESCRIPTORS];
    size_t count = 0;
    long n;
    for (int i = 0; i < KYMO_ATTACH_DESCRIPTORS; i++)
        passed[i] = -1;
    do {
        n = kymo_syscall3(SYS_recvmsg, fd, at(&message), MSG_CMSG_CLOEXEC);
    } while (n == -EINTR || (n == -EAGAIN && looks-- > 0 && !is_stopped(fd)));
    if (n < 0)
        return 0;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len >= CMSG_LEN(0) && c->cmsg_len <= CMSG_LEN(sizeof came)) {
        count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(came, CMSG_DATA(c), count * sizeof(int));
    }
    /* Of another recorder's message only that they are closed matters. */
    for (size_t i = 0, next = 0; i < KYMO_ATTACH_DESCRIPTORS && next < count; i++)
        if (n != (long)sizeof *m || m->has >> i & 1)
            passed[i] = came[next++];
    return n == (long)sizeof *m && m->magic == KYMO_ATTACH_MAGIC && m->kind == KYMO_ATTACH_WELCOME;
}

static void unmap(const void *map, uint64_t bytes)
{
    if (map)
        (void)kymo_syscall3(SYS_munmap, at(map), (long)bytes, 0);
}

static int advise(const void *map, uint64_t bytes, int advice)
{
    return kymo_syscall3(SYS_madvise, at(map), (long)bytes, advice) == 0;
}

/* NULL where there is no room. */
static void *map_memory(int fd, uint64_t bytes, int protection)
{
    if (fd < 0 || bytes == 0)
        return NULL;
    long map = kymo_syscall6(SYS_mmap, 0, (long)bytes, protection, MAP_SHARED, fd, 0);
    return map < 0 && map > -4096 ? NULL : (void *)map;
}

/* Maps what all processes of the recording share: without it all is slower, and as right. A forked
 * child is to have nothing of it, nor a core file. */
static void *map_shared(int fd, uint64_t bytes, int protection)
{
    void *map = map_memory(fd, bytes, protection);
    if (map && !advise(map, bytes, MADV_DONTFORK)) {
        unmap(map, bytes);
        return NULL;
    }
    if (map)
        (void)advise(map, bytes, MADV_DONTDUMP);
    return map;
}

kymo_err kymo_attach(const struct kymo_attach_call *call, struct kymo_attachment *out,
                     const char **why)
{
    kymo_err err = KYMO_E_SYSTEM;
    struct kymo_attach_message m = {0};
    int passed[KYMO_ATTACH_DESCRIPTORS] = {-1, -1, -1, -1};
    *why = "the recorder cannot be reached";
    int fd = dial(call);
    if (fd < 0)
        return KYMO_E_NOT_FOUND;
    *why = "the recorder does not answer";
    if (!say_hello(fd, call) || !hear_welcome(fd, call->patience_seconds, &m, passed))
        goto fail;
    *why = "the recorder is of another version";
    err = KYMO_E_VERSION;
    if (m.error == KYMO_E_VERSION || m.layout != KYMO_SESSION_LAYOUT)
        goto fail;
    *why = "the recorder refused";
    err = KYMO_E_PERMISSION;
    if (m.error != KYMO_OK || passed[KYMO_ATTACH_SESSION] < 0)
        goto fail;
    *why = "no address space for the session (see the buffer option)";
    err = KYMO_E_NOMEM;
    struct kymo_session *map =
        map_memory(passed[KYMO_ATTACH_SESSION], m.size_bytes, PROT_READ | PROT_WRITE);
    if (!map)
        goto fail;
    *why = "the session is not one";
    err = kymo_session_check(map, m.size_bytes, &out->plan);
    /* A forked child is to have nothing of it but the header (capture/family.h), nor a core file.
     */
    size_t header = err == KYMO_OK ? map->header_bytes : 0;
    if (err != KYMO_OK ||
        !advise((const char *)map + header, m.size_bytes - header, MADV_DONTFORK)) {
        unmap(map, m.size_bytes);
        goto fail;
    }
    (void)advise(map, m.size_bytes, MADV_DONTDUMP);
    out->bell =
        map_shared(passed[KYMO_ATTACH_BELL], KYMO_ATTACH_BELL_BYTES, PROT_READ | PROT_WRITE);
    out->tables = map_shared(passed[KYMO_ATTACH_TABLES], m.table_bytes, PROT_READ);
    out->tables_bytes = out->tables ? m.table_bytes : 0;
    out->rest = (struct kymo_attach_rest){fd, passed[KYMO_ATTACH_EVENT], m.event};
    passed[KYMO_ATTACH_EVENT] = -1;
    close_all(passed);
    out->base_cpu_ns = m.cpu_ns;
    out->session = map;
    return KYMO_OK;

fail:
    close_all(passed);
    close_raw(fd);
    return err;
}

static int start_event(const struct kymo_session *session, struct kymo_thread_slot *slot,
                       int signal, const struct kymo_attach_rest *rest)
{
    if (rest->event < 0 || !slot || session->signal != (uint32_t)signal)
        return 0;
    /* The handler knows its event by this number. */
    kymo_store_relaxed(&slot->perf_fd, rest->event_number);
    kymo_signal_fence();
    if (kymo_syscall3(SYS_ioctl, rest->event, PERF_EVENT_IOC_ENABLE, 0) == 0)
        return 1;
    kymo_store_relaxed(&slot->perf_fd, -1);
    return 0;
}

int kymo_attach_finish(struct kymo_session *session, struct kymo_thread_slot *slot, int signal,
                       const struct kymo_attach_rest *rest)
{
    int runs = start_event(session, slot, signal, rest);
    /* Pairs with the acquire in recorder/host.c: the slot is filled. */
    kymo_store_release(&session->attached, 1u);
    close_raw(rest->event);
    close_raw(rest->socket);
    return runs;
}

void kymo_attach_undo(struct kymo_attachment *a)
{
    close_raw(a->rest.event);
    close_raw(a->rest.socket);
    unmap(a->session, a->plan.total_bytes);
    unmap(a->bell, KYMO_ATTACH_BELL_BYTES);
    unmap(a->tables, a->tables_bytes);
}
