/* SPDX-License-Identifier: Apache-2.0 */
static inline void kymo_cpu_relax(void)
{
    __builtin_ia32_pause();
}
