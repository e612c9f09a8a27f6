/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/process.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/parse.h"

/* A function that may be there, as a pointer of its type. */
#define FIND(pointer, name) (*(void **)(void *)&(pointer) = dlsym(RTLD_DEFAULT, name))

static void set(struct kymo_figures *f, enum kymo_figure figure, size_t value)
{
    kymo_figures_set(f, figure, value < INT64_MAX ? (int64_t)value : INT64_MAX);
}

/* ---- glibc ---- */

/* The number behind name=", before the end of the tag. */
static int attribute(const char *tag, const char *name, int64_t *value)
{
    size_t len = strcspn(tag, ">"), name_len = strlen(name);
    const char *at = memmem(tag, len, name, name_len);
    return at && kymo_memory_parse_number(at + name_len, value) != NULL;
}

void kymo_memory_parse_malloc_info(struct kymo_figures *f, const char *text)
{
    static const char heap[] = "<heap nr=", heap_end[] = "</heap>", max[] = "<system type=\"max\"";
    int64_t arenas = 0, value;
    const char *rest = text;
    for (const char *at = text; (at = strstr(at, heap)); at += sizeof heap - 1)
        arenas++;
    /* What stands behind the last arena is the sum of all. */
    for (const char *at = text; (at = strstr(at, heap_end)); at += sizeof heap_end - 1)
        rest = at;
    if (arenas > 0)
        kymo_figures_set(f, KYMO_FIGURE_GLIBC_ARENAS, arenas);
    rest = strstr(rest, max);
    if (rest && attribute(rest, " size=\"", &value))
        kymo_figures_set(f, KYMO_FIGURE_GLIBC_PEAK, value);
}

static void read_malloc_info(struct kymo_figures *f)
{
    int (*malloc_info_of)(int, FILE *);
    char *text = NULL;
    size_t len = 0;
    FILE *file = FIND(malloc_info_of, "malloc_info") ? open_memstream(&text, &len) : NULL;
    if (!file)
        return;
    int said = malloc_info_of(0, file);
    if (fclose(file) == 0 && said == 0)
        kymo_memory_parse_malloc_info(f, text);
    free(text);
}

