/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazard_transfer.c - large writes to a pipe and a socket, and reads of all at once, by calls that
 * are made once: a signal that comes while they wait cuts them short. One of the program's own
 * does.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hazards.h"
#include "workload.h"

enum { ROUNDS = 60, PARTS = 5, CUTS = 60 };
#define BYTES ((size_t)(3 << 20))

DEFINE_BURN(burn_before, 31)

static char *data;

static ssize_t by_write(int fd)
{
    return write(fd, data, BYTES);
}

static ssize_t by_send(int fd)
{
    return send(fd, data, BYTES, 0);
}

/* Parts of unequal size, one of them empty. */
static ssize_t by_writev(int fd)
{
    struct iovec parts[PARTS];
    size_t at = 0;
    for (size_t i = 0; i < PARTS; i++) {
        size_t len = i == PARTS - 1 ? BYTES - at : i == 1 ? 0 : BYTES / 7 + i;
        parts[i] = (struct iovec){data + at, len};
        at += len;
    }
    return writev(fd, parts, PARTS);
}

static ssize_t by_recv(int fd)
{
    return recv(fd, data, BYTES, MSG_WAITALL);
}

/* The other side, in a process of its own: reads all, or writes as much; says how many bytes were
 * as they should be. */
static void be_other_side(int fd, int writes)
{
    char *block = malloc(1 << 16);
    size_t good = 0;
    for (size_t at = 0; at < BYTES * ROUNDS;) {
        size_t inside = at % BYTES;
        size_t most = BYTES - inside < 1 << 16 ? BYTES - inside : 1 << 16;
        ssize_t n = writes ? write(fd, data + inside, most) : read(fd, block, most);
        if (n <= 0)
            break;
        good += writes || memcmp(block, data + inside, (size_t)n) == 0 ? (size_t)n : 0;
        at += (size_t)n;
    }
    _exit(good == BYTES * ROUNDS ? 0 : 1);
}

static void transfer(const char *name, ssize_t (*call)(int), int is_socket, int other_writes)
{
    int ends[2], status, cut = 0;
    int made = is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends);
    pid_t other = made == 0 ? fork() : -1;
    if (other == 0) {
        close(ends[1]);
        be_other_side(ends[0], other_writes);
    }
    close(ends[0]);
    for (int i = 0; i < ROUNDS; i++) {
        burn_ns(burn_before, 200000);
        cut += call(ends[1]) != (ssize_t)BYTES;
    }
    close(ends[1]);
    int ended = waitpid(other, &status, 0) == other && status == 0;
    printf("%s: %d of %d cut short, the other side has %s\n", name, cut, ROUNDS,
           ended ? "all" : "not all");
}

static void on_alarm(int signo)
{
    (void)signo;
}

/* No process reads, so that only the program's own signal ends these writes: also where a sample
 * has cut one short before, and nothing of the rest could be written. The system call restarts
 * then, unless some of it is done. */
static void be_cut_by_alarm(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    int cut = 0;
    if (sigaction(SIGALRM, &action, NULL) != 0)
        exit(1);
    for (int i = 0; i < CUTS; i++) {
        int ends[2];
        if (pipe(ends) != 0)
            exit(1);
        /* Copying takes long enough for a sample to come meanwhile. */
        (void)fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
        setitimer(ITIMER_REAL, &often, NULL);
        ssize_t n = write(ends[1], data, BYTES);
        setitimer(ITIMER_REAL, &never, NULL);
        cut += n > 0 && (size_t)n < BYTES;
        close(ends[0]);
        close(ends[1]);
    }
    printf("%d of %d writes ended early by an alarm\n", cut, CUTS);
}

int hazard_transfer(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    setvbuf(stdout, NULL, _IOLBF, 0);
    data = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (char)(i * 31 >> 8);
    transfer("write to a pipe", by_write, 0, 0);
    transfer("write to a socket", by_write, 1, 0);
    transfer("send", by_send, 1, 0);
    transfer("writev", by_writev, 0, 0);
    transfer("recv of all", by_recv, 1, 1);
    be_cut_by_alarm();
    return 0;
}
