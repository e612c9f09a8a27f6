/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_marks.h - the decoder's state for markers: ids, and the positions of texts in
 * payloads.
 *
 * Layer:    recording
 * Flow:     recording_decode_marks.c (types, sites) -> [images] -> recording_decode_rows.c
 * Threads:  the decoder's
 * Memory:   the decoder's; proportional to the number of definitions
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

/* All zero is a valid empty state. */
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

/* Stores the image of a type and the positions of its texts, under the next number of a type. If
 * its fields exceed its payload, *fits is 0 and nothing is stored. */
KYMO_NODISCARD
kymo_err kymo_decoder_add_image(struct kymo_decoder_marks *marks, const kymo_event_marker_type *e,
                                int *fits);

/* Copies the payload of e, a marker of this site and process, into scratch, and renumbers its
 * literals. A text outside of the payload, or an unknown literal, becomes absent and is counted.
 * *fits is 0 if the payload does not match the site. */
KYMO_NODISCARD
kymo_err kymo_decoder_take_payload(struct kymo_decoder *d, uint32_t process, uint32_t site,
                                   kymo_event_marker *e, int *fits);

#endif
