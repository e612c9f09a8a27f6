/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/process.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/parse.h"
#include "sys/allocator.h"

/* A function that may be there; 0: it is not. */
static uint64_t find(const char *name)
{
    return (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, name);
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
    char *text = NULL;
    size_t len = 0;
    int (*malloc_info_of)(int, FILE *) = (int (*)(int, FILE *))(uintptr_t)find("malloc_info");
    FILE *file = malloc_info_of ? open_memstream(&text, &len) : NULL;
    if (!file)
        return;
    int said = malloc_info_of(0, file);
    if (fclose(file) == 0 && said == 0)
        kymo_memory_parse_malloc_info(f, text);
    free(text);
}

/* ---- all of them ---- */

void kymo_memory_read_allocators(struct kymo_figures *f)
{
    static const enum kymo_figure figures[KYMO_ALLOCATOR_WORD_COUNT] = {
#define X(name) KYMO_FIGURE_##name,
        KYMO_ALLOCATOR_WORDS(X)
#undef X
    };
    struct kymo_allocator_report report = {0};
    uint64_t glibc = find("mallinfo2"), mimalloc = find("mi_process_info");
    uint64_t tcmalloc = find("MallocExtension_GetNumericProperty"), jemalloc = find("mallctl");
    if (!jemalloc)
        jemalloc = find("je_mallctl");
    if (!jemalloc)
        jemalloc = find("_rjem_mallctl");
    if (glibc) {
        kymo_allocator_ask_glibc(&report, glibc);
        read_malloc_info(f);
    }
    if (jemalloc)
        kymo_allocator_ask_jemalloc(&report, jemalloc);
    if (mimalloc)
        kymo_allocator_ask_mimalloc(&report, mimalloc);
    if (tcmalloc)
        kymo_allocator_ask_tcmalloc(&report, tcmalloc);
    for (unsigned i = 0; i < KYMO_ALLOCATOR_WORD_COUNT; i++)
        if (report.known >> i & 1)
            kymo_figures_set(f, figures[i],
                             report.value[i] < INT64_MAX ? (int64_t)report.value[i] : INT64_MAX);
    /* What was not found is no error that the program is to find. */
    (void)dlerror();
}
