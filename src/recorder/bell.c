/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/bell.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "recorder/shared_memory.h"
#include "sys/raw.h"

#define STACK_BYTES 65536u

struct kymo_bell {
    int memory;
    int event;
    uint32_t *word;
    uint32_t stop;
    int has_thread;
    pthread_t thread;
};

static void *listen_to(void *argument)
{
    kymo_bell *b = argument;
    uint32_t seen = 0;
    const struct timespec pause = {0, KYMO_BELL_PAUSE_NS};
    while (!kymo_load_acquire(&b->stop)) {
        uint32_t now = kymo_load_acquire(b->word);
        if (now == seen) {
            (void)syscall(SYS_futex, b->word, FUTEX_WAIT, seen, NULL, NULL, 0);
            continue;
        }
        seen = now;
        uint64_t one = 1;
        ssize_t ignored = write(b->event, &one, sizeof one);
        (void)ignored;
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

static int start_thread(kymo_bell *b)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    if (pthread_attr_init(&attributes) != 0)
        return 0;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* signals are handled by the main thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    b->has_thread = pthread_create(&b->thread, &attributes, listen_to, b) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return b->has_thread;
}

kymo_err kymo_bell_open(kymo_bell **out, kymo_error *detail)
{
    kymo_bell *b = calloc(1, sizeof *b);
    if (!b)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for the recorder's bell");
    void *map = MAP_FAILED;
    b->memory = kymo_shared_memory_make("kymo-bell", KYMO_BELL_BYTES);
    b->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (b->memory >= 0)
        map = mmap(NULL, KYMO_BELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, b->memory, 0);
    b->word = map == MAP_FAILED ? NULL : map;
    if (b->event < 0 || !b->word || !start_thread(b)) {
        kymo_err err = kymo_error_set_errno(detail, "cannot set up the recorder's wake-ups");
        kymo_bell_close(b);
        return err;
    }
    *out = b;
    return KYMO_OK;
}

void kymo_bell_close(kymo_bell *b)
{
    if (!b)
        return;
    if (b->has_thread) {
        kymo_store_release(&b->stop, 1u);
        kymo_add_relaxed(b->word, 1u);
        kymo_raw_futex_wake(b->word, 1);
        pthread_join(b->thread, NULL);
    }
    if (b->word)
        munmap(b->word, KYMO_BELL_BYTES);
    if (b->event >= 0)
        close(b->event);
    if (b->memory >= 0)
        close(b->memory);
    free(b);
}

int kymo_bell_memory(const kymo_bell *b)
{
    return b->memory;
}

int kymo_bell_event(const kymo_bell *b)
{
    return b->event;
}

void kymo_bell_hear(const kymo_bell *b)
{
    uint64_t count;
    ssize_t ignored = read(b->event, &count, sizeof count);
    (void)ignored;
}
