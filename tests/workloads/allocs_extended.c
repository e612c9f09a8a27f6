/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocs_extended.c - allocs_extended_X kinds|resize|loaded: the functions that the allocator
 * X has beside those of the C library; see allocs.h for what it says of them; of those in "left"
 * only what is left is to be compared. Built once for each allocator, with WITH_X.
 *
 * kinds: some blocks of each function, of which every second goes by each of those that take.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <unistd.h>

#include "allocs.h"

enum { EACH = 12 };

/* ---- what it says, without stdio ---- */

static char told[1 << 16];
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
    must(write(STDOUT_FILENO, told, told_bytes) == (ssize_t)told_bytes, "write");
}

void tell_site(const char *name, struct tally all, struct tally live)
{
    tell("%s\"%s\":{\"objects\":%llu,\"bytes\":%llu,\"live_objects\":%llu,\"live_bytes\":%llu}",
         told[told_bytes - 1] == '{' ? "" : ",", name, (unsigned long long)all.objects,
         (unsigned long long)all.bytes, (unsigned long long)live.objects,
         (unsigned long long)live.bytes);
}

/* Functions that give: a site of that name, which calls so with `bytes`. */
#define GIVES(name, call)                \
    static KEPT void *name(size_t bytes) \
    {                                    \
        void *block = (call);            \
        HOLD(block, name);               \
        return block;                    \
    }
/* That copy what they know. */
#define COPIES(name, call) GIVES(name, ((void)bytes, (call)))
/* That take: with `block` and `bytes`. */
#define TAKES(name, call)                            \
    static KEPT void name(void *block, size_t bytes) \
    {                                                \
        (void)bytes;                                 \
        call;                                        \
        __asm__ volatile("" : : : "memory");         \
    }
