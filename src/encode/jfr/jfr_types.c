/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/jfr/jfr_types.h"

#include <stddef.h>
#include <string.h>

#include "base/attr.h"

static const kymo_jfr_field class_fields[] = {
    {.name = "classLoader", .type = KYMO_JFR_CLASS_LOADER, .is_pool = 1},
    {.name = "name", .type = KYMO_JFR_SYMBOL, .is_pool = 1},
    {.name = "package", .type = KYMO_JFR_PACKAGE, .is_pool = 1},
    {.name = "modifiers", .type = KYMO_JFR_INT},
};

static const kymo_jfr_field thread_fields[] = {
    {.name = "osName", .type = KYMO_JFR_STRING},
    {.name = "osThreadId", .type = KYMO_JFR_LONG},
    {.name = "javaName", .type = KYMO_JFR_STRING},
    {.name = "javaThreadId", .type = KYMO_JFR_LONG},
};

static const kymo_jfr_field loader_fields[] = {
    {.name = "name", .type = KYMO_JFR_SYMBOL, .is_pool = 1},
};

static const kymo_jfr_field package_fields[] = {
    {.name = "name", .type = KYMO_JFR_SYMBOL, .is_pool = 1},
};

static const kymo_jfr_field frame_type_fields[] = {
    {.name = "description", .type = KYMO_JFR_STRING},
};

static const kymo_jfr_field state_fields[] = {
    {.name = "name", .type = KYMO_JFR_STRING},
};

static const kymo_jfr_field trace_fields[] = {
    {.name = "truncated", .type = KYMO_JFR_BOOLEAN},
    {.name = "frames", .type = KYMO_JFR_STACK_FRAME, .is_array = 1},
};

static const kymo_jfr_field frame_fields[] = {
    {.name = "method", .type = KYMO_JFR_METHOD, .is_pool = 1},
    {.name = "lineNumber", .type = KYMO_JFR_INT},
    {.name = "bytecodeIndex", .type = KYMO_JFR_INT},
    {.name = "type", .type = KYMO_JFR_FRAME_TYPE, .is_pool = 1},
};

static const kymo_jfr_field method_fields[] = {
    {.name = "type", .type = KYMO_JFR_CLASS, .is_pool = 1},
    {.name = "name", .type = KYMO_JFR_SYMBOL, .is_pool = 1},
    {.name = "descriptor", .type = KYMO_JFR_SYMBOL, .is_pool = 1},
    {.name = "modifiers", .type = KYMO_JFR_INT},
    {.name = "hidden", .type = KYMO_JFR_BOOLEAN},
};

static const kymo_jfr_field symbol_fields[] = {
    {.name = "string", .type = KYMO_JFR_STRING},
};

static const kymo_jfr_field text_fields[] = {
    {.name = "value", .type = KYMO_JFR_STRING},
};

static const kymo_jfr_field texts_fields[] = {
    {.name = "value", .type = KYMO_JFR_STRING, .is_array = 1},
};

#define PRIMITIVE(number, text) [number] = {.name = (text), .id = (number)}
#define STRUCTURE(number, text, table) \
    [number] = {.name = (text), .id = (number), KYMO_JFR_FIELDS(table)}
#define SIMPLE(number, text, table) \
    [number] = {                    \
        .name = (text), .id = (number), .kind = KYMO_JFR_KIND_SIMPLE, KYMO_JFR_FIELDS(table)}
