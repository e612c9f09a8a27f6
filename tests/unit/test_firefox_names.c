/* SPDX-License-Identifier: Apache-2.0 */
/* What a Firefox file calls processes: their main threads by what tells their commands apart. */
#include "encode/encoder.h"
#include "profile_fixture.h"

static kymo_profile *profile;

static int setup(void **state)
{
    *state = profile = new_profile();
    return 0;
}

static void add_command(int32_t pid, const char *thread_name, uint32_t argc, const char **argv)
{
    uint32_t process;
    uint32_t thread;
    kymo_process p = {.size = sizeof p, .pid = pid, .argc = argc, .argv = argv};
    ok(kymo_profile_add_process(profile, &p, &process));
    kymo_thread t = {
        .size = sizeof t, .process = process, .tid = pid, .is_main = 1, .name = thread_name};
    ok(kymo_profile_add_thread(profile, &t, &thread));
}

#define COMMAND(pid, thread_name, ...)                                             \
    do {                                                                           \
        const char *argv_[] = {__VA_ARGS__};                                       \
        add_command((pid), (thread_name), (uint32_t)KYMO_ARRAY_LEN(argv_), argv_); \
    } while (0)

static void assert_names(size_t n, const char *const *names)
{
    kymo_bytes out;
    ok(kymo_profile_finish(profile));
    kymo_bytes_init(&out, 1 << 20);
    ok(kymo_encode(profile, kymo_format_for_path("x.json"), &out.sink, NULL, NULL));
    ok(kymo_bytes_append(&out, "", 1));
    for (size_t i = 0; i < n; i++) {
        char part[256];
        snprintf(part, sizeof part, "\"pausedRanges\":[],\"name\":\"%s\"", names[i]);
        if (!strstr((const char *)out.data, part))
            fail_msg("no %s in %s", part, (const char *)out.data);
    }
    kymo_bytes_deinit(&out);
}

static void homonyms_have_what_tells_them_apart(void **state)
{
    (void)state;
    const char *names[] = {"gzip a.txt", "gzip b.txt", "gzip", "sort"};
    COMMAND(1, "gzip", "/bin/gzip", "-9", "a.txt", "-k");
    COMMAND(2, "gzip", "/bin/gzip", "-9", "b.txt", "-k");
    COMMAND(3, "gzip", "gzip", "-9", "-k");
    COMMAND(4, "sort", "sort", "c.txt");
    assert_names(KYMO_ARRAY_LEN(names), names);
}

static void a_word_is_in_front_or_at_the_end(void **state)
{
    (void)state;
    const char *names[] = {"seq", "seq 1", "seq 1 1"};
    COMMAND(1, "seq", "seq", "1");
    COMMAND(2, "seq", "seq", "1", "1");
    COMMAND(3, "seq", "seq", "1", "1", "1");
    assert_names(KYMO_ARRAY_LEN(names), names);
}

static void names_of_the_programs_own_stay(void **state)
{
    (void)state;
    const char *names[] = {"leader", "a-long-name-of- 2"};
    COMMAND(1, "leader", "a-long-name-of-a-program", "1");
    COMMAND(2, "a-long-name-of-", "a-long-name-of-a-program", "2");
    assert_names(KYMO_ARRAY_LEN(names), names);
}

static void of_long_words_the_end_is_shown(void **state)
{
    (void)state;
    const char *names[] = {"cc ...0123456789/0123456789/012345678\u00e9/a.c", "cc b.c",
                           "cc aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbb..."};
    COMMAND(1, "cc", "cc", "/0123456789/0123456789/0123456789/012345678\u00e9/a.c");
    COMMAND(2, "cc", "cc", "b.c");
    COMMAND(3, "cc", "cc", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
            "c");
    assert_names(KYMO_ARRAY_LEN(names), names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(homonyms_have_what_tells_them_apart, setup,
                                        destroy_profile),
        cmocka_unit_test_setup_teardown(a_word_is_in_front_or_at_the_end, setup, destroy_profile),
        cmocka_unit_test_setup_teardown(names_of_the_programs_own_stay, setup, destroy_profile),
        cmocka_unit_test_setup_teardown(of_long_words_the_end_is_shown, setup, destroy_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
