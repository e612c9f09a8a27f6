/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/settings.h"

#include <string.h>

#include "agent/agent_status.h"
#include "agent/interval.h"
#include "agent/pull.h"
#include "agent/reporter_callback.h"
#include "agent/reporter_remote.h"
#include "base/str.h"
#include "kymo/encode.h"

#define SECOND_NS 1000000000ull
#define LONGEST_NS (366ull * 86400 * SECOND_NS)

static const struct kymo_reporter_kind *find_kind(const char *value)
{
    static const struct kymo_reporter_kind *const kinds[] = {
        &kymo_reporter_local, &kymo_reporter_s3, &kymo_reporter_http, &kymo_reporter_https,
        &kymo_reporter_callback};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kymo_str_starts(value, kinds[i]->prefix))
            return kinds[i];
    for (size_t i = 0; i < KYMO_REPORTER_SERVERS; i++)
        if (kymo_str_starts(value, kymo_reporter_servers[i].prefix))
            return &kymo_reporter_servers[i];
    return NULL;
}

void kymo_agent_settings_init(struct kymo_agent_settings *s)
{
    memset(s, 0, sizeof *s);
    kymo_options_init(&s->recording);
    /* A sample costs up to 30 us in a virtual machine: 0.3 % of the program's CPU time. */
    s->recording.cpu_period_ns = 10000000;
    s->recording.counters_period_ns = 5 * SECOND_NS;
    s->interval_ns = 30 * SECOND_NS;
    s->deadline_ns = 10 * SECOND_NS;
    s->spool_bytes = 64u << 20;
}

/* ---- values ---- */

static kymo_err set_time(const char *name, const char *value, uint64_t least_ns, uint64_t *out,
                         kymo_error *detail)
{
    uint64_t ns;
    if (kymo_parse_time(value, strlen(value), &ns) != KYMO_OK || ns < least_ns || ns > LONGEST_NS)
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "%s=%.60s: it takes a time with its unit, such as 30s", name, value);
    *out = ns;
    return KYMO_OK;
}

static kymo_err set_number(const char *name, const char *value, uint64_t *out, kymo_error *detail)
{
    if (kymo_parse_u64(value, strlen(value), out) != KYMO_OK)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "%s=%.60s: it takes a number", name,
                              value);
    return KYMO_OK;
}

static kymo_err set_bytes(const char *name, const char *value, uint64_t *out, kymo_error *detail)
{
    if (kymo_parse_size(value, strlen(value), out) != KYMO_OK)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "%s=%.60s: it takes a size, such as 64m",
                              name, value);
    return KYMO_OK;
}

static kymo_err set_text(const char *name, const char *value, char *out, size_t cap,
                         kymo_error *detail)
{
    if (strlen(value) >= cap)
        return kymo_error_set(detail, KYMO_E_TOO_BIG, 0, "%s=%.60s...: it is too long", name,
                              value);
    strcpy(out, value);
    return KYMO_OK;
}

/* A format by its name ("jfr", "pprof", "kymo") or by how its files end (".pb.gz"). */
static kymo_err find_extension(const char *value, char out[16], kymo_error *detail)
{
    const char *found = strcmp(value, &KYMO_RECORDING_EXTENSION[value[0] != '.']) == 0
                            ? KYMO_RECORDING_EXTENSION
                            : NULL;
    const kymo_format *format;
    for (size_t i = 0; !found && (format = kymo_format_at(i)) != NULL; i++)
        if (strcmp(value, format->extension + (value[0] != '.')) == 0 ||
            strcmp(value, format->name) == 0)
            found = format->extension;
    if (!found || strlen(found) >= 16)
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "format=%.40s: it takes kymo, jfr, pb.gz (pprof), json.gz (Firefox "
                              "Profiler), otlp, folded, svg or trace.json",
                              value);
    strcpy(out, found);
    return KYMO_OK;
}

/* ---- reporters ---- */

/* What was given may be a URL with a password in it. */
static kymo_err refuse_reporter(const char *value, kymo_err err, const char *why,
                                kymo_error *detail)
{
    kymo_str shown = {0};
    kymo_text_put_public(&shown, value);
    kymo_error_set(detail, err, 0, "reporter=%.60s: %s", kymo_str_cstr(&shown), why);
    kymo_str_deinit(&shown);
    return err;
}

