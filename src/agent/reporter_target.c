/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/reporter_target.h"

#include <stdio.h>
#include <string.h>

#include "agent/url.h"
#include "base/str.h"
#include "options/options.h"

#define LEAST_TIMEOUT_NS 100000000ull
#define LONGEST_TIMEOUT_NS 50000000000ull

static int is_label(const char *text, size_t least, size_t most, const char *also)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') ||
              strchr(also, text[i])))
            return 0;
    return len >= least && len <= most;
}

int kymo_s3_is_region(const char *text)
{
    return is_label(text, 1, 39, "-");
}

static kymo_err take(struct kymo_url_part name, struct kymo_url_part value, char *out, size_t cap,
                     kymo_error *detail)
{
    kymo_err err = kymo_url_decode(value, out, cap);
    if (err != KYMO_OK)
        kymo_error_set(detail, KYMO_E_INVALID, 0, "?%.*s= is %s", (int)name.len, name.data,
                       err == KYMO_E_TOO_BIG ? "too long" : "not encoded as a URL is");
    return err == KYMO_OK ? KYMO_OK : KYMO_E_INVALID;
}

static kymo_err take_timeout(struct kymo_url_part value, uint32_t *out_ms, kymo_error *detail)
{
    uint64_t ns;
    if (kymo_parse_time(value.data, value.len, &ns) != KYMO_OK || ns < LEAST_TIMEOUT_NS ||
        ns > LONGEST_TIMEOUT_NS)
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "?timeout= takes a time from 100ms to 50s");
    *out_ms = (uint32_t)(ns / 1000000u);
    return KYMO_OK;
}

/* ---- S3 ---- */

static kymo_err take_style(struct kymo_url_part value, enum kymo_s3_style *out, kymo_error *detail)
{
    if (!kymo_url_is(value, "path") && !kymo_url_is(value, "virtual"))
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "?style= takes path or virtual");
    *out = kymo_url_is(value, "path") ? KYMO_S3_PATH : KYMO_S3_VIRTUAL;
    return KYMO_OK;
}

static kymo_err take_s3_option(struct kymo_s3_target *t, struct kymo_url_part name,
                               struct kymo_url_part value, kymo_error *detail)
{
    if (kymo_url_is(name, "region"))
        return take(name, value, t->region, sizeof t->region, detail);
    if (kymo_url_is(name, "endpoint"))
        return take(name, value, t->endpoint, sizeof t->endpoint, detail);
    if (kymo_url_is(name, "owner"))
        return take(name, value, t->owner, sizeof t->owner, detail);
    if (kymo_url_is(name, "group"))
        return take(name, value, t->group, sizeof t->group, detail);
    if (kymo_url_is(name, "style"))
        return take_style(value, &t->style, detail);
    if (kymo_url_is(name, "timeout"))
        return take_timeout(value, &t->timeout_ms, detail);
    return kymo_error_set(
        detail, KYMO_E_INVALID, 0,
        "s3:// has no option '%.*s'; it has region, endpoint, style, owner, group "
        "and timeout",
        name.len < 40 ? (int)name.len : 40, name.data);
}

/* Its keys are texts, which have to be UTF-8 without control characters. */
static int is_text(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return 0;
    return kymo_utf8_valid_prefix(text, strlen(text)) == strlen(text);
}

static kymo_err check_s3(const struct kymo_s3_target *t, kymo_error *detail)
{
    struct kymo_url url;
    const char *why = NULL;
    kymo_error of_endpoint = {0};
    if (!is_label(t->bucket, 3, 63, "-."))
        why = "names no bucket: s3://BUCKET/PREFIX";
    else if (!is_text(t->prefix) || !is_text(t->group))
        why = "has a prefix or group that is no text";
    else if (t->region[0] && !kymo_s3_is_region(t->region))
        why = "has a region that is none";
    else if (t->owner[0] && (strspn(t->owner, "0123456789") != 12 || strlen(t->owner) != 12))
        why = "has an owner that is no account of 12 digits";
    if (why)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "the target of s3:// %s", why);
    if (!t->endpoint[0])
        return KYMO_OK;
    kymo_err err = kymo_url_parse(t->endpoint, &url, &of_endpoint);
    if (err == KYMO_OK && url.query.len > 0)
        err = kymo_error_set(&of_endpoint, KYMO_E_INVALID, 0, "the URL has a query");
    if (err != KYMO_OK)
        kymo_error_set(detail, err, 0, "?endpoint=: %.200s", of_endpoint.message);
    return err;
}

kymo_err kymo_s3_target_parse(const char *text, struct kymo_s3_target *target, kymo_error *detail)
{
    struct kymo_s3_target t = {.timeout_ms = KYMO_TARGET_TIMEOUT_MS};
    size_t path_len = strcspn(text, "?");
    size_t bucket_len = strcspn(text, "/?");
    const char *prefix = text + bucket_len + (text[bucket_len] == '/');
    size_t prefix_len = path_len > bucket_len ? path_len - bucket_len - 1 : 0;
    struct kymo_url_part rest = {text + path_len, strlen(text + path_len)};
    struct kymo_url_part name;
    struct kymo_url_part value;
    if (bucket_len >= sizeof t.bucket || prefix_len + 2 >= sizeof t.prefix)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "the target of s3:// is too long");
    memcpy(t.bucket, text, bucket_len);
    memcpy(t.prefix, prefix, prefix_len);
    if (prefix_len > 0 && t.prefix[prefix_len - 1] != '/')
        t.prefix[prefix_len] = '/';
    if (rest.len > 0)
        rest = (struct kymo_url_part){rest.data + 1, rest.len - 1};
    while (kymo_url_next(&rest, &name, &value))
        KYMO_TRY(take_s3_option(&t, name, value, detail));
    KYMO_TRY(check_s3(&t, detail));
    *target = t;
    return KYMO_OK;
}

