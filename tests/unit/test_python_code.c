/* SPDX-License-Identifier: Apache-2.0 */
/* What is copied of code objects, of each version's texts. */
#include "python_fixture.h"

#include "buffer/code_area.h"
#include "capture/python_stack.h"
#include "session_fixture.h"

static struct {
    struct fixture f;
    struct kymo_capture_process process;
    int is_hidden;
} t;

/* Objects of any length, one behind the other, and at last up to the page that cannot be read. */
enum { CODE = 0, NAME = 16, FILE_NAME = 300, LINES = 600 };

static int begin_code(void **state)
{
    memset(&t, 0, sizeof t);
    t.f = fixture_open(4u << 20);
    t.process.session = t.f.session;
    t.process.plan = t.f.plan;
    t.process.python = &w.python;
    return begin(state);
}

static int end_code(void **state)
{
    fixture_close(&t.f);
    return end(state);
}

/* A str of so many characters of this many bytes each; 0: ASCII. */
static void make_text(char *object, uint32_t kind, const void *characters, uint64_t length)
{
    const struct kymo_python_offsets *o = &w.python.offsets;
    put(object, 16, length);
    put(object, 32, 0x20u | (kind ? kind << 2 : 0x40u | 1u << 2));
    uint32_t at = kind ? o->text + (w.python.minor < 12 ? 24u : 16u) : o->text;
    memcpy(object + at, characters, length * (kind ? kind : 1));
}

static void make(const char *lines, uint32_t lines_len, uint32_t number)
{
    /* What is known of another version's code is not to be found. */
    const uint32_t first_line = w.python.minor * 1000 + number;
    const struct kymo_python_offsets *o = &w.python.offsets;
    char *code = make_code(CODE);
    put(code, o->name, at_of(node(NAME)));
    put(code, o->file, at_of(node(FILE_NAME)));
    put(code, o->lines, at_of(node(LINES)));
    memcpy(code + o->first_line, &first_line, sizeof first_line);
    put(node(LINES), 16, lines_len);
    memcpy(node(LINES) + 32, lines, lines_len);
}

static uint32_t number_of(void)
{
    memset(&w.pages, 0, sizeof w.pages);
    return kymo_python_code(&t.process, &w.pages, at_of(node(CODE)), &t.is_hidden);
}

static const struct kymo_code_record *record(uint32_t number)
{
    assert_int_not_equal(number, 0);
    return (const void *)((const char *)t.f.session + t.f.plan.codes_at + (uint64_t)number * 8);
}

static void assert_texts(uint32_t number, const char *name, const char *file)
{
    const struct kymo_code_record *r = record(number);
    const char *text = (const char *)(r + 1);
    if (r->name_len != strlen(name) || memcmp(text, name, r->name_len) != 0)
        fail_msg("3.%u: name %.*s, not %s", w.python.minor, r->name_len, text, name);
    if (r->file_len != strlen(file) || memcmp(text + r->name_len, file, r->file_len) != 0)
        fail_msg("3.%u: file %.*s, not %s", w.python.minor, r->file_len, text + r->name_len, file);
}

static void code_is_copied_once(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        use(minor);
        make_text(node(NAME), 0, "Class.method", 12);
        make_text(node(FILE_NAME), 0, "/usr/lib/a.py", 13);
        make("\x01\x02\x03", 3, 1);
        uint32_t number = number_of();
        assert_texts(number, "Class.method", "/usr/lib/a.py");
        const struct kymo_code_record *r = record(number);
        assert_int_equal(r->lines_len, 3);
        assert_memory_equal((const char *)(r + 1) + 25, "\x01\x02\x03", 3);
        assert_int_equal(r->minor, minor);
        assert_int_equal(r->identity.first_line, minor * 1000 + 1);
        assert_int_equal(t.is_hidden, 0);
        assert_int_equal(number_of(), number);
        /* Other code in its place. */
        make("\x01\x02\x03", 3, 2);
        assert_int_not_equal(number_of(), number);
    }
    assert_int_equal(t.f.session->lost[KYMO_LOSS_PYTHON] + t.f.session->lost[KYMO_LOSS_CODE_FULL],
                     0);
}

