/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "encode/atomic_file.h"
#include "encode/encoder.h"
#include "encode/gzip_sink.h"

#include <stdlib.h>
#include <string.h>

/* One row for each way a file may end. Level 1, since a higher one costs more than it saves: for a
 * million samples (bench/encode_bench.c), .json.gz takes 0.61 s and 13.3 MB at level 1, 0.97 s
 * and 12.0 MB at 3, 2.5 s and 10.6 MB at 6; .pb.gz 0.20 s and 4.5 MB, 0.21 s and 4.4 MB, 0.27 s
 * and 4.3 MB. */
static const struct row {
    kymo_format format;
    kymo_format_write *write;
    int level; /* of gzip; 0: not compressed */
} formats[] = {
    {{"firefox", ".json.gz", "https://profiler.firefox.com"}, kymo_firefox_write, 1},
    {{"firefox", ".json", "https://profiler.firefox.com"}, kymo_firefox_write, 0},
    {{"pprof", ".pb.gz", "go tool pprof"}, kymo_pprof_write, 1},
    {{"otlp", ".otlp.gz", "OpenTelemetry"}, kymo_otlp_write, 1},
    {{"otlp", ".otlp", "OpenTelemetry"}, kymo_otlp_write, 0},
    {{"collapsed", ".folded", "flame graph tools"}, kymo_collapsed_write, 0},
    {{"jfr", ".jfr", "JDK Mission Control"}, kymo_jfr_write, 0},
    {{"pstats", ".pstats", "python -m pstats"}, kymo_pstats_write, 0},
    {{"flamegraph", ".svg", "any web browser"}, kymo_svg_write, 0},
    {{"chrome", ".trace.json.gz", "https://ui.perfetto.dev"}, kymo_chrome_write, 1},
    {{"chrome", ".trace.json", "https://ui.perfetto.dev"}, kymo_chrome_write, 0},
};

const kymo_format *kymo_format_at(size_t index)
{
    return index < KYMO_ARRAY_LEN(formats) ? &formats[index].format : NULL;
}

const kymo_format *kymo_format_for_path(const char *path)
{
    const kymo_format *best = NULL;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(formats); i++) {
        const kymo_format *f = &formats[i].format;
        if (kymo_str_ends(path, f->extension) &&
            (!best || strlen(f->extension) > strlen(best->extension)))
            best = f;
    }
    return best;
}

/* Counts what arrives at the end of the chain, for progress. */
struct counting_sink {
    kymo_sink sink;
    kymo_sink *to;
    uint64_t bytes;
};

static kymo_err counting_write(kymo_sink *sink, const void *data, size_t len)
{
    struct counting_sink *count = (struct counting_sink *)sink;
    KYMO_TRY(kymo_sink_write(count->to, data, len));
    count->bytes += len;
    return KYMO_OK;
}

static kymo_err report_progress(kymo_encoder *encoder, double fraction)
{
    const kymo_encode_options *o = encoder->options;
    if (o && o->progress && o->progress(o->progress_data, *encoder->bytes, fraction))
        return kymo_error_set(encoder->detail, KYMO_E_INTERRUPTED, 0, "interrupted");
    return KYMO_OK;
}

kymo_err kymo_encoder_step(kymo_encoder *encoder, uint64_t units)
{
    encoder->done += units;
    if (kymo_likely(encoder->done < encoder->report_at))
        return KYMO_OK;
    encoder->report_at = encoder->done + encoder->total / 200 + 1;
    /* 1 is kept for the end, when the compressor has written its last byte, too. */
    double fraction = (double)encoder->done / (double)(encoder->total + 1);
    return report_progress(encoder, fraction < 0.999 ? fraction : 0.999);
}

/* Where meta does not say when the recording ended, the last marker, count or block does. Where it
 * does, a marker that says it ends next year does not make the rest too small to be seen. */
static uint64_t end_of_marks(const kymo_profile *profile)
{
    uint64_t end = 0;
    for (uint32_t t = 0; t < profile->threads.len; t++) {
        kymo_markers markers = kymo_profile_markers(profile, t);
        for (size_t i = 0; i < markers.count; i++)
            end = markers.rows[i].end_ns > end ? markers.rows[i].end_ns : end;
    }
    for (uint32_t c = 0; c < kymo_profile_count(profile, KYMO_TABLE_COUNTERS); c++) {
        kymo_counts counts = kymo_profile_counts(profile, c);
        if (counts.count && counts.time_ns[counts.count - 1] > end)
            end = counts.time_ns[counts.count - 1];
    }
    for (uint32_t i = 0; i < profile->processes.len; i++) {
        size_t count;
        const kymo_allocation *rows = kymo_profile_allocations(profile, i, &count);
        for (size_t k = 0; k < count; k++) {
            uint64_t last = rows[k].end_ns != KYMO_LIVES ? rows[k].end_ns : rows[k].time_ns;
            end = last > end ? last : end;
        }
    }
    return end;
}

void kymo_encoder_range(const kymo_profile *profile, uint64_t *start_ns, uint64_t *end_ns)
{
    const kymo_meta *meta = &profile->meta;
    uint64_t start = kymo_since_origin(profile, meta->start_ns);
    uint64_t end = kymo_since_origin(profile, meta->end_ns ? meta->end_ns : end_of_marks(profile));
    for (size_t i = 0; i < profile->samples.len; i++) {
        const kymo_sample_columns *s = &profile->samples.data[i];
        if (s->count == 0)
            continue;
        uint64_t first = kymo_since_origin(profile, s->time_ns[0]);
        uint64_t last = kymo_since_origin(profile, s->time_ns[s->count - 1]);
        start = first < start ? first : start;
        end = last > end ? last : end;
    }
    *start_ns = start;
    *end_ns = end > start ? end : start;
}

