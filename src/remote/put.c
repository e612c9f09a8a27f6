/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/put.h"

#include <string.h>
#include <time.h>

#include "agent/url.h"
#include "remote/request.h"

/* "2026-11-27T00:14:30.123Z" */
static void put_time(struct kymo_request *r, const char *name, uint64_t realtime_ns)
{
    char text[32];
    const time_t seconds = (time_t)(realtime_ns / 1000000000u);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    kymo_str_printf(kymo_request_header(r, name), "%s.%03uZ", text,
                    (unsigned)(realtime_ns / 1000000u % 1000u));
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

static void put_headers(struct kymo_request *r, const struct kymo_interval_profile *p)
{
    const struct kymo_metadata *m = p->who->metadata;
    kymo_str_puts(kymo_request_header(r, "Content-Type"), content_type(p->extension));
    put_time(r, "X-Kymo-Start", p->start_ns);
    put_time(r, "X-Kymo-End", p->end_ns);
    kymo_str_printf(kymo_request_header(r, "X-Kymo-Interval-Ms"), "%llu",
                    (unsigned long long)(p->interval_ns / 1000000u));
    kymo_str_printf(kymo_request_header(r, "X-Kymo-Number"), "%llu", (unsigned long long)p->number);
    kymo_str_puts(kymo_request_header(r, "X-Kymo-Format"), p->extension + 1);
    put_encoded(kymo_request_header(r, "X-Kymo-Program"), p->who->program);
    put_encoded(kymo_request_header(r, "X-Kymo-Host"), p->who->host);
    kymo_str_printf(kymo_request_header(r, "X-Kymo-Pid"), "%ld", (long)p->who->pid);
    for (uint32_t i = 0; m && i < m->n; i++) {
        kymo_str *line = kymo_request_header(r, "X-Kymo-Label");
        kymo_str_printf(line, "%s=", m->items[i].name);
        put_encoded(line, m->items[i].value);
    }
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

kymo_err kymo_put_report(const struct kymo_reporter *reporter,
                         const struct kymo_interval_profile *p, kymo_error *detail)
{
    static struct kymo_http_answer answer;
    static struct kymo_request r;
    struct kymo_http_target target;
    KYMO_TRY(kymo_http_target_parse(reporter->kind->prefix, reporter->target, &target, detail));
    r = (struct kymo_request){.method = target.is_post ? "POST" : "PUT",
                              .body_fd = p->fd,
                              .body_bytes = p->bytes,
                              .timeout_ms = target.timeout_ms};
    put_url(&r.url, target.url, p);
    put_headers(&r, p);
    kymo_err err = kymo_request_authorize(&r, &target, detail);
    if (err == KYMO_OK)
        err = kymo_request_send(&r, &answer, detail);
    kymo_request_deinit(&r);
    return err;
}
