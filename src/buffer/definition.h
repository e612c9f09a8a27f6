/* SPDX-License-Identifier: Apache-2.0 */
/*
 * definition.h - what markers refer to by number: sites, types, categories, literals, counters,
 * tracks.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     capture/ -> [definitions of a session] -> drain.c
 * Threads:  any may intern; the drain reads what is published
 * Memory:   the session's
 * Signals:  interning is safe
 *
 * A definition is copied into the session when a marker first needs it, so that nothing of the
 * program has to be read later: its libraries may be unloaded by then, and it may be dead. The
 * content is the identity: copies of a category in fifty files are one, as is a library's that is
 * loaded anew.
 *
 * A definition is words and texts in the order that its kind says. A text is its length in bytes (a
 * word), and the bytes up to the next multiple of 8. Numbers count from 1, in the order of
 * interning over all kinds; 0 is none. What a definition refers to by number was interned before
 * it.
 */
#ifndef KYMO_BUFFER_DEFINITION_H
#define KYMO_BUFFER_DEFINITION_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "buffer/session.h"

/* X(name, what follows the head): w: a word, t: a text, *: the group in front as often as the word
 * before the group says. */
#define KYMO_DEFINITIONS(X)                                                                      \
    /* name, parent (number), color, flags */                                                    \
    X(CATEGORY, "twww")                                                                          \
    /* name, show, is_stack_based, max_per_second, payload_bytes, chart, tooltip, table,         \
     * description, color_key, file, line; fields: key, label, kind | format << 8 | flags << 16; \
     * rows: label, value; graphs: key, kind, color. A label that is not there is "". */         \
    X(TYPE, "twwwwttttttww(ttw)*w(tt)*w(tww)*")                                                  \
    /* category (number), type (number), name, format, file, function, line, kind, min_ns */     \
    X(SITE, "wwttttwww")                                                                         \
    X(LITERAL, "t")                                                                              \
    /* category (number), name, unit, description, kind, flags, color */                         \
    X(COUNTER, "wtttwww")                                                                        \
    X(TRACK, "t")

enum kymo_definition_kind {
    KYMO_DEFINE_NONE = 0,
#define X(name, shape) KYMO_DEFINE_##name,
    KYMO_DEFINITIONS(X)
#undef X
        KYMO_DEFINE_KINDS
};

#define KYMO_DEFINITION_NUMBER_MAX 65534u
/* A text is cut at that, on a character's boundary; a definition has room for all of its own. */
#define KYMO_DEFINITION_TEXT_MAX 1024u
#define KYMO_DEFINITION_FIELDS_MAX 64u
#define KYMO_DEFINITION_ROWS_MAX 32u
#define KYMO_DEFINITION_BYTES_MAX (1u << 18)

/* In front of each. */
struct kymo_definition {
    uint64_t hash;
    uint32_t size_bytes; /* with this head; a multiple of 8 */
    uint16_t kind;
    uint16_t number; /* its own, as the index has it */
};
_Static_assert(sizeof(struct kymo_definition) == 16, "definition");

/* Says a definition's words and texts, in the order of its kind: to the one who measures, and to
 * the one who writes. It must say the same each time. */
struct kymo_definition_pen {
    uint64_t hash;
    uint64_t *to;   /* NULL: nothing is written */
    uint32_t words; /* said so far, the head not among them */
    uint32_t room;  /* to has; what is beyond is not written */
};
KYMO_SIGNAL_SAFE void kymo_definition_word(struct kymo_definition_pen *pen, uint64_t word);
/* NULL is "". Of no more than KYMO_DEFINITION_TEXT_MAX bytes. */
KYMO_SIGNAL_SAFE void kymo_definition_text(struct kymo_definition_pen *pen, const char *text,
                                           size_t len);
typedef void kymo_definition_say(struct kymo_definition_pen *pen, const void *what);

/* What this process has interned: numbers, by hash. Zeroed memory is an empty one. */
struct kymo_definition_index {
    uint32_t *slots; /* numbers; 0: free */
    uint32_t mask;   /* how many - 1, a power of two above the plan's definitions */
};

/* The number of a definition with this content, which is interned if there was none; 0 if there is
 * no room. Two threads at once get the same number, but may leave a second copy behind. */
KYMO_SIGNAL_SAFE uint32_t kymo_definition_intern(struct kymo_session *session,
                                                 const struct kymo_session_plan *plan,
                                                 const struct kymo_definition_index *index,
                                                 enum kymo_definition_kind kind,
                                                 kymo_definition_say *say, const void *what);

/* The definition of this number in the program's own session, as it was interned; NULL: none. For
 * the program; the drain trusts nothing here. */
KYMO_SIGNAL_SAFE const struct kymo_definition *kymo_definition_at(
    struct kymo_session *session, const struct kymo_session_plan *plan, uint32_t number);

/* definition_read.c: reads the words and texts of a definition that the program has written.
 *
 * Nothing is read beyond the words that there are: what is missing is 0, or "".
 */

struct kymo_definition_reader {
    const uint64_t *at;
    uint32_t left; /* words */
    int failed;    /* something was missing, or a text was too long */
};

/* A copy of a definition, with its head. */
struct kymo_definition_reader kymo_definition_reader_of(const struct kymo_definition *definition);

uint64_t kymo_definition_read_word(struct kymo_definition_reader *r);
/* At most KYMO_DEFINITION_TEXT_MAX bytes; not terminated. */
const char *kymo_definition_read_text(struct kymo_definition_reader *r, uint32_t *len);

/* Whether the words of a copy, whose size_bytes is right, are what KYMO_DEFINITIONS says of its
 * kind, and no more. */
int kymo_definition_is_whole(const struct kymo_definition *definition);

#endif
