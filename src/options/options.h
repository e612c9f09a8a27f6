/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - the settings of a recording, parsed and printed by one table.
 *
 * Layer:    options; above base; used by cli/, recorder/ and, in the program, by start/
 * Flow:     command line, environment, API -> [options] -> recorder/, capture/
 * Threads:  any; no state but the caller's struct
 * Memory:   never allocates: libkymo-preload.so parses its environment with it
 * Signals:  not for handlers (errors are formatted)
 */
#ifndef KYMO_OPTIONS_OPTIONS_H
#define KYMO_OPTIONS_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "options/options.def"

/* The values of engine=, in the order of its choices. */
enum {
    KYMO_ENGINE_AUTO,
    KYMO_ENGINE_PERF,
    KYMO_ENGINE_DISPATCH,
    KYMO_ENGINE_TIMER,
};

/* The values of trace=, in the order of its choices. */
enum {
    KYMO_TRACE_CHOICE_OFF,
    KYMO_TRACE_CHOICE_PYTHON,
};

/* How many options are lists, and the longest in bytes. */
#define KYMO_OPTION_LISTS 1u
#define KYMO_OPTION_LIST_MAX 511u

typedef enum kymo_option_id {
#define KYMO_OPTION(id, field, name, type, def, least, most, word, choices, value, flags, help) \
    KYMO_OPTION_##id,
#include "options/options.def"
#undef KYMO_OPTION
    KYMO_OPTION_COUNT,
} kymo_option_id;

/* One field per row of options.def, in the unit of its type. `given` has bit kymo_option_id set
 * for each option that was given, as against one that has its default. */
typedef struct kymo_options {
#define KYMO_OPTION(id, field, name, type, def, least, most, word, choices, value, flags, help) \
    uint64_t field;
#include "options/options.def"
#undef KYMO_OPTION
    uint64_t given;
    uint64_t all_counters; /* counters=all: files show all of them */
    char lists[KYMO_OPTION_LISTS][KYMO_OPTION_LIST_MAX + 1]; /* "": its word */
} kymo_options;

typedef enum kymo_option_type {
    KYMO_OPTION_TYPE_TIME,
    KYMO_OPTION_TYPE_SIZE,
    KYMO_OPTION_TYPE_NUMBER,
    KYMO_OPTION_TYPE_CHOICE,
    KYMO_OPTION_TYPE_SIGNAL,
    KYMO_OPTION_TYPE_LIST,
} kymo_option_type;

#define KYMO_OPTION_BARE 1u
#define KYMO_OPTION_BARE_AS(value) ((uint64_t)(value) << 2 | KYMO_OPTION_BARE)
#define KYMO_OPTION_ZERO_IS_LEAST 2u

/* One row, for help and for the check of the manual page. Static storage. */
typedef struct kymo_option_info {
    const char *name;
    const char *value_name;
    const char *word;
    const char *choices;
    const char *help;
    uint64_t def;
    uint64_t least;
    uint64_t most;
    kymo_option_type type;
    uint64_t flags;
} kymo_option_info;

extern const kymo_option_info kymo_option_table[KYMO_OPTION_COUNT];

/* Room for any value, or any range, printed by the functions below. */
#define KYMO_OPTION_TEXT_MAX 96
/* Room for every option printed by kymo_options_format. */
#define KYMO_OPTIONS_FORMAT_MAX 1024

/* Every option at its default, none given. */
void kymo_options_init(kymo_options *options);

/* Sets one option by name. value NULL stands for the name alone. On error *options is as before
 * and detail (may be NULL) names the option and what it takes: KYMO_E_NOT_FOUND for an unknown
 * name, KYMO_E_INVALID for a value of the wrong form, KYMO_E_RANGE for one out of range. */
KYMO_NODISCARD
kymo_err kymo_options_set(kymo_options *options, const char *name, size_t name_len,
                          const char *value, size_t value_len, kymo_error *detail);

/* Whether text has the form of a value of this option, in its range or not. */
int kymo_option_is_value(kymo_option_id id, const char *text);

/* Sets the options of a list such as "cpu=1ms,engine=perf": the content of KYMO_OPTIONS. An empty
 * list or item sets nothing, nor do blanks around names and values; of an option named twice the
 * last one counts. All or nothing: on error *options is as before and detail->position is the
 * offset of the item at fault. */
KYMO_NODISCARD
kymo_err kymo_options_parse(kymo_options *options, const char *list, kymo_error *detail);

/* A time with its unit, as TIME options have it: "250us", "1.5m"; and "0". In nanoseconds. */
KYMO_NODISCARD
kymo_err kymo_parse_time(const char *text, size_t len, uint64_t *out_ns);

/* A size as SIZE options have it: "64m", "4KiB", "100". In bytes. */
KYMO_NODISCARD
kymo_err kymo_parse_size(const char *text, size_t len, uint64_t *out);

/* Writes the given options as a list that kymo_options_parse reads back to the same values, with a
 * NUL, as far as cap reaches. Returns the length of the whole list, as snprintf does. */
size_t kymo_options_format(const kymo_options *options, char *out, size_t cap);

/* The value of one option as a user would write it: "1ms", "auto"; of a list that is not its word
 * what help calls it. Returns out. */
const char *kymo_option_format_value(kymo_option_id id, uint64_t value,
                                     char out[KYMO_OPTION_TEXT_MAX]);
/* What an option takes: "from 10us to 10s", "auto, or from 1m to 4g", "auto, perf, dispatch or
 * timer". */
const char *kymo_option_format_range(kymo_option_id id, char out[KYMO_OPTION_TEXT_MAX]);
/* The value that options has for one option. */
uint64_t kymo_options_get(const kymo_options *options, kymo_option_id id);
/* The words of one that is a list; "" where its word stands. */
const char *kymo_options_list(const kymo_options *options, kymo_option_id id);

/* ---- suggest.c: finds the known word that a mistyped one was probably meant to be ---- */

struct kymo_suggestion {
    const char *word;
    size_t len;
    const char *best;
    size_t best_distance;
};

/* Looks for words near word (len bytes, borrowed until the end of the search). */
void kymo_suggest_start(struct kymo_suggestion *s, const char *word, size_t len);
/* Considers one known word, which must outlive the search. */
void kymo_suggest_try(struct kymo_suggestion *s, const char *known);
/* The nearest of those tried, NULL if none is near enough to be worth saying. */
const char *kymo_suggest_best(const struct kymo_suggestion *s);

#endif
