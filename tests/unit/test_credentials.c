/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/credentials.h"

#include "empty_folder.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static const char *const variables[] = {
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
};
static struct kymo_aws_credentials c;

/* Nothing of the environment, an empty home, no request. */
static int enter_alone(void **state)
{
    int status = enter(state);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    setenv("HOME", *state, 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    return status | mkdir(".aws", 0700);
}

static void are(const char *access, const char *secret, const char *token)
{
    kymo_error detail;
    if (kymo_aws_credentials_find(&c, &detail) != KYMO_OK)
        fail_msg("%s", detail.message);
    assert_string_equal(c.access, access);
    assert_string_equal(c.secret, secret);
    assert_string_equal(c.token, token);
}

static void fail_with(const char *text)
{
    kymo_error detail = {0};
    assert_int_equal(kymo_aws_credentials_find(&c, &detail), KYMO_E_NOT_FOUND);
    if (!strstr(detail.message, text))
        fail_msg("\"%s\" is not in \"%s\"", text, detail.message);
    assert_null(strstr(detail.message, "SECRET"));
}

static void the_environment_comes_first(void **state)
{
    (void)state;
    put(".aws/credentials", "[default]\naws_access_key_id=F\naws_secret_access_key=G\n");
    setenv("AWS_ACCESS_KEY_ID", "A", 1);
    are("F", "G", "");
    setenv("AWS_SECRET_ACCESS_KEY", "B/+=", 1);
    are("A", "B/+=", "");
    setenv("AWS_SESSION_TOKEN", "T", 1);
    are("A", "B/+=", "T");
    setenv("AWS_SESSION_TOKEN", "SECRET\r\nX: y", 1);
    fail_with("AWS_SESSION_TOKEN is no key");
}

static void files_have_profiles(void **state)
{
    (void)state;
    put(".aws/credentials", "# a comment = no\n"
                            "[other]\n"
                            "aws_access_key_id = O\r\n"
                            "aws_secret_access_key\t=\t P=q \r\n"
                            "aws_session_token = T\n"
                            "\n"
                            "[ default ]\n"
                            "; aws_access_key_id = X\n"
                            "aws_access_key_id = A\n"
                            "s3 =\n"
                            "  aws_access_key_id = X\n"
                            "aws_secret_access_key = B");
    put(".aws/config", "[default]\nregion = eu-west-1\naws_session_token = X\n"
                       "[profile third]\nregion=us-east-2\naws_access_key_id=C\n"
                       "aws_secret_access_key=D\n[fourth]\naws_access_key_id=C\n"
                       "aws_secret_access_key=D\n[profile role]\nrole_arn = SECRET\n");
    are("A", "B", "");
    assert_string_equal(c.region, "eu-west-1");
    setenv("AWS_PROFILE", "other", 1);
    are("O", "P=q", "T");
    setenv("AWS_PROFILE", "third", 1);
    are("C", "D", "");
    assert_string_equal(c.region, "us-east-2");
    setenv("AWS_PROFILE", "fourth", 1);
    fail_with("the profile fourth of AWS's files has no keys");
    setenv("AWS_PROFILE", "role", 1);
    fail_with("role_arn");
    unsetenv("AWS_PROFILE");
    setenv("AWS_DEFAULT_PROFILE", "other", 1);
    are("O", "P=q", "T");
    put("elsewhere", "[other]\naws_access_key_id=E\naws_secret_access_key=F\n");
    setenv("AWS_SHARED_CREDENTIALS_FILE", "elsewhere", 1);
    are("E", "F", "");
    setenv("AWS_SHARED_CREDENTIALS_FILE", "missing", 1);
    fail_with("the profile other");
}

static void a_service_answers_keys(void **state)
{
    (void)state;
    static const char good[] =
        "{\"Code\":\"Success\",\"Other\":[{\"AccessKeyId\":\"X\"}],\"AccessKeyId\":\"A\","
        "\"SecretAccessKey\":\"B\\/+\",\"Token\":\"T\",\"Expiration\":\"2026-11-27T00:00:00Z\"}";
    memset(&c, 0, sizeof c);
    OK(kymo_aws_answer_take(good, strlen(good), &c));
    assert_string_equal(c.access, "A");
    assert_string_equal(c.secret, "B/+");
    assert_string_equal(c.token, "T");
    static const char *const hostile[] = {
        "",
        "null",
        "[]",
        "<html>",
        "{\"AccessKeyId\":\"A\"}",
        "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"B\",",
        "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":7}",
        "{\"AccessKeyId\":\"A\\r\\nX: y\",\"SecretAccessKey\":\"B\"}",
        "{\"AccessKeyId\":\"A\\u0000\",\"SecretAccessKey\":\"\"}",
        "{\"Code\":\"Failed\",\"Message\":\"no role\"}",
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        struct kymo_aws_credentials before = c;
        if (kymo_aws_answer_take(hostile[i], strlen(hostile[i]), &c) != KYMO_E_CORRUPT)
            fail_msg("%s is taken", hostile[i]);
        assert_memory_equal(&before, &c, sizeof c);
    }
    /* One that is too long for a header. */
    char *text = malloc(100000);
    assert_non_null(text);
    memset(text, 'a', 99999);
    memcpy(text, "{\"AccessKeyId\":\"", 16);
    strcpy(text + 90000, "\",\"SecretAccessKey\":\"B\"}");
    assert_int_equal(kymo_aws_answer_take(text, strlen(text), &c), KYMO_E_CORRUPT);
    free(text);
}

static void keys_are_asked_of_this_machine_alone(void **state)
{
    (void)state;
    static const char *const may[] = {"https://store.example/x",  "http://127.0.0.1:8/x",
                                      "http://localhost/x",       "http://[::1]:9/x",
                                      "http://169.254.170.2/v2",  "http://169.254.170.23/v1",
                                      "http://[fd00:ec2::23]/v1", "http://127.1.2.3/"};
    static const char *const may_not[] = {"http://store.example/x",     "http://127.0.0.1.example/",
                                          "http://169.254.170.2.x/",    "http://169.254.170.2@x/",
                                          "http://127.example.com/",    "ftp://localhost/",
                                          "http://localhost.example/x", "x"};
    for (size_t i = 0; i < sizeof may / sizeof *may; i++)
        if (!kymo_aws_may_ask(may[i]))
            fail_msg("%s may not be asked", may[i]);
    for (size_t i = 0; i < sizeof may_not / sizeof *may_not; i++)
        if (kymo_aws_may_ask(may_not[i]))
            fail_msg("%s may be asked", may_not[i]);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://store.example/SECRET", 1);
    fail_with("neither https nor of this machine");
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/SECRET", 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "missing", 1);
    fail_with("AUTHORIZATION_TOKEN_FILE cannot be read");
    unsetenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "a\r\nb", 1);
    fail_with("AUTHORIZATION_TOKEN is no token");
}

static void without_any_the_last_place_says_so(void **state)
{
    (void)state;
    fail_with("no credentials for AWS: AWS_EC2_METADATA_DISABLED is set");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_environment_comes_first, enter_alone, leave),
        cmocka_unit_test_setup_teardown(files_have_profiles, enter_alone, leave),
        cmocka_unit_test(a_service_answers_keys),
        cmocka_unit_test_setup_teardown(keys_are_asked_of_this_machine_alone, enter_alone, leave),
        cmocka_unit_test_setup_teardown(without_any_the_last_place_says_so, enter_alone, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
