/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_marker_types.h - the types of events that markers become: one for each schema.
 *
 * Layer:    encode; above profile
 * Flow:     schemas and values of a profile -> [jfr_marker_types] -> jfr_markers.c, jfr_metadata.c
 * Threads:  one owner at a time
 * Memory:   a byte for each field of a schema, and the description of the types
 * Signals:  not for handlers
 *
 * A field has one type in all events. So all values are looked at before the first is written: a
 * field that has numbers of one kind is a number, any other is text.
 */
#ifndef KYMO_ENCODE_JFR_JFR_MARKER_TYPES_H
#define KYMO_ENCODE_JFR_JFR_MARKER_TYPES_H

/* What markers of a type have, and so which fields the type has before its schema's; in their
 * order. The name is always there. */
enum {
    KYMO_JFR_MARKER_USED = 1,
    KYMO_JFR_MARKER_DURATION = 2,
    KYMO_JFR_MARKER_STACK = 4,
    KYMO_JFR_MARKER_CATEGORY = 8, /* markers of several categories */
    KYMO_JFR_MARKER_INCOMPLETE = 16,
    KYMO_JFR_MARKER_TRACK = 32,
    KYMO_JFR_MARKER_OWNER = 64,
    KYMO_JFR_MARKER_LABELS = 128,
};

/* How a field is written. */
enum {
    KYMO_JFR_AS_TEXT = 0,
    KYMO_JFR_AS_BOOLEAN,
    KYMO_JFR_AS_LONG,
    KYMO_JFR_AS_DOUBLE,
    KYMO_JFR_AS_TIME,
};

#endif
