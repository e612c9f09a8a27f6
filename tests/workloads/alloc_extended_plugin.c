/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_extended_plugin.c - a library that allocs_extended.c loads, which asks by ASK(bytes) and
 * gives back by TAKE(block).
 */
#include <stddef.h>

#if defined(WITH_JEMALLOC)
void *mallocx(size_t bytes, int flags);
void dallocx(void *block, int flags);
#define ASK(bytes) mallocx(bytes, 0)
#define TAKE(block) dallocx(block, 0)
#elif defined(WITH_TCMALLOC)
void *tc_malloc(size_t bytes);
void tc_free(void *block);
#define ASK(bytes) tc_malloc(bytes)
#define TAKE(block) tc_free(block)
#elif defined(WITH_PREFIXED)
void *je_malloc(size_t bytes);
void je_free(void *block);
#define ASK(bytes) je_malloc(bytes)
#define TAKE(block) je_free(block)
#else
void *mi_malloc(size_t bytes);
void mi_free(void *block);
#define ASK(bytes) mi_malloc(bytes)
#define TAKE(block) mi_free(block)
#endif

__attribute__((noinline)) static void *ask_extended(size_t bytes)
{
    void *block = ASK(bytes);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

__attribute__((visibility("default"))) void *plugin_ask(size_t bytes);
void *plugin_ask(size_t bytes)
{
    void *block = ask_extended(bytes);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

__attribute__((visibility("default"))) void plugin_take(void *block);
void plugin_take(void *block)
{
    TAKE(block);
    __asm__ volatile("" : : : "memory");
}
