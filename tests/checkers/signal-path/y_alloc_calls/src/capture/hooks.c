/* SPDX-License-Identifier: Apache-2.0 */
void *(*kymo_next)(unsigned long);
void kymo_on_signal(void) {}
__attribute__((visibility("default"))) void *malloc(unsigned long bytes)
{
    char room[2000];
    room[bytes % 2000] = 1;
    __asm__ volatile("" ::"r"(room) : "memory");
    return kymo_next(bytes);
}
