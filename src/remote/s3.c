/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   profile, metadata.json -> pack -> body, its hash -> headers -> signature -> PUT
 *
 * A store that refuses for a reason that may pass is asked again later: keys can be replaced, a
 * policy mended, a bucket made, while the profiles that wait are bounded. For good it refuses what
 * would be wrong of this profile each time.
 */
#include "remote/s3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "agent/metadata.h"
#include "remote/credentials.h"
#include "remote/http.h"
#include "remote/pack.h"
#include "remote/sigv4.h"
#include "sys/clock.h"

#define METADATA_MAX (256u << 10)
#define HEADERS_MAX 6u
#define REGION_MAX 40u

struct job {
    struct kymo_s3_target target;
    const struct kymo_interval_profile *profile;
    char region[REGION_MAX];
    const char *endpoint; /* "": AWS */
    struct kymo_aws_credentials credentials;
    kymo_str key;
    struct kymo_s3_place place;
    void *body;
    size_t body_len;
    char body_hash[KYMO_SHA256_HEX];
};

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

/* ---- where ---- */

static void choose_region(struct job *job)
{
    const struct kymo_metadata *m = job->profile->who->metadata;
    const char *of_machine = m ? kymo_metadata_get(m, "cloud.region") : NULL;
    const char *const choices[] = {
        job->target.region,      environment("AWS_REGION"),    environment("AWS_DEFAULT_REGION"),
        job->credentials.region, of_machine ? of_machine : "", "us-east-1"};
    size_t i = 0;
    while (!kymo_s3_is_region(choices[i]))
        i++;
    snprintf(job->region, sizeof job->region, "%s", choices[i]);
}

static void choose_endpoint(struct job *job)
{
    const char *const choices[] = {job->target.endpoint, environment("AWS_ENDPOINT_URL_S3"),
                                   environment("AWS_ENDPOINT_URL"), ""};
    size_t i = 0;
    while (i < 3 && !choices[i][0])
        i++;
    job->endpoint = choices[i];
}

/* ---- the body ---- */

static kymo_err pack(struct job *job, kymo_error *detail)
{
    const struct kymo_interval_profile *p = job->profile;
    char name[64];
    void *content = NULL;
    kymo_bytes metadata;
    if (strcmp(p->extension, ".jfr") == 0)
        strcpy(name, "async_profiler_dump_0.jfr");
    else
        snprintf(name, sizeof name, "profile%s", p->extension);
    if (p->bytes > 0) {
        content = mmap(NULL, p->bytes, PROT_READ, MAP_SHARED, p->fd, 0);
        if (content == MAP_FAILED)
            return kymo_error_set_errno(detail, "reading the profile");
    }
    kymo_bytes_init(&metadata, METADATA_MAX);
    kymo_err err = kymo_s3_write_metadata(p, &metadata.sink);
    if (err != KYMO_OK) {
        kymo_error_set(detail, err, 0, "metadata.json: %s", kymo_err_text(err));
    } else {
        const struct kymo_pack_member members[] = {{name, content ? content : "", p->bytes},
                                                   {"metadata.json", metadata.data, metadata.len}};
        err = kymo_pack(members, 2, (time_t)(p->end_ns / 1000000000u), &job->body, &job->body_len,
                        detail);
    }
    kymo_bytes_deinit(&metadata);
    if (content)
        munmap(content, p->bytes);
    if (err == KYMO_OK) {
        unsigned char digest[KYMO_SHA256_BYTES];
        kymo_sha256_of(job->body, job->body_len, digest);
        kymo_sha256_hex(digest, job->body_hash);
    }
    return err;
}

/* ---- the request ---- */

static kymo_err send_signed(struct job *job, int64_t now_s, struct kymo_http_answer *answer,
                            kymo_error *detail)
{
    char time_text[KYMO_SIGV4_TIME_MAX];
    struct kymo_sigv4_header headers[HEADERS_MAX];
    char *lines[HEADERS_MAX + 1] = {NULL};
    size_t n = 0;
    kymo_sigv4_time(now_s, time_text);
    /* Sorted by name. */
    headers[n++] = (struct kymo_sigv4_header){"content-type", "application/zip"};
    headers[n++] = (struct kymo_sigv4_header){"host", kymo_str_cstr(&job->place.host)};
    headers[n++] = (struct kymo_sigv4_header){"x-amz-content-sha256", job->body_hash};
    headers[n++] = (struct kymo_sigv4_header){"x-amz-date", time_text};
    if (job->target.owner[0])
        headers[n++] = (struct kymo_sigv4_header){"x-amz-expected-bucket-owner", job->target.owner};
    if (job->credentials.token[0])
        headers[n++] = (struct kymo_sigv4_header){"x-amz-security-token", job->credentials.token};
    const struct kymo_sigv4_request request = {.method = "PUT",
                                               .path = kymo_str_cstr(&job->place.path),
                                               .query = "",
                                               .headers = headers,
                                               .n_headers = n,
                                               .payload_hash = job->body_hash};
    const struct kymo_sigv4_key key = {job->credentials.access, job->credentials.secret,
                                       job->region, "s3", time_text};
    kymo_str authorization = {0};
    kymo_str_puts(&authorization, "Authorization: ");
    kymo_err err = kymo_sigv4_sign(&request, &key, &authorization);
    for (size_t i = 0; err == KYMO_OK && i < n; i++)
        if (asprintf(&lines[i], "%s: %s", headers[i].name, headers[i].value) < 0) {
            lines[i] = NULL;
            err = KYMO_E_NOMEM;
        }
    if (err == KYMO_OK) {
        lines[n] = authorization.data;
        const struct kymo_http_request put = {.method = "PUT",
                                              .url = kymo_str_cstr(&job->place.url),
                                              .headers = (const char *const *)lines,
                                              .n_headers = n + 1,
                                              .body = job->body,
                                              .body_bytes = job->body_len,
                                              .timeout_ms = job->target.timeout_ms};
        err = kymo_http_send(&put, answer, detail);
    } else {
        kymo_error_set(detail, err, 0, "no memory for a request");
    }
    for (size_t i = 0; i < n; i++)
        free(lines[i]);
    kymo_str_deinit(&authorization);
    return err;
}

