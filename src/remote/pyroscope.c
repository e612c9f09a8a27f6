/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/pyroscope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/metadata.h"
#include "agent/url.h"
#include "base/proto.h"
#include "remote/agent_id.h"
#include "remote/json_text.h"
#include "remote/request.h"

/* Fields of push.v1 and types.v1. */
enum {
    REQUEST_SERIES = 1,
    SERIES_LABEL = 1,
    SERIES_SAMPLE = 2,
    SAMPLE_PROFILE = 1,
    SAMPLE_ID = 2,
    LABEL_NAME = 1,
    LABEL_VALUE = 2,
};

#define BOUNDARY_MAX 48u

/* ---- labels ---- */

struct label {
    char name[KYMO_METADATA_NAME_MAX + 1];
    const char *value;
};

struct labels {
    struct label items[KYMO_PYROSCOPE_LABELS];
    uint32_t n;
};

/* Names that differ only in what a label cannot have are one: the first one counts. */
static void add(struct labels *l, const char *name, const char *value)
{
    struct label label = {.value = value};
    size_t n = 0;
    if (name[0] >= '0' && name[0] <= '9')
        label.name[n++] = '_';
    for (; *name && n + 1 < sizeof label.name; name++)
        label.name[n++] = strchr(".-/", *name) ? '_' : *name;
    for (uint32_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i].name, label.name) == 0)
            return;
    if (l->n < KYMO_PYROSCOPE_LABELS && value[0])
        l->items[l->n++] = label;
}

/* Of all that the server is told these come first: what is beyond its limit is left out. */
static void find_labels(struct labels *l, const struct kymo_agent_identity *who)
{
    const struct kymo_metadata *m = who->metadata;
    add(l, "service_name", kymo_agent_service(who));
    add(l, "pyroscope_spy", "kymo");
    add(l, "process_executable_name", who->program);
    add(l, "host_name", who->host);
    for (uint32_t i = 0; m && i < m->n; i++)
        /* Names that begin so are the server's own. */
        if (!kymo_str_starts(m->items[i].name, "__"))
            add(l, m->items[i].name, m->items[i].value);
}

static const char *series_name(enum kymo_part part)
{
    return part == KYMO_PART_WALL ? "wall" : part == KYMO_PART_HEAP ? "memory" : "process_cpu";
}

/* ---- push.v1 ---- */

static void put_label(kymo_proto *series, kymo_proto *scratch, const char *name, const char *value)
{
    char text[KYMO_METADATA_VALUE_MAX];
    const size_t len = kymo_utf8_copy(text, sizeof text, value, strlen(value));
    kymo_proto_clear(scratch);
    kymo_proto_bytes(scratch, LABEL_NAME, name, strlen(name));
    kymo_proto_bytes(scratch, LABEL_VALUE, text, len);
    kymo_proto_message(series, SERIES_LABEL, scratch);
}

/* A session is one run of one program: the server keeps apart what would be of one series. Values
 * are those of the interval, from which the server must not take off those of the last one. */
static void put_labels(kymo_proto *series, kymo_proto *scratch,
                       const struct kymo_interval_profile *p)
{
    struct labels labels = {.n = 0};
    char id[KYMO_SHA256_HEX];
    (void)kymo_agent_id(p->who, id);
    id[16] = '\0';
    labels.items[labels.n++] = (struct label){"__name__", series_name(p->part)};
    labels.items[labels.n++] = (struct label){"__session_id__", id};
    labels.items[labels.n++] = (struct label){"__delta__", "false"};
    find_labels(&labels, p->who);
    for (uint32_t i = 0; i < labels.n; i++)
        put_label(series, scratch, labels.items[i].name, labels.items[i].value);
}

