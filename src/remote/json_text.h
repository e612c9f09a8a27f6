/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_text.h - takes texts out of the JSON that services answer.
 *
 * Layer:    remote
 * Flow:     answers -> [json_text] -> credentials.c, cloud.c
 * Threads:  one
 * Memory:   the caller's
 * Signals:  not for handlers
 */
#ifndef KYMO_REMOTE_JSON_TEXT_H
#define KYMO_REMOTE_JSON_TEXT_H

#include <string.h>

#include "base/json_read.h"

/* The string that follows, with a NUL; "" where it is longer than out. Another value is skipped. */
static inline void kymo_json_take_text(kymo_json_read *j, char *out, size_t cap)
{
    kymo_json_text text;
    out[0] = '\0';
    if (kymo_json_peek(j) != '"') {
        kymo_json_skip(j);
        return;
    }
    kymo_json_read_text(j, &text);
    if (!j->failed && text.len < cap)
        out[kymo_json_unescape(&text, out)] = '\0';
}

#endif
