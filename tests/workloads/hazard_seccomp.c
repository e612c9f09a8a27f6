/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazard_seccomp.c - filters that kill a thread for a system call that the program itself does not
 * make. How much is to be burnt is measured before: behind the filter there is no clock. So it says
 * how much CPU time it used until then, and how much of it in burn_before_filter. raw: two
 * of them, by system calls that no library sees; the first one allows everything. noreturn,
 * noreturn-child, noreturn-second: one behind which no handler returns, in a forked child, and as
 * the second one. number: one that kills for masks, behind which an action is set by number.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hazards.h"
#include "workload.h"

DEFINE_BURN(burn_before_filter, 101)
DEFINE_BURN(burn_behind_filter, 103)
DEFINE_BURN(burn_more_behind_filter, 107)

enum { BEFORE_NS = 100000000, BEHIND_NS = 200000000, BETWEEN_NS = 300000000, TURNS = 37 };

#define ALLOW(name)                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* What a program needs that reads, writes and waits, and has threads that begin and end. */
static struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(read),
    ALLOW(write),
    ALLOW(futex),
    ALLOW(exit),
    ALLOW(exit_group),
    ALLOW(rt_sigreturn),
    ALLOW(mmap),
    ALLOW(munmap),
    ALLOW(mprotect),
    ALLOW(madvise),
    ALLOW(clone),
    ALLOW(clone3),
    ALLOW(rseq),
    ALLOW(set_robust_list),
    ALLOW(rt_sigprocmask),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

static struct sock_filter open_filter[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
static const struct sock_fprog open_program = {1, open_filter};

#define KILL_FOR_ALONE(name)                                               \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1),            \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),               \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* As OpenSSH's: it kills a thread that returns from a handler. */
static struct sock_filter no_return_filter[] = {KILL_FOR_ALONE(rt_sigreturn)};
static const struct sock_fprog no_return_program = {4, no_return_filter};

static struct sock_filter no_mask_filter[] = {KILL_FOR_ALONE(rt_sigprocmask)};
static const struct sock_fprog no_mask_program = {4, no_mask_filter};

static uint64_t rounds;   /* of a quarter of a turn, on average */
static uint64_t burnt_ns; /* in burn_before_filter */

static void measure(void)
{
    burnt_ns = burn_ns(burn_before_filter, BEFORE_NS);
    rounds = rounds_for_ns(burn_behind_filter, BEHIND_NS) / (3 * TURNS);
}

/* Three parts in the one, one in the other, which are alike but for a constant: a processor whose
 * speed changes changes it for both. Turns of many lengths are no multiple of a tick. */
static void burn_both(void)
{
    for (int i = 0; i < TURNS; i++) {
        uint64_t part = rounds * (2 * ((unsigned)i * 11 % TURNS) + 1) / TURNS;
        burn_behind_filter(3 * part);
        burn_more_behind_filter(part);
    }
}

static void say(const char *text)
{
    must(write(STDOUT_FILENO, text, strlen(text)) > 0, "write");
}

static void say_used(void)
{
    char text[96];
    snprintf(text, sizeof text, "{\"used\":%.9f,\"burnt\":%.9f}\n",
             (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9, (double)burnt_ns / 1e9);
    say(text);
}

static void set_by_raw_calls(void)
{
    must(raw_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)(intptr_t)&open_program, 0) == 0,
         "open filter");
    /* A look each tenth of a second sees it. */
    burnt_ns += burn_ns(burn_before_filter, BETWEEN_NS);
    say_used();
    must(raw_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)(intptr_t)&program, 0) == 0,
         "filter");
}

static void *run_behind(void *has_begun)
{
    __atomic_store_n((int *)has_begun, 1, __ATOMIC_RELEASE);
    burn_both();
    return NULL;
}

/* A forked child that works, and another program. */
static int start_children(void)
{
    int status = 1;
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &open_program, 0, 0) == 0, "filter by prctl");
    pid_t child = fork();
    if (child == 0) {
        burn_ns(burn_behind_filter, BEFORE_NS);
        _exit(0);
    }
    must(child > 0 && waitpid(child, &status, 0) == child && status == 0, "fork");
    child = fork();
    if (child == 0) {
        execl("/bin/echo", "echo", "behind the filter", (char *)NULL);
        _exit(1);
    }
    must(child > 0 && waitpid(child, &status, 0) == child && status == 0, "echo");
    return 0;
}

static int act_by_number(void)
{
    static const unsigned long action[4]; /* the kernel's structure: the default */
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &no_mask_program, 0, 0) == 0,
         "filter by prctl");
    must(syscall(SYS_rt_sigaction, SIGUSR2, action, NULL, sizeof action[0]) == 0, "rt_sigaction");
    say("behind the filter all went well\n");
    _exit(0);
}

int hazard_seccomp(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "prctl";
    pthread_t early, late;
    int has_begun = 0;
    if (strcmp(how, "children") == 0)
        return start_children();
    if (strcmp(how, "number") == 0)
        return act_by_number();
    measure();
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    /* Asked for no filter at all, the kernel says that it knows of them. */
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == -1 && errno == EFAULT,
         "seccomp");
    if (strcmp(how, "noreturn-child") == 0) {
        int status = 1;
        pid_t child = fork();
        must(child >= 0, "fork");
        if (child > 0) {
            must(waitpid(child, &status, 0) == child, "waitpid");
            return status;
        }
    }
    if (strcmp(how, "raw") != 0 && strcmp(how, "threads") != 0)
        say_used();
    if (strcmp(how, "noreturn-second") == 0)
        must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &open_program, 0, 0) == 0, "first filter");
    if (strncmp(how, "noreturn", 8) == 0)
        must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &no_return_program, 0, 0) == 0 &&
                 kill(getpid(), SIGURG) == 0,
             "filter that lets no handler return");
    else if (strcmp(how, "prctl") == 0)
        must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0, "filter by prctl");
    else if (strcmp(how, "syscall") == 0)
        must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "filter by number");
    else if (strcmp(how, "raw") == 0)
        set_by_raw_calls();
    else if (strcmp(how, "threads") == 0) {
        must(pthread_create(&early, NULL, run_behind, &has_begun) == 0, "pthread_create");
        while (!__atomic_load_n(&has_begun, __ATOMIC_ACQUIRE))
            burn_before_filter(SLICE);
        say_used();
        must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ==
                 0,
             "filter for all threads");
    } else
        must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0, "strict mode");
    burn_both();
    if (strcmp(how, "threads") == 0) {
        must(pthread_create(&late, NULL, run_behind, &has_begun) == 0, "pthread_create");
        pthread_join(late, NULL);
        pthread_join(early, NULL);
    }
    say("behind the filter all went well\n");
    if (strcmp(how, "strict") == 0)
        syscall(SYS_exit, 0);
    _exit(0);
}
