/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks stand in this program as they do in any other: what is called sigaction here is ours.
 * What they call of other files is here; signals move when a hook is in the middle of its work.
 */
#include "capture/hooks.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>

#include "capture/fork_child.h"
#include "capture/mask_hooks.h"
#include "capture/on_signal.h"
#include "capture/signal_move.h"
#include "capture/thread.h"
#include "unit.h"

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);

/* Not static: libc promises the compiler that what the hooks stand in front of calls nothing in
 * this file. */
struct kymo_session session;
struct kymo_capture_process process = {.session = &session};
struct kymo_capture_process *kymo_process_state = &process;
uint32_t kymo_quiet_here;
__thread uint32_t kymo_quiet_vfork KYMO_TLS_IE;

static sigaction_fn *kernel;
struct {
    int move_to; /* by another thread, once the hook has asked about it */
    uint64_t own;
    uint64_t used;
    struct kymo_program_action kept; /* of the last one of ours */
} now;

void kymo_on_signal(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    (void)context;
}

int kymo_signal_install(int signo, const struct kymo_program_action *program)
{
    struct sigaction ours = {.sa_flags = SA_SIGINFO};
    (void)program;
    ours.sa_sigaction = kymo_on_signal;
    now.own |= KYMO_SIGNAL_BIT(signo);
    return kernel(signo, &ours, NULL) == 0;
}

int kymo_own_signal_find(int signo)
{
    if (signo <= 0 || signo >= NSIG)
        return -1;
    int own = now.own & KYMO_SIGNAL_BIT(signo) ? 0 : -1;
    if (signo == now.move_to && !(now.used & KYMO_SIGNAL_BIT(signo)))
        assert_true(kymo_signal_install(signo, NULL));
    return own;
}

struct kymo_program_action kymo_program_action_get(int own, uint32_t *which)
{
    (void)own;
    (void)which;
    return now.kept;
}

void kymo_program_action_set(int own, const struct kymo_program_action *action)
{
    (void)own;
    now.kept = *action;
}

struct kymo_program_action kymo_program_action_of(const struct sigaction *from)
{
    return (struct kymo_program_action){.handler = from->sa_handler, .flags = from->sa_flags};
}

void kymo_program_action_describe(const struct kymo_program_action *from, struct sigaction *to)
{
    *to = (struct sigaction){.sa_flags = from->flags};
    to->sa_handler = from->handler;
}

void kymo_signal_leave(struct kymo_capture_process *p, uint64_t mask)
{
    (void)p;
    now.used |= mask;
}

int kymo_signal_process_is_own(const struct kymo_capture_process *p)
{
    (void)p;
    return 1;
}

void kymo_signal_lock(const struct kymo_capture_process *p, struct kymo_signal_hold *hold)
{
    (void)p;
    (void)hold;
}

void kymo_signal_unlock(const struct kymo_signal_hold *hold)
{
    (void)hold;
}

int kymo_signal_would_overflow(const stack_t *stack)
{
    (void)stack;
    return 0;
}

void kymo_signal_off_alternate_stack(struct kymo_capture_process *p)
{
    (void)p;
}

int kymo_fork_is_pending(void)
{
    return 0;
}

void kymo_fork_attach_now(void)
{
}

struct kymo_alternate_stack alternate;

void kymo_thread_know_alternate(uint64_t lo, uint64_t bytes)
{
    alternate = (struct kymo_alternate_stack){lo, bytes};
}

/* ---- cases ---- */

static void program_handler(int signo)
{
    (void)signo;
}

static void *handler_in_kernel(int signo)
{
    struct sigaction seen;
    assert_int_equal(kernel(signo, NULL, &seen), 0);
    return (void *)(uintptr_t)seen.sa_sigaction;
}

static int begin(void **state)
{
    struct sigaction none = {.sa_flags = 0};
    (void)state;
    kernel = (sigaction_fn *)dlsym(RTLD_NEXT, "sigaction");
    memset(&now, 0, sizeof now);
    return kernel && kernel(SIGWINCH, &none, NULL) == 0 && kymo_reals_init() ? 0 : -1;
}

/* The handler of the program in the place of ours would get every sample. */
static void nobody_moves_to_what_is_about_to_be_handled(void **state)
{
    struct sigaction action = {.sa_flags = 0};
    (void)state;
    action.sa_handler = program_handler;
    now.move_to = SIGWINCH;
    assert_int_equal(sigaction(SIGWINCH, &action, NULL), 0);
    assert_true(now.own == 0);
    assert_ptr_equal(handler_in_kernel(SIGWINCH), (void *)(uintptr_t)program_handler);
}

static void ours_stays_in_front_of_its_own(void **state)
{
    struct sigaction action = {.sa_flags = 0};
    struct sigaction old;
    (void)state;
    assert_true(kymo_signal_install(SIGWINCH, NULL));
    action.sa_handler = program_handler;
    assert_int_equal(sigaction(SIGWINCH, &action, &old), 0);
    assert_ptr_equal(old.sa_handler, SIG_DFL);
    assert_ptr_equal(handler_in_kernel(SIGWINCH), (void *)(uintptr_t)kymo_on_signal);
    assert_true(now.used & KYMO_SIGNAL_BIT(SIGWINCH));
    assert_int_equal(sigaction(SIGWINCH, NULL, &old), 0);
    assert_ptr_equal(old.sa_handler, program_handler);
}

static void asking_uses_nothing(void **state)
{
    struct sigaction old;
    uint64_t before = now.used; /* by cmocka */
    (void)state;
    assert_int_equal(sigaction(SIGWINCH, NULL, &old), 0);
    assert_ptr_equal(signal(SIGWINCH, SIG_IGN), SIG_DFL);
    assert_ptr_equal(signal(SIGWINCH, SIG_DFL), SIG_IGN);
    assert_true(now.used == before);
    assert_int_equal(sigaction(0, NULL, &old), -1);
    old.sa_handler = program_handler;
    assert_int_equal(sigaction(NSIG, &old, NULL), -1);
    assert_int_equal(sigaction(-1, &old, NULL), -1);
    assert_true(now.used == before);
}

static void the_alternate_stack_is_known(void **state)
{
    char stack[64 * 1024];
    stack_t some = {.ss_sp = stack, .ss_size = sizeof stack};
    stack_t none = {.ss_flags = SS_DISABLE};
    stack_t wrong = {.ss_sp = stack, .ss_size = 1};
    (void)state;
    assert_int_equal(sigaltstack(&some, NULL), 0);
    assert_int_equal(alternate.lo, (uintptr_t)stack);
    assert_int_equal(alternate.bytes, sizeof stack);
    /* What the kernel refuses, and a question, change nothing. */
    assert_int_equal(sigaltstack(&wrong, NULL), -1);
    assert_int_equal(sigaltstack(NULL, &some), 0);
    assert_int_equal(alternate.bytes, sizeof stack);
    assert_int_equal(sigaltstack(&none, NULL), 0);
    assert_int_equal(alternate.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nobody_moves_to_what_is_about_to_be_handled, begin),
        cmocka_unit_test_setup(ours_stays_in_front_of_its_own, begin),
        cmocka_unit_test_setup(asking_uses_nothing, begin),
        cmocka_unit_test_setup(the_alternate_stack_is_known, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
