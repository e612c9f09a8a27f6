/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocs.c - allocs MODE [COUNT [THREADS [LEAKS]]]: see allocs.h. Here what is asked for, kept and
 * given back in the ordinary way.
 */
#include "allocs.h"

#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- what it says ---- */

static char told[1 << 20];
static size_t told_bytes;

void tell(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(told + told_bytes, sizeof(told) - told_bytes, format, arguments);
    va_end(arguments);
    must(n >= 0 && (size_t)n < sizeof(told) - told_bytes, "too much to tell");
    told_bytes += (size_t)n;
}

void tell_end(void)
{
    tell("\n");
    for (size_t at = 0; at < told_bytes;) {
        ssize_t n = write(STDOUT_FILENO, told + at, told_bytes - at);
        must(n > 0, "write");
        at += (size_t)n;
    }
}

void tell_site(const char *name, struct tally all, struct tally live)
{
    tell("%s\"%s\":{\"objects\":%llu,\"bytes\":%llu,\"live_objects\":%llu,\"live_bytes\":%llu}",
         told[told_bytes - 1] == '{' ? "" : ",", name, (unsigned long long)all.objects,
         (unsigned long long)all.bytes, (unsigned long long)live.objects,
         (unsigned long long)live.bytes);
}

void **pointers(size_t count)
{
    void *table = mmap(NULL, (count + 1) * sizeof(void *), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(table != MAP_FAILED, "mmap");
    return table;
}

static KEPT void give_back(void *block)
{
    free(block);
    __asm__ volatile("" : : : "memory"); /* no tail call */
}

/* ---- three: as many bytes from each site, all but every eighth block of which stay ---- */

DEFINE_SITE(site_1k)
DEFINE_SITE(site_64k)
DEFINE_SITE(site_1m)

static void allocs_three(uint32_t mib)
{
    static const struct {
        const char *name;
        void *(*site)(size_t);
        size_t bytes;
    } sites[] = {{"site_1k", site_1k, 1 << 10},
                 {"site_64k", site_64k, 64 << 10},
                 {"site_1m", site_1m, 1 << 20}};
    tell("{\"sites\":{");
    for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++) {
        struct tally all = {0}, live = {0};
        size_t count = ((size_t)mib << 20) / sites[i].bytes;
        void **blocks = pointers(count);
        for (size_t n = 0; n < count; n++) {
            blocks[n] = sites[i].site(sites[i].bytes);
            tally_add(&all, sites[i].bytes);
        }
        for (size_t n = 0; n < count; n++) {
            if (n % 8)
                tally_add(&live, sites[i].bytes);
            else
                give_back(blocks[n]);
        }
        tell_site(sites[i].name, all, live);
    }
    tell("}}");
}

/* ---- threads: each hands every tenth block to the next one, and leaves some behind ---- */

enum { MOST_THREADS = 64, MOST_LEAKS = 10000, HELD = 64 };

DEFINE_SITE(site_passing)
DEFINE_SITE(site_leaking)

struct worker {
    pthread_t id;
    uint32_t number, count, leaks;
    struct worker *next;
    void *box; /* blocks that others have put here, each with the next one in it */
    struct tally all;
    uint64_t foreign; /* blocks of others that it freed */
};

static struct worker workers[MOST_THREADS];
static pthread_barrier_t all_are_done;
static struct {
    void *address;
    size_t bytes;
} leaks[MOST_LEAKS];

