/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_marks.h - what the decoder knows of markers: their ids, and where in a payload
 * texts lie.
 *
 * Layer:    recording
 * Flow:     recording_decode_marks.c (types, sites) -> [images] -> recording_decode_rows.c
 * Threads:  the decoder's
 * Memory:   the decoder's; in proportion to what was announced
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_RECORDING_DECODE_MARKS_H
#define KYMO_RECORDING_RECORDING_DECODE_MARKS_H

#include <stdint.h>

#include "base/id_map.h"
#include "base/vec.h"
#include "buffer/payload.h"
#include "recording/events.h"

struct kymo_decoder;

struct kymo_decoder_site {
    uint32_t type; /* KYMO_EVENT_NONE: none */
    uint32_t kind; /* enum kymo_mark_site_kind */
};

/* Zero bytes are a valid, empty one. */
struct kymo_decoder_marks {
    kymo_id_map categories;
    kymo_id_map types;
    kymo_id_map sites;
    kymo_id_map literals;
    kymo_id_map tracks;
    kymo_id_map counters;
    kymo_payload_places places;
    KYMO_VEC(struct kymo_payload_image) images; /* by number of the type */
    KYMO_VEC(struct kymo_decoder_site) carried; /* by number of the site */

    KYMO_VEC(kymo_event_marker_field) fields; /* scratch: of a type, as the next two */
    KYMO_VEC(kymo_event_marker_row) rows;
    KYMO_VEC(kymo_event_marker_graph) graphs;
    KYMO_VEC(uint64_t) payload; /* scratch: of a marker */
};

void kymo_decoder_marks_deinit(struct kymo_decoder_marks *marks);

/* Remembers the image of a type, and where it has texts. The next number of a type is then its own.
 * *fits is 0, and nothing is remembered, when its fields are not within its payload. */
KYMO_NODISCARD
kymo_err kymo_decoder_add_image(struct kymo_decoder_marks *marks, const kymo_event_marker_type *e,
                                int *fits);

/* Copies the payload of e, a marker of this site (its number) and process, into scratch, with the
 * numbers of literals as the handler has them. A text that does not lie in the payload, or that is
 * a literal that was not announced, becomes absent, and is counted. *fits is 0 when the payload is
 * not one of this site. */
KYMO_NODISCARD
kymo_err kymo_decoder_take_payload(struct kymo_decoder *d, uint32_t process, uint32_t site,
                                   kymo_event_marker *e, int *fits);

#endif
