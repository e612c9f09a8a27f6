/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazards.c WHAT [ARGUMENT...] - does one of the things that profilers are known to break, while it
 * burns CPU time. What it prints and its exit status must be the same with a profiler and without.
 */
#include "hazards.h"

#include "workload.h"

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
        const char *what;
    } hazards[] = {
        {"smallstack", hazard_smallstack, "threads with 16 KiB of stack"},
        {"coroutine", hazard_coroutine, "coroutines on stacks from malloc and mmap"},
        {"longjmp", hazard_longjmp, "longjmp 10 000 times a second, some out of a handler"},
        {"sigaltstack", hazard_sigaltstack, "handlers that work on an alternate stack"},
        {"daemon", hazard_daemon, "RESULT_FILE: closes 3..N, forks, and works in the child"},
        {"privdrop", hazard_privdrop, "becomes nobody, for ever"},
        {"unshare", hazard_unshare, "makes a user namespace, which only one thread may"},
        {"rlimit-fsize", hazard_fsize, "may write files of one byte"},
        {"fork", hazard_fork, "forks 25 children that work, from a thread that works"},
        {"forkmalloc", hazard_forkmalloc, "forks 20 children while three threads are in malloc"},
        {"lowmem", hazard_lowmem, "may map only 16 MiB more"},
        {"space", hazard_space, "MIB: maps that much at once"},
        {"lock", hazard_lock, "[LIMIT_MIB]: locks all its memory"},
        {"single", hazard_single, "ns of CPU time of one getc and of one malloc and free"},
        {"mallocthread", hazard_mallocthread, "four threads in malloc, free and realloc"},
        {"allocthreads", hazard_allocthreads, "an allocator that makes threads; 77: it is not"},
        {"maskall", hazard_maskall, "a thread that blocks every signal"},
        {"seccomp", hazard_seccomp, "prctl|syscall|threads|strict|noreturn: a filter that kills"},
        {"rawaction", hazard_rawaction, "sets every signal back to its default by number"},
        {"ownsignal", hazard_ownsignal, "uses SIGURG and SIGPROF itself"},
        {"dlopen", hazard_dlopen, "ROUNDS PLUGIN: loads, calls and unloads it"},
        {"unreadable", hazard_unreadable, "PLUGIN: whose unwind tables cannot be read"},
        {"jumpout", hazard_jumpout, "jumps out of whatever runs, from a handler"},
        {"rawclone", hazard_rawclone, "threads and a process by clone() in the same memory"},
        {"tls", hazard_tls, "an FS base that is not libc's, in a thread of its own, too"},
        {"waits", hazard_waits, "calls that a signal ends with EINTR, whatever SA_RESTART says"},
        {"transfer", hazard_transfer, "large writes and reads by calls that are made once"},
        {"iouring", hazard_iouring, "reads by threads of the kernel's; 77: not permitted"},
    };
    enum { COUNT = sizeof(hazards) / sizeof(hazards[0]) };
    for (int i = 0; argc > 1 && i < COUNT; i++)
        if (strcmp(argv[1], hazards[i].name) == 0)
            return hazards[i].run(argc - 1, argv + 1);
    for (int i = 0; i < COUNT; i++)
        fprintf(stderr, "hazards %-13s %s\n", hazards[i].name, hazards[i].what);
    return 2;
}
