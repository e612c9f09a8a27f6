/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where threads of this very process wait, and how few of them are asked. Stacks walked from
 * outside are test_remote.c's.
 */
#include "observe/wall_find.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "unit.h"

#define COOKIE 0x1234567u

static struct kymo_session session;
static struct kymo_wall_finder finder;
static struct kymo_frame_bases bases;
static unsigned stacks; /* that were written */

static kymo_err on_module(void *context, const kymo_event_module *e)
{
    (void)context;
    (void)e;
    return KYMO_OK;
}

static kymo_err on_image(void *context, const kymo_event_module_image *e)
{
    (void)context;
    (void)e;
    return KYMO_OK;
}

static kymo_err on_stack(void *context, const kymo_event_stack *e)
{
    (void)context;
    assert_true(e->depth > 0);
    stacks++;
    return KYMO_OK;
}

static const kymo_event_handler events = {
    .module = on_module, .module_image = on_image, .stack = on_stack};

static void open_finder(uint32_t depth)
{
    stacks = 0;
    session.depth = depth;
    session.cookie = COOKIE;
    session.signal_now = SIGURG;
    finder = (struct kymo_wall_finder){
        .session = &session,
        .pid = getpid(),
        .bases = &bases,
        .stacks = {.events = &events, .process = 3},
    };
    assert_int_equal(kymo_wall_finder_init(&finder), KYMO_OK);
}

/* The signal that has come to this thread; 0: none. */
static int came(siginfo_t *info)
{
    sigset_t ours;
    const struct timespec now = {0, 0};
    sigemptyset(&ours);
    for (int signo = SIGRTMAX - 5; signo <= SIGRTMAX; signo++)
        sigaddset(&ours, signo);
    sigaddset(&ours, SIGURG);
    sigaddset(&ours, SIGWINCH);
    int signo = sigtimedwait(&ours, info, &now);
    return signo < 0 ? 0 : signo;
}

static struct kymo_wall_memory memory_of(pid_t tid)
{
    return (struct kymo_wall_memory){.tid = tid, .call = -1};
}

/* ---- asking ---- */

/* By the signal of that moment, if it is one that does no harm when an exec comes first. */
static void who_is_asked_gets_a_signal(void **state)
{
    (void)state;
    const uint32_t good[] = {SIGURG, SIGWINCH};
    const uint32_t bad[] = {
        0, (uint32_t)SIGRTMAX - 3, SIGKILL, SIGTERM, SIGUSR1, 65, 0x80000017, 99, UINT32_MAX};
    struct kymo_wall_memory self = memory_of((pid_t)syscall(SYS_gettid));
    siginfo_t info;
    open_finder(64);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(good); i++) {
        session.signal_now = good[i];
        assert_int_equal(kymo_wall_ask_unclear(&finder, &self), 1);
        assert_int_equal(came(&info), good[i]);
        assert_int_equal(info.si_code, KYMO_ASK_CODE);
        assert_ptr_equal(info.si_value.sival_ptr, (void *)(uintptr_t)COOKIE);
    }
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bad); i++) {
        session.signal_now = bad[i]; /* the program's word */
        assert_int_equal(kymo_wall_ask_unclear(&finder, &self), 0);
        assert_int_equal(came(&info), 0);
    }
    kymo_wall_finder_deinit(&finder);
}

static unsigned granted(const struct kymo_wall_memory *m, unsigned tries)
{
    unsigned n = 0;
    siginfo_t info;
    for (unsigned i = 0; i < tries; i++) {
        int is_asked = kymo_wall_ask_unclear(&finder, m);
        assert_int_equal(came(&info), is_asked ? SIGURG : 0);
        n += is_asked != 0;
    }
    return n;
}

/* Where our handler is gone, what we send may end up in the program's. */
static void who_is_deaf_is_not_asked(void **state)
{
    (void)state;
    struct kymo_wall_memory m = memory_of((pid_t)syscall(SYS_gettid));
    open_finder(64);
    finder.looks = 100000;
    assert_int_equal(granted(&m, 1), 1);
    finder.is_deaf = 1;
    assert_int_equal(granted(&m, 1), 0);
    kymo_wall_finder_deinit(&finder);
}

/* 16 for a process, and one more for each 1000 looks. */
static void few_are_asked(void **state)
{
    (void)state;
    struct kymo_wall_memory m = memory_of((pid_t)syscall(SYS_gettid));
    open_finder(64);
    assert_int_equal(granted(&m, 50), 16);
    finder.looks = 999;
    assert_int_equal(granted(&m, 50), 0);
    finder.looks = 5000;
    assert_int_equal(granted(&m, 50), 5);
    kymo_wall_finder_deinit(&finder);
}

/* ---- answers ---- */

