/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of this process walks its own stack, and then waits in read. Walked from outside, as if
 * it were another's, its stack is the same. The file is compiled without frame pointers, as most
 * programs are.
 */
#include "arch/context.h"
#include "observe/remote.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "observe/wall_find.h"
#include "unit.h"

#define DEPTH 64u
#define BIT(reg) (1u << (reg))

static kymo_remote_store *store;
static kymo_remote *remote;

/* What the thread knows of itself. */
static struct waiter {
    int pipe[2];
    pid_t tid;
    int needs_rbp;
    void *trampoline; /* a function that calls its argument; NULL: none */
    uint64_t pcs[DEPTH];
    size_t n;
    struct kymo_regs regs; /* of the frame that calls read */
    uint32_t ready;
} waiter;

static size_t waiter_bytes; /* more in the frame that needs rbp */

static struct kymo_walker own_walker;

/* A sanitizer's frames between a thread's function and its real entry, and around read, keep frame
 * pointers: what these tests show needs a stack without. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifdef IS_SANITIZED
#define NEEDS_PLAIN_STACK() skip()
#else
#define NEEDS_PLAIN_STACK() (void)0
#endif

__attribute__((noinline, no_sanitize("address"))) static void wait_in_read(void)
{
    struct kymo_walk_result result;
    char byte;
    kymo_regs_here(&waiter.regs);
    struct kymo_regs regs = waiter.regs;
    waiter.n = kymo_unwind_walk(&own_walker, &regs, NULL, waiter.pcs, DEPTH, 0, &result);
    kymo_store_release(&waiter.ready, 1u);
    /* Not by read, which a sanitizer's runtime puts a function of its own in front of. */
    long n = syscall(SYS_read, waiter.pipe[0], &byte, 1);
    waiter.n += n == 1 ? 0 : 1000;
}

__attribute__((noinline, no_sanitize("address"))) static void middle(int depth)
{
    char big[20000];
    memset(big, depth, sizeof big);
    if (depth > 0)
        middle(depth - 1);
    else
        wait_in_read();
    __asm__ volatile("" : : "r"(big) : "memory");
}

/* Its frame is as large as it is told, so it is found by rbp alone. */
__attribute__((noinline, no_sanitize("address"))) static void with_frame_pointer(size_t size)
{
    volatile char *big = __builtin_alloca(size);
    big[0] = 1;
    wait_in_read();
    big[1] = 1;
}

static void *run(void *argument)
{
    union {
        void *code;
        void (*call)(void (*)(void));
    } trampoline = {.code = waiter.trampoline};
    waiter.tid = (pid_t)syscall(SYS_gettid);
    if (trampoline.code)
        trampoline.call(wait_in_read);
    else if (waiter.needs_rbp)
        with_frame_pointer(100 + waiter_bytes + (size_t)(argument != NULL));
    else
        middle(5);
    return NULL;
}

static struct kymo_remote_call call_of(pid_t tid)
{
    char path[64];
    char text[256] = "";
    struct kymo_remote_call call = {.is_running = 1};
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
        assert_int_equal(kymo_remote_parse_call(text, &call), 1);
    if (fd >= 0)
        close(fd);
    return call;
}

static struct kymo_remote_call start_in(pthread_t *thread, int needs_rbp, void *trampoline)
{
    struct kymo_remote_call call;
    waiter = (struct waiter){.needs_rbp = needs_rbp, .trampoline = trampoline};
    assert_int_equal(pipe(waiter.pipe), 0);
    assert_int_equal(pthread_create(thread, NULL, run, NULL), 0);
    while (!kymo_load_acquire(&waiter.ready))
        sched_yield();
    do {
        sched_yield();
        call = call_of(waiter.tid);
    } while (call.is_running || call.number != SYS_read);
    return call;
}

static struct kymo_remote_call start(pthread_t *thread, int needs_rbp)
{
    return start_in(thread, needs_rbp, NULL);
}

static void stop(pthread_t thread)
{
    assert_int_equal(write(waiter.pipe[1], "", 1), 1);
    pthread_join(thread, NULL);
    close(waiter.pipe[0]);
    close(waiter.pipe[1]);
}

static struct kymo_regs regs_of(const struct kymo_remote_call *call)
{
    struct kymo_regs regs = {.ip = call->pc};
    regs.gpr[KYMO_REG_SP] = call->sp;
    return regs;
}

