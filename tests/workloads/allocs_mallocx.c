/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocs_mallocx.c - allocs_mallocx_BINDING kinds|resize|loaded: the functions that jemalloc has
 * beside those of the C library; see allocs.h for what it says of them; of those in "left" only
 * what is left is to be compared.
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
/* That take: with `block` and `bytes`. */
#define TAKES(name, call)                            \
    static KEPT void name(void *block, size_t bytes) \
    {                                                \
        (void)bytes;                                 \
        call;                                        \
        __asm__ volatile("" : : : "memory");         \
    }

struct way {
    const char *name;
    void *(*ask)(size_t);
};

void *mallocx(size_t bytes, int flags);
void *rallocx(void *block, size_t bytes, int flags);
size_t xallocx(void *block, size_t bytes, size_t more, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t bytes, int flags);
#define ALIGNED_64 6 /* MALLOCX_LG_ALIGN */
#define ZERO 0x40
GIVES(site_mallocx, mallocx(bytes, 0))
GIVES(site_aligned, mallocx(bytes, ALIGNED_64 | ZERO))
GIVES(site_first, mallocx(bytes, 0))
GIVES(site_kept, mallocx(bytes, 0))
GIVES(site_once, mallocx(bytes, 0))
TAKES(give_dallocx, dallocx(block, 0))
TAKES(give_sdallocx, sdallocx(block, bytes, 0))
/* In place, to anything between the two; how much that is, it says. */
static KEPT size_t site_stays(void *block, size_t bytes, size_t more)
{
    size_t now = xallocx(block, bytes, more, 0);
    HOLD(block, site_stays);
    return now;
}

typedef void *give_fn(size_t bytes);
typedef void take_fn(void *block, size_t bytes);

static const struct way ways[] = {{"site_mallocx", site_mallocx}, {"site_aligned", site_aligned}};
static take_fn *const given[] = {give_dallocx, give_sdallocx};

static void tell_way(const char *name, give_fn *ask, size_t bytes)
{
    struct tally all = {0}, live = {0};
    for (size_t n = 0; n < EACH; n++) {
        unsigned char *block = ask(bytes);
        must(block != NULL, name);
        memset(block, 0xa5, bytes);
        tally_add(&all, bytes);
        if (n % 2)
            given[n / 2 % (sizeof(given) / sizeof(*given))](block, bytes);
        else
            tally_add(&live, bytes);
    }
    tell_site(name, all, live);
}

static void kinds(void)
{
    tell("{\"sites\":{");
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        tell_way(ways[i].name, ways[i].ask, 104 + 96 * i);
    tell("}}");
}

static KEPT void *site_resized(void *block, size_t bytes)
{
    void *now = rallocx(block, bytes, 0);
    HOLD(now, site_resized);
    must(now != NULL, "resize");
    return now;
}

static void resize(void)
{
    struct tally all = {0}, live = {0}, once = {0};
    for (size_t i = 0; i < 64; i++) {
        void *block = site_first(2000);
        tally_add(&all, 2000);
        for (size_t bytes = 4000; bytes <= 256000; bytes *= 2)
            block = site_resized(block, bytes);
        block = site_resized(block, 8000);
        if (i % 4 == 0)
            tally_add(&live, 8000);
        else
            dallocx(block, 0);
        must(site_once(104) != NULL, "mallocx");
        tally_add(&once, 104);
    }
    tell("{\"sites\":{");
    tell_site("site_once", once, once);
    tell("},\"left\":{");
    tell_site("site_first", all, (struct tally){0});
    tell_site("site_resized", (struct tally){0}, live);
    struct tally stays = {0};
    for (size_t i = 0; i < 16; i++) {
        void *block = site_kept(1 << 20);
        size_t now = site_stays(block, 1 << 14, i << 14);
        size_t most = (1 << 14) + (i << 14);
        must(now >= 1 << 14, "xallocx");
        tally_add(&stays, now < most ? now : most);
    }
    tell_site("site_kept", stays, stays);
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
    strcpy(end, "/plugins/alloc_mallocx.so");
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
    tell_site("ask_mallocx", all, live);
    tell("}}");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "kinds") == 0) {
        kinds();
    } else if (strcmp(mode, "resize") == 0) {
        resize();
    } else if (strcmp(mode, "loaded") == 0) {
        loaded();
    } else {
        fprintf(stderr, "allocs_mallocx: no such mode\n");
        return 2;
    }
    tell_end();
    return 0;
}
