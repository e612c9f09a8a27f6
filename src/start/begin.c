/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin.c - see begin.h.
 */
#include "start/begin.h"

#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arch/system.h"
#include "capture/family.h"
#include "capture/fork_child.h"
#include "capture/hooks.h"
#include "capture/mark.h"
#include "capture/process.h"
#include "capture/signal_move.h"
#include "capture/state.h"
#include "capture/thread.h"
#include "capture/timer.h"
#include "sys/own_maps.h"
#include "sys/raw.h"

#define ARGUMENTS_MAX (8u << 20)    /* more than the kernel takes, and what is below them */
#define QUIET_WAITS 50000           /* of 20 us and more each: a second */
#define MAIN_STACK_MAX (1ull << 30) /* a stack of unlimited size is looked at that far down */

/* Where the mapping that holds an address ends; 0: there is no /proc. */
static uint64_t mapping_end(uint64_t address)
{
    struct kymo_own_maps maps;
    uint64_t lo, hi, end = 0;
    if (!kymo_own_maps_open(&maps))
        return 0;
    while (!end && kymo_own_maps_next(&maps, &lo, &hi))
        if (lo <= address && address < hi)
            end = hi;
    kymo_own_maps_close(&maps);
    return end;
}

/* The bounds of the main thread's stack, down to where it may grow. The kernel puts the program's
 * path at its upper end (AT_EXECFN), so it ends with that text's page. Reading /proc/self/maps
 * instead takes 50 us, a tenth of what a process that ends at once may cost. */
static struct kymo_stack_bounds main_stack(void)
{
    struct rlimit limit;
    uint64_t here = (uint64_t)(uintptr_t)&limit;
    uint64_t size = 8u << 20;
    if (getrlimit(RLIMIT_STACK, &limit) == 0)
        size = limit.rlim_cur < MAIN_STACK_MAX ? limit.rlim_cur : MAIN_STACK_MAX;
    const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    uint64_t last = path ? (uint64_t)(uintptr_t)path + strlen(path) : 0;
    uint64_t end = (last | (KYMO_ARCH_PAGE_BYTES - 1)) + 1;
    /* Another kernel, or what runs programs of other machines, may lay it out differently. */
    if (last < here || last - here > ARGUMENTS_MAX)
        end = mapping_end(here);
    if (!end)
        return (struct kymo_stack_bounds){0, 0};
    /* A limit that was lowered before the exec may be less than the arguments take. */
    uint64_t top = end - here < size ? end : here;
    return (struct kymo_stack_bounds){top > size ? top - size : 0, end};
}

/* Of the calling thread; empty where they are not known. */
static struct kymo_stack_bounds own_stack(void)
{
    pthread_attr_t attributes;
    void *lo;
    size_t bytes;
    if (kymo_raw_getpid() == kymo_raw_gettid())
        return main_stack();
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return (struct kymo_stack_bounds){0, 0};
    int found = pthread_attr_getstack(&attributes, &lo, &bytes) == 0;
    pthread_attr_destroy(&attributes);
    return found ? (struct kymo_stack_bounds){(uint64_t)(uintptr_t)lo,
                                              (uint64_t)(uintptr_t)lo + bytes}
                 : (struct kymo_stack_bounds){0, 0};
}

static long mode_at_begin; /* of seccomp */

static long seccomp_mode(void)
{
    return kymo_syscall3(SYS_prctl, PR_GET_SECCOMP, 0, 0);
}