static void put_into(struct worker *other, void *block)
{
    void *first = __atomic_load_n(&other->box, __ATOMIC_RELAXED);
    do
        *(void **)block = first;
    while (!__atomic_compare_exchange_n(&other->box, &first, block, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

static void empty_box(struct worker *self)
{
    void *block = __atomic_exchange_n(&self->box, NULL, __ATOMIC_ACQUIRE);
    while (block) {
        void *next = *(void **)block;
        give_back(block);
        self->foreign++;
        block = next;
    }
}

static void *work(void *argument)
{
    struct worker *self = argument;
    void *held[HELD] = {0};
    for (uint32_t i = 0; i < self->count; i++) {
        size_t bytes = 16 + (i * 7919u + self->number) % 1009;
        void *block = site_passing(bytes);
        tally_add(&self->all, bytes);
        if (i % 10 == 3) {
            put_into(self->next, block);
        } else {
            give_back(held[i % HELD]);
            held[i % HELD] = block;
        }
        if (i % 32 == 0)
            empty_box(self);
    }
    for (uint32_t i = 0; i < HELD; i++)
        give_back(held[i]);
    for (uint32_t i = 0; i < self->leaks; i++) {
        uint32_t at = self->number * self->leaks + i;
        leaks[at].bytes = 100 + at;
        leaks[at].address = site_leaking(leaks[at].bytes);
    }
    pthread_barrier_wait(&all_are_done);
    empty_box(self);
    return NULL;
}

static void allocs_threads(uint32_t count, uint32_t threads, uint32_t leaked)
{
    must(threads > 0 && threads <= MOST_THREADS && leaked <= MOST_LEAKS, "arguments");
    must(pthread_barrier_init(&all_are_done, NULL, threads) == 0, "pthread_barrier_init");
    for (uint32_t i = 0; i < threads; i++)
        workers[i] = (struct worker){.number = i,
                                     .count = count,
                                     .leaks = leaked / threads,
                                     .next = &workers[(i + 1) % threads]};
    for (uint32_t i = 0; i < threads; i++)
        must(pthread_create(&workers[i].id, NULL, work, &workers[i]) == 0, "pthread_create");
    struct tally all = {0}, left = {0};
    uint64_t foreign = 0;
    for (uint32_t i = 0; i < threads; i++) {
        must(pthread_join(workers[i].id, NULL) == 0, "pthread_join");
        all.objects += workers[i].all.objects;
        all.bytes += workers[i].all.bytes;
        foreign += workers[i].foreign;
    }
    uint32_t leaks_made = leaked / threads * threads;
    for (uint32_t i = 0; i < leaks_made; i++)
        tally_add(&left, leaks[i].bytes);
    tell("{\"sites\":{");
    tell_site("site_passing", all, (struct tally){0});
    tell_site("site_leaking", left, left);
    tell("},\"foreign\":%llu,\"leaks\":[", (unsigned long long)foreign);
    for (uint32_t i = 0; i < leaks_made; i++)
        tell("%s[%llu,%llu]", i ? "," : "", (unsigned long long)(uintptr_t)leaks[i].address,
             (unsigned long long)leaks[i].bytes);
    tell("]}");
}

/* ---- peak: what is there when it is highest is not what is there at the end ---- */

DEFINE_SITE(site_base)
DEFINE_SITE(site_peak)
DEFINE_SITE(site_later)

static struct tally keep(void *(*site)(size_t), void **blocks, uint32_t count, size_t bytes)
{
    struct tally tally = {0};
    for (uint32_t i = 0; i < count; i++) {
        blocks[i] = site(bytes);
        tally_add(&tally, bytes);
    }
    return tally;
}

static void allocs_peak(uint32_t count)
{
    void **blocks = pointers(count);
    struct tally base = keep(site_base, blocks, count, 2000);
    struct tally top = keep(site_peak, blocks, count, 8000);
    for (uint32_t i = 0; i < count; i++)
        give_back(blocks[i]);
    struct tally later = keep(site_later, blocks, count, 4000);
    tell("{\"peak_bytes\":%llu,\"sites\":{", (unsigned long long)(base.bytes + top.bytes));
    tell_site("site_base", base, base);
    tell_site("site_peak", top, (struct tally){0});
    tell_site("site_later", later, later);
    tell("}}");
}

/* ---- temporary: freed at once, after the thread's next allocation, and much later ---- */

DEFINE_SITE(site_at_once)
DEFINE_SITE(site_after_one)
DEFINE_SITE(site_lasting)

static void allocs_temporary(uint32_t count)
{
    void **blocks = pointers(count);
    struct tally sum = {0};
    for (uint32_t i = 0; i < count; i++) {
        give_back(site_at_once(100));
        void *block = site_after_one(100);
        blocks[i] = site_lasting(100);
        give_back(block);
        tally_add(&sum, 100);
    }
    for (uint32_t i = 0; i < count; i++)
        give_back(blocks[i]);
    tell("{\"sites\":{");
    tell_site("site_at_once", sum, (struct tally){0});
    tell_site("site_after_one", sum, (struct tally){0});
    tell_site("site_lasting", sum, (struct tally){0});
    tell("}}");
}

/* ---- fragments: every second block goes, and no page with it ---- */

DEFINE_SITE(site_fragments)

static void allocs_fragments(uint32_t count)
{
    struct tally all = {0}, live = {0};
    void **blocks = pointers(count);
    for (uint32_t i = 0; i < count; i++) {
        blocks[i] = site_fragments(300);
        memset(blocks[i], 1, 300);
        tally_add(&all, 300);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i % 2)
            give_back(blocks[i]);
        else
            tally_add(&live, 300);
    }
    tell("{\"sites\":{");
    tell_site("site_fragments", all, live);
    tell("}}");
}

static const struct {
    const char *name;
    uint32_t count;
    void (*run)(uint32_t count);
} modes[] = {
    {"three", 256, allocs_three},
    {"kinds", 9, allocs_kinds},
    {"peak", 1000, allocs_peak},
    {"temporary", 1000, allocs_temporary},
    {"fragments", 100000, allocs_fragments},
    {"resize", 1000, allocs_resize},
    {"fork", 10, allocs_fork},
    {"fork_frees", 150, allocs_fork_frees},
    {"flood", 20, allocs_flood},
    {"lost", 100000, allocs_lost},
    {"handlers", 1000, allocs_handlers},
    {"plugins", 100, allocs_plugins},
    {"destructors", 500, allocs_destructors},
    {"low", 64, allocs_low},
    {"failing", 5, allocs_failing},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    uint32_t count = (uint32_t)number_argument(argc, argv, 2, 0);
    if (strcmp(name, "threads") == 0) {
        allocs_threads(count ? count : 10000, (uint32_t)number_argument(argc, argv, 3, 4),
                       (uint32_t)number_argument(argc, argv, 4, 0));
    } else if (strcmp(name, "errors") == 0) {
        allocs_errors();
    } else if (strcmp(name, "maps") == 0) {
        allocs_maps();
    } else if (strcmp(name, "coroutines") == 0) {
        allocs_coroutines();
    } else if (strcmp(name, "segments") == 0) {
        allocs_segments();
    } else {
        size_t at = 0;
        while (at < sizeof(modes) / sizeof(*modes) && strcmp(name, modes[at].name) != 0)
            at++;
        if (at == sizeof(modes) / sizeof(*modes)) {
            fprintf(stderr, "allocs: no such mode\n");
            return 2;
        }
        modes[at].run(count ? count : modes[at].count);
    }
    tell_end();
    return 0;
}
