/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_types.h - how types of JFR are described: events, what their fields are of, annotations.
 *
 * Layer:    encode; above base
 * Flow:     tables of jfr_types.c and of each file with events -> [jfr_types] -> jfr_metadata.c
 * Threads:  any; the tables are constant
 * Memory:   nothing of its own
 * Signals:  not for handlers
 *
 * Readers find types by their names. Some assume how known types are laid out without a look at the
 * description: java.lang.Thread, java.lang.Class, the types of stacks, and events of
 * async-profiler. To those no field may be added.
 */
#ifndef KYMO_ENCODE_JFR_JFR_TYPES_H
#define KYMO_ENCODE_JFR_JFR_TYPES_H

#include <stdint.h>

/* Numbers of types. Those that a profile brings along (markers, counters, sample types) follow. */
enum {
    KYMO_JFR_METADATA = 0,
    KYMO_JFR_CONSTANTS = 1,

    KYMO_JFR_BOOLEAN = 4,
    KYMO_JFR_FLOAT = 6,
    KYMO_JFR_DOUBLE = 7,
    KYMO_JFR_INT = 10,
    KYMO_JFR_LONG = 11,

    KYMO_JFR_STRING = 20,
    KYMO_JFR_CLASS = 21,
    KYMO_JFR_THREAD = 22,
    KYMO_JFR_CLASS_LOADER = 23,
    KYMO_JFR_FRAME_TYPE = 24,
    KYMO_JFR_THREAD_STATE = 25,
    KYMO_JFR_STACK_TRACE = 26,
    KYMO_JFR_STACK_FRAME = 27,
    KYMO_JFR_METHOD = 28,
    KYMO_JFR_PACKAGE = 30,
    KYMO_JFR_SYMBOL = 31,

    KYMO_JFR_EXECUTION_SAMPLE = 40,
    KYMO_JFR_WALL_CLOCK_SAMPLE,
    KYMO_JFR_CPU_TIME,
    KYMO_JFR_LABEL_EVENT,
    KYMO_JFR_MALLOC,
    KYMO_JFR_FREE,
    KYMO_JFR_MALLOC_WEIGHT,
    KYMO_JFR_MAPPING,
    KYMO_JFR_HEAP,
    KYMO_JFR_MEMORY_USE,
    KYMO_JFR_MEMORY_INFO,
    KYMO_JFR_ACTIVE_SETTING,
    KYMO_JFR_CPU_INFORMATION,
    KYMO_JFR_OS_INFORMATION,
    KYMO_JFR_NATIVE_LIBRARY,
    KYMO_JFR_BUILD_ID,
    KYMO_JFR_PROCESS,
    KYMO_JFR_THREAD_EVENT,
    KYMO_JFR_QUALITY,
    KYMO_JFR_MARKER_LOSS,
    KYMO_JFR_WALL_TIME,

    /* Two digits, as all that a profile has in any case: numbers are texts there. */
    KYMO_JFR_LABEL = 80,
    KYMO_JFR_CATEGORY,
    KYMO_JFR_DESCRIPTION,
    KYMO_JFR_CONTENT_TYPE,
    KYMO_JFR_TIMESTAMP,
    KYMO_JFR_TIMESPAN,
    KYMO_JFR_DATA_AMOUNT,
    KYMO_JFR_MEMORY_ADDRESS,
    KYMO_JFR_PERCENTAGE,

    KYMO_JFR_FIRST_OWN = 100, /* of a profile's own types */
};

/* The annotation of a field that says what its values are. A tick is a nanosecond. */
typedef enum kymo_jfr_note {
    KYMO_JFR_PLAIN = 0,
    KYMO_JFR_TIME, /* ticks */
    KYMO_JFR_SPAN, /* ticks */
    KYMO_JFR_SPAN_NS,
    KYMO_JFR_SPAN_US,
    KYMO_JFR_SPAN_MS,
    KYMO_JFR_SPAN_S,
    KYMO_JFR_BYTES,
    KYMO_JFR_ADDRESS,
    KYMO_JFR_RATIO, /* shown in percent */
    KYMO_JFR_NOTE_COUNT
} kymo_jfr_note;

typedef struct kymo_jfr_note_kind {
    uint32_t annotation; /* its type */
    const char *value;   /* NULL: it has none */
} kymo_jfr_note_kind;

typedef struct kymo_jfr_field {
    const char *name;
    uint16_t type;
    uint8_t note;      /* kymo_jfr_note */
    uint8_t is_pool;   /* the number of a constant */
    uint8_t is_array;  /* a count, and so many values */
    const char *label; /* NULL: the name says it */
} kymo_jfr_field;

typedef enum kymo_jfr_kind {
    KYMO_JFR_KIND_PLAIN = 0,
    KYMO_JFR_KIND_SIMPLE, /* shown as its only field */
    KYMO_JFR_KIND_EVENT,
    KYMO_JFR_KIND_ANNOTATION,
    KYMO_JFR_KIND_CONTENT, /* an annotation that says what values of a field are */
} kymo_jfr_kind;

typedef struct kymo_jfr_type {
    const char *name;
    uint32_t id;
    uint32_t kind; /* kymo_jfr_kind */
    uint32_t field_count;
    const kymo_jfr_field *fields;
    const char *label; /* NULL: none, as for the next two */
    const char *description;
    const char *category[3]; /* from the whole to the part */
} kymo_jfr_type;

#define KYMO_JFR_FIELDS(table) .fields = (table), .field_count = sizeof(table) / sizeof *(table)
/* A type of event, with its fields. */
#define KYMO_JFR_EVENT(symbol, text, number, ...)                     \
    static const kymo_jfr_field symbol##_fields[] = {__VA_ARGS__};    \
    static const kymo_jfr_type symbol = {.name = (text),              \
                                         .id = (number),              \
                                         .kind = KYMO_JFR_KIND_EVENT, \
                                         KYMO_JFR_FIELDS(symbol##_fields)}
/* How nearly every event begins. */
#define KYMO_JFR_START                                                    \
    {                                                                     \
        .name = "startTime", .type = KYMO_JFR_LONG, .note = KYMO_JFR_TIME \
    }
#define KYMO_JFR_DURATION                                                \
    {                                                                    \
        .name = "duration", .type = KYMO_JFR_LONG, .note = KYMO_JFR_SPAN \
    }
#define KYMO_JFR_EVENT_THREAD                                        \
    {                                                                \
        .name = "eventThread", .type = KYMO_JFR_THREAD, .is_pool = 1 \
    }
#define KYMO_JFR_STACK                                                   \
    {                                                                    \
        .name = "stackTrace", .type = KYMO_JFR_STACK_TRACE, .is_pool = 1 \
    }

/* A type by its number, of those that are no events; NULL: there is none. */
const kymo_jfr_type *kymo_jfr_type_of(uint32_t id);
const kymo_jfr_note_kind *kymo_jfr_note_of(kymo_jfr_note note);
/* What a unit's name means for integers: "bytes", "nanoseconds". */
kymo_jfr_note kymo_jfr_note_of_unit(const char *unit);

#endif
