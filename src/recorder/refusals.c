/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/refusals.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sys/clock.h"

#define PROGRAMS_MAX 64u

static const char *reason_text(uint32_t reason)
{
    static const char *const texts[] = {
#define X(name, text) text,
        KYMO_REFUSAL_LIST(X)
#undef X
    };
    return reason < KYMO_REFUSAL_REASONS ? texts[reason] : "of an unknown reason";
}

static kymo_err note(const kymo_refusals *r, uint32_t process, kymo_event_severity severity,
                     const char *text)
{
    kymo_event_note e = {kymo_clock_ns(CLOCK_MONOTONIC), process, severity, text};
    return r->events->note(r->context, &e);
}

kymo_err kymo_refusals_add(kymo_refusals *r, uint32_t process, const struct kymo_refusal *refusal,
                           int is_sampled)
{
    char text[320];
    for (size_t i = 0; i < r->programs.len; i++) {
        struct kymo_refused *p = &r->programs.data[i];
        if (p->reason == refusal->reason && p->is_sampled == is_sampled &&
            strcmp(p->path, refusal->path) == 0) {
            p->count++;
            return KYMO_OK;
        }
    }
    if (r->programs.len == PROGRAMS_MAX) {
        r->others++;
        return KYMO_OK;
    }
    struct kymo_refused p = {.reason = refusal->reason, .is_sampled = is_sampled, .count = 1};
    memcpy(p.path, refusal->path, sizeof p.path);
    KYMO_TRY(kymo_vec_push(&r->programs, p));
    if (is_sampled)
        snprintf(text, sizeof text,
                 "%s is sampled from outside (no wall time, allocations or markers): %s", p.path,
                 reason_text(p.reason));
    else
        snprintf(text, sizeof text, "process %d runs %s, which is not recorded: %s",
                 (int)refusal->pid, p.path, reason_text(p.reason));
    int is_loss = !is_sampled || r->wants_more;
    return note(r, process, is_loss ? KYMO_NOTE_WARNING : KYMO_NOTE_INFO, text);
}

kymo_err kymo_refusals_finish(kymo_refusals *r)
{
    char text[320];
    for (size_t i = 0; i < r->programs.len; i++) {
        const struct kymo_refused *p = &r->programs.data[i];
        if (p->count < 2 || p->is_sampled)
            continue;
        snprintf(text, sizeof text, "%s was run %" PRIu64 " times without being recorded: %s",
                 p->path, p->count, reason_text(p->reason));
        KYMO_TRY(note(r, KYMO_EVENT_NONE, KYMO_NOTE_WARNING, text));
    }
    if (r->others == 0)
        return KYMO_OK;
    snprintf(text, sizeof text, "%" PRIu64 " more programs were run that are not recorded",
             r->others);
    return note(r, KYMO_EVENT_NONE, KYMO_NOTE_WARNING, text);
}

void kymo_refusals_deinit(kymo_refusals *r)
{
    kymo_vec_deinit(&r->programs);
}