static kymo_err add_reporter(struct kymo_agent_settings *s, const char *value, kymo_error *detail)
{
    struct kymo_reporter *r = &s->reporters[s->n_reporters];
    if (s->n_reporters == KYMO_AGENT_REPORTERS)
        return kymo_error_set(detail, KYMO_E_FULL, 0, "at most %u reporters", KYMO_AGENT_REPORTERS);
    *r = (struct kymo_reporter){.kind = find_kind(value)};
    if (!r->kind)
        return refuse_reporter(value, KYMO_E_INVALID,
                               "it takes local:DIR, s3://BUCKET/PREFIX, https://HOST/PATH, "
                               "pyroscope+http://HOST or otlp+http://HOST",
                               detail);
    const char *target = value + strlen(r->kind->prefix);
    if (strlen(target) >= sizeof r->target)
        return refuse_reporter(value, KYMO_E_TOO_BIG, "it is too long", detail);
    strcpy(r->target, target);
    r->keep.bytes = 1ull << 30;
    s->n_reporters++;
    return KYMO_OK;
}

static kymo_err set_keep(struct kymo_agent_settings *s, const char *name, const char *value,
                         kymo_error *detail)
{
    if (s->n_reporters == 0)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "%s= comes after the reporter it is of",
                              name);
    struct kymo_reporter *r = &s->reporters[s->n_reporters - 1];
    if (strcmp(name, "keep") == 0)
        return set_number(name, value, &r->keep.files, detail);
    if (strcmp(name, "keep-bytes") == 0)
        return set_bytes(name, value, &r->keep.bytes, detail);
    return set_time(name, value, 0, &r->keep.age_ns, detail);
}

/* ---- metadata ---- */

static kymo_err set_label(struct kymo_agent_settings *s, const char *name, const char *value,
                          kymo_error *detail)
{
    char label[KYMO_METADATA_NAME_MAX];
    const size_t len = strcspn(value, "=");
    kymo_err err = KYMO_E_INVALID;
    if (value[len] == '=' && value[len + 1] && len < sizeof label) {
        memcpy(label, value, len);
        label[len] = '\0';
        err = kymo_metadata_put(&s->labels, label, value + len + 1);
    }
    if (err == KYMO_E_FULL)
        return kymo_error_set(detail, err, 0, "%s=: at most %u of them", name, KYMO_METADATA_MAX);
    if (err != KYMO_OK)
        return kymo_error_set(
            detail, err, 0,
            "%s=%.60s: it takes NAME=VALUE, the name of letters, digits and . _ - /", name, value);
    return KYMO_OK;
}

static kymo_err set_split(struct kymo_agent_settings *s, const char *value, kymo_error *detail)
{
    s->split_processes = strcmp(value, "process") == 0;
    if (s->split_processes || strcmp(value, "none") == 0)
        return KYMO_OK;
    return kymo_error_set(detail, KYMO_E_INVALID, 0, "split=%.60s: it takes process or none",
                          value);
}

static kymo_err set_metadata(struct kymo_agent_settings *s, const char *value, kymo_error *detail)
{
    s->no_metadata = strcmp(value, "auto") != 0;
    if (strcmp(value, "auto") == 0 || strcmp(value, "none") == 0)
        return KYMO_OK;
    if (!strchr(value, '='))
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "metadata=%.60s: it takes auto, none or NAME=VALUE", value);
    return set_label(s, "metadata", value, detail);
}

int kymo_agent_settings_want_metadata(const struct kymo_agent_settings *s)
{
    int is_remote = 0;
    for (uint32_t i = 0; i < s->n_reporters; i++)
        is_remote |= s->reporters[i].kind->is_remote;
    return is_remote && !s->no_metadata;
}

kymo_err kymo_agent_settings_set(struct kymo_agent_settings *s, const char *name, const char *value,
                                 kymo_error *detail)
{
    if (strcmp(name, "report") == 0)
        return set_time(name, value, SECOND_NS / 10, &s->interval_ns, detail);
    if (strcmp(name, "deadline") == 0)
        return set_time(name, value, 0, &s->deadline_ns, detail);
    if (strcmp(name, "reporter") == 0)
        return add_reporter(s, value, detail);
    if (strcmp(name, "format") == 0)
        return find_extension(
            value, s->n_reporters ? s->reporters[s->n_reporters - 1].extension : s->extension,
            detail);
    if (kymo_str_starts(name, "keep"))
        return set_keep(s, name, value, detail);
    if (strcmp(name, "metadata") == 0)
        return set_metadata(s, value, detail);
    if (strcmp(name, "label") == 0)
        return set_label(s, name, value, detail);
    if (strcmp(name, "split") == 0)
        return set_split(s, value, detail);
    if (strcmp(name, "spool") == 0)
        return set_text(name, value, s->spool, sizeof s->spool, detail);
    if (strcmp(name, "spool-bytes") == 0)
        return set_bytes(name, value, &s->spool_bytes, detail);
    if (strcmp(name, "listen") == 0)
        return kymo_listen_parse(&s->listen, value, detail);
    if (strcmp(name, "listen-token") == 0)
        return set_text(name, value, s->token_path, sizeof s->token_path, detail);
    return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "unknown option '%.40s'", name);
}

