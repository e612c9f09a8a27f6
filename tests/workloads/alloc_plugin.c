/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_plugin.c - a library that allocs.c loads and unloads; built twice, with another function.
 */
#include <stddef.h>
#include <stdlib.h>

#ifndef PLUGIN_ASK
#define PLUGIN_ASK ask
#endif

__attribute__((noinline)) static void *PLUGIN_ASK(size_t bytes)
{
    void *block = malloc(bytes);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

__attribute__((visibility("default"))) void *plugin_ask(size_t bytes);
void *plugin_ask(size_t bytes)
{
    void *block = PLUGIN_ASK(bytes);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}
