/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "memory/write.h"

void kymo_memory_put_fixed(kymo_str *out, int64_t value, unsigned digits)
{
    char text[24];
    uint64_t all = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t unit = 1;
    for (unsigned i = 0; i < digits; i++)
        unit *= 10;
    kymo_str_printf(out, "%s%" PRIu64, value < 0 ? "-" : "", all / unit);
    if (all % unit == 0)
        return;
    uint64_t part = all % unit;
    for (; part % 10 == 0; part /= 10)
        digits--;
    for (unsigned i = digits; i > 0; i--, part /= 10)
        text[i] = (char)('0' + part % 10);
    text[0] = '.';
    kymo_str_append(out, text, digits + 1);
}

void kymo_memory_put_quoted(kymo_str *out, const char *text)
{
    kymo_str_puts(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\n')
            kymo_str_puts(out, "\\n");
        else if (c < ' ' || c == 0x7f)
            kymo_str_puts(out, "\xef\xbf\xbd");
        else {
            if (c == '"' || c == '\\')
                kymo_str_puts(out, "\\");
            kymo_str_append(out, text, 1);
        }
    }
    kymo_str_puts(out, "\"");
}