/* The callers of wait_in_read are the same in both; below it is the C library's syscall. */
static void assert_same_callers(const uint64_t *pcs, size_t n)
{
    size_t callers = waiter.n - 1;
    assert_true(callers >= 2);
    assert_true(n > callers);
    for (size_t i = 1; i <= callers; i++)
        assert_int_equal(pcs[n - i], waiter.pcs[waiter.n - i]);
}

static void a_waiting_thread_has_the_same_stack_from_outside(void **state)
{
    (void)state;
    NEEDS_PLAIN_STACK();
    pthread_t thread;
    uint64_t pcs[DEPTH];
    struct kymo_walk_result result;
    struct kymo_remote_call call = start(&thread, 0);
    struct kymo_regs regs = regs_of(&call);
    size_t n = kymo_remote_walk(remote, &regs, BIT(KYMO_REG_SP), pcs, DEPTH, &result);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    assert_same_callers(pcs, n);
    struct kymo_remote_module *m = kymo_remote_module_at(remote, pcs[0]);
    assert_non_null(m);
    assert_non_null(strstr(m->path, "libc"));
    assert_true(m->build_id_len > 0);
    stop(thread);
}

/* As CPython's `-X perf` makes them. One at the end of a page, too, whose bytes end before it does.
 */
static void a_trampoline_is_stepped_over_where_there_are_any(void **state)
{
    static const unsigned char code[] = {0x48, 0x83, 0xec, 0x08, /* sub $8,%rsp */
                                         0xff, 0xd7,             /* call *%rdi */
                                         0x48, 0x83, 0xc4, 0x08, /* add $8,%rsp */
                                         0xc3};
    (void)state;
    NEEDS_PLAIN_STACK();
    unsigned char *pages =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    unsigned char *const places[] = {pages + 64, pages + 4096 - sizeof code};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(places); i++)
        memcpy(places[i], code, sizeof code);
    assert_int_equal(mprotect(pages, 8192, PROT_READ | PROT_EXEC), 0);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(places); i++) {
        uint64_t pcs[DEPTH];
        pthread_t thread;
        struct kymo_walk_result result;
        struct kymo_remote_call call = start_in(&thread, 0, places[i]);
        struct kymo_regs regs = regs_of(&call);
        size_t n = kymo_remote_walk(remote, &regs, BIT(KYMO_REG_SP), pcs, DEPTH, &result);
        assert_int_equal(result.end, KYMO_WALK_NO_MODULE);
        kymo_remote_has_trampolines(remote);
        size_t more = kymo_remote_walk(remote, &regs, BIT(KYMO_REG_SP), pcs, DEPTH, &result);
        assert_int_equal(result.end, KYMO_WALK_COMPLETE);
        assert_int_equal(pcs[n - 1], (uint64_t)(uintptr_t)places[i] + 6);
        assert_true(more > n + 1); /* run, and what begins a thread */
        stop(thread);
        kymo_remote_destroy(remote);
        assert_int_equal(kymo_remote_create(store, getpid(), &remote), KYMO_OK);
    }
    munmap(pages, 8192);
}

static void a_frame_that_needs_rbp_ends_the_walk_unless_it_is_known(void **state)
{
    (void)state;
    NEEDS_PLAIN_STACK();
    pthread_t thread;
    uint64_t pcs[DEPTH];
    struct kymo_walk_result result;
    struct kymo_remote_call call = start(&thread, 1);
    struct kymo_regs regs = regs_of(&call);
    size_t n = kymo_remote_walk(remote, &regs, BIT(KYMO_REG_SP), pcs, DEPTH, &result);
    assert_int_equal(result.end, KYMO_WALK_UNSUPPORTED);
    assert_true(n < waiter.n + 1);
    /* wait_in_read called read with the registers that it had. */
    memcpy(regs.gpr, waiter.regs.gpr, sizeof regs.gpr);
    regs.gpr[KYMO_REG_SP] = call.sp;
    n = kymo_remote_walk(remote, &regs, BIT(KYMO_REG_SP) | BIT(KYMO_REG_FP), pcs, DEPTH, &result);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    assert_same_callers(pcs, n);
    stop(thread);
}

