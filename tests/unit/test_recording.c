/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writer and reader of .kymo files: what goes in comes out, and what is broken is said to be.
 */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/event_text.h"
#include "recording/file_chunks.h"
#include "recording/recording.h"
#include "recording/recording_format.h"
#include "recording/sample_recording.h"

#define LIMIT (256u << 20)

static kymo_err read_text(const kymo_bytes *file, unsigned flags, kymo_str *text,
                          kymo_recording_report *report, kymo_error *detail)
{
    return kymo_recording_read_memory(file->data, file->len, flags, &event_text_handler, text,
                                      report, detail);
}

static kymo_bytes sample_file(unsigned flags)
{
    kymo_bytes file;
    kymo_bytes_init(&file, LIMIT);
    assert_int_equal(sample_recording_write(flags, &file), KYMO_OK);
    return file;
}

static void round_trip(unsigned flags)
{
    kymo_str expected = {0}, text = {0};
    kymo_recording_report report;
    kymo_bytes file = sample_file(flags);
    assert_int_equal(sample_recording_emit(&event_text_handler, &expected), KYMO_OK);
    assert_int_equal(read_text(&file, KYMO_RECORDING_STRICT, &text, &report, NULL), KYMO_OK);
    assert_string_equal(kymo_str_cstr(&text), kymo_str_cstr(&expected));
    assert_int_equal(report.ending, KYMO_RECORDING_ENDED);
    assert_int_equal(report.position, file.len);
    assert_string_equal(report.text, "");
    assert_int_equal(file.len % 8, 0);
    kymo_str_deinit(&expected);
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&file);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    round_trip(0);
    round_trip(KYMO_RECORDING_COMPRESS);
}

/* A reader's events are a writer's input: a copy is the same recording. */
static void copies_are_equal(void **state)
{
    (void)state;
    kymo_bytes file = sample_file(0);
    kymo_recording_writer *writer;
    int fd = memfd_create("copy", MFD_CLOEXEC);
    assert_int_equal(kymo_recording_writer_create(fd, 0, &writer), KYMO_OK);
    assert_int_equal(kymo_recording_read_memory(file.data, file.len, KYMO_RECORDING_STRICT,
                                                &kymo_recording_write_handler, writer, NULL, NULL),
                     KYMO_OK);
    assert_int_equal(kymo_recording_bytes(writer), file.len);
    unsigned char *copy = malloc(file.len);
    assert_int_equal(pread(fd, copy, file.len, 0), file.len);
    assert_memory_equal(copy, file.data, file.len);
    free(copy);
    kymo_recording_writer_destroy(writer);
    close(fd);
    kymo_bytes_deinit(&file);
}

static void a_pipe_is_read_like_a_file(void **state)
{
    (void)state;
    kymo_bytes file = sample_file(0);
    kymo_str from_memory = {0}, from_pipe = {0};
    kymo_recording_report report;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) { /* in small pieces, so that reads end anywhere */
        for (size_t i = 0; i < file.len; i += 100)
            if (write(ends[1], file.data + i, file.len - i < 100 ? file.len - i : 100) < 0)
                _exit(1);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(kymo_recording_read_fd(ends[0], KYMO_RECORDING_STRICT, &event_text_handler,
                                            &from_pipe, &report, NULL),
                     KYMO_OK);
    assert_int_equal(report.position, file.len);
    assert_int_equal(read_text(&file, 0, &from_memory, NULL, NULL), KYMO_OK);
    assert_string_equal(kymo_str_cstr(&from_pipe), kymo_str_cstr(&from_memory));
    close(ends[0]);
    kymo_str_deinit(&from_memory);
    kymo_str_deinit(&from_pipe);
    kymo_bytes_deinit(&file);
}

/* ---- cut and flipped --------------------------------------------------------------------------
 */

static size_t block_starts(const kymo_bytes *file, size_t *starts, size_t cap)
{
    size_t n = file_chunk_starts(file, starts, cap);
    assert_true(n > 0);
    return n;
}

static int is_block_start(const size_t *starts, size_t n, size_t at)
{
    for (size_t i = 0; i <= n; i++)
        if (starts[i] == at)
            return 1;
    return 0;
}

/* Calls are only counted exactly if somebody takes them. */
static kymo_err take_calls(void *ctx, const kymo_event_calls *e)
{
    (void)ctx;
    (void)e;
    return KYMO_OK;
}

/* For the report alone. */
static const kymo_event_handler no_events = {.calls = take_calls};

/* Each file is read thousands of times. Under a sanitizer, ten times as slow, not each byte is
 * tried in each way: what is told of it does not depend on the build. */
#ifdef __SANITIZE_ADDRESS__
enum { IS_SLOW = 1 };
#else
enum { IS_SLOW = 0 };
#endif