uint32_t kymo_encoder_type(const kymo_encoder *encoder)
{
    const kymo_encode_options *o = encoder->options;
    return o && o->kind != KYMO_SAMPLE_DEFAULT ? o->kind : encoder->profile->default_sample_type;
}

uint32_t kymo_encoder_type_like(const kymo_profile *profile, const kymo_sample_type *type)
{
    for (uint32_t i = 0; i < profile->sample_type_count; i++)
        if (strcmp(profile->sample_types[i].name, type->name) == 0 &&
            strcmp(profile->sample_types[i].unit, type->unit) == 0)
            return i;
    return KYMO_NONE;
}

int kymo_encoder_has_type(const kymo_profile *profile, uint32_t type)
{
    for (size_t i = 0; i < profile->samples.len; i++) {
        const kymo_sample_columns *s = &profile->samples.data[i];
        if (s->count && memchr(s->kind, (int)type, s->count))
            return 1;
    }
    return 0;
}

int kymo_encoder_lacks_stacks(const kymo_profile *profile)
{
    for (size_t i = 0; i < profile->samples.len; i++) {
        const kymo_sample_columns *s = &profile->samples.data[i];
        for (size_t k = 0; k < s->count; k++)
            if (s->stack[k] == KYMO_NONE)
                return 1;
    }
    for (uint32_t i = 0; i < profile->processes.len; i++) {
        size_t count;
        const kymo_allocation *rows = kymo_profile_allocations(profile, i, &count);
        for (size_t k = 0; k < count; k++)
            if (rows[k].stack == KYMO_NONE)
                return 1;
        const kymo_mapping *mappings = kymo_profile_mappings(profile, i, &count);
        for (size_t k = 0; k < count; k++)
            if (mappings[k].stack == KYMO_NONE)
                return 1;
    }
    return 0;
}

static kymo_err write_compressed(kymo_encoder *encoder, const struct row *row, kymo_sink *to,
                                 int level)
{
    kymo_gzip_sink *gzip = malloc(sizeof *gzip);
    if (!gzip)
        return KYMO_E_NOMEM;
    kymo_err err = kymo_gzip_sink_init(gzip, to, level);
    if (err != KYMO_OK) {
        err = kymo_error_set(encoder->detail, err, 0, "cannot compress: %s", kymo_err_text(err));
        goto out;
    }
    encoder->sink = &gzip->sink;
    err = row->write(encoder);
    if (err == KYMO_OK)
        err = kymo_gzip_sink_finish(gzip);
    kymo_gzip_sink_deinit(gzip);
out:
    free(gzip);
    return err;
}

static const struct row *row_of(const kymo_format *format)
{
    for (size_t i = 0; i < KYMO_ARRAY_LEN(formats); i++)
        if (format == &formats[i].format)
            return &formats[i];
    return NULL;
}

kymo_err kymo_encode(const kymo_profile *profile, const kymo_format *format, kymo_sink *sink,
                     const kymo_encode_options *options, kymo_error *detail)
{
    const struct row *row = row_of(format);
    struct counting_sink count = {{counting_write}, sink, 0};
    kymo_encoder encoder = {.profile = profile,
                            .sink = &count.sink,
                            .detail = detail,
                            .options = options,
                            .bytes = &count.bytes};
    if (!row || (options &&
                 (options->size < sizeof *options || options->show >= (uint32_t)KYMO_ENCODE_COUNT)))
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "no such format, or options of no size");
    if (kymo_encoder_type(&encoder) >= profile->sample_type_count)
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "sample type %u does not exist, there are %u", options->kind,
                              profile->sample_type_count);
    if (options && options->before &&
        (!options->before->finished || options->before_kind > options->before->sample_type_count))
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "the profile before is not finished, or has no such sample type");
    if (options && options->show == KYMO_ENCODE_GROWTH && row->write != kymo_pprof_write)
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0, "growth is written as .pb.gz alone");
    if (!profile->finished)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "the profile is not finished");
    int level = row->level && options && options->level ? options->level : row->level;
    /* Whatever set an error with a text of its own has filled detail; the rest has its code's. */
    if (detail)
        *detail = (kymo_error){0};
    kymo_err err =
        level ? write_compressed(&encoder, row, &count.sink, level) : row->write(&encoder);
    if (err == KYMO_OK)
        err = report_progress(&encoder, 1);
    if (err != KYMO_OK && detail && detail->code != err)
        kymo_error_set(detail, err, 0, "%s", kymo_err_text(err));
    return err;
}

static kymo_err unknown_extension(const char *path, kymo_error *detail)
{
    kymo_str list = {0};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(formats); i++)
        kymo_str_printf(&list, "%s%s",
                        i == 0                             ? ""
                        : i + 1 == KYMO_ARRAY_LEN(formats) ? " or "
                                                           : ", ",
                        formats[i].format.extension);
    kymo_err err = kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0, "%s: the name must end in %s",
                                  path, kymo_str_cstr(&list));
    kymo_str_deinit(&list);
    return err;
}

kymo_err kymo_encode_file(const kymo_profile *profile, const char *path,
                          const kymo_encode_options *options, kymo_error *detail)
{
    kymo_atomic_file file;
    const kymo_format *format = kymo_format_for_path(path);
    if (!format)
        return unknown_extension(path, detail);
    KYMO_TRY(kymo_atomic_file_open(&file, path, options && options->replace, detail));
    kymo_err err = kymo_encode(profile, format, &file.sink, options, detail);
    if (err == KYMO_OK)
        return kymo_atomic_file_commit(&file);
    kymo_atomic_file_abandon(&file);
    return err;
}
