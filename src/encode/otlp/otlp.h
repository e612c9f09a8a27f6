/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp.h - the parts of OpenTelemetry's profiles, and their state while one file is written.
 *
 * Layer:    encode; above profile
 * Flow:     otlp.c -> [otlp] -> otlp_dictionary.c, otlp_samples.c
 * Threads:  one owner at a time
 * Memory:   owned by otlp.c; the whole output, since lengths stand before what they are of
 * Signals:  not for handlers
 *
 * This is opentelemetry.proto.profiles.v1development of opentelemetry-proto 1.11.0, which pdata
 * 1.71.0 (pprofile 0.165.0) of the collector reads. The package is not stable: fields were renamed
 * and renumbered in 1.9 and 1.10.
 *
 * The file is one ProfilesData, whose fields are those of an ExportProfilesServiceRequest. It
 * begins with the resource: field 1 of the first field 1. remote/otlp_send.c puts another in its
 * place.
 */
#ifndef KYMO_ENCODE_OTLP_OTLP_H
#define KYMO_ENCODE_OTLP_OTLP_H

#include "encode/encoder_heap.h"
#include "encode/mapping_numbers.h"
#include "encode/sample_sums.h"
#include "encode/text_numbers.h"

/* Field numbers, by message. */
enum {
    KYMO_OTLP_DATA_RESOURCE_PROFILES = 1,
    KYMO_OTLP_DATA_DICTIONARY = 2,
    KYMO_OTLP_RESOURCE_PROFILES_RESOURCE = 1,
    KYMO_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES = 2,
    KYMO_OTLP_RESOURCE_ATTRIBUTE = 1,
    KYMO_OTLP_KEY_VALUE_KEY = 1,
    KYMO_OTLP_KEY_VALUE_VALUE = 2,
    KYMO_OTLP_ANY_STRING = 1,
    KYMO_OTLP_ANY_BOOL = 2,
    KYMO_OTLP_ANY_INT = 3,
    KYMO_OTLP_ANY_DOUBLE = 4,
    KYMO_OTLP_SCOPE_PROFILES_SCOPE = 1,
    KYMO_OTLP_SCOPE_PROFILES_PROFILE = 2,
    KYMO_OTLP_SCOPE_NAME = 1,
    KYMO_OTLP_SCOPE_VERSION = 2,
    KYMO_OTLP_PROFILE_SAMPLE_TYPE = 1,
    KYMO_OTLP_PROFILE_SAMPLE = 2,
    KYMO_OTLP_PROFILE_TIME = 3,
    KYMO_OTLP_PROFILE_DURATION = 4,
    KYMO_OTLP_PROFILE_PERIOD_TYPE = 5,
    KYMO_OTLP_PROFILE_PERIOD = 6,
    KYMO_OTLP_PROFILE_ID = 7,
    KYMO_OTLP_PROFILE_ATTRIBUTES = 11,
    KYMO_OTLP_VALUE_TYPE = 1,
    KYMO_OTLP_VALUE_UNIT = 2,
    KYMO_OTLP_SAMPLE_STACK = 1,
    KYMO_OTLP_SAMPLE_ATTRIBUTES = 2,
    KYMO_OTLP_SAMPLE_VALUES = 4,
    KYMO_OTLP_DICTIONARY_MAPPING = 1,
    KYMO_OTLP_DICTIONARY_LOCATION = 2,
    KYMO_OTLP_DICTIONARY_FUNCTION = 3,
    KYMO_OTLP_DICTIONARY_LINK = 4,
    KYMO_OTLP_DICTIONARY_STRING = 5,
    KYMO_OTLP_DICTIONARY_ATTRIBUTE = 6,
    KYMO_OTLP_DICTIONARY_STACK = 7,
    KYMO_OTLP_MAPPING_START = 1,
    KYMO_OTLP_MAPPING_LIMIT = 2,
    KYMO_OTLP_MAPPING_OFFSET = 3,
    KYMO_OTLP_MAPPING_FILENAME = 4,
    KYMO_OTLP_MAPPING_ATTRIBUTES = 5,
    KYMO_OTLP_LOCATION_MAPPING = 1,
    KYMO_OTLP_LOCATION_ADDRESS = 2,
    KYMO_OTLP_LOCATION_LINE = 3,
    KYMO_OTLP_LOCATION_ATTRIBUTES = 4,
    KYMO_OTLP_LINE_FUNCTION = 1,
    KYMO_OTLP_LINE_LINE = 2,
    KYMO_OTLP_LINE_COLUMN = 3,
    KYMO_OTLP_FUNCTION_NAME = 1,
    KYMO_OTLP_FUNCTION_SYSTEM_NAME = 2,
    KYMO_OTLP_FUNCTION_FILENAME = 3,
    KYMO_OTLP_FUNCTION_START_LINE = 4,
    KYMO_OTLP_STACK_LOCATIONS = 1,
    KYMO_OTLP_LINK_TRACE_ID = 1,
    KYMO_OTLP_LINK_SPAN_ID = 2,
    KYMO_OTLP_ATTRIBUTE_KEY = 1,
    KYMO_OTLP_ATTRIBUTE_VALUE = 2,
    KYMO_OTLP_ATTRIBUTE_UNIT = 3,
};

