/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table is expanded three times: into the fields of the struct (options.h), into
 * kymo_option_table (what the text of an option means) and into the offsets of the fields. All
 * values are uint64_t, so that one setter serves every row.
 *
 * Only memory of the caller is used and only plain functions of libc are called, since the
 * preloaded library parses options in a constructor inside the recorded program.
 */
#include "options/options.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/word_list.h"

const kymo_option_info kymo_option_table[KYMO_OPTION_COUNT] = {
#define KYMO_OPTION(id, field, name_, type_, def_, least_, most_, word_, choices_, value_, flags_, \
                    help_)                                                                         \
    {.name = name_,                                                                                \
     .value_name = value_,                                                                         \
     .word = word_,                                                                                \
     .choices = choices_,                                                                          \
     .help = help_,                                                                                \
     .def = def_,                                                                                  \
     .least = least_,                                                                              \
     .most = most_,                                                                                \
     .type = KYMO_OPTION_TYPE_##type_,                                                             \
     .flags = flags_},
#include "options/options.def"
#undef KYMO_OPTION
};

static const size_t field_offset[KYMO_OPTION_COUNT] = {
#define KYMO_OPTION(id, field, name, type, def, least, most, word, choices, value, flags, help) \
    offsetof(kymo_options, field),
#include "options/options.def"
#undef KYMO_OPTION
};

_Static_assert((int)KYMO_OPTION_COUNT <= 64, "kymo_options.given has one bit per option");

struct unit {
    const char *name;
    uint64_t factor;
};

/* From the largest to the smallest, so that the first that divides a value prints it shortest. */
static const struct unit time_units[] = {
    {"h", 3600000000000ull}, {"m", 60000000000ull}, {"s", 1000000000ull},
    {"ms", 1000000ull},      {"us", 1000ull},       {"ns", 1ull},
};
static const struct unit size_units[] = {
    {"g", 1ull << 30},
    {"m", 1ull << 20},
    {"k", 1ull << 10},
    {"", 1ull},
};
/* What is read as well. */
static const struct unit more_size_units[] = {
    {"G", 1ull << 30},   {"M", 1ull << 20},   {"K", 1ull << 10},
    {"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1ull << 10},
};

static uint64_t *field_of(kymo_options *options, kymo_option_id id)
{
    return (uint64_t *)(void *)((char *)options + field_offset[id]);
}

uint64_t kymo_options_get(const kymo_options *options, kymo_option_id id)
{
    return *(const uint64_t *)(const void *)((const char *)options + field_offset[id]);
}

const char *kymo_options_list(const kymo_options *options, kymo_option_id id)
{
    return options->lists[kymo_option_table[id].least];
}

void kymo_options_init(kymo_options *options)
{
    memset(options, 0, sizeof *options);
    for (int i = 0; i < (int)KYMO_OPTION_COUNT; i++)
        *field_of(options, (kymo_option_id)i) = kymo_option_table[i].def;
}

static int text_is(const char *text, size_t len, const char *word)
{
    return word && strlen(word) == len && memcmp(text, word, len) == 0;
}

/* Digits, at most nine decimals, and one of the units: "250us", "1.5m". The product must be a
 * whole number that fits. */
static kymo_err parse_scaled(const char *text, size_t len, const struct unit *units, size_t n_units,
                             uint64_t *out)
{
    uint64_t whole = 0;
    uint64_t fraction = 0;
    uint64_t fraction_scale = 1;
    size_t i = 0;
    int too_big = 0;

    for (; i < len && text[i] >= '0' && text[i] <= '9'; i++)
        if (__builtin_mul_overflow(whole, 10u, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(text[i] - '0'), &whole))
            too_big = 1;
    if (i == 0)
        return KYMO_E_INVALID;
    if (i < len && text[i] == '.') {
        size_t first = ++i;
        for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
            if (i - first >= 9)
                return KYMO_E_INVALID;
            fraction = fraction * 10 + (uint64_t)(text[i] - '0');
            fraction_scale *= 10;
        }
        if (i == first)
            return KYMO_E_INVALID;
    }
    for (size_t u = 0; u < n_units; u++) {
        uint64_t scaled;
        if (!text_is(text + i, len - i, units[u].name))
            continue;
        /* Below 10^9 times below 2^42: no overflow. */
        uint64_t part = fraction * units[u].factor;
        if (part % fraction_scale != 0)
            return KYMO_E_INVALID;
        if (too_big || __builtin_mul_overflow(whole, units[u].factor, &scaled) ||
            __builtin_add_overflow(scaled, part / fraction_scale, &scaled))
            return KYMO_E_RANGE;
        *out = scaled;
        return KYMO_OK;
    }
    return KYMO_E_INVALID;
}

