/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page says what the tables say: every option, its range and its default, every command,
 * and nothing that does not exist. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "unit.h"

static char page[1 << 16];

/* The text of the page without fonts, macros' names and line breaks. */
static int read_page(void **state)
{
    (void)state;
    FILE *f = fopen(KYMO_MANUAL, "r");
    char line[1024];
    size_t len = 0;
    if (!f)
        return -1;
    while (fgets(line, sizeof line, f)) {
        const char *c = line;
        if (strncmp(line, ".\\\"", 3) == 0)
            continue;
        if (*c == '.')
            c += 1 + strcspn(c + 1, " \n");
        for (; *c && len + 2 < sizeof page; c++) {
            if (strncmp(c, "\\f", 2) == 0)
                c += 2;
            else if (*c != '\\' && *c != '"')
                page[len++] = *c == '\n' ? ' ' : *c;
        }
    }
    page[len] = '\0';
    fclose(f);
    return 0;
}

/* The entry of an option, below the heading OPTIONS: from its name to the next option's. */
static const char *entry(const char *name)
{
    static char text[4096];
    char head[64];
    snprintf(head, sizeof head, "--%s", name);
    const char *at = strstr(page, " OPTIONS ");
    assert_non_null(at);
    for (; (at = strstr(at, head)); at++) {
        const char *end = at + strlen(head);
        if (islower((unsigned char)*end) || *end == '-')
            continue;
        const char *next = strstr(end, " --");
        size_t len = next ? (size_t)(next - at) : strlen(at);
        /* A mention in passing has no description; the entry does. */
        if (len < 30)
            continue;
        assert_true(len < sizeof text);
        memcpy(text, at, len);
        text[len] = '\0';
        return text;
    }
    return NULL;
}

static void every_setting_with_its_range(void **state)
{
    (void)state;
    for (int i = 0; i < (int)KYMO_OPTION_COUNT; i++) {
        const kymo_option_info *info = &kymo_option_table[i];
        char range[KYMO_OPTION_TEXT_MAX];
        char value[KYMO_OPTION_TEXT_MAX];
        char wanted[KYMO_OPTION_TEXT_MAX + 16];
        const char *text = entry(info->name);
        if (!text)
            fail_msg("--%s is not in the manual", info->name);
        kymo_option_format_range((kymo_option_id)i, range);
        if (!strstr(text, range))
            fail_msg("--%s: \"%s\" is not in \"%s\"", info->name, range, text);
        snprintf(wanted, sizeof wanted, "default %s",
                 kymo_option_format_value((kymo_option_id)i, info->def, value));
        if (!strstr(text, wanted))
            fail_msg("--%s: \"%s\" is not in \"%s\"", info->name, wanted, text);
        if (!strstr(text, info->value_name))
            fail_msg("--%s: \"%s\" is not in \"%s\"", info->name, info->value_name, text);
    }
}

static void every_switch_with_its_commands(void **state)
{
    (void)state;
    for (int i = 0; i < (int)KYMO_SWITCH_COUNT; i++) {
        const kymo_switch_info *info = &kymo_switch_table[i];
        const char *text = entry(info->name);
        if (!text)
            fail_msg("--%s is not in the manual", info->name);
        for (size_t c = 0; i != KYMO_SWITCH_HELP && c < kymo_command_count; c++) {
            int has = info->commands & kymo_commands[c].mask ? 1 : 0;
            const char *paren = strchr(text, '(');
            size_t len = paren ? strcspn(paren, ")") : 0;
            int says = paren && memmem(paren, len, kymo_commands[c].name,
                                       strlen(kymo_commands[c].name)) != NULL;
            if (has != says)
                fail_msg("--%s and %s: \"%s\"", info->name, kymo_commands[c].name, text);
        }
    }
}

static void every_command(void **state)
{
    (void)state;
    for (size_t c = 0; c < kymo_command_count; c++) {
        char text[32];
        snprintf(text, sizeof text, "kymo %s", kymo_commands[c].name);
        assert_non_null(strstr(page, text));
    }
}

static int exists(const char *name, size_t len)
{
    for (int i = 0; i < (int)KYMO_OPTION_COUNT; i++)
        if (strlen(kymo_option_table[i].name) == len &&
            memcmp(kymo_option_table[i].name, name, len) == 0)
            return 1;
    for (int i = 0; i < (int)KYMO_SWITCH_COUNT; i++)
        if (strlen(kymo_switch_table[i].name) == len &&
            memcmp(kymo_switch_table[i].name, name, len) == 0)
            return 1;
    return len == 7 && memcmp(name, "version", 7) == 0;
}

static void nothing_that_does_not_exist(void **state)
{
    (void)state;
    size_t seen = 0;
    for (const char *at = page; (at = strstr(at, "--")); at += 2) {
        size_t len = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
        if (len == 0 || strncmp(at, "--port", 6) == 0) /* of a program in an example */
            continue;
        if (!exists(at + 2, len))
            fail_msg("the manual speaks of --%.*s", (int)len, at + 2);
        seen++;
    }
    assert_true(seen >= KYMO_OPTION_COUNT + KYMO_SWITCH_COUNT);
}

/* Help is made from the table; it is enough that it can be printed for each command. */
static void help_has_examples(void **state)
{
    (void)state;
    for (size_t c = 0; c < kymo_command_count; c++) {
        char *text;
        size_t len;
        FILE *to = open_memstream(&text, &len);
        kymo_help_print_command(to, &kymo_commands[c]);
        fclose(to);
        assert_non_null(strstr(text, "usage: kymo "));
        assert_non_null(strstr(text, "\nExamples:\n  kymo "));
        char *rest = text;
        for (char *line; (line = strsep(&rest, "\n"));)
            if (strlen(line) > 90)
                fail_msg("too wide: %s", line);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_with_its_range),
        cmocka_unit_test(every_switch_with_its_commands),
        cmocka_unit_test(every_command),
        cmocka_unit_test(nothing_that_does_not_exist),
        cmocka_unit_test(help_has_examples),
    };
    return cmocka_run_group_tests(tests, read_page, NULL);
}