static struct kymo_drain_answer answer_at(uint64_t ip, uint64_t sp)
{
    struct kymo_drain_answer a = {.stack = 7};
    a.record.ip = ip;
    a.record.sp = sp;
    return a;
}

static void where_an_answer_was_given(void **state)
{
    (void)state;
    struct kymo_drain_answer a = answer_at(0x1000, 0x2000);
    assert_true(kymo_wall_is_same(&a, 0x1000, 0x2000));
    /* The handler found it before its call, which begins again: two bytes. */
    assert_true(kymo_wall_is_same(&a, 0x1002, 0x2000));
    assert_false(kymo_wall_is_same(&a, 0x1001, 0x2000));
    assert_false(kymo_wall_is_same(&a, 0xffe, 0x2000));
    assert_false(kymo_wall_is_same(&a, 0x1000, 0x2008));
    assert_false(kymo_wall_is_same(&a, 0x1000, 0));
    /* It was not known where it was. */
    assert_true(kymo_wall_is_same(&a, 0, 0));
}

static void the_last_places_are_remembered(void **state)
{
    (void)state;
    struct kymo_wall_memory m = memory_of(1);
    open_finder(64);
    for (uint64_t i = 1; i <= 2 * KYMO_WALL_PLACES + 1; i++) {
        struct kymo_drain_answer a = answer_at(0x1000 * i, 0x2000 * i);
        a.record.is_disturbed = i % 2;
        a.record.saved[KYMO_SLOT_FP] = 3 * i;
        a.record.saved[KYMO_SLOTS_SAVED - 1] = 15 * i;
        kymo_wall_remember(&finder, &m, &a);
    }
    assert_int_equal(finder.disturbed, KYMO_WALL_PLACES + 1);
    unsigned last = 0;
    for (uint32_t i = 0; i < KYMO_WALL_PLACES; i++) {
        const struct kymo_wall_place *p = &m.places[i];
        uint64_t n = p->regs.ip / 0x1000;
        assert_true(n > KYMO_WALL_PLACES + 1);
        assert_int_equal(p->regs.gpr[KYMO_REG_SP], 0x2000 * n);
        assert_int_equal(p->regs.gpr[KYMO_REG_FP], 3 * n);
        assert_int_equal(p->regs.gpr[kymo_slot_register[KYMO_SLOTS_SAVED - 1]], 15 * n);
        assert_true(p->is_known);
        last += n == 2 * KYMO_WALL_PLACES + 1;
    }
    assert_int_equal(last, 1);
    /* One that knew no stack is no place, and what the program writes there counts for nothing. */
    struct kymo_drain_answer a = answer_at(1, 1);
    a.stack = KYMO_NO_STACK;
    a.record.is_disturbed = 1ull << 40;
    kymo_wall_remember(&finder, &m, &a);
    assert_int_equal(finder.disturbed, KYMO_WALL_PLACES + 1);
    unsigned known = 0;
    for (uint32_t i = 0; i < KYMO_WALL_PLACES; i++)
        known += m.places[i].is_known != 0;
    assert_int_equal(known, KYMO_WALL_PLACES - 1);
    kymo_wall_finder_deinit(&finder);
}

/* ---- finding ---- */

enum way { READS_PIPE, READS_SOCKET, POLLS };

static struct {
    enum way way;
    int pipe[2];
    uint32_t tid;
    uint32_t stop;
} other;

static void *wait_in_read(void *unused)
{
    char byte;
    kymo_store_release(&other.tid, (uint32_t)syscall(SYS_gettid));
    /* Not by read, which a sanitizer's runtime puts a function of its own in front of. */
    return syscall(SYS_read, other.pipe[0], &byte, 1) == 1 ? unused : &other;
}

static void *spin(void *unused)
{
    kymo_store_release(&other.tid, (uint32_t)syscall(SYS_gettid));
    while (!kymo_load_acquire(&other.stop))
        ;
    return unused;
}

static pid_t start(pthread_t *thread, void *(*body)(void *))
{
    other.tid = other.stop = 0;
    if (other.way == READS_SOCKET)
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other.pipe), 0);
    else
        assert_int_equal(pipe(other.pipe), 0);
    assert_int_equal(pthread_create(thread, NULL, body, NULL), 0);
    while (!kymo_load_acquire(&other.tid))
        sched_yield();
    return (pid_t)other.tid;
}

static void stop(pthread_t thread)
{
    void *result;
    kymo_store_release(&other.stop, 1u);
    assert_int_equal(write(other.pipe[1], "", 1), 1);
    pthread_join(thread, &result);
    assert_null(result);
    close(other.pipe[0]);
    close(other.pipe[1]);
}

