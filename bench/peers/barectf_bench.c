/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barectf_bench.c - events of a tracer that barectf makes (barectf.yaml), in the loops of
 * marker_loop.h: it writes CTF into a buffer of the thread's own, without locks; the platform is
 * ours. Here that is a ring of packets, of which the oldest is written over; it is not read.
 */
#include <stdlib.h>
#include <string.h>

#include "marker_loop.h"
#include "tracer.h"

enum { PACKETS = 8, PACKET_BYTES = 1 << 20 };

struct thread {
    struct bench_events_ctx events;
    uint8_t *packets;
    uint32_t packet;
};
static __thread struct thread self;

static uint64_t ticks(void *data)
{
    (void)data;
    return __builtin_ia32_rdtsc();
}

static int is_full(void *data)
{
    (void)data;
    return 0;
}

static void open_packet(void *data)
{
    struct thread *t = data;
    t->packet = (t->packet + 1) % PACKETS;
    bench_packet_set_buf(&t->events, t->packets + (size_t)t->packet * PACKET_BYTES, PACKET_BYTES);
    bench_events_open_packet(&t->events);
}

static void close_packet(void *data)
{
    bench_events_close_packet(&((struct thread *)data)->events);
}

static void prepare(void)
{
    if (self.packets)
        return;
    self.packets = malloc((size_t)PACKETS * PACKET_BYTES);
    if (!self.packets)
        exit(1);
    memset(self.packets, 1, (size_t)PACKETS * PACKET_BYTES);
    const struct bench_platform_callbacks calls = {ticks, is_full, open_packet, close_packet};
    bench_init(&self.events, self.packets, PACKET_BYTES, calls, &self);
    open_packet(&self);
}

LOOP_OPERATION(instant32, bench_events_trace_two_words(&self.events, i, 2))
LOOP_OPERATION(numbers_text,
               bench_events_trace_numbers_text(&self.events, (uint32_t)i, 2, loop_text))

static const struct loop_kind kinds[] = {LOOP_KIND(instant32), LOOP_KIND(numbers_text)};

int main(int argc, char **argv)
{
    static const struct loop_program program = {"barectf", kinds, 2, prepare};
    prepare();
    return loop_main(&program, argc, argv);
}