/* With the distance of the one size, another thread's frame of another size is not found. */
static void a_frame_pointer_that_a_thread_told_is_told_to_others(void **state)
{
    (void)state;
    NEEDS_PLAIN_STACK();
    static const size_t sizes[] = {300, 300, 4000, 300};
    struct kymo_frame_bases bases = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pthread_t thread;
        uint64_t pcs[DEPTH];
        uint64_t rbp = 0;
        struct kymo_walk_result result;
        waiter_bytes = sizes[i];
        struct kymo_remote_call call = start(&thread, 1);
        struct kymo_regs regs = regs_of(&call);
        size_t n = kymo_remote_walk(remote, &regs, BIT(KYMO_REG_SP), pcs, DEPTH, &result);
        assert_int_equal(result.end, KYMO_WALK_UNSUPPORTED);
        struct kymo_remote_frame frame = {pcs[n - 1] - 1, result.missing};
        assert_int_equal(kymo_frame_base_guess(&bases, remote, &frame, &rbp), i == 1);
        if (i == 1)
            assert_int_equal(rbp, waiter.regs.gpr[KYMO_REG_FP]);
        kymo_frame_base_learn(&bases, remote, &frame, waiter.regs.gpr[KYMO_REG_FP]);
        stop(thread);
    }
    kymo_frame_bases_deinit(&bases);
}

static void no_stack_is_no_stack(void **state)
{
    (void)state;
    uint64_t pcs[DEPTH];
    struct kymo_walk_result result;
    struct kymo_regs regs = {.ip = 1};
    regs.gpr[KYMO_REG_SP] = 0x1000;
    assert_int_equal(kymo_remote_walk(remote, &regs, BIT(KYMO_REG_SP), pcs, DEPTH, &result), 0);
    assert_null(kymo_remote_module_at(remote, 1));
}

static void unwind_information_is_shared_by_build_id(void **state)
{
    (void)state;
    NEEDS_PLAIN_STACK();
    kymo_remote *other;
    assert_int_equal(kymo_remote_create(store, getpid(), &other), KYMO_OK);
    pthread_t thread;
    uint64_t pcs[DEPTH];
    struct kymo_walk_result result;
    struct kymo_remote_call call = start(&thread, 0);
    struct kymo_regs regs = regs_of(&call);
    size_t n = kymo_remote_walk(other, &regs, BIT(KYMO_REG_SP), pcs, DEPTH, &result);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    assert_same_callers(pcs, n);
    stop(thread);
    kymo_remote_destroy(other);
}

/* A row that is asked for again, also for another process of the same file, is the same. */
static void rows_of_a_file_are_kept(void **state)
{
    (void)state;
    enum { STEP = 3, COUNT = 20000 };
    kymo_remote *other;
    uint64_t word, again, elsewhere, function, same;
    uint64_t at = (uintptr_t)&qsort;
    uint32_t found = 0;
    assert_int_equal(kymo_remote_create(store, getpid(), &other), KYMO_OK);
    for (uint32_t i = 0; i < COUNT; i++, at += STEP) {
        if (!kymo_remote_row(remote, at, &word, &function))
            continue;
        assert_true(kymo_remote_row(remote, at, &again, &same) && same == function);
        assert_true(kymo_remote_row(other, at, &elsewhere, &same) && same == function);
        assert_true(word == again && word == elsewhere);
        found++;
    }
    assert_true(found > COUNT / 10);
    kymo_remote_destroy(other);
}

/* ---- parsing ---- */

static void calls_are_parsed(void **state)
{
    (void)state;
    struct kymo_remote_call c;
    assert_int_equal(kymo_remote_parse_call("running\n", &c), 1);
    assert_int_equal(c.is_running, 1);
    assert_int_equal(kymo_remote_parse_call("202 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd5 0x7f00a\n", &c),
                     1);
    assert_int_equal(c.number, 202);
    assert_int_equal(c.sp, 0x7ffd5);
    assert_int_equal(c.pc, 0x7f00a);
    assert_int_equal(kymo_remote_parse_call("-1 0x10 0x20\n", &c), 1);
    assert_int_equal(c.number, -1);
    assert_int_equal(c.sp, 0x10);
    assert_int_equal(c.pc, 0x20);
    static const char *const bad[] = {"",
                                      "-1",
                                      "-1 0x10",
                                      "x",
                                      "99999999999 0x1 0x2",
                                      "0 0x1 0x2 0x3\n",
                                      "202 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0xfffffffffffffffff\n",
                                      "-1 0x1 0x2 0x3\n"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bad); i++)
        assert_int_equal(kymo_remote_parse_call(bad[i], &c), 0);
}

