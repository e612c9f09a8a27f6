/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest_fixture.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording/event_text.h"
#include "symbolize/finish.h"
#include "symbolize/names_file.h"

static const uint8_t id[] = {1, 2, 3, 4};

static void ok(kymo_err err)
{
    assert_int_equal(err, KYMO_OK);
}

/* Two processes with /lib/a mapped, the second with another /lib/a as well, and a stack in each of
 * the three modules: a caller and what it called. */
static void add_stacks(void)
{
    const kymo_event_handler *h = &kymo_ingest_handler;
    static const uint8_t other[] = {9};
    ok(h->meta(ingest, &(kymo_event_meta){.start_ns = 1}));
    for (uint32_t i = 0; i < 3; i++) {
        if (i < 2)
            ok(h->process(ingest, &(kymo_event_process){.process = i, .pid = (int32_t)i + 1}));
        ok(h->module(ingest, &(kymo_event_module){.module = i,
                                                  .process = i > 0,
                                                  .start = 0x1000 * (i + 1),
                                                  .end = 0x1000 * (i + 2),
                                                  .path = "/lib/a",
                                                  .build_id = i < 2 ? id : other,
                                                  .build_id_len = i < 2 ? sizeof id : 1}));
        kymo_event_frame frames[] = {{0x10, i, 0}, {0x21, i, KYMO_EVENT_FRAME_RETURN}};
        ok(h->stack(ingest, &(kymo_event_stack){.process = i > 0,
                                                .stack = i,
                                                .flags = KYMO_EVENT_STACK_COMPLETE,
                                                .depth = 2,
                                                .frames = frames}));
    }
}

static const char *const texts[] = {"outer", "inner", "_inner", "/s.c"};
static const kymo_event_symbol_function functions[] = {{1, 2, 3, 5},
                                                       {0, KYMO_EVENT_NONE, KYMO_EVENT_NONE, 0}};
static const kymo_event_symbol symbols[] = {{0x8, 0x20, 0, 0}};
static const kymo_event_symbol_line lines[] = {{0, 6}, {1, 0}, {1, 9}};
static const kymo_event_symbol_address addresses[] = {
    {0x10, 0, 2, 1, 0}, {0x20, KYMO_EVENT_NONE, 1, 1, 0}, {0x30, KYMO_EVENT_NONE, 0, 0, 0}};

static kymo_event_symbols event(void)
{
    return (kymo_event_symbols){.state = KYMO_SYMBOLS_ALL,
                                .build_id_len = sizeof id,
                                .text_count = KYMO_ARRAY_LEN(texts),
                                .function_count = KYMO_ARRAY_LEN(functions),
                                .symbol_count = KYMO_ARRAY_LEN(symbols),
                                .line_count = KYMO_ARRAY_LEN(lines),
                                .address_count = KYMO_ARRAY_LEN(addresses),
                                .path = "/lib/a",
                                .build_id = id,
                                .texts = texts,
                                .functions = functions,
                                .symbols = symbols,
                                .lines = lines,
                                .addresses = addresses};
}

static void names_are_of_the_file(void **state)
{
    (void)state;
    kymo_event_symbols e = event();
    add_stacks();
    ok(kymo_ingest_handler.symbols(ingest, &e));
    ok(kymo_ingest_handler.end(ingest, &(kymo_event_end){.end_ns = 2}));
    ok(kymo_ingest_finish(ingest));
    uint32_t named = 0;
    uint32_t shared = KYMO_NONE;
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_FRAMES); i++) {
        const kymo_frame *f = kymo_profile_frame(profile, i);
        char label[64];
        if (f->module == KYMO_NONE)
            continue;
        kymo_profile_frame_label(profile, i, label, sizeof label);
        if (f->module == 2) { /* the file that was in its place has another build-id */
            assert_int_equal(f->line_count, 0);
            continue;
        }
        assert_true(f->named);
        named++;
        assert_string_equal(label, f->address == 0x10 ? "inner" : "outer");
        if (f->address != 0x10)
            continue;
        assert_int_equal(f->line_count, 2);
        assert_string_equal(
            kymo_profile_string(profile, kymo_profile_symbol(profile, f->symbol)->name), "outer");
        /* The same place in both processes has the same lines, once. */
        if (shared != KYMO_NONE)
            assert_int_equal(f->first_line, shared);
        shared = f->first_line;
    }
    assert_int_equal(named, 4);
    assert_int_equal(kymo_profile_module(profile, 0)->symbols, KYMO_SYMBOLS_ALL);
    assert_int_equal(kymo_profile_module(profile, 2)->symbols, KYMO_SYMBOLS_UNKNOWN);
}

