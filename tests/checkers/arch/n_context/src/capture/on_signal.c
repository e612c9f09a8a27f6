/* SPDX-License-Identifier: Apache-2.0 */
#include <ucontext.h>
long kymo_pc(const ucontext_t *context)
{
    return context->uc_mcontext.gregs[REG_RIP];
}
