/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/otlp_send.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "agent/metadata.h"
#include "base/log.h"
#include "base/proto.h"
#include "base/wire.h"
#include "remote/agent_id.h"
#include "remote/request.h"
#include "sys/write_all.h"

#define PATH "/v1development/profiles"

enum {
    REQUEST_RESOURCE_PROFILES = 1,
    RESOURCE_PROFILES_RESOURCE = 1,
    RESOURCE_ATTRIBUTE = 1,
    ATTRIBUTE_KEY = 1,
    ATTRIBUTE_VALUE = 2,
    VALUE_TEXT = 1,
    VALUE_NUMBER = 3,
    RESPONSE_PARTIAL_SUCCESS = 1,
    PARTIAL_REJECTED = 1,
    PARTIAL_MESSAGE = 2,
    STATUS_MESSAGE = 2,
};

/* ---- the resource ---- */

static void put_attribute(kymo_proto *resource, const char *key, const kymo_proto *value)
{
    kymo_proto attribute = {0};
    kymo_proto_bytes(&attribute, ATTRIBUTE_KEY, key, strlen(key));
    kymo_proto_message(&attribute, ATTRIBUTE_VALUE, value);
    kymo_proto_message(resource, RESOURCE_ATTRIBUTE, &attribute);
    kymo_proto_deinit(&attribute);
}

static void put_text(kymo_proto *resource, const char *key, const char *text)
{
    char clean[KYMO_METADATA_VALUE_MAX];
    const size_t len = kymo_utf8_copy(clean, sizeof clean, text, strlen(text));
    kymo_proto value = {0};
    kymo_proto_bytes(&value, VALUE_TEXT, clean, len);
    put_attribute(resource, key, &value);
    kymo_proto_deinit(&value);
}

static void put_pid(kymo_proto *resource, pid_t pid)
{
    kymo_proto value = {0};
    kymo_proto_member(&value, VALUE_NUMBER, (uint64_t)(int64_t)pid);
    put_attribute(resource, "process.pid", &value);
    kymo_proto_deinit(&value);
}

/* What is known stands once: metadata, and in its absence what the agent knows of itself. */
static void put_resource(kymo_proto *resource, const struct kymo_agent_identity *who)
{
    const struct kymo_metadata *m = who->metadata;
    if (!kymo_agent_knows(who, "service.name"))
        put_text(resource, "service.name", who->program);
    if (!kymo_agent_knows(who, "process.executable.name"))
        put_text(resource, "process.executable.name", who->program);
    if (!kymo_agent_knows(who, "host.name"))
        put_text(resource, "host.name", who->host);
    if (!kymo_agent_knows(who, "os.type"))
        put_text(resource, "os.type", "linux");
    if (!kymo_agent_knows(who, "process.pid"))
        put_pid(resource, who->pid);
    for (uint32_t i = 0; m && i < m->n; i++)
        put_text(resource, m->items[i].name, m->items[i].value);
}

/* Takes the key and the length of a field of bytes; 0: it is another. */
static int take_head(kymo_reader *r, uint64_t field, uint64_t *len)
{
    const uint64_t key = kymo_read_uleb(r);
    *len = kymo_read_uleb(r);
    return !r->failed && key == (field << 3 | KYMO_WIRE_BYTES);
}

/* Where the file's resource begins and ends, and the length of the message that it is in. */
static kymo_err find_resource(const struct kymo_interval_profile *p, uint64_t *outer_len,
                              uint64_t *at, uint64_t *end, kymo_error *detail)
{
    unsigned char head[32] = {0};
    const size_t n = p->bytes < sizeof head ? (size_t)p->bytes : sizeof head;
    uint64_t len;
    kymo_reader r = kymo_reader_of(head, n);
    if (kymo_read_all(p->fd, head, n, 0) != n)
        return kymo_error_set(detail, KYMO_E_IO, 0, "the profile cannot be read");
    if (!take_head(&r, REQUEST_RESOURCE_PROFILES, outer_len))
        goto broken;
    *at = (uint64_t)(r.at - head);
    if (*outer_len > p->bytes - *at || !take_head(&r, RESOURCE_PROFILES_RESOURCE, &len))
        goto broken;
    *end = (uint64_t)(r.at - head);
    if (len > *outer_len || *end + len > *at + *outer_len)
        goto broken;
    *end += len;
    return KYMO_OK;
broken:
    return kymo_error_set(detail, KYMO_E_CORRUPT, 0, "the profile is no file of OTLP");
}

kymo_err kymo_otlp_put_request(kymo_bytes *body, const struct kymo_interval_profile *p,
                               kymo_error *detail)
{
    kymo_proto head = {0};
    kymo_proto field = {0};
    kymo_proto resource = {0};
    uint64_t outer_len = 0;
    uint64_t at = 0;
    uint64_t end = 0;
    KYMO_TRY(find_resource(p, &outer_len, &at, &end, detail));
    put_resource(&resource, p->who);
    kymo_proto_message(&field, RESOURCE_PROFILES_RESOURCE, &resource);
    kymo_proto_varint(&head, REQUEST_RESOURCE_PROFILES << 3 | KYMO_WIRE_BYTES);
    kymo_proto_varint(&head, field.len + outer_len - (end - at));
    kymo_proto_raw(&head, &field);
    kymo_err err =
        head.failed || field.failed ? KYMO_E_NOMEM : kymo_bytes_append(body, head.data, head.len);
    if (err != KYMO_OK)
        kymo_error_set(detail, err, 0, "no memory for a request");
    kymo_proto_deinit(&head);
    kymo_proto_deinit(&field);
    kymo_proto_deinit(&resource);
    return err == KYMO_OK ? kymo_request_take_file(body, p, end, detail) : err;
}

