/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c11threads.c [THREADS] - threads made by thrd_create, one after the other, each burning 20 ms of
 * CPU time: none lives long enough to be found by looking into /proc now and then.
 */
#include <threads.h>

#include "workload.h"

static int run(void *argument)
{
    (void)argument;
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 20000000;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
    }
    return 7;
}

int main(int argc, char **argv)
{
    const unsigned threads = (unsigned)number_argument(argc, argv, 1, 25);
    unsigned sevens = 0;
    for (unsigned i = 0; i < threads; i++) {
        thrd_t thread;
        int result = 0;
        must(thrd_create(&thread, run, NULL) == thrd_success, "thrd_create");
        must(thrd_join(thread, &result) == thrd_success, "thrd_join");
        sevens += result == 7;
    }
    printf("%u threads, %u ended well\n", threads, sevens);
    return 0;
}