kymo_err kymo_parse_size(const char *text, size_t len, uint64_t *out)
{
    if (parse_scaled(text, len, more_size_units, KYMO_ARRAY_LEN(more_size_units), out) == KYMO_OK)
        return KYMO_OK;
    return parse_scaled(text, len, size_units, KYMO_ARRAY_LEN(size_units), out);
}

kymo_err kymo_parse_time(const char *text, size_t len, uint64_t *out_ns)
{
    if (text_is(text, len, "0")) {
        *out_ns = 0;
        return KYMO_OK;
    }
    return parse_scaled(text, len, time_units, KYMO_ARRAY_LEN(time_units), out_ns);
}

static kymo_err parse_choice(const char *choices, const char *text, size_t len, uint64_t *out)
{
    uint64_t position = 0;
    for (const char *c = choices; *c; position++) {
        size_t n = strcspn(c, "|");
        if (n == len && memcmp(c, text, len) == 0) {
            *out = position;
            return KYMO_OK;
        }
        c += n + (c[n] == '|');
    }
    return KYMO_E_INVALID;
}

/* Signals that do not kill a program by default, and the real-time ones, which programs do not send
 * by chance. Any other would kill the program if one of ours were pending across an exec. */
static kymo_err parse_signal(const char *text, size_t len, uint64_t *out)
{
    if (len > 3 && memcmp(text, "SIG", 3) == 0) {
        text += 3;
        len -= 3;
    }
    if (text_is(text, len, "URG")) {
        *out = SIGURG;
        return KYMO_OK;
    }
    if (text_is(text, len, "WINCH")) {
        *out = SIGWINCH;
        return KYMO_OK;
    }
    int up = len > 5 && memcmp(text, "RTMIN", 5) == 0;
    int down = len > 5 && memcmp(text, "RTMAX", 5) == 0;
    if (text_is(text, len, "RTMIN") || text_is(text, len, "RTMAX")) {
        *out = (uint64_t)(text[2] == 'M' && text[3] == 'I' ? SIGRTMIN : SIGRTMAX);
        return KYMO_OK;
    }
    if (!(up && text[5] == '+') && !(down && text[5] == '-'))
        return KYMO_E_INVALID;
    int n = 0;
    if (len < 7 || len > 8)
        return KYMO_E_INVALID;
    for (size_t i = 6; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return KYMO_E_INVALID;
        n = n * 10 + (text[i] - '0');
    }
    if (n > SIGRTMAX - SIGRTMIN)
        return KYMO_E_RANGE;
    *out = (uint64_t)(up ? SIGRTMIN + n : SIGRTMAX - n);
    return KYMO_OK;
}

static kymo_err parse_value(const kymo_option_info *info, const char *text, size_t len,
                            uint64_t *out)
{
    uint64_t value = 0;
    if (info->word && text_is(text, len, info->word)) {
        *out = 0;
        return KYMO_OK;
    }
    switch (info->type) {
    case KYMO_OPTION_TYPE_TIME:
        KYMO_TRY(parse_scaled(text, len, time_units, KYMO_ARRAY_LEN(time_units), &value));
        break;
    case KYMO_OPTION_TYPE_SIZE:
        KYMO_TRY(kymo_parse_size(text, len, &value));
        break;
    case KYMO_OPTION_TYPE_NUMBER:
        KYMO_TRY(parse_scaled(text, len, &size_units[3], 1, &value));
        break;
    case KYMO_OPTION_TYPE_CHOICE:
        return parse_choice(info->choices, text, len, out);
    case KYMO_OPTION_TYPE_SIGNAL:
        return parse_signal(text, len, out);
    case KYMO_OPTION_TYPE_LIST:
        if (len == 0 || !kymo_word_list_is(text, len))
            return KYMO_E_INVALID;
        if (len > info->most)
            return KYMO_E_RANGE;
        *out = len;
        return KYMO_OK;
    }
    if (value == 0 && (info->flags & KYMO_OPTION_ZERO_IS_LEAST))
        value = info->least;
    if (value < info->least || value > info->most)
        return KYMO_E_RANGE;
    *out = value;
    return KYMO_OK;
}

static const char *form_of(kymo_option_type type)
{
    switch (type) {
    case KYMO_OPTION_TYPE_TIME:
        return "a time with its unit (ns us ms s m h)";
    case KYMO_OPTION_TYPE_SIZE:
        return "a size in bytes, or with k, m or g";
    case KYMO_OPTION_TYPE_NUMBER:
        return "a whole number";
    case KYMO_OPTION_TYPE_CHOICE:
        return "one of its values";
    case KYMO_OPTION_TYPE_SIGNAL:
        return "a signal that it may use";
    case KYMO_OPTION_TYPE_LIST:
        return "a list of names";
    }
    return "a value";
}