/* A UUID of version 8, whose bits are the sender's. */
static size_t put_id(char out[40], const struct kymo_interval_profile *p)
{
    unsigned char d[KYMO_SHA256_BYTES];
    kymo_profile_digest(p, d);
    d[6] = (unsigned char)(0x80 | (d[6] & 0x0f));
    d[8] = (unsigned char)(0x80 | (d[8] & 0x3f));
    return (size_t)snprintf(
        out, 40, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", d[0], d[1],
        d[2], d[3], d[4], d[5], d[6], d[7], d[8], d[9], d[10], d[11], d[12], d[13], d[14], d[15]);
}

static kymo_err take_bytes(kymo_bytes *body, const kymo_proto *message, kymo_error *detail)
{
    kymo_err err =
        message->failed ? KYMO_E_NOMEM : kymo_bytes_append(body, message->data, message->len);
    return err == KYMO_OK ? KYMO_OK
                          : kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for a request");
}

/* The profile comes last in all that it is in, so what is before it is written alone. */
kymo_err kymo_pyroscope_put_push(kymo_bytes *body, const struct kymo_interval_profile *p,
                                 kymo_error *detail)
{
    kymo_proto head = {0};
    kymo_proto series = {0};
    kymo_proto sample = {0};
    char id[40];
    kymo_proto_bytes(&sample, SAMPLE_ID, id, put_id(id, p));
    kymo_proto_varint(&sample, SAMPLE_PROFILE << 3 | 2);
    kymo_proto_varint(&sample, p->bytes);
    put_labels(&series, &head, p);
    kymo_proto_varint(&series, SERIES_SAMPLE << 3 | 2);
    kymo_proto_varint(&series, sample.len + p->bytes);
    kymo_proto_raw(&series, &sample);
    kymo_proto_clear(&head);
    kymo_proto_varint(&head, REQUEST_SERIES << 3 | 2);
    kymo_proto_varint(&head, series.len + p->bytes);
    kymo_proto_raw(&head, &series);
    head.failed |= series.failed | sample.failed;
    kymo_err err = take_bytes(body, &head, detail);
    kymo_proto_deinit(&head);
    kymo_proto_deinit(&series);
    kymo_proto_deinit(&sample);
    return err == KYMO_OK ? kymo_request_take_file(body, p, 0, detail) : err;
}

/* ---- /ingest ---- */

/* Without what separates tags, and in the name without what it may not have. */
static void put_tag(kymo_str *query, const char *text, const char *also_taken)
{
    char clean[KYMO_METADATA_VALUE_MAX];
    size_t len = kymo_utf8_copy(clean, sizeof clean, text, strlen(text));
    for (size_t i = 0; i < len; i++)
        if (strchr("{},=\"", clean[i]) || (also_taken && !strchr(also_taken, clean[i])))
            clean[i] = '_';
    kymo_url_encode(query, clean, len, "");
}