static void cut_at_each_byte(unsigned flags)
{
    kymo_bytes file = sample_file(flags);
    kymo_str whole = {0};
    size_t starts[256];
    size_t chunks = block_starts(&file, starts, KYMO_ARRAY_LEN(starts));
    uint64_t events = 0; /* of the whole chunks before the cut */
    assert_int_equal(read_text(&file, 0, &whole, NULL, NULL), KYMO_OK);
    for (size_t cut = 0; cut < file.len; cut++) {
        kymo_str text = {0};
        kymo_recording_report report;
        kymo_error detail;
        int between = is_block_start(starts, chunks, cut) && cut >= starts[1];
        /* Exactly as long as the input, for the sanitizer to see a read beyond it. */
        unsigned char *part = malloc(cut ? cut : 1);
        memcpy(part, file.data, cut);
        kymo_err err = kymo_recording_read_memory(
            part, cut, 0, between ? &event_text_handler : &no_events, &text, &report, &detail);
        if (cut < starts[1]) { /* not even META is there */
            assert_int_equal(err, KYMO_E_TRUNCATED);
            assert_int_equal(detail.code, err);
            assert_true(detail.position <= cut);
        } else {
            assert_int_equal(err, KYMO_OK);
            assert_int_equal(report.position, cut);
            assert_int_equal(report.ending,
                             between ? KYMO_RECORDING_NO_END : KYMO_RECORDING_TRUNCATED);
            assert_non_null(strstr(report.text, "byte"));
            if (between) {
                assert_true(report.events > events);
                events = report.events;
                assert_true(text.len < whole.len);
                assert_memory_equal(text.data, whole.data, text.len);
            }
            assert_int_equal(report.events, events);
            if (!IS_SLOW || cut % 4 == 0) {
                assert_int_equal(kymo_recording_read_memory(part, cut, KYMO_RECORDING_STRICT,
                                                            &no_events, NULL, NULL, &detail),
                                 KYMO_E_TRUNCATED);
                assert_int_equal(detail.position, cut);
            }
        }
        kymo_str_deinit(&text);
        free(part);
    }
    kymo_str_deinit(&whole);
    kymo_bytes_deinit(&file);
}

static void a_file_cut_anywhere_reads_up_to_the_cut(void **state)
{
    (void)state;
    cut_at_each_byte(0);
    cut_at_each_byte(KYMO_RECORDING_COMPRESS);
}

/* No changed bit goes unnoticed, and none costs more than its chunk and what refers to it. */
static void flip_each_byte(unsigned flags)
{
    kymo_bytes file = sample_file(flags);
    size_t starts[256];
    size_t chunks = block_starts(&file, starts, KYMO_ARRAY_LEN(starts));
    assert_true(chunks > 10);
    for (size_t i = 0; i < file.len; i++) {
        const unsigned char bit = (unsigned char)(1u << i % 8);
        kymo_recording_report report;
        kymo_error detail = {.code = KYMO_OK};
        file.data[i] ^= bit;
        kymo_err err =
            kymo_recording_read_memory(file.data, file.len, 0, &no_events, NULL, &report, &detail);
        if (err == KYMO_OK) {
            assert_true(i >= starts[1]);
            assert_true(report.text[0] != '\0');
            assert_true(report.damage.chunks <= 1);
        } else {
            assert_true(i < starts[1]); /* header or META */
            assert_int_equal(detail.code, err);
            assert_true(detail.message[0] != '\0');
        }
        if (!IS_SLOW || i % 4 == 0)
            assert_int_not_equal(kymo_recording_read_memory(file.data, file.len,
                                                            KYMO_RECORDING_STRICT, &no_events, NULL,
                                                            NULL, NULL),
                                 KYMO_OK);
        file.data[i] ^= bit;
    }
    kymo_bytes_deinit(&file);
}

static void a_changed_byte_is_noticed(void **state)
{
    (void)state;
    flip_each_byte(0);
    flip_each_byte(KYMO_RECORDING_COMPRESS);
}

/* The same with right checksums: what is impossible is dropped and counted, nothing else happens.
 */
static void a_changed_byte_under_a_right_checksum_does_no_harm(void **state)
{
    (void)state;
    kymo_bytes file = sample_file(0);
    size_t starts[256];
    size_t chunks = block_starts(&file, starts, KYMO_ARRAY_LEN(starts));
    for (size_t b = 0; b < chunks; b++) {
        for (size_t i = starts[b]; i < starts[b + 1]; i++) {
            static const unsigned char masks[] = {0x01, 0x80, 0xff};
            for (size_t m = IS_SLOW ? i % 3 : 0; m < sizeof masks; m += IS_SLOW ? 3 : 1) {
                unsigned char *copy = malloc(file.len);
                kymo_bytes changed = {.data = copy, .len = file.len};
                memcpy(copy, file.data, file.len);
                copy[i] ^= masks[m];
                struct kymo_chunk_header header;
                memcpy(&header, copy + starts[b], sizeof header);
                if (header.length <= file.len - starts[b] - sizeof header)
                    file_chunk_seal(&changed, starts[b]);
                kymo_err err =
                    kymo_recording_read_memory(copy, file.len, 0, &no_events, NULL, NULL, NULL);
                assert_true(err == KYMO_OK || err == KYMO_E_VERSION || b == 0);
                free(copy);
            }
        }
    }
    kymo_bytes_deinit(&file);
}

