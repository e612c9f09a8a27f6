/* SPDX-License-Identifier: Apache-2.0 */
#include "views/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"

static kymo_terminal kept; /* zeros until kymo_terminal_keep */

void kymo_terminal_keep(FILE *to)
{
    kept = kymo_terminal_of(to);
}

kymo_terminal kymo_terminal_of(FILE *to)
{
    kymo_terminal t = {.to = to};
    struct winsize size;
    const char *no_colour = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (kept.to == to)
        return kept;
    if (!isatty(fileno(to)))
        return t;
    t.width = ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col >= 40 ? size.ws_col : 80;
    t.colour = !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0;
    return t;
}

const char *kymo_terminal_bold(const kymo_terminal *t)
{
    return t->colour ? "\033[1m" : "";
}

const char *kymo_terminal_dim(const kymo_terminal *t)
{
    return t->colour ? "\033[2m" : "";
}

const char *kymo_terminal_good(const kymo_terminal *t)
{
    return t->colour ? "\033[32m" : "";
}

const char *kymo_terminal_bad(const kymo_terminal *t)
{
    return t->colour ? "\033[31m" : "";
}

const char *kymo_terminal_reset(const kymo_terminal *t)
{
    return t->colour ? "\033[0m" : "";
}

static int continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

size_t kymo_terminal_columns(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += !continues(*text);
    return n;
}

/* The position after n characters. */
static const char *skip(const char *text, size_t n)
{
    while (*text && n > 0) {
        text++;
        while (continues(*text))
            text++;
        n--;
    }
    return text;
}

void kymo_terminal_print(const kymo_terminal *t, const char *text)
{
    kymo_terminal_print_cut(t, text, 0, KYMO_CUT_END);
}

void kymo_terminal_print_cut(const kymo_terminal *t, const char *text, size_t columns, int cut)
{
    char *copy = strdup(text);
    if (!copy)
        return;
    copy[kymo_text_make_printable(copy, strlen(copy))] = '\0';
    size_t have = kymo_terminal_columns(copy);
    const char *begin = copy;
    const char *end = copy + strlen(copy);
    int cut_start = 0;
    int cut_end = 0;
    if (columns > 0 && have > columns) {
        cut_start = cut == KYMO_CUT_START;
        cut_end = !cut_start;
        if (cut_start)
            begin = skip(copy, have - columns + 1);
        else
            end = skip(copy, columns - 1);
    }
    if (cut_start)
        fputs("…", t->to);
    fwrite(begin, 1, (size_t)(end - begin), t->to);
    if (cut_end)
        fputs("…", t->to);
    free(copy);
}

void kymo_terminal_wrap(const kymo_terminal *t, size_t column, size_t indent, const char *text)
{
    size_t width = (size_t)t->width;
    for (int is_first = 1; *text; is_first = 0) {
        size_t len = strcspn(text, " ");
        char word[512];
        len = len < sizeof word ? len : sizeof word - 1;
        memcpy(word, text, len);
        word[len] = '\0';
        size_t columns = kymo_terminal_columns(word);
        if (!is_first && width && column + 1 + columns > width && column > indent) {
            fprintf(t->to, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first) {
            fputc(' ', t->to);
            column++;
        }
        kymo_terminal_print(t, word);
        column += columns;
        text += len;
        text += *text == ' ';
    }
    fputc('\n', t->to);
}

static kymo_err write_stdout(kymo_sink *sink, const void *data, size_t len)
{
    (void)sink;
    fwrite(data, 1, len, stdout);
    return KYMO_OK;
}

kymo_sink kymo_stdout_sink(void)
{
    return (kymo_sink){write_stdout};
}

int kymo_flush_output(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_SUCCESS;
    fprintf(stderr, "kymo: standard output: %s\n", strerror(errno ? errno : EIO));
    return EXIT_FAILURE;
}
