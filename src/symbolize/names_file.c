/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/names_file.h"

#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/key_map.h"
#include "recording/recording.h"
#include "symbolize/finish.h"

kymo_err kymo_names_file_begin(int fd)
{
    const kymo_event_meta meta = {.start_ns = 1, .start_realtime_ns = 1};
    kymo_recording_writer *writer;
    KYMO_TRY(kymo_recording_writer_create(fd, 0, &writer));
    kymo_err err = kymo_recording_write_meta(writer, &meta);
    if (err == KYMO_OK)
        err = kymo_recording_flush(writer);
    kymo_recording_writer_destroy(writer);
    return err;
}

static kymo_err read_with(int fd, kymo_err (*symbols)(void *, const kymo_event_symbols *),
                          void *context)
{
    const kymo_event_handler handler = {.symbols = symbols};
    kymo_err err =
        kymo_recording_read_fd(fd, KYMO_RECORDING_BY_OFFSET, &handler, context, NULL, NULL);
    return err == KYMO_E_NOMEM ? err : KYMO_OK;
}

kymo_err kymo_names_file_read(int fd, kymo_ingest *ingest)
{
    kymo_ingest_begin_names(ingest);
    return read_with(fd, kymo_ingest_handler.symbols, ingest);
}

/* ---- adding ---- */

/* By hash of file and address: which have an entry. A false match only leaves out a name, which is
 * then looked up each time. */
static uint64_t key_of(const char *path, const uint8_t *build_id, uint32_t len, uint64_t address)
{
    const uint64_t file = kymo_hash_bytes(path, strlen(path), kymo_hash_secret());
    const uint64_t words[] = {kymo_hash_bytes(build_id, len, file), address};
    return kymo_hash_words(words, 2, kymo_hash_secret());
}

static kymo_err take_keys(void *context, const kymo_event_symbols *e)
{
    kymo_key_map *known = context;
    for (uint32_t i = 0; i < e->address_count; i++) {
        const uint64_t key = key_of(e->path, e->build_id, e->build_id_len, e->addresses[i].address);
        if (!kymo_key_map_find(known, key))
            KYMO_TRY(kymo_key_map_put(known, key, 1));
    }
    return KYMO_OK;
}

static int is_known(void *data, const kymo_module *file, uint64_t address)
{
    const kymo_key_map *known = data;
    return kymo_key_map_find(
               known, key_of(file->path, file->build_id, file->build_id_len, address)) != NULL;
}

static kymo_err append(int fd, const kymo_profile *profile, kymo_key_map *known)
{
    const kymo_symbol_filter filter = {is_known, known};
    kymo_recording_writer *writer;
    if (lseek(fd, 0, SEEK_END) < 0)
        return KYMO_E_IO;
    KYMO_TRY(kymo_recording_writer_continue(fd, &writer));
    kymo_err err = kymo_symbol_events_send(profile, &filter, &kymo_recording_write_handler, writer);
    if (err == KYMO_OK)
        err = kymo_recording_flush(writer);
    kymo_recording_writer_destroy(writer);
    return err;
}

kymo_err kymo_names_file_add(int fd, const kymo_profile *profile)
{
    kymo_key_map known = {0};
    kymo_err err = read_with(fd, take_keys, &known);
    if (err == KYMO_OK)
        err = append(fd, profile, &known);
    kymo_key_map_deinit(&known);
    return err;
}