static const char *suggest_option(const char *name, size_t len)
{
    struct kymo_suggestion best;
    kymo_suggest_start(&best, name, len);
    for (size_t i = 0; i < KYMO_OPTION_COUNT; i++)
        kymo_suggest_try(&best, kymo_option_table[i].name);
    return kymo_suggest_best(&best);
}

/* As much of foreign text as belongs in one line of a message. */
static int shown(size_t len)
{
    return len > 40 ? 40 : (int)len;
}

kymo_err kymo_options_set(kymo_options *options, const char *name, size_t name_len,
                          const char *value, size_t value_len, kymo_error *detail)
{
    const kymo_option_info *info = NULL;
    int id = 0;
    for (; id < (int)KYMO_OPTION_COUNT && !info; id++)
        if (text_is(name, name_len, kymo_option_table[id].name))
            info = &kymo_option_table[id];
    id--;
    if (!info) {
        const char *near = suggest_option(name, name_len);
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "unknown option '%.*s'%s%s%s",
                              shown(name_len), name, near ? "; did you mean '" : "",
                              near ? near : "", near ? "'?" : "");
    }

    uint64_t parsed = info->flags >> 2 ? info->flags >> 2 : info->def;
    char range[KYMO_OPTION_TEXT_MAX];
    if (!value && !(info->flags & KYMO_OPTION_BARE))
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "option %s needs a value: %s=%s, %s",
                              info->name, info->name, info->value_name,
                              kymo_option_format_range((kymo_option_id)id, range));
    int is_all = id == (int)KYMO_OPTION_COUNTERS && value && text_is(value, value_len, "all");
    if (is_all)
        parsed = info->def;
    else if (value) {
        kymo_err err = parse_value(info, value, value_len, &parsed);
        if (err == KYMO_E_RANGE)
            return kymo_error_set(detail, err, 0, "option %s: %.*s is out of range: it takes %s",
                                  info->name, shown(value_len), value,
                                  kymo_option_format_range((kymo_option_id)id, range));
        if (err != KYMO_OK)
            return kymo_error_set(detail, err, 0, "option %s: '%.*s' is not %s: it takes %s",
                                  info->name, shown(value_len), value, form_of(info->type),
                                  kymo_option_format_range((kymo_option_id)id, range));
    }
    if (id == (int)KYMO_OPTION_COUNTERS)
        options->all_counters = (uint64_t)is_all;
    *field_of(options, (kymo_option_id)id) = parsed;
    if (info->type == KYMO_OPTION_TYPE_LIST) {
        char *list = options->lists[info->least];
        memset(list, 0, sizeof options->lists[0]);
        if (parsed)
            memcpy(list, value, parsed);
    }
    options->given |= 1ull << id;
    return KYMO_OK;
}

int kymo_option_is_value(kymo_option_id id, const char *text)
{
    uint64_t value;
    kymo_err err = parse_value(&kymo_option_table[id], text, strlen(text), &value);
    return err == KYMO_OK || err == KYMO_E_RANGE;
}

/* Without the blanks at both ends. */
static const char *trim(const char *text, size_t *len)
{
    while (*len > 0 && strchr(" \t\r\n", *text)) {
        text++;
        --*len;
    }
    while (*len > 0 && strchr(" \t\r\n", text[*len - 1]))
        --*len;
    return text;
}

kymo_err kymo_options_parse(kymo_options *options, const char *list, kymo_error *detail)
{
    kymo_options result = *options;
    for (const char *item = list; *item;) {
        size_t len = strcspn(item, ",");
        size_t name_len = strcspn(item, ",=");
        const char *value = name_len < len ? item + name_len + 1 : NULL;
        size_t value_len = value ? len - name_len - 1 : 0;
        const char *name = trim(item, &name_len);
        value = value ? trim(value, &value_len) : NULL;
        if (name_len > 0 || value) {
            kymo_err err = kymo_options_set(&result, name, name_len, value, value_len, detail);
            if (err != KYMO_OK) {
                if (detail)
                    detail->position = (uint64_t)(item - list);
                return err;
            }
        }
        item += len + (item[len] == ',');
    }
    *options = result;
    return KYMO_OK;
}

static void format_scaled(uint64_t value, const struct unit *units, size_t n_units,
                          char out[KYMO_OPTION_TEXT_MAX])
{
    size_t u = 0;
    while (u + 1 < n_units && (value == 0 || value % units[u].factor != 0))
        u++;
    snprintf(out, KYMO_OPTION_TEXT_MAX, "%" PRIu64 "%s", value / units[u].factor, units[u].name);
}

