/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_hooks.c - the functions by which a process becomes another program.
 *
 * Each asks the real one in the end, with the environment that exec_pass.c makes. An exec can fail,
 * and then nothing has changed: the session goes on. libc's own search and its shell for text stay
 * libc's: only the environment is ours.
 */
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "capture/exec_pass.h"
#include "capture/hooks.h"
#include "capture/mask_hooks.h"
#include "capture/signal_move.h"
#include "capture/state.h"
#include "capture/timer.h"
#include "sys/clock.h"
#include "sys/raw.h"

struct exec {
    __typeof__(execve) *by_name; /* execve or execvpe; NULL: one of the next two */
    __typeof__(execveat) *by_folder;
    __typeof__(fexecve) *by_descriptor;
    const char *file;
    char *const *argv;
    int fd;
    int flags;
};

/* The process, if it is the one whose session this is. A child of vfork is not: it has a clock and
 * timers of its own. */
static struct kymo_capture_process *own_process(void)
{
    struct kymo_capture_process *p = kymo_process_here();
    return p && !kymo_is_quiet(p) && p->session->pid == kymo_raw_getpid() ? p : NULL;
}

/* What the threads have used so far belongs to this image. */
static void note_clocks(struct kymo_capture_process *p, struct kymo_capture_thread *t)
{
    const uint32_t main = kymo_raw_getpid();
    const uint64_t cpu_ns = kymo_clock_thread_cpu();
    kymo_store_relaxed(&p->session->replaced_main_ns,
                       kymo_raw_gettid() == main ? cpu_ns
                                                 : kymo_clock_cpu(kymo_clock_of_thread(main)));
    kymo_store_relaxed(&p->session->replaced_cpu_ns, cpu_ns);
    if (t && !(t->slot->flags & KYMO_SLOT_MAIN))
        kymo_store_relaxed(&t->slot->end_cpu_ns, cpu_ns - t->before_cpu_ns);
}

/* Just before the real call. A real-time signal ends a program that does not handle it, and a timer
 * may raise one in the middle of an exec: so such a timer goes first. Returns whether it did. */
static int prepare(struct kymo_capture_process *p, struct kymo_capture_thread *t)
{
    enum { REAL_TIME = 32 };
    if (p)
        note_clocks(p, t);
    if (!t || !t->slot->timer_on || t->timer_signal < REAL_TIME)
        return 0;
    kymo_timer_disarm(t);
    return 1;
}

/* The thread is still there. */
static void go_on(struct kymo_capture_process *p, struct kymo_capture_thread *t, int is_disarmed)
{
    int saved = errno;
    if (t && !(t->slot->flags & KYMO_SLOT_MAIN))
        kymo_store_relaxed(&t->slot->end_cpu_ns, 0u);
    if (is_disarmed)
        (void)kymo_timer_arm(p, t);
    errno = saved;
}

static int execute(void *what, char *const *env)
{
    const struct exec *e = what;
    int result;
    struct kymo_capture_process *p = own_process();
    struct kymo_capture_thread *t = p && kymo_thread_pointer_is_libc(1) ? kymo_thread_self : NULL;
    if (t && !t->process)
        t = NULL;
    int is_disarmed = prepare(p, t);
    uint64_t ignored = kymo_signal_ignore();
    uint64_t held = kymo_mask_settle();
    if (e->by_name)
        result = e->by_name(e->file, e->argv, env);
    else if (e->by_folder)
        result = e->by_folder(e->fd, e->file, e->argv, env, e->flags);
    else
        result = e->by_descriptor(e->fd, e->argv, env);
    kymo_mask_resume(held);
    kymo_signal_heed(ignored);
    go_on(p, t, is_disarmed);
    return result;
}

KYMO_HOOK int execve(const char *path, char *const argv[], char *const envp[])
{
    struct exec e = {.by_name = KYMO_REAL(execve), .file = path, .argv = argv};
    return kymo_exec_pass(path, KYMO_EXEC_PATH, envp, execute, &e);
}

KYMO_HOOK int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