/* ---- HTTP ---- */

static kymo_err take_method(struct kymo_url_part value, int *is_post, kymo_error *detail)
{
    if (!kymo_url_is(value, "PUT") && !kymo_url_is(value, "POST"))
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "?method= takes PUT or POST");
    *is_post = kymo_url_is(value, "POST");
    return KYMO_OK;
}

static void keep(struct kymo_http_target *t, struct kymo_url_part part)
{
    size_t len = strlen(t->url);
    memcpy(t->url + len, part.data, part.len);
    t->url[len + part.len] = '\0';
}

/* Text that may be a part of a header. */
static kymo_err take_word(struct kymo_url_part name, struct kymo_url_part value, char *out,
                          size_t cap, kymo_error *detail)
{
    KYMO_TRY(take(name, value, out, cap, detail));
    for (const char *c = out; *c; c++)
        if (*c <= ' ' || *c > '~')
            return kymo_error_set(detail, KYMO_E_INVALID, 0,
                                  "?%.*s= has a blank, or a character beyond ASCII", (int)name.len,
                                  name.data);
    return KYMO_OK;
}

static kymo_err take_http_option(struct kymo_http_target *t, struct kymo_url_part name,
                                 struct kymo_url_part value, char *separator, kymo_error *detail)
{
    if (kymo_url_is(name, "token-file"))
        return take(name, value, t->token_file, sizeof t->token_file, detail);
    if (kymo_url_is(name, "method"))
        return take_method(value, &t->is_post, detail);
    if (kymo_url_is(name, "timeout"))
        return take_timeout(value, &t->timeout_ms, detail);
    keep(t, (struct kymo_url_part){separator, 1});
    keep(t, (struct kymo_url_part){name.data, (size_t)(value.data + value.len - name.data)});
    *separator = '&';
    return KYMO_OK;
}

static kymo_err take_server_option(struct kymo_http_target *t, const char *scheme,
                                   struct kymo_url_part name, struct kymo_url_part value,
                                   kymo_error *detail)
{
    if (kymo_url_is(name, "token-file"))
        return take(name, value, t->token_file, sizeof t->token_file, detail);
    if (kymo_url_is(name, "timeout"))
        return take_timeout(value, &t->timeout_ms, detail);
    if (kymo_url_is(name, "tenant"))
        return take_word(name, value, t->tenant, sizeof t->tenant, detail);
    if (kymo_url_is(name, "user"))
        return take_word(name, value, t->user, sizeof t->user, detail);
    return kymo_error_set(detail, KYMO_E_INVALID, 0,
                          "%s has no option '%.*s'; it has tenant, user, token-file and timeout",
                          scheme, name.len < 40 ? (int)name.len : 40, name.data);
}

/* The port that the server listens at, where the target names none. */
static void keep_usual_port(struct kymo_http_target *t, const char *scheme,
                            const struct kymo_url *url)
{
    const char *end = url->authority.data + url->authority.len;
    const int has_port = url->host.data + url->host.len < end - (*(end - 1) == ']');
    if (!has_port && !url->is_https)
        strcat(t->url, kymo_str_starts(scheme, "otlp") ? ":4318" : ":4040");
}

static kymo_err parse_server(const char *scheme, struct kymo_url *url, struct kymo_http_target *t,
                             kymo_error *detail)
{
    struct kymo_url_part name;
    struct kymo_url_part value;
    keep_usual_port(t, scheme, url);
    while (url->path.len > 0 && url->path.data[url->path.len - 1] == '/')
        url->path.len--;
    keep(t, url->path);
    while (kymo_url_next(&url->query, &name, &value))
        KYMO_TRY(take_server_option(t, scheme, name, value, detail));
    if (t->user[0] && (!t->token_file[0] || strchr(t->user, ':')))
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "?user= has a colon, or no ?token-file= with its password");
    return KYMO_OK;
}

static kymo_err parse_plain(struct kymo_url *url, struct kymo_http_target *t, kymo_error *detail)
{
    struct kymo_url_part name;
    struct kymo_url_part value;
    char separator = '?';
    keep(t, url->path);
    while (kymo_url_next(&url->query, &name, &value))
        KYMO_TRY(take_http_option(t, name, value, &separator, detail));
    return KYMO_OK;
}

kymo_err kymo_http_target_parse(const char *scheme, const char *text,
                                struct kymo_http_target *target, kymo_error *detail)
{
    struct kymo_http_target t = {.timeout_ms = KYMO_TARGET_TIMEOUT_MS};
    struct kymo_url url;
    char whole[KYMO_REPORTER_TARGET_MAX + 16];
    const char *plus = strchr(scheme, '+');
    int n = snprintf(whole, sizeof whole, "%s%s", plus ? plus + 1 : scheme, text);
    if (n < 0 || (size_t)n >= sizeof whole)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "the URL is too long");
    KYMO_TRY(kymo_url_parse(whole, &url, detail));
    /* But for a port, what stays is never longer than what was. */
    keep(&t,
         (struct kymo_url_part){whole, (size_t)(url.authority.data + url.authority.len - whole)});
    KYMO_TRY(plus ? parse_server(scheme, &url, &t, detail) : parse_plain(&url, &t, detail));
    *target = t;
    return KYMO_OK;
}
