/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of markers, counters and labels that are broken, or of another version: nothing that they
 * say of their sizes is believed, and what is good of them is read.
 */
#include "recording_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kymo/marker_abi.h"
#include "recording/file_chunks.h"
#include "recording/recording_format.h"
#include "recording/sample_marks.h"

#define NONE KYMO_EVENT_NONE

/* Calls are only counted exactly if somebody takes them. */
static kymo_err take_calls(void *ctx, const kymo_event_calls *e)
{
    (void)ctx;
    (void)e;
    return KYMO_OK;
}

static const kymo_event_handler no_events = {.calls = take_calls};

static uint64_t damaged_chunks(const kymo_bytes *start, uint32_t type, const void *payload,
                               size_t len, kymo_str *text)
{
    kymo_bytes file;
    kymo_bytes_init(&file, RECORDING_LIMIT);
    assert_int_equal(kymo_bytes_append(&file, start->data, start->len), KYMO_OK);
    assert_int_equal(file_chunk_put(&file, type, KYMO_CHUNK_SKIPPABLE, payload, len), KYMO_OK);
    kymo_recording_report report = read_into(&file, text);
    assert_int_equal(report.ending, KYMO_RECORDING_NO_END);
    kymo_bytes_deinit(&file);
    return report.damage.chunks;
}

static void counts_of_rows_are_not_believed(void **state)
{
    (void)state;
#define HEAD(bytes, groups) bytes, 0, 0, 0, groups, 0, 0, 0
#define GROUP(owner, count) owner, 0, 0, 0, count, 0, 0, 0
    static const struct {
        uint32_t type;
        size_t len;
        unsigned char bytes[40];
    } chunks[] = {
        {KYMO_CHUNK_MARKERS, 0, {0}},
        {KYMO_CHUNK_MARKERS, 8, {HEAD(7, 0)}},
        {KYMO_CHUNK_MARKERS, 8, {HEAD(16, 0)}},
        {KYMO_CHUNK_MARKERS, 8, {HEAD(8, 1)}},
        {KYMO_CHUNK_MARKERS, 16, {8, 0, 0, 0, 255, 255, 255, 255, GROUP(9, 0)}},
        {KYMO_CHUNK_MARKERS, 16, {HEAD(8, 1), 9, 0, 0, 0, 255, 255, 255, 255}},
        {KYMO_CHUNK_MARKERS, 24, {HEAD(8, 1), GROUP(9, 1), 8, 0, 5, 2, 0, 0, 0, 0}},
        {KYMO_CHUNK_MARKERS, 24, {HEAD(8, 1), GROUP(9, 1), 2, 0, 5, 2, 0, 0, 0, 0}},
        {KYMO_CHUNK_MARKERS, 24, {HEAD(8, 1), GROUP(9, 1), 0, 0, 0, 0, 0, 0, 0, 0}},
        /* a length of 2^64 - 1, and one of more bits than that */
        {KYMO_CHUNK_MARKERS,
         32,
         {HEAD(8, 1), GROUP(9, 1), 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}},
        {KYMO_CHUNK_MARKERS,
         32,
         {HEAD(8, 1), GROUP(9, 1), 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}},
        /* a site of 2^32 */
        {KYMO_CHUNK_MARKERS, 32, {HEAD(8, 1), GROUP(9, 1), 7, 0, 0x80, 0x80, 0x80, 0x80, 0x10, 2}},
        /* a payload of more bytes than the row has, a name without its end */
        {KYMO_CHUNK_MARKERS, 24, {HEAD(8, 1), GROUP(9, 1), 4, 8, 5, 2, 1, 0, 0, 0}},
        {KYMO_CHUNK_MARKERS, 24, {HEAD(8, 1), GROUP(9, 1), 6, 0x80, 4, 5, 2, 'a', 'b', 0}},
        {KYMO_CHUNK_COUNTS, 24, {HEAD(8, 1), GROUP(7, 1), 3, 13, 2, 0, 0, 0, 0, 0}},
        {KYMO_CHUNK_LABELS, 24, {HEAD(8, 1), GROUP(9, 1), 3, 1, 0, 2, 0, 0, 0, 0}},
        {KYMO_CHUNK_LABELS, 24, {HEAD(8, 1), GROUP(9, 1), 5, 5, 0, 2, 0, 'a', 0, 0}},
    };
    kymo_str text = {0};
    kymo_bytes start = file_of(few_marks_emit);
    read_into(&start, &text);
    size_t len = text.len;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(chunks); i++) {
        kymo_str_deinit(&text);
        assert_int_equal(
            damaged_chunks(&start, chunks[i].type, chunks[i].bytes, chunks[i].len, &text), 1);
        assert_int_equal(text.len, len);
    }
    /* The first row is good, the second is not; and those of an unknown thread are read. */
    static const unsigned char half[] = {HEAD(8, 2), GROUP(1, 1), 3, 0, 5, 2, GROUP(9, 2),
                                         3,          0,           5, 2, 2, 0, 5};
    kymo_str_deinit(&text);
    assert_int_equal(damaged_chunks(&start, KYMO_CHUNK_MARKERS, half, sizeof half, &text), 1);
    assert_non_null(strstr(kymo_str_cstr(&text), "marker thread=0 site=0 phase=0 time=4 "));
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&start);
}

