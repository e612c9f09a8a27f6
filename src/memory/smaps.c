/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#define PIECE_BYTES 16384u

/* ---- numbers ---- */

/* Returns what stands behind it, NULL if there is none, or it is too large. */
static const char *read_hex(const char *text, uint64_t *value)
{
    const char *at = text;
    uint64_t sum = 0;
    for (;; at++) {
        unsigned digit;
        if (*at >= '0' && *at <= '9')
            digit = (unsigned)(*at - '0');
        else if (*at >= 'a' && *at <= 'f')
            digit = (unsigned)(*at - 'a') + 10;
        else
            break;
        if (sum >> 60)
            return NULL;
        sum = sum << 4 | digit;
    }
    *value = sum;
    return at > text ? at : NULL;
}

static const char *read_decimal(const char *text, uint64_t *value)
{
    const char *at = text;
    uint64_t sum = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (sum > UINT64_MAX / 10 - 1)
            return NULL;
        sum = sum * 10 + (unsigned)(*at - '0');
    }
    *value = sum;
    return at > text ? at : NULL;
}

static const char *skip_blanks(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

/* ---- lines ---- */

/* "7f00-7f10 rw-p 00001000 fd:00 1234    /a path", without the last two where there is no file. */
static int read_head(struct kymo_smaps_area *a, const char *line)
{
    uint64_t ignored;
    *a = (struct kymo_smaps_area){.lo = 0};
    line = read_hex(line, &a->lo);
    if (!line || *line++ != '-' || !(line = read_hex(line, &a->hi)) || *line++ != ' ')
        return 0;
    if (strlen(line) < 5 || line[4] != ' ')
        return 0;
    a->is_readable = line[0] == 'r';
    a->is_writable = line[1] == 'w';
    a->is_executable = line[2] == 'x';
    a->is_shared = line[3] == 's' || line[3] == 'S';
    line = read_hex(line + 5, &ignored);
    if (!line || *line++ != ' ' || !(line = read_hex(line, &ignored)) || *line++ != ':' ||
        !(line = read_hex(line, &ignored)) || *line++ != ' ' ||
        !(line = read_decimal(line, &a->inode)))
        return 0;
    snprintf(a->name, sizeof a->name, "%s", skip_blanks(line));
    return a->hi > a->lo;
}

/* "Rss:       12 kB" */
static void read_size(uint64_t *size, const char *text)
{
    uint64_t kib;
    const char *behind = read_decimal(skip_blanks(text), &kib);
    if (behind && kymo_str_starts(behind, " kB") && kib <= UINT64_MAX / 1024)
        *size = kib * 1024;
}

static kymo_err hand_on(struct kymo_smaps *s)
{
    const struct kymo_smaps_area *a = &s->area;
    if (!s->has_area)
        return KYMO_OK;
    s->has_area = 0;
    if (a->rss > a->hi - a->lo || a->anonymous > a->rss || s->areas >= KYMO_SMAPS_AREAS_MAX)
        return KYMO_OK;
    s->areas++;
    return s->fn(s->context, a);
}

static kymo_err take_line(struct kymo_smaps *s)
{
    const char *line = s->line;
    s->line[s->line_len] = '\0';
    s->line_len = 0;
    /* The kernel's keys begin with a capital letter, addresses have small ones. */
    if (kymo_str_starts(line, "Rss:")) {
        read_size(&s->area.rss, line + 4);
    } else if (kymo_str_starts(line, "Anonymous:")) {
        read_size(&s->area.anonymous, line + 10);
    } else if (*line < 'A' || *line > 'Z') {
        KYMO_TRY(hand_on(s));
        s->has_area = read_head(&s->area, line);
    }
    return KYMO_OK;
}

/* ---- the file ---- */

void kymo_smaps_begin(struct kymo_smaps *s, kymo_smaps_fn *fn, void *context)
{
    *s = (struct kymo_smaps){.fn = fn, .context = context};
}

kymo_err kymo_smaps_feed(struct kymo_smaps *s, const char *text, size_t len)
{
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t part = end ? (size_t)(end - text) : len;
        size_t room = sizeof s->line - 1 - s->line_len;
        memcpy(s->line + s->line_len, text, part < room ? part : room);
        s->line_len += part < room ? part : room;
        if (!end)
            break;
        KYMO_TRY(take_line(s));
        text += part + 1;
        len -= part + 1;
    }
    return KYMO_OK;
}

kymo_err kymo_smaps_end(struct kymo_smaps *s)
{
    if (s->line_len > 0)
        KYMO_TRY(take_line(s));
    return hand_on(s);
}

static kymo_err read_all(struct kymo_smaps *s, int fd)
{
    char text[PIECE_BYTES];
    for (;;) {
        ssize_t got = read(fd, text, sizeof text);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) /* it has ended */
            return kymo_smaps_end(s);
        KYMO_TRY(kymo_smaps_feed(s, text, (size_t)got));
    }
}

kymo_err kymo_smaps_read(const char *root, const char *process, kymo_smaps_fn *fn, void *context)
{
    char path[PATH_MAX];
    struct kymo_smaps smaps;
    if (snprintf(path, sizeof path, "%s/proc/%s/smaps", root, process) >= (int)sizeof path)
        return KYMO_E_IO;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return KYMO_E_IO;
    kymo_smaps_begin(&smaps, fn, context);
    kymo_err err = read_all(&smaps, fd);
    close(fd);
    return err;
}
