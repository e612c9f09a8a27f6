/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/metadata.h"
#include "remote/s3.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)
#define TASK \
    "arn:aws:ecs:us-east-1:123456789012:task/profiler-metadata-cluster/5261e761e0e2a3d92da3f02c"

static struct kymo_metadata metadata;
static struct kymo_agent_identity who;
static struct kymo_interval_profile profile;
static struct kymo_s3_target target;

static int begin(void **state)
{
    (void)state;
    memset(&metadata, 0, sizeof metadata);
    who = (struct kymo_agent_identity){
        .program = "prog", .host = "h", .pid = 42, .metadata = &metadata};
    profile = (struct kymo_interval_profile){.extension = ".jfr", .number = 7, .who = &who};
    return kymo_s3_target_parse("bucket?group=pg", &target, NULL) == KYMO_OK ? 0 : -1;
}

static char *key_of(void)
{
    kymo_str key = {0};
    kymo_s3_put_key(&key, &target, &profile);
    assert_false(key.failed);
    return key.data;
}

/* The keys of the Rust agent's tests, with our number and word behind the time. */
static void keys_begin_as_those_of_the_rust_agent(void **state)
{
    (void)state;
    static const struct {
        const char *names[2][2];
        int has_looked;
        const char *key;
    } keys[] = {
        {{{"cloud.platform", "aws_ec2"}, {"host.id", "i-0"}},
         1,
         "profile_pg_ec2_i-0__42_1970-01-01T00-00-00Z"},
        {{{"cloud.platform", "aws_ecs"}, {"aws.ecs.task.arn", TASK}},
         1,
         "profile_pg_ecs_arn:aws:ecs:us-east-1:123456789012:task-profiler-metadata-cluster-"
         "5261e761e0e2a3d92da3f02c__42_1970-01-01T00-00-00Z"},
        {{{"x", "y"}, {"host.id", "a/b_c"}}, 0, "profile_pg_unknown___42_1970-01-01T00-00-00Z"},
        {{{"x", "y"}, {"x", "y"}}, 1, "profile_pg_onprem___42_1970-01-01T00-00-00Z"},
        {{{"cloud.platform", "aws_ec2"}, {"host.id", "a/b_c"}},
         1,
         "profile_pg_ec2_a-b-c__42_1970-01-01T00-00-00Z"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        memset(&metadata, 0, sizeof metadata);
        for (size_t k = 0; k < 2; k++)
            OK(kymo_metadata_put(&metadata, keys[i].names[k][0], keys[i].names[k][1]));
        who.has_looked = keys[i].has_looked;
        char *key = key_of();
        const size_t len = strlen(keys[i].key);
        assert_memory_equal(key, keys[i].key, len);
        assert_memory_equal(key + len, "-7-", 3);
        assert_int_equal(strspn(key + len + 3, "0123456789abcdef"), 8);
        assert_string_equal(key + len + 11, ".zip");
        free(key);
    }
}

static void keys_of_two_agents_differ(void **state)
{
    (void)state;
    char *first = key_of();
    char *again = key_of();
    assert_string_equal(first, again);
    free(again);
    who.host = "i";
    char *other_host = key_of();
    who.host = "h";
    OK(kymo_metadata_put(&metadata, "container.id", "c"));
    char *other_container = key_of();
    metadata.n = 0;
    who.start_realtime_ns = 1;
    char *after_restart = key_of();
    assert_string_not_equal(first, other_host);
    assert_string_not_equal(first, other_container);
    assert_string_not_equal(first, after_restart);
    free(first);
    free(other_host);
    free(other_container);
    free(after_restart);
}

static void a_key_has_prefix_group_and_time(void **state)
{
    (void)state;
    OK(kymo_s3_target_parse("bucket/team a/x", &target, NULL));
    who.program = "pr\xffog";
    profile.end_ns = 1764202500123456789ull;
    char *key = key_of();
    static const char expected[] =
        "team a/x/profile_pr\xef\xbf\xbdog_unknown___42_2025-11-27T00-15-00Z-7-";
    assert_memory_equal(key, expected, strlen(expected));
    free(key);
}

static void place_is(const char *of_target, const char *endpoint, const char *region,
                     const char *url, const char *host)
{
    struct kymo_s3_place place = {0};
    OK(kymo_s3_target_parse(of_target, &target, NULL));
    OK(kymo_s3_find_place(&place, &target, endpoint, region, "a b/c:d=.zip", NULL));
    assert_string_equal(kymo_str_cstr(&place.url), url);
    assert_string_equal(kymo_str_cstr(&place.host), host);
    assert_non_null(strstr(url, kymo_str_cstr(&place.path)));
    assert_string_equal(strstr(url, kymo_str_cstr(&place.path)) + place.path.len, "");
    kymo_s3_place_deinit(&place);
}

static void places_are_of_two_styles(void **state)
{
    (void)state;
    place_is("bucket", "", "eu-west-1",
             "https://bucket.s3.eu-west-1.amazonaws.com/a%20b/c%3Ad%3D.zip",
             "bucket.s3.eu-west-1.amazonaws.com");
    place_is("bucket", "", "cn-north-1",
             "https://bucket.s3.cn-north-1.amazonaws.com.cn/a%20b/c%3Ad%3D.zip",
             "bucket.s3.cn-north-1.amazonaws.com.cn");
    place_is("buc.ket", "", "eu-west-1",
             "https://s3.eu-west-1.amazonaws.com/buc.ket/a%20b/c%3Ad%3D.zip",
             "s3.eu-west-1.amazonaws.com");
    place_is("bucket?style=path", "", "eu-west-1",
             "https://s3.eu-west-1.amazonaws.com/bucket/a%20b/c%3Ad%3D.zip",
             "s3.eu-west-1.amazonaws.com");
    place_is("bucket", "http://127.0.0.1:9000", "r",
             "http://127.0.0.1:9000/bucket/a%20b/c%3Ad%3D.zip", "127.0.0.1:9000");
    place_is("bucket", "https://store.example/base/", "r",
             "https://store.example/base/bucket/a%20b/c%3Ad%3D.zip", "store.example");
    place_is("bucket?style=virtual", "https://store.example:8443/", "r",
             "https://bucket.store.example:8443/a%20b/c%3Ad%3D.zip", "bucket.store.example:8443");
    struct kymo_s3_place place = {0};
    kymo_error detail = {0};
    assert_int_equal(kymo_s3_find_place(&place, &target, "store.example", "r", "k", &detail),
                     KYMO_E_INVALID);
    kymo_s3_place_deinit(&place);
}

static void metadata_begins_as_that_of_the_rust_agent(void **state)
{
    (void)state;
    kymo_bytes bytes;
    profile.start_ns = 1764202470123456789ull;
    profile.end_ns = 1764202500123456789ull;
    profile.interval_ns = 30000000000ull;
    who.program = "pr\"og\xff";
    who.start_realtime_ns = 1764202400000000000ull;
    OK(kymo_metadata_put(&metadata, "team", "a\"b"));
    kymo_bytes_init(&bytes, 4096);
    OK(kymo_s3_write_metadata(&profile, &bytes.sink));
    static const char expected[] =
        "{\"start\":1764202470123,\"end\":1764202500123,\"reporting_interval\":30000,\"number\":7,"
        "\"program\":\"pr\\\"og\xef\xbf\xbd\",\"host\":\"h\",\"pid\":42,"
        "\"program_start\":1764202400000,\"format\":\"jfr\",\"kymo_version\":\"" KYMO_VERSION
        "\",\"metadata\":{\"team\":\"a\\\"b\"}}";
    assert_int_equal(bytes.len, strlen(expected));
    assert_memory_equal(bytes.data, expected, bytes.len);
    kymo_bytes_deinit(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(keys_begin_as_those_of_the_rust_agent, begin),
        cmocka_unit_test_setup(keys_of_two_agents_differ, begin),
        cmocka_unit_test_setup(a_key_has_prefix_group_and_time, begin),
        cmocka_unit_test_setup(places_are_of_two_styles, begin),
        cmocka_unit_test_setup(metadata_begins_as_that_of_the_rust_agent, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
