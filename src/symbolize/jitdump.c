/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jitdump.c - the binary file that JIT compilers write for perf: a header, then records with a
 * time.
 *
 * The code in each load record is skipped. Lines are read on request: they are in a record before
 * the load record with the same address. Unknown records are skipped by their size; an incomplete
 * record ends the reading.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/reader.h"
#include "symbolize/code_file.h"
#include "sys/write_all.h"

#define MAGIC 0x4a695444u
#define MAGIC_SWAPPED 0x4454694au
#define HEADER_BYTES 40u
#define HEADER_MAX 4096u
#define RECORD_BYTES 16u
#define LOAD_BYTES (RECORD_BYTES + 40u)
#define MOVE_BYTES (RECORD_BYTES + 48u)
#define DEBUG_BYTES (RECORD_BYTES + 16u)
#define DEBUG_MAX (4u << 20)
#define FILES_MAX 256u
#define FLAG_TICKS 1u
/* V8 and LLVM give lines the addresses of the ELF file that perf will make, where code follows a
 * header of this size; other compilers use addresses in memory. The file does not say which. But
 * the first line of a function is at its beginning, so for V8 and LLVM it is off by this size in
 * all functions. */
#define BIAS 0x40u
/* V8 leaves its mark in the padding. For file names it writes freed memory (seen in node 20),
 * which may contain anything, even NUL. So they are ignored: the function's name contains the
 * file, and the next line is found by the address, which lies in the code. */
#define V8_MARK 0xdeadbeefu

enum { LOAD = 0, MOVE = 1, DEBUG_INFO = 2, CLOSE = 3 };

struct record {
    uint64_t at;
    uint32_t id;
    uint32_t size;
    uint64_t time;
};

struct reading {
    int fd;
    kymo_code_entries *out;
    size_t first;              /* length of *out before */
    kymo_index by_index;       /* the place in newest of a code index, which a file may repeat */
    KYMO_VEC(uint32_t) newest; /* in *out */
    struct record debug;       /* the last one; size 0: none */
    uint64_t debug_address;
    bool has_lines;
    bool has_unbiased_lines;
};

static uint64_t index_hash(uint64_t index)
{
    return kymo_hash_words(&index, 1, kymo_hash_secret());
}

/* The newest entry of that index; NULL: none. */
static uint32_t *find(struct reading *r, uint64_t index)
{
    size_t probe = 0;
    uint32_t at;
    while (kymo_index_find(&r->by_index, index_hash(index), &probe, &at))
        if (r->out->data[r->newest.data[at]].index == index)
            return &r->newest.data[at];
    return NULL;
}

static kymo_err push(struct reading *r, const kymo_code_entry *e)
{
    const uint32_t number = (uint32_t)r->out->len;
    KYMO_TRY(kymo_vec_reserve(r->out, 1));
    uint32_t *known = find(r, e->index);
    if (known) {
        *known = number;
    } else {
        KYMO_TRY(kymo_vec_reserve(&r->newest, 1));
        KYMO_TRY(kymo_index_put(&r->by_index, index_hash(e->index), (uint32_t)r->newest.len));
        r->newest.data[r->newest.len++] = number;
    }
    r->out->data[r->out->len++] = *e;
    return KYMO_OK;
}

static kymo_err take_load(struct reading *r, const struct record *record)
{
    unsigned char bytes[LOAD_BYTES + KYMO_CODE_ENTRY_NAME_MAX];
    size_t have = record->size < sizeof bytes ? record->size : sizeof bytes;
    if (have <= LOAD_BYTES || kymo_read_all(r->fd, bytes, have, record->at) != have)
        return KYMO_OK;
    kymo_reader in = kymo_reader_of(bytes, have);
    kymo_reader_skip(&in, RECORD_BYTES + 8 + 8); /* header, pid and tid, vma */
    kymo_code_entry e = {.from = record->time};
    e.start = kymo_read_u64(&in);
    e.size_bytes = kymo_read_u64(&in);
    e.index = kymo_read_u64(&in);
    e.name_at = record->at + LOAD_BYTES;
    e.name_len = (uint32_t)strnlen((const char *)bytes + LOAD_BYTES, have - LOAD_BYTES);
    if (e.size_bytes == 0 || e.start > UINT64_MAX - e.size_bytes)
        return KYMO_OK;
    if (r->debug.size != 0 && r->debug_address == e.start) {
        e.lines_at = r->debug.at;
        e.lines_bytes = r->debug.size;
        e.lines_start = e.start;
    }
    r->debug.size = 0;
    return push(r, &e);
}

