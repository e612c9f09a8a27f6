/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazard_stacks.c - stacks of unusual size and place, and code that leaves them in unusual ways.
 * Where a handler of ours guesses wrong about the stack that it is on, it faults here or overruns.
 */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "hazards.h"
#include "workload.h"

DEFINE_BURN(burn_small_stack, 31)
DEFINE_BURN(burn_on_malloc_stack, 37)
DEFINE_BURN(burn_on_mmap_stack, 41)
DEFINE_BURN(burn_between_jumps, 43)
DEFINE_BURN(burn_on_altstack, 47)

enum { WORK_NS = 200000000 };

/* ---- threads with the smallest stack there is ---- */

static void *run_small(void *unused)
{
    (void)unused;
    burn_ns(burn_small_stack, 20000000);
    return NULL;
}

int hazard_smallstack(int argc, char **argv)
{
    (void)argc, (void)argv;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    must(pthread_attr_setstacksize(&attributes, 16 << 10) == 0, "pthread_attr_setstacksize");
    for (int round = 0; round < 5; round++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            must(pthread_create(&threads[i], &attributes, run_small, NULL) == 0, "pthread_create");
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
    puts("20 threads with 16 KiB of stack ended well");
    return 0;
}

/* ---- coroutines ---- */

enum { COROUTINE_STACK = 32 << 10, SWITCHES = 10000 };

static ucontext_t scheduler, on_malloc, on_mmap;
static int switches;

static void coroutine_malloc(void)
{
    for (;;) {
        burn_on_malloc_stack(SLICE);
        switches++;
        swapcontext(&on_malloc, &on_mmap);
    }
}

static void coroutine_mmap(void)
{
    for (;;) {
        burn_on_mmap_stack(SLICE);
        switches++;
        swapcontext(&on_mmap, switches < SWITCHES ? &on_malloc : &scheduler);
    }
}

static void make_coroutine(ucontext_t *context, void *stack, void (*body)(void))
{
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = COROUTINE_STACK;
    context->uc_link = &scheduler;
    makecontext(context, body, 0);
}

int hazard_coroutine(int argc, char **argv)
{
    (void)argc, (void)argv;
    /* Pages without any access lie right below and right above this stack. */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *fenced = mmap(NULL, COROUTINE_STACK + 2 * page, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(fenced != MAP_FAILED, "mmap");
    must(mprotect(fenced + page, COROUTINE_STACK, PROT_READ | PROT_WRITE) == 0, "mprotect");
    void *heap = malloc(COROUTINE_STACK);
    must(heap != NULL, "malloc");
    make_coroutine(&on_malloc, heap, coroutine_malloc);
    make_coroutine(&on_mmap, fenced + page, coroutine_mmap);
    swapcontext(&scheduler, &on_malloc);
    printf("%d switches between coroutines\n", switches);
    free(heap);
    munmap(fenced, COROUTINE_STACK + 2 * page);
    return 0;
}

/* ---- longjmp, also out of a handler of the program's own ---- */

static sigjmp_buf outermost;
static volatile sig_atomic_t jumps_from_handler;

static void jump_from_handler(int number)
{
    (void)number;
    jumps_from_handler++;
    burn_between_jumps(200);
    siglongjmp(outermost, 2);
}

static KEPT void fall(int depth, int number)
{
    volatile char room[64] = {0}; /* each level has a frame of its own */
    burn_between_jumps(8000);
    if (depth > 0)
        fall(depth - 1, number);
    else if (number % 10 == 0)
        raise(SIGUSR1);
    else
        siglongjmp(outermost, 1);
    (void)room[0];
}

int hazard_longjmp(int argc, char **argv)
{
    const int wanted = (int)number_argument(argc, argv, 1, 10000);
    struct sigaction action = {.sa_handler = jump_from_handler};
    must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    volatile int jumps = 0;
    while (jumps < wanted) {
        if (sigsetjmp(outermost, 1) == 0)
            fall(4, jumps);
        jumps++;
    }
    printf("%d jumps, %d of them out of a handler\n", jumps, (int)jumps_from_handler);
    return 0;
}

/* ---- handlers on an alternate stack ---- */

static volatile sig_atomic_t handled;
static char *altstack;
static size_t altstack_size;
static volatile sig_atomic_t strays; /* handlers that ran on another stack than they should */

static void work_on_altstack(int number)
{
    (void)number;
    char here;
    if (&here < altstack || &here >= altstack + altstack_size)
        strays++;
    burn_ns(burn_on_altstack, 5000000);
    handled++;
}

int hazard_sigaltstack(int argc, char **argv)
{
    (void)argc, (void)argv;
    /* Room for the kernel's frame of the program's signal and of one more, and 8 KiB to work in. */
    altstack_size = 2 * (size_t)sysconf(_SC_MINSIGSTKSZ) + (8 << 10);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    altstack_size = (altstack_size + page - 1) / page * page;
    char *fenced = mmap(NULL, altstack_size + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(fenced != MAP_FAILED, "mmap");
    altstack = fenced + page;
    must(mprotect(altstack, altstack_size, PROT_READ | PROT_WRITE) == 0, "mprotect");
    stack_t stack = {.ss_sp = altstack, .ss_size = altstack_size};
    must(sigaltstack(&stack, NULL) == 0, "sigaltstack");
    struct sigaction action = {.sa_handler = work_on_altstack, .sa_flags = SA_ONSTACK};
    must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    for (uint64_t end = thread_cpu_ns() + WORK_NS; thread_cpu_ns() < end;)
        raise(SIGUSR1);
    printf("handled on the alternate stack: %s, elsewhere: %d\n", handled ? "yes" : "no",
           (int)strays);
    return strays != 0;
}
