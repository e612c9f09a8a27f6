/* SPDX-License-Identifier: Apache-2.0 */
#include "start/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "buffer/attach.h"
#include "sys/raw.h"

/* A recorder that does not answer must not hold the program up for ever. */
#define PATIENCE_SECONDS 10

static int dial(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    if (len == 0 || len > sizeof address.sun_path - 1)
        return -1;
    memcpy(address.sun_path + 1, name, len);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    /* connect waits as long as send: when more of us are at the door than the recorder lets in. */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
    if (connect(fd, (const struct sockaddr *)&address, size) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int say(int fd, enum kymo_attach_kind kind)
{
    struct timespec cpu = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    struct kymo_attach_message m = {
        .magic = KYMO_ATTACH_MAGIC,
        .kind = kind,
        .layout = KYMO_SESSION_LAYOUT,
        .pid = (int32_t)kymo_raw_getpid(),
        .tid = (int32_t)kymo_raw_gettid(),
        .parent_pid = (int32_t)getppid(),
        .start = KYMO_ATTACH_EXEC,
        .cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec,
    };
    return send(fd, &m, sizeof m, MSG_NOSIGNAL) == (ssize_t)sizeof m;
}

static void close_all(int fds[KYMO_ATTACH_MEMORIES])
{
    for (int i = 0; i < KYMO_ATTACH_MEMORIES; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

/* One message of this kind, and the descriptors that came with it (-1: none). */
static int hear(int fd, enum kymo_attach_kind kind, struct kymo_attach_message *m,
                int passed[KYMO_ATTACH_MEMORIES])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(KYMO_ATTACH_MEMORIES * sizeof(int))];
    } control;
    struct iovec iov = {m, sizeof *m};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n;
    for (int i = 0; i < KYMO_ATTACH_MEMORIES; i++)
        passed[i] = -1;
    do {
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
            c->cmsg_len <= CMSG_LEN(KYMO_ATTACH_MEMORIES * sizeof(int)))
            memcpy(passed, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
    return n == (ssize_t)sizeof *m && m->magic == KYMO_ATTACH_MAGIC && m->kind == kind;
}

/* Maps what all processes of the recording share: without it all is slower, and as right. A forked
 * child is to have nothing of it, nor a core file. */
static void *map_shared(int fd, uint64_t bytes, int protection)
{
    if (fd < 0 || bytes == 0)
        return NULL;
    void *map = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return NULL;
    if (madvise(map, bytes, MADV_DONTFORK) != 0) {
        munmap(map, bytes);
        return NULL;
    }
    (void)madvise(map, bytes, MADV_DONTDUMP);
    return map;
}

kymo_err kymo_attach(const char *name, struct kymo_attachment *out, const char **why)
{
    kymo_err err = KYMO_E_SYSTEM;
    struct kymo_attach_message m = {0};
    int memory[KYMO_ATTACH_MEMORIES] = {-1, -1, -1};
    *why = "the recorder cannot be reached";
    int fd = dial(name);
    if (fd < 0)
        return KYMO_E_NOT_FOUND;
    *why = "the recorder does not answer";
    if (!say(fd, KYMO_ATTACH_HELLO) || !hear(fd, KYMO_ATTACH_WELCOME, &m, memory))
        goto fail;
    *why = "the recorder is of another version";
    err = KYMO_E_VERSION;
    if (m.error == KYMO_E_VERSION || m.layout != KYMO_SESSION_LAYOUT)
        goto fail;
    *why = "the recorder refused";
    err = KYMO_E_PERMISSION;
    if (m.error != KYMO_OK || memory[KYMO_ATTACH_SESSION] < 0)
        goto fail;
    *why = "no address space for the session (see the buffer option)";
    err = KYMO_E_NOMEM;
    void *map = mmap(NULL, m.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                     memory[KYMO_ATTACH_SESSION], 0);
    if (map == MAP_FAILED)
        goto fail;
    *why = "the session is not one";
    err = kymo_session_check(map, m.size_bytes, &out->plan);
    /* A forked child is to have nothing of it but the header (capture/family.h), nor a core file.
     */
    size_t header = err == KYMO_OK ? ((struct kymo_session *)map)->header_bytes : 0;
    if (err != KYMO_OK ||
        madvise((char *)map + header, m.size_bytes - header, MADV_DONTFORK) != 0) {
        munmap(map, m.size_bytes);
        goto fail;
    }
    (void)madvise(map, m.size_bytes, MADV_DONTDUMP);
    out->bell =
        map_shared(memory[KYMO_ATTACH_BELL], KYMO_ATTACH_BELL_BYTES, PROT_READ | PROT_WRITE);
    out->tables = map_shared(memory[KYMO_ATTACH_TABLES], m.table_bytes, PROT_READ);
    out->tables_bytes = out->tables ? m.table_bytes : 0;
    close_all(memory);
    out->base_cpu_ns = m.cpu_ns;
    out->socket = fd;
    out->session = map;
    return KYMO_OK;

fail:
    close_all(memory);
    close(fd);
    return err;
}

void kymo_attach_finish(struct kymo_attachment *a)
{
    struct kymo_attach_message m;
    int none[KYMO_ATTACH_MEMORIES] = {-1, -1, -1};
    if (say(a->socket, KYMO_ATTACH_READY))
        (void)hear(a->socket, KYMO_ATTACH_GO, &m, none);
    close_all(none);
    close(a->socket);
}
