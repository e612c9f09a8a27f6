/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazard_code.c - code that comes and goes, and calls that are never returned from: a profiler that
 * reads a library as it is unloaded, or holds something while a handler of the program's jumps out
 * of its middle, faults or hangs here.
 */
#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "hazards.h"
#include "workload.h"

DEFINE_BURN(burn_beside_loader, 109)
DEFINE_BURN(burn_until_jump, 113)

/* ---- dlopen and dlclose as fast as they go ---- */

static atomic_int loading = 1;

static void *run_beside_loader(void *unused)
{
    (void)unused;
    while (atomic_load(&loading))
        burn_beside_loader(SLICE);
    return NULL;
}

typedef uint64_t plugin_function(uint64_t ns);

int hazard_dlopen(int argc, char **argv)
{
    must(argc > 2, "usage: hazards dlopen ROUNDS PLUGIN");
    const int rounds = (int)number_argument(argc, argv, 1, 3000);
    int called = 0;
    pthread_t beside;
    must(pthread_create(&beside, NULL, run_beside_loader, NULL) == 0, "pthread_create");
    for (int i = 0; i < rounds; i++) {
        void *plugin = dlopen(argv[2], i % 2 ? RTLD_NOW : RTLD_LAZY);
        must(plugin != NULL, "dlopen");
        plugin_function *function;
        void *symbol = dlsym(plugin, "plugin_work");
        must(symbol != NULL, "dlsym");
        memcpy(&function, &symbol, sizeof(function));
        function(20000);
        called++;
        dlclose(plugin);
    }
    atomic_store(&loading, 0);
    pthread_join(beside, NULL);
    printf("%d times loaded, called and unloaded\n", called);
    return 0;
}

/* ---- code whose unwind tables cannot be read ---- */

/* Takes the right to read from the segment of a library that holds .eh_frame, and nothing else that
 * it needs to work. */
static int protect_tables(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    const ElfW(Phdr) *frames = NULL;
    if (!info->dlpi_name || strcmp(info->dlpi_name, path) != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            frames = &info->dlpi_phdr[i];
    for (int i = 0; frames && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_LOAD || frames->p_vaddr - ph->p_vaddr >= ph->p_memsz)
            continue;
        uint64_t begin = (info->dlpi_addr + ph->p_vaddr) & ~4095ull;
        uint64_t end = (info->dlpi_addr + ph->p_vaddr + ph->p_memsz + 4095) & ~4095ull;
        must(ph->p_flags == PF_R, "a segment of .eh_frame alone");
        must(raw_call(SYS_mprotect, (long)begin, (long)(end - begin), PROT_NONE, 0) == 0,
             "mprotect");
        return 1;
    }
    return 0;
}

int hazard_unreadable(int argc, char **argv)
{
    must(argc > 1, "usage: hazards unreadable PLUGIN");
    void *plugin = dlopen(argv[1], RTLD_NOW);
    must(plugin != NULL, "dlopen");
    plugin_function *function;
    void *symbol = dlsym(plugin, "plugin_work");
    must(symbol != NULL, "dlsym");
    memcpy(&function, &symbol, sizeof(function));
    function(1000); /* what it calls is bound */
    int is_protected = dl_iterate_phdr(protect_tables, argv[1]);
    function(150000000);
    printf("worked, tables unreadable: %s\n", is_protected ? "yes" : "no");
    return 0;
}

/* ---- siglongjmp out of calls that a profiler hooks ---- */

static sigjmp_buf start;
static volatile sig_atomic_t jumps;

static void jump(int number)
{
    (void)number;
    jumps++;
    siglongjmp(start, 1);
}

/* Calls that a handler may call, and so may be left for ever: those that Kymo watches first. */
static void call_often(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t all, before;
    sigfillset(&all);
    for (;;) {
        sigaction(SIGUSR2, &ignore, NULL);
        pthread_sigmask(SIG_BLOCK, &all, &before);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        burn_until_jump(200);
        poll(NULL, 0, jumps % 8 == 0);
    }
}

int hazard_jumpout(int argc, char **argv)
{
    const int wanted = (int)number_argument(argc, argv, 1, 1000);
    struct sigaction action = {.sa_handler = jump};
    must(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
    const struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    sigsetjmp(start, 1);
    if (jumps < wanted)
        call_often();
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d jumps out of what was running\n", wanted);
    return 0;
}