/* The code moved; its name and number stay. */
static kymo_err take_move(struct reading *r, const struct record *record)
{
    unsigned char bytes[MOVE_BYTES];
    if (record->size < sizeof bytes ||
        kymo_read_all(r->fd, bytes, sizeof bytes, record->at) != sizeof bytes)
        return KYMO_OK;
    kymo_reader in = kymo_reader_of(bytes, sizeof bytes);
    kymo_reader_skip(&in, RECORD_BYTES + 8 + 8 + 8); /* header, pid and tid, vma, old address */
    uint64_t start = kymo_read_u64(&in);
    (void)kymo_read_u64(&in);
    uint64_t index = kymo_read_u64(&in);
    const uint32_t *found = find(r, index);
    if (!found)
        return KYMO_OK;
    kymo_code_entry e = r->out->data[*found];
    if (start > UINT64_MAX - e.size_bytes)
        return KYMO_OK;
    r->out->data[*found].to = record->time;
    e.start = start;
    e.from = record->time;
    return push(r, &e);
}

static void take_lines(struct reading *r, const struct record *record)
{
    unsigned char bytes[24];
    r->debug.size = 0;
    if (record->size < DEBUG_BYTES + 8 ||
        kymo_read_all(r->fd, bytes, sizeof bytes, record->at + RECORD_BYTES) != sizeof bytes)
        return;
    kymo_reader in = kymo_reader_of(bytes, sizeof bytes);
    r->debug = *record;
    r->debug_address = kymo_read_u64(&in);
    (void)kymo_read_u64(&in);
    uint64_t first = kymo_read_u64(&in);
    r->has_lines = true;
    if (first - r->debug_address < BIAS)
        r->has_unbiased_lines = true;
}

static kymo_err take_record(struct reading *r, const struct record *record)
{
    switch (record->id) {
    case LOAD:
        return take_load(r, record);
    case MOVE:
        return take_move(r, record);
    case DEBUG_INFO:
        take_lines(r, record);
        return KYMO_OK;
    default:
        return KYMO_OK;
    }
}

static kymo_err read_header(int fd, kymo_jitdump *info, uint64_t *at)
{
    unsigned char bytes[HEADER_BYTES];
    if (kymo_read_all(fd, bytes, sizeof bytes, 0) != sizeof bytes)
        return KYMO_E_CORRUPT;
    kymo_reader in = kymo_reader_of(bytes, sizeof bytes);
    uint32_t magic = kymo_read_u32(&in);
    if (magic == MAGIC_SWAPPED)
        return KYMO_E_UNSUPPORTED;
    (void)kymo_read_u32(&in); /* version */
    *at = kymo_read_u32(&in);
    (void)kymo_read_u32(&in); /* machine */
    uint32_t padding = kymo_read_u32(&in);
    (void)kymo_read_u32(&in); /* pid */
    (void)kymo_read_u64(&in); /* time: may be of another clock than the others */
    info->counts_ticks = (kymo_read_u64(&in) & FLAG_TICKS) != 0;
    info->is_v8 = padding == V8_MARK;
    info->line_bias = 0;
    return magic == MAGIC && *at >= HEADER_BYTES && *at <= HEADER_MAX ? KYMO_OK : KYMO_E_CORRUPT;
}

