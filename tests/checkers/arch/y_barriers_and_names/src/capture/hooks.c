/* SPDX-License-Identifier: Apache-2.0 */
/* On x86-64 the return address lies above rsp; `__asm__("nop")` is in a comment. */
#include <stdint.h>

int kymo_hook_open(const char *path) __asm__("open");
extern const char *const kymo_first[] __asm__("__start_kymo");
#define RENAMED(name, symbol) \
    int name(int value)       \
        __asm__(symbol)
RENAMED(kymo_hook_close, "close");

static inline void keep(uint64_t *pointer)
{
    __asm__("" : "+r"(pointer));
    __asm__ volatile("" ::: "memory");
}

int kymo_uses(struct { int tsc; } *machine)
{
    const char *cut = "\xe2\x80\xa6"; /* text */
    keep((uint64_t *)0);
    return machine->tsc + cut[0];
}
