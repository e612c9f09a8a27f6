/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch.c - see dispatch.h.
 *
 * Ticks. One falls at random into each period, at a time that is set beforehand: neither lateness
 * nor the program's rhythm moves it. Each thread that runs at that moment gets a signal, so samples
 * are spread evenly over CPU time, even if threads slept in between. (A thread is not asked whether
 * a period of its CPU time is over: then the one that oversleeps its turn would be sampled in the
 * first thing it does after its sleep.) The handler weighs samples by the CPU clock; ingest evens
 * the weights out among neighbours, since the time from one random moment to the next says nothing
 * of what was done in it.
 *
 * The look and the signal. What lies between is a window in which the thread may go to sleep; a
 * signal that comes then ends its call with EINTR, and so does one that finds the thread in the
 * kernel on its way to sleep. The signal is carried to the other CPU by an interrupt, which takes
 * tens of microseconds on a virtual machine. With every tick, some 3 in 1000 waits would see it:
 * too many. So a thread that goes to sleep of its own will gets a share of the ticks, chosen by
 * lot. The handler sees which calls were disturbed; the share follows from that.
 *
 * Following. One that was preempted by this very thread is no such gamble: it is between two
 * instructions of its own, and gets the signal before the next one. (But if it has hardly run since
 * it woke it may be in its wait still: a poll whose time is over looks for signals once more. Such
 * a one is looked at again a moment later.) So for some ticks at a time we stay on the CPU of one
 * of those that sleep, and it gets all of them.
 *
 * Catching up. The recorder may come late to its CPU when all of them are busy; ticks that were
 * missed come back as shorter periods for a while. Who has had its samples is left out then.
 *
 * A signal that is not answered (all are blocked, or the queue was full) is the last one, until the
 * thread has run for a good while longer.
 */
#include "observe/dispatch.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "base/vec.h"
#include "observe/watch.h"
#include "sys/clock.h"

#define SLEEPER_PERIODS 64u /* of CPU time, in which a thread that sleeps does so once at least */
#define NEW_PERIODS 8u
#define SHARE_FIRST_NS 8000000.0 /* on the average from tick to tick, to begin with */
#define SHARE_LEAST (1.0 / 64)
#define SHARE_CALLS 64u /* sleeps after which the share is set anew */
#define CALLS_PER_DISTURBED 3000u
/* A poll that has just been woken by its time-out looks for signals once more. */
#define WAKE_NS 80000u
#define FOLLOW_TICKS 16u
#define LOOK_NS 5000u /* a look that took longer is too old to act on */
#define LOOKS 3
#define RESEND_NS 50000000u
#define CREDIT_PERIODS 64 /* older debts are forgotten */
#define LAG_PERIODS 4     /* credit from which ticks come faster */
#define REST_TICKS 256u   /* without anything that runs; then ticks are rare */
#define REST_EVERY 4u
#define SLICE_NS 100000u
#define TICK_MOST_NS 10000000 /* CPU time of a running thread is known to the kernel's tick */

struct process {
    pid_t pid;
    uint32_t threads;
    uint32_t rest; /* rounds in which none of its threads ran */
    kymo_watch *watch;
    kymo_dispatch *of;
};

struct target {
    struct kymo_dispatch_thread thread;
    struct process *process;
    uint32_t entry;   /* of the watch */
    uint32_t answers; /* of the slot, when the last signal was sent */
    int is_sent;
    int is_owed; /* it had just been woken when its turn came */
    siginfo_t info;
    uint64_t sent_run_ns;
    uint64_t run_ns;   /* at the last look */
    uint64_t samples;  /* of the slot, then */
    int64_t credit_ns; /* CPU time that it has no samples for yet */
    /* Does it sleep? */
    uint64_t voluntary;
    uint64_t slept_run_ns; /* CPU time when it was last seen to have slept */
    double share;          /* of the ticks, while it does */
    uint64_t calls;        /* sleeps since it was added */
    uint64_t next_calls;   /* when the share is set anew */
};