static void a_damaged_chunk_is_skipped(void **state)
{
    (void)state;
    kymo_bytes file = sample_file(0);
    size_t starts[256];
    block_starts(&file, starts, KYMO_ARRAY_LEN(starts));
    kymo_str text = {0};
    kymo_recording_report report;
    /* The second chunk announces process 0: everything of it is dropped, the rest is there. */
    file.data[starts[1] + 20] ^= 1;
    assert_int_equal(read_text(&file, 0, &text, &report, NULL), KYMO_OK);
    assert_int_equal(report.ending, KYMO_RECORDING_ENDED);
    assert_int_equal(report.damage.chunks, 1);
    assert_true(report.damage.references > 10);
    assert_non_null(strstr(report.text, "1 damaged chunk; "));
    /* Numbers are dense: what was process 1 is process 0 now. */
    assert_non_null(strstr(text.data, "process 0 pid=105 parent=100"));
    assert_non_null(strstr(text.data, "sample thread=0 time=1110000000 weight=1000000"));
    assert_null(strstr(text.data, "pid=100 "));
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&file);
}

/* ---- versions ---------------------------------------------------------------------------------
 */

static void put_chunk(kymo_bytes *file, uint32_t type, uint32_t flags, const void *payload,
                      size_t len)
{
    assert_int_equal(file_chunk_put(file, type, flags, payload, len), KYMO_OK);
}

static kymo_err emit_start(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(h->meta(ctx, &(kymo_event_meta){.start_ns = 5, .host = "h"}));
    KYMO_TRY(h->process(ctx, &(kymo_event_process){.process = 7, .pid = 1}));
    KYMO_TRY(h->thread(ctx, &(kymo_event_thread){.thread = 9, .process = 7, .tid = 1}));
    return h->module(
        ctx, &(kymo_event_module){.module = 3, .process = 7, .start = 1, .end = 2, .path = "m"});
}

/* META, process 7, thread 9 and module 3 of it, for chunks to be put behind. */
static kymo_bytes start_of_file(void)
{
    kymo_bytes file;
    kymo_bytes_init(&file, LIMIT);
    assert_int_equal(recording_to_bytes(emit_start, 0, &file), KYMO_OK);
    return file;
}

static void set_version(kymo_bytes *file, uint16_t major, uint16_t minor, uint32_t flags)
{
    struct kymo_file_header header;
    memcpy(&header, file->data, sizeof header);
    header.major = major;
    header.minor = minor;
    header.flags = flags;
    header.crc = kymo_file_header_crc(&header);
    memcpy(file->data, &header, sizeof header);
}

static void versions_are_told_apart(void **state)
{
    (void)state;
    kymo_error detail;
    kymo_str text = {0};
    kymo_recording_report report;
    kymo_bytes file = start_of_file();
    set_version(&file, 2, 0, 0);
    assert_int_equal(read_text(&file, 0, &text, NULL, &detail), KYMO_E_VERSION);
    assert_non_null(strstr(detail.message, "version 2.0"));
    set_version(&file, 1, 0, 4);
    assert_int_equal(read_text(&file, 0, &text, NULL, &detail), KYMO_E_VERSION);
    set_version(&file, 1, 9, 0);
    assert_int_equal(read_text(&file, 0, &text, &report, &detail), KYMO_OK);
    assert_int_equal(report.minor, 9);
    /* Chunks that this build does not know. */
    put_chunk(&file, 1000, KYMO_CHUNK_SKIPPABLE, "12345678", 8);
    assert_int_equal(read_text(&file, 0, &text, &report, &detail), KYMO_OK);
    assert_int_equal(report.damage.unknown_chunks, 1);
    put_chunk(&file, KYMO_CHUNK_NOTE, KYMO_CHUNK_SKIPPABLE | 64, "12345678", 8);
    assert_int_equal(read_text(&file, 0, &text, &report, &detail), KYMO_OK);
    assert_int_equal(report.damage.unknown_chunks, 2);
    uint64_t at = file.len;
    put_chunk(&file, 1000, 0, "12345678", 8);
    assert_int_equal(read_text(&file, 0, &text, &report, &detail), KYMO_E_VERSION);
    assert_int_equal(detail.position, at);
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&file);
}

/* Fields and texts that a later minor version appends are stepped over. */
static void longer_structures_are_read(void **state)
{
    (void)state;
    kymo_bytes file = start_of_file();
    kymo_str text = {0};
    struct {
        struct kymo_file_note note;
        uint64_t more;
        char texts[24];
    } note = {{.fixed_bytes = sizeof note.note + 8, .process = 7, .severity = 1}, 99, "one\0two"};
    put_chunk(&file, KYMO_CHUNK_NOTE, 0, &note, sizeof note);
    struct {
        struct kymo_file_stacks head;
        uint64_t head_more;
        struct kymo_file_stack stack;
        uint64_t stack_more;
        struct {
            struct kymo_file_frame frame;
            uint64_t more;
        } frames[2];
    } stacks = {
        {.process = 7, .count = 1, .head_bytes = 24, .stack_bytes = 24, .frame_bytes = 24},
        1,
        {.stack = 5, .depth = 2, .flags = 1},
        2,
        {{{0x10, 3, 0}, 3}, {{0x20, KYMO_EVENT_NONE, 1}, 4}},
    };
    put_chunk(&file, KYMO_CHUNK_STACKS, 0, &stacks, sizeof stacks);
    struct {
        struct kymo_file_samples head;
        uint64_t head_more;
        struct kymo_file_group group;
        struct {
            struct kymo_file_sample sample;
            uint64_t more;
        } samples[2];
    } samples = {{.head_bytes = 16, .sample_bytes = 40, .groups = 1},
                 1,
                 {.thread = 9, .count = 2},
                 {{{10, 1, 5, 0, 1, 0, 0}, 5}, {{20, 1, KYMO_EVENT_NONE, 0, 1, 0, 0}, 6}}};
    put_chunk(&file, KYMO_CHUNK_SAMPLES, 0, &samples, sizeof samples);
    kymo_recording_report report;
    assert_int_equal(read_text(&file, 0, &text, &report, NULL), KYMO_OK);
    assert_memory_equal(&report.damage, &(kymo_recording_damage){0}, sizeof report.damage);
    const char *tail = strstr(text.data, "note");
    assert_non_null(tail);
    assert_string_equal(tail, "note time=0 severity=1 process=0 text=\"one\"\n"
                              "stack 0 process=0 depth=2 flags=0x1 end=0\n"
                              "  0x10 module=0\n"
                              "  0x20 return module=none\n"
                              "sample thread=0 time=10 weight=1 kind=0 state=1 stack=0\n"
                              "sample thread=0 time=20 weight=1 kind=0 state=1 stack=none\n");
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&file);
}