#define ANNOTATION(number, text, how) \
    [number] = {.name = "jdk.jfr." text, .id = (number), .kind = KYMO_JFR_KIND_##how}
#define TEXT_ANNOTATION(number, text, how, table) \
    [number] = {.name = "jdk.jfr." text,          \
                .id = (number),                   \
                .kind = KYMO_JFR_KIND_##how,      \
                KYMO_JFR_FIELDS(table)}

static const kymo_jfr_type types[KYMO_JFR_FIRST_OWN] = {
    PRIMITIVE(KYMO_JFR_BOOLEAN, "boolean"),
    PRIMITIVE(KYMO_JFR_FLOAT, "float"),
    PRIMITIVE(KYMO_JFR_DOUBLE, "double"),
    PRIMITIVE(KYMO_JFR_INT, "int"),
    PRIMITIVE(KYMO_JFR_LONG, "long"),
    PRIMITIVE(KYMO_JFR_STRING, "java.lang.String"),
    STRUCTURE(KYMO_JFR_CLASS, "java.lang.Class", class_fields),
    STRUCTURE(KYMO_JFR_THREAD, "java.lang.Thread", thread_fields),
    STRUCTURE(KYMO_JFR_CLASS_LOADER, "jdk.types.ClassLoader", loader_fields),
    SIMPLE(KYMO_JFR_FRAME_TYPE, "jdk.types.FrameType", frame_type_fields),
    SIMPLE(KYMO_JFR_THREAD_STATE, "jdk.types.ThreadState", state_fields),
    STRUCTURE(KYMO_JFR_STACK_TRACE, "jdk.types.StackTrace", trace_fields),
    STRUCTURE(KYMO_JFR_STACK_FRAME, "jdk.types.StackFrame", frame_fields),
    STRUCTURE(KYMO_JFR_METHOD, "jdk.types.Method", method_fields),
    STRUCTURE(KYMO_JFR_PACKAGE, "jdk.types.Package", package_fields),
    SIMPLE(KYMO_JFR_SYMBOL, "jdk.types.Symbol", symbol_fields),
    TEXT_ANNOTATION(KYMO_JFR_LABEL, "Label", ANNOTATION, text_fields),
    TEXT_ANNOTATION(KYMO_JFR_CATEGORY, "Category", ANNOTATION, texts_fields),
    TEXT_ANNOTATION(KYMO_JFR_DESCRIPTION, "Description", ANNOTATION, text_fields),
    ANNOTATION(KYMO_JFR_CONTENT_TYPE, "ContentType", ANNOTATION),
    TEXT_ANNOTATION(KYMO_JFR_TIMESTAMP, "Timestamp", CONTENT, text_fields),
    TEXT_ANNOTATION(KYMO_JFR_TIMESPAN, "Timespan", CONTENT, text_fields),
    TEXT_ANNOTATION(KYMO_JFR_DATA_AMOUNT, "DataAmount", CONTENT, text_fields),
    ANNOTATION(KYMO_JFR_MEMORY_ADDRESS, "MemoryAddress", CONTENT),
    ANNOTATION(KYMO_JFR_PERCENTAGE, "Percentage", CONTENT),
};

static const kymo_jfr_note_kind notes[KYMO_JFR_NOTE_COUNT] = {
    [KYMO_JFR_TIME] = {KYMO_JFR_TIMESTAMP, "TICKS"},
    [KYMO_JFR_SPAN] = {KYMO_JFR_TIMESPAN, "TICKS"},
    [KYMO_JFR_SPAN_NS] = {KYMO_JFR_TIMESPAN, "NANOSECONDS"},
    [KYMO_JFR_SPAN_US] = {KYMO_JFR_TIMESPAN, "MICROSECONDS"},
    [KYMO_JFR_SPAN_MS] = {KYMO_JFR_TIMESPAN, "MILLISECONDS"},
    [KYMO_JFR_SPAN_S] = {KYMO_JFR_TIMESPAN, "SECONDS"},
    [KYMO_JFR_BYTES] = {KYMO_JFR_DATA_AMOUNT, "BYTES"},
    [KYMO_JFR_ADDRESS] = {KYMO_JFR_MEMORY_ADDRESS, NULL},
    [KYMO_JFR_RATIO] = {KYMO_JFR_PERCENTAGE, NULL},
};

const kymo_jfr_type *kymo_jfr_type_of(uint32_t id)
{
    return id < KYMO_ARRAY_LEN(types) && types[id].name ? &types[id] : NULL;
}

const kymo_jfr_note_kind *kymo_jfr_note_of(kymo_jfr_note note)
{
    return &notes[note];
}

kymo_jfr_note kymo_jfr_note_of_unit(const char *unit)
{
    if (strcmp(unit, "bytes") == 0)
        return KYMO_JFR_BYTES;
    return strcmp(unit, "nanoseconds") == 0 ? KYMO_JFR_SPAN_NS : KYMO_JFR_PLAIN;
}
