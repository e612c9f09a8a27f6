/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of text by its role, and that no text of a profile gets past it. */
#include "select/sanitize.h"

#include <stdlib.h>

#include "fixed_profile.h"
#include "kymo/encode.h"
#include "profile_fixture.h"
#include "select/copy.h"

static kymo_sanitizer *sanitizer;

static int setup(void **state)
{
    (void)state;
    return kymo_sanitizer_create("Db-7.example.com", &sanitizer) == KYMO_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    kymo_sanitizer_destroy(sanitizer);
    return 0;
}

static void assert_becomes(kymo_text_role role, const char *text, const char *wanted)
{
    kymo_str out = {0};
    ok(kymo_sanitize(sanitizer, role, text, strlen(text), &out));
    if (strcmp(kymo_str_cstr(&out), wanted) != 0)
        fail_msg("'%s' became '%s', wanted '%s'", text, kymo_str_cstr(&out), wanted);
    kymo_str_deinit(&out);
}

static void names_in_code_keep_all_but_paths_urls_and_the_host(void **state)
{
    (void)state;
    static const char *const stay[] = {
        "main",
        "",
        "std::vector<int, std::allocator<int> >::push_back(int const&)",
        "operator/(Money, Money)",
        "operator/<int>",
        "github.com/acme/tool.(*Server).Serve",
        "a/b",
        "bytes / s",
        "__x64_sys_clock_gettime",
        "db-70",
        "adb-7x",
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(stay); i++)
        assert_becomes(KYMO_TEXT_CODE, stay[i], stay[i]);
    assert_becomes(KYMO_TEXT_CODE, "py::f:/home/ann/x.py", "py::f:x.py");
    assert_becomes(KYMO_TEXT_CODE, "*f /home/ann b/app/x.js:12:3", "*f x.js:12:3");
    assert_becomes(KYMO_TEXT_CODE, "f (/a/b.c) g (/c/d.c)", "f (b.c) g (d.c)");
    assert_becomes(KYMO_TEXT_CODE, "*f https://ann:pw@x.org/a?b=c#d 3", "*f [url] 3");
    assert_becomes(KYMO_TEXT_CODE, "file:///home/ann/x.mjs:3", "[url]");
    assert_becomes(KYMO_TEXT_CODE, "on_db-7.example.com", "on_[host]");
    assert_becomes(KYMO_TEXT_CODE, "on DB-7, of all", "on [host], of all");
}

static void names_stay_if_they_look_like_names(void **state)
{
    (void)state;
    static const char *const stay[] = {"main", "worker-12", "python3.11", "tokio-runtime-w",
                                       "pool[3] <idle>"};
    static const char *const go[] = {"ann@example.com", "10.0.0.1:80",   "GET /users/ann",
                                     "token=abc",       "account 12345", "conn on Db-7",
                                     "caf\xc3\xa9",     "a\nb",          "x/y"};
    char wanted[32];
    for (size_t i = 0; i < KYMO_ARRAY_LEN(stay); i++)
        assert_becomes(KYMO_TEXT_NAME, stay[i], stay[i]);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(go); i++) {
        snprintf(wanted, sizeof wanted, "name %u", (unsigned)i + 1);
        assert_becomes(KYMO_TEXT_NAME, go[i], wanted);
    }
    /* Equal texts have equal numbers. */
    assert_becomes(KYMO_TEXT_NAME, go[2], "name 3");
    char longer[82];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_becomes(KYMO_TEXT_NAME, longer, "name 10");
    assert_becomes(KYMO_TEXT_NAME, longer + 1, longer + 1);
}

static void folders_become_numbers(void **state)
{
    (void)state;
    assert_becomes(KYMO_TEXT_PATH, "/home/ann/a.c", "dir1/a.c");
    assert_becomes(KYMO_TEXT_PATH, "/usr/lib/libc.so.6", "dir2/libc.so.6");
    assert_becomes(KYMO_TEXT_PATH, "/home/ann/b.c", "dir1/b.c");
    assert_becomes(KYMO_TEXT_PATH, "c.c", "c.c");
    assert_becomes(KYMO_TEXT_PATH, "[vdso]", "[vdso]");
    assert_becomes(KYMO_TEXT_PATH, "http://x.org/d/a.js?ann=/b", "dir3/a.js");
    assert_becomes(KYMO_TEXT_PATH, "/opt/db-7/lib-db-7.so", "dir4/lib-[host].so");
    assert_becomes(KYMO_TEXT_PROGRAM, "/home/ann/tool", "tool");
    assert_becomes(KYMO_TEXT_FILE, "/home/ann/customers.db", "dir1/file 1");
    assert_becomes(KYMO_TEXT_FILE, "/tmp/customers.db", "dir5/file 1");
    assert_becomes(KYMO_TEXT_FILE, "[heap]", "[heap]");
}