/* ---- hostile ----------------------------------------------------------------------------------
 */

static void counts_are_not_believed(void **state)
{
    (void)state;
    kymo_str text = {0};
    kymo_recording_report report;
    const struct kymo_file_stacks many_stacks = {
        .process = 7, .count = UINT32_MAX, .head_bytes = 16, .stack_bytes = 16, .frame_bytes = 16};
    const struct kymo_file_stack deep[] = {{.stack = 1, .depth = UINT16_MAX, .shared = 0}};
    const struct kymo_file_stack shares[] = {{.stack = 1, .depth = 5, .shared = 5}};
    const struct kymo_file_samples many_groups = {8, 24, UINT32_MAX};
    const struct kymo_file_samples small[] = {{4, 24, 0}, {8, 23, 0}};
    const uint32_t many_samples[] = {8 | 24 << 16, 1, 9, UINT32_MAX};
    struct kymo_file_process process = {
        .fixed_bytes = sizeof process, .process = 1, .pid = 1, .argc = UINT32_MAX};
    struct kymo_file_module module = {
        .fixed_bytes = sizeof module, .module = 8, .process = 7, .end = 1, .build_id_len = 65};
    struct kymo_file_module_image image = {.fixed_bytes = sizeof image, 3, 7, UINT32_MAX};
    struct kymo_file_note note = {.fixed_bytes = UINT32_MAX, .process = 7};
    struct kymo_file_end end = {.fixed_bytes = 8};
    struct kymo_file_code code = {
        .fixed_bytes = sizeof code, .process = 7, .size_bytes = 1, .line_bytes = 16};
    struct kymo_file_symbols symbols = {.fixed_bytes = sizeof symbols,
                                        .state = 4,
                                        .function_bytes = 16,
                                        .symbol_bytes = 24,
                                        .line_bytes = 8,
                                        .address_bytes = 24};
    unsigned char both[48] = {0};
    kymo_bytes file = start_of_file();
    unsigned n = 0;
#define HOSTILE(type, payload) (put_chunk(&file, type, 0, &payload, sizeof payload), n++)
    HOSTILE(KYMO_CHUNK_STACKS, many_stacks);
    memcpy(both, &many_stacks, sizeof many_stacks);
    memcpy(both + sizeof many_stacks, deep, sizeof deep);
    HOSTILE(KYMO_CHUNK_STACKS, both);
    memcpy(both + sizeof many_stacks, shares, sizeof shares);
    HOSTILE(KYMO_CHUNK_STACKS, both);
    HOSTILE(KYMO_CHUNK_SAMPLES, many_groups);
    HOSTILE(KYMO_CHUNK_SAMPLES, small[0]);
    HOSTILE(KYMO_CHUNK_SAMPLES, small[1]);
    HOSTILE(KYMO_CHUNK_SAMPLES, many_samples);
    HOSTILE(KYMO_CHUNK_PROCESS, process);
    HOSTILE(KYMO_CHUNK_MODULE, module);
    HOSTILE(KYMO_CHUNK_MODULE_IMAGE, image);
    HOSTILE(KYMO_CHUNK_NOTE, note);
    HOSTILE(KYMO_CHUNK_END, end);
    code.line_count = UINT32_MAX;
    HOSTILE(KYMO_CHUNK_CODE, code);
    code.line_count = 60000;
    HOSTILE(KYMO_CHUNK_CODE, code);
    code.line_count = 0;
    code.file_count = UINT32_MAX;
    HOSTILE(KYMO_CHUNK_CODE, code);
    code.file_count = 4000;
    HOSTILE(KYMO_CHUNK_CODE, code);
    code.file_count = 0;
    code.line_bytes = 15;
    HOSTILE(KYMO_CHUNK_CODE, code);
    uint32_t *const counts[] = {&symbols.text_count,    &symbols.function_count,
                                &symbols.symbol_count,  &symbols.line_count,
                                &symbols.address_count, &symbols.build_id_len};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(counts); i++) {
        *counts[i] = UINT32_MAX;
        HOSTILE(KYMO_CHUNK_SYMBOLS, symbols);
        *counts[i] = 10000;
        HOSTILE(KYMO_CHUNK_SYMBOLS, symbols);
        *counts[i] = 0;
    }
    symbols.line_bytes = 7;
    HOSTILE(KYMO_CHUNK_SYMBOLS, symbols);
