/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "sys/proc_maps.h"

#define PIECE_BYTES 16384u

static const char *skip_blanks(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

static int read_head(struct kymo_smaps_area *a, char *line)
{
    struct kymo_proc_mapping m;
    if (!kymo_proc_mapping_parse(line, &m))
        return 0;
    *a = (struct kymo_smaps_area){.lo = m.start,
                                  .hi = m.end,
                                  .inode = m.inode,
                                  .is_readable = m.is_readable,
                                  .is_writable = m.is_writable,
                                  .is_executable = m.is_executable,
                                  .is_shared = m.is_shared};
    snprintf(a->name, sizeof a->name, "%s", m.path);
    return 1;
}

/* "Rss:       12 kB" */
static void read_size(uint64_t *size, const char *text)
{
    uint64_t kib;
    const char *behind = kymo_proc_number(skip_blanks(text), 10, &kib);
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
    char *line = s->line;
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