KYMO_HOOK int execvpe(const char *file, char *const argv[], char *const envp[])
{
    struct exec e = {.by_name = KYMO_REAL(execvpe), .file = file, .argv = argv};
    return kymo_exec_pass(file, KYMO_EXEC_SEARCH_SHELL, envp, execute, &e);
}

KYMO_HOOK int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

/* libc's headers promise the compiler that this is not NULL; programs promised nothing. */
#define MAY_BE_NULL(pointer)                    \
    ({                                          \
        __typeof__(pointer) pointer_ = pointer; \
        __asm__("" : "+r"(pointer_));           \
        pointer_;                               \
    })

/* The arguments as an array on the caller's stack, as long as the list that begins with first; the
 * list is left behind its end. */
#define COLLECT(argv, list, first)                          \
    do {                                                    \
        va_list counting_;                                  \
        const char *first_ = MAY_BE_NULL(first);            \
        size_t n_ = 1;                                      \
        va_copy(counting_, list);                           \
        while (first_ && va_arg(counting_, char *))         \
            n_++;                                           \
        va_end(counting_);                                  \
        argv = alloca((n_ + 1) * sizeof *argv);             \
        argv[0] = (char *)(uintptr_t)first_;                \
        for (size_t i_ = 1; i_ <= n_ && argv[i_ - 1]; i_++) \
            argv[i_] = va_arg(list, char *);                \
    } while (0)

KYMO_HOOK int execl(const char *path, const char *first, ...)
{
    char **argv;
    va_list list;
    va_start(list, first);
    COLLECT(argv, list, first);
    va_end(list);
    return execve(path, argv, environ);
}

KYMO_HOOK int execlp(const char *file, const char *first, ...)
{
    char **argv;
    va_list list;
    va_start(list, first);
    COLLECT(argv, list, first);
    va_end(list);
    return execvpe(file, argv, environ);
}

KYMO_HOOK int execle(const char *path, const char *first, ...)
{
    char **argv;
    va_list list;
    va_start(list, first);
    COLLECT(argv, list, first);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    return execve(path, argv, envp);
}

enum { DESCRIPTOR_PATH_MAX = 512 };

/* A name by which the file below an open folder, or the open file itself, can be looked at; NULL if
 * it is too long for that. */
static const char *name_of(int fd, const char *below, char out[DESCRIPTOR_PATH_MAX])
{
    static const char folder[] = "/proc/self/fd/";
    char digits[12];
    size_t n = sizeof digits - 1;
    if (fd < 0)
        return NULL;
    digits[n] = '\0';
    for (unsigned rest = (unsigned)fd; n == sizeof digits - 1 || rest; rest /= 10)
        digits[--n] = (char)('0' + rest % 10);
    size_t len = strlen(below);
    if (sizeof folder + sizeof digits + 1 + len > DESCRIPTOR_PATH_MAX)
        return NULL;
    memcpy(out, folder, sizeof folder - 1);
    char *to = out + sizeof folder - 1;
    memcpy(to, digits + n, sizeof digits - n);
    to += sizeof digits - 1 - n;
    if (len > 0) {
        *to++ = '/';
        memcpy(to, below, len + 1);
    }
    return out;
}

KYMO_HOOK int fexecve(int fd, char *const argv[], char *const envp[])
{
    char name[DESCRIPTOR_PATH_MAX];
    struct exec e = {.by_descriptor = KYMO_REAL(fexecve), .fd = fd, .argv = argv};
    return kymo_exec_pass(name_of(fd, "", name), KYMO_EXEC_PATH, envp, execute, &e);
}

KYMO_HOOK int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    char name[DESCRIPTOR_PATH_MAX];
    struct exec e = {
        .by_folder = KYMO_REAL(execveat), .fd = fd, .file = path, .argv = argv, .flags = flags};
    const char *file = MAY_BE_NULL(path);
    if (file && file[0] != '/' && (fd != AT_FDCWD || file[0] == '\0'))
        file = name_of(fd, file, name);
    return kymo_exec_pass(file, KYMO_EXEC_PATH, envp, execute, &e);
}
