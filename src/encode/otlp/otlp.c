/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp.c - OpenTelemetry's profiles; see otlp.h for the version.
 *
 * There is one Profile for each value that a pprof file of the same profile has, since a Profile of
 * this format has one sample type: CPU time, its samples, wall time, and, of a profile with
 * allocations, the four of the heap. Those without samples are left out. The first one is what
 * viewers show.
 */
#include "encode/otlp/otlp.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* ---- resource and scope ---- */

static void put_value(kymo_otlp *w, kymo_proto *resource, const char *key)
{
    kymo_proto_clear(&w->inner);
    kymo_proto_bytes(&w->inner, KYMO_OTLP_KEY_VALUE_KEY, key, strlen(key));
    kymo_proto_message(&w->inner, KYMO_OTLP_KEY_VALUE_VALUE, &w->values);
    kymo_proto_message(resource, KYMO_OTLP_RESOURCE_ATTRIBUTE, &w->inner);
}

static void put_text(kymo_otlp *w, kymo_proto *resource, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    kymo_proto_clear(&w->values);
    kymo_proto_bytes(&w->values, KYMO_OTLP_ANY_STRING, value, strlen(value));
    put_value(w, resource, key);
}

static const char *program_of(const kymo_meta *meta)
{
    if (meta->product)
        return meta->product;
    return meta->argc > 0 ? kymo_path_base(meta->argv[0]) : NULL;
}

static void put_pid(kymo_otlp *w, kymo_proto *resource)
{
    for (uint32_t i = 0; i < w->p->processes.len; i++)
        if (w->p->processes.data[i].is_main) {
            kymo_proto_clear(&w->values);
            kymo_proto_member(&w->values, KYMO_OTLP_ANY_INT,
                              (uint64_t)(int64_t)w->p->processes.data[i].pid);
            put_value(w, resource, "process.pid");
        }
}

static void put_resource(kymo_otlp *w, kymo_proto *resource)
{
    const kymo_meta *meta = &w->p->meta;
    put_text(w, resource, "service.name", program_of(meta));
    put_text(w, resource, "process.executable.name", program_of(meta));
    put_pid(w, resource);
    put_text(w, resource, "host.name", meta->hostname);
    put_text(w, resource, "os.type", "linux");
    put_text(w, resource, "os.description", meta->os);
}

static void put_scope(kymo_otlp *w, kymo_proto *to)
{
    const char *version = w->p->meta.version ? w->p->meta.version : KYMO_VERSION;
    kymo_proto_clear(&w->inner);
    kymo_proto_bytes(&w->inner, KYMO_OTLP_SCOPE_NAME, "kymo", 4);
    kymo_proto_bytes(&w->inner, KYMO_OTLP_SCOPE_VERSION, version, strlen(version));
    kymo_proto_message(to, KYMO_OTLP_SCOPE_PROFILES_SCOPE, &w->inner);
}

/* ---- profiles ---- */

static void put_type(kymo_otlp *w, unsigned field, const char *type, const char *unit)
{
    kymo_text_numbers *strings = &w->dictionary.strings;
    const uint32_t type_number = kymo_text_number_of(strings, type, strlen(type));
    const uint32_t unit_number = kymo_text_number_of(strings, unit, strlen(unit));
    kymo_proto_clear(&w->inner);
    kymo_proto_u64(&w->inner, KYMO_OTLP_VALUE_TYPE, type_number);
    kymo_proto_u64(&w->inner, KYMO_OTLP_VALUE_UNIT, unit_number);
    kymo_proto_message(&w->message, field, &w->inner);
}

static void put_number(kymo_otlp *w, const char *key, uint64_t number, const char *unit)
{
    if (number > 0 && number <= INT64_MAX)
        kymo_proto_varint(&w->values,
                          kymo_otlp_number_attribute(&w->dictionary, key, (int64_t)number, unit));
}

