/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_jfr.c - files of Java Flight Recorder: of the JVM, of async-profiler, and of Kymo.
 *
 * A file is a sequence of chunks. Each describes its own events and has its own constants, so one
 * is read after the other. A first pass over all of them counts the events and reads settings: they
 * say which sample types there are, and what a sample stands for. A second pass reads samples.
 */
#include "import/jfr/read_jfr.h"

#include <inttypes.h>
#include <string.h>

enum { HEADER_BYTES = 68, MAJOR = 2, NS_PER_S = 1000000000 };
static const char magic[4] = {'F', 'L', 'R', '\0'};

int kymo_jfr_is(const char *head, size_t len)
{
    return len >= sizeof magic && memcmp(head, magic, sizeof magic) == 0;
}

kymo_err kymo_jfr_table(struct kymo_jfr_reader *r, size_t count, size_t size, void *table)
{
    if (count > KYMO_IMPORT_BYTES_MAX / size)
        return kymo_import_charge(r->d, KYMO_IMPORT_BYTES_MAX);
    KYMO_TRY(kymo_import_charge(r->d, count * size));
    r->part.charged += count * size;
    void *rows = kymo_arena_calloc(&r->part.arena, count * size, 16);
    if (!rows)
        return KYMO_E_NOMEM;
    memcpy(table, &rows, sizeof rows);
    return KYMO_OK;
}

/* ---- chunks ---- */

static void close_chunk(struct kymo_jfr_reader *r)
{
    kymo_arena_deinit(&r->part.arena);
    kymo_key_map_deinit(&r->part.class_map);
    kymo_import_uncharge(r->d, r->part.charged);
    r->part = (kymo_jfr_part){.at = 0};
}

/* A writer that was stopped, or writes still, has not said where the parts of its chunk are. What
 * is read then ends before it. */
static kymo_err take_unfinished(struct kymo_jfr_reader *r, uint64_t at)
{
    int is_new = r->len > at;
    r->len = at;
    if (at > 0)
        return is_new ? kymo_jfr_add_loss(r, "chunks that were not finished", 1) : KYMO_OK;
    return kymo_error_set(r->d->detail, KYMO_E_TRUNCATED, at,
                          "%s data at byte %" PRIu64 ": the chunk is not finished; stop or dump "
                          "the recording, or get the file again",
                          r->d->format, at);
}

/* r->part.end: 0 if the chunk is not finished. */
static kymo_err read_header(struct kymo_jfr_reader *r, uint64_t at)
{
    kymo_jfr_part *part = &r->part;
    kymo_reader in = kymo_reader_part(r->d->data, r->d->len, at, r->d->len);
    if (r->d->len - at < HEADER_BYTES)
        return take_unfinished(r, at);
    if (memcmp(kymo_read_bytes(&in, sizeof magic), magic, sizeof magic) != 0)
        return kymo_import_fault(r->d, at, "there is no chunk where the one before ends");
    unsigned major = kymo_jfr_read_u16(&in);
    unsigned minor = kymo_jfr_read_u16(&in);
    if (major != MAJOR)
        return kymo_import_unsupported(r->d, at,
                                       "version %u.%u of the format; version %d, of JDK 11 and "
                                       "later, is read",
                                       major, minor, MAJOR);
    uint64_t size = kymo_jfr_read_u64(&in);
    uint64_t constants_at = kymo_jfr_read_u64(&in);
    uint64_t metadata_at = kymo_jfr_read_u64(&in);
    if (size < HEADER_BYTES || size > r->d->len - at || metadata_at == 0)
        return take_unfinished(r, at);
    if (metadata_at < HEADER_BYTES || metadata_at >= size || constants_at >= size ||
        (constants_at > 0 && constants_at < HEADER_BYTES))
        return kymo_import_fault(r->d, at, "parts of the chunk are outside it");
    part->at = at;
    part->end = at + size;
    part->metadata_at = at + metadata_at;
    part->constants_at = constants_at ? at + constants_at : 0;
    part->start_epoch_ns = kymo_jfr_read_u64(&in);
    part->duration_ns = kymo_jfr_read_u64(&in);
    part->start_ticks = kymo_jfr_read_u64(&in);
    part->ticks_per_second = kymo_jfr_read_u64(&in);
    if (part->ticks_per_second == 0)
        part->ticks_per_second = NS_PER_S;
    return KYMO_OK;
}

