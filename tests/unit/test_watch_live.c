/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h on processes that there are; test_watch.c has what the kernel would write. */
#include "observe/watch.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../workloads/uncounted.h"
#include "unit.h"

#define SLEEPERS 8
#define TRIES 10000

static void count(void *context, void *user, const struct kymo_watch_look *look)
{
    unsigned *times = context;
    (void)look;
    times[(uintptr_t)user]++;
}

static void *sleep_for_ever(void *go_on)
{
    (void)go_on;
    for (;;)
        pause();
    return NULL;
}

static void start_sleepers(void)
{
    pthread_t thread;
    for (int i = 0; i < SLEEPERS; i++)
        pthread_create(&thread, NULL, sleep_for_ever, NULL);
}

static void burn(void)
{
    for (volatile uint64_t i = 0;; i++)
        ;
}

/* On a busy machine we may be off our CPU in the middle of each try. */
static struct kymo_watch_look look_at(kymo_watch *w, uint32_t entry)
{
    struct kymo_watch_look look;
    int tries = 0;
    while (!kymo_watch_look(w, entry, &look))
        assert_true(++tries < TRIES);
    return look;
}

static uint32_t add(kymo_watch *w, pid_t tid, uintptr_t user)
{
    uint32_t entry = UINT32_MAX;
    kymo_err err = KYMO_E_IO;
    for (int tries = 0; err == KYMO_E_IO && tries < TRIES; tries++)
        err = kymo_watch_add(w, tid, (void *)user, &entry);
    assert_int_equal(err, KYMO_OK);
    return entry;
}

/* Adds all threads of a child that called start_sleepers. The kernel lists the main thread first:
 * it gets user 0 and entry 0. */
static void add_all(kymo_watch *w, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    assert_non_null(tasks);
    uintptr_t n = 0;
    for (struct dirent *task; (task = readdir(tasks));) {
        pid_t tid = (pid_t)strtol(task->d_name, NULL, 10);
        if (tid > 0)
            (void)add(w, tid, n++);
    }
    closedir(tasks);
    assert_int_equal(n, SLEEPERS + 1);
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* A real process: its main thread burns, others sleep. */
static void a_process(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        start_sleepers();
        close(ends[0]);
        ssize_t ignored = write(ends[1], "", 1);
        (void)ignored;
        burn();
    }
    char byte;
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    kymo_watch *w;
    unsigned times[SLEEPERS + 1] = {0};
    assert_int_equal(kymo_watch_create(NULL, child, &w), KYMO_OK);
    add_all(w, child);
    /* Until it has been seen at work, it may as well have just been woken. */
    while (look_at(w, 0).place == KYMO_WATCH_OFF)
        ;
    unsigned off = 0;
    for (int i = 0; i < 3000; i++) {
        kymo_watch_round(w, count, times);
        off += look_at(w, 0).place == KYMO_WATCH_OFF;
        struct timespec t = {.tv_nsec = 100000};
        if (i % 10 == 0)
            (void)nanosleep(&t, NULL);
    }
    assert_int_equal(off, 0);
    assert_true(times[0] > 2900);
    for (unsigned i = 1; i <= SLEEPERS; i++)
        assert_true(times[i] < 1000);
    end(child);
    struct kymo_watch_look look;
    assert_int_equal(kymo_watch_look(w, 0, &look), 0);
    kymo_watch_round(w, count, times);
    kymo_watch_destroy(w);
}

/* What was last told of one thread. */
struct told {
    uint64_t unmoved_round;
    int changed;
};

static void note_first(void *context, void *user, const struct kymo_watch_look *look)
{
    struct told *told = context;
    if ((uintptr_t)user == 0 && look->changed)
        *told = (struct told){look->unmoved_round, 1};
}

/* Idle threads are not looked at one by one; one that wakes has been unmoved up to the last round
 * all the same. */
