/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples from copies of stacks: records as the kernel writes them, and the kernel's own, of this
 * thread.
 */
#include "observe/stack_copies.h"

#include <elf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/perf_registers.h"
#include "observe/perf_event.h"
#include "observe/wall_find.h"
#include "sys/clock.h"
#include "unit.h"

/* ---- one record ---- */

#define STACK 64u

/* As the kernel lays it out, with what of it may differ. */
struct laid_out {
    struct {
        uint64_t time_ns, cpu_ns, chain, pcs[3], abi, regs[KYMO_PERF_REGISTER_WORDS], asked;
        unsigned char stack[STACK];
        uint64_t copied;
    } bytes;
    struct kymo_perf_record record;
};

static struct laid_out sound_record(void)
{
    struct laid_out r = {
        .bytes = {.time_ns = 11,
                  .cpu_ns = 22,
                  .chain = 3,
                  .pcs = {(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020},
                  .abi = PERF_SAMPLE_REGS_ABI_64,
                  .asked = STACK,
                  .copied = STACK / 2},
        .record = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, sizeof r.bytes, NULL},
    };
    for (unsigned i = 0; i < KYMO_PERF_REGISTER_WORDS; i++)
        r.bytes.regs[i] = 100 + i;
    memset(r.bytes.stack, 0xab, sizeof r.bytes.stack);
    return r;
}

/* In memory of just that size, where a sanitizer sees its end. */
static int parse(const struct laid_out *r, struct kymo_stack_copy *copy)
{
    struct kymo_perf_record record = r->record;
    unsigned char *bytes = malloc(record.len + 1);
    assert_non_null(bytes);
    memcpy(bytes, &r->bytes, record.len);
    record.bytes = bytes;
    int found = kymo_stack_copy_parse(&record, copy);
    if (found && copy->has_user) {
        assert_true(copy->stack >= bytes);
        assert_true(copy->stack + copy->asked_bytes <= bytes + record.len);
        copy->stack = r->bytes.stack +
                      (copy->stack - bytes - (r->bytes.stack - (const unsigned char *)&r->bytes));
    }
    free(bytes);
    return found;
}

static void a_record_is_read(void **state)
{
    struct kymo_stack_copy copy;
    const struct laid_out r = sound_record();
    (void)state;
    assert_int_equal(parse(&r, &copy), 1);
    assert_int_equal(copy.kernel.time_ns, 11);
    assert_int_equal(copy.cpu_ns, 22);
    assert_int_equal(copy.kernel.depth, 2);
    assert_int_equal(copy.kernel.pcs[1], 0xffffffff81000020);
    assert_int_equal(copy.has_user, 1);
    assert_ptr_equal(copy.stack, r.bytes.stack);
    assert_int_equal(copy.stack_bytes, STACK / 2);
    assert_int_equal(copy.asked_bytes, STACK);
    /* The kernel's order is ax, bx, cx, dx, si, di, bp, sp, ip, r8 to r15; DWARF's is another. */
    static const uint64_t by_dwarf[] = {100, 103, 102, 101, 104, 105, 106, 107,
                                        109, 110, 111, 112, 113, 114, 115, 116};
    assert_memory_equal(copy.regs.gpr, by_dwarf, sizeof by_dwarf);
    assert_int_equal(copy.regs.ip, 108);
}

static void a_cut_record_is_none(void **state)
{
    struct kymo_stack_copy copy;
    struct laid_out r = sound_record();
    (void)state;
    for (r.record.len = 0; r.record.len < sizeof r.bytes; r.record.len++)
        assert_int_equal(parse(&r, &copy), 0);
}

static void lengths_that_lie_are_refused(void **state)
{
    struct kymo_stack_copy copy;
    (void)state;
    struct laid_out r = sound_record();
    r.bytes.chain = UINT64_MAX / sizeof(uint64_t);
    assert_int_equal(parse(&r, &copy), 0);
    r = sound_record();
    r.bytes.asked = UINT64_MAX;
    assert_int_equal(parse(&r, &copy), 0);
    r = sound_record();
    r.bytes.copied = STACK + 1;
    assert_int_equal(parse(&r, &copy), 0);
    r = sound_record();
    r.record.type = PERF_RECORD_LOST;
    assert_int_equal(parse(&r, &copy), 0);
}

static void a_thread_without_a_user_part_has_a_kernel_part(void **state)
{
    struct kymo_stack_copy copy;
    struct laid_out r = sound_record();
    (void)state;
    r.bytes.abi = PERF_SAMPLE_REGS_ABI_NONE;
    assert_int_equal(parse(&r, &copy), 1);
    assert_int_equal(copy.has_user, 0);
    assert_int_equal(copy.kernel.depth, 2);
    r = sound_record();
    r.bytes.asked = 0;
    assert_int_equal(parse(&r, &copy), 1);
    assert_int_equal(copy.has_user, 0);
    r = sound_record();
    r.record.misc = PERF_RECORD_MISC_USER;
    assert_int_equal(parse(&r, &copy), 1);
    assert_int_equal(copy.kernel.depth, 0);
}

