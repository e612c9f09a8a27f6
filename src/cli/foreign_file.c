/* SPDX-License-Identifier: Apache-2.0 */
/* Files of formats that are not read. Only the first bytes are looked at: that names the format,
 * and promises nothing of the rest. */
#include "cli/steps.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "base/log.h"

enum { HEAD = 4096 };

static const struct {
    const char *magic;
    size_t len;
    const char *name;
} magics[] = {
#define MAGIC(bytes, name)            \
    {                                 \
        bytes, sizeof bytes - 1, name \
    }
    MAGIC("PERFILE2", "a recording of perf; perf report reads it"),
    MAGIC("2ELIFREP", "a recording of perf; perf report reads it"),
    MAGIC("\177ELF", "a program or library; kymo record -- PROGRAM records one"),
    MAGIC("#!", "a script; kymo record -- PROGRAM records one"),
    MAGIC("heap profile:", "a heap profile of gperftools; google-pprof reads it"),
    MAGIC("# callgrind format", "a profile of callgrind; callgrind_annotate reads it"),
    MAGIC("desc: ", "output of a valgrind tool; ms_print reads massif's"),
    MAGIC("<?xml", "XML; if it is a flame graph (.svg), any browser shows it"),
    MAGIC("<svg", "an SVG picture; any browser shows it"),
    MAGIC("SQLite format 3\0", "an SQLite database"),
    MAGIC("\x28\xb5\x2f\xfd", "compressed by zstd; zstd -d unpacks it"),
    MAGIC("\xfd"
          "7zXZ\0",
          "compressed by xz; xz -d unpacks it"),
    MAGIC("PK\3\4", "a zip archive"),
    /* The words 0, 3, 0 of gperftools' CPU profiles. */
    MAGIC("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
          "a CPU profile of gperftools; google-pprof reads it"),
#undef MAGIC
};

static int has(const char *text, size_t len, const char *word)
{
    return memmem(text, len, word, strlen(word)) != NULL;
}

static const char *name_json(const char *text, size_t len)
{
    if (has(text, len, "speedscope"))
        return "a profile of speedscope; open it at https://www.speedscope.app";
    if (has(text, len, "traceEvents") || has(text, len, "\"ph\""))
        return "a trace of Chrome's format; open it at https://ui.perfetto.dev";
    return "JSON";
}

static const char *name_plain(const char *head, size_t len)
{
    size_t blank = 0;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(magics); i++)
        if (len >= magics[i].len && memcmp(head, magics[i].magic, magics[i].len) == 0)
            return magics[i].name;
    while (blank < len && isspace((unsigned char)head[blank]) && head[blank] != '\n')
        blank++;
    if (blank < len && (head[blank] == '{' || head[blank] == '['))
        return name_json(head, len);
    return NULL;
}

const char *kymo_foreign_name(const void *head, size_t len)
{
    char plain[HEAD];
    z_stream z = {.next_in = (Bytef *)(uintptr_t)head, /* zlib does not write to it */
                  .avail_in = len < HEAD ? (uInt)len : HEAD,
                  .next_out = (Bytef *)plain,
                  .avail_out = sizeof plain};
    if (len < 2 || memcmp(head, "\x1f\x8b", 2) != 0)
        return name_plain(head, len);
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return NULL;
    /* Cut data gives what is there so far. */
    (void)inflate(&z, Z_SYNC_FLUSH);
    size_t got = sizeof plain - z.avail_out;
    inflateEnd(&z);
    const char *name = name_plain(plain, got);
    return name ? name : "compressed by gzip; gzip -d unpacks it";
}

/* What came through a pipe has been read, and its rest says nothing of its beginning; to open a
 * named one again would wait for another that writes. */
static size_t read_head(int fd, char *head)
{
    struct stat st;
    ssize_t len = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? pread(fd, head, HEAD, 0) : -1;
    return len > 0 ? (size_t)len : 0;
}

int kymo_foreign_say(int fd, const char *path)
{
    char head[HEAD];
    int own = -1;
    if (fd < 0)
        own = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                     : open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    size_t len = read_head(fd < 0 ? own : fd, head);
    if (own >= 0)
        close(own);
    const char *name = kymo_foreign_name(head, len);
    if (!name)
        return 0;
    kymo_fprint(stderr, "kymo: %s: not a file that Kymo reads, but %s\n", path, name);
    return 1;
}
