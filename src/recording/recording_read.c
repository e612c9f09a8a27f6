/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_read.c - iterates over the chunks of a file and reports how far they are good.
 *
 *   chunk_in ──► header, checksum ──► inflate ──► recording_decode ──► handler
 *
 * A chunk with a wrong checksum may also have a wrong length. Its length is trusted only if a good
 * chunk begins at its end; until then the chunk is `suspect`. Two bad chunks in a row, or a bad one
 * at the end, stop the reader at the first of them. Each byte is checksummed once, so time is
 * linear for any lengths.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "recording/chunk_in.h"
#include "recording/recording.h"
#include "recording/recording_decode.h"
#include "recording/recording_join.h"

#define NO_SUSPECT UINT64_MAX

struct reading {
    kymo_chunk_in in;
    kymo_decoder decoder;
    kymo_recording_report report;
    uint64_t suspect; /* offset of a chunk with a wrong checksum; NO_SUSPECT: none */
    int done;
    unsigned flags; /* KYMO_RECORDING_... */
    kymo_error *detail;
};

static kymo_err stop(struct reading *r, kymo_recording_ending ending, uint64_t position)
{
    r->done = 1;
    r->report.ending = ending;
    r->report.position = position;
    return KYMO_OK;
}

static kymo_err stop_corrupt(struct reading *r)
{
    return stop(r, KYMO_RECORDING_CORRUPT, r->suspect != NO_SUSPECT ? r->suspect : r->in.at);
}

/* The input has only `got` of the bytes needed. */
static kymo_err stop_short(struct reading *r, size_t got)
{
    if (r->suspect != NO_SUSPECT)
        return stop_corrupt(r);
    return stop(r, got == 0 ? KYMO_RECORDING_NO_END : KYMO_RECORDING_TRUNCATED, r->in.at + got);
}

static kymo_err read_file_header(struct reading *r)
{
    struct kymo_file_header header;
    size_t got;
    KYMO_TRY(kymo_chunk_in_peek(&r->in, sizeof header, &got, r->detail));
    size_t magic_len = got < sizeof header.magic ? got : sizeof header.magic;
    if (got == 0)
        return kymo_error_set(r->detail, KYMO_E_TRUNCATED, 0, "the file is empty");
    if (memcmp(r->in.data, KYMO_FILE_MAGIC, magic_len) != 0)
        return kymo_error_set(r->detail, KYMO_E_CORRUPT, 0, "not a Kymo recording");
    if (got < sizeof header)
        return kymo_error_set(r->detail, KYMO_E_TRUNCATED, got,
                              "truncated at byte %zu, within the file header", got);
    memcpy(&header, r->in.data, sizeof header);
    if (header.crc != kymo_file_header_crc(&header))
        return kymo_error_set(r->detail, KYMO_E_CORRUPT, 0, "the file header is damaged");
    if (header.major != KYMO_FILE_MAJOR || header.flags != 0)
        return kymo_error_set(r->detail, KYMO_E_VERSION, 4,
                              "version %u.%u (flags %#x) of the format; this build reads %u",
                              header.major, header.minor, header.flags, KYMO_FILE_MAJOR);
    if (header.header_bytes < sizeof header || header.header_bytes > KYMO_FILE_HEADER_MAX ||
        header.header_bytes % 8 != 0)
        return kymo_error_set(r->detail, KYMO_E_CORRUPT, 8, "the file header is damaged");
    r->report.major = header.major;
    r->report.minor = header.minor;
    KYMO_TRY(kymo_chunk_in_peek(&r->in, header.header_bytes, &got, r->detail));
    if (got < header.header_bytes)
        return kymo_error_set(r->detail, KYMO_E_TRUNCATED, got,
                              "truncated at byte %zu, within the file header", got);
    kymo_chunk_in_skip(&r->in, header.header_bytes);
    return KYMO_OK;
}

/* Reads a chunk with a correct checksum. */
static kymo_err read_payload(struct reading *r, const struct kymo_chunk_header *header,
                             const unsigned char *payload)
{
    if (!kymo_decoder_knows(header->type) ||
        (header->flags & ~(KYMO_CHUNK_COMPRESSED | KYMO_CHUNK_SKIPPABLE)) != 0) {
        if (header->flags & KYMO_CHUNK_SKIPPABLE) {
            r->decoder.damage.unknown_chunks++;
            return KYMO_OK;
        }
        return kymo_error_set(r->detail, KYMO_E_VERSION, r->in.at,
                              "chunk of type %u (flags %#x) at byte %" PRIu64
                              ": written by a newer version",
                              header->type, header->flags, r->in.at);
    }
    size_t len = header->length;
    if (header->flags & KYMO_CHUNK_COMPRESSED) {
        kymo_err err = kymo_chunk_in_inflate(&r->in, payload, len, &len);
        if (err == KYMO_E_CORRUPT) {
            r->decoder.damage.chunks++;
            return KYMO_OK;
        }
        if (err != KYMO_OK)
            return kymo_error_set(r->detail, err, r->in.at, "out of memory inflating a chunk");
        payload = r->in.raw;
    }
    int first = !r->decoder.has_meta;
    kymo_err err = kymo_decoder_chunk(&r->decoder, header->type, payload, len);
    if (err == KYMO_E_CORRUPT && first)
        return kymo_error_set(r->detail, err, r->in.at,
                              "the recording does not begin with its description");
    if (err == KYMO_E_NOMEM)
        return kymo_error_set(r->detail, err, r->in.at, "out of memory reading the recording");
    return err;
}