/* ---- the size of copies ---- */

/* The kernel's part ends where the user's begins, which goes on behind what a walk has found. */
static void a_chain_goes_on_behind_a_walk(void **state)
{
    struct laid_out r = sound_record();
    struct kymo_perf_record record = r.record;
    struct kymo_stack_copy copy;
    uint64_t pcs[6] = {0x10, 0x20, 0x30};
    (void)state;
    record.bytes = (const unsigned char *)&r.bytes;
    r.bytes.pcs[0] = 0xffffffff81000010;
    r.bytes.pcs[1] = (uint64_t)PERF_CONTEXT_USER;
    r.bytes.pcs[2] = 0x10;
    assert_int_equal(kymo_stack_copy_parse(&record, &copy), 1);
    assert_int_equal(copy.kernel.depth, 1);
    assert_int_equal(copy.chain_count, 1);
    assert_int_equal(kymo_stack_copy_join_chain(&copy, pcs, 3, 6), 3);

    static const uint64_t chain[] = {0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70};
    copy.chain = (const unsigned char *)chain;
    copy.chain_count = KYMO_ARRAY_LEN(chain);
    assert_int_equal(kymo_stack_copy_join_chain(&copy, pcs, 3, 5), 5);
    assert_int_equal(pcs[3], 0x40);
    assert_int_equal(pcs[4], 0x50);
    /* It must have both of the last two. */
    uint64_t other[6] = {0x10, 0x21, 0x30};
    assert_int_equal(kymo_stack_copy_join_chain(&copy, other, 3, 6), 3);
    uint64_t last[6] = {0x10, 0x60, 0x70};
    assert_int_equal(kymo_stack_copy_join_chain(&copy, last, 3, 6), 3);
    assert_int_equal(kymo_stack_copy_join_chain(&copy, pcs, 2, 6), 2);
    copy.chain_count = 0;
    assert_int_equal(kymo_stack_copy_join_chain(&copy, pcs, 3, 6), 3);
}

static void a_program_that_uses_more_gets_longer_copies(void **state)
{
    kymo_copy_budget *budget;
    const struct kymo_task_exe exe = {1, 2};
    (void)state;
    assert_int_equal(kymo_copy_budget_create(&budget), KYMO_OK);
    uint32_t before = 0;
    for (uint64_t used = 0; used < 100000; used += 100) {
        uint32_t bytes = kymo_copy_budget_bytes(budget, &exe, used);
        if (bytes == 0)
            break;
        assert_true(bytes > used && bytes >= before && bytes % 8 == 0 && bytes < 65536);
        before = bytes;
    }
    assert_true(before > 32768);
    assert_int_equal(kymo_copy_budget_bytes(budget, &exe, 1u << 20), 0);
    kymo_copy_budget_destroy(budget);
    kymo_copy_budget_destroy(NULL);
}

/* ---- the kernel's own ---- */

static struct {
    unsigned samples, first, foreign, in_leaf, in_caller, complete;
    uint64_t weight_ns;
    uint32_t last_stack; /* that was told of */
    unsigned is_complete, has_leaf, has_caller;
    uint64_t bias;
} seen;

#define CPU_MOST_NS 10000000000ull

static volatile uint64_t sink;

static __attribute__((noinline)) uint64_t leaf(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        sink = sink * 6364136223846793005u + i;
    return sink;
}

/* Something lies on its stack; pages that were never used would end the copy. */
static __attribute__((noinline)) uint64_t caller(uint64_t n, size_t bytes)
{
    volatile char *room = __builtin_alloca(bytes);
    for (size_t i = 0; i < bytes; i++)
        room[i] = 1;
    return leaf(n) + (uint64_t)room[0];
}

static int is_in(uint64_t address, uint64_t function)
{
    return address >= function && address < function + 256;
}

static kymo_err on_module(void *context, const kymo_event_module *e)
{
    (void)context;
    if (e->is_main)
        seen.bias = e->load_bias;
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
    seen.last_stack = e->stack;
    seen.is_complete = (e->flags & KYMO_EVENT_STACK_COMPLETE) != 0;
    seen.has_leaf = seen.has_caller = 0;
    for (uint32_t i = 0; i < e->depth; i++) {
        uint64_t pc = e->frames[i].address + seen.bias;
        seen.has_leaf |= (unsigned)is_in(pc, (uint64_t)(uintptr_t)leaf);
        seen.has_caller |= (unsigned)is_in(pc, (uint64_t)(uintptr_t)caller);
    }
    return KYMO_OK;
}