kymo_err kymo_jitdump_read(int fd, kymo_jitdump *info, kymo_code_entries *out)
{
    struct reading r = {.fd = fd, .out = out, .first = out->len};
    struct record record;
    kymo_err err = read_header(fd, info, &record.at);
    info->cut = false;
    for (uint32_t n = 0; err == KYMO_OK; n++) {
        unsigned char bytes[RECORD_BYTES];
        unsigned char last;
        if (kymo_read_all(fd, bytes, sizeof bytes, record.at) != sizeof bytes)
            break;
        kymo_reader in = kymo_reader_of(bytes, sizeof bytes);
        record.id = kymo_read_u32(&in);
        record.size = kymo_read_u32(&in);
        record.time = kymo_read_u64(&in);
        if (record.id == CLOSE || record.size < RECORD_BYTES ||
            kymo_read_all(fd, &last, 1, record.at + record.size - 1) != 1)
            break;
        info->cut = out->len - r.first >= KYMO_CODE_ENTRIES_MAX || n >= KYMO_JITDUMP_RECORDS_MAX;
        if (info->cut)
            break;
        err = take_record(&r, &record);
        record.at += record.size;
    }
    if (r.has_lines && !r.has_unbiased_lines)
        info->line_bias = BIAS;
    kymo_index_deinit(&r.by_index);
    kymo_vec_deinit(&r.newest);
    return err;
}

/* ---- lines ---- */

void kymo_code_lines_deinit(kymo_code_lines *lines)
{
    kymo_vec_deinit(&lines->lines);
    kymo_vec_deinit(&lines->files);
    kymo_vec_deinit(&lines->bytes);
}

/* The number of a file's name; adds it if new; FILES_MAX if there are too many. */
static kymo_err find_file(kymo_code_lines *out, const char *name, uint32_t *file)
{
    /* usually the one before */
    for (size_t i = out->files.len; i-- > 0;)
        if (strcmp(out->files.data[i], name) == 0) {
            *file = (uint32_t)i;
            return KYMO_OK;
        }
    *file = (uint32_t)out->files.len;
    return out->files.len < FILES_MAX ? kymo_vec_push(&out->files, name) : KYMO_OK;
}

kymo_err kymo_jitdump_lines(int fd, const kymo_jitdump *info, const kymo_code_entry *entry,
                            kymo_code_lines *out)
{
    out->lines.len = out->files.len = out->bytes.len = 0;
    if (entry->lines_at == 0 || entry->lines_bytes > DEBUG_MAX || entry->lines_bytes < DEBUG_BYTES)
        return KYMO_OK;
    KYMO_TRY(kymo_vec_reserve(&out->bytes, entry->lines_bytes));
    if (kymo_read_all(fd, out->bytes.data, entry->lines_bytes, entry->lines_at) !=
        entry->lines_bytes)
        return KYMO_OK;
    kymo_reader in = kymo_reader_of(out->bytes.data, entry->lines_bytes);
    kymo_reader_skip(&in, RECORD_BYTES + 8);
    uint64_t count = kymo_read_u64(&in);
    uint32_t file = FILES_MAX;
    for (uint64_t i = 0; i < count && out->lines.len < KYMO_EVENT_CODE_LINES_MAX; i++) {
        uint64_t offset = kymo_read_u64(&in) - entry->lines_start - info->line_bias;
        while (info->is_v8 && offset >= entry->size_bytes && !in.failed) {
            in.at -= 7;
            offset = kymo_read_u64(&in) - entry->lines_start - info->line_bias;
        }
        uint32_t line = kymo_read_u32(&in);
        uint32_t column = kymo_read_u32(&in);
        const char *name = kymo_read_text(&in);
        if (in.failed)
            break;
        /* this one byte means the same name as before */
        if (info->is_v8)
            KYMO_TRY(find_file(out, "", &file));
        else if (strcmp(name, "\xff") != 0)
            KYMO_TRY(find_file(out, name, &file));
        if (file < FILES_MAX && offset < entry->size_bytes && offset <= UINT32_MAX)
            KYMO_TRY(kymo_vec_push(&out->lines,
                                   (kymo_event_code_line){(uint32_t)offset, line, column, file}));
    }
    return KYMO_OK;
}
