/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_status.h"

#include <stdio.h>
#include <string.h>

#define WHITE " \t\r\n"

/* What of a URL behind "://" may be shown; *len: how much of the text is the URL's. */
static void put_rest_of_url(kymo_str *out, const char *url, size_t len)
{
    size_t shown = 0;
    while (shown < len && url[shown] != '?' && url[shown] != '#')
        shown++;
    /* An unescaped slash in a password would end the host early: the last @ counts. */
    for (size_t i = shown; i-- > 0;)
        if (url[i] == '@') {
            url += i + 1;
            shown -= i + 1;
            break;
        }
    kymo_str_append(out, url, shown);
}

void kymo_text_put_public(kymo_str *out, const char *text)
{
    for (const char *at; (at = strstr(text, "://")) != NULL;) {
        const char *url = at + 3;
        size_t len = strcspn(url, WHITE "'\"<>");
        kymo_str_append(out, text, (size_t)(url - text));
        put_rest_of_url(out, url, len);
        text = url + len;
    }
    kymo_str_puts(out, text);
}

/* The prefix of some kinds is the begin of a URL, which may have blanks in it. */
void kymo_reporter_put_public(kymo_str *out, const struct kymo_reporter *r)
{
    char target[sizeof r->target + 32];
    snprintf(target, sizeof target, "%s%s", r->kind->prefix, r->target);
    const char *at = strstr(target, "://");
    const char *url = at ? at + 3 : target + strlen(target);
    kymo_str_append(out, target, (size_t)(url - target));
    put_rest_of_url(out, url, strlen(url));
}

static void key_text(kymo_json *j, const char *name, kymo_str *text)
{
    char utf8[KYMO_REPORTER_TARGET_MAX + 64];
    size_t len = kymo_utf8_copy(utf8, sizeof utf8, kymo_str_cstr(text), text->len);
    kymo_json_key(j, name);
    kymo_json_string(j, utf8, len);
    kymo_str_deinit(text);
}

static void key_error(kymo_json *j, const char *name, const kymo_error *error)
{
    kymo_str text = {0};
    if (error->code != KYMO_OK) {
        kymo_text_put_public(&text, error->message);
        key_text(j, name, &text);
        return;
    }
    kymo_json_key(j, name);
    kymo_json_null(j);
}

void kymo_agent_status_write(const struct kymo_reporting_counts *s,
                             const struct kymo_agent_settings *settings, kymo_json *j)
{
    kymo_json_key_u64(j, "interval_ns", settings->interval_ns);
    kymo_json_key_u64(j, "intervals", s->intervals);
    kymo_json_key_u64(j, "empty", s->empty);
    kymo_json_key_u64(j, "broken", s->broken);
    kymo_json_key_u64(j, "lost_records", s->lost_records);
    key_error(j, "last_error", &s->reason);
}

void kymo_agent_status_write_reporter(const struct kymo_deliver *d, kymo_json *j)
{
    const struct kymo_reporter *r = d->reporter;
    const struct kymo_deliver_counts *counts = &d->counts;
    kymo_str reporter = {0};
    kymo_reporter_put_public(&reporter, r);
    kymo_json_begin_object(j);
    key_text(j, "reporter", &reporter);
    kymo_json_key_cstr(j, "format", r->extension);
    kymo_json_key_u64(j, "delivered", counts->delivered);
    kymo_json_key_u64(j, "failures", counts->failures);
    kymo_json_key_u64(j, "dropped", counts->dropped);
    kymo_json_key_u64(j, "waiting", d->waiting.len);
    kymo_json_key_u64(j, "waiting_bytes", d->bytes);
    kymo_json_key_time(j, "last_delivery", counts->last_ns);
    key_error(j, "last_error", &counts->reason);
    kymo_json_end_object(j);
}
