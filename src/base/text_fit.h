/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_fit.h - cuts a text that is too long, and not in the middle of a character.
 *
 * Layer:    base, for both halves
 * Signals:  safe
 */
#ifndef KYMO_BASE_TEXT_FIT_H
#define KYMO_BASE_TEXT_FIT_H

#include <stddef.h>

#define KYMO_UTF8_MORE 3u /* bytes behind a character's first, at most */

/* How much of a text fits into max bytes. Bytes that are no characters have no boundaries. */
static inline size_t kymo_text_fit(const char *text, size_t len, size_t max)
{
    if (len <= max)
        return len;
    size_t fit = max;
    for (unsigned i = 0; i < KYMO_UTF8_MORE && fit > 0; i++, fit--)
        if (((unsigned char)text[fit] & 0xc0) != 0x80)
            return fit;
    return ((unsigned char)text[fit] & 0xc0) == 0x80 ? max : fit;
}

#endif
