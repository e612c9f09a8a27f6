/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_collapsed.c - lines of "outermost;...;innermost COUNT", as flame graph scripts write them.
 *
 * The format names neither processes nor threads: writers put them in front as frames, each in its
 * own way. So all names are frames here, of one thread. What a count is of is not said, either.
 */
#include <string.h>

#include "base/str.h"
#include "import/importer.h"

enum { LONG_LINE = 4000 };
enum { STEP_NS = 1000000 }; /* the format has no times: from one line to the next */

struct line {
    const char *text; /* the names */
    size_t len;
    uint64_t count;
};

/* What writers put behind a name to say what code it is. */
static const struct {
    const char *suffix;
    kymo_category category;
} kinds[] = {
    {"_[k]", KYMO_CATEGORY_KERNEL}, {"_[j]", KYMO_CATEGORY_JIT}, {"_[i]", KYMO_CATEGORY_JIT},
    {"_[0]", KYMO_CATEGORY_JIT},    {"_[1]", KYMO_CATEGORY_JIT},
};

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Where the number at the end of a line begins, of any size, also below 0; 0: there is none. */
static size_t find_number(const char *text, size_t len)
{
    size_t at = len;
    while (at > 0 && is_digit(text[at - 1]))
        at--;
    if (at == len)
        return 0;
    if (at > 1 && text[at - 1] == '-')
        at--;
    return at > 1 && is_blank(text[at - 1]) ? at : 0;
}

/* The number at the end of a line, and where the names before it end; 0: there is none that a
 * sample can have. */
static int split(const char *text, size_t len, struct line *line)
{
    size_t at = find_number(text, len);
    if (at == 0 || kymo_parse_u64(text + at, len - at, &line->count) != KYMO_OK)
        return 0;
    while (at > 0 && is_blank(text[at - 1]))
        at--;
    line->text = text;
    line->len = at;
    return at > 0;
}

/* Without its end, and the carriage return of another system. */
static size_t line_len(const char *text, size_t left, size_t *with_end)
{
    const char *end = memchr(text, '\n', left);
    size_t len = end ? (size_t)(end - text) : left;
    *with_end = len + (end != NULL);
    return len > 0 && text[len - 1] == '\r' ? len - 1 : len;
}

static int is_skipped(const char *text, size_t len)
{
    return len == 0 || text[0] == '#';
}

static int has_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 && text[i] != '\t')
            return 1;
    return 0;
}

/* A stack may be longer than what is looked at. Then it has names, and is no other format's text.
 */
static int is_long_line(const char *text, size_t len)
{
    return len >= LONG_LINE && !memchr("{[<", text[0], 3);
}

/* Every whole line has a number at its end, which may be one that the reader refuses, and one has
 * two names. */
int kymo_collapsed_is(const char *head, size_t len)
{
    size_t whole;
    int lines = 0;
    int has_names = 0;
    for (size_t at = 0; at < len; at += whole) {
        size_t n = line_len(head + at, len - at, &whole);
        int is_cut = at + whole == len && head[len - 1] != '\n';
        if (is_skipped(head + at, n) || (is_cut && lines > 0))
            continue;
        if (has_control(head + at, n))
            return 0;
        has_names |= memchr(head + at, ';', n) != NULL;
        if (!find_number(head + at, n) && !(is_cut && is_long_line(head + at, n)))
            return 0;
        lines++;
    }
    return lines > 0 && has_names;
}

/* ---- reading ---- */

static kymo_category take_kind(const char *name, size_t *len)
{
    for (size_t i = 0; i < KYMO_ARRAY_LEN(kinds); i++) {
        size_t n = strlen(kinds[i].suffix);
        if (*len > n && memcmp(name + *len - n, kinds[i].suffix, n) == 0) {
            *len -= n;
            return kinds[i].category;
        }
    }
    return KYMO_CATEGORY_OTHER;
}

