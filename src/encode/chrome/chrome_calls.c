/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_calls.c - samples of elapsed time as intervals: what a thread was in, from when to when.
 *
 * Such a sample stands for the time from it on. Where the next one begins at its end, the frames
 * that both have went on. Of a call stream these intervals are the calls themselves, to the
 * nanosecond, but for calls that follow each other at once and are one interval then; of wall time
 * they are as exact as its period.
 *
 * The intervals have a track of their own, since those of markers need not nest with them: a thread
 * number beyond those of the kernel.
 */
#include "encode/chrome/chrome.h"

#include <stdio.h>

#define TRACK_FIRST (1u << 30)

struct calls {
    struct kymo_chrome *w;
    uint64_t pid, tid;
    KYMO_VEC(uint32_t) open;     /* frames, outermost first */
    KYMO_VEC(uint64_t) since_ns; /* by depth */
    KYMO_VEC(uint32_t) next;     /* frames of the sample that comes */
};

static void put_call(struct calls *c, uint32_t frame, uint64_t from_ns, uint64_t to_ns)
{
    char name[1024];
    kymo_json *j = c->w->json;
    kymo_chrome_begin(c->w, "X", c->pid, c->tid, from_ns);
    kymo_json_key_cstr(j, "name", kymo_profile_frame_label(c->w->p, frame, name, sizeof name));
    kymo_json_key_cstr(j, "cat", "calls");
    kymo_json_key(j, "dur");
    kymo_json_fixed(j, to_ns - from_ns, 3);
    kymo_json_end_object(j);
}

/* Those beyond this depth end. */
static void close_to(struct calls *c, size_t depth, uint64_t time_ns)
{
    while (c->open.len > depth) {
        c->open.len--;
        c->since_ns.len--;
        put_call(c, c->open.data[c->open.len], c->since_ns.data[c->since_ns.len], time_ns);
    }
}

static kymo_err take_stack(struct calls *c, uint32_t stack)
{
    kymo_stacks stacks = kymo_profile_stacks(c->w->p);
    size_t from = 0;
    c->next.len = 0;
    for (; stack != KYMO_NONE; stack = stacks.parent[stack])
        KYMO_TRY(kymo_vec_push(&c->next, stacks.frame[stack]));
    for (size_t to = c->next.len; from + 1 < to; from++) {
        to--;
        uint32_t frame = c->next.data[from];
        c->next.data[from] = c->next.data[to];
        c->next.data[to] = frame;
    }
    return KYMO_OK;
}

static kymo_err enter(struct calls *c, uint32_t stack, uint64_t time_ns)
{
    size_t same = 0;
    KYMO_TRY(take_stack(c, stack));
    while (same < c->open.len && same < c->next.len && c->open.data[same] == c->next.data[same])
        same++;
    close_to(c, same, time_ns);
    for (size_t i = same; i < c->next.len; i++) {
        KYMO_TRY(kymo_vec_push(&c->open, c->next.data[i]));
        KYMO_TRY(kymo_vec_push(&c->since_ns, time_ns));
    }
    return KYMO_OK;
}

static void put_track(struct calls *c, const char *thread, const char *type)
{
    char name[256];
    snprintf(name, sizeof name, "%.180s: %.60s", thread, type);
    kymo_chrome_put_name(c->w, "thread_name", c->pid, c->tid, name);
}

static kymo_err put_samples(struct calls *c, const kymo_thread *t, uint32_t thread,
                            const kymo_sample_type *type, uint32_t number)
{
    kymo_samples s = kymo_profile_samples(c->w->p, thread);
    uint64_t end_ns = 0;
    int has_track = 0;
    for (size_t i = 0; i < s.count; i++) {
        uint64_t time_ns = kymo_since_origin(c->w->p, s.time_ns[i]);
        if (s.kind[i] != number)
            continue;
        if (!has_track)
            put_track(c, t->name, type->name);
        has_track = 1;
        /* A sample that is said to stand for more than the time to the next one does not. */
        if (time_ns > end_ns)
            close_to(c, 0, end_ns);
        KYMO_TRY(enter(c, s.stack[i], time_ns));
        end_ns = time_ns + s.weight_ns[i];
        if (end_ns < time_ns)
            end_ns = UINT64_MAX;
        KYMO_TRY(kymo_encoder_step(c->w->encoder, 1));
    }
    close_to(c, 0, end_ns);
    return KYMO_OK;
}

kymo_err kymo_chrome_write_calls(struct kymo_chrome *w, uint32_t thread)
{
    uint32_t count;
    const kymo_sample_type *types = kymo_profile_sample_types(w->p, &count);
    const kymo_thread *t = kymo_profile_thread(w->p, thread);
    struct calls c = {.w = w, .pid = w->pids[t->process]};
    kymo_err err = KYMO_OK;
    for (uint32_t i = 0; i < count && err == KYMO_OK; i++) {
        c.tid = TRACK_FIRST + (uint64_t)thread * count + i;
        if (types[i].adds == KYMO_ADDS_ELAPSED)
            err = put_samples(&c, t, thread, &types[i], i);
    }
    kymo_vec_deinit(&c.open);
    kymo_vec_deinit(&c.since_ns);
    kymo_vec_deinit(&c.next);
    return err;
}