static struct kymo_wall_found find_until(struct kymo_wall_memory *m, int call)
{
    struct kymo_wall_found found;
    do {
        sched_yield();
        assert_int_equal(kymo_wall_find(&finder, m, 2, &found), KYMO_OK);
    } while (found.is_running || found.call != call);
    return found;
}

static void a_waiting_thread_is_found(void **state)
{
    (void)state;
    pthread_t thread;
    open_finder(64);
    struct kymo_wall_memory m = memory_of(start(&thread, wait_in_read));
    /* Without its memory: the call and the place, and that its stack is not known. */
    struct kymo_wall_found found = find_until(&m, SYS_read);
    assert_true(found.ip != 0 && found.sp != 0);
    assert_int_equal(found.stack, KYMO_EVENT_NONE);
    assert_int_equal(found.may_ask, 0); /* nothing would tell the place again */
    assert_true(m.call >= 0);           /* it is kept open */

    assert_int_equal(kymo_remote_store_create(&finder.store), KYMO_OK);
    assert_int_equal(kymo_wall_finder_begin(&finder, 1), KYMO_OK);
    struct kymo_wall_found again = find_until(&m, SYS_read);
    assert_int_equal(again.ip, found.ip);
    assert_int_equal(again.sp, found.sp);
    assert_int_not_equal(again.stack, KYMO_EVENT_NONE); /* as far as it is known */
    unsigned written = stacks;
    assert_true(written > 0);
    found = find_until(&m, SYS_read);
    assert_int_equal(found.stack, again.stack);
    assert_int_equal(stacks, written); /* told once */
    stop(thread);
    kymo_wall_memory_deinit(&m);
    assert_int_equal(m.call, -1);
    kymo_remote_store *store = finder.store;
    kymo_wall_finder_deinit(&finder);
    kymo_remote_store_destroy(store);
}

