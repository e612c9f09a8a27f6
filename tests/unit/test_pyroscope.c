/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/pyroscope.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/metadata.h"
#include "base/wire.h"
#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static struct kymo_metadata metadata;
static struct kymo_agent_identity who;
static struct kymo_interval_profile profile;

static int begin(void **state)
{
    (void)state;
    memset(&metadata, 0, sizeof metadata);
    who = (struct kymo_agent_identity){
        .program = "my prog", .host = "box", .pid = 42, .metadata = &metadata};
    profile = (struct kymo_interval_profile){.part = KYMO_PART_HEAP,
                                             .fd = memfd_create("profile", MFD_CLOEXEC),
                                             .bytes = 4,
                                             .start_ns = 1000000001,
                                             .end_ns = 2000000002,
                                             .number = 7,
                                             .who = &who};
    return write(profile.fd,
                 "\x1f\x8b"
                 "xy",
                 4) == 4
               ? 0
               : -1;
}

static int end(void **state)
{
    (void)state;
    return close(profile.fd);
}

static void query_is(const char *expected)
{
    kymo_str query = {0};
    kymo_pyroscope_put_query(&query, &profile);
    assert_false(query.failed);
    assert_string_equal(kymo_str_cstr(&query), expected);
    kymo_str_deinit(&query);
}

static void the_query_has_what_separates_nothing(void **state)
{
    (void)state;
    query_is("name=my_prog%7Bpyroscope_spy%3Dkymo%2Cprocess_executable_name%3Dmy%20prog%2C"
             "host_name%3Dbox%7D&from=1000000001&until=2000000002&format=pprof&spyName=kymo");
    OK(kymo_metadata_put(&metadata, "service.name", "a{b,c}=\"d\"&e"));
    OK(kymo_metadata_put(&metadata, "9a.b/c-d", "x={y},&z"));
    OK(kymo_metadata_put(&metadata, "host.name", "another"));
    query_is("name=a_b_c___d__e%7Bpyroscope_spy%3Dkymo%2Cprocess_executable_name%3Dmy%20prog%2C"
             "host_name%3Dbox%2C_9a_b_c_d%3Dx__y__%26z%7D"
             "&from=1000000001&until=2000000002&format=pprof&spyName=kymo");
}

/* Reads the one series of a request: labels as "NAME=VALUE;...", the identifier, the profile. */
static void read_push(const kymo_bytes *body, kymo_str *labels, char id[40], kymo_reader *raw)
{
    kymo_wire_field series;
    kymo_wire_field field;
    kymo_wire_field inner;
    kymo_reader r = kymo_reader_of(body->data, body->len);
    assert_true(kymo_wire_next(&r, &series));
    assert_ptr_equal(r.at, r.end);
    while (kymo_wire_next(&series.bytes, &field)) {
        while (kymo_wire_next(&field.bytes, &inner)) {
            const int len = (int)(inner.bytes.end - inner.bytes.at);
            if (field.number == 1)
                kymo_str_printf(labels, "%.*s%c", len, (const char *)inner.bytes.at,
                                inner.number == 1 ? '=' : ';');
            else if (inner.number == 2)
                snprintf(id, 40, "%.*s", len, (const char *)inner.bytes.at);
            else
                *raw = inner.bytes;
        }
        assert_false(field.bytes.failed);
    }
    assert_false(series.bytes.failed);
}

static void a_push_has_labels_an_identifier_and_the_profile(void **state)
{
    (void)state;
    kymo_bytes body;
    kymo_str labels = {0};
    char ids[3][40];
    kymo_reader raw = {0};
    OK(kymo_metadata_put(&metadata, "k8s.pod.name", "p{1}"));
    for (size_t i = 0; i < 3; i++) {
        profile.number = 7 + i / 2;
        kymo_bytes_init(&body, SIZE_MAX);
        OK(kymo_pyroscope_put_push(&body, &profile, NULL));
        labels.len = 0;
        read_push(&body, &labels, ids[i], &raw);
        assert_int_equal(raw.end - raw.at, 4);
        assert_memory_equal(raw.at, "\x1f\x8bxy", 4);
        kymo_bytes_deinit(&body);
    }
    /* The same profile has the same. */
    assert_string_equal(ids[0], ids[1]);
    assert_string_not_equal(ids[0], ids[2]);
    assert_int_equal(strlen(ids[0]), 36);
    assert_non_null(strstr(kymo_str_cstr(&labels), "__name__=memory;__session_id__="));
    assert_non_null(strstr(kymo_str_cstr(&labels),
                           ";__delta__=false;service_name=my prog;pyroscope_spy=kymo;"
                           "process_executable_name=my prog;host_name=box;k8s_pod_name=p{1};"));
    kymo_str_deinit(&labels);
}

static void a_form_has_the_profile(void **state)
{
    (void)state;
    static const char expected[] =
        "--B\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n"
        "Content-Type: application/octet-stream\r\n\r\n\x1f\x8bxy\r\n--B--\r\n";
    kymo_bytes body;
    kymo_bytes_init(&body, SIZE_MAX);
    OK(kymo_pyroscope_put_form(&body, "B", &profile, NULL));
    assert_int_equal(body.len, sizeof expected - 1);
    assert_memory_equal(body.data, expected, body.len);
    kymo_bytes_deinit(&body);
    /* A file that is shorter than it was. */
    profile.bytes = 5;
    kymo_bytes_init(&body, SIZE_MAX);
    assert_int_equal(kymo_pyroscope_put_form(&body, "B", &profile, NULL), KYMO_E_IO);
    kymo_bytes_deinit(&body);
}

static void explains(const char *answer, const char *expected)
{
    kymo_str text = {0};
    kymo_pyroscope_explain(answer, strlen(answer), &text);
    assert_string_equal(kymo_str_cstr(&text), expected);
    kymo_str_deinit(&text);
}

static void errors_say_why(void **state)
{
    (void)state;
    char longer[1000];
    explains("{\"code\":\"x\",\"message\":\"no \\\"such\\\" label\"}", "no \"such\" label");
    explains("not found", "not found");
    explains("{\"message\":3}", "{\"message\":3}");
    explains("{\"message\":\"cut", "{\"message\":\"cut");
    explains("", "");
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    kymo_str text = {0};
    kymo_pyroscope_explain(longer, sizeof longer - 1, &text);
    assert_in_range(text.len, 100, 160);
    kymo_str_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_query_has_what_separates_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_push_has_labels_an_identifier_and_the_profile, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_form_has_the_profile, begin, end),
        cmocka_unit_test_setup_teardown(errors_say_why, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