/* The tables of the dictionary. Rows are written and numbered when they are first used, so that
 * there are none without a use; row 0 of each is empty. */
struct kymo_otlp_dictionary {
    const kymo_profile *p;
    kymo_proto out; /* whole rows */
    kymo_text_numbers strings;
    kymo_mapping_numbers mappings;
    uint32_t *mapping_of; /* by number of mappings: its row; 0: not yet */
    uint32_t *function_of;
    uint32_t *location_of;
    uint32_t *stack_of;
    uint32_t no_stack; /* the stack of samples that have none */
    uint32_t mapping_count, function_count, location_count, stack_count, attribute_count;
    kymo_index attribute_index;
    KYMO_VEC(struct kymo_otlp_attribute) attributes; /* where in out they are */
    kymo_proto message, inner, value, list;
};

struct kymo_otlp_attribute {
    size_t at;
    size_t len;
};

/* One Profile: one value of each of its samples. */
struct kymo_otlp_profile {
    const char *type, *unit;
    const char *period_type, *period_unit;
    uint64_t period;
    kymo_proto samples;
};

typedef struct kymo_otlp {
    kymo_encoder *encoder;
    const kymo_profile *p;
    struct kymo_otlp_dictionary dictionary;
    struct kymo_otlp_profile profiles[2 * KYMO_SAMPLE_TYPES_MAX + 4];
    uint32_t n_profiles;
    uint32_t first; /* of time or heap: where its profiles begin */
    kymo_sample_sums sums;
    KYMO_VEC(uint32_t)
    attributes; /* of the samples that follow: the thread's, then the program's */
    size_t thread_attributes;
    kymo_proto message, inner, values;
} kymo_otlp;

/* otlp_dictionary.c. To deinit also after an error. */
KYMO_NODISCARD
kymo_err kymo_otlp_dictionary_init(struct kymo_otlp_dictionary *dictionary,
                                   const kymo_profile *profile);
void kymo_otlp_dictionary_deinit(struct kymo_otlp_dictionary *dictionary);
/* The row of a stack; KYMO_NONE: of "no stack". */
uint32_t kymo_otlp_stack(struct kymo_otlp_dictionary *dictionary, uint32_t stack);
/* The row of an attribute with a text, or a number of this unit (NULL: none), or with what
 * dictionary->value holds, an AnyValue. A failed allocation is out.failed. */
uint32_t kymo_otlp_attribute(struct kymo_otlp_dictionary *dictionary, const char *key,
                             const char *unit);
uint32_t kymo_otlp_text_attribute(struct kymo_otlp_dictionary *dictionary, const char *key,
                                  const char *text, size_t len);
uint32_t kymo_otlp_number_attribute(struct kymo_otlp_dictionary *dictionary, const char *key,
                                    int64_t number, const char *unit);

/* otlp_samples.c: profiles of time; of the heap. */
KYMO_NODISCARD
kymo_err kymo_otlp_samples(kymo_otlp *otlp);
KYMO_NODISCARD
kymo_err kymo_otlp_heap(kymo_otlp *otlp, uint32_t show);

#endif
