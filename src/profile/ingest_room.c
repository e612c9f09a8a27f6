/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_room.c - counts what exceeds the limits of a profile, and leaves it out; the rest of the
 * recording is kept.
 *
 * The program decides how many markers there are, and how many different texts they and their
 * labels have. One that runs for long may produce more than a profile can hold. These texts may
 * fill at most half of the room for strings: names of modules and functions, which come later, have
 * the other half.
 */
#include "profile/ingest_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profile/tables.h"

kymo_err kymo_ingest_leave_out(kymo_ingest *in, enum kymo_ingest_left_out what, kymo_err err)
{
    if (err != KYMO_E_TOO_BIG)
        return err;
    in->marks.left_out[what]++;
    return KYMO_OK;
}

static int has_room(const kymo_profile *p, size_t len)
{
    return p->strings.len < KYMO_STRINGS_MAX / 2 && len <= KYMO_STRING_BYTES_MAX / 2 &&
           p->string_bytes <= KYMO_STRING_BYTES_MAX / 2 - len;
}

kymo_err kymo_ingest_add_text(kymo_ingest *in, const char *text, size_t len, uint32_t *string)
{
    if (has_room(in->profile, len))
        return kymo_profile_add_string(in->profile, text, len, string);
    *string = kymo_profile_find_string(in->profile, text ? text : "", len);
    if (*string != KYMO_NONE)
        return KYMO_OK;
    in->marks.left_out[KYMO_INGEST_TEXTS]++;
    return kymo_ingest_add_string(in, "[text left out]", string);
}

kymo_err kymo_ingest_add_name(kymo_ingest *in, const char *name, uint32_t *string)
{
    return kymo_ingest_add_text(in, name, name ? strlen(name) : 0, string);
}

kymo_err kymo_ingest_note_left_out(kymo_ingest *in)
{
    static const char *const what[KYMO_INGEST_LEFT_OUT_COUNT] = {
        [KYMO_INGEST_MARKERS] = "markers",
        [KYMO_INGEST_TEXTS] = "texts of markers and labels",
        [KYMO_INGEST_LABELS] = "changes and sets of labels",
        [KYMO_INGEST_COUNTS] = "values of counters",
        [KYMO_INGEST_DEFINITIONS] = "categories, types and counters",
        [KYMO_INGEST_ALLOCATIONS] = "allocations",
        [KYMO_INGEST_MAPPINGS] = "mappings",
        [KYMO_INGEST_MEMORY] = "figures of memory",
    };
    for (size_t i = 0; i < KYMO_INGEST_LEFT_OUT_COUNT; i++) {
        char note[128];
        if (in->marks.left_out[i] == 0)
            continue;
        snprintf(note, sizeof note, "more %s than a profile holds: %" PRIu64 " left out", what[i],
                 in->marks.left_out[i]);
        KYMO_TRY(kymo_ingest_add_note(in, 0, KYMO_EVENT_NONE, KYMO_NOTE_ERROR, note));
    }
    return KYMO_OK;
}
