/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/sigv4.h"

#include <string.h>
#include <time.h>

#define DAY_LEN 8

const char *kymo_sigv4_time(int64_t seconds, char out[KYMO_SIGV4_TIME_MAX])
{
    const time_t time = (time_t)seconds;
    struct tm tm;
    if (!gmtime_r(&time, &tm) || strftime(out, KYMO_SIGV4_TIME_MAX, "%Y%m%dT%H%M%SZ", &tm) == 0)
        strcpy(out, "19700101T000000Z");
    return out;
}

/* Without spaces at its ends, and one for several in its middle. */
static void put_trimmed(kymo_str *s, const char *value)
{
    value += strspn(value, " ");
    while (*value) {
        size_t len = strcspn(value, " ");
        kymo_str_append(s, value, len);
        value += len;
        value += strspn(value, " ");
        if (*value)
            kymo_str_puts(s, " ");
    }
}

static void put_names(kymo_str *s, const struct kymo_sigv4_request *r)
{
    for (size_t i = 0; i < r->n_headers; i++)
        kymo_str_printf(s, "%s%s", i ? ";" : "", r->headers[i].name);
}

static void put_canonical(kymo_str *s, const struct kymo_sigv4_request *r)
{
    kymo_str_printf(s, "%s\n%s\n%s\n", r->method, r->path, r->query);
    for (size_t i = 0; i < r->n_headers; i++) {
        kymo_str_printf(s, "%s:", r->headers[i].name);
        put_trimmed(s, r->headers[i].value);
        kymo_str_puts(s, "\n");
    }
    kymo_str_puts(s, "\n");
    put_names(s, r);
    kymo_str_printf(s, "\n%s", r->payload_hash);
}

static void derive_key(const struct kymo_sigv4_key *key, unsigned char out[KYMO_SHA256_BYTES])
{
    const char *const words[] = {key->region, key->service, "aws4_request"};
    kymo_str first = {0};
    kymo_str_printf(&first, "AWS4%s", key->secret);
    kymo_hmac_sha256(kymo_str_cstr(&first), first.len, key->time, DAY_LEN, out);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        kymo_hmac_sha256(out, KYMO_SHA256_BYTES, words[i], strlen(words[i]), out);
    if (first.data)
        explicit_bzero(first.data, first.len);
    kymo_str_deinit(&first);
}

kymo_err kymo_sigv4_sign(const struct kymo_sigv4_request *r, const struct kymo_sigv4_key *key,
                         kymo_str *authorization)
{
    unsigned char digest[KYMO_SHA256_BYTES];
    char hex[KYMO_SHA256_HEX];
    kymo_str scope = {0};
    kymo_str text = {0};
    kymo_str_printf(&scope, "%.*s/%s/%s/aws4_request", DAY_LEN, key->time, key->region,
                    key->service);
    put_canonical(&text, r);
    int failed = scope.failed || text.failed;
    kymo_sha256_of(kymo_str_cstr(&text), text.len, digest);
    kymo_str_deinit(&text);
    text = (kymo_str){0};
    kymo_str_printf(&text, "AWS4-HMAC-SHA256\n%s\n%s\n%s", key->time, kymo_str_cstr(&scope),
                    kymo_sha256_hex(digest, hex));
    failed |= text.failed;
    derive_key(key, digest);
    kymo_hmac_sha256(digest, sizeof digest, kymo_str_cstr(&text), text.len, digest);
    kymo_str_printf(authorization, "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=", key->access,
                    kymo_str_cstr(&scope));
    put_names(authorization, r);
    kymo_str_printf(authorization, ", Signature=%s", kymo_sha256_hex(digest, hex));
    kymo_str_deinit(&text);
    kymo_str_deinit(&scope);
    return failed || authorization->failed ? KYMO_E_NOMEM : KYMO_OK;
}