static void texts_of_each_width_become_utf_8(void **state)
{
    (void)state;
    static const uint8_t one[] = {'c', 0xe9, 0xff};
    static const uint16_t two[] = {0x444, 'x', 0xfffd, 0x7ff, 0x800};
    static const uint32_t four[] = {0x1f40d, 'y', 0x10ffff, 0x10000};
    for (uint32_t minor = 9; minor <= 14; minor++) {
        use(minor);
        make_text(node(NAME), 1, one, 3);
        make_text(node(FILE_NAME), 2, two, 5);
        make("", 0, 1);
        assert_texts(number_of(), "c\xc3\xa9\xc3\xbf", "\xd1\x84x\xef\xbf\xbd\xdf\xbf\xe0\xa0\x80");
        make_text(node(NAME), 4, four, 4);
        make("", 0, 2);
        assert_texts(number_of(), "\xf0\x9f\x90\x8dy\xf4\x8f\xbf\xbf\xf0\x90\x80\x80",
                     "\xd1\x84x\xef\xbf\xbd\xdf\xbf\xe0\xa0\x80");
    }
}

/* Half a surrogate pair stands for a byte of a path that is not UTF-8, and is replaced; a number
 * above the last character is nothing that Python keeps. */
static void what_is_no_character_is_not_copied(void **state)
{
    (void)state;
    static const uint16_t half[] = {'a', 0xdce9, 'b'};
    static const uint32_t none[] = {'a', 0x110000, 'b'};
    use(11);
    make_text(node(NAME), 2, half, 3);
    make_text(node(FILE_NAME), 4, none, 3);
    make("", 0, 1);
    assert_texts(number_of(),
                 "a\xef\xbf\xbd"
                 "b",
                 "a");
}

static void long_names_keep_their_begin_and_long_files_their_end(void **state)
{
    (void)state;
    enum { LONG = 3000 };
    static char text[LONG + 1], name[KYMO_CODE_NAME_MAX + 1], file[KYMO_CODE_FILE_MAX + 1];
    static uint16_t wide[LONG];
    for (uint32_t i = 0; i < LONG; i++) {
        text[i] = (char)('a' + i % 26);
        wide[i] = (uint16_t)(0x400 + i % 100);
    }
    for (uint32_t minor = 9; minor <= 14; minor++) {
        use(minor);
        make_text(node(NAME), 0, text, LONG);
        make_text(node(FILE_NAME), 0, text, LONG);
        make("", 0, 1);
        memcpy(name, text, KYMO_CODE_NAME_MAX);
        memcpy(file, text + LONG - KYMO_CODE_FILE_MAX, KYMO_CODE_FILE_MAX);
        assert_texts(number_of(), name, file);
        make_text(node(NAME), 2, wide, LONG);
        make_text(node(FILE_NAME), 2, wide, LONG);
        make("", 0, 2);
        const struct kymo_code_record *r = record(number_of());
        assert_true(r->name_len >= KYMO_CODE_NAME_MAX / 2 && r->name_len % 2 == 0);
        assert_true(r->file_len >= KYMO_CODE_FILE_MAX / 4 && r->file_len % 2 == 0);
        const char *end_of_file = (const char *)(r + 1) + r->name_len + r->file_len;
        const uint16_t last = wide[LONG - 1];
        assert_int_equal((uint8_t)end_of_file[-1], 0x80 | (last & 0x3f));
        assert_int_equal((uint8_t)end_of_file[-2], 0xc0 | last >> 6);
        assert_int_equal((uint8_t)((const char *)(r + 1))[0], 0xc0 | wide[0] >> 6);
    }
}

static void a_table_is_whole_or_not_there(void **state)
{
    (void)state;
    static char lines[KYMO_CODE_LINES_MAX + 1];
    memset(lines, 'l', sizeof lines);
    use(12);
    make_text(node(NAME), 0, "f", 1);
    make_text(node(FILE_NAME), 0, "g", 1);
    make(lines, KYMO_CODE_LINES_MAX, 1);
    assert_int_equal(record(number_of())->lines_len, KYMO_CODE_LINES_MAX);
    make(lines, KYMO_CODE_LINES_MAX + 1, 2);
    assert_int_equal(record(number_of())->lines_len, KYMO_CODE_NO_LINES);
    make(lines, 0, 3);
    assert_int_equal(record(number_of())->lines_len, 0);
    make(lines, 10, 4);
    put(node(CODE), w.python.offsets.lines, at_of(w.gone));
    assert_int_equal(record(number_of())->lines_len, KYMO_CODE_NO_LINES);
}

