/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_hooks.c - what a process records when it ends by exit, _exit, _Exit or quick_exit.
 *
 * The recorder is the parent of the launched program only. For any other process it cannot ask for
 * the total usage once that process's parent has waited for it.
 *
 * What is noted is the CPU clock so far, of the thread that ends the process and of its main one.
 * Both go on: other destructors may have work to do, and are sampled at it.
 */
#include <stdlib.h>
#include <unistd.h>

#include "capture/alloc.h"
#include "capture/hooks.h"
#include "capture/state.h"
#include "sys/clock.h"
#include "sys/raw.h"

static void note_thread(struct kymo_thread_slot *slot)
{
    if (kymo_load_relaxed(&slot->state) == KYMO_SLOT_LIVE)
        kymo_store_relaxed(&slot->end_cpu_ns, kymo_clock_cpu(kymo_clock_of_thread(slot->tid)));
}

static void note_end(void)
{
    struct kymo_capture_process *p = kymo_process_here();
    /* A child of vfork ends itself alone. */
    if (!p || kymo_is_quiet(p) || p->session->pid != kymo_raw_getpid())
        return;
    struct kymo_capture_thread *t = kymo_thread_pointer_is_libc(1) ? kymo_thread_self : NULL;
    if (kymo_alloc_calls && t && t->process)
        kymo_alloc_calls->thread_end(t);
    if (t && t->slot)
        note_thread(t->slot);
    struct kymo_thread_slot *first = kymo_session_slot(p->session, &p->plan, 0);
    if (first->flags & KYMO_SLOT_MAIN && (!t || t->slot != first))
        note_thread(first);
}

__attribute__((destructor)) static void on_exit_of_program(void)
{
    note_end();
}

/* Where libc has none, there is only the kernel. */
static void leave(void (*real)(int), int status)
{
    note_end();
    if (real)
        real(status);
    for (;;)
        (void)kymo_syscall3(SYS_exit_group, status, 0, 0);
}

KYMO_HOOK void _exit(int status)
{
    leave(KYMO_REAL(_exit), status);
    __builtin_unreachable();
}

KYMO_HOOK void _Exit(int status)
{
    leave(KYMO_REAL(_Exit), status);
    __builtin_unreachable();
}

KYMO_HOOK void quick_exit(int status)
{
    leave(KYMO_REAL(quick_exit), status);
    __builtin_unreachable();
}