/* Made code calls one of these where no walk goes on, so its stack is not clear. */
static void *wait_in_call(void *unused)
{
    static const unsigned char code[] = {0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6,
                                         0x48, 0x89, 0xca, 0x4d, 0x31, 0xd2, 0x0f, 0x05, 0xc3};
    void *at = mmap(NULL, sizeof code, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return &other;
    memcpy(at, code, sizeof code);
    long (*made)(long, long, long, long);
    memcpy(&made, &at, sizeof made);
    struct pollfd readable = {.fd = other.pipe[0], .events = POLLIN};
    char byte;
    int polls = other.way == POLLS;
    kymo_store_release(&other.tid, (uint32_t)syscall(SYS_gettid));
    (void)made(polls ? SYS_poll : SYS_read, polls ? (long)(intptr_t)&readable : other.pipe[0],
               polls ? 1 : (long)(intptr_t)&byte, polls ? -1 : 1);
    munmap(at, sizeof code);
    return unused;
}

/* Only in a call that goes on by itself afterwards. */
static void who_may_be_asked(void **state)
{
    (void)state;
    for (int way = READS_PIPE; way <= POLLS; way++) {
        pthread_t thread;
        open_finder(64);
        assert_int_equal(kymo_remote_store_create(&finder.store), KYMO_OK);
        assert_int_equal(kymo_wall_finder_begin(&finder, 1), KYMO_OK);
        other.way = (enum way)way;
        struct kymo_wall_memory m = memory_of(start(&thread, wait_in_call));
        struct kymo_wall_found found = find_until(&m, way == POLLS ? SYS_poll : SYS_read);
        assert_int_equal(found.may_ask, way == READS_PIPE);
        stop(thread);
        kymo_wall_memory_deinit(&m);
        kymo_remote_store *store = finder.store;
        kymo_wall_finder_deinit(&finder);
        kymo_remote_store_destroy(store);
    }
    other.way = READS_PIPE;
}

/* read, as if a program had made it. */
static void *wait_in_made_code(void *unused)
{
    static const unsigned char code[] = {0x31, 0xc0, 0x0f, 0x05, 0xc3}; /* xor, syscall, ret */
    char byte;
    void *at = mmap(NULL, sizeof code, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return &other;
    memcpy(at, code, sizeof code);
    long (*made)(int, void *, size_t);
    memcpy(&made, &at, sizeof made);
    kymo_store_release(&other.tid, (uint32_t)syscall(SYS_gettid));
    long n = made(other.pipe[0], &byte, 1);
    munmap(at, sizeof code);
    return n == 1 ? unused : &other;
}

/* What never is in a module is looked for ever more rarely, since the program waits meanwhile. */
static void made_code_is_in_no_module(void **state)
{
    (void)state;
    static const uint64_t after_ms[] = {100, 200, 400, 800, 1600, 1600, 1600};
    pthread_t thread;
    struct kymo_wall_found found;
    open_finder(64);
    assert_int_equal(kymo_remote_store_create(&finder.store), KYMO_OK);
    assert_int_equal(kymo_wall_finder_begin(&finder, 1), KYMO_OK);
    struct kymo_wall_memory m = memory_of(start(&thread, wait_in_made_code));
    (void)find_until(&m, SYS_read);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(after_ms); i++) {
        uint64_t now_ns = finder.retry_ns;
        assert_int_equal(kymo_wall_find(&finder, &m, now_ns - 1, &found), KYMO_OK);
        assert_int_equal(finder.retry_ns, now_ns);
        assert_int_equal(kymo_wall_find(&finder, &m, now_ns, &found), KYMO_OK);
        assert_int_equal(finder.retry_ns, now_ns + after_ms[i] * 1000000u);
    }
    stop(thread);
    kymo_wall_memory_deinit(&m);
    kymo_remote_store *store = finder.store;
    kymo_wall_finder_deinit(&finder);
    kymo_remote_store_destroy(store);
}

static void a_thread_that_runs_has_no_place(void **state)
{
    (void)state;
    pthread_t thread;
    open_finder(64);
    struct kymo_wall_memory m = memory_of(start(&thread, spin));
    struct kymo_wall_found found = {0};
    while (!found.is_running)
        assert_int_equal(kymo_wall_find(&finder, &m, 2, &found), KYMO_OK);
    assert_int_equal(found.stack, KYMO_EVENT_NONE);
    assert_int_equal(found.may_ask, 0);
    stop(thread);
    kymo_wall_memory_deinit(&m);
    kymo_wall_finder_deinit(&finder);
}

static void a_thread_that_is_not_there(void **state)
{
    (void)state;
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(before);
    open_finder(64);
    struct kymo_wall_memory m = memory_of(99999999);
    struct kymo_wall_found found;
    assert_int_equal(kymo_wall_find(&finder, &m, 2, &found), KYMO_OK);
    assert_int_equal(found.call, KYMO_WAIT_NONE);
    assert_int_equal(found.is_running, 0);
    assert_int_equal(found.ip, 0);
    assert_int_equal(found.stack, KYMO_EVENT_NONE);
    assert_int_equal(found.is_over, 0); /* the process is there */
    kymo_wall_memory_deinit(&m);
    kymo_wall_finder_deinit(&finder);
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(after);
    assert_int_equal(before, after);
}

/* What it waits in is not known then, but it waits for nothing. */
static void a_process_that_has_no_memory_is_over(void **state)
{
    (void)state;
    siginfo_t info;
    struct kymo_wall_found found;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    open_finder(64);
    finder.pid = child;
    struct kymo_wall_memory m = memory_of(child);
    assert_int_equal(kymo_wall_find(&finder, &m, 2, &found), KYMO_OK);
    assert_int_equal(found.stack, KYMO_EVENT_NONE);
    assert_int_equal(found.is_over, 1);
    kymo_wall_memory_deinit(&m);
    kymo_wall_finder_deinit(&finder);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* The depth stands in memory that the program may write to. */
static void a_depth_that_cannot_be_is_bounded(void **state)
{
    (void)state;
    static const uint32_t depths[] = {0, 1, 4096, 4097, UINT32_MAX};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(depths); i++) {
        open_finder(depths[i]);
        assert_true(finder.depth <= 4096);
        kymo_wall_finder_deinit(&finder);
    }
}

static int free_bases(void **state)
{
    (void)state;
    kymo_frame_bases_deinit(&bases);
    return 0;
}

static int block_signals(void **state)
{
    (void)state;
    sigset_t ours;
    sigemptyset(&ours);
    for (int signo = SIGRTMAX - 5; signo <= SIGRTMAX; signo++)
        sigaddset(&ours, signo);
    sigaddset(&ours, SIGURG);
    sigaddset(&ours, SIGWINCH);
    return pthread_sigmask(SIG_BLOCK, &ours, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_asked_gets_a_signal),
        cmocka_unit_test(who_is_deaf_is_not_asked),
        cmocka_unit_test(few_are_asked),
        cmocka_unit_test(where_an_answer_was_given),
        cmocka_unit_test(the_last_places_are_remembered),
        cmocka_unit_test(a_waiting_thread_is_found),
        cmocka_unit_test(who_may_be_asked),
        cmocka_unit_test(made_code_is_in_no_module),
        cmocka_unit_test(a_thread_that_runs_has_no_place),
        cmocka_unit_test(a_thread_that_is_not_there),
        cmocka_unit_test(a_process_that_has_no_memory_is_over),
        cmocka_unit_test(a_depth_that_cannot_be_is_bounded),
    };
    return cmocka_run_group_tests(tests, block_signals, free_bases);
}