static kymo_err read_chunk(struct reading *r)
{
    struct kymo_chunk_header header;
    size_t got;
    KYMO_TRY(kymo_chunk_in_peek(&r->in, sizeof header, &got, r->detail));
    if (got < sizeof header)
        return stop_short(r, got);
    memcpy(&header, r->in.data, sizeof header);
    if (header.length % 8 != 0 || header.length > KYMO_CHUNK_LENGTH_MAX)
        return stop_corrupt(r);
    size_t whole = sizeof header + header.length;
    KYMO_TRY(kymo_chunk_in_peek(&r->in, whole, &got, r->detail));
    if (got < whole)
        return stop_short(r, got);
    const unsigned char *payload = r->in.data + sizeof header;
    int is_checked =
        !(r->flags & KYMO_RECORDING_UNCHECKED_CALLS && header.type == KYMO_CHUNK_CALLS);
    if (is_checked && header.crc != kymo_chunk_crc(&header, payload)) {
        if (r->suspect != NO_SUSPECT)
            return stop_corrupt(r);
        r->suspect = r->in.at;
        kymo_chunk_in_skip(&r->in, whole);
        return KYMO_OK;
    }
    if (r->suspect != NO_SUSPECT) {
        r->suspect = NO_SUSPECT;
        r->decoder.damage.chunks++;
    }
    KYMO_TRY(read_payload(r, &header, payload));
    uint64_t begin = r->in.at;
    kymo_chunk_in_skip(&r->in, whole);
    if (!r->decoder.ended)
        return KYMO_OK;
    r->report.end_at = begin;
    KYMO_TRY(kymo_chunk_in_peek(&r->in, 1, &got, r->detail));
    if (got > 0)
        r->decoder.damage.chunks++; /* something follows the end */
    return stop(r, KYMO_RECORDING_ENDED, r->in.at);
}

static void add_text(kymo_recording_report *report, const char *fmt, ...) KYMO_PRINTF(2, 3);
static void add_text(kymo_recording_report *report, const char *fmt, ...)
{
    size_t len = strlen(report->text);
    size_t cap = sizeof report->text;
    va_list args;
    if (len > 0 && len + 2 < cap) {
        memcpy(report->text + len, "; ", 3);
        len += 2;
    }
    va_start(args, fmt);
    vsnprintf(report->text + len, cap - len, fmt, args);
    va_end(args);
}

/* One line on ending and damage; "" if complete. */
static void describe(kymo_recording_report *report, uint64_t chunk_at)
{
    const kymo_recording_damage *d = &report->damage;
    uint64_t dropped = d->references + d->duplicates + d->values;
    switch (report->ending) {
    case KYMO_RECORDING_ENDED:
        break;
    case KYMO_RECORDING_NO_END:
        add_text(report, "not finished, ends at byte %" PRIu64, report->position);
        break;
    case KYMO_RECORDING_TRUNCATED:
        add_text(report, "truncated at byte %" PRIu64 ", within the chunk at byte %" PRIu64,
                 report->position, chunk_at);
        break;
    case KYMO_RECORDING_CORRUPT:
        add_text(report, "corrupt at byte %" PRIu64 ", not read further", report->position);
        break;
    }
    if (d->chunks > 0)
        add_text(report, "%" PRIu64 " damaged chunk%s", d->chunks, d->chunks == 1 ? "" : "s");
    if (dropped > 0)
        add_text(report, "%" PRIu64 " inconsistent event%s", dropped, dropped == 1 ? "" : "s");
}

static kymo_err check_strict(const struct reading *r)
{
    const kymo_recording_report *report = &r->report;
    if (report->text[0] == 0)
        return KYMO_OK;
    kymo_err code =
        report->ending == KYMO_RECORDING_TRUNCATED || report->ending == KYMO_RECORDING_NO_END
            ? KYMO_E_TRUNCATED
            : KYMO_E_CORRUPT;
    return kymo_error_set(r->detail, code, report->position, "%s", report->text);
}