static void values_become_numbers(void **state)
{
    (void)state;
    assert_becomes(KYMO_TEXT_VALUE, "ann", "text 1");
    assert_becomes(KYMO_TEXT_VALUE, "bob", "text 2");
    assert_becomes(KYMO_TEXT_VALUE, "ann", "text 1");
    assert_becomes(KYMO_TEXT_VALUE, "", "");
    assert_becomes(KYMO_TEXT_LITERAL, "Linux 6.1", "Linux 6.1");
}

static void without_a_hostname(void **state)
{
    (void)state;
    kymo_sanitizer_destroy(sanitizer);
    ok(kymo_sanitizer_create(NULL, &sanitizer));
    assert_becomes(KYMO_TEXT_CODE, "db-7 ", "db-7 ");
}

/* ---- a whole profile ---- */

static void add_marks(kymo_profile *p, uint32_t process, uint32_t thread, uint32_t stack,
                      uint32_t labels)
{
    uint32_t schema, counter;
    kymo_value values[] = {{.kind = KYMO_VALUE_STRING, .as.string = add_string(p, "SECRETao")},
                           {.kind = KYMO_VALUE_LIST, .as.list.count = 1}};
    ok(kymo_profile_add_values(p, values, 1, &values[1].as.list.first));
    const kymo_schema_field fields[] = {{.key = add_string(p, "a")}, {.key = add_string(p, "b")}};
    const kymo_schema type = {.size = sizeof type,
                              .name = add_string(p, "/SECRETas/T"),
                              .field_count = 2,
                              .fields = fields};
    ok(kymo_profile_add_schema(p, &type, &schema));
    const kymo_marker marker = {.thread = thread,
                                .name = add_string(p, "GET /SECRETap"),
                                .track = add_string(p, "SECRETaq@x"),
                                .category = KYMO_NONE,
                                .schema = schema,
                                .stack = stack,
                                .labels = labels,
                                .start_ns = 5,
                                .end_ns = 5,
                                .value_count = 2};
    ok(kymo_profile_add_marker(p, &marker, values));
    const kymo_counter row = {.size = sizeof row,
                              .process = process,
                              .category = KYMO_NONE,
                              .name = add_string(p, "on SECRETae"),
                              .description = add_string(p, "of http://SECRETat/x")};
    ok(kymo_profile_add_counter(p, &row, &counter));
    ok(kymo_profile_add_count(p, counter, 5, 1, 1));
    const kymo_marker_losses losses = {.size = sizeof losses,
                                       .name = marker.name,
                                       .category = KYMO_NONE,
                                       .schema = schema,
                                       .lost = 3};
    ok(kymo_profile_add_marker_losses(p, &losses));
}

