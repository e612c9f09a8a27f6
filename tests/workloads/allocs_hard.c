/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocs_hard.c - memory where it is hard: children that free what they inherited, handlers that
 * allocate and jump out, libraries that are unloaded, threads that free while they end, too little.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocs.h"

/* ---- fork, while other threads allocate ---- */

enum { INHERITED = 100, FREED_BY_CHILD = 60, BY_CHILD = 10, BUSY_THREADS = 4 };

DEFINE_SITE(site_parent)
DEFINE_SITE(site_child)
DEFINE_SITE(site_busy)
DEFINE_BURN(burn_in_child, 21)

static volatile uint32_t forks;
static volatile int is_over;

/* So many rounds for each fork, and no more: every block is recorded. */
static void *allocate_until_over(void *unused)
{
    (void)unused;
    for (uint32_t rounds = 0; !is_over;) {
        if (rounds >= forks * 100) {
            sched_yield();
            continue;
        }
        rounds++;
        void *blocks[16];
        for (size_t i = 0; i < 16; i++)
            blocks[i] = site_busy(16 + 100 * i);
        for (size_t i = 0; i < 16; i++)
            free(blocks[i]);
    }
    return NULL;
}

/* A child's part: it frees its share of what it inherited, and leaves something behind. */
static void do_part(void **blocks, int depth)
{
    burn_ns(burn_in_child, 5000000);
    for (int i = 0; i < FREED_BY_CHILD / 2; i++)
        free(blocks[depth * FREED_BY_CHILD / 2 + i]);
    for (int i = 0; i < BY_CHILD; i++) {
        void *block = site_child(1000);
        HOLD(block, kept);
    }
}

static void be_a_child(void **blocks)
{
    do_part(blocks, 0);
    int status = 0;
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        do_part(blocks, 1);
        exit(0);
    }
    must(waitpid(child, &status, 0) == child && status == 0, "grandchild");
    exit(0);
}

void allocs_fork(uint32_t count)
{
    void *blocks[INHERITED];
    struct tally all = {0};
    for (size_t i = 0; i < INHERITED; i++) {
        blocks[i] = site_parent(2000);
        tally_add(&all, 2000);
    }
    pthread_t threads[BUSY_THREADS];
    for (int i = 0; i < BUSY_THREADS; i++)
        must(pthread_create(&threads[i], NULL, allocate_until_over, NULL) == 0, "pthread_create");
    for (uint32_t i = 0; i < count; i++) {
        forks = i + 1;
        pid_t child = fork();
        must(child >= 0, "fork");
        if (child == 0)
            be_a_child(blocks);
        int status;
        must(waitpid(child, &status, 0) == child && status == 0, "child");
    }
    is_over = 1;
    for (int i = 0; i < BUSY_THREADS; i++)
        must(pthread_join(threads[i], NULL) == 0, "pthread_join");
    tell("{\"children\":%u,\"by_child\":%d,\"left_in_child\":%d,\"left_in_grandchild\":%d,"
         "\"sites\":{",
         count, BY_CHILD, INHERITED - FREED_BY_CHILD / 2, INHERITED - FREED_BY_CHILD);
    tell_site("site_parent", all, all);
    tell("}}");
}

/* ---- fork, and a child that attaches while it frees what it inherited ---- */

enum { INHERITED_MORE = 400 };

/* A child has no session when it begins. It gets one by a signal, at the kernel's first tick after
 * a millisecond of CPU time: of some children while they are here. Each first write to a page that
 * the parent has too takes long, and nearly all of these frees write to another page of the table.
 */
static void free_all(void **blocks, uint32_t number)
{
    burn_ns(burn_in_child, 1000000 + number % 40 * 100000);
    for (int i = 0; i < INHERITED_MORE; i++)
        free(blocks[i]);
    void *block = site_child(1000);
    HOLD(block, kept);
    exit(0);
}

void allocs_fork_frees(uint32_t count)
{
    void *blocks[INHERITED_MORE];
    struct tally all = {0};
    for (size_t i = 0; i < INHERITED_MORE; i++) {
        blocks[i] = site_parent(32);
        tally_add(&all, 32);
    }
    for (uint32_t i = 0; i < count; i++) {
        pid_t child = fork();
        must(child >= 0, "fork");
        if (child == 0)
            free_all(blocks, i);
        int status;
        must(waitpid(child, &status, 0) == child && status == 0, "child");
    }
    tell("{\"children\":%u,\"sites\":{", count);
    tell_site("site_parent", all, all);
    tell("}}");
}

