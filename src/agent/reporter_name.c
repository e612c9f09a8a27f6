/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reporter_name.c - how a profile is called where many are together.
 *
 *   PROGRAM.HOST.PID.2026-11-27T00-14-30.123Z.NUMBER
 *
 * The name has what makes it unique among processes, hosts that share a place, and restarts.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/reporter.h"

const char *kymo_reporter_stamp(char out[KYMO_STAMP_MAX], uint64_t realtime_ns)
{
    const time_t seconds = (time_t)(realtime_ns / 1000000000u);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t len = strftime(out, KYMO_STAMP_MAX, "%Y-%m-%dT%H-%M-%S", &tm);
    snprintf(out + len, KYMO_STAMP_MAX - len, ".%03uZ", (unsigned)(realtime_ns / 1000000u % 1000u));
    return out;
}

/* A program or host as a part of a name: without slashes, dots that hide it, and the like. */
static void put_part(kymo_str *name, const char *text)
{
    size_t len = strnlen(text, 64);
    for (size_t i = 0; i < len; i++) {
        const char c = text[i];
        const int is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '-' || c == '_';
        kymo_str_append(name, is_plain ? &c : "_", 1);
    }
    kymo_str_puts(name, len ? "." : "_.");
}

void kymo_reporter_put_source(kymo_str *name, const struct kymo_agent_identity *who)
{
    put_part(name, who->program);
    put_part(name, who->host);
}

void kymo_reporter_put_name(kymo_str *name, const struct kymo_interval_profile *p)
{
    char stamp[KYMO_STAMP_MAX];
    kymo_reporter_put_source(name, p->who);
    kymo_str_printf(name, "%ld.%s.%llu", (long)p->who->pid, kymo_reporter_stamp(stamp, p->start_ns),
                    (unsigned long long)p->number);
}