static kymo_err add_name(kymo_importer *d, const char *name, size_t len, uint32_t *stack)
{
    kymo_category category = take_kind(name, &len);
    kymo_function function = {.module = KYMO_NONE};
    uint32_t id;
    uint32_t frame;
    KYMO_TRY(kymo_import_string(d, len ? name : "?", len ? len : 1, &function.name));
    KYMO_TRY(kymo_import_function(d, &function, 0, &id));
    KYMO_TRY(kymo_profile_add_label_frame(d->profile, id, category, &frame));
    return kymo_import_stack(d, *stack, frame, stack);
}

static kymo_err add_line(kymo_importer *d, const struct line *line, uint32_t place)
{
    uint32_t stack = KYMO_NONE;
    size_t depth = 0;
    for (size_t at = 0; at <= line->len; depth++) {
        const char *end = memchr(line->text + at, ';', line->len - at);
        size_t len = end ? (size_t)(end - line->text) - at : line->len - at;
        if (depth == KYMO_IMPORT_DEPTH_MAX)
            return kymo_import_unsupported(d, (uint64_t)(line->text - d->data),
                                           "a stack has more than %u frames",
                                           KYMO_IMPORT_DEPTH_MAX);
        KYMO_TRY(add_name(d, line->text + at, len, &stack));
        at += len + 1;
    }
    kymo_imported_thread *thread = &d->threads.data[place];
    KYMO_TRY(kymo_import_check_room(d));
    const kymo_sample sample = {.size = sizeof sample,
                                .thread = thread->thread,
                                .time_ns = thread->weight,
                                .stack = stack,
                                .labels = KYMO_NONE,
                                .values = &line->count,
                                .value_count = 1};
    thread->weight += STEP_NS;
    return kymo_profile_add_sample_values(d->profile, &sample, d->detail);
}

static kymo_err begin(kymo_importer *d, uint32_t *place)
{
    static const kymo_sample_type type = {
        .size = sizeof type, .name = "samples", .unit = "count", .is_default = 1};
    const kymo_meta meta = {.size = sizeof meta, .format = d->format};
    uint32_t name;
    uint32_t process;
    KYMO_TRY(kymo_profile_set_sample_types(d->profile, &type, 1, d->detail));
    KYMO_TRY(kymo_profile_set_meta(d->profile, &meta));
    KYMO_TRY(kymo_import_process(d, 0, "all", &process));
    KYMO_TRY(kymo_import_string(d, "all threads", 11, &name));
    return kymo_import_thread(d, 0, 0, name, place);
}

/* Why a line has no count. number: where its last word begins; 0: that is no number. */
static kymo_err refuse(kymo_importer *d, const char *text, size_t len, size_t number)
{
    const char *end = d->data;
    unsigned long long line = 1;
    for (; (end = memchr(end, '\n', (size_t)(text - end))); end++)
        line++;
    if (number == 0)
        return kymo_import_fault(d, (uint64_t)(text - d->data),
                                 "line %llu has no number at its end", line);
    return kymo_import_unsupported(d, (uint64_t)(text - d->data),
                                   "line %llu has the count %.*s, which is %s: counts are from 0 "
                                   "to 2^64-1",
                                   line, (int)(len - number < 40 ? len - number : 40),
                                   text + number, text[number] == '-' ? "below 0" : "too large");
}

kymo_err kymo_collapsed_read(kymo_importer *d)
{
    uint32_t place;
    size_t whole;
    struct line line, before;
    int has_one = 0; /* a line has one number, not two as a difference of profiles has */
    KYMO_TRY(begin(d, &place));
    for (size_t at = 0; at < d->len; at += whole) {
        size_t n = line_len(d->data + at, d->len - at, &whole);
        if (is_skipped(d->data + at, n))
            continue;
        if (!split(d->data + at, n, &line) && at + whole == d->len && d->data[d->len - 1] != '\n')
            return kymo_import_cut(d);
        if (!split(d->data + at, n, &line))
            return refuse(d, d->data + at, n, find_number(d->data + at, n));
        has_one |= !split(line.text, line.len, &before);
        KYMO_TRY(add_line(d, &line, place));
    }
    if (!has_one)
        return kymo_import_unsupported(d, 0,
                                       "each line has two numbers: a difference of profiles is not "
                                       "read; kymo diff A B compares the two themselves");
    return KYMO_OK;
}
