/* SPDX-License-Identifier: Apache-2.0 */
#include "import/importer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "profile/tables.h"

enum { ROWS_BETWEEN_LOOKS = 4096 };

static kymo_err say(kymo_importer *d, kymo_err code, uint64_t position, const char *advice,
                    const char *fmt, va_list args)
{
    char text[160];
    vsnprintf(text, sizeof text, fmt, args);
    return kymo_error_set(d->detail, code, position, "%s data at byte %" PRIu64 ": %s%s", d->format,
                          position, text, advice);
}

kymo_err kymo_import_fault(kymo_importer *d, uint64_t position, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    kymo_err err =
        say(d, KYMO_E_CORRUPT, position, "; the file is damaged: get it again", fmt, args);
    va_end(args);
    return err;
}

kymo_err kymo_import_unsupported(kymo_importer *d, uint64_t position, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    kymo_err err = say(d, KYMO_E_UNSUPPORTED, position, "", fmt, args);
    va_end(args);
    return err;
}

kymo_err kymo_import_cut(kymo_importer *d)
{
    return kymo_error_set(d->detail, KYMO_E_TRUNCATED, d->len,
                          "%s data ends too early, at byte %zu; the file was cut: get it again",
                          d->format, d->len);
}

static kymo_err too_big(kymo_importer *d)
{
    return kymo_error_set(d->detail, KYMO_E_TOO_BIG, 0,
                          "%s data needs more than %zu MiB of memory; use a smaller profile, of "
                          "less time or fewer threads",
                          d->format, KYMO_IMPORT_BYTES_MAX >> 20);
}

static int is_full(const kymo_importer *d, size_t more)
{
    size_t used = d->len + d->arena.used_bytes + d->charged + kymo_profile_used_bytes(d->profile);
    return used > KYMO_IMPORT_BYTES_MAX || more > KYMO_IMPORT_BYTES_MAX - used;
}

kymo_err kymo_import_check_room(kymo_importer *d)
{
    /* A look passes over all threads. */
    if (kymo_likely(++d->rows < ROWS_BETWEEN_LOOKS + d->threads.len))
        return KYMO_OK;
    d->rows = 0;
    return is_full(d, 0) ? too_big(d) : KYMO_OK;
}

kymo_err kymo_import_table(kymo_importer *d, size_t count, size_t size, void *table)
{
    if (count > KYMO_IMPORT_BYTES_MAX / size || is_full(d, count * size))
        return too_big(d);
    void *rows = kymo_arena_calloc(&d->arena, count * size, 16);
    if (!rows)
        return KYMO_E_NOMEM;
    memcpy(table, &rows, sizeof rows);
    return KYMO_OK;
}

kymo_err kymo_import_charge(kymo_importer *d, size_t bytes)
{
    if (is_full(d, bytes))
        return too_big(d);
    d->charged += bytes;
    return KYMO_OK;
}

void kymo_import_uncharge(kymo_importer *d, size_t bytes)
{
    d->charged -= bytes < d->charged ? bytes : d->charged;
}

kymo_err kymo_import_string(kymo_importer *d, const char *text, size_t len, uint32_t *string)
{
    KYMO_TRY(kymo_import_check_room(d));
    return kymo_profile_add_string(d->profile, text, len, string);
}

kymo_err kymo_import_function(kymo_importer *d, const kymo_function *function, uint32_t file,
                              uint32_t *id)
{
    kymo_function row = *function;
    row.source = KYMO_NONE;
    KYMO_TRY(kymo_import_check_room(d));
    if (file)
        KYMO_TRY(kymo_profile_add_source(d->profile, kymo_profile_string(d->profile, file),
                                         kymo_profile_string_len(d->profile, file), &row.source));
    return kymo_profile_add_function(d->profile, &row, id);
}

kymo_err kymo_import_stack(kymo_importer *d, uint32_t parent, uint32_t frame, uint32_t *stack)
{
    KYMO_TRY(kymo_import_check_room(d));
    return kymo_profile_add_stack(d->profile, parent, frame, stack);
}

/* ---- build-ids and names of types ---- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Go's own ids of programs, and what else is not hexadecimal, are no build-ids of ELF files. */
void kymo_import_build_id(kymo_module *m, const char *text, size_t len)
{
    if (len == 0 || len % 2 || len / 2 > KYMO_BUILD_ID_MAX)
        return;
    for (size_t i = 0; i < len; i++)
        if (hex_digit(text[i]) < 0)
            return;
    for (size_t i = 0; i < len / 2; i++)
        m->build_id[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
    m->build_id_len = (uint32_t)(len / 2);
}

static int is_taken(const kymo_sample_type *types, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(types[i].name, name) == 0)
            return 1;
    return 0;
}

kymo_err kymo_import_type_name(kymo_importer *d, const kymo_sample_type *types, uint32_t count,
                               const char **name)
{
    char text[KYMO_STRING_MAX + 16];
    const char *wanted = *name;
    uint32_t string;
    for (uint32_t n = 2; is_taken(types, count, *name); n++) {
        snprintf(text, sizeof text, "%.*s (%u)", (int)KYMO_STRING_MAX - 16, wanted, n);
        KYMO_TRY(kymo_import_string(d, text, strlen(text), &string));
        *name = kymo_profile_string(d->profile, string);
    }
    return KYMO_OK;
}

/* ---- processes and threads ---- */

kymo_err kymo_import_process(kymo_importer *d, int32_t pid, const char *name, uint32_t *id)
{
    uint64_t key = (uint32_t)pid;
    uint64_t hash = kymo_hash_words(&key, 1, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&d->process_index, hash, &probe, id);)
        if (d->pids.data[*id] == pid)
            return KYMO_OK;
    const kymo_process row = {.size = sizeof row,
                              .pid = pid,
                              .name = name,
                              .exit_status = -1,
                              .is_main = d->pids.len == 0};
    KYMO_TRY(kymo_import_check_room(d));
    KYMO_TRY(kymo_profile_add_process(d->profile, &row, id));
    KYMO_TRY(kymo_vec_push(&d->pids, pid));
    return kymo_index_put(&d->process_index, hash, *id);
}

static kymo_err add_thread(kymo_importer *d, int32_t pid, int32_t tid, uint32_t name)
{
    kymo_imported_thread row = {.pid = pid, .tid = tid, .name = name};
    kymo_thread thread = {.size = sizeof thread,
                          .tid = tid,
                          .name = name ? kymo_profile_string(d->profile, name) : NULL};
    KYMO_TRY(kymo_import_process(d, pid, NULL, &thread.process));
    KYMO_TRY(kymo_profile_add_thread(d->profile, &thread, &row.thread));
    return kymo_vec_push(&d->threads, row);
}

kymo_err kymo_import_thread(kymo_importer *d, int32_t pid, int32_t tid, uint32_t name,
                            uint32_t *place)
{
    uint64_t words[] = {(uint64_t)(uint32_t)pid << 32 | (uint32_t)tid, name};
    uint64_t hash = kymo_hash_words(words, 2, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&d->thread_index, hash, &probe, place);) {
        const kymo_imported_thread *t = &d->threads.data[*place];
        if (t->pid == pid && t->tid == tid && t->name == name)
            return KYMO_OK;
    }
    KYMO_TRY(kymo_import_check_room(d));
    KYMO_TRY(add_thread(d, pid, tid, name));
    *place = (uint32_t)d->threads.len - 1;
    return kymo_index_put(&d->thread_index, hash, *place);
}
