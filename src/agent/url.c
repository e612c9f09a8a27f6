/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/url.h"

#include <string.h>

static int is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static int is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           is_one_of(c, "-._~");
}

static kymo_err refuse(kymo_error *detail, const char *why)
{
    return kymo_error_set(detail, KYMO_E_INVALID, 0, "%s", why);
}

/* HOST, HOST:PORT, [IPV6] or [IPV6]:PORT */
static kymo_err parse_authority(struct kymo_url *url, kymo_error *detail)
{
    const char *at = url->authority.data;
    const char *end = at + url->authority.len;
    uint64_t port = url->is_https ? 443 : 80;
    if (url->authority.len > 0 && *at == '[') {
        const char *close = memchr(at, ']', url->authority.len);
        if (!close)
            return refuse(detail, "the URL has an address without its closing bracket");
        url->host = (struct kymo_url_part){at + 1, (size_t)(close - at - 1)};
        at = close + 1;
    } else {
        const char *colon = memchr(at, ':', url->authority.len);
        url->host = (struct kymo_url_part){at, (size_t)((colon ? colon : end) - at)};
        at += url->host.len;
    }
    for (size_t i = 0; i < url->host.len; i++)
        if (!is_unreserved(url->host.data[i]) && url->host.data[i] != ':')
            return refuse(detail, "the URL has a host that is none");
    if (url->host.len == 0 || url->host.len > 253)
        return refuse(detail, "the URL has no host");
    if (at < end &&
        (*at != ':' || kymo_parse_u64(at + 1, (size_t)(end - at - 1), &port) != KYMO_OK ||
         port == 0 || port > 65535))
        return refuse(detail, "the URL has a port that is none");
    url->port = (uint32_t)port;
    return KYMO_OK;
}

kymo_err kymo_url_parse(const char *text, struct kymo_url *url, kymo_error *detail)
{
    struct kymo_url u = {.is_https = kymo_str_starts(text, "https://")};
    if (!u.is_https && !kymo_str_starts(text, "http://"))
        return refuse(detail, "the URL does not begin with http:// or https://");
    for (const char *c = text; *c; c++)
        if (!is_unreserved(*c) && !is_one_of(*c, "%:/?@[]!$&'()*+,;="))
            return refuse(detail,
                          "the URL has a character that belongs encoded, as %20 is a space");
    const char *at = text + (u.is_https ? 8 : 7);
    u.authority = (struct kymo_url_part){at, strcspn(at, "/?")};
    if (memchr(at, '@', u.authority.len))
        return refuse(detail, "the URL has a user or password, which any user of the machine could "
                              "read; a token can come from a file: ?token-file=PATH");
    at += u.authority.len;
    u.path = (struct kymo_url_part){at, strcspn(at, "?")};
    at += u.path.len;
    if (*at == '?')
        at++;
    u.query = (struct kymo_url_part){at, strlen(at)};
    KYMO_TRY(parse_authority(&u, detail));
    *url = u;
    return KYMO_OK;
}

int kymo_url_next(struct kymo_url_part *rest, struct kymo_url_part *name,
                  struct kymo_url_part *value)
{
    while (rest->len > 0 && *rest->data == '&')
        *rest = (struct kymo_url_part){rest->data + 1, rest->len - 1};
    if (rest->len == 0)
        return 0;
    const char *end = memchr(rest->data, '&', rest->len);
    size_t len = end ? (size_t)(end - rest->data) : rest->len;
    const char *equals = memchr(rest->data, '=', len);
    size_t name_len = equals ? (size_t)(equals - rest->data) : len;
    *name = (struct kymo_url_part){rest->data, name_len};
    *value = (struct kymo_url_part){rest->data + name_len + (equals != NULL),
                                    len - name_len - (equals != NULL)};
    *rest = (struct kymo_url_part){rest->data + len, rest->len - len};
    return 1;
}

int kymo_url_is(struct kymo_url_part part, const char *word)
{
    return part.len == strlen(word) && memcmp(part.data, word, part.len) == 0;
}

void kymo_url_encode(kymo_str *out, const char *text, size_t len, const char *keep)
{
    for (size_t i = 0; i < len; i++) {
        if (is_unreserved(text[i]) || is_one_of(text[i], keep))
            kymo_str_append(out, &text[i], 1);
        else
            kymo_str_printf(out, "%%%02X", (unsigned)(unsigned char)text[i]);
    }
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

kymo_err kymo_url_decode(struct kymo_url_part part, char *out, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < part.len; i++) {
        char c = part.data[i];
        if (c == '%') {
            int high = part.len - i >= 3 ? digit_of(part.data[i + 1]) : -1;
            int low = part.len - i >= 3 ? digit_of(part.data[i + 2]) : -1;
            if (high < 0 || low < 0)
                return KYMO_E_INVALID;
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (c == '\0')
            return KYMO_E_INVALID;
        if (n + 1 >= cap)
            return KYMO_E_TOO_BIG;
        out[n++] = c;
    }
    if (n >= cap)
        return KYMO_E_TOO_BIG;
    out[n] = '\0';
    return KYMO_OK;
}
