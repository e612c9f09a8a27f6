/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
static pthread_mutex_t lock;
void kymo_on_signal(void) {}
static __attribute__((noinline)) void note(void) { pthread_mutex_lock(&lock); }
__attribute__((visibility("default"))) void *malloc(unsigned long bytes) { note(); return (void *)bytes; }
