/* SPDX-License-Identifier: Apache-2.0 */
void kymo_wait(void)
{
    __asm__ volatile("yield");
}