const char *kymo_option_format_value(kymo_option_id id, uint64_t value,
                                     char out[KYMO_OPTION_TEXT_MAX])
{
    const kymo_option_info *info = &kymo_option_table[id];
    if (info->word && value == 0) {
        snprintf(out, KYMO_OPTION_TEXT_MAX, "%s", info->word);
        return out;
    }
    switch (info->type) {
    case KYMO_OPTION_TYPE_TIME:
        format_scaled(value, time_units, KYMO_ARRAY_LEN(time_units), out);
        break;
    case KYMO_OPTION_TYPE_SIZE:
        format_scaled(value, size_units, KYMO_ARRAY_LEN(size_units), out);
        break;
    case KYMO_OPTION_TYPE_NUMBER:
        snprintf(out, KYMO_OPTION_TEXT_MAX, "%" PRIu64, value);
        break;
    case KYMO_OPTION_TYPE_CHOICE: {
        const char *c = info->choices;
        for (; value > 0 && *c; value--)
            c += strcspn(c, "|") + 1;
        snprintf(out, KYMO_OPTION_TEXT_MAX, "%.*s", (int)strcspn(c, "|"), c);
        break;
    }
    case KYMO_OPTION_TYPE_SIGNAL:
        if (value == SIGURG || value == SIGWINCH)
            snprintf(out, KYMO_OPTION_TEXT_MAX, "%s", value == SIGURG ? "URG" : "WINCH");
        else
            snprintf(out, KYMO_OPTION_TEXT_MAX, "RTMAX-%d", SIGRTMAX - (int)value);
        break;
    case KYMO_OPTION_TYPE_LIST:
        snprintf(out, KYMO_OPTION_TEXT_MAX, "%s", info->value_name);
        break;
    }
    return out;
}

const char *kymo_option_format_range(kymo_option_id id, char out[KYMO_OPTION_TEXT_MAX])
{
    const kymo_option_info *info = &kymo_option_table[id];
    char least[KYMO_OPTION_TEXT_MAX];
    char most[KYMO_OPTION_TEXT_MAX];
    size_t len = 0;

    if (info->type == KYMO_OPTION_TYPE_SIGNAL) {
        snprintf(out, KYMO_OPTION_TEXT_MAX, "%s, URG, WINCH, RTMIN+n or RTMAX-n, n from 0 to %d",
                 info->word, SIGRTMAX - SIGRTMIN);
        return out;
    }
    if (info->type == KYMO_OPTION_TYPE_LIST) {
        snprintf(out, KYMO_OPTION_TEXT_MAX, "%s, or names with colons between", info->word);
        return out;
    }
    if (info->type != KYMO_OPTION_TYPE_CHOICE) {
        kymo_option_format_value(id, info->least, least);
        kymo_option_format_value(id, info->most, most);
        snprintf(out, KYMO_OPTION_TEXT_MAX, "%s%sfrom %.30s to %.30s", info->word ? info->word : "",
                 info->word ? ", or " : "", least, most);
        return out;
    }
    for (const char *c = info->choices; *c;) {
        size_t n = strcspn(c, "|");
        int last = c[n] == '\0';
        int first = c == info->choices;
        if (len < KYMO_OPTION_TEXT_MAX)
            len += (size_t)snprintf(out + len, KYMO_OPTION_TEXT_MAX - len, "%s%.*s",
                                    first  ? ""
                                    : last ? " or "
                                           : ", ",
                                    (int)n, c);
        c += n + !last;
    }
    return out;
}

size_t kymo_options_format(const kymo_options *options, char *out, size_t cap)
{
    size_t len = 0;
    char value[KYMO_OPTION_TEXT_MAX];
    if (cap > 0)
        out[0] = '\0';
    for (int id = 0; id < (int)KYMO_OPTION_COUNT; id++) {
        if (!(options->given >> id & 1))
            continue;
        const kymo_option_info *info = &kymo_option_table[id];
        uint64_t number = kymo_options_get(options, (kymo_option_id)id);
        const char *text = info->type == KYMO_OPTION_TYPE_LIST && number
                               ? options->lists[info->least]
                           : id == (int)KYMO_OPTION_COUNTERS && options->all_counters
                               ? "all"
                               : kymo_option_format_value((kymo_option_id)id, number, value);
        int n = snprintf(len < cap ? out + len : NULL, len < cap ? cap - len : 0, "%s%s=%s",
                         len ? "," : "", info->name, text);
        len += (size_t)n;
    }
    return len;
}