#undef HOSTILE
    put_chunk(&file, KYMO_CHUNK_STACKS, 0, "", 0);
    put_chunk(&file, KYMO_CHUNK_THREAD, 0, "", 0);
    assert_int_equal(read_text(&file, 0, &text, &report, NULL), KYMO_OK);
    assert_int_equal(report.ending, KYMO_RECORDING_NO_END);
    assert_int_equal(report.damage.chunks, n + 2);
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&file);
}

/* Each position in a chunk of symbols leads somewhere, and the lines are shared out. */
static void symbols_lead_somewhere(void **state)
{
    (void)state;
    kymo_str text = {0};
    kymo_recording_report report;
    struct kymo_file_symbols_of_one {
        struct kymo_file_symbols head;
        char texts[8]; /* the path and four texts, the last three empty */
        struct kymo_file_symbol_function function;
        struct kymo_file_symbol symbol;
        struct kymo_file_symbol_line line;
        struct kymo_file_symbol_address address;
    } good = {.head = {.fixed_bytes = sizeof good.head,
                       .state = 4,
                       .text_count = 4,
                       .function_count = 1,
                       .symbol_count = 1,
                       .line_count = 1,
                       .address_count = 1,
                       .function_bytes = sizeof good.function,
                       .symbol_bytes = sizeof good.symbol,
                       .line_bytes = sizeof good.line,
                       .address_bytes = sizeof good.address},
              .texts = "/p\0f",
              .address = {.line_count = 1}},
      bad;
    kymo_bytes file = start_of_file();
    unsigned n = 0;
    put_chunk(&file, KYMO_CHUNK_SYMBOLS, KYMO_CHUNK_SKIPPABLE, &good, sizeof good);
#define BAD(field, value)             \
    (bad = good, bad.field = (value), \
     put_chunk(&file, KYMO_CHUNK_SYMBOLS, KYMO_CHUNK_SKIPPABLE, &bad, sizeof bad), n++)
    BAD(function.name, 5);
    BAD(function.name, KYMO_EVENT_NONE);
    BAD(function.system_name, 5);
    BAD(function.file, 5);
    BAD(symbol.name, 5);
    BAD(line.function, 1);
    BAD(address.symbol, 1);
    BAD(address.line_count, 0);
    BAD(address.line_count, 2);
    BAD(head.state, 0);
    BAD(head.state, 5);
#undef BAD
    assert_int_equal(read_text(&file, 0, &text, &report, NULL), KYMO_OK);
    assert_int_equal(report.damage.chunks, 0);
    assert_int_equal(report.damage.values, n);
    const char *first = strstr(kymo_str_cstr(&text), "symbols state=4");
    assert_non_null(first);
    assert_null(strstr(first + 1, "symbols state="));
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&file);
}

static void lengths_are_not_believed(void **state)
{
    (void)state;
    kymo_str text = {0};
    kymo_recording_report report;
    kymo_bytes file = start_of_file();
    size_t good = file.len;
    const struct kymo_chunk_header headers[] = {
        {.type = KYMO_CHUNK_NOTE, .length = UINT32_MAX - 7},
        {.type = KYMO_CHUNK_NOTE, .length = KYMO_CHUNK_LENGTH_MAX + 8},
        {.type = KYMO_CHUNK_NOTE, .length = 7},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(headers); i++) {
        file.len = good;
        assert_int_equal(kymo_bytes_append(&file, &headers[i], sizeof headers[i]), KYMO_OK);
        assert_int_equal(read_text(&file, 0, &text, &report, NULL), KYMO_OK);
        assert_int_equal(report.ending, KYMO_RECORDING_CORRUPT);
        assert_int_equal(report.position, good);
    }
    /* A length that is allowed, in a file that has not so many bytes: 64 MiB are not taken. */
    struct rlimit old, small = {.rlim_cur = 0, .rlim_max = 0};
    struct kymo_chunk_header header = {.type = KYMO_CHUNK_NOTE, .length = KYMO_CHUNK_LENGTH_MAX};
    file.len = good;
    assert_int_equal(kymo_bytes_append(&file, &header, sizeof header), KYMO_OK);
    int fd = memfd_create("short", MFD_CLOEXEC);
    assert_int_equal(write(fd, file.data, file.len), file.len);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
#ifndef __SANITIZE_ADDRESS__ /* which has terabytes mapped */
    FILE *statm = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    assert_int_equal(fscanf(statm, "%lu", &pages), 1);
    fclose(statm);
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    small.rlim_cur = pages * 4096 + (16u << 20);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
#endif
    assert_int_equal(kymo_recording_read_fd(fd, 0, &event_text_handler, &text, &report, NULL),
                     KYMO_OK);
#ifndef __SANITIZE_ADDRESS__
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
#endif
    (void)old;
    (void)small;
    assert_int_equal(report.ending, KYMO_RECORDING_TRUNCATED);
    assert_int_equal(report.position, file.len);
    close(fd);
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&file);
}

