/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_symbols.c - stores the names of its code in a recording.
 *
 *   before   ... | samples | END
 *   after    ... | samples | SYMBOLS | SYMBOLS | END
 *
 * The END chunk is kept in memory, overwritten, and written again unchanged. If the recorder is
 * killed in between, the recording has no END, or a part of a chunk. All samples are still there,
 * and it is symbolized when it is read.
 */

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "recording/recording.h"
#include "symbolize/finish.h"
#include "symbolize/names_file.h"
#include "sys/write_all.h"

/* An END chunk takes 32 bytes; a later version may make it longer. */
#define END_BYTES_MAX 4096u

struct end_chunk {
    unsigned char bytes[END_BYTES_MAX];
    size_t len;
    off_t at;
};

static int write_end(int fd, const struct end_chunk *end)
{
    return kymo_write_all(fd, end->bytes, end->len) == end->len;
}

static kymo_err write_chunks(int fd, const kymo_profile *profile, const struct end_chunk *end,
                             kymo_error *detail)
{
    kymo_recording_writer *writer;
    if (lseek(fd, end->at, SEEK_SET) < 0)
        return kymo_error_set_errno(detail, "writing the recording");
    KYMO_TRY(kymo_recording_writer_continue(fd, &writer));
    kymo_err err = kymo_symbol_events_send(profile, NULL, &kymo_recording_write_handler, writer);
    if (err == KYMO_OK)
        err = kymo_recording_flush(writer);
    (void)kymo_recording_error(writer, detail);
    kymo_recording_writer_destroy(writer);
    if (err == KYMO_OK && !write_end(fd, end))
        err = kymo_error_set_errno(detail, "writing the recording");
    return err;
}

/* The offset of the END chunk, which is the last one. */
static void restore(int fd, const struct end_chunk *end)
{
    if (ftruncate(fd, end->at) == 0 && lseek(fd, end->at, SEEK_SET) >= 0)
        (void)write_end(fd, end);
}

static kymo_err write_all(int fd, const kymo_profile *profile, const struct end_chunk *end,
                          kymo_error *detail)
{
    sigset_t wait, before;
    struct rlimit limit = {0};
    /* The soft limit on file size is meant for the program; the spool ignored it, too. */
    int is_limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != limit.rlim_max;
    if (is_limited)
        (void)!setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit.rlim_max, limit.rlim_max});
    sigemptyset(&wait);
    sigaddset(&wait, SIGINT);
    sigaddset(&wait, SIGTERM);
    sigaddset(&wait, SIGHUP);
    sigprocmask(SIG_BLOCK, &wait, &before);
    kymo_err err = write_chunks(fd, profile, end, detail);
    if (err != KYMO_OK)
        restore(fd, end);
    if (is_limited)
        (void)!setrlimit(RLIMIT_FSIZE, &limit);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return err;
}

kymo_err kymo_store_symbols(int fd, int names, const kymo_finish_progress *progress,
                            kymo_error *detail)
{
    kymo_profile *profile;
    kymo_recording_info info = {.size = sizeof info};
    uint64_t end_at;
    struct end_chunk end;
    KYMO_TRY(kymo_recording_load_code(fd, names, &profile, &info, &end_at, detail));
    end.at = (off_t)end_at;
    end.len = (size_t)(info.size_bytes - end_at);
    kymo_err err = KYMO_OK;
    if (info.whole && end_at != 0 && end.len <= sizeof end.bytes &&
        kymo_read_all(fd, end.bytes, end.len, end_at) == end.len) {
        err = kymo_finish_symbolize(profile, &info, progress);
        if (err == KYMO_OK)
            err = write_all(fd, profile, &end, detail);
        if (err == KYMO_OK && names)
            err = kymo_names_file_add(names, profile);
    }
    kymo_profile_destroy(profile);
    kymo_recording_info_deinit(&info);
    return err;
}
