/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/put.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/metadata.h"
#include "agent/reporter_target.h"
#include "agent/url.h"
#include "remote/http.h"
#include "sys/proc_file.h"

#define HEADERS_MAX (KYMO_METADATA_MAX + 12u)
#define TOKEN_MAX 8192u

struct headers {
    kymo_str lines[HEADERS_MAX];
    size_t n;
};

static kymo_str *next(struct headers *h, const char *name)
{
    kymo_str *line = &h->lines[h->n++];
    kymo_str_printf(line, "%s: ", name);
    return line;
}

/* "2026-11-27T00:14:30.123Z" */
static void put_time(struct headers *h, const char *name, uint64_t realtime_ns)
{
    char text[32];
    const time_t seconds = (time_t)(realtime_ns / 1000000000u);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    kymo_str_printf(next(h, name), "%s.%03uZ", text, (unsigned)(realtime_ns / 1000000u % 1000u));
}

static void put_encoded(kymo_str *line, const char *text)
{
    kymo_url_encode(line, text, strlen(text), ":/");
}

static const char *content_type(const char *extension)
{
    static const char *const types[][2] = {
        {".gz", "application/gzip"},
        {".json", "application/json"},
        {".svg", "image/svg+xml"},
        {".folded", "text/plain"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (kymo_str_ends(extension, types[i][0]))
            return types[i][1];
    return "application/octet-stream";
}

static void put_headers(struct headers *h, const struct kymo_interval_profile *p)
{
    const struct kymo_metadata *m = p->who->metadata;
    kymo_str_puts(next(h, "Content-Type"), content_type(p->extension));
    put_time(h, "X-Kymo-Start", p->start_ns);
    put_time(h, "X-Kymo-End", p->end_ns);
    kymo_str_printf(next(h, "X-Kymo-Interval-Ms"), "%llu",
                    (unsigned long long)(p->interval_ns / 1000000u));
    kymo_str_printf(next(h, "X-Kymo-Number"), "%llu", (unsigned long long)p->number);
    kymo_str_puts(next(h, "X-Kymo-Format"), p->extension + 1);
    put_encoded(next(h, "X-Kymo-Program"), p->who->program);
    put_encoded(next(h, "X-Kymo-Host"), p->who->host);
    kymo_str_printf(next(h, "X-Kymo-Pid"), "%ld", (long)p->who->pid);
    for (uint32_t i = 0; m && i < m->n; i++) {
        kymo_str *line = next(h, "X-Kymo-Label");
        kymo_str_printf(line, "%s=", m->items[i].name);
        put_encoded(line, m->items[i].value);
    }
}

/* The file is read for each delivery: it may have been renewed. */
static kymo_err put_token(struct headers *h, const char *path, kymo_error *detail)
{
    static char text[TOKEN_MAX];
    size_t len = kymo_proc_file_read(text, sizeof text, "%s", path);
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' '))
        len--;
    int is_token = len > 0 && len + 1 < sizeof text;
    for (size_t i = 0; i < len; i++)
        is_token &= text[i] > ' ' && text[i] <= '~';
    if (!is_token)
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                              "%.150s: it has no token, or cannot be "
                              "read",
                              path);
    kymo_str_printf(next(h, "Authorization"), "Bearer %.*s", (int)len, text);
    explicit_bzero(text, sizeof text);
    return KYMO_OK;
}

/* A URL that ends in a slash is a folder. */
static void put_url(kymo_str *url, const char *of_target, const struct kymo_interval_profile *p)
{
    struct kymo_url parts;
    const char *query = of_target + strcspn(of_target, "?");
    kymo_str_append(url, of_target, (size_t)(query - of_target));
    if (kymo_url_parse(of_target, &parts, NULL) == KYMO_OK && parts.path.len == 0)
        kymo_str_puts(url, "/");
    if (kymo_str_ends(kymo_str_cstr(url), "/")) {
        kymo_reporter_put_name(url, p);
        kymo_str_puts(url, p->extension);
    }
    kymo_str_puts(url, query);
}

static kymo_err send(const struct kymo_http_target *target, const struct headers *h,
                     const struct kymo_interval_profile *p, kymo_error *detail)
{
    static struct kymo_http_answer answer;
    const char *lines[HEADERS_MAX];
    kymo_str url = {0};
    put_url(&url, target->url, p);
    int failed = url.failed;
    for (size_t i = 0; i < h->n; i++) {
        failed |= h->lines[i].failed;
        lines[i] = kymo_str_cstr(&h->lines[i]);
    }
    const struct kymo_http_request request = {.method = target->is_post ? "POST" : "PUT",
                                              .url = kymo_str_cstr(&url),
                                              .headers = lines,
                                              .n_headers = h->n,
                                              .body_fd = p->fd,
                                              .body_bytes = p->bytes,
                                              .timeout_ms = target->timeout_ms};
    kymo_err err = failed ? kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for a request")
                          : kymo_http_send(&request, &answer, detail);
    kymo_str_deinit(&url);
    if (err != KYMO_OK || (answer.status >= 200 && answer.status < 300))
        return err;
    const int is_for_good = answer.status >= 400 && !kymo_http_may_pass(answer.status);
    return kymo_error_set(
        detail, is_for_good ? KYMO_E_INVALID : KYMO_E_IO, 0, "the server answers %d%s",
        answer.status,
        answer.status >= 300 && answer.status < 400 ? ": a redirect, which is not followed" : "");
}

kymo_err kymo_put_report(const struct kymo_reporter *r, const struct kymo_interval_profile *p,
                         kymo_error *detail)
{
    static struct headers h;
    struct kymo_http_target target;
    memset(&h, 0, sizeof h);
    KYMO_TRY(kymo_http_target_parse(r->kind->prefix, r->target, &target, detail));
    put_headers(&h, p);
    kymo_err err = target.token_file[0] ? put_token(&h, target.token_file, detail) : KYMO_OK;
    if (err == KYMO_OK)
        err = send(&target, &h, p, detail);
    for (size_t i = 0; i < h.n; i++)
        kymo_str_deinit(&h.lines[i]);
    return err;
}