struct kymo_dispatch {
    pthread_mutex_t lock; /* of everything below */
    uint64_t period_ns;
    KYMO_VEC(struct target *) targets; /* NULL: free */
    KYMO_VEC(struct process *) processes;
    int is_running;
    int is_alone; /* the program and the recorder share one CPU */
    pthread_t worker;
    uint32_t stop; /* a futex */
    uint64_t random;
    /* Of this tick. */
    int owed;      /* a thread is to be looked at once more */
    int is_second; /* this is that look */
    double lot;    /* 0 to 1: a share larger than this is drawn */
    int64_t lag_ns;
    /* On whose CPU we stay, and who is next: one of those that were seen since. */
    struct target *followed, *next;
    uint32_t seen;
    uint32_t alone; /* times that no thread was next */
};

static uint64_t next_random(kymo_dispatch *d)
{
    d->random += 0x9e3779b97f4a7c15u;
    return kymo_hash_mix(d->random, 0x5851f42d4c957f2du);
}

/* 0 up to 1. */
static double next_fraction(kymo_dispatch *d)
{
    return (double)(next_random(d) >> 11) * 0x1p-53;
}

/* ---- one thread ---- */

static void send_signal(struct target *t)
{
    if (syscall(SYS_rt_tgsigqueueinfo, t->thread.pid, t->thread.tid, t->info.si_signo, &t->info) ==
        0)
        t->is_sent = 1;
}

static int is_sleeper(const kymo_dispatch *d, const struct target *t, uint64_t run_ns)
{
    return run_ns - t->slept_run_ns < SLEEPER_PERIODS * d->period_ns;
}

static double first_share(const kymo_dispatch *d)
{
    return (double)d->period_ns < SHARE_FIRST_NS ? (double)d->period_ns / SHARE_FIRST_NS : 1;
}

/* Disturbed calls are held at one in CALLS_PER_DISTURBED to half of that: fewer, and there is room
 * for more samples. */
static void set_share(const kymo_dispatch *d, struct target *t)
{
    double first = first_share(d);
    double least = first < SHARE_LEAST ? first : SHARE_LEAST;
    uint64_t disturbed = kymo_load_relaxed(&t->thread.slot->disturbed);
    t->next_calls = t->calls + SHARE_CALLS;
    if (disturbed > t->calls / CALLS_PER_DISTURBED + 1)
        t->share = t->share / 2 < least ? least : t->share / 2;
    else if (disturbed <= t->calls / (2 * CALLS_PER_DISTURBED))
        t->share = t->share * 1.1 > 1 ? 1 : t->share * 1.1;
}

/* After the signal: nothing here may stand between the look and it. */
static void keep_books(kymo_dispatch *d, struct target *t, const struct kymo_watch_look *look,
                       int signalled)
{
    int64_t period_ns = (int64_t)d->period_ns;
    if (look->voluntary != t->voluntary) {
        t->calls += look->voluntary - t->voluntary;
        t->voluntary = look->voluntary;
        t->slept_run_ns = look->run_ns;
        if (t->calls >= t->next_calls)
            set_share(d, t);
    } else if (look->place == KYMO_WATCH_OFF && look->state != 'R') {
        t->slept_run_ns = look->run_ns; /* its switches may be of an earlier look */
    }
    uint64_t samples = kymo_load_relaxed(&t->thread.slot->samples);
    int64_t taken = samples - t->samples < CREDIT_PERIODS ? (int64_t)(samples - t->samples) : 0;
    t->credit_ns += (int64_t)(look->run_ns - t->run_ns) - taken * period_ns;
    t->samples = samples;
    t->run_ns = look->run_ns;
    if (signalled)
        t->sent_run_ns = look->run_ns;
    if (t->credit_ns > CREDIT_PERIODS * period_ns)
        t->credit_ns = CREDIT_PERIODS * period_ns;
    if (is_sleeper(d, t, look->run_ns)) {
        t->credit_ns = 0;
        if (look->changed && next_random(d) % ++d->seen == 0)
            d->next = t;
    } else if (t->credit_ns > d->lag_ns && look->place != KYMO_WATCH_OFF) {
        d->lag_ns = t->credit_ns;
    }
}