static int setup(void **state)
{
    (void)state;
    assert_int_equal(kymo_walker_init(&own_walker, NULL, 0), KYMO_OK);
    assert_int_equal(kymo_remote_store_create(&store), KYMO_OK);
    assert_int_equal(kymo_remote_create(store, getpid(), &remote), KYMO_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_remote_destroy(remote);
    kymo_remote_store_destroy(store);
    return 0;
}

/* ---- modules ---- */

#define FAKE_PAGE 4096u

/* A file of one page: headers, a segment of two pages and code at this address. */
static int make_elf(uint64_t text)
{
    unsigned char page[FAKE_PAGE] = {0};
    Elf64_Ehdr eh = {.e_phoff = sizeof eh, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2};
    Elf64_Phdr ph[2] = {
        {.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = FAKE_PAGE, .p_memsz = 2 * FAKE_PAGE},
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = text % FAKE_PAGE, .p_vaddr = text},
    };
    ph[1].p_filesz = ph[1].p_memsz = 16;
    memcpy(eh.e_ident, ELFMAG, SELFMAG);
    memcpy(page, &eh, sizeof eh);
    memcpy(page + sizeof eh, ph, sizeof ph);
    int fd = (int)syscall(SYS_memfd_create, "elf", 1u); /* MFD_CLOEXEC */
    assert_true(fd >= 0);
    assert_int_equal(write(fd, page, sizeof page), sizeof page);
    return fd;
}

static unsigned char *reserve(size_t pages)
{
    unsigned char *at =
        mmap(NULL, pages * FAKE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    return at;
}

static void map_at(unsigned char *at, int fd, int access)
{
    assert_true(mmap(at, FAKE_PAGE, access, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED);
}

static const struct kymo_remote_module *module_at(const unsigned char *at)
{
    return kymo_remote_module_at(remote, (uint64_t)(uintptr_t)at);
}

/* A file that is mapped to be read promises more than is there, and has no code. */
static void a_file_that_is_read_is_no_module(void **state)
{
    (void)state;
    int fd = make_elf(0x400);
    unsigned char *at = reserve(4);
    map_at(at, fd, PROT_READ);
    map_at(at + FAKE_PAGE, fd, PROT_READ | PROT_EXEC);
    uint64_t generation = kymo_remote_generation(remote);
    assert_int_equal(kymo_remote_refresh(remote), KYMO_OK);
    assert_null(module_at(at + 0x400));
    const struct kymo_remote_module *m = module_at(at + FAKE_PAGE + 0x400);
    assert_non_null(m);
    assert_int_equal(m->bias, (uintptr_t)at + FAKE_PAGE);
    munmap(at, FAKE_PAGE);
    assert_int_equal(kymo_remote_refresh(remote), KYMO_OK);
    assert_int_equal(kymo_remote_generation(remote), generation);
    munmap(at + FAKE_PAGE, 3 * FAKE_PAGE);
    assert_int_equal(kymo_remote_refresh(remote), KYMO_OK);
    assert_int_equal(kymo_remote_generation(remote), generation + 1);
    close(fd);
}

/* Headers and code are in one page of the file, as lld makes small ones, and so mapped twice. */
static void code_in_the_page_of_the_headers(void **state)
{
    (void)state;
    int fd = make_elf(FAKE_PAGE + 0x400);
    unsigned char *at = reserve(4);
    map_at(at, fd, PROT_READ);
    map_at(at + FAKE_PAGE, fd, PROT_READ | PROT_EXEC);
    map_at(at + 2 * FAKE_PAGE, fd, PROT_READ | PROT_WRITE);
    assert_int_equal(kymo_remote_refresh(remote), KYMO_OK);
    const struct kymo_remote_module *m = module_at(at + FAKE_PAGE + 0x400);
    assert_non_null(m);
    assert_int_equal(m->bias, (uintptr_t)at);
    assert_null(module_at(at + 2 * FAKE_PAGE));
    munmap(at, 4 * FAKE_PAGE);
    assert_int_equal(kymo_remote_refresh(remote), KYMO_OK);
    assert_null(module_at(at + FAKE_PAGE + 0x400));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_waiting_thread_has_the_same_stack_from_outside),
        cmocka_unit_test(a_trampoline_is_stepped_over_where_there_are_any),
        cmocka_unit_test(a_frame_that_needs_rbp_ends_the_walk_unless_it_is_known),
        cmocka_unit_test(a_frame_pointer_that_a_thread_told_is_told_to_others),
        cmocka_unit_test(no_stack_is_no_stack),
        cmocka_unit_test(unwind_information_is_shared_by_build_id),
        cmocka_unit_test(rows_of_a_file_are_kept),
        cmocka_unit_test(a_file_that_is_read_is_no_module),
        cmocka_unit_test(code_in_the_page_of_the_headers),
        cmocka_unit_test(calls_are_parsed),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