/* Objects that another thread is freeing: nothing faults, and what is not read is not said. */
static void memory_that_is_gone_is_not_read(void **state)
{
    (void)state;
    const uint64_t bad[] = {at_of(w.gone), at_of(w.gone) - 40, at_of(node(3)) + 1, 0,
                            1ull << 47,    UINT64_MAX - 7};
    for (uint32_t minor = 9; minor <= 14; minor++) {
        /* Each code is at the same address here, and so in the same place of the index. */
        char *index = (char *)t.f.session + t.f.plan.code_index_at;
        memset(index, 0, t.f.plan.code_slots * sizeof(uint32_t));
        for (uint32_t i = 0; i < KYMO_ARRAY_LEN(bad); i++) {
            use(minor);
            make_text(node(NAME), 0, "f", 1);
            make_text(node(FILE_NAME), 0, "g", 1);
            make("l", 1, 1 + i);
            put(node(CODE), w.python.offsets.name, bad[i]);
            assert_texts(number_of(), "", "g");
            put(node(CODE), w.python.offsets.name, at_of(node(NAME)));
            put(node(CODE), w.python.offsets.file, bad[i]);
            assert_texts(number_of(), "f", "");
            put(node(CODE), w.python.offsets.lines, bad[i]);
            assert_texts(number_of(), "f", "");
        }
    }
    /* The code itself. */
    uint64_t before = t.f.session->lost[KYMO_LOSS_PYTHON];
    assert_int_equal(kymo_python_code(&t.process, &w.pages, at_of(w.gone) - 64, &t.is_hidden), 0);
    assert_int_equal(t.f.session->lost[KYMO_LOSS_PYTHON], before + 1);
}

static void texts_of_no_known_kind_are_empty(void **state)
{
    (void)state;
    use(11);
    make_text(node(FILE_NAME), 0, "g", 1);
    static const uint64_t states[] = {0x40, 0x00, 0x20, 0x20 | 3 << 2, 0x20 | 7 << 2};
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(states); i++) {
        make_text(node(NAME), 0, "f", 1);
        put(node(NAME), 32, states[i]);
        make("", 0, 1 + i);
        assert_texts(number_of(), "", "g");
    }
    make_text(node(NAME), 0, "f", 1);
    put(node(NAME), 16, UINT64_MAX);
    make("", 0, 100);
    assert_texts(number_of(), "", "g");
}

/* 3.13's frame around an __init__. */
static void code_of_the_interpreters_own_is_hidden(void **state)
{
    (void)state;
    use(13);
    make_text(node(NAME), 0, "__init__", 8);
    make("", 0, 1);
    put(node(CODE), w.python.offsets.file, at_of(node(NAME)));
    (void)number_of();
    assert_int_equal(t.is_hidden, 1);
    assert_int_equal(t.f.session->code_used, 0);
}

static void a_full_area_is_counted(void **state)
{
    (void)state;
    use(12);
    make_text(node(NAME), 0, "f", 1);
    make_text(node(FILE_NAME), 0, "g", 1);
    make("", 0, 1);
    uint32_t number = number_of();
    t.f.session->code_used = t.f.plan.code_words - 4;
    make("", 0, 2);
    assert_int_equal(number_of(), 0);
    assert_int_equal(t.f.session->lost[KYMO_LOSS_CODE_FULL], 1);
    make("", 0, 1);
    assert_int_equal(number_of(), number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(code_is_copied_once, begin_code, end_code),
        cmocka_unit_test_setup_teardown(texts_of_each_width_become_utf_8, begin_code, end_code),
        cmocka_unit_test_setup_teardown(what_is_no_character_is_not_copied, begin_code, end_code),
        cmocka_unit_test_setup_teardown(long_names_keep_their_begin_and_long_files_their_end,
                                        begin_code, end_code),
        cmocka_unit_test_setup_teardown(a_table_is_whole_or_not_there, begin_code, end_code),
        cmocka_unit_test_setup_teardown(memory_that_is_gone_is_not_read, begin_code, end_code),
        cmocka_unit_test_setup_teardown(texts_of_no_known_kind_are_empty, begin_code, end_code),
        cmocka_unit_test_setup_teardown(code_of_the_interpreters_own_is_hidden, begin_code,
                                        end_code),
        cmocka_unit_test_setup_teardown(a_full_area_is_counted, begin_code, end_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
