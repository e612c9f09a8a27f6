/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_preload.c - libkymo-preload.so with a second opinion: after each walk in the handler libgcc
 * walks the same stack, through the signal's frame, and both are compared frame by frame.
 *
 * The linker puts __wrap_kymo_unwind_walk between the handler and the walker (-Wl,--wrap), so that
 * all else is as shipped. libgcc may be led astray by a wrong .eh_frame and touch memory that is
 * not there: it runs under a SIGSEGV handler of ours, which is only there for that long.
 *
 * libgcc takes tens of times as long as the walker, so it is asked about one stack in
 * KYMO_CHECK_EVERY. At the program's end the counts go to the file that KYMO_CHECK_FILE names as
 * "key value" lines, and the first stacks that differ after them. Every stack is in exactly one
 * count:
 *
 *   equal      the same frames from the innermost to the outermost
 *   shorter    libgcc gave up early (no row, or it would have crashed); the same as far as it came
 *   different  anything else
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "sys/raw.h"
#include "unwind/unwind.h"

enum { MOST_FRAMES = 4096, KEPT = 4, KEPT_FRAMES = 64 };

struct kept_stack {
    size_t ours, theirs;
    uint64_t our_pcs[KEPT_FRAMES], their_pcs[KEPT_FRAMES];
};

struct kept_stacks {
    unsigned n;
    struct kept_stack stack[KEPT];
};

static struct {
    int on;
    unsigned every, walks, interpreted;
    unsigned compared, equal, shorter, different, crashed, frames;
    char path[4096];
    struct kept_stacks kept_different, kept_shorter;
} check;

struct their_walk {
    uint64_t start; /* pc of the interrupted frame, which begins the stack */
    size_t n;
    uint64_t pcs[MOST_FRAMES];
};

/* One at a time: the programs that are checked have one thread that works. */
static struct their_walk theirs;
static int busy;
static sigjmp_buf crashed;

static void on_crash(int signo)
{
    (void)signo;
    siglongjmp(crashed, 1);
}

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *context, void *argument)
{
    struct their_walk *w = argument;
    int before = 0;
    uint64_t pc = _Unwind_GetIPInfo(context, &before);
    /* The frame below a signal's is one that stands before its pc, not after a call. */
    if (w->n == 0 && !(before && pc == w->start))
        return _URC_NO_REASON;
    if (w->n == MOST_FRAMES)
        return _URC_NORMAL_STOP;
    w->pcs[w->n++] = pc;
    return _URC_NO_REASON;
}

static int let_libgcc_walk(uint64_t pc)
{
    static struct sigaction before;
    static uint64_t mask;
    struct sigaction catch = {.sa_flags = SA_NODEFER | SA_ONSTACK};
    const uint64_t open = 1u << (SIGSEGV - 1) | 1u << (SIGBUS - 1);
    catch.sa_handler = on_crash;
    theirs.start = pc;
    theirs.n = 0;
    sigaction(SIGSEGV, &catch, &before);
    /* Not by sigprocmask, which is the library's and leaves samples out of no mask. */
    kymo_raw_get_mask(&mask);
    kymo_raw_change_mask(&open, 0);
    int fell = sigsetjmp(crashed, 0);
    if (!fell)
        _Unwind_Backtrace(on_frame, &theirs);
    /* It reports what lies beyond an outermost frame as a frame at 0; so glibc's backtrace drops
     * it. */
    if (theirs.n > 0 && theirs.pcs[theirs.n - 1] == 0)
        theirs.n--;
    kymo_raw_set_mask(&mask, NULL);
    sigaction(SIGSEGV, &before, NULL);
    return !fell;
}

static void keep(struct kept_stacks *kept, const uint64_t *pcs, size_t n)
{
    if (kept->n == KEPT)
        return;
    struct kept_stack *k = &kept->stack[kept->n++];
    k->ours = n < KEPT_FRAMES ? n : KEPT_FRAMES;
    k->theirs = theirs.n < KEPT_FRAMES ? theirs.n : KEPT_FRAMES;
    memcpy(k->our_pcs, pcs, k->ours * sizeof *pcs);
    memcpy(k->their_pcs, theirs.pcs, k->theirs * sizeof *pcs);
}