static void fixed_parts_are_not_believed(void **state)
{
    (void)state;
    static const uint32_t types[] = {
        KYMO_CHUNK_MARKER_CATEGORY, KYMO_CHUNK_MARKER_TYPE, KYMO_CHUNK_SITE,
        KYMO_CHUNK_LITERAL,         KYMO_CHUNK_TRACK,       KYMO_CHUNK_COUNTER,
        KYMO_CHUNK_SITE_COUNTS,
    };
    kymo_str text = {0};
    kymo_bytes start = file_of(few_marks_emit);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(types); i++) {
        uint32_t words[16] = {12, 7};
        assert_int_equal(damaged_chunks(&start, types[i], words, sizeof words, &text), 1);
        words[0] = UINT32_MAX;
        assert_int_equal(damaged_chunks(&start, types[i], words, sizeof words, &text), 1);
        assert_int_equal(damaged_chunks(&start, types[i], words, 0, &text), 1);
    }
    struct {
        struct kymo_file_marker_type fixed;
        char texts[8];
    } type;
    for (unsigned i = 0; i < 8; i++) {
        memset(&type, 0, sizeof type);
        type.fixed = (struct kymo_file_marker_type){.fixed_bytes = sizeof type.fixed,
                                                    .process = 7,
                                                    .type = 30,
                                                    .field_bytes = i == 0 ? 11 : 12,
                                                    .graph_bytes = i == 1 ? 7 : 8,
                                                    .field_count = i == 2   ? UINT32_MAX
                                                                   : i == 3 ? 1
                                                                            : 0,
                                                    .row_count = i == 4   ? UINT32_MAX
                                                                 : i == 5 ? 8
                                                                          : 0,
                                                    .graph_count = i == 6   ? UINT32_MAX
                                                                   : i == 7 ? 1
                                                                            : 0};
        assert_int_equal(damaged_chunks(&start, KYMO_CHUNK_MARKER_TYPE, &type, sizeof type, &text),
                         1);
    }
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&start);
}

/* ---- versions ---------------------------------------------------------------------------------
 */

/* A reader of version 1.1 steps over all of this. But one that does not know scripts would take
 * their frames for a module's. */
static void older_readers_may_skip_it(void **state)
{
    (void)state;
    kymo_bytes file;
    size_t starts[256];
    unsigned seen = 0;
    kymo_bytes_init(&file, RECORDING_LIMIT);
    assert_int_equal(sample_recording_write(0, &file), KYMO_OK);
    size_t chunks = file_chunk_starts(&file, starts, KYMO_ARRAY_LEN(starts));
    for (size_t i = 0; i < chunks; i++) {
        struct kymo_chunk_header header;
        memcpy(&header, file.data + starts[i], sizeof header);
        if (header.type >= 16) {
            assert_int_equal(header.flags,
                             header.type == KYMO_CHUNK_SCRIPT ? 0 : KYMO_CHUNK_SKIPPABLE);
            seen |= header.type >= 32 ? 1u << (header.type - 32) : 0;
        }
    }
    /* The sample has each kind: 32 to 35, and 38 to 55 but for 54, which is written no more. */
    assert_int_equal(seen, 0xf | 0x2ffff << 6);
    kymo_bytes_deinit(&file);
}

