/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocs_kinds.c - each function that gives memory, with sizes that are known; what must fail; and
 * blocks that change their size.
 */
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "allocs.h"

/* ---- kinds: some blocks of each, which stay ---- */

enum { EACH = 10 };

static int is_aligned(const void *block, size_t alignment)
{
    return (uintptr_t)block % alignment == 0;
}

static KEPT void *kind_malloc(size_t bytes)
{
    void *block = malloc(bytes);
    HOLD(block, kind_malloc);
    return block;
}

static KEPT void *kind_calloc(size_t bytes)
{
    char *block = calloc(bytes / 8, 8);
    HOLD(block, kind_calloc);
    for (size_t i = 0; block && i < bytes; i++)
        must(block[i] == 0, "calloc: not zero");
    return block;
}

static KEPT void *kind_realloc(size_t bytes)
{
    void *block = realloc(NULL, bytes);
    HOLD(block, kind_realloc);
    return block;
}

static KEPT void *kind_reallocarray(size_t bytes)
{
    void *block = reallocarray(NULL, bytes / 8, 8);
    HOLD(block, kind_reallocarray);
    return block;
}

static KEPT void *kind_posix_memalign(size_t bytes)
{
    void *block = NULL;
    must(posix_memalign(&block, 256, bytes) == 0, "posix_memalign");
    HOLD(block, kind_posix_memalign);
    must(is_aligned(block, 256), "posix_memalign: alignment");
    return block;
}

static KEPT void *kind_aligned_alloc(size_t bytes)
{
    void *block = aligned_alloc(1 << 21, bytes);
    HOLD(block, kind_aligned_alloc);
    must(is_aligned(block, 1 << 21), "aligned_alloc: alignment");
    return block;
}

static KEPT void *kind_memalign(size_t bytes)
{
    void *block = memalign(64, bytes);
    HOLD(block, kind_memalign);
    must(is_aligned(block, 64), "memalign: alignment");
    return block;
}

static KEPT void *kind_valloc(size_t bytes)
{
    void *block = valloc(bytes);
    HOLD(block, kind_valloc);
    must(is_aligned(block, 4096), "valloc: alignment");
    return block;
}

static KEPT void *kind_pvalloc(size_t bytes)
{
    void *block = pvalloc(bytes);
    HOLD(block, kind_pvalloc);
    must(is_aligned(block, 4096), "pvalloc: alignment");
    return block;
}

void allocs_kinds(uint32_t count)
{
    static const struct {
        const char *name;
        void *(*ask)(size_t);
        size_t bytes; /* a multiple of 8 */
    } kinds[] = {
        {"kind_malloc", kind_malloc, 104},
        {"kind_calloc", kind_calloc, 208},
        {"kind_realloc", kind_realloc, 304},
        {"kind_reallocarray", kind_reallocarray, 408},
        {"kind_posix_memalign", kind_posix_memalign, 504},
        {"kind_aligned_alloc", kind_aligned_alloc, 608},
        {"kind_memalign", kind_memalign, 704},
        {"kind_valloc", kind_valloc, 808},
        {"kind_pvalloc", kind_pvalloc, 8192},
    };
    tell("{\"sites\":{");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && i < count; i++) {
        struct tally all = {0}, live = {0};
        for (int n = 0; n < EACH; n++) {
            unsigned char *block = kinds[i].ask(kinds[i].bytes);
            must(block != NULL, kinds[i].name);
            must(malloc_usable_size(block) >= kinds[i].bytes, "malloc_usable_size");
            memset(block, 0xa5, kinds[i].bytes);
            tally_add(&all, kinds[i].bytes);
            if (n % 2)
                free(block);
            else
                tally_add(&live, kinds[i].bytes);
        }
        tell_site(kinds[i].name, all, live);
    }
    tell("}}");
}

/* ---- errors: the answers and errno of malloc, recorded or not ---- */

/* As values that the compiler knows nothing of: it warns of sizes that cannot be. */
static volatile size_t huge = PTRDIFF_MAX, half = SIZE_MAX / 2 + 2, none;