static void compare(const uint64_t *pcs, size_t n, const struct kymo_walk_result *result)
{
    int survived = let_libgcc_walk(pcs[0]);
    size_t common = 0;
    while (common < n && common < theirs.n && pcs[common] == theirs.pcs[common])
        common++;
    check.compared++;
    check.crashed += !survived;
    check.frames += (unsigned)n;
    if (survived && common == n && common == theirs.n) {
        check.equal++;
    } else if (common == theirs.n && common < n && result->end == KYMO_WALK_COMPLETE) {
        check.shorter++;
        keep(&check.kept_shorter, pcs, n);
    } else {
        check.different++;
        keep(&check.kept_different, pcs, n);
    }
}

static void put(int fd, const char *format, const char *word, uint64_t number)
{
    char line[64];
    int n = snprintf(line, sizeof line, format, word, (unsigned long)number);
    ssize_t ignored = write(fd, line, (size_t)n);
    (void)ignored;
}

/* Ours and libgcc's side by side, innermost first; 0 where there is none. */
static void write_kept(int fd, const char *what, const struct kept_stacks *kept)
{
    for (unsigned i = 0; i < kept->n; i++) {
        const struct kept_stack *k = &kept->stack[i];
        put(fd, "%s %lu\n", what, i);
        for (size_t f = 0; f < k->ours || f < k->theirs; f++) {
            put(fd, "%s %lx", "#", f < k->ours ? k->our_pcs[f] : 0);
            put(fd, "%s %lx\n", "", f < k->theirs ? k->their_pcs[f] : 0);
        }
    }
}

static void write_summary(void)
{
    int fd = open(check.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return;
    put(fd, "%s %lu\n", "walks", check.walks);
    put(fd, "%s %lu\n", "interpreted", check.interpreted);
    put(fd, "%s %lu\n", "compared", check.compared);
    put(fd, "%s %lu\n", "equal", check.equal);
    put(fd, "%s %lu\n", "shorter", check.shorter);
    put(fd, "%s %lu\n", "different", check.different);
    put(fd, "%s %lu\n", "crashed", check.crashed);
    put(fd, "%s %lu\n", "frames", check.frames);
    write_kept(fd, "# different", &check.kept_different);
    write_kept(fd, "# shorter", &check.kept_shorter);
    close(fd);
}

size_t __real_kymo_unwind_walk_with_sps(struct kymo_walker *walker, struct kymo_regs *regs,
                                        const struct kymo_stack_bounds *stack, uint64_t *pcs,
                                        uint64_t *sps, size_t max, uint32_t options,
                                        struct kymo_walk_result *result);
size_t __wrap_kymo_unwind_walk_with_sps(struct kymo_walker *walker, struct kymo_regs *regs,
                                        const struct kymo_stack_bounds *stack, uint64_t *pcs,
                                        uint64_t *sps, size_t max, uint32_t options,
                                        struct kymo_walk_result *result);

size_t __wrap_kymo_unwind_walk_with_sps(struct kymo_walker *walker, struct kymo_regs *regs,
                                        const struct kymo_stack_bounds *stack, uint64_t *pcs,
                                        uint64_t *sps, size_t max, uint32_t options,
                                        struct kymo_walk_result *result)
{
    size_t n =
        __real_kymo_unwind_walk_with_sps(walker, regs, stack, pcs, sps, max, options, result);
    if (check.on && !__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
        check.interpreted += (result->notes & KYMO_WALK_BY_INTERPRETER) != 0;
        if (check.walks++ % check.every == 0)
            compare(pcs, n, result);
        __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    }
    return n;
}

static _Unwind_Reason_Code ignore_frame(struct _Unwind_Context *context, void *argument)
{
    (void)context, (void)argument;
    return _URC_NO_REASON;
}

/* Before the constructor of preload.c, after which samples come. */
__attribute__((constructor(101))) static void prepare(void)
{
    const char *path = getenv("KYMO_CHECK_FILE");
    const char *every = getenv("KYMO_CHECK_EVERY");
    if (!path || strlen(path) >= sizeof check.path)
        return;
    memcpy(check.path, path, strlen(path) + 1);
    unsetenv("KYMO_CHECK_FILE"); /* for this process, not for what it starts */
    _Unwind_Backtrace(ignore_frame, NULL);
    check.every = every && atoi(every) > 0 ? (unsigned)atoi(every) : 1;
    check.on = 1;
}

__attribute__((destructor)) static void finish(void)
{
    int was_on = check.on;
    check.on = 0;
    if (was_on)
        write_summary();
}
