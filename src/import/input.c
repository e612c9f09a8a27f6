/* SPDX-License-Identifier: Apache-2.0 */
#include "import/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER = 1 << 16 };

/* Bytes on their way from a file into memory. */
struct inflating {
    kymo_bytes *out;
    kymo_error *detail;
    uint64_t in_bytes; /* of all buffers before the present one */
    int is_begun;
    int is_gzip;
    int is_ended; /* the last member is whole */
    z_stream z;
    unsigned char plain[BUFFER];
};

static kymo_err take(struct inflating *s, const void *data, size_t len)
{
    kymo_err err = kymo_bytes_append(s->out, data, len);
    if (err == KYMO_E_TOO_BIG)
        return kymo_error_set(s->detail, err, s->out->len,
                              "more than %zu MiB of data; use a smaller profile, of less time or "
                              "fewer threads",
                              s->out->limit >> 20);
    return err;
}

static kymo_err damaged(struct inflating *s, const char *what)
{
    uint64_t at = s->in_bytes + s->z.total_in;
    return kymo_error_set(s->detail, KYMO_E_CORRUPT, at,
                          "gzip data at byte %llu: %s; the file is damaged: get it again",
                          (unsigned long long)at, what);
}

/* Another member may follow the one that ended. */
static kymo_err next_member(struct inflating *s)
{
    s->is_ended = 0;
    s->in_bytes += s->z.total_in;
    return inflateReset(&s->z) == Z_OK ? KYMO_OK : KYMO_E_NOMEM;
}

static kymo_err inflate_some(struct inflating *s)
{
    while (s->z.avail_in > 0) {
        if (s->is_ended)
            KYMO_TRY(next_member(s));
        s->z.next_out = s->plain;
        s->z.avail_out = sizeof s->plain;
        int result = inflate(&s->z, Z_NO_FLUSH);
        KYMO_TRY(take(s, s->plain, sizeof s->plain - s->z.avail_out));
        if (result == Z_MEM_ERROR)
            return KYMO_E_NOMEM;
        if (result != Z_OK && result != Z_STREAM_END)
            return damaged(s, s->z.msg ? s->z.msg : "not a valid stream");
        s->is_ended = result == Z_STREAM_END;
    }
    return KYMO_OK;
}

static kymo_err begin(struct inflating *s, const unsigned char *data, size_t len)
{
    s->is_begun = 1;
    s->is_gzip = len >= 2 && data[0] == 0x1f && data[1] == 0x8b;
    if (s->is_gzip && inflateInit2(&s->z, 15 + 16) != Z_OK) {
        s->is_gzip = 0;
        return KYMO_E_NOMEM;
    }
    return KYMO_OK;
}

static kymo_err feed(struct inflating *s, const unsigned char *data, size_t len)
{
    if (!s->is_begun)
        KYMO_TRY(begin(s, data, len));
    if (!s->is_gzip)
        return take(s, data, len);
    s->z.next_in = (Bytef *)(uintptr_t)data; /* zlib does not write to it */
    s->z.avail_in = (uInt)len;
    return inflate_some(s);
}

static kymo_err finish(struct inflating *s, kymo_err err)
{
    uint64_t at = s->in_bytes + s->z.total_in;
    if (s->is_gzip)
        inflateEnd(&s->z);
    if (err == KYMO_OK && s->is_gzip && !s->is_ended)
        return kymo_error_set(s->detail, KYMO_E_TRUNCATED, at,
                              "gzip data ends too early, at byte %llu; the file was cut: get it "
                              "again",
                              (unsigned long long)at);
    return err;
}

static struct inflating *create(kymo_bytes *out, kymo_error *detail)
{
    struct inflating *s = calloc(1, sizeof *s);
    if (s)
        *s = (struct inflating){.out = out, .detail = detail};
    return s;
}

/* As many bytes as fit into the buffer, fewer at the end: the first two say what follows. */
static ssize_t read_full(int fd, unsigned char *buffer)
{
    size_t len = 0;
    while (len < BUFFER) {
        ssize_t n = read(fd, buffer + len, BUFFER - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    return (ssize_t)len;
}

static kymo_err read_all(int fd, struct inflating *s, unsigned char *buffer)
{
    ssize_t len;
    while ((len = read_full(fd, buffer)) > 0)
        KYMO_TRY(feed(s, buffer, (size_t)len));
    return len < 0 ? kymo_error_set_errno(s->detail, "reading") : KYMO_OK;
}

kymo_err kymo_input_read_fd(int fd, kymo_bytes *out, kymo_error *detail)
{
    struct inflating *s = create(out, detail);
    unsigned char *buffer = malloc(BUFFER);
    kymo_err err = KYMO_E_NOMEM;
    if (s && buffer)
        err = finish(s, read_all(fd, s, buffer));
    free(buffer);
    free(s);
    return err;
}

kymo_err kymo_input_read_memory(const void *data, size_t len, kymo_bytes *out, kymo_error *detail)
{
    struct inflating *s = create(out, detail);
    const unsigned char *bytes = data;
    kymo_err err = KYMO_OK;
    if (!s)
        return KYMO_E_NOMEM;
    for (size_t at = 0; err == KYMO_OK && at < len; at += BUFFER)
        err = feed(s, bytes + at, len - at < BUFFER ? len - at : BUFFER);
    err = finish(s, err);
    free(s);
    return err;
}

/* ---- the beginning ---- */

/* tee(2) copies what is in a pipe without taking it out. */
static size_t peek_pipe(int fd, char head[KYMO_INPUT_HEAD])
{
    int copy[2];
    ssize_t len = -1;
    if (pipe2(copy, O_CLOEXEC) != 0)
        return 0;
    do
        len = tee(fd, copy[1], KYMO_INPUT_HEAD, 0);
    while (len < 0 && errno == EINTR);
    if (len > 0)
        len = read(copy[0], head, (size_t)len);
    close(copy[0]);
    close(copy[1]);
    return len > 0 ? (size_t)len : 0;
}

size_t kymo_input_peek(int fd, char head[KYMO_INPUT_HEAD])
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return 0;
    if (S_ISFIFO(st.st_mode))
        return peek_pipe(fd, head);
    off_t at = S_ISREG(st.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
    ssize_t len = at >= 0 ? pread(fd, head, KYMO_INPUT_HEAD, at) : -1;
    return len > 0 ? (size_t)len : 0;
}

size_t kymo_input_plain_head(const void *data, size_t len, char plain[KYMO_INPUT_HEAD])
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data, /* zlib does not write to it */
                  .avail_in = len < KYMO_INPUT_HEAD ? (uInt)len : KYMO_INPUT_HEAD,
                  .next_out = (Bytef *)plain,
                  .avail_out = KYMO_INPUT_HEAD};
    if (len < 2 || memcmp(data, "\x1f\x8b", 2) != 0) {
        memcpy(plain, data, z.avail_in);
        return z.avail_in;
    }
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return 0;
    (void)inflate(&z, Z_SYNC_FLUSH); /* cut data gives its beginning */
    inflateEnd(&z);
    return KYMO_INPUT_HEAD - z.avail_out;
}