static void tell_failure(const char *name, const void *block, int error)
{
    tell("%s\"%s\":[%d,%d]", name[0] == 'm' && name[6] == '\0' ? "" : ",", name, block != NULL,
         error);
}

void allocs_errors(void)
{
    tell("{");
    errno = 0;
    void *block = malloc(huge);
    tell_failure("malloc", block, errno);
    errno = 0;
    block = calloc(half, 2);
    tell_failure("calloc", block, errno);
    errno = 0;
    block = reallocarray(NULL, half, 2);
    tell_failure("reallocarray", block, errno);
    void *aligned = NULL;
    errno = 0;
    int error = posix_memalign(&aligned, 3, 100);
    tell_failure("posix_memalign of 3", aligned, error);
    error = posix_memalign(&aligned, 64, huge);
    tell_failure("posix_memalign", aligned, error);
    errno = 0;
    block = aligned_alloc(64, huge);
    tell_failure("aligned_alloc", block, errno);

    char *kept = malloc(100);
    must(kept != NULL, "malloc");
    memset(kept, 7, 100);
    char *same = kept; /* which the compiler does not know: the block stays when realloc fails */
    HOLD(same, same);
    errno = 0;
    block = realloc(same, huge);
    tell_failure("realloc", block, errno);
    for (int i = 0; i < 100; i++)
        must(kept[i] == 7, "realloc: the old block changed");
    /* A call that went well, and a free, leave errno alone. */
    errno = 77;
    block = malloc(none);
    HOLD(block, nothing);
    tell_failure("malloc of 0", block, errno);
    free(block);
    free(NULL);
    free(kept);
    tell(",\"errno\":%d}", errno);
}

/* ---- resize: chains that double from 4 KiB to 1 MiB, fall to half of that, and stay or go ---- */

enum { FIRST = 4 << 10, LAST = 1 << 20 };

DEFINE_SITE(site_first)

static KEPT void *site_resized(void *block, size_t bytes)
{
    void *now = realloc(block, bytes);
    HOLD(now, site_resized);
    must(now != NULL, "realloc");
    return now;
}

void allocs_resize(uint32_t count)
{
    struct tally all = {0}, live = {0};
    for (uint32_t i = 0; i < count; i++) {
        void *block = site_first(FIRST);
        tally_add(&all, FIRST);
        for (size_t bytes = FIRST * 2; bytes <= LAST; bytes *= 2)
            block = site_resized(block, bytes);
        block = site_resized(block, LAST / 2);
        if (i % 8 == 0)
            tally_add(&live, LAST / 2);
        else
            free(block);
    }
    tell("{\"resizes\":%u,\"sites\":{", count * 9);
    tell_site("site_first", all, (struct tally){0});
    tell_site("site_resized", (struct tally){0}, live);
    tell("}}");
}

/* ---- maps: 8 MiB that grow to 16, and lose their second quarter ---- */

static KEPT void *site_map(size_t bytes)
{
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLD(block, site_map);
    must(block != MAP_FAILED, "mmap");
    return block;
}

static KEPT void *site_remap(void *block, size_t before, size_t bytes)
{
    void *now = mremap(block, before, bytes, MREMAP_MAYMOVE);
    HOLD(now, site_remap);
    must(now != MAP_FAILED, "mremap");
    return now;
}

void allocs_maps(void)
{
    size_t mib = 1 << 20;
    void *gone = site_map(32 * mib);
    must(munmap(gone, 32 * mib) == 0, "munmap");
    char *block = site_map(8 * mib);
    block = site_remap(block, 8 * mib, 16 * mib);
    must(munmap(block + 4 * mib, 4 * mib) == 0, "munmap");
    memset(block, 1, 4 * mib);
    memset(block + 8 * mib, 1, 8 * mib);
    tell("{\"mapped\":%llu,\"address\":%llu}", (unsigned long long)(12 * mib),
         (unsigned long long)(uintptr_t)block);
}
