/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - makes samples of self time from a stream of enter and leave calls.
 *
 * The state of a thread is one node of the stack tree: leaving a function goes to the node's
 * parent. Each event first adds what it refers to, then reserves room for its sample. What follows
 * cannot fail, so an event is taken as a whole or not at all.
 */
#include "kymo/calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kymo/marker_abi.h"
#include "profile/tables.h"

enum { UNREGISTERED = 0, TRACED, FINISHED };

struct traced_thread {
    uint64_t time_ns; /* of the last event */
    uint32_t stack;   /* KYMO_NONE: the thread is in no function */
    uint32_t phase;
};

struct kymo_calls {
    kymo_profile *profile;
    uint32_t type;
    uint64_t events;                        /* accepted so far */
    KYMO_VEC(struct traced_thread) threads; /* by the thread's number in the profile */
};

kymo_err kymo_calls_create(kymo_profile *profile, uint32_t type, kymo_calls **out)
{
    if (type == KYMO_SAMPLE_DEFAULT)
        type = profile->default_sample_type;
    if (type >= profile->sample_type_count || profile->sample_types[type].adds != KYMO_ADDS_ELAPSED)
        return KYMO_E_INVALID;
    kymo_calls *calls = calloc(1, sizeof *calls);
    if (!calls)
        return KYMO_E_NOMEM;
    calls->profile = profile;
    calls->type = type;
    *out = calls;
    return KYMO_OK;
}

void kymo_calls_destroy(kymo_calls *calls)
{
    if (!calls)
        return;
    kymo_vec_deinit(&calls->threads);
    free(calls);
}

/* ---- errors ---- */

static kymo_err refuse(const kymo_calls *c, kymo_err err, uint32_t thread, const char *why,
                       kymo_error *detail)
{
    uint64_t event = c->events + 1;
    return kymo_error_set(detail, err, event, "event %" PRIu64 ", thread %" PRIu32 ": %s", event,
                          thread, why);
}

static kymo_err refuse_leave(const kymo_calls *c, uint32_t thread, uint32_t left, uint32_t inside,
                             kymo_error *detail)
{
    const kymo_profile *p = c->profile;
    char why[192];
    snprintf(why, sizeof why, "it leaves %.64s, and is in %.64s",
             kymo_profile_string(p, p->functions.data[left].name),
             kymo_profile_string(p, p->functions.data[inside].name));
    return refuse(c, KYMO_E_MISMATCH, thread, why, detail);
}

/* Checks that a thread may have an event at this time: times never go back. */
static kymo_err check(const kymo_calls *c, uint32_t thread, uint64_t time_ns, kymo_error *detail)
{
    char why[96];
    if (thread >= c->threads.len || c->threads.data[thread].phase == UNREGISTERED)
        return refuse(c, KYMO_E_INVALID, thread, "it is not registered", detail);
    const struct traced_thread *t = &c->threads.data[thread];
    if (t->phase == FINISHED)
        return refuse(c, KYMO_E_INVALID, thread, "it has finished", detail);
    if (time_ns >= t->time_ns)
        return KYMO_OK;
    snprintf(why, sizeof why, "time %" PRIu64 " is before that of its last event, %" PRIu64,
             time_ns, t->time_ns);
    return refuse(c, KYMO_E_RANGE, thread, why, detail);
}

/* ---- slices ---- */

static kymo_err make_room(kymo_calls *c, uint32_t thread)
{
    if (c->profile->sample_count >= KYMO_SAMPLES_MAX)
        return KYMO_E_TOO_BIG;
    return kymo_sample_columns_reserve(&c->profile->samples.data[thread], 1);
}

/* Adds a sample for the interval from the last event to now. The caller has reserved room. */
static void take(kymo_calls *c, uint32_t thread, uint64_t time_ns, uint32_t stack)
{
    struct traced_thread *t = &c->threads.data[thread];
    if (time_ns > t->time_ns)
        (void)kymo_profile_add_sample(c->profile, thread, t->time_ns, t->stack,
                                      time_ns - t->time_ns, c->type, KYMO_STATE_RUNNING);
    t->time_ns = time_ns;
    t->stack = stack;
    c->events++;
}

/* As take(), unless `err` says that an earlier step failed; returns that error then. */
static kymo_err take_if(kymo_calls *c, kymo_err err, uint32_t thread, uint64_t time_ns,
                        uint32_t stack, kymo_error *detail)
{
    if (err == KYMO_OK)
        err = make_room(c, thread);
    if (err != KYMO_OK)
        return refuse(c, err, thread, kymo_err_text(err), detail);
    take(c, thread, time_ns, stack);
    return KYMO_OK;
}

/* ---- events ---- */

