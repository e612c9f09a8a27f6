/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
int kymo_is_slot(unsigned type)
{
    return type == R_X86_64_JUMP_SLOT;
}