static void an_idle_thread_that_wakes(void **state)
{
    (void)state;
    int down[2];
    int up[2];
    char byte = 0;
    assert_true(pipe(down) == 0 && pipe(up) == 0);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        start_sleepers();
        while (write(up[1], &byte, 1) == 1 && read(down[0], &byte, 1) == 1)
            continue;
        _exit(0);
    }
    assert_int_equal(read(up[0], &byte, 1), 1);
    kymo_watch *w;
    assert_int_equal(kymo_watch_create(NULL, child, &w), KYMO_OK);
    add_all(w, child);
    /* They are on their way to sleep; then each is idle, and none runs. */
    struct timespec moment = {.tv_nsec = 1000000};
    struct told told = {0, 0};
    unsigned still = 0;
    for (int tries = 0; still < 200; tries++) {
        assert_true(tries < TRIES);
        kymo_watch_round(w, note_first, &told);
        still = kymo_watch_is_active(w) ? 0 : still + 1;
        (void)nanosleep(&moment, NULL);
    }
    uint64_t last = kymo_watch_rounds(w);
    assert_int_equal(write(down[1], &byte, 1), 1);
    assert_int_equal(read(up[0], &byte, 1), 1);
    told = (struct told){0, 0};
    for (int tries = 0; !told.changed; tries++) {
        assert_true(tries < TRIES);
        kymo_watch_round(w, note_first, &told);
    }
    assert_in_range(told.unmoved_round, last, kymo_watch_rounds(w) - 1);
    kymo_watch_destroy(w);
    end(child);
    for (int i = 0; i < 2; i++) {
        close(down[i]);
        close(up[i]);
    }
}

/* On CPUs of their own: on one with us, it would be off it whenever we look. */
static int part_from(pid_t child, const cpu_set_t *usual)
{
    cpu_set_t ours = *usual;
    cpu_set_t its;
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, usual))
        cpu++;
    CPU_ZERO(&its);
    CPU_SET(cpu, &its);
    CPU_CLR(cpu, &ours);
    return CPU_COUNT(&ours) > 0 && sched_setaffinity(child, sizeof its, &its) == 0 &&
           sched_setaffinity(0, sizeof ours, &ours) == 0;
}

/* A thread of which some arrivals were not counted is seen at work all the same. */
static void a_real_thread_uncounted(void **state)
{
    (void)state;
    int ends[2];
    long uncounted = -1;
    cpu_set_t usual;
    assert_int_equal(sched_getaffinity(0, sizeof usual, &usual), 0);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        uncounted = uncounted_make(2);
        ssize_t ignored = write(ends[1], &uncounted, sizeof uncounted);
        (void)ignored;
        burn();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &uncounted, sizeof uncounted), sizeof uncounted);
    close(ends[0]);
    print_message("%ld arrivals were not counted\n", uncounted);
    if (!part_from(child, &usual)) {
        end(child);
        skip();
    }
    kymo_watch *w;
    assert_int_equal(kymo_watch_create(NULL, child, &w), KYMO_OK);
    uint32_t entry = add(w, child, 0);
    /* Seen with the kernel's tick, hundreds of which it has until then. */
    uint64_t begin_ns = look_at(w, entry).run_ns;
    for (struct kymo_watch_look look = {0}; look.place != KYMO_WATCH_ON; look = look_at(w, entry))
        assert_true(look.run_ns < begin_ns + 1000000000u);
    for (int on = 0; on < 1000;) {
        enum kymo_watch_place place = look_at(w, entry).place;
        assert_int_not_equal(place, KYMO_WATCH_OFF);
        on += place == KYMO_WATCH_ON;
    }
    assert_int_equal(sched_setaffinity(0, sizeof usual, &usual), 0);
    kymo_watch_destroy(w);
    end(child);
}

static void read_own_clock(void)
{
    struct timespec now;
    for (;;)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

/* Each reading moves its run_ns: two readings of schedstat never agree while it runs. */
static void a_thread_that_reads_its_clock(void **state)
{
    (void)state;
    enum { LOOKS = 1000 };
    struct kymo_watch_look look;
    kymo_watch *w;
    int seen = 0;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        read_own_clock();
    }
    assert_int_equal(kymo_watch_create(NULL, child, &w), KYMO_OK);
    uint32_t entry = add(w, child, 0);
    for (int i = 0; i < LOOKS; i++)
        if (kymo_watch_look(w, entry, &look)) {
            assert_int_equal(look.state, 'R');
            seen++;
        }
    print_message("%d of %d looks saw it\n", seen, LOOKS);
    assert_true(seen > LOOKS / 2);
    kymo_watch_destroy(w);
    end(child);
}

static void the_probe(void **state)
{
    (void)state;
    assert_true(kymo_watch_probe());
    /* Some of our own arrivals are not counted from now on. */
    print_message("%ld arrivals were not counted\n", uncounted_make(1));
    assert_true(kymo_watch_probe());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process),
        cmocka_unit_test(an_idle_thread_that_wakes),
        cmocka_unit_test(a_real_thread_uncounted),
        cmocka_unit_test(a_thread_that_reads_its_clock),
        cmocka_unit_test(the_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