void kymo_pyroscope_put_query(kymo_str *query, const struct kymo_interval_profile *p)
{
    static const char of_names[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    struct labels labels = {.n = 0};
    const char *separator = "%7B";
    find_labels(&labels, p->who);
    kymo_str_puts(query, "name=");
    put_tag(query, kymo_agent_service(p->who), of_names);
    /* The first one is the name. */
    for (uint32_t i = 1; i < labels.n; i++, separator = "%2C") {
        kymo_str_printf(query, "%s%s%%3D", separator, labels.items[i].name);
        put_tag(query, labels.items[i].value, NULL);
    }
    kymo_str_printf(query, "%%7D&from=%llu&until=%llu&format=pprof&spyName=kymo",
                    (unsigned long long)p->start_ns, (unsigned long long)p->end_ns);
}

kymo_err kymo_pyroscope_put_form(kymo_bytes *body, const char *boundary,
                                 const struct kymo_interval_profile *p, kymo_error *detail)
{
    kymo_str text = {0};
    kymo_str_printf(
        &text,
        "--%s\r\n"
        "Content-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n"
        "Content-Type: application/octet-stream\r\n\r\n",
        boundary);
    const size_t head = text.len;
    kymo_str_printf(&text, "\r\n--%s--\r\n", boundary);
    kymo_err err = text.failed ? KYMO_E_NOMEM : kymo_bytes_append(body, kymo_str_cstr(&text), head);
    if (err == KYMO_OK)
        err = kymo_request_take_file(body, p, 0, detail);
    if (err == KYMO_OK)
        err = kymo_bytes_append(body, kymo_str_cstr(&text) + head, text.len - head);
    kymo_str_deinit(&text);
    return err == KYMO_E_NOMEM ? kymo_error_set(detail, err, 0, "no memory for a request") : err;
}

/* ---- answers ---- */

void kymo_pyroscope_explain(const char *answer, size_t len, kymo_str *text)
{
    kymo_json_read j = kymo_json_read_at(answer, len, 0);
    kymo_json_text key;
    char message[1024] = "";
    if (kymo_json_enter(&j, '{'))
        while (kymo_json_next_member(&j, &key)) {
            if (kymo_json_is_text(&key, "message"))
                kymo_json_take_text(&j, message, sizeof message);
            else
                kymo_json_skip(&j);
        }
    if (message[0])
        kymo_request_put_text(text, message, strlen(message));
    else
        kymo_request_put_text(text, answer, len);
}

static void explain(const struct kymo_http_answer *answer, kymo_str *text)
{
    kymo_pyroscope_explain(answer->text, answer->len, text);
}

static kymo_err send(struct kymo_request *r, const struct kymo_http_target *target,
                     const kymo_bytes *body, kymo_error *detail)
{
    static struct kymo_http_answer answer;
    r->explain = explain;
    return kymo_request_post(r, target, body, &answer, detail);
}

kymo_err kymo_pyroscope_push(const struct kymo_reporter *reporter,
                             const struct kymo_interval_profile *p, kymo_error *detail)
{
    static struct kymo_request r;
    struct kymo_http_target target;
    kymo_bytes body;
    KYMO_TRY(kymo_http_target_parse(reporter->kind->prefix, reporter->target, &target, detail));
    kymo_bytes_init(&body, SIZE_MAX);
    memset(&r, 0, sizeof r);
    kymo_str_printf(&r.url, "%s/push.v1.PusherService/Push", target.url);
    kymo_str_puts(kymo_request_header(&r, "Content-Type"), "application/proto");
    kymo_str_puts(kymo_request_header(&r, "Connect-Protocol-Version"), "1");
    kymo_err err = kymo_pyroscope_put_push(&body, p, detail);
    if (err == KYMO_OK)
        err = send(&r, &target, &body, detail);
    kymo_bytes_deinit(&body);
    kymo_request_deinit(&r);
    return err;
}

kymo_err kymo_pyroscope_ingest(const struct kymo_reporter *reporter,
                               const struct kymo_interval_profile *p, kymo_error *detail)
{
    static struct kymo_request r;
    struct kymo_http_target target;
    unsigned char digest[KYMO_SHA256_BYTES];
    char boundary[KYMO_SHA256_HEX];
    kymo_bytes body;
    KYMO_TRY(kymo_http_target_parse(reporter->kind->prefix, reporter->target, &target, detail));
    kymo_bytes_init(&body, SIZE_MAX);
    memset(&r, 0, sizeof r);
    /* What no profile has in it but by a chance of 2 to the power of -192. */
    kymo_profile_digest(p, digest);
    (void)kymo_sha256_hex(digest, boundary);
    boundary[BOUNDARY_MAX] = '\0';
    kymo_str_printf(&r.url, "%s/ingest?", target.url);
    kymo_pyroscope_put_query(&r.url, p);
    kymo_str_printf(kymo_request_header(&r, "Content-Type"), "multipart/form-data; boundary=%s",
                    boundary);
    kymo_err err = kymo_pyroscope_put_form(&body, boundary, p, detail);
    if (err == KYMO_OK)
        err = send(&r, &target, &body, detail);
    kymo_bytes_deinit(&body);
    kymo_request_deinit(&r);
    return err;
}
