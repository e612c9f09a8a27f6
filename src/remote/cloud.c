/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/cloud.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/imds.h"
#include "remote/json_text.h"

struct member {
    const char *key;
    const char *name;
};

/* Takes the members of an object that are texts; others are skipped, but for `limits`. */
static kymo_err take_members(kymo_json_read *j, const struct member *members, size_t count,
                             void (*limits)(kymo_json_read *, struct kymo_metadata *),
                             struct kymo_metadata *m)
{
    kymo_json_text key;
    char text[KYMO_METADATA_VALUE_MAX * 2];
    if (!kymo_json_enter(j, '{'))
        return KYMO_E_CORRUPT;
    while (kymo_json_next_member(j, &key)) {
        size_t i = 0;
        while (i < count && !kymo_json_is_text(&key, members[i].key))
            i++;
        if (limits && kymo_json_is_text(&key, "Limits")) {
            limits(j, m);
        } else if (i == count) {
            kymo_json_skip(j);
        } else {
            kymo_json_take_text(j, text, sizeof text);
            if (!j->failed)
                kymo_metadata_offer(m, members[i].name, text);
        }
    }
    return j->failed ? KYMO_E_CORRUPT : KYMO_OK;
}

/* Adds what was taken, if it names what it is of. */
static kymo_err accept(const struct kymo_metadata *taken, const char *name, const char *platform,
                       struct kymo_metadata *m)
{
    if (!kymo_metadata_get(taken, name))
        return KYMO_E_CORRUPT;
    kymo_metadata_add(m, taken);
    kymo_metadata_offer(m, "cloud.provider", "aws");
    kymo_metadata_offer(m, "cloud.platform", platform);
    return KYMO_OK;
}

kymo_err kymo_cloud_take_instance(const char *json, size_t len, struct kymo_metadata *m)
{
    static const struct member members[] = {
        {"accountId", "cloud.account.id"}, {"region", "cloud.region"},
        {"instanceId", "host.id"},         {"instanceType", "host.type"},
        {"imageId", "host.image.id"},      {"availabilityZone", "cloud.availability_zone"},
    };
    static struct kymo_metadata taken;
    kymo_json_read j = kymo_json_read_at(json, len, 0);
    memset(&taken, 0, sizeof taken);
    KYMO_TRY(take_members(&j, members, sizeof members / sizeof *members, NULL, &taken));
    return accept(&taken, "host.id", "aws_ec2", m);
}

/* CPUs (a number such as 0.25) and MiB; both are optional. */
static void take_limits(kymo_json_read *j, struct kymo_metadata *m)
{
    kymo_json_text key;
    char text[32];
    if (kymo_json_peek(j) != '{') {
        kymo_json_skip(j);
        return;
    }
    (void)kymo_json_enter(j, '{');
    while (kymo_json_next_member(j, &key)) {
        const char first = kymo_json_peek(j);
        const int is_cpu = kymo_json_is_text(&key, "CPU");
        if ((!is_cpu && !kymo_json_is_text(&key, "Memory")) || first < '0' || first > '9') {
            kymo_json_skip(j);
            continue;
        }
        const long long thousandths = (long long)kymo_json_read_scaled(j, 3);
        snprintf(text, sizeof text, "%lld.%03lld", thousandths / 1000, thousandths % 1000);
        size_t end = strlen(text);
        while (text[end - 1] == '0')
            end--;
        text[text[end - 1] == '.' ? end - 1 : end] = '\0';
        if (!j->failed)
            kymo_metadata_offer(m, is_cpu ? "aws.ecs.limits.cpu" : "aws.ecs.limits.memory_mib",
                                text);
    }
}

/* arn:PARTITION:ecs:REGION:ACCOUNT:... */
static void take_arn(const char *arn, struct kymo_metadata *m)
{
    static const char *const names[] = {NULL, NULL, NULL, "cloud.region", "cloud.account.id"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char part[64];
        const size_t len = strcspn(arn, ":");
        if (arn[len] != ':')
            return;
        if (names[i] && len < sizeof part) {
            memcpy(part, arn, len);
            part[len] = '\0';
            kymo_metadata_offer(m, names[i], part);
        }
        arn += len + 1;
    }
}

kymo_err kymo_cloud_take_task(const char *json, size_t len, struct kymo_metadata *m)
{
    static const struct member members[] = {
        {"Cluster", "aws.ecs.cluster.arn"},   {"TaskARN", "aws.ecs.task.arn"},
        {"Family", "aws.ecs.task.family"},    {"Revision", "aws.ecs.task.revision"},
        {"LaunchType", "aws.ecs.launchtype"}, {"AvailabilityZone", "cloud.availability_zone"},
    };
    static struct kymo_metadata taken;
    kymo_json_read j = kymo_json_read_at(json, len, 0);
    memset(&taken, 0, sizeof taken);
    KYMO_TRY(take_members(&j, members, sizeof members / sizeof *members, take_limits, &taken));
    const char *arn = kymo_metadata_get(&taken, "aws.ecs.task.arn");
    if (arn)
        take_arn(arn, &taken);
    return accept(&taken, "aws.ecs.task.arn", "aws_ecs", m);
}

static kymo_err find_task(const char *base, struct kymo_metadata *m, kymo_error *detail)
{
    static struct kymo_http_answer answer;
    char url[1024];
    int n = snprintf(url, sizeof url, "%s/task", base);
    if (n < 0 || (size_t)n >= sizeof url)
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                              "ECS_CONTAINER_METADATA_URI_V4 is too long");
    KYMO_TRY(kymo_machine_get(url, NULL, &answer, detail));
    return kymo_cloud_take_task(answer.text, answer.len, m);
}

static kymo_err find_instance(struct kymo_metadata *m, kymo_error *detail)
{
    static struct kymo_http_answer answer;
    struct kymo_imds imds;
    KYMO_TRY(kymo_imds_open(&imds, detail));
    KYMO_TRY(kymo_imds_get(&imds, "/latest/dynamic/instance-identity/document", &answer, detail));
    return kymo_cloud_take_instance(answer.text, answer.len, m);
}

kymo_err kymo_cloud_find(struct kymo_metadata *m, kymo_error *detail)
{
    const char *ecs = getenv("ECS_CONTAINER_METADATA_URI_V4");
    if (ecs && ecs[0] && find_task(ecs, m, detail) == KYMO_OK)
        return KYMO_OK;
    return find_instance(m, detail) == KYMO_OK ? KYMO_OK : KYMO_E_NOT_FOUND;
}