/* ---- KYMO_OPTIONS ---- */

/* Copies a value; "%2C" becomes a comma. */
static void unescape(const char *from, size_t len, char *to)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (len - i >= 3 && (memcmp(from + i, "%2C", 3) == 0 || memcmp(from + i, "%2c", 3) == 0)) {
            to[n++] = ',';
            i += 2;
        } else {
            to[n++] = from[i];
        }
    }
    to[n] = '\0';
}

static kymo_err set_item(struct kymo_agent_settings *s, const char *item, size_t len,
                         kymo_error *detail)
{
    char text[KYMO_REPORTER_TARGET_MAX + 64];
    if (len >= sizeof text)
        return kymo_error_set(detail, KYMO_E_TOO_BIG, 0, "%.40s...: it is too long", item);
    memcpy(text, item, len);
    text[len] = '\0';
    char *value = strchr(text, '=');
    if (strcmp(text, "agent") == 0)
        return KYMO_OK;
    if (value) {
        *value++ = '\0';
        unescape(value, strlen(value), value);
        kymo_err err = kymo_agent_settings_set(s, text, value, detail);
        if (err != KYMO_E_NOT_FOUND)
            return err;
    }
    return kymo_options_set(&s->recording, text, strlen(text), value, value ? strlen(value) : 0,
                            detail);
}

kymo_err kymo_agent_settings_parse(struct kymo_agent_settings *s, const char *list,
                                   kymo_error *detail)
{
    for (const char *item = list; *item;) {
        size_t len = strcspn(item, ",");
        if (len > 0)
            KYMO_TRY(set_item(s, item, len, detail));
        item += len + (item[len] == ',');
    }
    return KYMO_OK;
}

static kymo_err check_listen(struct kymo_agent_settings *s, kymo_error *detail)
{
    char name[KYMO_LISTEN_NAME_MAX];
    if (s->token_path[0])
        KYMO_TRY(kymo_pull_read_token(s->token_path, s->token, detail));
    if (s->listen.address.ss_family == AF_UNSPEC)
        return KYMO_OK;
    KYMO_TRY(kymo_pull_check(detail));
    if (!kymo_listen_is_local(&s->listen) && !s->token[0])
        return kymo_error_set(
            detail, KYMO_E_INVALID, 0,
            "%s can be reached from other machines: --listen-token=FILE names the "
            "file of a token that they must send",
            kymo_listen_name(&s->listen, name));
    return KYMO_OK;
}

/* A recording is of all processes; what is made of it may be of one. */
static kymo_err choose_format(const struct kymo_agent_settings *s, struct kymo_reporter *r,
                              kymo_error *detail)
{
    const char *by_default = r->kind->extension;
    if (s->split_processes && strcmp(by_default, KYMO_RECORDING_EXTENSION) == 0)
        by_default = ".pb.gz";
    if (r->extension[0] == '\0')
        strcpy(r->extension,
               s->extension[0] && !strchr(r->kind->prefix, '+') ? s->extension : by_default);
    if (s->split_processes && strcmp(r->extension, KYMO_RECORDING_EXTENSION) == 0)
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "split=process is not for format=kymo: a recording is of all "
                              "processes");
    return KYMO_OK;
}

kymo_err kymo_agent_settings_check(struct kymo_agent_settings *s, kymo_error *detail)
{
    if (s->n_reporters == 0 && s->listen.address.ss_family == AF_UNSPEC)
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "where to? --reporter=local:DIR says where profiles go, "
                              "--listen=PORT where they can be asked for");
    KYMO_TRY(check_listen(s, detail));
    if (s->recording.ring_bytes)
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "--ring is not for the agent, whose intervals are short");
    for (uint32_t i = 0; i < s->n_reporters; i++) {
        struct kymo_reporter *r = &s->reporters[i];
        KYMO_TRY(choose_format(s, r, detail));
        KYMO_TRY(r->kind->check(r, detail));
    }
    return KYMO_OK;
}