static const kymo_event_handler events = {
    .module = on_module, .module_image = on_image, .stack = on_stack};

static kymo_err on_sample(void *context, const struct kymo_copied_sample *s)
{
    (void)context;
    seen.samples++;
    seen.first += s->is_first != 0;
    seen.foreign += s->thread != 7;
    seen.weight_ns += s->weight_ns;
    /* A stack is told of when it is new; of this loop there are few. */
    if (s->stack != seen.last_stack)
        return KYMO_OK;
    seen.in_leaf += seen.has_leaf;
    seen.in_caller += seen.has_leaf && seen.has_caller;
    seen.complete += seen.is_complete;
    return KYMO_OK;
}

static int runs_on(void *context)
{
    (void)context;
    return 1;
}

static uint64_t own_cpu_ns(void)
{
    return kymo_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The bytes of this thread's stack that are in use, about. */
static uint64_t stack_begin(void)
{
    return kymo_task_start_stack(getpid());
}

static struct kymo_session session;
static const struct kymo_task_exe exe = {3, 4};

/* Copies of this very thread; 0 where events are not permitted. */
static int open_copies(kymo_copy_budget *budget, uint32_t bytes, kymo_stack_copies **copies,
                       int *fd)
{
    memset(&seen, 0, sizeof seen);
    seen.last_stack = UINT32_MAX;
    session.depth = 256;
    const struct kymo_stack_copies_config config = {.budget = budget,
                                                    .session = &session,
                                                    .pid = getpid(),
                                                    .exe = &exe,
                                                    .process = 5,
                                                    .events = &events,
                                                    .sample = on_sample,
                                                    .runs_on = runs_on};
    assert_int_equal(kymo_stack_copies_create(&config, copies), KYMO_OK);
    assert_int_equal(kymo_stack_copies_note_modules(*copies), KYMO_OK);
    const struct kymo_perf_copies asked = {
        .period_ns = 1000000, .stack_bytes = bytes, .with_kernel = 1};
    *fd = kymo_perf_open_copies(getpid(), &asked);
    const struct kymo_copied_thread thread = {.number = 7,
                                              .event = *fd,
                                              .copy_bytes = bytes,
                                              .period_ns = 1000000,
                                              .stack_begin = stack_begin()};
    return *fd >= 0 && kymo_stack_copies_open(*copies, &thread);
}

static void close_copies(kymo_copy_budget *budget, kymo_stack_copies *copies, int fd)
{
    if (fd >= 0)
        close(fd);
    kymo_stack_copies_destroy(copies);
    kymo_copy_budget_destroy(budget);
}

static void open_or_skip(kymo_copy_budget *budget, kymo_stack_copies **copies, int *fd)
{
    if (open_copies(budget, 16384, copies, fd))
        return;
    close_copies(budget, *copies, *fd);
    print_message("not checked: copies of stacks are not permitted here\n");
    skip();
}

static void the_kernel_copies_this_thread(void **state)
{
    kymo_copy_budget *budget;
    kymo_stack_copies *copies;
    int fd;
    (void)state;
    assert_int_equal(kymo_copy_budget_create(&budget), KYMO_OK);
    open_or_skip(budget, &copies, &fd);
    uint64_t before_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    uint64_t until_ns = own_cpu_ns() + CPU_MOST_NS;
    assert_int_equal(kymo_perf_enable(fd), 0);
    while (seen.samples < 200 && own_cpu_ns() < until_ns) {
        caller(200000, 64);
        assert_int_equal(kymo_stack_copies_read(copies), KYMO_OK);
    }
    assert_int_equal(kymo_perf_disable(fd), 0);
    assert_int_equal(kymo_stack_copies_close(copies, 7), KYMO_OK);
    uint64_t passed_ns = kymo_clock_ns(CLOCK_MONOTONIC) - before_ns;
    assert_true(seen.samples >= 200);
    assert_int_equal(seen.first, 1);
    assert_int_equal(seen.foreign, 0);
    /* What a hypervisor takes may be counted, too; what is after the last sample is in none. */
    assert_in_range(seen.weight_ns, 200 * 900000ull, passed_ns);
    assert_true(seen.in_leaf > 0 && seen.in_caller == seen.in_leaf && seen.complete > 0);
    assert_int_equal(kymo_stack_copies_are_short(copies, 7), 0);
    /* It is closed: no more of it is read. */
    unsigned n = seen.samples;
    assert_int_equal(kymo_stack_copies_read(copies), KYMO_OK);
    assert_int_equal(kymo_stack_copies_close(copies, 7), KYMO_OK);
    assert_int_equal(seen.samples, n);
    close_copies(budget, copies, fd);
}

static void a_copy_that_is_too_short_is_noticed(void **state)
{
    kymo_copy_budget *budget;
    kymo_stack_copies *copies;
    int fd;
    (void)state;
    assert_int_equal(kymo_copy_budget_create(&budget), KYMO_OK);
    open_or_skip(budget, &copies, &fd);
    assert_int_equal(kymo_copy_budget_bytes(budget, &exe, 0), 16384);
    assert_false(kymo_copy_budget_has(budget, &exe));
    uint64_t until_ns = own_cpu_ns() + CPU_MOST_NS;
    assert_int_equal(kymo_perf_enable(fd), 0);
    while (!kymo_stack_copies_are_short(copies, 7) && own_cpu_ns() < until_ns) {
        caller(200000, 20000);
        assert_int_equal(kymo_stack_copies_read(copies), KYMO_OK);
    }
    assert_int_equal(kymo_stack_copies_are_short(copies, 7), 1);
    /* The next event of that program gets longer ones. */
    assert_true(kymo_copy_budget_bytes(budget, &exe, 0) > 16384);
    assert_true(kymo_copy_budget_has(budget, &exe));
    close_copies(budget, copies, fd);
}

#ifdef __x86_64__
/* A library with a loop as code, and an index of unwind information that is none. */
static void *map_without_frames(void)
{
    enum { BYTES = 4096, CODE = 1024, HDR = 2048 };
    static const unsigned char loop[] = {0xff, 0xcf, 0x75, 0xfc, 0xc3}; /* dec edi; jnz; ret */
    unsigned char page[BYTES] = {0};
    Elf64_Ehdr eh = {.e_phoff = sizeof eh, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2};
    const Elf64_Phdr ph[2] = {
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = BYTES, .p_memsz = BYTES},
        {.p_type = PT_GNU_EH_FRAME, .p_vaddr = HDR, .p_memsz = 16},
    };
    memcpy(eh.e_ident, ELFMAG, SELFMAG);
    memcpy(page, &eh, sizeof eh);
    memcpy(page + sizeof eh, ph, sizeof ph);
    memcpy(page + CODE, loop, sizeof loop);
    int fd = (int)syscall(SYS_memfd_create, "frameless", 1u); /* MFD_CLOEXEC */
    assert_true(fd >= 0);
    assert_int_equal(write(fd, page, sizeof page), sizeof page);
    unsigned char *at = mmap(NULL, sizeof page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    assert_true(at != MAP_FAILED);
    close(fd);
    return at + CODE;
}

/* What the recorder has of it is not all, or of no use: a handler sees what there is. */
static void unwind_information_that_is_not_here_is_noticed(void **state)
{
    kymo_copy_budget *budget;
    kymo_stack_copies *copies;
    int fd;
    (void)state;
    void (*loop)(unsigned n);
    void *code = map_without_frames();
    memcpy(&loop, &code, sizeof loop);
    assert_int_equal(kymo_copy_budget_create(&budget), KYMO_OK);
    open_or_skip(budget, &copies, &fd);
    uint64_t until_ns = own_cpu_ns() + CPU_MOST_NS;
    assert_int_equal(kymo_perf_enable(fd), 0);
    while (!kymo_stack_copies_are_unfit(copies) && own_cpu_ns() < until_ns) {
        loop(10000000);
        assert_int_equal(kymo_stack_copies_read(copies), KYMO_OK);
    }
    assert_int_equal(kymo_stack_copies_are_unfit(copies), 1);
    close_copies(budget, copies, fd);
}
#endif

static void what_is_too_often_for_a_ring_gets_none(void **state)
{
    kymo_copy_budget *budget;
    kymo_stack_copies *copies;
    int fd;
    (void)state;
    assert_int_equal(kymo_copy_budget_create(&budget), KYMO_OK);
    open_or_skip(budget, &copies, &fd);
    const struct kymo_copied_thread often = {
        .number = 8, .event = fd, .copy_bytes = 16384, .period_ns = 10000};
    assert_int_equal(kymo_stack_copies_open(copies, &often), 0);
    close_copies(budget, copies, fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_read),
        cmocka_unit_test(a_cut_record_is_none),
        cmocka_unit_test(lengths_that_lie_are_refused),
        cmocka_unit_test(a_thread_without_a_user_part_has_a_kernel_part),
        cmocka_unit_test(a_chain_goes_on_behind_a_walk),
        cmocka_unit_test(a_program_that_uses_more_gets_longer_copies),
        cmocka_unit_test(the_kernel_copies_this_thread),
        cmocka_unit_test(a_copy_that_is_too_short_is_noticed),
#ifdef __x86_64__
        cmocka_unit_test(unwind_information_that_is_not_here_is_noticed),
#endif
        cmocka_unit_test(what_is_too_often_for_a_ring_gets_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