/* What is missing of the recording, and how it was made. */
static void put_quality(kymo_otlp *w)
{
    const kymo_quality *q = &w->p->quality;
    const char *engine = w->p->meta.engine;
    kymo_str key = {0};
    kymo_proto_clear(&w->values);
    if (engine)
        kymo_proto_varint(&w->values, kymo_otlp_text_attribute(&w->dictionary, "kymo.engine",
                                                               engine, strlen(engine)));
    put_number(w, "kymo.cpu_not_sampled", q->cpu_unsampled_ns, "ns");
    put_number(w, "kymo.dropped.samples", q->dropped_samples, NULL);
    put_number(w, "kymo.dropped.wall_samples", q->dropped_wall_samples, NULL);
    for (uint32_t i = 0; i < q->lost_count; i++) {
        key.len = 0;
        kymo_str_printf(&key, "kymo.lost.%s", q->lost[i].kind);
        put_number(w, kymo_str_cstr(&key), q->lost[i].count, NULL);
    }
    w->values.failed |= key.failed;
    kymo_str_deinit(&key);
    kymo_proto_packed(&w->message, KYMO_OTLP_PROFILE_ATTRIBUTES, &w->values);
}

/* The same for the same profile, and another for any other one. */
static void put_id(kymo_otlp *w, const struct kymo_otlp_profile *profile)
{
    const kymo_meta *meta = &w->p->meta;
    uint64_t words[] = {meta->origin_realtime_ns, meta->start_ns, meta->end_ns,
                        kymo_hash_bytes(profile->samples.data, profile->samples.len, 1), 0};
    unsigned char id[16];
    if (meta->hostname)
        words[4] = kymo_hash_bytes(meta->hostname, strlen(meta->hostname), 1);
    words[4] ^= kymo_hash_bytes(profile->type, strlen(profile->type), 2);
    for (uint64_t half = 0; half < 2; half++) {
        const uint64_t hash = kymo_hash_words(words, KYMO_ARRAY_LEN(words), half + 1);
        memcpy(id + 8 * half, &hash, sizeof hash);
    }
    kymo_proto_bytes(&w->message, KYMO_OTLP_PROFILE_ID, id, sizeof id);
}

static void put_profile(kymo_otlp *w, const struct kymo_otlp_profile *profile, kymo_proto *to)
{
    const kymo_meta *meta = &w->p->meta;
    uint64_t start;
    uint64_t end;
    if (profile->samples.len == 0 && !profile->samples.failed)
        return;
    kymo_encoder_range(w->p, &start, &end);
    kymo_proto_clear(&w->message);
    put_type(w, KYMO_OTLP_PROFILE_SAMPLE_TYPE, profile->type, profile->unit);
    if (meta->origin_realtime_ns)
        kymo_proto_fixed64(&w->message, KYMO_OTLP_PROFILE_TIME, meta->origin_realtime_ns + start);
    kymo_proto_u64(&w->message, KYMO_OTLP_PROFILE_DURATION, end - start);
    put_type(w, KYMO_OTLP_PROFILE_PERIOD_TYPE, profile->period_type, profile->period_unit);
    kymo_proto_u64(&w->message, KYMO_OTLP_PROFILE_PERIOD, profile->period);
    put_id(w, profile);
    put_quality(w);
    kymo_proto_varint(to, KYMO_OTLP_SCOPE_PROFILES_PROFILE << 3 | 2);
    kymo_proto_varint(to, w->message.len + profile->samples.len);
    kymo_proto_raw(to, &w->message);
    kymo_proto_raw(to, &profile->samples);
}

/* The one that viewers show first: of the heap the third or, of all allocations, the second. */
static uint32_t shown_first(const kymo_otlp *w, uint32_t show)
{
    if (show == KYMO_ENCODE_TIME)
        return w->sums.columns[kymo_encoder_type(w->encoder)].value;
    return show == KYMO_ENCODE_ALLOC ? 1 : 3;
}

static void put_profiles(kymo_otlp *w, uint32_t show, kymo_proto *to)
{
    const uint32_t first = shown_first(w, show);
    if (first < w->n_profiles)
        put_profile(w, &w->profiles[first], to);
    for (uint32_t i = 0; i < w->n_profiles; i++)
        if (i != first)
            put_profile(w, &w->profiles[i], to);
}

