/* SPDX-License-Identifier: Apache-2.0 */
long kymo_last(long d)
{
    register long last __asm__("r9") = d;
    return last;
}