static void compression_is_bounded(void **state)
{
    (void)state;
    kymo_str text = {0};
    kymo_recording_report report;
    kymo_bytes file = start_of_file();
    size_t raw_len = 1u << 20;
    unsigned char *raw = calloc(1, raw_len);
    unsigned char packed[8 + 8192];
    struct kymo_file_note note = {.fixed_bytes = sizeof note, .process = 7};
    memcpy(raw, &note, sizeof note);
    memcpy(raw + sizeof note, "hello", 6);
    for (size_t claimed = 0; claimed < 4; claimed++) {
        /* The stream gives 1 MiB from 1 kB: more than the limit, and then not what it claims. */
        const uint64_t claims[] = {raw_len, 1u << 14, 7, 1ull << 40};
        uLongf len = sizeof packed - 8;
        assert_int_equal(compress2(packed + 8, &len, raw, raw_len, 9), Z_OK);
        memcpy(packed, &claims[claimed], 8);
        put_chunk(&file, KYMO_CHUNK_NOTE, KYMO_CHUNK_COMPRESSED, packed, 8 + len);
    }
    put_chunk(&file, KYMO_CHUNK_NOTE, KYMO_CHUNK_COMPRESSED, "1234", 4);
    put_chunk(&file, KYMO_CHUNK_NOTE, KYMO_CHUNK_COMPRESSED, "", 0);
    assert_int_equal(read_text(&file, 0, &text, &report, NULL), KYMO_OK);
    assert_int_equal(report.damage.chunks, 6);
    assert_null(strstr(text.data, "note"));
    /* And one that is right. */
    uint64_t claim = 48;
    uLongf len = sizeof packed - 8;
    assert_int_equal(compress2(packed + 8, &len, raw, claim, 9), Z_OK);
    memcpy(packed, &claim, 8);
    put_chunk(&file, KYMO_CHUNK_NOTE, KYMO_CHUNK_COMPRESSED, packed, 8 + len);
    assert_int_equal(read_text(&file, 0, &text, &report, NULL), KYMO_OK);
    assert_int_equal(report.damage.chunks, 6);
    assert_non_null(strstr(text.data, "text=\"hello\""));
    free(raw);
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&file);
}

static kymo_err emit_nonsense(const kymo_event_handler *h, void *ctx)
{
    const uint64_t late = KYMO_FILE_TIME_MAX + 1;
    const kymo_event_frame frames[] = {{1, 3, 0}, {2, 99, 1}, {3, 3, 1}};
    KYMO_TRY(emit_start(h, ctx));
    KYMO_TRY(h->process(ctx, &(kymo_event_process){.process = 7, .pid = 2}));            /* twice */
    KYMO_TRY(h->process(ctx, &(kymo_event_process){.process = 8, .pid = 0}));            /* value */
    KYMO_TRY(h->thread(ctx, &(kymo_event_thread){.thread = 9, .process = 7, .tid = 1})); /* twice */
    KYMO_TRY(h->thread(ctx, &(kymo_event_thread){.thread = 1, .process = 6, .tid = 1})); /* ref */
    KYMO_TRY(h->thread_end(ctx, &(kymo_event_thread_end){.thread = 1}));                 /* ref */
    KYMO_TRY(h->thread_end(ctx, &(kymo_event_thread_end){.thread = 9, .end_ns = late})); /* value */
    KYMO_TRY(h->module_unload(ctx, &(kymo_event_module_unload){.module = 3, .process = 1}));
    /* Unknown module in the second stack; the third shares only what is good, the fourth shares
     * the bad frame. */
    KYMO_TRY(h->stack(
        ctx, &(kymo_event_stack){.process = 7, .stack = 0, .depth = 1, .frames = frames + 2}));
    KYMO_TRY(
        h->stack(ctx, &(kymo_event_stack){.process = 7, .stack = 1, .depth = 3, .frames = frames}));
    KYMO_TRY(h->stack(
        ctx, &(kymo_event_stack){.process = 7, .stack = 2, .depth = 2, .frames = frames + 1}));
    KYMO_TRY(h->stack(
        ctx, &(kymo_event_stack){.process = 7, .stack = 3, .depth = 1, .frames = frames + 2}));
    KYMO_TRY(
        h->stack(ctx, &(kymo_event_stack){.process = 7, .stack = 3, .depth = 1, .frames = frames}));
    const kymo_event_sample samples[] = {{1, 1, 3, 0, 0, 0, 0},
                                         {2, 1, 1, 0, 0, 0, 0},
                                         {0, 1, 3, 0, 0, 0, 0},
                                         {late, 1, 3, 0, 0, 0, 0},
                                         {3, KYMO_FILE_WEIGHT_MAX + 1, 3, 0, 0, 0, 0},
                                         {4, 1, 3, 2, 0, 0, 0},
                                         {5, 1, 3, 0, 4, 0, 0},
                                         {6, 1, KYMO_EVENT_NONE, 0, 0, 0, 0}};
    KYMO_TRY(h->samples(ctx, &(kymo_event_samples){9, KYMO_ARRAY_LEN(samples), samples}));
    return h->samples(ctx, &(kymo_event_samples){10, KYMO_ARRAY_LEN(samples), samples});
}