/* ---- the whole file ---- */

static kymo_err add_up(kymo_otlp *w, uint32_t show)
{
    const uint32_t asked = w->encoder->options ? w->encoder->options->show : 0;
    if (show != KYMO_ENCODE_TIME)
        return kymo_otlp_heap(w, show);
    KYMO_TRY(kymo_otlp_samples(w));
    if (asked != KYMO_ENCODE_AUTO || kymo_sample_sums_is_alone(w->encoder) ||
        kymo_profile_count(w->p, KYMO_TABLE_ALLOCATIONS) == 0)
        return KYMO_OK;
    return kymo_otlp_heap(w, KYMO_ENCODE_LIVE);
}

static kymo_err pass_on(kymo_otlp *w, kymo_proto *head, kymo_proto *body)
{
    if (w->message.failed || w->inner.failed || w->values.failed || head->failed || body->failed)
        return KYMO_E_NOMEM;
    /* What a reader of the format may refuse. */
    if (body->len > INT32_MAX - (1 << 20) || w->dictionary.out.len > INT32_MAX)
        return kymo_error_set(w->encoder->detail, KYMO_E_TOO_BIG, 0,
                              "the profile has more than the 2 GiB of a message of OTLP");
    KYMO_TRY(kymo_proto_flush(head, w->encoder->sink));
    KYMO_TRY(kymo_proto_flush(body, w->encoder->sink));
    kymo_proto_varint(head, KYMO_OTLP_DATA_DICTIONARY << 3 | 2);
    kymo_proto_varint(head, w->dictionary.out.len);
    KYMO_TRY(kymo_proto_flush(head, w->encoder->sink));
    return kymo_proto_flush(&w->dictionary.out, w->encoder->sink);
}

static kymo_err write_all(kymo_otlp *w, kymo_proto *head, kymo_proto *resource, kymo_proto *body)
{
    const uint32_t show = kymo_heap_shown(w->encoder);
    KYMO_TRY(kymo_otlp_dictionary_init(&w->dictionary, w->p));
    KYMO_TRY(add_up(w, show));
    put_scope(w, body);
    put_profiles(w, show, body);
    kymo_proto_clear(&w->message);
    put_resource(w, &w->message);
    kymo_proto_message(resource, KYMO_OTLP_RESOURCE_PROFILES_RESOURCE, &w->message);
    kymo_proto_varint(resource, KYMO_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES << 3 | 2);
    kymo_proto_varint(resource, body->len);
    kymo_proto_varint(head, KYMO_OTLP_DATA_RESOURCE_PROFILES << 3 | 2);
    kymo_proto_varint(head, resource->len + body->len);
    head->failed |= resource->failed;
    kymo_proto_raw(head, resource);
    return pass_on(w, head, body);
}

static void deinit(kymo_otlp *w)
{
    kymo_otlp_dictionary_deinit(&w->dictionary);
    for (uint32_t i = 0; i < w->n_profiles; i++)
        kymo_proto_deinit(&w->profiles[i].samples);
    kymo_vec_deinit(&w->attributes);
    kymo_proto_deinit(&w->message);
    kymo_proto_deinit(&w->inner);
    kymo_proto_deinit(&w->values);
}

kymo_err kymo_otlp_write(kymo_encoder *encoder)
{
    const kymo_profile *p = encoder->profile;
    kymo_proto head = {0};
    kymo_proto resource = {0};
    kymo_proto body = {0};
    kymo_otlp *w = calloc(1, sizeof *w);
    if (!w)
        return KYMO_E_NOMEM;
    w->encoder = encoder;
    w->p = p;
    encoder->total =
        p->sample_count + p->stack_frame.len + kymo_profile_count(p, KYMO_TABLE_ALLOCATIONS);
    kymo_err err = write_all(w, &head, &resource, &body);
    kymo_proto_deinit(&head);
    kymo_proto_deinit(&resource);
    kymo_proto_deinit(&body);
    deinit(w);
    free(w);
    return err;
}
