/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

static kymo_log_level max_level = KYMO_LOG_WARN;

void kymo_log_set_level(kymo_log_level level)
{
    max_level = level;
}

kymo_log_level kymo_log_get_level(void)
{
    return max_level;
}

void kymo_log(kymo_log_level level, const char *fmt, ...)
{
    static const char *const prefix[] = {
        "kymo: error: ", "kymo: warning: ", "kymo: ", "kymo: debug: "};
    if (level > max_level)
        return;
    int saved = errno;
    char line[1024];
    size_t n = strlen(prefix[level]);
    memcpy(line, prefix[level], n);
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(line + n, sizeof line - n - 1, fmt, args);
    va_end(args);
    if (len > 0)
        n += (size_t)len < sizeof line - n - 1 ? (size_t)len : sizeof line - n - 2;
    n = kymo_text_make_printable(line, n);
    line[n++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, n);
    (void)ignored;
    errno = saved;
}

/* Newlines at both ends are the format's own: what was put in is made printable, and only that. */
void kymo_fprint(FILE *to, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    for (; *fmt == '\n'; fmt++)
        fputc('\n', to);
    va_start(args, fmt);
    int len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0)
        return;
    size_t fmt_len = strlen(fmt);
    int ends = fmt_len > 0 && fmt[fmt_len - 1] == '\n' && len > 0;
    size_t n = kymo_text_make_printable(text, (size_t)(len - ends));
    if (ends)
        text[n++] = '\n';
    fwrite(text, 1, n, to);
    free(text);
}