static int is_target(const kymo_dispatch *d, struct target *t, const struct kymo_watch_look *look)
{
    int64_t period_ns = (int64_t)d->period_ns;
    if (look->place == KYMO_WATCH_OFF || t->info.si_signo == 0 ||
        (look->place == KYMO_WATCH_ON && look->changed && look->state != 'R'))
        return 0;
    if (t->is_sent && kymo_load_acquire(&t->thread.slot->answers) == t->answers &&
        look->run_ns - t->sent_run_ns < RESEND_NS + 8 * d->period_ns)
        return 0;
    int sleeper = is_sleeper(d, t, look->run_ns);
    if (look->place == KYMO_WATCH_PREEMPTED)
        return look->changed && (sleeper ? d->is_alone || d->followed == t
                                         : t->credit_ns > LAG_PERIODS / 2 * period_ns);
    /* That it was looked at may have been a lot already. */
    return sleeper ? d->lot * look->drawn < t->share : t->credit_ns > -TICK_MOST_NS - 4 * period_ns;
}

/* Whether a look that took no time finds the thread where it was. The first one may have taken
 * long: it read more, or we were off the CPU ourselves. */
static int is_there_still(const struct process *p, const struct target *t,
                          const struct kymo_watch_look *before)
{
    struct kymo_watch_look look;
    uint64_t start_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < LOOKS; i++) {
        if (!kymo_watch_look(p->watch, t->entry, &look) || look.place != before->place ||
            look.arrivals != before->arrivals)
            return 0;
        uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
        if (now_ns - start_ns < LOOK_NS)
            return 1;
        start_ns = now_ns;
    }
    return 0;
}

static void on_look(void *context, void *user, const struct kymo_watch_look *look)
{
    struct process *p = context;
    struct target *t = user;
    kymo_dispatch *d = p->of;
    int signalled = is_target(d, t, look);
    t->is_owed = 0;
    if (signalled && look->place == KYMO_WATCH_PREEMPTED && look->awake_ns < WAKE_NS) {
        signalled = 0;
        t->is_owed = !d->is_second;
        d->owed |= t->is_owed;
    }
    signalled = signalled && is_there_still(p, t, look);
    if (signalled) {
        uint32_t answers = kymo_load_acquire(&t->thread.slot->answers);
        send_signal(t);
        t->answers = answers;
    }
    keep_books(d, t, look, signalled);
}

/* ---- ticks ---- */

/* Those that are to be looked at once more. */
static void look_again(kymo_dispatch *d)
{
    struct kymo_watch_look look;
    d->is_second = 1;
    for (size_t i = 0; i < d->targets.len; i++) {
        struct target *t = d->targets.data[i];
        if (!t || !t->is_owed)
            continue;
        if (kymo_watch_look(t->process->watch, t->entry, &look))
            on_look(t->process, t, &look);
        t->is_owed = 0;
    }
    d->is_second = 0;
}

/* Whether anything ran. */
static int tick(kymo_dispatch *d, uint32_t number)
{
    int ran = 0;
    d->lag_ns = 0;
    d->owed = 0;
    d->lot = next_fraction(d);
    for (size_t i = 0; i < d->processes.len; i++) {
        struct process *p = d->processes.data[i];
        if (p->rest >= REST_TICKS && (number + i) % REST_EVERY != 0)
            continue;
        kymo_watch_round(p->watch, on_look, p);
        if (kymo_watch_is_active(p->watch))
            p->rest = 0;
        else if (p->rest < REST_TICKS)
            p->rest++;
        ran |= p->rest < REST_TICKS;
    }
    return ran;
}

/* A wait until the time has come; ends early when d->stop is set. */
static void wait_until(kymo_dispatch *d, uint64_t time_ns)
{
    struct timespec t = {(time_t)(time_ns / 1000000000u), (long)(time_ns % 1000000000u)};
    (void)syscall(SYS_futex, &d->stop, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, &t, NULL,
                  FUTEX_BITSET_MATCH_ANY);
}

/* As the kernel has it since 6.12: a thread that asks for short slices is let on a CPU sooner, and
 * needs no permission for it. Before, the kernel does not look at the figure. */
static void ask_for_short_slices(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } attr = {.size = sizeof attr, .policy = SCHED_OTHER, .runtime_ns = SLICE_NS};
    attr.nice = getpriority(PRIO_PROCESS, 0);
    (void)syscall(SYS_sched_setattr, 0, &attr, 0);
    (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

/* The CPU to stay on; -1: any. */
static int follow_next(kymo_dispatch *d)
{
    /* If no other thread ran, the last one may be followed again. */
    if (d->next || ++d->alone >= REST_TICKS / FOLLOW_TICKS) {
        d->followed = d->next;
        d->alone = 0;
    }
    d->next = NULL;
    d->seen = 0;
    if (d->followed)
        kymo_watch_attend(d->followed->process->watch, d->followed->entry);
    return d->followed ? kymo_watch_cpu(d->followed->process->watch, d->followed->entry) : -1;
}

static void stay_on(int cpu, const cpu_set_t *all)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    if (cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET((size_t)cpu, all))
        CPU_SET((size_t)cpu, &one);
    (void)sched_setaffinity(0, sizeof one, CPU_COUNT(&one) ? &one : all);
}

