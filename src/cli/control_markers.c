/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/control_markers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "control/categories.h"
#include "control/control.h"

static kymo_err read_text(int fd, kymo_str *text, kymo_error *detail)
{
    char buffer[4096];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0)
        kymo_str_append(text, buffer, (size_t)n);
    return n == 0 ? KYMO_OK : kymo_error_set_errno(detail, "the recorder's list");
}

static kymo_err ask(pid_t pid, pid_t whose, struct kymo_categories *categories, kymo_error *detail)
{
    const struct kymo_control_request request = {.what = KYMO_CONTROL_CATEGORIES, .pid = whose};
    struct kymo_control_answer answer;
    kymo_str text = {0};
    int fd = -1;
    KYMO_TRY(kymo_control_ask(pid, &request, &answer, &fd, detail));
    kymo_err err = read_text(fd, &text, detail);
    close(fd);
    if (err == KYMO_OK && text.len > 0)
        err = kymo_categories_read(categories, text.data);
    kymo_str_deinit(&text);
    return err;
}

static void print_row(const struct kymo_category_row *row)
{
    char on[48] = "on";
    if (row->on == 0)
        snprintf(on, sizeof on, "off");
    else if (row->on < row->of)
        snprintf(on, sizeof on, "on in %u of %u", row->on, row->of);
    kymo_fprint(stdout, "%-4s %s%s\n", on, row->path,
                row->is_quiet ? "  (quiet: on only by its name)" : "");
}

kymo_err kymo_print_categories(pid_t pid, kymo_error *detail)
{
    struct kymo_categories categories = {0};
    kymo_err err = ask(pid, pid, &categories, detail);
    for (size_t i = 0; err == KYMO_OK && i < categories.rows.len; i++)
        print_row(&categories.rows.data[i]);
    if (err == KYMO_OK && categories.rows.len == 0)
        kymo_fprint(stderr, "kymo: no program that is recorded there has markers\n");
    kymo_categories_deinit(&categories);
    return err;
}

/* It may be longer than an error's message. */
static void say_unknown(const struct kymo_categories *categories, const kymo_str *word)
{
    kymo_str names = {0};
    kymo_categories_names(categories, &names);
    kymo_fprint(stderr,
                "kymo: %s is no category%s%s (-f selects it all the same, for a library that comes "
                "later)\n",
                kymo_str_cstr(word), names.len ? "; there are: " : ", and there is none yet",
                kymo_str_cstr(&names));
    kymo_str_deinit(&names);
}

kymo_err kymo_check_categories(pid_t pid, const char *list, int *are_known, kymo_error *detail)
{
    struct kymo_categories categories = {0};
    kymo_str word = {0};
    kymo_err err = ask(pid, 0, &categories, detail);
    if (err == KYMO_OK) {
        *are_known = !kymo_categories_unknown(&categories, list, &word);
        if (!*are_known)
            say_unknown(&categories, &word);
    }
    kymo_str_deinit(&word);
    kymo_categories_deinit(&categories);
    return err;
}