/* What a profile says of its names, read back, is what it was told. */
static void a_profile_tells_what_it_knows(void **state)
{
    (void)state;
    kymo_event_symbols e = event();
    kymo_str told = {0}, again = {0};
    add_stacks();
    ok(kymo_ingest_handler.symbols(ingest, &e));
    ok(kymo_ingest_finish(ingest));
    e.address_count = 2; /* the third is in no stack */
    ok(event_text_handler.symbols(&told, &e));
    ok(kymo_symbol_events_send(profile, NULL, &event_text_handler, &again));
    assert_string_equal(kymo_str_cstr(&again), kymo_str_cstr(&told));
    kymo_str_deinit(&told);
    kymo_str_deinit(&again);
}

/* The first of two names for one address counts. */
static void nothing_is_said_twice(void **state)
{
    (void)state;
    kymo_event_symbols e = event();
    static const char *const other_texts[] = {"other", "other", "other", "other"};
    add_stacks();
    ok(kymo_ingest_handler.symbols(ingest, &e));
    e.texts = other_texts;
    ok(kymo_ingest_handler.symbols(ingest, &e));
    ok(kymo_ingest_finish(ingest));
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_FRAMES); i++) {
        char label[64];
        assert_string_not_equal(kymo_profile_frame_label(profile, i, label, sizeof label), "other");
    }
}

/* Names of other recordings: a file with a frame that they do not name is still to be looked up. */
static void names_of_others_may_lack_some(void **state)
{
    (void)state;
    kymo_event_symbols e = event();
    add_stacks();
    kymo_ingest_begin_names(ingest);
    ok(kymo_ingest_handler.symbols(ingest, &e));
    ok(kymo_ingest_finish(ingest));
    assert_int_equal(kymo_profile_module(profile, 0)->symbols, KYMO_SYMBOLS_ALL);
    kymo_ingest_destroy(ingest);
    kymo_profile_destroy(profile);
    ok(kymo_profile_create(&profile));
    ok(kymo_ingest_create(profile, &ingest));
    e.address_count = 1;
    add_stacks();
    kymo_ingest_begin_names(ingest);
    ok(kymo_ingest_handler.symbols(ingest, &e));
    ok(kymo_ingest_finish(ingest));
    assert_int_equal(kymo_profile_module(profile, 0)->symbols, KYMO_SYMBOLS_UNKNOWN);
    uint32_t named = 0;
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_FRAMES); i++)
        named += kymo_profile_frame(profile, i)->named;
    assert_int_equal(named, 2);
}

/* ---- a file of names ---- */

static uint64_t size_of(int fd)
{
    off_t end = lseek(fd, 0, SEEK_END);
    assert_true(end > 0);
    return (uint64_t)end;
}

static void a_names_file_has_each_name_once(void **state)
{
    (void)state;
    kymo_event_symbols e = event();
    kymo_profile *other;
    kymo_ingest *later;
    int fd = memfd_create("names", MFD_CLOEXEC);
    ok(kymo_names_file_begin(fd));
    const uint64_t empty = size_of(fd);
    add_stacks();
    ok(kymo_ingest_handler.symbols(ingest, &e));
    ok(kymo_ingest_finish(ingest));
    ok(kymo_names_file_add(fd, profile));
    const uint64_t full = size_of(fd);
    assert_true(full > empty);
    ok(kymo_names_file_add(fd, profile));
    assert_int_equal(size_of(fd), full);
    /* A worker was killed while it wrote: what is whole is there. */
    assert_int_equal(pwrite(fd, "half a chunk", 12, (off_t)full), 12);
    ok(kymo_profile_create(&other));
    ok(kymo_ingest_create(other, &later));
    ok(kymo_ingest_handler.meta(later, &(kymo_event_meta){.start_ns = 1}));
    ok(kymo_names_file_read(fd, later));
    ok(kymo_ingest_finish(later));
    kymo_str names = {0};
    for (uint32_t i = 0; i < kymo_profile_count(other, KYMO_TABLE_STRINGS); i++)
        kymo_str_printf(&names, "%s ", kymo_profile_string(other, i));
    assert_non_null(strstr(kymo_str_cstr(&names), "inner"));
    kymo_str_deinit(&names);
    kymo_ingest_destroy(later);
    kymo_profile_destroy(other);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_of_the_file, begin, end),
        cmocka_unit_test_setup_teardown(a_profile_tells_what_it_knows, begin, end),
        cmocka_unit_test_setup_teardown(nothing_is_said_twice, begin, end),
        cmocka_unit_test_setup_teardown(names_of_others_may_lack_some, begin, end),
        cmocka_unit_test_setup_teardown(a_names_file_has_each_name_once, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
