/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
int kymo_is_ours(unsigned machine)
{
    return machine == EM_AARCH64;
}
