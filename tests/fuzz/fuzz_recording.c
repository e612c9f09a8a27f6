/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_recording.c - any bytes give a profile or a clear error.
 *
 * The input is read as a file three times: as it is; with each checksum set right, since no fuzzer
 * finds a checksum; and, if that is a recording, through the writer, whose output must be as whole
 * as what came in. What is loaded is walked, written in each format and summed up, so that a
 * bad id shows.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kymo/encode.h"
#include "kymo/recording.h"
#include "kymo/report.h"
#include "recording/recording.h"
#include "recording/recording_format.h"

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

static void walk_value(const kymo_profile *profile, const kymo_value *value)
{
    require(value->kind <= KYMO_VALUE_LIST);
    if (value->kind == KYMO_VALUE_STRING)
        require(value->as.string < kymo_profile_count(profile, KYMO_TABLE_STRINGS));
    if (value->kind != KYMO_VALUE_LIST)
        return;
    const kymo_value *list =
        kymo_profile_values(profile, value->as.list.first, value->as.list.count);
    require(list != NULL || value->as.list.count == 0);
    for (uint32_t i = 0; i < value->as.list.count; i++)
        require(list[i].kind != KYMO_VALUE_LIST);
    for (uint32_t i = 0; i < value->as.list.count; i++)
        walk_value(profile, &list[i]);
}

static void walk_labels(const kymo_profile *profile, uint32_t set)
{
    uint32_t count;
    const kymo_label *labels = kymo_profile_label_set(profile, set, &count);
    require(set == KYMO_NONE || set < kymo_profile_count(profile, KYMO_TABLE_LABEL_SETS));
    for (uint32_t i = 0; i < count; i++) {
        require(labels[i].key < kymo_profile_count(profile, KYMO_TABLE_STRINGS));
        require(labels[i].value.kind != KYMO_VALUE_LIST);
        walk_value(profile, &labels[i].value);
    }
}

static void walk_markers(const kymo_profile *profile, uint32_t thread)
{
    kymo_markers markers = kymo_profile_markers(profile, thread);
    const uint32_t *sample_labels = kymo_profile_sample_labels(profile, thread);
    uint32_t strings = kymo_profile_count(profile, KYMO_TABLE_STRINGS);
    for (size_t i = 0; i < markers.count; i++) {
        const kymo_marker *m = &markers.rows[i];
        require(i == 0 || m[-1].start_ns <= m->start_ns);
        require(m->start_ns <= m->end_ns && m->phase <= KYMO_MARKER_UNBEGUN);
        require(m->thread == thread && m->name < strings && m->track < strings);
        require(m->category == KYMO_NONE ||
                kymo_profile_marker_category(profile, m->category) != NULL);
        require(m->stack == KYMO_NONE || m->stack < kymo_profile_stacks(profile).count);
        walk_labels(profile, m->labels);
        uint32_t fields = 0;
        if (m->schema != KYMO_NONE)
            fields = kymo_profile_schema(profile, m->schema)->field_count;
        const kymo_value *values = kymo_profile_values(profile, m->first_value, m->value_count);
        require((m->value_count == fields || m->value_count == 0) &&
                (values != NULL || m->value_count == 0));
        for (uint32_t v = 0; v < m->value_count; v++)
            walk_value(profile, &values[v]);
    }
    if (sample_labels)
        for (size_t i = 0; i < kymo_profile_samples(profile, thread).count; i++)
            walk_labels(profile, sample_labels[i]);
}

static void walk_counters(const kymo_profile *profile)
{
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_COUNTERS); i++) {
        const kymo_counter *counter = kymo_profile_counter(profile, i);
        kymo_counts counts = kymo_profile_counts(profile, i);
        require(kymo_profile_process(profile, counter->process) != NULL);
        require(counter->category == KYMO_NONE ||
                kymo_profile_marker_category(profile, counter->category) != NULL);
        for (uint32_t n = 1; n < counts.count; n++)
            require(counts.time_ns[n - 1] <= counts.time_ns[n]);
    }
}

static kymo_err take(kymo_sink *sink, const void *data, size_t len)
{
    (void)sink;
    (void)data;
    (void)len;
    return KYMO_OK;
}

/* Whichever program made the recording, what can be loaded can be written, and reported. */
static void use(const kymo_profile *profile)
{
    kymo_sink nowhere = {take};
    const char *const names[] = {"a.json", "a.pb.gz", "a.folded"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        require(kymo_encode(profile, kymo_format_for_path(names[i]), &nowhere, NULL, NULL) ==
                KYMO_OK);
    for (unsigned by = 0; by < KYMO_MARKERS_BY_COUNT; by++) {
        kymo_marker_report *report = NULL;
        require(kymo_marker_report_create(profile, (kymo_marker_report_by)by, &report) == KYMO_OK);
        kymo_marker_report_destroy(report);
    }
    kymo_heap_report_options heap = {.size = sizeof heap, .at_ns = KYMO_HEAP_END};
    for (; heap.view < KYMO_HEAP_VIEW_COUNT; heap.view++) {
        kymo_report *report = NULL;
        require(kymo_heap_report_create(profile, &heap, &report) == KYMO_OK);
        kymo_report_destroy(report);
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
        walk_markers(profile, i);
    }
    walk_counters(profile);
    for (uint32_t i = 0; i < info.image_count; i++)
        require(kymo_profile_module(profile, info.images[i].module) != NULL);
    use(profile);
    kymo_recording_info_deinit(&info);
    kymo_profile_destroy(profile);
}

/* Makes the header's and each chunk's checksum right, as far as the lengths go. */
static void seal(uint8_t *data, size_t len)
{
    struct kymo_file_header file;
    if (len < sizeof file)
        return;
    memcpy(&file, data, sizeof file);
    file.crc = kymo_file_header_crc(&file);
    memcpy(data, &file, sizeof file);
    for (size_t at = file.header_bytes; at < len && len - at >= sizeof(struct kymo_chunk_header);) {
        struct kymo_chunk_header header;
        memcpy(&header, data + at, sizeof header);
        if (header.length > len - at - sizeof header)
            return;
        header.crc = kymo_chunk_crc(&header, data + at + sizeof header);
        memcpy(data + at, &header, sizeof header);
        at += sizeof header + header.length;
    }
}

/* Calls are only counted exactly if somebody takes them. */
static kymo_err take_calls(void *ctx, const kymo_event_calls *e)
{
    (void)ctx;
    (void)e;
    return KYMO_OK;
}

/* What a reader delivers, a writer takes, and a reader reads again without anything to complain. */
static void copy(const uint8_t *data, size_t len, unsigned flags)
{
    kymo_recording_writer *writer = NULL;
    kymo_recording_report first, second;
    kymo_error detail;
    const kymo_event_handler no_events = {.calls = take_calls};
    int fd = memfd_create("copy", MFD_CLOEXEC);
    require(fd >= 0 && kymo_recording_writer_create(fd, flags, &writer) == KYMO_OK);
    if (kymo_recording_read_memory(data, len, 0, &kymo_recording_write_handler, writer, &first,
                                   &detail) == KYMO_OK) {
        require(kymo_recording_flush(writer) == KYMO_OK);
        require(lseek(fd, 0, SEEK_SET) == 0);
        require(kymo_recording_read_fd(fd, 0, &no_events, NULL, &second, &detail) == KYMO_OK);
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