static void what_cannot_be_is_dropped_and_counted(void **state)
{
    (void)state;
    kymo_bytes file;
    kymo_str text = {0};
    kymo_recording_report report;
    kymo_bytes_init(&file, LIMIT);
    assert_int_equal(recording_to_bytes(emit_nonsense, 0, &file), KYMO_OK);
    assert_int_equal(read_text(&file, 0, &text, &report, NULL), KYMO_OK);
    const char *tail = strstr(text.data, "stack");
    assert_non_null(tail);
    assert_string_equal(tail, "stack 0 process=0 depth=1 flags=0 end=0\n"
                              "  0x3 return module=0\n"
                              "stack 1 process=0 depth=1 flags=0 end=0\n"
                              "  0x3 return module=0\n"
                              "sample thread=0 time=1 weight=1 kind=0 state=0 stack=1\n"
                              "sample thread=0 time=2 weight=1 kind=0 state=0 stack=none\n"
                              "sample thread=0 time=6 weight=1 kind=0 state=0 stack=none\n");
    assert_int_equal(report.damage.duplicates, 3);
    assert_int_equal(report.damage.values, 2 + 5);
    /* a thread, its end, the unload, two stacks, a sample's stack, eight samples of no thread */
    assert_int_equal(report.damage.references, 3 + 2 + 1 + 8);
    assert_int_equal(report.damage.chunks, 0);
    assert_int_equal(read_text(&file, KYMO_RECORDING_STRICT, &text, NULL, NULL), KYMO_E_TRUNCATED);
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&file);
}

static void what_is_no_recording_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        kymo_err err;
    } inputs[] = {{"", 0, KYMO_E_TRUNCATED},
                  {"KY", 2, KYMO_E_TRUNCATED},
                  {"\x7f"
                   "ELF",
                   4, KYMO_E_CORRUPT},
                  {"{}", 2, KYMO_E_CORRUPT},
                  {"KYMO plus some text that is not a header at all", 47, KYMO_E_CORRUPT}};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(inputs); i++) {
        kymo_str text = {0};
        kymo_error detail;
        kymo_bytes file = {.data = malloc(inputs[i].len + 1), .len = inputs[i].len};
        memcpy(file.data, inputs[i].bytes, inputs[i].len);
        assert_int_equal(read_text(&file, 0, &text, NULL, &detail), inputs[i].err);
        assert_int_equal(detail.code, inputs[i].err);
        assert_int_equal(text.len, 0);
        free(file.data);
    }
    kymo_error detail;
    int fd = open("/", O_RDONLY | O_CLOEXEC);
    assert_int_not_equal(kymo_recording_read_fd(fd, 0, &event_text_handler, NULL, NULL, &detail),
                         KYMO_OK);
    assert_int_not_equal(detail.sys_errno, 0);
    close(fd);
}

static kymo_err refuse(void *ctx, const kymo_event_thread *event)
{
    (void)ctx;
    (void)event;
    return KYMO_E_INTERRUPTED;
}

static void an_error_of_the_handler_stops_the_reader(void **state)
{
    (void)state;
    kymo_bytes file = sample_file(0);
    const kymo_event_handler handler = {.thread = refuse};
    assert_int_equal(kymo_recording_read_memory(file.data, file.len, 0, &handler, NULL, NULL, NULL),
                     KYMO_E_INTERRUPTED);
    kymo_bytes_deinit(&file);
}

/* ---- the writer -------------------------------------------------------------------------------
 */

static void events_that_nobody_would_read_are_refused(void **state)
{
    (void)state;
    kymo_recording_writer *w;
    kymo_event_meta meta = {.host = "h"};
    int fd = memfd_create("w", MFD_CLOEXEC);
    assert_int_equal(kymo_recording_writer_create(fd, 0, &w), KYMO_OK);
    kymo_event_process process = {.pid = 1};
    assert_int_equal(kymo_recording_write_process(w, &process), KYMO_E_INVALID); /* no META */
    assert_int_equal(kymo_recording_write_meta(w, &meta), KYMO_OK);
    assert_int_equal(kymo_recording_write_meta(w, &meta), KYMO_E_INVALID);
    kymo_event_module module = {.start = 1, .end = 2, .build_id_len = 65};
    assert_int_equal(kymo_recording_write_module(w, &module), KYMO_E_INVALID);
    kymo_event_module_image image = {.len = KYMO_EVENT_IMAGE_MAX + 1};
    assert_int_equal(kymo_recording_write_module_image(w, &image), KYMO_E_INVALID);
    kymo_event_stack stack = {.depth = KYMO_EVENT_DEPTH_MAX + 1};
    assert_int_equal(kymo_recording_write_stack(w, &stack), KYMO_E_INVALID);
    char *text = malloc(KYMO_CHUNK_LENGTH_MAX + 1ul);
    memset(text, 'x', KYMO_CHUNK_LENGTH_MAX);
    text[KYMO_CHUNK_LENGTH_MAX] = '\0';
    kymo_event_note note = {.text = text};
    assert_int_equal(kymo_recording_write_note(w, &note), KYMO_E_INVALID);
    free(text);
    assert_int_equal(kymo_recording_error(w, NULL), KYMO_OK); /* none of this stays */
    assert_int_equal(kymo_recording_write_process(w, &process), KYMO_OK);
    kymo_event_end end = {.clean = 1};
    assert_int_equal(kymo_recording_write_end(w, &end), KYMO_OK);
    assert_int_equal(kymo_recording_write_process(w, &process), KYMO_E_INVALID); /* after END */
    kymo_recording_writer_destroy(w);
    kymo_recording_report report;
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    kymo_str out = {0};
    assert_int_equal(
        kymo_recording_read_fd(fd, KYMO_RECORDING_STRICT, &event_text_handler, &out, &report, NULL),
        KYMO_OK);
    kymo_str_deinit(&out);
    close(fd);
}

