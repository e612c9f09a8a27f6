/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_process.h - test cases that each run in a process of their own, since they change what a
 * process has one of. A file that includes it defines begin_case, which runs there before each of
 * them.
 */
#ifndef KYMO_TESTS_OWN_PROCESS_H
#define KYMO_TESTS_OWN_PROCESS_H

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* What hangs ends some time, also where a busy machine makes everything a hundred times slower. */
enum { KYMO_HANGS_S = 600 };

#define EXPECT(condition)                                                           \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                               \
        }                                                                           \
    } while (0)

#define CASE(name)                 \
    static void name##_body(void); \
    static void name(void **state) \
    {                              \
        (void)state;               \
        in_a_process(name##_body); \
    }                              \
    static void name##_body(void)

static void begin_case(void);

static inline void in_a_process(void (*body)(void))
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(KYMO_HANGS_S);
        begin_case();
        body();
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#endif