/* As glibc 2.33 and later have it; older ones have only ints, which are wrong above 4 GiB. */
struct malloc_figures {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

static void read_glibc(struct kymo_figures *f)
{
    struct malloc_figures (*mallinfo2_of)(void);
    if (!FIND(mallinfo2_of, "mallinfo2"))
        return;
    struct malloc_figures m = mallinfo2_of();
    set(f, KYMO_FIGURE_GLIBC_ALLOCATED, m.uordblks + m.hblkhd);
    set(f, KYMO_FIGURE_GLIBC_FREE, m.fordblks);
    set(f, KYMO_FIGURE_GLIBC_MAPPED, m.arena + m.hblkhd);
    set(f, KYMO_FIGURE_GLIBC_DIRECT, m.hblkhd);
    set(f, KYMO_FIGURE_GLIBC_DIRECT_BLOCKS, m.hblks);
    set(f, KYMO_FIGURE_GLIBC_FAST, m.fsmblks);
    set(f, KYMO_FIGURE_GLIBC_TOP, m.keepcost);
    read_malloc_info(f);
}

/* ---- jemalloc ---- */

typedef int mallctl_fn(const char *, void *, size_t *, void *, size_t);

static void read_jemalloc_figure(struct kymo_figures *f, mallctl_fn *mallctl_of,
                                 enum kymo_figure figure, const char *name)
{
    size_t value = 0, len = sizeof value;
    if (mallctl_of(name, &value, &len, NULL, 0) == 0 && len == sizeof value)
        set(f, figure, value);
}

static void read_jemalloc(struct kymo_figures *f)
{
    mallctl_fn *mallctl_of;
    if (!FIND(mallctl_of, "mallctl") && !FIND(mallctl_of, "je_mallctl") &&
        !FIND(mallctl_of, "_rjem_mallctl"))
        return;
    /* What stats.* say is of the last epoch. */
    uint64_t epoch = 1;
    size_t len = sizeof epoch;
    (void)mallctl_of("epoch", &epoch, &len, &epoch, sizeof epoch);
    read_jemalloc_figure(f, mallctl_of, KYMO_FIGURE_JEMALLOC_ALLOCATED, "stats.allocated");
    read_jemalloc_figure(f, mallctl_of, KYMO_FIGURE_JEMALLOC_ACTIVE, "stats.active");
    read_jemalloc_figure(f, mallctl_of, KYMO_FIGURE_JEMALLOC_METADATA, "stats.metadata");
    read_jemalloc_figure(f, mallctl_of, KYMO_FIGURE_JEMALLOC_RESIDENT, "stats.resident");
    read_jemalloc_figure(f, mallctl_of, KYMO_FIGURE_JEMALLOC_MAPPED, "stats.mapped");
    read_jemalloc_figure(f, mallctl_of, KYMO_FIGURE_JEMALLOC_RETAINED, "stats.retained");
    unsigned arenas = 0;
    len = sizeof arenas;
    if (mallctl_of("arenas.narenas", &arenas, &len, NULL, 0) == 0 && len == sizeof arenas)
        set(f, KYMO_FIGURE_JEMALLOC_ARENAS, arenas);
}

/* ---- mimalloc ---- */

static void read_mimalloc(struct kymo_figures *f)
{
    void (*mi_process_info_of)(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *,
                               size_t *);
    size_t elapsed, user, system, rss, rss_peak, committed = 0, committed_peak = 0, faults;
    if (!FIND(mi_process_info_of, "mi_process_info"))
        return;
    mi_process_info_of(&elapsed, &user, &system, &rss, &rss_peak, &committed, &committed_peak,
                       &faults);
    set(f, KYMO_FIGURE_MIMALLOC_COMMITTED, committed);
    set(f, KYMO_FIGURE_MIMALLOC_PEAK, committed_peak);
}

/* ---- tcmalloc ---- */

typedef int tcmalloc_fn(const char *, size_t *);

/* The sum of several; nothing if it does not know one of them. */
static void read_tcmalloc_figure(struct kymo_figures *f, tcmalloc_fn *property,
                                 enum kymo_figure figure, const char *const *names)
{
    size_t sum = 0, value = 0;
    for (; *names; names++, sum += value)
        if (!property(*names, &value))
            return;
    set(f, figure, sum);
}

static void read_tcmalloc(struct kymo_figures *f)
{
#define CACHES "tcmalloc.current_total_thread_cache_bytes"
#define CENTRAL "tcmalloc.central_cache_free_bytes", "tcmalloc.transfer_cache_free_bytes"
    static const struct {
        enum kymo_figure figure;
        const char *names[5];
    } rows[] = {
        {KYMO_FIGURE_TCMALLOC_ALLOCATED, {"generic.current_allocated_bytes"}},
        {KYMO_FIGURE_TCMALLOC_FREE, {"tcmalloc.pageheap_free_bytes", CACHES, CENTRAL}},
        {KYMO_FIGURE_TCMALLOC_MAPPED, {"generic.heap_size"}},
        {KYMO_FIGURE_TCMALLOC_RETAINED, {"tcmalloc.pageheap_unmapped_bytes"}},
        {KYMO_FIGURE_TCMALLOC_THREAD_CACHES, {CACHES}},
        {KYMO_FIGURE_TCMALLOC_CENTRAL, {CENTRAL}},
    };
#undef CACHES
#undef CENTRAL
    tcmalloc_fn *property;
    if (!FIND(property, "MallocExtension_GetNumericProperty"))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        read_tcmalloc_figure(f, property, rows[i].figure, rows[i].names);
}

void kymo_memory_read_allocators(struct kymo_figures *f)
{
    read_glibc(f);
    read_jemalloc(f);
    read_mimalloc(f);
    read_tcmalloc(f);
    /* What was not found is no error that the program is to find. */
    (void)dlerror();
}
