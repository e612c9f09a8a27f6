/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors: AWS's test suite for Signature Version 4, and the examples of the documentation of S3.
 */
#include "remote/sigv4.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define SCOPE(region, service) "20150830/" region "/" service "/aws4_request"

static void signature_is(const struct kymo_sigv4_request *r, const struct kymo_sigv4_key *key,
                         const char *expected)
{
    kymo_str text = {0};
    assert_int_equal(kymo_sigv4_sign(r, key, &text), KYMO_OK);
    assert_string_equal(kymo_str_cstr(&text), expected);
    kymo_str_deinit(&text);
}

static void test_suite_of_aws(void **state)
{
    (void)state;
    static const struct kymo_sigv4_header plain[] = {{"host", "example.amazonaws.com"},
                                                     {"x-amz-date", "20150830T123600Z"}};
    static const struct kymo_sigv4_header trimmed[] = {{"host", "example.amazonaws.com"},
                                                       {"my-header1", " value1"},
                                                       {"my-header2", " \"a   b   c\""},
                                                       {"x-amz-date", "20150830T123600Z"}};
    static const struct kymo_sigv4_header form[] = {
        {"content-type", "application/x-www-form-urlencoded"},
        {"host", "example.amazonaws.com"},
        {"x-amz-date", "20150830T123600Z"}};
    static const struct {
        struct kymo_sigv4_request request;
        const char *names;
        const char *signature;
    } vectors[] = {
        {{"GET", "/", "", plain, 2, EMPTY},
         "host;x-amz-date",
         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        {{"GET", "/", "Param1=value1&Param2=value2", plain, 2, EMPTY},
         "host;x-amz-date",
         "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
        {{"POST", "/", "", plain, 2, EMPTY},
         "host;x-amz-date",
         "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
        {{"GET", "/", "", trimmed, 4, EMPTY},
         "host;my-header1;my-header2;x-amz-date",
         "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
        {{"POST", "/", "", form, 3,
          "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"},
         "content-type;host;x-amz-date",
         "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
        {{"GET", "/%E1%88%B4", "", plain, 2, EMPTY},
         "host;x-amz-date",
         "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
    };
    const struct kymo_sigv4_key key = {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                                       "us-east-1", "service", "20150830T123600Z"};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char expected[512];
        snprintf(expected, sizeof expected,
                 "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" SCOPE(
                     "us-east-1", "service") ", "
                                             "SignedHeaders=%s, Signature=%s",
                 vectors[i].names, vectors[i].signature);
        signature_is(&vectors[i].request, &key, expected);
    }
}

static void examples_of_s3(void **state)
{
    (void)state;
    static const char body_hash[] =
        "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
    static const struct kymo_sigv4_header get[] = {{"host", "examplebucket.s3.amazonaws.com"},
                                                   {"range", "bytes=0-9"},
                                                   {"x-amz-content-sha256", EMPTY},
                                                   {"x-amz-date", "20130524T000000Z"}};
    static const struct kymo_sigv4_header put[] = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                                                   {"host", "examplebucket.s3.amazonaws.com"},
                                                   {"x-amz-content-sha256", body_hash},
                                                   {"x-amz-date", "20130524T000000Z"},
                                                   {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
    const struct kymo_sigv4_key key = {"AKIAIOSFODNN7EXAMPLE",
                                       "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1",
                                       "s3", "20130524T000000Z"};
    const struct kymo_sigv4_request get_object = {"GET", "/test.txt", "", get, 4, EMPTY};
    const struct kymo_sigv4_request put_object = {"PUT",    "/test%24file.text", "", put, 5,
                                                  body_hash};
    signature_is(&get_object, &key,
                 "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
                 "aws4_request, SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
                 "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    signature_is(&put_object, &key,
                 "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
                 "aws4_request, SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;"
                 "x-amz-storage-class, "
                 "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

static void times_are_utc(void **state)
{
    (void)state;
    char text[KYMO_SIGV4_TIME_MAX];
    assert_string_equal(kymo_sigv4_time(1440938160, text), "20150830T123600Z");
    assert_string_equal(kymo_sigv4_time(0, text), "19700101T000000Z");
    assert_string_equal(kymo_sigv4_time(INT64_MAX, text), "19700101T000000Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suite_of_aws),
        cmocka_unit_test(examples_of_s3),
        cmocka_unit_test(times_are_utc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
