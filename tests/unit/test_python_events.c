/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "buffer/code_area.h"
#include "recorder/python_events.h"
#include "unit.h"

static struct {
    uint32_t count, process, script, first_line, language;
    char name[KYMO_CODE_NAME_MAX + 1], file[KYMO_CODE_FILE_MAX + 1];
    kymo_err err;
} seen;

static kymo_err on_script(void *context, const kymo_event_script *e)
{
    assert_ptr_equal(context, &seen);
    seen.count++;
    seen.process = e->process;
    seen.script = e->script;
    seen.first_line = e->first_line;
    seen.language = e->language;
    strcpy(seen.name, e->name);
    strcpy(seen.file, e->file);
    return seen.err;
}

static const kymo_event_handler events = {.script = on_script};

static int begin(void **state)
{
    static struct kymo_python_events python;
    memset(&seen, 0, sizeof seen);
    memset(&python, 0, sizeof python);
    *state = &python;
    return 0;
}

static int end(void **state)
{
    kymo_python_events_deinit(*state);
    return 0;
}

static kymo_err tell(struct kymo_python_events *python, uint32_t minor, const char *name,
                     uint32_t name_len, const char *file, uint32_t file_len, const uint8_t *lines,
                     uint32_t lines_len)
{
    const struct kymo_drain_code code = {.number = (uint32_t)python->codes.len,
                                         .minor = minor,
                                         .first_line = 7,
                                         .name = name,
                                         .name_len = name_len,
                                         .file = file,
                                         .file_len = file_len,
                                         .lines = lines,
                                         .lines_len = lines_len};
    return kymo_python_events_code(python, 3, &code, &events, &seen);
}

static kymo_event_frame frame_of(const struct kymo_python_events *python, uint32_t code,
                                 uint32_t at)
{
    const struct kymo_drain_frame f = {.address = at, .code = code, .is_code = 1};
    return kymo_python_events_frame(python, &f);
}

static void code_is_a_script_and_its_frames_have_lines(void **state)
{
    struct kymo_python_events *python = *state;
    const uint8_t lines[] = {2, 1, 4, 1}; /* 3.10: two bytes on line 8, four on line 9 */
    assert_int_equal(tell(python, 9, "f", 1, "", 0, lines, 0), KYMO_OK);
    assert_int_equal(tell(python, 10, "method and more", 6, "a.pyc", 4, lines, sizeof lines),
                     KYMO_OK);
    assert_int_equal(tell(python, 10, "g", 1, "", 0, NULL, 0), KYMO_OK);
    assert_int_equal(seen.count, 3);
    assert_int_equal(python->codes.len, 3);
    static const struct {
        uint32_t code, at, line;
    } expected[] = {{0, 0, 7}, {0, 60, 7}, {0, UINT32_MAX, 7}, {1, 0, 8},         {1, 2, 9},
                    {1, 5, 9}, {1, 6, 0},  {2, 0, 0},          {2, UINT32_MAX, 0}};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(expected); i++) {
        kymo_event_frame f = frame_of(python, expected[i].code, expected[i].at);
        assert_int_equal(f.module, expected[i].code);
        assert_int_equal(f.address, expected[i].line);
        assert_int_equal(f.flags, KYMO_EVENT_FRAME_SCRIPT);
    }
}

/* Texts end by their lengths; the event's are strings. */
static void the_event_has_the_texts(void **state)
{
    assert_int_equal(tell(*state, 12, "method and more", 6, "a.pyc", 4, NULL, 0), KYMO_OK);
    assert_string_equal(seen.name, "method");
    assert_string_equal(seen.file, "a.py");
    assert_int_equal(seen.process, 3);
    assert_int_equal(seen.script, 0);
    assert_int_equal(seen.first_line, 7);
    assert_int_equal(seen.language, KYMO_EVENT_PYTHON);
    static char name[KYMO_CODE_NAME_MAX], file[KYMO_CODE_FILE_MAX];
    memset(name, 'n', sizeof name);
    memset(file, 'f', sizeof file);
    assert_int_equal(tell(*state, 12, name, sizeof name, file, sizeof file, NULL, 0), KYMO_OK);
    assert_int_equal(strlen(seen.name), sizeof name);
    assert_int_equal(strlen(seen.file), sizeof file);
    assert_int_equal(tell(*state, 12, "a\0b", 3, "\0", 1, NULL, 0), KYMO_OK);
    assert_string_equal(seen.name, "a");
    assert_string_equal(seen.file, "");
}

static void frames_of_no_known_code_say_so(void **state)
{
    const uint8_t lines = 0;
    assert_int_equal(tell(*state, 9, "f", 1, "", 0, &lines, 0), KYMO_OK);
    const uint32_t none[] = {1, 2, KYMO_NO_CODE};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(none); i++) {
        kymo_event_frame f = frame_of(*state, none[i], 4);
        assert_int_equal(f.module, KYMO_EVENT_NONE);
        assert_int_equal(f.address, 0);
        assert_int_equal(f.flags, KYMO_EVENT_FRAME_SCRIPT);
    }
}

/* The code is known from then on, and freed. */
static void an_error_of_the_writer_is_passed_on(void **state)
{
    const uint8_t lines[] = {1, 2};
    seen.err = KYMO_E_IO;
    assert_int_equal(tell(*state, 9, "f", 1, "", 0, lines, sizeof lines), KYMO_E_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(code_is_a_script_and_its_frames_have_lines, begin, end),
        cmocka_unit_test_setup_teardown(the_event_has_the_texts, begin, end),
        cmocka_unit_test_setup_teardown(frames_of_no_known_code_say_so, begin, end),
        cmocka_unit_test_setup_teardown(an_error_of_the_writer_is_passed_on, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