static uint64_t period_of(kymo_dispatch *d)
{
    pthread_mutex_lock(&d->lock);
    uint64_t period_ns = d->period_ns;
    pthread_mutex_unlock(&d->lock);
    return period_ns;
}

static void *run(void *dispatch)
{
    kymo_dispatch *d = dispatch;
    cpu_set_t all;
    int may_stay = sched_getaffinity(0, sizeof all, &all) == 0 && !d->is_alone;
    int cpu = -1;
    ask_for_short_slices();
    uint64_t base_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    uint64_t asked_ns = period_of(d); /* for */
    uint64_t period_ns = asked_ns;
    for (uint32_t number = 0;; number++) {
        wait_until(d, base_ns + (uint64_t)(next_fraction(d) * (double)period_ns));
        if (kymo_load_acquire(&d->stop))
            return NULL;
        pthread_mutex_lock(&d->lock);
        int ran = tick(d, number);
        int64_t lag_ns = d->lag_ns;
        if (d->owed) {
            pthread_mutex_unlock(&d->lock);
            wait_until(d, kymo_clock_ns(CLOCK_MONOTONIC) + WAKE_NS);
            pthread_mutex_lock(&d->lock);
            look_again(d);
        }
        int now_on = may_stay && number % FOLLOW_TICKS == 0 ? follow_next(d) : cpu;
        int is_new = d->period_ns != asked_ns;
        asked_ns = d->period_ns;
        pthread_mutex_unlock(&d->lock);
        if (now_on != cpu)
            stay_on(now_on, &all);
        cpu = now_on;
        base_ns += period_ns;
        period_ns = !ran                                       ? REST_EVERY * asked_ns
                    : lag_ns > LAG_PERIODS * (int64_t)asked_ns ? asked_ns / 4 * 3
                                                               : asked_ns;
        uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
        if (is_new || now_ns > base_ns + period_ns)
            base_ns = now_ns;
    }
}

static kymo_err start(kymo_dispatch *d)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&d->worker, NULL, run, d);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    d->is_running = err == 0;
    return err == 0 ? KYMO_OK : KYMO_E_SYSTEM;
}

/* That we may run on; what the program does to its own is its business. */
static int cpu_count(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 2;
}

/* ---- the table ---- */

kymo_err kymo_dispatch_create(uint64_t period_ns, kymo_dispatch **out)
{
    kymo_dispatch *d = calloc(1, sizeof *d);
    if (!d)
        return KYMO_E_NOMEM;
    d->period_ns = period_ns;
    d->random = kymo_hash_secret();
    d->is_alone = cpu_count() < 2;
    pthread_mutex_init(&d->lock, NULL);
    *out = d;
    return KYMO_OK;
}

