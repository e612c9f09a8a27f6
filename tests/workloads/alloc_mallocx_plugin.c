/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_mallocx_plugin.c - a library that allocs_mallocx.c loads.
 */
#include <stddef.h>

void *mallocx(size_t bytes, int flags);
void dallocx(void *block, int flags);

__attribute__((noinline)) static void *ask_mallocx(size_t bytes)
{
    void *block = mallocx(bytes, 0);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

__attribute__((visibility("default"))) void *plugin_ask(size_t bytes);
void *plugin_ask(size_t bytes)
{
    void *block = ask_mallocx(bytes);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

__attribute__((visibility("default"))) void plugin_take(void *block);
void plugin_take(void *block)
{
    dallocx(block, 0);
    __asm__ volatile("" : : : "memory");
}
