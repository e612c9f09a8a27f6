/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c MODE [COUNT [THREADS]] - what the modes make is told at each of them below.
 */
#include "marks.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_THREADS = 64 };

static uint32_t count = 1000, threads = 8;

#define CAPPED(F) F(u32, number, "Number", INTEGER, 0)
KYMO_TYPE(capped, "Capped", CAPPED, KYMO_ALL_LABELS(capped, "", number, ""), .max_per_second = 100);

KYMO_COUNTER(total, plain, "Total", TOTAL, "bytes", BLUE);
KYMO_COUNTER_F64(energy, plain, "Energy", TOTAL, "J", ORANGE);
KYMO_COUNTER(balance, plain, "Balance", DELTA, NULL, GREEN);
KYMO_COUNTER(level, plain, "Level", GAUGE, NULL, RED);
KYMO_COUNTER_EACH_CHANGE(steps, plain, "Steps", GAUGE, "steps", RED);
KYMO_COUNTER_EACH_CHANGE(changes, plain, "Changes", TOTAL, NULL, TEAL);

/* ---- threads: so many markers in so many threads, numbered ---- */

static void *number_all(void *argument)
{
    uint32_t stream = *(const uint32_t *)argument;
    for (uint32_t i = 0; i < count; i++)
        KYMO_MARKER_T(plain, "numbered", numbered, .stream = stream, .number = i,
                      .check = NUMBERED_CHECK(stream, i));
    return NULL;
}

static void number_in_threads(void)
{
    pthread_t started[MOST_THREADS];
    uint32_t streams[MOST_THREADS];
    for (uint32_t i = 0; i < threads; i++) {
        streams[i] = i;
        must(pthread_create(&started[i], NULL, number_all, &streams[i]) == 0, "pthread_create");
    }
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(started[i], NULL);
}

static void mode_threads(void)
{
    number_in_threads();
    printf("{\"threads\":%u,\"each\":%u}\n", threads, count);
}

/* ---- ring: in one thread, within an interval that is longer than a flight recorder keeps ---- */

static void mode_ring(void)
{
    uint32_t stream = 0;
    uint64_t id = KYMO_INTERVAL_BEGIN(plain, "whole run");
    number_all(&stream);
    KYMO_INTERVAL_END(plain, "whole run", id);
    printf("{\"each\":%u}\n", count);
}

/* ---- full: as threads, while the recorder, which is our parent, stands still ---- */

static void mode_full(void)
{
    must(kill(getppid(), SIGSTOP) == 0, "kill");
    number_in_threads();
    must(kill(getppid(), SIGCONT) == 0, "kill");
    printf("{\"threads\":%u,\"each\":%u}\n", threads, count);
}

/* ---- capped: more than a type may have in a second ---- */

static void mode_capped(void)
{
    uint64_t begun = clock_ns(CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < count; i++)
        KYMO_MARKER_T(plain, "capped", capped, .number = i);
    uint64_t took_ns = clock_ns(CLOCK_MONOTONIC) - begun;
    printf("{\"made\":%u,\"per_second\":100,\"seconds\":%.3f}\n", count, (double)took_ns / 1e9);
}

/* ---- counters ---- */

static void *count_up(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; i < count; i++) {
        KYMO_COUNT(total, 3);
        KYMO_COUNT(energy, 0.25);
        KYMO_COUNT(changes, 1);
        KYMO_COUNT_N(balance, i % 2 ? -2 : 1, 2);
    }
    return NULL;
}

static void mode_counters(void)
{
    pthread_t started[MOST_THREADS];
    for (uint32_t i = 0; i < threads; i++)
        must(pthread_create(&started[i], NULL, count_up, NULL) == 0, "pthread_create");
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(started[i], NULL);
    for (int i = 1; i <= 5; i++)
        KYMO_COUNT(steps, i * i);
    KYMO_COUNT(level, 99);
    KYMO_COUNT(level, 42);
    int64_t each = (int64_t)(count - count / 2) - 2 * (int64_t)(count / 2);
    printf("{\"total\":%llu,\"balance\":%lld,\"operations\":%llu,\"level\":42,\"steps\":[1,4,9,16,"
           "25]}\n",
           3ull * count * threads, (long long)each * (long long)threads, 1ull * count * threads);
}

/* ---- labels: CPU time under each ---- */

DEFINE_BURN(burn_in_request, 1)
DEFINE_BURN(burn_outside, 2)
DEFINE_BURN(burn_nested, 3)

static void *labelled(void *argument)
{
    uint64_t *ns = argument, number = ns[0];
    for (uint32_t i = 0; i < count; i++) {
        uint64_t before = kymo_now();
        KYMO_LABEL_SCOPE("request_id", number);
        ns[1] += burn_ns(burn_in_request, 2000000);
        {
            KYMO_LABEL_SCOPE("request_id", number + 1000);
            KYMO_LABEL_SCOPE("user", "nested");
            KYMO_MARKER(plain, "labelled");
            /* Where and when they are shown, others hold. */
            KYMO_MARKER_OPT(plain, "for main",
                            KYMO_OPTIONS(.thread = KYMO_THREAD_MAIN, .owner = number));
            KYMO_MARKER_OPT(
                plain, "earlier",
                KYMO_OPTIONS(.timing = KYMO_TIMING_AT, .start = before, .owner = number));
            ns[2] += burn_ns(burn_nested, 1000000);
        }
        KYMO_LABEL_SET("phase", i % 2 ? "odd" : "even");
    }
    KYMO_LABEL_CLEAR("phase");
    ns[3] += burn_ns(burn_outside, 1000000ull * count);
    return NULL;
}

