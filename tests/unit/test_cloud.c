/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/cloud.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static struct kymo_metadata m;

static void is(const char *name, const char *value)
{
    const char *found = kymo_metadata_get(&m, name);
    if (!found || strcmp(found, value) != 0)
        fail_msg("%s is %s, not %s", name, found ? found : "missing", value);
}

/* Shapes of the documentation of EC2 and ECS. */
static void an_instance_says_what_it_is(void **state)
{
    (void)state;
    static const char json[] =
        "{\n  \"accountId\" : \"123456789012\",\n  \"architecture\" : \"x86_64\",\n"
        "  \"availabilityZone\" : \"eu-west-1b\",\n  \"billingProducts\" : null,\n"
        "  \"imageId\" : \"ami-052d4b310b0a459ff\",\n  \"instanceId\" : \"i-092eba08c089f6325\",\n"
        "  \"instanceType\" : \"c5.4xlarge\",\n  \"region\" : \"eu-west-1\",\n"
        "  \"version\" : \"2017-09-30\"\n}";
    memset(&m, 0, sizeof m);
    OK(kymo_cloud_take_instance(json, strlen(json), &m));
    is("cloud.account.id", "123456789012");
    is("cloud.region", "eu-west-1");
    is("cloud.availability_zone", "eu-west-1b");
    is("cloud.provider", "aws");
    is("cloud.platform", "aws_ec2");
    is("host.id", "i-092eba08c089f6325");
    is("host.type", "c5.4xlarge");
    is("host.image.id", "ami-052d4b310b0a459ff");
    assert_int_equal(m.n, 8);
}

static void a_task_says_what_it_is(void **state)
{
    (void)state;
    static const char json[] =
        "{\"Cluster\":\"arn:aws:ecs:us-west-2:123456789012:cluster/default\","
        "\"TaskARN\":\"arn:aws:ecs:us-west-2:123456789012:task/default/158d1c80\","
        "\"Family\":\"curltest\",\"Revision\":\"26\",\"Limits\":{\"CPU\":0.25,\"Memory\":512},"
        "\"LaunchType\":\"FARGATE\",\"AvailabilityZone\":\"us-west-2a\","
        "\"Containers\":[{\"DockerId\":\"abc-1\",\"Limits\":{\"CPU\":7}}]}";
    memset(&m, 0, sizeof m);
    OK(kymo_cloud_take_task(json, strlen(json), &m));
    is("aws.ecs.cluster.arn", "arn:aws:ecs:us-west-2:123456789012:cluster/default");
    is("aws.ecs.task.arn", "arn:aws:ecs:us-west-2:123456789012:task/default/158d1c80");
    is("aws.ecs.task.family", "curltest");
    is("aws.ecs.launchtype", "FARGATE");
    is("aws.ecs.limits.cpu", "0.25");
    is("aws.ecs.limits.memory_mib", "512");
    is("cloud.region", "us-west-2");
    is("cloud.account.id", "123456789012");
    is("cloud.platform", "aws_ecs");
    static const char bare[] = "{\"TaskARN\":\"arn:aws:ecs:r:1:task/x\",\"Limits\":null}";
    memset(&m, 0, sizeof m);
    OK(kymo_cloud_take_task(bare, strlen(bare), &m));
    assert_null(kymo_metadata_get(&m, "aws.ecs.limits.cpu"));
}

static void hostile_answers_say_nothing(void **state)
{
    (void)state;
    static const char *const hostile[] = {
        "",
        "null",
        "\"instanceId\"",
        "[{\"instanceId\":\"i-0\"}]",
        "<html><body>captive portal</body></html>",
        "{\"instanceId\":\"i-0\",\"TaskARN\":\"x\"",
        "{\"instanceId\":\"i-0\",\"TaskARN\":\"x\",}",
        "{\"instanceId\":7,\"TaskARN\":{}}",
        "{\"instanceId\":\"\",\"TaskARN\":\"\"}",
        "{\"region\":\"eu-west-1\",\"Cluster\":\"c\"}",
        "{\"Limits\":{\"CPU\":1",
    };
    memset(&m, 0, sizeof m);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        const size_t len = strlen(hostile[i]);
        if (kymo_cloud_take_instance(hostile[i], len, &m) != KYMO_E_CORRUPT ||
            kymo_cloud_take_task(hostile[i], len, &m) != KYMO_E_CORRUPT)
            fail_msg("%s is taken", hostile[i]);
        assert_int_equal(m.n, 0);
    }
    /* Ten thousand members, of which none is known, and values that are too long. */
    char *text = malloc(400000);
    size_t len = 0;
    assert_non_null(text);
    text[len++] = '{';
    for (unsigned i = 0; i < 10000; i++)
        len += (size_t)sprintf(text + len, "\"k%u\":[[\"\\u0041\"]],", i);
    len += (size_t)sprintf(text + len, "\"instanceId\":\"i-0\",\"region\":\"");
    memset(text + len, 'r', 5000);
    len += 5000;
    len += (size_t)sprintf(text + len, "\",\"instanceType\":\"a\\u0000b\\r\\n\\u001b[0m\"}");
    OK(kymo_cloud_take_instance(text, len, &m));
    assert_null(kymo_metadata_get(&m, "cloud.region"));
    is("host.type", "a");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instance_says_what_it_is),
        cmocka_unit_test(a_task_says_what_it_is),
        cmocka_unit_test(hostile_answers_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
