/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_action.c - a program that uses the sampling signal itself, and asks that its handler be
 * called as it would be without us: with its mask, its flags, once if it said so, and for its own
 * signals only. Prints what is not so; exit status 1 if there is anything.
 *
 * own_action semantics: sa_mask, sa_flags, what sigaction and signal return, here and in children.
 *
 * own_action storm: installs a handler all the time while another process sends the signal.
 *
 * own_action late: burns CPU time for longer than it is recorded.
 *
 * own_action number: a forked child that installs one by number, and burns CPU time.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t calls;
static volatile sig_atomic_t from_elsewhere;
static sigset_t mask_inside;
static jmp_buf back;
static int faults;

static void expect(int holds, const char *what)
{
    if (!holds) {
        printf("not so: %s\n", what);
        faults++;
    }
}

static void note_mask(int signo)
{
    (void)signo;
    calls++;
    sigprocmask(SIG_BLOCK, NULL, &mask_inside);
}

static void jump(int signo)
{
    (void)signo;
    longjmp(back, 1);
}

static void note_sender(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)context;
    calls++;
    if (info->si_code != SI_USER && info->si_code != SI_TKILL)
        from_elsewhere++;
}

static void install(void (*handler)(int), int flags, int blocked)
{
    struct sigaction action = {.sa_flags = flags};
    action.sa_handler = handler;
    if (blocked)
        sigaddset(&action.sa_mask, blocked);
    sigaction(SIGURG, &action, NULL);
}

static void *interrupt_then_write(void *argument)
{
    const int *pipe_write = argument;
    struct timespec pause = {.tv_nsec = 100000000};
    /* Twice, in case the first one came before the reader slept; then an end to it. */
    for (int i = 0; i < 2; i++) {
        nanosleep(&pause, NULL);
        kill(getpid(), SIGURG);
    }
    nanosleep(&pause, NULL);
    return write(*pipe_write, "x", 1) == 1 ? NULL : argument;
}

static void check_restart(void)
{
    int ends[2];
    char byte;
    pthread_t other;
    sigset_t urg;
    install(note_mask, 0, 0);
    if (pipe(ends) != 0)
        return;
    /* The other thread, and those it would make, block the signal: it reaches this one. */
    sigemptyset(&urg);
    sigaddset(&urg, SIGURG);
    pthread_sigmask(SIG_BLOCK, &urg, NULL);
    pthread_create(&other, NULL, interrupt_then_write, &ends[1]);
    pthread_sigmask(SIG_UNBLOCK, &urg, NULL);
    errno = 0;
    expect(read(ends[0], &byte, 1) == -1 && errno == EINTR,
           "a handler without SA_RESTART interrupts read");
    pthread_join(other, NULL);
    close(ends[0]);
    close(ends[1]);
}

/* In a child: exit status 0 if it sees what its parent had installed. */
static void check_child(const char *how, pid_t child, int sees)
{
    int status;
    if (child == 0)
        _exit(!sees);
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, how);
}

static int semantics(void)
{
    struct sigaction old;
    install(note_mask, 0, SIGUSR2);
    raise(SIGURG);
    expect(calls == 1, "the handler is called");
    expect(sigismember(&mask_inside, SIGURG) == 1, "the signal is blocked in its handler");
    expect(sigismember(&mask_inside, SIGUSR2) == 1, "sa_mask is blocked in the handler");
    expect(sigismember(&mask_inside, SIGUSR1) == 0, "nothing else is blocked in the handler");
    sigaction(SIGURG, NULL, &old);
    expect(old.sa_handler == note_mask && sigismember(&old.sa_mask, SIGUSR2) == 1 &&
               sigismember(&old.sa_mask, SIGUSR1) == 0,
           "sigaction gives back handler and mask");

    install(note_mask, SA_NODEFER, 0);
    raise(SIGURG);
    expect(sigismember(&mask_inside, SIGURG) == 0, "SA_NODEFER does not block the signal");

    calls = 0;
    install(note_mask, (int)SA_RESETHAND, 0);
    raise(SIGURG);
    raise(SIGURG);
    sigaction(SIGURG, NULL, &old);
    expect(calls == 1 && old.sa_handler == SIG_DFL, "SA_RESETHAND calls the handler once");

    install(jump, SA_NODEFER, 0);
    if (setjmp(back) == 0)
        raise(SIGURG);
    sigset_t after;
    sigprocmask(SIG_BLOCK, NULL, &after);
    expect(sigismember(&after, SIGUSR1) == 0 && sigismember(&after, SIGTERM) == 0,
           "a handler that jumps away leaves no signal blocked");

    check_restart();

    install(note_mask, 0, 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        sigaction(SIGURG, NULL, &old);
    check_child("a child's sigaction gives its parent's handler", child,
                old.sa_handler == note_mask);
    signal(SIGURG, SIG_DFL);
    child = fork();
    check_child("a child's signal gives SIG_DFL", child,
                child != 0 || signal(SIGURG, note_mask) == SIG_DFL);
    return faults != 0;
}

static int storm(void)
{
    struct sigaction action = {.sa_flags = SA_RESTART};
    action.sa_handler = note_mask;
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 50000; i++)
            kill(parent, SIGURG);
        _exit(0);
    }
    int status;
    while (waitpid(child, &status, WNOHANG) == 0)
        sigaction(SIGURG, &action, NULL);
    expect(calls > 0, "the handler is called");
    return faults != 0;
}

static void burn_ns(long ns)
{
    struct timespec cpu;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    } while (cpu.tv_sec == 0 && cpu.tv_nsec < ns);
}

static int late(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = note_sender;
    sigaction(SIGURG, &action, NULL);
    burn_ns(600000000);
    expect(from_elsewhere == 0, "no signal is of the recorder's sending");
    return faults != 0;
}

static int number(void)
{
    struct {
        void (*handler)(int, siginfo_t *, void *);
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } action;
    int status;
    /* What returns from a handler is libc's. */
    signal(SIGUSR1, note_mask);
    if (syscall(SYS_rt_sigaction, SIGUSR1, NULL, &action, sizeof action.mask) != 0)
        return 2;
    action.handler = note_sender;
    action.flags |= SA_SIGINFO;
    if (fork() > 0)
        return wait(&status) > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
    expect(syscall(SYS_rt_sigaction, SIGURG, &action, NULL, sizeof action.mask) == 0,
           "rt_sigaction");
    burn_ns(100000000);
    expect(calls == 0, "no handler of a child's runs for a signal that nobody sent");
    raise(SIGURG);
    expect(calls == 1, "it runs for one that was sent");
    return faults > 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "semantics") == 0)
        return semantics();
    if (argc == 2 && strcmp(argv[1], "storm") == 0)
        return storm();
    if (argc == 2 && strcmp(argv[1], "late") == 0)
        return late();
    if (argc == 2 && strcmp(argv[1], "number") == 0)
        return number();
    return 2;
}
