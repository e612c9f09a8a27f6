/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_probe.c - whether this kernel counts as watch.h needs it.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "observe/watch.h"
#include "observe/watch_look.h"

#define PROBE_STEPS 3
#define PROBE_TRIES 20

/* A step from one look to the next, with a sleep between them. */
enum step { STEP_UNTOLD, STEP_COUNTED, STEP_WRONG };

static enum step step_of(const struct kymo_watch_look *before, const struct kymo_watch_look *now)
{
    int64_t more = kymo_watch_difference(now) - kymo_watch_difference(before);
    if (more > 0)
        return STEP_WRONG;
    /* We were not switched away, or our arrival is one that the kernel does not count. */
    if (more < 0 || now->voluntary == before->voluntary || now->arrivals == before->arrivals)
        return STEP_UNTOLD;
    return STEP_COUNTED;
}

int kymo_watch_probe(void)
{
    kymo_watch *w;
    uint32_t entry;
    struct kymo_watch_look before, now;
    if (kymo_watch_create(NULL, getpid(), &w) != KYMO_OK)
        return 0;
    int counted = 0;
    int is_wrong = 0;
    kymo_err err = KYMO_E_IO;
    for (int i = 0; err == KYMO_E_IO && i < PROBE_TRIES; i++)
        err = kymo_watch_add(w, (pid_t)syscall(SYS_gettid), NULL, &entry);
    /* We are on a CPU whenever we look, also after we have slept. */
    int has_before = 0;
    for (int i = 0; err == KYMO_OK && counted < PROBE_STEPS && i < PROBE_TRIES; i++) {
        struct timespec t = {.tv_nsec = 50000};
        (void)nanosleep(&t, NULL);
        if (!kymo_watch_look(w, entry, &now))
            continue; /* preempted at each try: a busy machine, or we are traced */
        enum step step = has_before ? step_of(&before, &now) : STEP_UNTOLD;
        counted += step == STEP_COUNTED;
        is_wrong |= step == STEP_WRONG;
        before = now;
        has_before = 1;
    }
    kymo_watch_destroy(w);
    return counted > 0 && !is_wrong;
}