/* ---- the answer ---- */

/* The word between <NAME> and </NAME>; a store's other texts may repeat what was sent. */
static void take_word(const char *xml, const char *name, char *out, size_t cap)
{
    char begin[32];
    snprintf(begin, sizeof begin, "<%s>", name);
    const char *at = strstr(xml, begin);
    size_t len = 0;
    if (at) {
        at += strlen(begin);
        len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");
        if (len >= cap || at[len] != '<')
            len = 0;
        memcpy(out, at, len);
    }
    out[len] = '\0';
}

/* What is wrong of this profile, whatever happens to keys, policies and buckets. */
static int is_for_good(int status, const char *code)
{
    static const char *const codes[] = {"EntityTooLarge", "KeyTooLongError", "InvalidURI",
                                        "InvalidBucketName"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(code, codes[i]) == 0)
            return 1;
    return status == 405 || status == 411 || status == 413 || status == 414;
}

static const char *advice(const char *code)
{
    static const char *const texts[][2] = {
        {"SignatureDoesNotMatch", ": the secret key is another"},
        {"InvalidAccessKeyId", ": the access key is unknown there"},
        {"ExpiredToken", ": the credentials have expired"},
        {"AccessDenied", ": these credentials may not write there"},
        {"NoSuchBucket", ": there is no such bucket"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(code, texts[i][0]) == 0)
            return texts[i][1];
    return "";
}

/* Where the store says that the bucket is; "": it says nothing, or where we are. */
static void take_region(const struct job *job, const struct kymo_http_answer *answer,
                        char out[REGION_MAX])
{
    take_word(answer->text, "Region", out, REGION_MAX);
    if (!kymo_s3_is_region(out))
        snprintf(out, REGION_MAX, "%s", answer->region);
    if (!kymo_s3_is_region(out) || strcmp(out, job->region) == 0)
        out[0] = '\0';
}

static kymo_err judge(const struct job *job, const struct kymo_http_answer *answer,
                      kymo_error *detail)
{
    char code[64];
    char region[REGION_MAX];
    const char *why = ": the bucket is in region=";
    if (answer->status >= 200 && answer->status < 300)
        return KYMO_OK;
    take_word(answer->text, "Code", code, sizeof code);
    take_region(job, answer, region);
    if (!region[0] && strcmp(code, "AuthorizationHeaderMalformed") == 0) {
        /* Some stores refuse what is signed for another region, and do not say which is theirs. */
        why = ": the bucket is not in region=";
        snprintf(region, sizeof region, "%s", job->region);
    } else if (!region[0]) {
        why = advice(code);
    }
    return kymo_error_set(detail, is_for_good(answer->status, code) ? KYMO_E_INVALID : KYMO_E_IO, 0,
                          "%.70s answers %d %s%s%s", kymo_str_cstr(&job->place.host),
                          answer->status, code, why, region);
}

/* Signed again with the store's time, where ours is wrong by more than it accepts, and for the
 * bucket's region, where the machine's or the one that was given is another. */
static kymo_err send_and_judge(struct job *job, kymo_error *detail)
{
    static struct kymo_http_answer answer;
    int64_t now_s = (int64_t)(kymo_clock_ns(CLOCK_REALTIME) / 1000000000u);
    for (unsigned tries = 1;; tries++) {
        char code[64];
        char region[REGION_MAX];
        KYMO_TRY(kymo_s3_find_place(&job->place, &job->target, job->endpoint, job->region,
                                    kymo_str_cstr(&job->key), detail));
        KYMO_TRY(send_signed(job, now_s, &answer, detail));
        take_word(answer.text, "Code", code, sizeof code);
        take_region(job, &answer, region);
        const int is_early = strcmp(code, "RequestTimeTooSkewed") == 0 && answer.date_s > 0;
        if (tries == 3 || answer.status < 300 || (!is_early && !region[0]))
            return judge(job, &answer, detail);
        if (is_early)
            now_s = answer.date_s;
        else
            strcpy(job->region, region);
        kymo_s3_place_deinit(&job->place);
    }
}

kymo_err kymo_s3_report(const struct kymo_reporter *r, const struct kymo_interval_profile *p,
                        kymo_error *detail)
{
    static struct job job;
    memset(&job, 0, sizeof job);
    job.profile = p;
    KYMO_TRY(kymo_s3_target_parse(r->target, &job.target, detail));
    KYMO_TRY(kymo_aws_credentials_find(&job.credentials, detail));
    choose_region(&job);
    choose_endpoint(&job);
    kymo_s3_put_key(&job.key, &job.target, p);
    kymo_err err = KYMO_OK;
    if (job.key.failed)
        err = kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for the key");
    if (err == KYMO_OK)
        err = pack(&job, detail);
    if (err == KYMO_OK)
        err = send_and_judge(&job, detail);
    free(job.body);
    kymo_s3_place_deinit(&job.place);
    kymo_str_deinit(&job.key);
    explicit_bzero(&job.credentials, sizeof job.credentials);
    return err;
}