kymo_err kymo_calls_register(kymo_calls *calls, uint32_t thread, uint64_t time_ns,
                             kymo_error *detail)
{
    if (thread >= calls->profile->threads.len)
        return refuse(calls, KYMO_E_INVALID, thread, "the profile does not have it", detail);
    if (thread < calls->threads.len && calls->threads.data[thread].phase != UNREGISTERED)
        return refuse(calls, KYMO_E_EXISTS, thread, "it is registered already", detail);
    while (calls->threads.len <= thread) {
        kymo_err err = kymo_vec_push(&calls->threads, (struct traced_thread){0});
        if (err != KYMO_OK)
            return refuse(calls, err, thread, kymo_err_text(err), detail);
    }
    calls->threads.data[thread] =
        (struct traced_thread){.time_ns = time_ns, .stack = KYMO_NONE, .phase = TRACED};
    calls->events++;
    return KYMO_OK;
}

kymo_err kymo_calls_enter(kymo_calls *calls, uint32_t thread, uint64_t time_ns, uint32_t function,
                          kymo_error *detail)
{
    kymo_profile *p = calls->profile;
    uint32_t stack = KYMO_NONE;
    uint32_t frame;
    KYMO_TRY(check(calls, thread, time_ns, detail));
    if (function >= p->functions.len)
        return refuse(calls, KYMO_E_INVALID, thread, "it enters a function that does not exist",
                      detail);
    kymo_err err = kymo_profile_add_label_frame(p, function, KYMO_CATEGORY_PROGRAM, &frame);
    if (err == KYMO_OK)
        err = kymo_profile_add_stack(p, calls->threads.data[thread].stack, frame, &stack);
    return take_if(calls, err, thread, time_ns, stack, detail);
}

kymo_err kymo_calls_leave(kymo_calls *calls, uint32_t thread, uint64_t time_ns, uint32_t function,
                          kymo_error *detail)
{
    const kymo_profile *p = calls->profile;
    KYMO_TRY(check(calls, thread, time_ns, detail));
    uint32_t stack = calls->threads.data[thread].stack;
    if (function >= p->functions.len)
        return refuse(calls, KYMO_E_INVALID, thread, "it leaves a function that does not exist",
                      detail);
    if (stack == KYMO_NONE)
        return refuse(calls, KYMO_E_INVALID, thread, "it leaves a function, and is in none",
                      detail);
    const kymo_frame *frame = &p->frames.data[p->stack_frame.data[stack]];
    uint32_t inside = p->lines.data[frame->first_line].function;
    if (inside != function)
        return refuse_leave(calls, thread, function, inside, detail);
    return take_if(calls, KYMO_OK, thread, time_ns, p->stack_parent.data[stack], detail);
}

kymo_err kymo_calls_finish(kymo_calls *calls, uint32_t thread, uint64_t time_ns, kymo_error *detail)
{
    KYMO_TRY(check(calls, thread, time_ns, detail));
    KYMO_TRY(take_if(calls, KYMO_OK, thread, time_ns, KYMO_NONE, detail));
    calls->threads.data[thread].phase = FINISHED;
    return KYMO_OK;
}

/* ---- exceptions ---- */

static kymo_err add_text(kymo_profile *p, const char *text, uint32_t *string)
{
    return kymo_profile_add_string(p, text, strlen(text), string);
}

/* Interns the schema that all exceptions share; cheap when it exists already. */
static kymo_err describe(kymo_profile *p, kymo_marker *marker)
{
    kymo_marker_category category = {
        .size = sizeof category, .parent = KYMO_NONE, .color = KYMO_COLOR_RED};
    kymo_schema_field field = {.format = KYMO_FORMAT_STRING};
    kymo_schema schema = {.size = sizeof schema, .field_count = 1, .fields = &field};
    KYMO_TRY(add_text(p, "Exceptions", &category.name));
    KYMO_TRY(add_text(p, "Exception", &schema.name));
    KYMO_TRY(add_text(p, "text", &field.key));
    KYMO_TRY(kymo_profile_add_marker_category(p, &category, &marker->category));
    return kymo_profile_add_schema(p, &schema, &marker->schema);
}

kymo_err kymo_calls_exception(kymo_calls *calls, uint32_t thread, uint64_t time_ns,
                              const char *name, const char *text, kymo_error *detail)
{
    KYMO_TRY(check(calls, thread, time_ns, detail));
    uint32_t stack = calls->threads.data[thread].stack;
    kymo_marker marker = {.start_ns = time_ns,
                          .thread = thread,
                          .stack = stack,
                          .labels = KYMO_NONE,
                          .phase = KYMO_MARKER_INSTANT};
    kymo_value value = {.kind = KYMO_VALUE_STRING};
    kymo_err err = add_text(calls->profile, name, &marker.name);
    if (err == KYMO_OK)
        err = add_text(calls->profile, text ? text : "", &value.as.string);
    if (err == KYMO_OK)
        err = describe(calls->profile, &marker);
    if (err == KYMO_OK)
        err = make_room(calls, thread);
    if (err == KYMO_OK)
        err = kymo_profile_add_marker(calls->profile, &marker, &value);
    return take_if(calls, err, thread, time_ns, stack, detail);
}