static kymo_err open_chunk(struct kymo_jfr_reader *r, uint64_t at)
{
    KYMO_TRY(read_header(r, at));
    if (!r->part.end)
        return KYMO_OK;
    for (unsigned i = 0; i < KYMO_JFR_POOL_KINDS; i++)
        r->part.pools[i].class_at = KYMO_NONE;
    KYMO_TRY(kymo_jfr_read_metadata(r));
    KYMO_TRY(kymo_jfr_read_pools(r));
    return kymo_jfr_read_frame_types(r);
}

/* ---- events ---- */

typedef kymo_err take(struct kymo_jfr_reader *r, kymo_jfr_class *class, const kymo_jfr_row *row);

/* Whether `take` needs the fields of such events, too. */
struct pass {
    take *take;
    int is_second;
};

static int is_wanted(const struct pass *pass, unsigned event)
{
    return event != KYMO_JFR_EVENT_SKIPPED && (event < KYMO_JFR_EVENT_SETTING) == pass->is_second;
}

static kymo_err read_event(struct kymo_jfr_reader *r, const struct pass *pass,
                           kymo_jfr_class *class, kymo_reader in)
{
    uint64_t position = kymo_jfr_place(r, in.at);
    class->count++;
    if (!is_wanted(pass, class->event))
        return KYMO_OK;
    kymo_jfr_read_row(r, &in, (uint32_t)(class - r->part.classes), &r->row);
    if (in.failed)
        return kymo_import_fault(r->d, position, "an event of %.*s is not as it is described",
                                 (int)(class->name.len < 64 ? class->name.len : 64),
                                 class->name.data);
    return pass->take(r, class, &r->row);
}

static kymo_err each_event(struct kymo_jfr_reader *r, const struct pass *pass)
{
    enum { METADATA = 0, CONSTANTS = 1 };
    uint64_t size;
    for (uint64_t at = r->part.at + HEADER_BYTES; at < r->part.end; at += size) {
        kymo_reader in = kymo_reader_part(r->d->data, r->part.end, at, r->part.end);
        size = kymo_jfr_read_varint(&in);
        if (in.failed || size == 0 || size > r->part.end - at)
            return kymo_import_fault(r->d, at, "an event of %llu bytes does not fit its chunk",
                                     (unsigned long long)size);
        uint64_t fields_at = kymo_jfr_place(r, in.at);
        in = kymo_reader_part(r->d->data, at + size, fields_at, at + size);
        uint64_t id = kymo_jfr_read_varint(&in);
        if (in.failed)
            return kymo_import_fault(r->d, at, "an event of %llu bytes has no room for its class",
                                     (unsigned long long)size);
        const uint32_t *class = kymo_key_map_find(&r->part.class_map, id);
        if (id != METADATA && id != CONSTANTS && class)
            KYMO_TRY(read_event(r, pass, &r->part.classes[*class], in));
    }
    return KYMO_OK;
}

/* ---- passes ---- */

static kymo_err take_setting(struct kymo_jfr_reader *r, kymo_jfr_class *class,
                             const kymo_jfr_row *row)
{
    return kymo_jfr_take_setting(r, class->event, row);
}

static kymo_err take_event(struct kymo_jfr_reader *r, kymo_jfr_class *class,
                           const kymo_jfr_row *row)
{
    return kymo_jfr_take_event(r, class, row);
}

static kymo_err find_own_types(struct kymo_jfr_reader *r, int is_second)
{
    for (uint32_t i = 0; i < r->part.class_count; i++) {
        kymo_jfr_class *class = &r->part.classes[i];
        int is_own = class->event == KYMO_JFR_EVENT_KYMO_SAMPLE ||
                     class->event == KYMO_JFR_EVENT_KYMO_COUNTER;
        if (is_own && (is_second || class->count))
            KYMO_TRY(kymo_jfr_find_own_type(r, class, &class->own_type));
    }
    return KYMO_OK;
}