/* Every text that a program chooses, each with a secret of its own: SECRET and two letters. */
static kymo_profile *with_secrets(void)
{
    kymo_profile *p = new_profile();
    const char *argv[] = {"/SECRETaa/tool", "--password=SECRETab"};
    kymo_meta meta = {.size = sizeof meta,
                      .argc = 2,
                      .argv = argv,
                      .product = "/SECRETac/tool",
                      .engine_reason = "/SECRETad/reason",
                      .hostname = "SECRETae"};
    ok(kymo_profile_set_meta(p, &meta));
    uint32_t process, thread, id;
    kymo_process row = {
        .size = sizeof row, .argc = 2, .argv = argv, .name = "SECRETaf@1", .exit_status = -1};
    ok(kymo_profile_add_process(p, &row, &process));
    kymo_thread t = {.size = sizeof t, .process = process, .tid = 2, .name = "SECRETag=1"};
    ok(kymo_profile_add_thread(p, &t, &thread));
    uint32_t module = add_module(p, process, "/SECRETah/lib.so", "");
    uint32_t frame = add_frame(p, module, 0x1000);
    kymo_function f = {.module = module, .source = add_source(p, "/SECRETai/x.c")};
    f.name = add_string(p, "f (/SECRETaj/x.c)");
    f.system_name = add_string(p, "https://SECRETak");
    kymo_line line = {.line = 1};
    ok(kymo_profile_add_function(p, &f, &line.function));
    kymo_symbol symbol = {
        .module = module, .address = 0x1000, .name = add_string(p, "/SECRETal/s")};
    ok(kymo_profile_add_symbol(p, &symbol, &id));
    ok(kymo_profile_frame_set_lines(p, frame, &line, 1, id, 1));
    uint32_t stack = add_stack(p, KYMO_NONE, frame);
    kymo_label label = {
        .key = add_string(p, "SECRETam/key"),
        .value = {.kind = KYMO_VALUE_STRING, .as.string = add_string(p, "SECRETan")}};
    uint32_t labels;
    ok(kymo_profile_add_label_set(p, &label, 1, &labels));
    ok(kymo_profile_add_sample(p, thread, 5, stack, 7, KYMO_SAMPLE_CPU, KYMO_STATE_RUNNING));
    ok(kymo_profile_set_sample_labels(p, thread, 0, labels));
    add_marks(p, process, thread, stack, labels);
    kymo_heap heap = {.size = sizeof heap,
                      .process = process,
                      .rate = 1,
                      .allocator = add_string(p, "/SECRETau/malloc.so"),
                      .not_seen = add_string(p, "/SECRETav/other.so")};
    ok(kymo_profile_set_heap(p, &heap));
    kymo_ledger ledger = {.size = sizeof ledger,
                          .process = process,
                          .name = add_string(p, "/tmp/SECRETar.db"),
                          .stack = KYMO_NONE};
    ok(kymo_profile_add_ledger(p, &ledger));
    ok(kymo_profile_finish(p));
    return p;
}

static void no_secret_of_a_profile_is_in_any_string_or_file(void **state)
{
    (void)state;
    static const kymo_keep all = KYMO_KEEP_ALL;
    const kymo_format *format;
    kymo_profile *p = with_secrets();
    kymo_profile *copy;
    kymo_sanitizer_destroy(sanitizer);
    ok(kymo_sanitizer_create(kymo_profile_meta(p)->hostname, &sanitizer));
    ok(kymo_profile_copy(p, &all, sanitizer, &copy));
    for (uint32_t i = 0; i < kymo_profile_count(copy, KYMO_TABLE_STRINGS); i++)
        if (strstr(kymo_profile_string(copy, i), "SECRET"))
            fail_msg("a string is left: %s", kymo_profile_string(copy, i));
    for (size_t i = 0; (format = kymo_format_at(i)); i++) {
        void *data;
        size_t len;
        /* Of traced calls, which there are none of. */
        if (strcmp(format->name, "pstats") == 0)
            continue;
        ok(kymo_encode_memory(copy, format, NULL, &data, &len, NULL));
        if (len > 0 && memmem(data, len, "SECRET", 6))
            fail_msg("a secret is in %s", format->extension);
        free(data);
    }
    kymo_profile_destroy(copy);
    kymo_profile_destroy(p);
}

/* The same profile always becomes the same file. */
static void twice_is_the_same(void **state)
{
    (void)state;
    static const kymo_keep all = KYMO_KEEP_ALL;
    kymo_profile *p = fixed_profile();
    void *data[2];
    size_t len[2];
    for (int i = 0; i < 2; i++) {
        kymo_profile *copy;
        kymo_sanitizer *own;
        ok(kymo_sanitizer_create(NULL, &own));
        ok(kymo_profile_copy(p, &all, own, &copy));
        ok(kymo_encode_memory(copy, kymo_format_for_path("x.json"), NULL, &data[i], &len[i], NULL));
        kymo_sanitizer_destroy(own);
        kymo_profile_destroy(copy);
    }
    assert_int_equal(len[0], len[1]);
    assert_memory_equal(data[0], data[1], len[0]);
    free(data[0]);
    free(data[1]);
    kymo_profile_destroy(p);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(names_in_code_keep_all_but_paths_urls_and_the_host),
        T(names_stay_if_they_look_like_names),
        T(folders_become_numbers),
        T(values_become_numbers),
        T(without_a_hostname),
        T(no_secret_of_a_profile_is_in_any_string_or_file),
        T(twice_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