/* ---- a flood: more than the recorder reads at once, and children that come meanwhile ---- */

enum { FLOOD_THREADS = 2, FLOOD_AT_ONCE = 1000000, FLOOD_A_FORK = 25000, AT_A_TIME = 16 };

DEFINE_SITE(site_flood)
DEFINE_SITE(site_flood_child)

static volatile uint64_t allowed; /* blocks, for each thread */

static void *flood(void *asked)
{
    uint64_t *objects = asked;
    while (!is_over) {
        if (*(volatile uint64_t *)objects >= allowed) {
            sched_yield();
            continue;
        }
        void *blocks[AT_A_TIME];
        for (size_t i = 0; i < AT_A_TIME; i++)
            blocks[i] = site_flood(64);
        for (size_t i = 0; i < AT_A_TIME; i++)
            free(blocks[i]);
        __atomic_fetch_add(objects, AT_A_TIME, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* The recorder is our parent. While it is stopped, everything stays in the session. */
static void stop_recorder(int stop)
{
    must(kill(getppid(), stop ? SIGSTOP : SIGCONT) == 0, "kill");
}

static void flood_child(void)
{
    burn_ns(burn_in_child, 5000000);
    for (int i = 0; i < BY_CHILD; i++) {
        void *block = site_flood_child(1000);
        HOLD(block, kept);
    }
    exit(0);
}

void allocs_flood(uint32_t count)
{
    uint64_t objects[FLOOD_THREADS] = {0};
    struct tally all = {0};
    struct tally by_children = {(uint64_t)count * BY_CHILD, (uint64_t)count * BY_CHILD * 1000};
    pthread_t threads[FLOOD_THREADS];
    stop_recorder(1);
    allowed = FLOOD_AT_ONCE;
    for (int i = 0; i < FLOOD_THREADS; i++)
        must(pthread_create(&threads[i], NULL, flood, &objects[i]) == 0, "pthread_create");
    for (int i = 0; i < FLOOD_THREADS; i++)
        while (__atomic_load_n(&objects[i], __ATOMIC_RELAXED) < FLOOD_AT_ONCE)
            sched_yield();
    stop_recorder(0);
    for (uint32_t i = 0; i < count; i++) {
        allowed += FLOOD_A_FORK;
        pid_t child = fork();
        must(child >= 0, "fork");
        if (child == 0)
            flood_child();
        int status;
        must(waitpid(child, &status, 0) == child && status == 0, "child");
    }
    is_over = 1;
    for (int i = 0; i < FLOOD_THREADS; i++) {
        must(pthread_join(threads[i], NULL) == 0, "pthread_join");
        all.objects += objects[i];
        all.bytes += objects[i] * 64;
    }
    tell("{\"children\":%u,\"at_a_time\":%d,\"sites\":{", count, FLOOD_THREADS * AT_A_TIME);
    tell_site("site_flood", all, (struct tally){0});
    tell_site("site_flood_child", by_children, by_children);
    tell("}}");
}

/* More than a small session holds, while no recorder reads: some of it is lost. */
void allocs_lost(uint32_t count)
{
    struct tally all = {0};
    void **blocks = pointers(count);
    stop_recorder(1);
    for (uint32_t i = 0; i < count; i++) {
        blocks[i] = site_flood(64);
        tally_add(&all, 64);
    }
    for (uint32_t i = 0; i < count; i++)
        free(blocks[i]);
    stop_recorder(0);
    tell("{\"sites\":{");
    tell_site("site_flood", all, (struct tally){0});
    tell("}}");
}

/* ---- handlers: only under an allocator that may be called in one (alloc_bump.c) ---- */

DEFINE_SITE(site_handler)
DEFINE_SITE(site_main)

static volatile uint32_t handled;
static sigjmp_buf out;
static volatile sig_atomic_t can_jump;

static void on_alarm(int number)
{
    (void)number;
    void *block = site_handler(4000);
    void *other = site_handler(40);
    free(block);
    free(other);
    handled++;
    if (can_jump && handled % 8 == 0)
        siglongjmp(out, 1);
}

void allocs_handlers(uint32_t count)
{
    must(dlsym(RTLD_DEFAULT, "alloc_bump_is_here") != NULL, "an allocator for handlers");
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    must(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
    struct itimerval every = {{0, 200}, {0, 200}};
    volatile uint64_t rounds = 0, jumps = 0;
    if (sigsetjmp(out, 1))
        jumps++;
    else
        must(setitimer(ITIMER_REAL, &every, NULL) == 0, "setitimer");
    can_jump = 1;
    while (handled < count) {
        void *block = site_main(100);
        block = realloc(block, 5000);
        HOLD(block, resized);
        free(block);
        rounds++;
    }
    can_jump = 0;
    must(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL) == 0, "setitimer");
    tell("{\"handled\":%u,\"jumps\":%llu,\"rounds\":%llu}", handled, (unsigned long long)jumps,
         (unsigned long long)rounds);
}

/* ---- plugins: two libraries take turns in memory, and what they asked for stays ---- */

void allocs_plugins(uint32_t count)
{
    static const char *const files[] = {"/plugins/alloc_early.so", "/plugins/alloc_late.so"};
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
    must(n > 0, "readlink");
    path[n] = '\0';
    char *folder_end = strrchr(path, '/');
    for (uint32_t i = 0; i < count; i++) {
        strcpy(folder_end, files[i % 2]);
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        must(plugin != NULL, "dlopen");
        void *(*ask)(size_t);
        *(void **)&ask = dlsym(plugin, "plugin_ask");
        must(ask != NULL, "dlsym");
        for (size_t k = 0; k < 10; k++)
            must(ask(3000) != NULL, "malloc");
        must(dlclose(plugin) == 0, "dlclose");
    }
    struct tally early = {10 * ((count + 1) / 2), 30000 * ((count + 1) / 2)};
    struct tally late = {10 * (count / 2), 30000 * (count / 2)};
    tell("{\"sites\":{");
    tell_site("ask_early", early, early);
    tell_site("ask_late", late, late);
    tell("}}");
}

/* ---- destructors: a thread's last blocks are freed by what runs when it ends ---- */

DEFINE_SITE(site_of_thread)

static pthread_key_t key;

static void free_it(void *block)
{
    free(block);
}

static void *leave_it(void *unused)
{
    (void)unused;
    must(pthread_setspecific(key, site_of_thread(700)) == 0, "pthread_setspecific");
    return NULL;
}

void allocs_destructors(uint32_t count)
{
    must(pthread_key_create(&key, free_it) == 0, "pthread_key_create");
    struct tally all = {0};
    for (uint32_t i = 0; i < count; i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, leave_it, NULL) == 0, "pthread_create");
        must(pthread_join(thread, NULL) == 0, "pthread_join");
        tally_add(&all, 700);
    }
    tell("{\"sites\":{");
    tell_site("site_of_thread", all, (struct tally){0});
    tell("}}");
}

/* ---- low: so much more address space than there is now, and every function until it fails ---- */

void allocs_low(uint32_t mib)
{
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    must(statm && fscanf(statm, "%lu", &pages) == 1 && fclose(statm) == 0, "statm");
    must(getrlimit(RLIMIT_AS, &limit) == 0, "getrlimit");
    limit.rlim_cur = pages * 4096 + ((rlim_t)mib << 20);
    must(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    void **kept = NULL;
    uint32_t blocks = 0, failed = 0;
    size_t bytes = 1 << 20;
    while (bytes >= 1 << 10) {
        void **block = blocks % 2 ? malloc(bytes) : calloc(1, bytes);
        if (!block) {
            failed++;
            void **grown = kept ? realloc(kept, (size_t)mib << 20) : NULL;
            must(grown == NULL, "realloc above the limit");
            bytes /= 2;
            continue;
        }
        *block = kept;
        kept = block;
        blocks++;
    }
    while (kept) {
        void **next = *kept;
        free(kept);
        kept = next;
    }
    void *again = malloc(1 << 20);
    HOLD(again, again);
    tell("{\"failed\":%u,\"again\":%d}", failed, again != NULL);
}