const char *kymo_begin(const struct kymo_attach_call *call)
{
    const char *why;
    struct kymo_attachment a = {.rest = {-1, -1, -1}};
    uint32_t flags = kymo_raw_getpid() == kymo_raw_gettid() ? KYMO_SLOT_MAIN : 0;
    if (!kymo_reals_init() || !kymo_seccomp_hooks_init() || !kymo_hooks_init() || !kymo_fork_init())
        return "a function of libc that Kymo needs was not found";
    if (kymo_attach(call, &a, &why) != KYMO_OK)
        return why;
    struct kymo_capture_process *p = kymo_process_map(&a);
    if (!p) {
        kymo_attach_undo(&a);
        return "no address space for Kymo's own tables";
    }
    mode_at_begin = seccomp_mode();
    kymo_process_take(p, &a);
    kymo_fork_remember(p);
    /* Not in forked children, which begin as any other. */
    p->is_late = call->start == KYMO_ATTACH_LATE;
    if (!kymo_signal_start(p)) {
        kymo_attach_undo(&a);
        (void)munmap(p, p->mapped_bytes);
        return "the handler could not be installed";
    }
    /* Pairs with the acquire in kymo_capturing: everything above is in place. */
    kymo_store_release(&kymo_process_state, p);
    struct kymo_capture_thread *t = kymo_thread_claim(p);
    if (t) {
        kymo_hooks_watch_exit(t);
        kymo_thread_begin(p, t, own_stack(), flags);
    }
    if (call->start == KYMO_ATTACH_LATE)
        kymo_mark_links_start_late();
    else
        kymo_mark_links_start();
    kymo_family_join(a.session);
    if (!kymo_attach_finish(a.session, t ? t->slot : NULL, p->signal, &a.rest) &&
        a.session->engine != KYMO_SESSION_TIMER)
        kymo_wake_recorder(p);
    /* The recorder may have changed the list meanwhile, when it could not signal us yet. */
    kymo_mark_links_look();
    return NULL;
}

/* ---- the end ---- */

int kymo_has_begun(void)
{
    return kymo_load_acquire(&kymo_process_state) != NULL;
}

/* No thread is in the handler, nor in another place that uses the state. What such a thread had
 * seen before is of no consequence after this. */
static int await_users(void)
{
    kymo_fence_seqcst();
    for (int i = 0; i < QUIET_WAITS; i++) {
        if (kymo_load_seqcst(&kymo_process_users) == 0)
            return 1;
        kymo_raw_wait_a_little();
    }
    return 0;
}

static uint32_t has_callers;

void kymo_has_callers(void)
{
    kymo_store_release(&has_callers, 1u);
}

/* What callers write to stays. Its pages go, but for those of the process's own tables that were
 * used. */
static void keep_mapped(struct kymo_capture_process *p)
{
    char *data = (char *)p->session + p->session->header_bytes;
    (void)madvise(data, p->plan.total_bytes - p->session->header_bytes, MADV_REMOVE);
}

static void unmap(struct kymo_capture_process *p)
{
    struct kymo_attachment a = {
        .rest = {-1, -1, -1},
        .session = p->session,
        .plan = p->plan,
        .bell = p->bell,
        .tables = p->tables,
        .tables_bytes = p->tables_bytes,
    };
    kymo_attach_undo(&a);
    (void)munmap(p, p->mapped_bytes);
}

/*
 *   stopped: handlers take no samples and arm no timers -> none is under way that began before
 *   -> timers and handlers are taken away -> the state is: what arrives late finds none
 *   -> none is under way that found it -> its memory goes, unless markers or a tracer may have it
 */
int kymo_end(void)
{
    struct kymo_capture_process *p = kymo_load_acquire(&kymo_process_state);
    if (!p)
        return 1;
    if (p->session)
        kymo_store_release(&p->session->stopped, 1u);
    /* The recorder sees a filter too, but later. */
    if (kymo_load_relaxed(&kymo_quiet_here) || (p->session && kymo_is_quiet(p)) ||
        seccomp_mode() != mode_at_begin)
        return 0;
    kymo_mark_links_off();
    kymo_store_release(&kymo_family.header, NULL);
    if (!p->session) {
        /* A forked child that was never recorded itself: all of the state reads as zeros. */
        kymo_store_release(&kymo_process_state, NULL);
        return 1;
    }
    (void)await_users();
    kymo_signal_stop(p, 1);
    kymo_store_release(&kymo_process_state, NULL);
    if (!await_users())
        return 0;
    kymo_own_signals_forget();
    /* A tracer still looks here: its numbers are of no other recording. */
    kymo_store_relaxed(&p->mark_epoch, 0u);
    if (kymo_load_acquire(&has_callers))
        keep_mapped(p);
    else
        unmap(p);
    return 1;
}
