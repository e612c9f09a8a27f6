/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose constructor walks the stack: below it lies ld.so's entry code, which has no rows.
 */
#include "arch/context.h"
#include "unwind_help.h"

__attribute__((visibility("default"))) extern enum kymo_walk_end library_constructor_end;
__attribute__((visibility("default"))) extern uint64_t library_constructor_frames;
enum kymo_walk_end library_constructor_end = KYMO_WALK_END_COUNT;
uint64_t library_constructor_frames;

__attribute__((constructor)) static void walk_here(void)
{
    uint64_t pcs[64];
    struct kymo_walk_result result;
    struct kymo_stack_bounds bounds = help_bounds();
    struct kymo_regs regs;
    if (kymo_walker_init(&help_walker, NULL, 0) != KYMO_OK)
        return;
    kymo_regs_here(&regs);
    library_constructor_frames =
        kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, 64, 0, &result);
    library_constructor_end = result.end;
}
