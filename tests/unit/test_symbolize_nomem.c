/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of opening and symbolizing a module fails once. What must come of it is an
 * error, or fewer names; never a crash, and nothing that leaks (the address sanitizer looks).
 */
#include "failing_allocation.h"
#include "symbolize_fixture.h"

/* Returns whether everything worked. */
static bool run(const char *path, const uint64_t *addresses, size_t n)
{
    kymo_symbolizer *s = NULL;
    kymo_module_symbols *m;
    kymo_symbol_frames frames = {0};
    kymo_symbol_result results[4];
    kymo_symbol_status status;
    kymo_symbol_module wanted = {.paths = &path, .n_paths = 1, .allow_unverified = true};
    const char *no_dirs[] = {NULL};
    kymo_symbolizer_options options = {.debug_dirs = no_dirs};
    kymo_err err = kymo_symbolizer_create(&options, &s);
    if (err == KYMO_OK)
        err = kymo_symbolizer_open_module(s, &wanted, &m, &status);
    if (err == KYMO_OK)
        err = kymo_module_symbolize(m, addresses, n, results, &frames);
    bool whole = err == KYMO_OK && results[0].n_frames == 3 && frames.data[0].file;
    kymo_symbol_frames_deinit(&frames);
    kymo_symbolizer_destroy(s);
    return whole;
}

static void check(const char *name)
{
    const char *path = fixture(name), *whole = fixture("gcc_dwarf5.so");
    if (!path)
        return;
    uint64_t addresses[] = {symbol_value(whole, "place_inner"), symbol_value(whole, "place_leaf"),
                            symbol_value(whole, "kept_split.cold"), 0x10};
    until_failure = -1;
    assert_true(run(path, addresses, KYMO_ARRAY_LEN(addresses)));
    long failed = 0;
    for (long at = 0; at < 100000; at++) {
        until_failure = at;
        bool done = run(path, addresses, KYMO_ARRAY_LEN(addresses));
        bool reached = until_failure < 0;
        until_failure = -1;
        if (!reached) {
            assert_true(done);
            break;
        }
        failed++;
    }
    print_message("%s: %ld allocations failed once each\n", name, failed);
    assert_in_range(failed, 20, 99999);
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    check("gcc_dwarf5.so");
    check("gcc_zlib.so");
    check("stripped.so");
    check("dwz_one.so");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_fails_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