/* ---- answers ---- */

static void put_bytes(kymo_str *text, const kymo_reader *bytes)
{
    kymo_request_put_text(text, (const char *)bytes->at, (size_t)(bytes->end - bytes->at));
}

int64_t kymo_otlp_take_answer(const void *answer, size_t len, kymo_str *text)
{
    kymo_reader r = kymo_reader_of(answer, len);
    kymo_wire_field field;
    int64_t rejected = 0;
    while (kymo_wire_next(&r, &field)) {
        kymo_wire_field inner;
        if (field.number != RESPONSE_PARTIAL_SUCCESS || field.type != KYMO_WIRE_BYTES)
            continue;
        while (kymo_wire_next(&field.bytes, &inner)) {
            if (inner.number == PARTIAL_REJECTED && inner.type == KYMO_WIRE_VARINT)
                rejected = (int64_t)inner.value;
            else if (inner.number == PARTIAL_MESSAGE && inner.type == KYMO_WIRE_BYTES)
                put_bytes(text, &inner.bytes);
        }
    }
    return rejected;
}

void kymo_otlp_take_status(const void *answer, size_t len, kymo_str *text)
{
    kymo_reader r = kymo_reader_of(answer, len);
    kymo_wire_field field;
    while (kymo_wire_next(&r, &field))
        if (field.number == STATUS_MESSAGE && field.type == KYMO_WIRE_BYTES)
            put_bytes(text, &field.bytes);
}

/* A proxy may answer with a text; no Status begins as one. */
static void explain(const struct kymo_http_answer *answer, kymo_str *text)
{
    if (answer->len > 0 && (answer->text[0] == 0x08 || answer->text[0] == 0x12))
        kymo_otlp_take_status(answer->text, answer->len, text);
    else
        kymo_request_put_text(text, answer->text, answer->len);
}

static kymo_err judge(const struct kymo_http_answer *answer, kymo_error *detail)
{
    kymo_str text = {0};
    kymo_err err = KYMO_OK;
    const int64_t rejected = kymo_otlp_take_answer(answer->text, answer->len, &text);
    if (rejected > 0)
        err = kymo_error_set(detail, KYMO_E_INVALID, 0, "the server rejects %lld profiles%s%s",
                             (long long)rejected, text.len > 0 ? ": " : "", kymo_str_cstr(&text));
    else if (text.len > 0)
        kymo_warn("the server of OTLP says: %s", kymo_str_cstr(&text));
    kymo_str_deinit(&text);
    return err;
}

/* ---- the whole ---- */

/* In place of the body. */
static kymo_err compress_body(kymo_bytes *body, kymo_error *detail)
{
    z_stream z = {.next_in = body->data, .avail_in = (uInt)body->len};
    int is_begun = body->len <= UINT32_MAX &&
                   deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    const uLong most = is_begun ? deflateBound(&z, (uLong)body->len) : 0;
    unsigned char *out = most > 0 && most <= UINT32_MAX ? malloc(most) : NULL;
    z.next_out = out;
    z.avail_out = (uInt)most;
    const int is_done = out && deflate(&z, Z_FINISH) == Z_STREAM_END;
    if (is_begun)
        (void)deflateEnd(&z);
    if (!is_done) {
        free(out);
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for a request");
    }
    free(body->data);
    body->data = out;
    body->len = most - z.avail_out;
    body->cap = most;
    return KYMO_OK;
}

static int has_path(const char *url)
{
    return kymo_str_ends(url, PATH);
}

static kymo_err send(struct kymo_request *r, const struct kymo_http_target *target,
                     kymo_bytes *body, kymo_error *detail)
{
    static struct kymo_http_answer answer;
    KYMO_TRY(compress_body(body, detail));
    r->explain = explain;
    kymo_str_printf(&r->url, "%s%s", target->url, has_path(target->url) ? "" : PATH);
    kymo_str_puts(kymo_request_header(r, "Content-Type"), "application/x-protobuf");
    kymo_str_puts(kymo_request_header(r, "Content-Encoding"), "gzip");
    KYMO_TRY(kymo_request_post(r, target, body, &answer, detail));
    return judge(&answer, detail);
}

kymo_err kymo_otlp_report(const struct kymo_reporter *reporter,
                          const struct kymo_interval_profile *p, kymo_error *detail)
{
    static struct kymo_request r;
    struct kymo_http_target target;
    kymo_bytes body;
    KYMO_TRY(kymo_http_target_parse(reporter->kind->prefix, reporter->target, &target, detail));
    kymo_bytes_init(&body, SIZE_MAX);
    memset(&r, 0, sizeof r);
    kymo_err err = kymo_otlp_put_request(&body, p, detail);
    if (err == KYMO_OK)
        err = send(&r, &target, &body, detail);
    kymo_bytes_deinit(&body);
    kymo_request_deinit(&r);
    return err;
}