static kymo_err read_all(struct reading *r)
{
    KYMO_TRY(read_file_header(r));
    while (!r->done)
        KYMO_TRY(read_chunk(r));
    r->report.events = r->decoder.events;
    r->report.damage = r->decoder.damage;
    describe(&r->report, r->in.at);
    if (!r->decoder.has_meta) {
        int corrupt = r->report.ending == KYMO_RECORDING_CORRUPT;
        return kymo_error_set(r->detail, corrupt ? KYMO_E_CORRUPT : KYMO_E_TRUNCATED,
                              r->report.position, "%s, before anything was recorded",
                              r->report.text);
    }
    return r->flags & KYMO_RECORDING_STRICT ? check_strict(r) : KYMO_OK;
}

static kymo_err run(struct reading *r, const kymo_event_handler *handler, void *ctx,
                    kymo_recording_report *report)
{
    r->suspect = NO_SUSPECT;
    kymo_err err = kymo_decoder_init(&r->decoder, handler, ctx);
    if (err == KYMO_OK) {
        err = read_all(r);
        kymo_decoder_deinit(&r->decoder);
    } else {
        kymo_error_set(r->detail, err, 0, "out of memory reading the recording");
    }
    kymo_chunk_in_deinit(&r->in);
    if (err == KYMO_OK && report != NULL)
        *report = r->report;
    return err;
}

kymo_err kymo_recording_read_fd(int fd, unsigned flags, const kymo_event_handler *handler,
                                void *ctx, kymo_recording_report *report, kymo_error *detail)
{
    struct reading r = {.flags = flags, .detail = detail};
    kymo_chunk_in_init_fd(&r.in, fd, (flags & KYMO_RECORDING_BY_OFFSET) != 0);
    return run(&r, handler, ctx, report);
}

kymo_err kymo_recording_read_memory(const void *data, size_t len, unsigned flags,
                                    const kymo_event_handler *handler, void *ctx,
                                    kymo_recording_report *report, kymo_error *detail)
{
    struct reading r = {.flags = flags, .detail = detail};
    kymo_chunk_in_init_memory(&r.in, data, len);
    return run(&r, handler, ctx, report);
}

/* ---- intervals of one recording ---- */

/* What an interval repeats is no damage. A later one begins to be written when this one has ended:
 * so it ends after a whole chunk. */
static kymo_err read_interval(struct reading *r, const struct kymo_recording_interval *interval)
{
    const uint64_t duplicates = r->decoder.damage.duplicates;
    const int is_first = !r->decoder.has_meta;
    r->done = r->decoder.ended = 0;
    r->suspect = NO_SUSPECT;
    kymo_chunk_in_init_fd(&r->in, interval->fd, 1);
    r->in.limit = interval->bytes;
    kymo_err err = read_file_header(r);
    while (err == KYMO_OK && !r->done)
        err = read_chunk(r);
    if (r->report.ending == KYMO_RECORDING_TRUNCATED || r->report.ending == KYMO_RECORDING_CORRUPT)
        r->decoder.damage.chunks++;
    if (!is_first)
        r->decoder.damage.duplicates = duplicates;
    kymo_chunk_in_deinit(&r->in);
    return err;
}

static kymo_err read_intervals(struct reading *r, struct kymo_recording_join *join,
                               const struct kymo_recording_intervals *all)
{
    const kymo_event_end end = {.end_ns = all->end_ns};
    for (size_t i = 0; i < all->count; i++) {
        if (i > 0)
            kymo_recording_join_next(join);
        KYMO_TRY(read_interval(r, &all->intervals[i]));
    }
    if (!r->decoder.has_meta)
        return kymo_error_set(r->detail, KYMO_E_TRUNCATED, 0, "nothing is recorded yet");
    r->report.ending = KYMO_RECORDING_ENDED;
    r->report.events = r->decoder.events;
    r->report.damage = r->decoder.damage;
    describe(&r->report, 0);
    return join->to->end ? join->to->end(join->context, &end) : KYMO_OK;
}

kymo_err kymo_recording_read_intervals(const struct kymo_recording_intervals *all,
                                       const kymo_event_handler *handler, void *ctx,
                                       kymo_recording_report *report, kymo_error *detail)
{
    struct reading r = {.detail = detail};
    struct kymo_recording_join join;
    kymo_recording_join_init(&join, handler, ctx);
    kymo_err err = kymo_decoder_init(&r.decoder, &kymo_recording_join_handler, &join);
    if (err == KYMO_OK) {
        err = read_intervals(&r, &join, all);
        kymo_decoder_deinit(&r.decoder);
    } else {
        kymo_error_set(detail, err, 0, "out of memory reading the recording");
    }
    kymo_recording_join_deinit(&join);
    if (err == KYMO_OK && report != NULL)
        *report = r.report;
    return err;
}