#define GIVES_INTO(name, function)                     \
    static KEPT void *name(size_t bytes)               \
    {                                                  \
        void *block = NULL;                            \
        must(function(&block, 64, bytes) == 0, #name); \
        HOLD(block, name);                             \
        return block;                                  \
    }

struct way {
    const char *name;
    void *(*ask)(size_t);
};

#ifdef WITH_JEMALLOC
void *mallocx(size_t bytes, int flags);
void *rallocx(void *block, size_t bytes, int flags);
size_t xallocx(void *block, size_t bytes, size_t more, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t bytes, int flags);
size_t sallocx(const void *block, int flags);
#define ALIGNED_64 6 /* MALLOCX_LG_ALIGN */
#define ZERO 0x40
GIVES(site_mallocx, mallocx(bytes, 0))
GIVES(site_aligned, mallocx(bytes, ALIGNED_64 | ZERO))
TAKES(give_dallocx, dallocx(block, 0))
TAKES(give_sdallocx, sdallocx(block, bytes, 0))
#define WAYS                         \
    {"site_mallocx", site_mallocx},  \
    {                                \
        "site_aligned", site_aligned \
    }
#define GIVEN give_dallocx, give_sdallocx
GIVES(site_first, mallocx(bytes, 0))
GIVES(site_kept, mallocx(bytes, 0))
#define RESIZE(block, bytes) rallocx(block, bytes, 0)
#define LAST(block) dallocx(block, 0)
/* In place, to anything between the two; how much that is, it says. */
static KEPT size_t site_stays(void *block, size_t bytes, size_t more)
{
    size_t now = xallocx(block, bytes, more, 0);
    HOLD(block, site_stays);
    return now;
}
#endif

#ifdef WITH_PREFIXED
int alloc_prefixed_is_last(void);
void *je_malloc(size_t bytes);
void *je_calloc(size_t count, size_t bytes);
void *je_realloc(void *block, size_t bytes);
void *je_mallocx(size_t bytes, int flags);
void je_dallocx(void *block, int flags);
void je_free(void *block);
GIVES(site_malloc, je_malloc(bytes))
GIVES(site_calloc, je_calloc(bytes / 8, 8))
GIVES(site_mallocx, je_mallocx(bytes, 0))
TAKES(give_free, je_free(block))
TAKES(give_dallocx, je_dallocx(block, 0))
#define WAYS                                                    \
    {"site_malloc", site_malloc}, {"site_calloc", site_calloc}, \
    {                                                           \
        "site_mallocx", site_mallocx                            \
    }
#define GIVEN give_free, give_dallocx
GIVES(site_first, je_malloc(bytes))
#define RESIZE(block, bytes) je_realloc(block, bytes)
#define LAST(block) je_free(block)
#endif

#ifdef WITH_TCMALLOC
void *tc_malloc(size_t bytes);
void *tc_malloc_skip_new_handler(size_t bytes);
void *tc_calloc(size_t count, size_t bytes);
void *tc_realloc(void *block, size_t bytes);
void tc_free(void *block);
void tc_free_sized(void *block, size_t bytes);
void tc_cfree(void *block);
void *tc_memalign(size_t align, size_t bytes);
int tc_posix_memalign(void **block, size_t align, size_t bytes);
void *tc_valloc(size_t bytes);
void *tc_pvalloc(size_t bytes);
void *tc_new(size_t bytes);
void *tc_newarray(size_t bytes);
void tc_delete(void *block);
void tc_deletearray(void *block);
void tc_delete_sized(void *block, size_t bytes);
GIVES(site_malloc, tc_malloc(bytes))
GIVES(site_skip, tc_malloc_skip_new_handler(bytes))
GIVES(site_calloc, tc_calloc(bytes / 8, 8))
GIVES(site_memalign, tc_memalign(64, bytes))
GIVES_INTO(site_posix, tc_posix_memalign)
GIVES(site_valloc, tc_valloc(bytes))
GIVES(site_pvalloc, tc_pvalloc(bytes))
GIVES(site_new, tc_new(bytes))
GIVES(site_newarray, tc_newarray(bytes))
TAKES(give_free, tc_free(block))
TAKES(give_sized, tc_delete_sized(block, bytes))
TAKES(give_cfree, tc_cfree(block))
TAKES(give_delete, tc_delete(block))
TAKES(give_deletearray, tc_deletearray(block))
#define WAYS                                                                                  \
    {"site_malloc", site_malloc}, {"site_skip", site_skip}, {"site_calloc", site_calloc},     \
        {"site_memalign", site_memalign}, {"site_posix", site_posix},                         \
        {"site_valloc", site_valloc}, {"site_pvalloc", site_pvalloc}, {"site_new", site_new}, \
    {                                                                                         \
        "site_newarray", site_newarray                                                        \
    }
#define GIVEN give_free, give_cfree, give_delete, give_deletearray, give_sized
GIVES(site_first, tc_malloc(bytes))
#define RESIZE(block, bytes) tc_realloc(block, bytes)
#define LAST(block) tc_free(block)
#endif

#ifdef WITH_MIMALLOC
typedef struct mi_heap_s mi_heap_t;
void *mi_malloc(size_t bytes);
void *mi_zalloc(size_t bytes);
void *mi_calloc(size_t count, size_t bytes);
void *mi_mallocn(size_t count, size_t bytes);
void *mi_malloc_aligned(size_t bytes, size_t align);
void *mi_zalloc_aligned(size_t bytes, size_t align);
void *mi_aligned_alloc(size_t align, size_t bytes);
int mi_posix_memalign(void **block, size_t align, size_t bytes);
void *mi_new(size_t bytes);
void *mi_new_n(size_t count, size_t bytes);
char *mi_strdup(const char *from);
char *mi_strndup(const char *from, size_t most);
char *mi_realpath(const char *path, char *into);
void *mi_realloc(void *block, size_t bytes);
void *mi_reallocn(void *block, size_t count, size_t bytes);
void *mi_reallocf(void *block, size_t bytes);
void *mi_rezalloc(void *block, size_t bytes);
int mi_reallocarr(void *block, size_t count, size_t bytes);
void *mi_heap_realloc(mi_heap_t *heap, void *block, size_t bytes);
void *mi_expand(void *block, size_t bytes);
void mi_free(void *block);
void mi_cfree(void *block);
void mi_free_size(void *block, size_t bytes);
mi_heap_t *mi_heap_new(void);
void mi_heap_destroy(mi_heap_t *heap);
void *mi_heap_malloc(mi_heap_t *heap, size_t bytes);
void *mi_heap_calloc(mi_heap_t *heap, size_t count, size_t bytes);
void *mi_heap_malloc_aligned(mi_heap_t *heap, size_t bytes, size_t align);
static mi_heap_t *heap;
static char text[] = "sixteen letters and some more of them";
GIVES(site_malloc, mi_malloc(bytes))
GIVES(site_zalloc, mi_zalloc(bytes))
GIVES(site_calloc, mi_calloc(bytes / 8, 8))
GIVES(site_mallocn, mi_mallocn(bytes / 8, 8))
GIVES(site_aligned, mi_malloc_aligned(bytes, 64))
GIVES(site_zaligned, mi_zalloc_aligned(bytes, 256))
GIVES(site_aligned_alloc, mi_aligned_alloc(64, bytes))
GIVES_INTO(site_posix, mi_posix_memalign)
GIVES(site_new, mi_new(bytes))
GIVES(site_new_n, mi_new_n(bytes / 8, 8))
GIVES(site_heap, mi_heap_malloc(heap, bytes))
GIVES(site_heap_calloc, mi_heap_calloc(heap, bytes / 8, 8))
TAKES(give_free, mi_free(block))
TAKES(give_cfree, mi_cfree(block))
TAKES(give_size, mi_free_size(block, bytes))
#define WAYS                                                                                  \
    {"site_malloc", site_malloc}, {"site_zalloc", site_zalloc}, {"site_calloc", site_calloc}, \
        {"site_mallocn", site_mallocn}, {"site_aligned", site_aligned},                       \
        {"site_zaligned", site_zaligned}, {"site_aligned_alloc", site_aligned_alloc},         \
        {"site_posix", site_posix}, {"site_new", site_new}, {"site_new_n", site_new_n},       \
        {"site_heap", site_heap},                                                             \
    {                                                                                         \
        "site_heap_calloc", site_heap_calloc                                                  \
    }
#define GIVEN give_free, give_cfree, give_size
GIVES(site_first, mi_malloc(bytes))
static KEPT void *resize_somehow(void *block, size_t bytes)
{
    static unsigned turn;
    switch (turn++ % 6) {
    case 0:
        return mi_realloc(block, bytes);
    case 1:
        return mi_reallocn(block, bytes / 8, 8);
    case 2:
        return mi_reallocf(block, bytes);
    case 3:
        return mi_rezalloc(block, bytes);
    case 4:
        must(mi_reallocarr(&block, bytes / 8, 8) == 0, "mi_reallocarr");
        return block;
    default:
        return mi_heap_realloc(heap, block, bytes);
    }
}
#define RESIZE(block, bytes) resize_somehow(block, bytes)
#define LAST(block) mi_free(block)
COPIES(site_copy, mi_strdup(text))
COPIES(site_part, mi_strndup(text, 7))
COPIES(site_path, mi_realpath("/", NULL))
GIVES(site_lost, mi_heap_malloc(heap, bytes))
GIVES(site_lost_aligned, mi_heap_malloc_aligned(heap, bytes, 1024))
#endif

typedef void *give_fn(size_t bytes);
typedef void take_fn(void *block, size_t bytes);

static const struct way ways[] = {WAYS};
static take_fn *const given[] = {GIVEN};

static void tell_way(const char *name, give_fn *ask, size_t bytes, size_t as)
{
    struct tally all = {0}, live = {0};
    for (size_t n = 0; n < EACH; n++) {
        unsigned char *block = ask(bytes);
        must(block != NULL, name);
        if (as == bytes)
            memset(block, 0xa5, bytes);
        tally_add(&all, as);
        if (n % 2)
            given[n / 2 % (sizeof(given) / sizeof(*given))](block, as);
        else
            tally_add(&live, as);
    }
    tell_site(name, all, live);
}

static void kinds(void)
{
    tell("{\"sites\":{");
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        tell_way(ways[i].name, ways[i].ask, 104 + 96 * i, 104 + 96 * i);
#ifdef WITH_MIMALLOC
    tell_way("site_copy", site_copy, 0, sizeof(text));
    tell_way("site_part", site_part, 0, 8);
    /* A heap that goes with all that is in it. */
    heap = mi_heap_new();
    struct tally lost = {0}, lost_aligned = {0};
    for (size_t n = 0; n < 100; n++) {
        size_t bytes = 16 + 40 * n;
        must(site_lost(bytes) && site_lost_aligned(bytes), "mi_heap_malloc");
        tally_add(&lost, bytes);
        tally_add(&lost_aligned, bytes);
    }
    mi_heap_destroy(heap);
    tell_site("site_lost", lost, (struct tally){0});
    tell_site("site_lost_aligned", lost_aligned, (struct tally){0});
    /* The C library has a block of its own meanwhile. */
    tell("},\"left\":{");
    tell_way("site_path", site_path, 0, 2);
#endif
    tell("}}");
}

static KEPT void *site_resized(void *block, size_t bytes)
{
    void *now = RESIZE(block, bytes);
    HOLD(now, site_resized);
    must(now != NULL, "resize");
    return now;
}

static KEPT void *site_from_none(size_t bytes)
{
#ifdef WITH_JEMALLOC
    void *block = mallocx(bytes, 0);
#else
    void *block = RESIZE(NULL, bytes);
#endif
    HOLD(block, site_from_none);
    must(block != NULL, "resize of none");
    return block;
}

static void resize(void)
{
    struct tally all = {0}, live = {0}, new = {0};
    for (size_t i = 0; i < 64; i++) {
        void *block = site_first(2000);
        tally_add(&all, 2000);
        for (size_t bytes = 4000; bytes <= 256000; bytes *= 2)
            block = site_resized(block, bytes);
        block = site_resized(block, 8000);
        if (i % 4 == 0)
            tally_add(&live, 8000);
        else
            LAST(block);
        (void)site_from_none(104);
        tally_add(&new, 104);
    }
    tell("{\"sites\":{");
    tell_site("site_from_none", new, new);
    tell("},\"left\":{");
    tell_site("site_first", all, (struct tally){0});
    tell_site("site_resized", (struct tally){0}, live);
#ifdef WITH_JEMALLOC
    struct tally stays = {0};
    for (size_t i = 0; i < 16; i++) {
        void *block = site_kept(1 << 20);
        size_t now = site_stays(block, 1 << 14, i << 14);
        size_t most = (1 << 14) + (i << 14);
        must(now >= 1 << 14, "xallocx");
        tally_add(&stays, now < most ? now : most);
    }
    tell_site("site_kept", stays, stays);
#endif
    tell("}}");
}

/* A library that is loaded later, and one that is loaded in its place. */
static void loaded(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
    must(n > 0, "readlink");
    path[n] = '\0';
    char *end = strrchr(path, '/');
    struct tally all = {0}, live = {0};
    strcpy(end, "/plugins/" PLUGIN);
    for (size_t i = 0; i < 20; i++) {
        void *plugin = dlopen(path, i % 2 ? RTLD_NOW : RTLD_LAZY);
        must(plugin != NULL, "dlopen");
        void *(*ask)(size_t);
        void (*take)(void *);
        *(void **)&ask = dlsym(plugin, "plugin_ask");
        *(void **)&take = dlsym(plugin, "plugin_take");
        must(ask && take, "dlsym");
        void *block = ask(3000);
        must(block && ask(3000), "plugin_ask");
        take(block);
        tally_add(&all, 3000);
        tally_add(&all, 3000);
        tally_add(&live, 3000);
        must(dlclose(plugin) == 0, "dlclose");
    }
    tell("{\"sites\":{");
    tell_site("ask_extended", all, live);
    tell("}}");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
#ifdef WITH_MIMALLOC
    heap = mi_heap_new();
#endif
#ifdef WITH_PREFIXED
    must(alloc_prefixed_is_last(), "dlsym: RTLD_NEXT");
#endif
    if (strcmp(mode, "kinds") == 0) {
        kinds();
    } else if (strcmp(mode, "resize") == 0) {
        resize();
    } else if (strcmp(mode, "loaded") == 0) {
        loaded();
    } else {
        fprintf(stderr, "allocs_extended: no such mode\n");
        return 2;
    }
    tell_end();
    return 0;
}