/* The zero of the profile is the beginning of the first chunk; of Kymo, as it was recorded. */
static void take_times(struct kymo_jfr_reader *r)
{
    const kymo_jfr_part *part = &r->part;
    if (part->at == 0)
        r->origin_epoch_ns = part->start_epoch_ns - (r->is_kymo ? part->start_ticks : 0);
    uint64_t start_ns = kymo_jfr_time_ns(r, part->start_ticks);
    uint64_t end_ns = start_ns;
    if (part->duration_ns > INT64_MAX || start_ns + part->duration_ns > INT64_MAX)
        end_ns = INT64_MAX;
    else
        end_ns += part->duration_ns;
    r->start_ns = part->at == 0 ? start_ns : r->start_ns;
    r->end_ns = end_ns > r->end_ns ? end_ns : r->end_ns;
}

static kymo_err read_chunk(struct kymo_jfr_reader *r, const struct pass *pass)
{
    if (pass->is_second) {
        KYMO_TRY(find_own_types(r, 1));
        return each_event(r, pass);
    }
    take_times(r);
    KYMO_TRY(each_event(r, pass));
    for (uint32_t i = 0; i < r->part.class_count; i++)
        r->counts[r->part.classes[i].event] += r->part.classes[i].count;
    return find_own_types(r, 0);
}

static kymo_err each_chunk(struct kymo_jfr_reader *r, const struct pass *pass)
{
    uint64_t next = 0;
    while (next < r->len) {
        kymo_err err = open_chunk(r, next);
        if (err == KYMO_OK && r->part.end) {
            next = r->part.end;
            err = read_chunk(r, pass);
        }
        close_chunk(r);
        KYMO_TRY(err);
    }
    return KYMO_OK;
}

/* ---- the whole ---- */

static const char *text_of(const struct kymo_jfr_reader *r, uint32_t string)
{
    return string ? kymo_profile_string(r->d->profile, string) : NULL;
}

static kymo_err set_meta(struct kymo_jfr_reader *r)
{
    const kymo_meta meta = {.size = sizeof meta,
                            .format = r->d->format,
                            .product = text_of(r, r->product),
                            .os = text_of(r, r->system),
                            .cpu_name = text_of(r, r->cpu),
                            .origin_realtime_ns =
                                r->origin_epoch_ns <= INT64_MAX ? r->origin_epoch_ns : 0,
                            .start_ns = r->start_ns,
                            .end_ns = r->end_ns,
                            .period_ns = r->period_ns,
                            .wall_period_ns = r->wall_period_ns};
    uint32_t process;
    const char *name = meta.product ? meta.product : r->pid ? NULL : "all";
    if (r->d->pids.len == 0)
        KYMO_TRY(kymo_import_process(r->d, r->pid, name, &process));
    r->pid = r->d->pids.data[0];
    KYMO_TRY(kymo_jfr_say_losses(r));
    return kymo_profile_set_meta(r->d->profile, &meta);
}

static kymo_err read_all(struct kymo_jfr_reader *r)
{
    static const struct pass first = {take_setting, 0};
    static const struct pass second = {take_event, 1};
    KYMO_TRY(each_chunk(r, &first));
    KYMO_TRY(kymo_jfr_set_types(r));
    KYMO_TRY(set_meta(r));
    KYMO_TRY(each_chunk(r, &second));
    return kymo_jfr_end_memory(r);
}

kymo_err kymo_jfr_read(kymo_importer *importer)
{
    struct kymo_jfr_reader r = {.d = importer, .len = importer->len};
    kymo_err err = read_all(&r);
    kymo_key_map_deinit(&r.thread_pids);
    kymo_key_map_deinit(&r.libraries);
    kymo_key_map_deinit(&r.build_ids);
    kymo_key_map_deinit(&r.modules);
    kymo_key_map_deinit(&r.own_type_map);
    kymo_key_map_deinit(&r.counters);
    kymo_vec_free_all(r.losses.data, r.own_types.data, r.runs.data, r.frames.data,
                      r.allocations.data);
    return err;
}