static void mode_labels(void)
{
    pthread_t started[MOST_THREADS];
    static uint64_t ns[MOST_THREADS][4];
    for (uint32_t i = 0; i < threads; i++) {
        ns[i][0] = i + 1;
        must(pthread_create(&started[i], NULL, labelled, ns[i]) == 0, "pthread_create");
    }
    printf("{\"threads\":[");
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(started[i], NULL);
        printf(
            "%s{\"request_id\":%u,\"in_request_ns\":%llu,\"nested_ns\":%llu,\"outside_ns\":%llu}",
            i ? "," : "", i + 1, (unsigned long long)ns[i][1], (unsigned long long)ns[i][2],
            (unsigned long long)ns[i][3]);
    }
    printf("],\"each\":%u}\n", count);
}

/* ---- utf8: whatever bytes, as text of every sort ---- */

static void mode_utf8(void)
{
    uint32_t random = 2463534242u;
    char bytes[3000];
    for (uint32_t i = 0; i < count; i++) {
        for (size_t at = 0; at < sizeof(bytes) - 1; at++) {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            bytes[at] = (char)(random % 255 + 1);
        }
        bytes[i % 2 ? 100 : sizeof(bytes) - 1] = '\0';
        KYMO_LABEL_SCOPE("random", (const char *)bytes);
        KYMO_MARKER_TEXT(plain, "random", bytes);
        KYMO_MARKER_OPT(plain, "random name",
                        KYMO_OPTIONS(.name = bytes, .name_len = (uint32_t)strnlen(bytes, 64)));
        KYMO_MARKER_FMT(plain, "random format", "%s", bytes);
    }
    /* 600 characters of two bytes: they are cut, and not in the middle of one. */
    for (size_t at = 0; at < 1200; at++)
        bytes[at + 1] = at % 2 ? (char)0xa4 : (char)0xc3;
    bytes[0] = 'x';
    bytes[1201] = '\0';
    KYMO_MARKER_TEXT(plain, "long", bytes);
    printf("{\"each\":%u,\"cut\":%u}\n", count, 3 * ((count + 1) / 2) + 1);
}

/* ---- select: switched off and on by the program itself ---- */

static void mode_select(void)
{
    KYMO_MARKER(hush, "before");
    int err = kymo_markers_select("all:-Hush");
    KYMO_MARKER(hush, "off");
    KYMO_MARKER(plain, "still there");
    if (!err)
        err = kymo_markers_select("all:Quiet");
    KYMO_MARKER(hush, "after");
    KYMO_MARKER(quiet, "asked for");
    int refused = kymo_markers_select("::-");
    printf("{\"err\":%d,\"refused\":%d}\n", err, refused);
}

/* ---- until: markers of Hush and Plain until a file is there; for who switches from outside.
 * without_main: in a thread that goes on when the main thread has ended. blocked: there, too, and
 * the main thread waits with the signal blocked that samples arrive by, which no hook saw it do
 * ----
 */

static void *mark_until(void *path)
{
    while (access(path, F_OK) != 0) {
        KYMO_MARKER(hush, "hush");
        KYMO_MARKER(plain, "plain");
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return NULL;
}

static void mode_until(const char *path)
{
    pthread_t thread;
    printf("{\"pid\":%d}\n", (int)getpid());
    fflush(stdout);
    const char *how = getenv("MARKS_UNTIL");
    if (!how) {
        mark_until((void *)(uintptr_t)path);
        return;
    }
    must(pthread_create(&thread, NULL, mark_until, (void *)(uintptr_t)path) == 0, "pthread_create");
    if (strcmp(how, "without_main") == 0)
        pthread_exit(NULL);
    uint64_t urgent = 1ull << (SIGURG - 1);
    must(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &urgent, NULL, sizeof urgent) == 0, "sigprocmask");
    pthread_join(thread, NULL);
}

static const struct mode {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"kinds", marks_kinds},
    {"options", marks_options},
    {"threads", mode_threads},
    {"ring", mode_ring},
    {"full", mode_full},
    {"capped", mode_capped},
    {"counters", mode_counters},
    {"labels", mode_labels},
    {"utf8", mode_utf8},
    {"select", mode_select},
    {"fork", marks_fork},
    {"killed", marks_killed},
    {"thread_ends", marks_thread_ends},
    {"labels_fork", marks_labels_fork},
};

static const struct counted_mode {
    const char *name;
    void (*run)(uint32_t count);
} counted[] = {
    {"handlers", marks_handlers}, {"plugins", marks_plugins}, {"exec", marks_exec},
    {"vfork", marks_vfork},       {"sites", marks_sites},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "until") == 0 && argc > 2) {
        mode_until(argv[2]);
        return 0;
    }
    if (strcmp(name, "past_end") == 0 && argc > 2) {
        marks_past_end(argv[2]);
        return 0;
    }
    count = (uint32_t)number_argument(argc, argv, 2, count);
    threads = (uint32_t)number_argument(argc, argv, 3, threads);
    if (strcmp(name, "stream") == 0) {
        marks_stream(count, threads);
        return 0;
    }
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
        if (strcmp(name, counted[i].name) == 0) {
            counted[i].run(count);
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        if (strcmp(name, modes[i].name) == 0) {
            modes[i].run();
            return 0;
        }
    }
    fprintf(stderr, "marks: no such mode\n");
    return 2;
}
