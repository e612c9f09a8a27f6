/* SPDX-License-Identifier: Apache-2.0 */
/* Traced calls as a .pstats file. What Python's reader makes of it is in integration.python_faults.
 */
#include <stdlib.h>
#include <string.h>

#include "failing_allocation.h"
#include "ingest_fixture.h"
#include "kymo/encode.h"
#include "kymo/trace_abi.h"
#include "recording/events.h"

enum { LONG_S = 5 };

/* main calls work, which calls itself once; a native function is called for seconds. */
static void trace(void)
{
    const kymo_event_handler *h = &kymo_ingest_handler;
    static const kymo_event_call calls[] = {
        {1000, 0, 1, KYMO_TRACE_CALL, 0},
        {1100, 1, 2, KYMO_TRACE_CALL, 0},
        {1200, 1, 3, KYMO_TRACE_CALL, 0},
        {1300, 1, 3, KYMO_TRACE_RETURN, 0},
        {1400, 1, 2, KYMO_TRACE_RETURN, 0},
        {1400, 2, 2, KYMO_TRACE_CALL, 0},
        {1400 + LONG_S * 1000000000ull, 2, 2, KYMO_TRACE_RETURN, 0},
    };
    assert_int_equal(h->meta(ingest, &(kymo_event_meta){.start_ns = 1}), KYMO_OK);
    assert_int_equal(h->process(ingest, &(kymo_event_process){.pid = 1}), KYMO_OK);
    assert_int_equal(h->thread(ingest, &(kymo_event_thread){.tid = 1}), KYMO_OK);
    assert_int_equal(
        h->script(ingest, &(kymo_event_script){0, 0, 3, KYMO_EVENT_PYTHON, "main", "a.py"}),
        KYMO_OK);
    assert_int_equal(
        h->script(ingest, &(kymo_event_script){0, 1, 9, KYMO_EVENT_PYTHON, "work", "a.py"}),
        KYMO_OK);
    assert_int_equal(h->script(ingest, &(kymo_event_script){0, 2, 0, KYMO_EVENT_PYTHON_NATIVE,
                                                            "time.sleep", ""}),
                     KYMO_OK);
    assert_int_equal(h->calls(ingest, &(kymo_event_calls){0, KYMO_ARRAY_LEN(calls), calls}),
                     KYMO_OK);
    assert_int_equal(h->end(ingest, &(kymo_event_end){.end_ns = 1400 + LONG_S * 1000000000ull}),
                     KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
}

static kymo_err encode(void *unused)
{
    void *data;
    size_t len;
    kymo_err err =
        kymo_encode_memory(profile, kymo_format_for_path("x.pstats"), NULL, &data, &len, NULL);
    (void)unused;
    if (err == KYMO_OK)
        free(data);
    return err;
}

/* How often these bytes are in the file. */
static size_t count_of(const char *data, size_t len, const char *bytes, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i + n <= len; i++)
        count += memcmp(data + i, bytes, n) == 0;
    return count;
}

static void functions_and_callers_are_there(void **state)
{
    (void)state;
    void *data;
    size_t len;
    trace();
    assert_int_equal(
        kymo_encode_memory(profile, kymo_format_for_path("x.pstats"), NULL, &data, &len, NULL),
        KYMO_OK);
    const char *bytes = data;
    assert_int_equal(bytes[0], '{');
    assert_int_equal(bytes[len - 1], '0');
    /* As a function, and as the caller of two and of one. */
    assert_int_equal(count_of(data, len, "u\4\0\0\0main", 9), 3);
    assert_int_equal(count_of(data, len, "u\4\0\0\0work", 9), 2);
    assert_int_equal(count_of(data, len, "<built-in method time.sleep>", 28), 1);
    /* work: one primitive call of two; its caller main has one of one. */
    assert_int_equal(count_of(data, len, "(\5\0\0\0i\1\0\0\0i\2\0\0\0g", 16), 1);
    free(data);
}

static void a_profile_without_calls_is_refused(void **state)
{
    (void)state;
    kymo_error detail;
    void *data;
    size_t len;
    assert_int_equal(kymo_ingest_handler.meta(ingest, &(kymo_event_meta){.start_ns = 1}), KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    assert_int_equal(
        kymo_encode_memory(profile, kymo_format_for_path("x.pstats"), NULL, &data, &len, &detail),
        KYMO_E_INVALID);
    assert_non_null(strstr(detail.message, "--trace=python"));
    assert_non_null(strstr(detail.message, "other formats")); /* whole */
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    trace();
    assert_true(fail_each_allocation(encode, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(functions_and_callers_are_there, begin, end),
        cmocka_unit_test_setup_teardown(a_profile_without_calls_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(no_memory_is_an_error, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