void kymo_dispatch_set_period(kymo_dispatch *d, uint64_t period_ns)
{
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->period_ns = period_ns;
    pthread_mutex_unlock(&d->lock);
    /* It may be in a wait for a tick that is long in coming. */
    (void)syscall(SYS_futex, &d->stop, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

void kymo_dispatch_destroy(kymo_dispatch *d)
{
    if (!d)
        return;
    if (d->is_running) {
        kymo_store_release(&d->stop, 1u);
        (void)syscall(SYS_futex, &d->stop, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
        pthread_join(d->worker, NULL);
    }
    for (size_t i = 0; i < d->targets.len; i++)
        if (d->targets.data[i])
            kymo_dispatch_remove(d, (uint32_t)i);
    kymo_vec_deinit(&d->targets);
    kymo_vec_deinit(&d->processes);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static struct process *process_of(kymo_dispatch *d, pid_t pid)
{
    for (size_t i = 0; i < d->processes.len; i++)
        if (d->processes.data[i]->pid == pid)
            return d->processes.data[i];
    struct process *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->pid = pid;
    p->of = d;
    if (kymo_watch_create(NULL, pid, &p->watch) != KYMO_OK) {
        free(p);
        return NULL;
    }
    kymo_watch_draw_lots(p->watch, d->period_ns, next_random(d));
    if (kymo_vec_push(&d->processes, p) != KYMO_OK) {
        kymo_watch_destroy(p->watch);
        free(p);
        return NULL;
    }
    return p;
}

static void drop_if_empty(kymo_dispatch *d, struct process *p)
{
    if (p->threads > 0)
        return;
    for (size_t i = 0; i < d->processes.len; i++)
        if (d->processes.data[i] == p)
            d->processes.data[i] = d->processes.data[--d->processes.len];
    kymo_watch_destroy(p->watch);
    free(p);
}

static kymo_err add(kymo_dispatch *d, struct target *t, uint32_t *number)
{
    struct kymo_watch_look look;
    size_t at = 0;
    while (at < d->targets.len && d->targets.data[at])
        at++;
    if (at == d->targets.len)
        KYMO_TRY(kymo_vec_push(&d->targets, (struct target *)NULL));
    /* An earlier target with this tid is of an image that the process no longer runs. The new
     * image's handler does not know its signals. */
    for (size_t i = 0; i < d->targets.len; i++)
        if (d->targets.data[i] && d->targets.data[i]->thread.pid == t->thread.pid &&
            d->targets.data[i]->thread.tid == t->thread.tid)
            d->targets.data[i]->info.si_signo = 0;
    struct process *p = process_of(d, t->thread.pid);
    if (!p)
        return KYMO_E_NOMEM;
    kymo_err err = kymo_watch_add(p->watch, t->thread.tid, t, &t->entry);
    if (err != KYMO_OK) {
        drop_if_empty(d, p);
        return err;
    }
    t->process = p;
    p->threads++;
    p->rest = 0;
    /* For a while it is one that sleeps, until it has shown otherwise. */
    if (kymo_watch_look(p->watch, t->entry, &look)) {
        t->run_ns = look.run_ns;
        t->slept_run_ns = look.run_ns - (SLEEPER_PERIODS - NEW_PERIODS) * d->period_ns;
        t->voluntary = look.voluntary;
    }
    t->share = first_share(d);
    d->targets.data[at] = t;
    *number = (uint32_t)at;
    return KYMO_OK;
}

kymo_err kymo_dispatch_add(kymo_dispatch *d, const struct kymo_dispatch_thread *thread,
                           uint32_t *number)
{
    if (!d->is_running)
        KYMO_TRY(start(d));
    struct target *t = calloc(1, sizeof *t);
    if (!t)
        return KYMO_E_NOMEM;
    t->thread = *thread;
    t->info.si_signo = thread->signal;
    t->info.si_code = KYMO_DISPATCH_CODE;
    t->info.si_pid = getpid();
    t->info.si_uid = getuid();
    t->info.si_value.sival_ptr = (void *)(uintptr_t)thread->cookie;
    pthread_mutex_lock(&d->lock);
    kymo_err err = add(d, t, number);
    pthread_mutex_unlock(&d->lock);
    if (err != KYMO_OK)
        free(t);
    return err;
}

void kymo_dispatch_set_signal(kymo_dispatch *d, uint32_t number, int signo)
{
    pthread_mutex_lock(&d->lock);
    d->targets.data[number]->info.si_signo = signo;
    d->targets.data[number]->is_sent = 0;
    pthread_mutex_unlock(&d->lock);
}

void kymo_dispatch_remove(kymo_dispatch *d, uint32_t number)
{
    pthread_mutex_lock(&d->lock);
    struct target *t = d->targets.data[number];
    d->targets.data[number] = NULL;
    if (d->followed == t)
        d->followed = NULL;
    if (d->next == t)
        d->next = NULL;
    kymo_watch_remove(t->process->watch, t->entry);
    t->process->threads--;
    drop_if_empty(d, t->process);
    pthread_mutex_unlock(&d->lock);
    free(t);
}

int kymo_dispatch_probe(const char **why)
{
    const char *text = NULL;
    if (cpu_count() < 2)
        text = "there is only one CPU";
    else if (!kymo_watch_probe())
        text = "this kernel does not tell who runs";
    if (why)
        *why = text;
    return text == NULL;
}
