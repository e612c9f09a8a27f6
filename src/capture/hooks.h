/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the libc functions that the preloaded library stands in front of: how a hook is
 * exported, and how it finds the real function.
 *
 * Layer:    capture
 * Threads:  hooks are called by any thread of the program, at any time, also before start, in
 *           forked children and in children of vfork
 * Signals:  the hooks are as safe as what they wrap; KYMO_REAL calls dlsym the first time: what a
 *           handler may reach is found at start
 *
 * What the hooks of each file are for is at its head. mask_hooks.h has those of signal masks,
 * alloc_next.h those of memory.
 */
#ifndef KYMO_CAPTURE_HOOKS_H
#define KYMO_CAPTURE_HOOKS_H

#include "base/atomic.h"
#include "base/attr.h"
#include "capture/state.h"

#define KYMO_HOOK __attribute__((visibility("default")))

/* clang-format off */
/* Without these no process is recorded. */
#define KYMO_REAL_NEEDED(X)                                                            \
    X(_Fork) X(pthread_create) X(dlclose) X(mlockall) X(prctl)                         \
    X(execve) X(execvpe) X(fexecve) X(execveat) X(_exit) X(_Exit) X(quick_exit)        \
    X(posix_spawn) X(posix_spawnp) X(system) X(popen) X(sigaction) X(sigaltstack)      \
    X(sigprocmask) X(pthread_sigmask) X(sigwait) X(sigwaitinfo) X(sigtimedwait) X(signalfd) \
    X(write) X(writev) X(send) X(recv) X(poll)
/* These are looked for when they are called. */
#define KYMO_REAL_LAZY(X) \
    X(thrd_create) X(posix_spawn_file_actions_addchdir_np) X(posix_spawn_file_actions_addfchdir_np)
/* clang-format on */

enum kymo_real {
#define NUMBER(name) KYMO_REAL_##name,
    KYMO_REAL_NEEDED(NUMBER) KYMO_REALS_NEEDED,
    KYMO_REAL_LAZY(NUMBER) KYMO_REALS
#undef NUMBER
};
extern void *kymo_reals[KYMO_REALS];

/* Looks for one; NULL: it does not exist. */
void *kymo_real_find(enum kymo_real function);
/* All that are needed; 0 if one does not exist. A child of fork or vfork could not look for them.
 * Start only. */
int kymo_reals_init(void);

/* The real function of that name, of its type. Hooks can be called before our constructor ran:
 * other libraries have constructors, too. Finding the same function twice at once is harmless. */
#define KYMO_REAL(name)                                                  \
    ({                                                                   \
        void *found_ = kymo_load_relaxed(&kymo_reals[KYMO_REAL_##name]); \
        if (kymo_unlikely(!found_))                                      \
            found_ = kymo_real_find(KYMO_REAL_##name);                   \
        (__typeof__(name) *)found_;                                      \
    })
/* The same after kymo_reals_init. */
#define KYMO_REAL_FOUND(name) ((__typeof__(name) *)kymo_reals[KYMO_REAL_##name])

/* Makes the key whose destructor sees threads end. Returns 0 if that fails. Start only. */
int kymo_hooks_init(void);
/* Arranges that kymo_thread_end runs when the calling thread ends. Not for handlers. */
void kymo_hooks_watch_exit(struct kymo_capture_thread *thread);

/* Finds the real syscall; 0 if it does not exist. Start only. */
int kymo_seccomp_hooks_init(void);

/* env; or the program's own, if env is the one that stands in its place for the moment of a popen.
 */
KYMO_SIGNAL_SAFE char *const *kymo_spawn_hooks_program_env(char *const *env);
/* In a forked child: undoes a popen that another thread was in the middle of, since that thread
 * does not exist there. Safe in handlers. */
void kymo_spawn_hooks_after_fork(void);

#endif