static void many_arguments_are_cut_and_counted(void **state)
{
    (void)state;
    enum { ARGS = KYMO_FILE_ARGS_MAX + 5 };
    kymo_recording_writer *w;
    const char **argv = malloc(ARGS * sizeof *argv);
    for (int i = 0; i < ARGS; i++)
        argv[i] = "a";
    kymo_event_meta meta = {.argc = ARGS, .argv = argv};
    int fd = memfd_create("w", MFD_CLOEXEC);
    assert_int_equal(kymo_recording_writer_create(fd, 0, &w), KYMO_OK);
    assert_int_equal(kymo_recording_write_meta(w, &meta), KYMO_OK);
    assert_int_equal(kymo_recording_flush(w), KYMO_OK);
    kymo_recording_writer_destroy(w);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    kymo_str out = {0};
    assert_int_equal(kymo_recording_read_fd(fd, 0, &event_text_handler, &out, NULL, NULL), KYMO_OK);
    assert_non_null(strstr(out.data, "arg=\"a\" arg=\"... (6 more)\"\n"));
    kymo_str_deinit(&out);
    free(argv);
    close(fd);
}

/* A disk that is full after each number of bytes: the error stays, the file is good to its end. */
static void a_full_disk_leaves_whole_chunks(void **state)
{
    (void)state;
    kymo_bytes file = sample_file(0);
    char path[] = "/tmp/kymo-recording-XXXXXX";
    int fd = mkstemp(path);
    struct rlimit old;
    assert_true(fd >= 0);
    unlink(path);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (size_t size = 0; size < file.len; size += 13) {
        kymo_recording_writer *w;
        kymo_error detail;
        kymo_recording_report report;
        kymo_str text = {0};
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        struct rlimit limit = {.rlim_cur = size, .rlim_max = old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_int_equal(kymo_recording_writer_create(fd, 0, &w), KYMO_OK);
        kymo_err err = sample_recording_emit(&kymo_recording_write_handler, w);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(err, KYMO_E_NO_SPACE);
        assert_int_equal(kymo_recording_error(w, &detail), KYMO_E_NO_SPACE);
        assert_int_not_equal(detail.sys_errno, 0);
        assert_int_equal(kymo_recording_flush(w), KYMO_E_NO_SPACE);
        kymo_event_note note = {.text = "late"};
        assert_int_equal(kymo_recording_write_note(w, &note), KYMO_E_NO_SPACE);
        struct stat st;
        assert_int_equal(fstat(fd, &st), 0);
        assert_true((size_t)st.st_size <= size);
        assert_int_equal(kymo_recording_bytes(w), st.st_size);
        kymo_recording_writer_destroy(w);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        err = kymo_recording_read_fd(fd, 0, &event_text_handler, &text, &report, NULL);
        if (err == KYMO_OK) /* it ends between two chunks */
            assert_int_equal(report.ending, KYMO_RECORDING_NO_END);
        else
            assert_int_equal(err, KYMO_E_TRUNCATED);
        kymo_str_deinit(&text);
    }
    close(fd);
    kymo_bytes_deinit(&file);
}

static void a_closed_pipe_is_an_error(void **state)
{
    (void)state;
    int ends[2];
    kymo_recording_writer *w;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    assert_int_equal(kymo_recording_writer_create(ends[1], 0, &w), KYMO_OK);
    kymo_event_meta meta = {.host = "h"};
    assert_int_equal(kymo_recording_write_meta(w, &meta), KYMO_OK);
    kymo_err err = kymo_recording_flush(w);
    assert_int_not_equal(err, KYMO_OK);
    assert_int_equal(kymo_recording_flush(w), err);
    kymo_recording_writer_destroy(w);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(copies_are_equal),
        cmocka_unit_test(a_pipe_is_read_like_a_file),
        cmocka_unit_test(a_file_cut_anywhere_reads_up_to_the_cut),
        cmocka_unit_test(a_changed_byte_is_noticed),
        cmocka_unit_test(a_changed_byte_under_a_right_checksum_does_no_harm),
        cmocka_unit_test(a_damaged_chunk_is_skipped),
        cmocka_unit_test(versions_are_told_apart),
        cmocka_unit_test(longer_structures_are_read),
        cmocka_unit_test(counts_are_not_believed),
        cmocka_unit_test(symbols_lead_somewhere),
        cmocka_unit_test(lengths_are_not_believed),
        cmocka_unit_test(compression_is_bounded),
        cmocka_unit_test(what_cannot_be_is_dropped_and_counted),
        cmocka_unit_test(what_is_no_recording_is_refused),
        cmocka_unit_test(an_error_of_the_handler_stops_the_reader),
        cmocka_unit_test(events_that_nobody_would_read_are_refused),
        cmocka_unit_test(many_arguments_are_cut_and_counted),
        cmocka_unit_test(a_full_disk_leaves_whole_chunks),
        cmocka_unit_test(a_closed_pipe_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
