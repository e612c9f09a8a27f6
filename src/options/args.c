/* SPDX-License-Identifier: Apache-2.0 */
#include "options/args.h"

#include <string.h>

#include "options/options.h"

const kymo_switch_info kymo_switch_table[KYMO_SWITCH_COUNT] = {
#define KYMO_SWITCH(id, letter_, name_, value_, commands_, help_) \
    {.name = name_, .value_name = value_, .help = help_, .commands = commands_, .letter = letter_},
#include "options/options.def"
#undef KYMO_SWITCH
};

static int name_is(const char *name, size_t len, const char *known)
{
    return strlen(known) == len && memcmp(name, known, len) == 0;
}

static kymo_err unknown(const kymo_args *args, const char *name, size_t len, kymo_error *detail)
{
    struct kymo_suggestion best;
    kymo_suggest_start(&best, name, len);
    for (size_t i = 0; i < KYMO_SWITCH_COUNT; i++)
        if (kymo_switch_table[i].commands & args->command)
            kymo_suggest_try(&best, kymo_switch_table[i].name);
    for (size_t i = 0; args->options && i < KYMO_OPTION_COUNT; i++)
        kymo_suggest_try(&best, kymo_option_table[i].name);
    const char *near = kymo_suggest_best(&best);
    return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "unknown option '--%.*s'%s%s%s",
                          len > 40 ? 40 : (int)len, name, near ? "; did you mean '--" : "",
                          near ? near : "", near ? "'?" : "");
}

static kymo_err take_switch(kymo_args *args, kymo_switch_id id, const char *inline_value,
                            const char *shown_as, kymo_arg *out, kymo_error *detail)
{
    const kymo_switch_info *info = &kymo_switch_table[id];
    *out = (kymo_arg){.kind = KYMO_ARG_SWITCH, .switch_id = id, .value = inline_value};
    if (!info->value_name || inline_value)
        return KYMO_OK;
    if (args->next >= args->argc)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "option '%s' needs a value: %s %s",
                              shown_as, shown_as, info->value_name);
    out->value = args->argv[args->next++];
    return KYMO_OK;
}

/* "--name" or "--name=value". *done says whether *out was filled: a setting fills nothing. */
static kymo_err long_option(kymo_args *args, const char *text, kymo_arg *out, int *done,
                            kymo_error *detail)
{
    const char *name = text + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] == '=' ? name + len + 1 : NULL;

    for (size_t i = 0; i < KYMO_SWITCH_COUNT; i++) {
        const kymo_switch_info *info = &kymo_switch_table[i];
        if (!(info->commands & args->command) || !name_is(name, len, info->name))
            continue;
        if (value && !info->value_name)
            return kymo_error_set(detail, KYMO_E_INVALID, 0, "option '--%s' takes no value",
                                  info->name);
        *done = 1;
        return take_switch(args, (kymo_switch_id)i, value, text, out, detail);
    }
    for (size_t i = 0; args->options && i < KYMO_OPTION_COUNT; i++) {
        const kymo_option_info *info = &kymo_option_table[i];
        if (!name_is(name, len, info->name))
            continue;
        /* A setting that may stand alone takes as its value only what begins with a digit and is
         * one, else `--cpu ./program` would eat the program. */
        const char *next = args->next < args->argc ? args->argv[args->next] : NULL;
        int is_value =
            next &&
            (!(info->flags & KYMO_OPTION_BARE) ||
             (next[0] >= '0' && next[0] <= '9' && kymo_option_is_value((kymo_option_id)i, next)));
        if (!value && is_value) {
            value = next;
            args->next++;
        }
        return kymo_options_set(args->options, name, len, value, value ? strlen(value) : 0, detail);
    }
    return unknown(args, name, len, detail);
}

/* One letter of "-fq" or "-oFILE". */
static kymo_err short_option(kymo_args *args, kymo_arg *out, kymo_error *detail)
{
    char letter = *args->cluster++;
    const char *rest = *args->cluster ? args->cluster : NULL;
    args->cluster = rest;
    for (size_t i = 0; i < KYMO_SWITCH_COUNT; i++) {
        const kymo_switch_info *info = &kymo_switch_table[i];
        if (!(info->commands & args->command) || info->letter != letter)
            continue;
        if (info->value_name)
            args->cluster = NULL;
        char shown_as[3] = {'-', letter, '\0'};
        return take_switch(args, (kymo_switch_id)i, info->value_name ? rest : NULL, shown_as, out,
                           detail);
    }
    if (letter >= ' ' && letter <= '~')
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "unknown option '-%c'", letter);
    return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "unknown option, byte 0x%02x after '-'",
                          (unsigned)(unsigned char)letter);
}

kymo_err kymo_args_next(kymo_args *args, kymo_arg *out, kymo_error *detail)
{
    int done = 0;
    while (!done) {
        if (args->cluster)
            return short_option(args, out, detail);
        const char *text = args->next < args->argc ? args->argv[args->next] : NULL;
        if (!text || (args->stop_at_operand && args->after_dashes)) {
            *out = (kymo_arg){.kind = KYMO_ARG_END};
            return KYMO_OK;
        }
        if (!args->after_dashes && strcmp(text, "--") == 0) {
            args->after_dashes = 1;
            args->next++;
            continue;
        }
        if (args->after_dashes || text[0] != '-' || text[1] == '\0') {
            *out = (kymo_arg){.kind = KYMO_ARG_OPERAND, .value = text};
            if (args->stop_at_operand)
                out->kind = KYMO_ARG_END;
            else
                args->next++;
            return KYMO_OK;
        }
        args->next++;
        if (text[1] == '-')
            KYMO_TRY(long_option(args, text, out, &done, detail));
        else
            args->cluster = text + 1;
    }
    return KYMO_OK;
}
