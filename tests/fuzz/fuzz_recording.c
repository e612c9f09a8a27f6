/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_recording.c - any bytes give a profile or a clear error.
 *
 * The input is read as a file three times: as it is; with each checksum set right, since no fuzzer
 * finds a checksum; and, if that is a recording, through the writer, whose output must be as whole
 * as what came in. What is loaded is walked as encoders do, so that a bad id shows.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kymo/recording.h"
#include "recorder/recording.h"
#include "recorder/recording_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void walk_samples(const kymo_profile *profile, uint32_t thread)
{
    kymo_stacks stacks = kymo_profile_stacks(profile);
    uint32_t frames = kymo_profile_count(profile, KYMO_TABLE_FRAMES);
    kymo_samples samples = kymo_profile_samples(profile, thread);
    for (size_t i = 0; i < samples.count; i++) {
        require(i == 0 || samples.time_ns[i - 1] <= samples.time_ns[i]);
        require(samples.stack[i] == KYMO_NONE || samples.stack[i] < stacks.count);
    }
    for (uint32_t i = 0; i < stacks.count; i++) {
        require(stacks.frame[i] < frames);
        require(stacks.parent[i] == KYMO_NONE || stacks.parent[i] < i);
    }
}

static void load(const uint8_t *data, size_t len)
{
    kymo_profile *profile = NULL;
    kymo_recording_info info = {.size = sizeof info};
    kymo_error detail = {.code = KYMO_OK};
    kymo_err err = kymo_recording_load_memory(data, len, &profile, &info, &detail);
    if (err != KYMO_OK) {
        require(profile == NULL && detail.code == err && detail.message[0] != '\0');
        return;
    }
    require(info.size_bytes <= len);
    require(info.whole == (info.damage[0] == '\0'));
    uint32_t threads = kymo_profile_count(profile, KYMO_TABLE_THREADS);
    for (uint32_t i = 0; i < threads; i++) {
        const kymo_thread *t = kymo_profile_thread(profile, i);
        require(kymo_profile_process(profile, t->process) != NULL);
        if (i == 0)
            walk_samples(profile, i);
    }
    for (uint32_t i = 0; i < info.image_count; i++)
        require(kymo_profile_module(profile, info.images[i].module) != NULL);
    kymo_recording_info_deinit(&info);
    kymo_profile_destroy(profile);
}

/* Makes the header's and each block's checksum right, as far as the lengths go. */
static void seal(uint8_t *data, size_t len)
{
    struct kymo_file_header file;
    if (len < sizeof file)
        return;
    memcpy(&file, data, sizeof file);
    file.crc = kymo_file_header_crc(&file);
    memcpy(data, &file, sizeof file);
    for (size_t at = file.header_bytes; at < len && len - at >= sizeof(struct kymo_block_header);) {
        struct kymo_block_header header;
        memcpy(&header, data + at, sizeof header);
        if (header.length > len - at - sizeof header)
            return;
        header.crc = kymo_block_crc(&header, data + at + sizeof header);
        memcpy(data + at, &header, sizeof header);
        at += sizeof header + header.length;
    }
}

/* What a reader delivers, a writer takes, and a reader reads again without anything to complain. */
static void copy(const uint8_t *data, size_t len, unsigned flags)
{
    kymo_recording_writer *writer = NULL;
    kymo_recording_report first, second;
    kymo_error detail;
    const kymo_event_handler nobody = {0};
    int fd = memfd_create("copy", MFD_CLOEXEC);
    require(fd >= 0 && kymo_recording_writer_create(fd, flags, &writer) == KYMO_OK);
    if (kymo_recording_read_memory(data, len, 0, &kymo_recording_write_handler, writer, &first,
                                   &detail) == KYMO_OK) {
        require(kymo_recording_flush(writer) == KYMO_OK);
        require(lseek(fd, 0, SEEK_SET) == 0);
        require(kymo_recording_read_fd(fd, 0, &nobody, NULL, &second, &detail) == KYMO_OK);
        const kymo_recording_damage none = {0};
        require(memcmp(&second.damage, &none, sizeof none) == 0);
        require(second.events == first.events);
        require((second.ending == KYMO_RECORDING_ENDED) == (first.ending == KYMO_RECORDING_ENDED));
    }
    kymo_recording_writer_destroy(writer);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    load(data, len);
    uint8_t *sealed = malloc(len ? len : 1);
    require(sealed != NULL);
    if (len > 0)
        memcpy(sealed, data, len);
    seal(sealed, len);
    load(sealed, len);
    copy(sealed, len, len & 1 ? KYMO_RECORDING_COMPRESS : 0);
    free(sealed);
    return 0;
}
