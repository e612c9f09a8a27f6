/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_key.c - what a profile is called in a store, where that is, and what is said of it there.
 */
#include <string.h>
#include <time.h>

#include "agent/metadata.h"
#include "agent/url.h"
#include "base/json.h"
#include "remote/agent_id.h"
#include "remote/s3.h"

#define MS 1000000u

/* An underscore ends a part of the key, a slash a folder. */
static void put_id(kymo_str *key, const char *kind, const char *id)
{
    kymo_str_printf(key, "%s_", kind);
    for (; *id; id++)
        kymo_str_append(key, *id == '/' || *id == '_' ? "-" : id, 1);
    kymo_str_puts(key, "_");
}

static void put_machine(kymo_str *key, const struct kymo_agent_identity *who)
{
    const char *task = kymo_agent_knows(who, "aws.ecs.task.arn");
    const char *platform = kymo_agent_knows(who, "cloud.platform");
    const char *host = kymo_agent_knows(who, "host.id");
    if (task)
        put_id(key, "ecs", task);
    else if (host && platform && strcmp(platform, "aws_ec2") == 0)
        put_id(key, "ec2", host);
    else
        put_id(key, who->has_looked ? "onprem" : "unknown", "");
}

void kymo_s3_put_key(kymo_str *key, const struct kymo_s3_target *target,
                     const struct kymo_interval_profile *p)
{
    char group[sizeof target->group];
    char time_text[32];
    char id[KYMO_SHA256_HEX];
    const time_t seconds = (time_t)(p->end_ns / 1000000000u);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(time_text, sizeof time_text, "%Y-%m-%dT%H-%M-%SZ", &tm);
    /* A program's name may be any bytes, a key is UTF-8. */
    kymo_utf8_copy(group, sizeof group, p->who->program, strlen(p->who->program));
    kymo_str_printf(key, "%sprofile_%s_", target->prefix, target->group[0] ? target->group : group);
    put_machine(key, p->who);
    kymo_str_printf(key, "_%ld_%s-%llu-", (long)p->who->pid, time_text,
                    (unsigned long long)p->number);
    kymo_str_printf(key, "%.8s.zip", kymo_agent_id(p->who, id));
}

kymo_err kymo_s3_find_place(struct kymo_s3_place *place, const struct kymo_s3_target *target,
                            const char *endpoint, const char *region, const char *key,
                            kymo_error *detail)
{
    struct kymo_url url;
    kymo_str base = {0};
    int is_path = target->style == KYMO_S3_PATH;
    if (endpoint[0])
        kymo_str_puts(&base, endpoint);
    else
        kymo_str_printf(&base, "https://s3.%s.amazonaws.com%s", region,
                        kymo_str_starts(region, "cn-") ? ".cn" : "");
    if (target->style == KYMO_S3_AUTO)
        /* The certificate for *.s3.REGION.amazonaws.com is for names without dots. */
        is_path = endpoint[0] || strchr(target->bucket, '.') != NULL;
    kymo_err err = kymo_url_parse(kymo_str_cstr(&base), &url, detail);
    if (err == KYMO_OK) {
        size_t folder_len = url.path.len;
        while (folder_len > 0 && url.path.data[folder_len - 1] == '/')
            folder_len--;
        kymo_str_printf(&place->host, "%s%s%.*s", is_path ? "" : target->bucket, is_path ? "" : ".",
                        (int)url.authority.len, url.authority.data);
        kymo_str_append(&place->path, url.path.data, folder_len);
        if (is_path)
            kymo_str_printf(&place->path, "/%s", target->bucket);
        kymo_str_puts(&place->path, "/");
        kymo_url_encode(&place->path, key, strlen(key), "/");
        kymo_str_printf(&place->url, "%s://%s%s", url.is_https ? "https" : "http",
                        kymo_str_cstr(&place->host), kymo_str_cstr(&place->path));
        if (base.failed || place->host.failed || place->path.failed || place->url.failed)
            err = KYMO_E_NOMEM;
    }
    kymo_str_deinit(&base);
    return err;
}

void kymo_s3_place_deinit(struct kymo_s3_place *place)
{
    kymo_str_deinit(&place->url);
    kymo_str_deinit(&place->host);
    kymo_str_deinit(&place->path);
    memset(place, 0, sizeof *place);
}

static void put_text(kymo_json *j, const char *name, const char *value)
{
    char text[512];
    kymo_utf8_copy(text, sizeof text, value, strlen(value));
    kymo_json_key_cstr(j, name, text);
}

/* The first three are those of the Rust agent, in its order. */
kymo_err kymo_s3_write_metadata(const struct kymo_interval_profile *p, kymo_sink *to)
{
    static kymo_json json;
    kymo_json *j = &json;
    kymo_json_init(j, to);
    kymo_json_begin_object(j);
    kymo_json_key_u64(j, "start", p->start_ns / MS);
    kymo_json_key_u64(j, "end", p->end_ns / MS);
    kymo_json_key_u64(j, "reporting_interval", p->interval_ns / MS);
    kymo_json_key_u64(j, "number", p->number);
    put_text(j, "program", p->who->program);
    put_text(j, "host", p->who->host);
    kymo_json_key_i64(j, "pid", p->who->pid);
    kymo_json_key_u64(j, "program_start", p->who->start_realtime_ns / MS);
    kymo_json_key_cstr(j, "format", p->extension + 1);
    kymo_json_key_cstr(j, "kymo_version", KYMO_VERSION);
    kymo_json_key_object(j, "metadata");
    for (uint32_t i = 0; p->who->metadata && i < p->who->metadata->n; i++) {
        kymo_json_cstr(j, p->who->metadata->items[i].name);
        kymo_json_string_was_key(j);
        kymo_json_cstr(j, p->who->metadata->items[i].value);
    }
    kymo_json_end_object(j);
    kymo_json_end_object(j);
    return kymo_json_finish(j);
}