static void what_later_versions_append_is_stepped_over(void **state)
{
    (void)state;
    kymo_str text = {0};
    kymo_bytes file = file_of(few_marks_emit);
    read_into(&file, &text);
    size_t len = text.len;
    struct {
        struct kymo_file_marker_type fixed;
        uint32_t more[2];
        char texts[14]; /* seven of the type, two of a field, one of a graph, and padding */
    } type = {.fixed = {.fixed_bytes = sizeof type.fixed + 8,
                        .process = 7,
                        .type = 30,
                        .payload_bytes = 8,
                        .field_count = 1,
                        .graph_count = 1,
                        .field_bytes = 16,
                        .graph_bytes = 12},
              .texts = "n\0\0\0\0\0\0\0k\0\0g"};
    /* A format, a kind of graph and colours that this version does not know. */
    const uint32_t lists[] = {KYMO_KIND_U8, 1000, 5, 99, 1000, 1000, 99};
    kymo_bytes payload;
    kymo_bytes_init(&payload, RECORDING_LIMIT);
    assert_int_equal(kymo_bytes_append(&payload, &type, offsetof(__typeof__(type), texts) + 13),
                     KYMO_OK);
    assert_int_equal(kymo_bytes_append(&payload, lists, sizeof lists), KYMO_OK);
    assert_int_equal(file_chunk_put(&file, KYMO_CHUNK_MARKER_TYPE, KYMO_CHUNK_SKIPPABLE,
                                    payload.data, payload.len),
                     KYMO_OK);
    struct kymo_file_marker_category category = {.fixed_bytes = sizeof category,
                                                 .process = 7,
                                                 .category = 30,
                                                 .parent = NONE,
                                                 .color = KYMO_COLOR_COUNT};
    unsigned char named[sizeof category + 2] = {0};
    memcpy(named, &category, sizeof category);
    assert_int_equal(file_chunk_put(&file, KYMO_CHUNK_MARKER_CATEGORY, KYMO_CHUNK_SKIPPABLE, named,
                                    sizeof named),
                     KYMO_OK);
    /* Flags with bits of a later version, whose numbers are at the end of the row. */
    static const unsigned char rows[] = {
        HEAD(10, 1), 0, 0, GROUP(9, 2), 6, 0x80, 0x40, 5, 2, 1, 2, 3, 0x00, 5, 4,
    };
    assert_int_equal(
        file_chunk_put(&file, KYMO_CHUNK_MARKERS, KYMO_CHUNK_SKIPPABLE, rows, sizeof rows),
        KYMO_OK);
    kymo_str_deinit(&text);
    kymo_recording_report report = read_into(&file, &text);
    assert_memory_equal(&report.damage, &(kymo_recording_damage){0}, sizeof report.damage);
    assert_string_equal(
        kymo_str_cstr(&text) + len,
        "marker_type 2 process=1 show=0 stack_based=0 max_per_second=0 payload=8 line=0 file=\"\""
        " name=\"n\" chart=\"\" tooltip=\"\" table=\"\" description=\"\" color_key=\"\"\n"
        "  field kind=3 format=4 flags=0x5 key=\"k\" label=\"\"\n"
        "  graph kind=0 color=0 key=\"g\"\n"
        "marker_category 1 process=1 color=0 flags=0 parent=none name=\"\"\n"
        "marker thread=0 site=0 phase=0 time=2 start=0 stack=none track=none id=0 owner=0 cells=0\n"
        "marker thread=0 site=0 phase=0 time=6 start=0 stack=none track=none id=0 owner=0"
        " cells=0\n");
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&payload);
    kymo_bytes_deinit(&file);
}

/* ---- any bytes --------------------------------------------------------------------------------
 */

/* Whatever a reader delivers of a file is good: written again, it is read without complaint. */
static void copy_is_whole(const unsigned char *data, size_t len)
{
    kymo_recording_writer *w;
    kymo_recording_report first, second;
    int fd = memfd_create("copy", MFD_CLOEXEC);
    assert_int_equal(kymo_recording_writer_create(fd, 0, &w), KYMO_OK);
    kymo_err err =
        kymo_recording_read_memory(data, len, 0, &kymo_recording_write_handler, w, &first, NULL);
    if (err == KYMO_OK) {
        assert_int_equal(kymo_recording_flush(w), KYMO_OK);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(kymo_recording_read_fd(fd, 0, &no_events, NULL, &second, NULL), KYMO_OK);
        assert_memory_equal(&second.damage, &(kymo_recording_damage){0}, sizeof second.damage);
        assert_int_equal(second.events, first.events);
    } else {
        assert_int_equal(err, KYMO_E_VERSION);
    }
    kymo_recording_writer_destroy(w);
    close(fd);
}

static void changed_bytes_give_what_can_be_copied(void **state)
{
    (void)state;
    kymo_bytes file;
    size_t starts[256];
    uint64_t random = 1;
    kymo_bytes_init(&file, RECORDING_LIMIT);
    assert_int_equal(sample_recording_write(0, &file), KYMO_OK);
    size_t chunks = file_chunk_starts(&file, starts, KYMO_ARRAY_LEN(starts));
    unsigned char *copy = malloc(file.len);
    for (unsigned round = 0; round < 4000; round++) {
        kymo_bytes changed = {.data = copy, .len = file.len};
        memcpy(copy, file.data, file.len);
        for (unsigned n = 0; n < 1 + round % 3; n++) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            /* A byte of a chunk behind META, not of its header. */
            size_t b = 1 + (random >> 33) % (chunks - 1);
            size_t from = starts[b] + sizeof(struct kymo_chunk_header);
            copy[from + (random >> 20) % (starts[b + 1] - from)] = (unsigned char)(random >> 56);
            file_chunk_seal(&changed, starts[b]);
        }
        copy_is_whole(copy, file.len);
    }
    free(copy);
    kymo_bytes_deinit(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_rows_are_not_believed),
        cmocka_unit_test(fixed_parts_are_not_believed),
        cmocka_unit_test(older_readers_may_skip_it),
        cmocka_unit_test(what_later_versions_append_is_stepped_over),
        cmocka_unit_test(changed_bytes_give_what_can_be_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
