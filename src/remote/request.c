/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/request.h"

#include <stdlib.h>
#include <string.h>

#include "sys/proc_file.h"
#include "sys/write_all.h"

#define TOKEN_MAX 8192u
#define SHOWN_MAX 160u

kymo_str *kymo_request_header(struct kymo_request *r, const char *name)
{
    kymo_str *line = &r->headers[r->n_headers++];
    kymo_str_printf(line, "%s: ", name);
    return line;
}

/* ---- who sends it ---- */

static void put_base64(kymo_str *out, const char *text, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < len; i += 3) {
        const size_t n = len - i < 3 ? len - i : 3;
        uint32_t bits = 0;
        char four[] = "====";
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < n ? (unsigned char)text[i + k] : 0);
        for (size_t k = 0; k <= n; k++)
            four[k] = digits[bits >> (18 - 6 * k) & 63];
        kymo_str_append(out, four, 4);
    }
}

/* Either the token as it is, or as the password of a user. */
static void put_authorization(struct kymo_request *r, const char *user, const char *token,
                              size_t len)
{
    kymo_str *line = kymo_request_header(r, "Authorization");
    kymo_str pair = {0};
    if (!user[0]) {
        kymo_str_printf(line, "Bearer %.*s", (int)len, token);
        return;
    }
    kymo_str_printf(&pair, "%s:%.*s", user, (int)len, token);
    kymo_str_puts(line, "Basic ");
    put_base64(line, kymo_str_cstr(&pair), pair.len);
    line->failed |= pair.failed;
    kymo_str_deinit(&pair);
}

static kymo_err put_token(struct kymo_request *r, const char *path, const char *user,
                          kymo_error *detail)
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
                              "%.150s: it has no token, or cannot be read", path);
    put_authorization(r, user, text, len);
    explicit_bzero(text, sizeof text);
    return KYMO_OK;
}

kymo_err kymo_request_authorize(struct kymo_request *r, const struct kymo_http_target *target,
                                kymo_error *detail)
{
    if (target->tenant[0])
        kymo_str_puts(kymo_request_header(r, "X-Scope-OrgID"), target->tenant);
    return target->token_file[0] ? put_token(r, target->token_file, target->user, detail) : KYMO_OK;
}

/* ---- sending ---- */

static kymo_err refuse(const struct kymo_request *r, const struct kymo_http_answer *answer,
                       kymo_error *detail)
{
    const int is_redirect = answer->status >= 300 && answer->status < 400;
    const int is_for_good = answer->status >= 400 && !kymo_http_may_pass(answer->status);
    kymo_str why = {0};
    if (r->explain && !is_redirect)
        r->explain(answer, &why);
    kymo_err err = kymo_error_set(detail, is_for_good ? KYMO_E_INVALID : KYMO_E_IO, 0,
                                  "the server answers %d%s%s", answer->status,
                                  is_redirect   ? ": a redirect, which is not followed"
                                  : why.len > 0 ? ": "
                                                : "",
                                  kymo_str_cstr(&why));
    kymo_str_deinit(&why);
    return err;
}

kymo_err kymo_request_send(const struct kymo_request *r, struct kymo_http_answer *answer,
                           kymo_error *detail)
{
    const char *lines[KYMO_REQUEST_HEADERS_MAX];
    int failed = r->url.failed;
    for (size_t i = 0; i < r->n_headers; i++) {
        failed |= r->headers[i].failed;
        lines[i] = kymo_str_cstr(&r->headers[i]);
    }
    if (failed)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for a request");
    const struct kymo_http_request request = {.method = r->method,
                                              .url = kymo_str_cstr(&r->url),
                                              .headers = lines,
                                              .n_headers = r->n_headers,
                                              .body = r->body,
                                              .body_fd = r->body_fd,
                                              .body_bytes = r->body_bytes,
                                              .timeout_ms = r->timeout_ms};
    KYMO_TRY(kymo_http_send(&request, answer, detail));
    return answer->status >= 200 && answer->status < 300 ? KYMO_OK : refuse(r, answer, detail);
}

kymo_err kymo_request_post(struct kymo_request *r, const struct kymo_http_target *target,
                           const kymo_bytes *body, struct kymo_http_answer *answer,
                           kymo_error *detail)
{
    r->method = "POST";
    r->body = body->data;
    r->body_bytes = body->len;
    r->timeout_ms = target->timeout_ms;
    KYMO_TRY(kymo_request_authorize(r, target, detail));
    return kymo_request_send(r, answer, detail);
}

void kymo_request_deinit(struct kymo_request *r)
{
    kymo_str_deinit(&r->url);
    for (size_t i = 0; i < r->n_headers; i++)
        kymo_str_deinit(&r->headers[i]);
}

/* ---- bodies and answers ---- */

kymo_err kymo_request_take_file(kymo_bytes *body, const struct kymo_interval_profile *p,
                                uint64_t from, kymo_error *detail)
{
    unsigned char piece[16384];
    for (uint64_t at = from; at < p->bytes;) {
        const size_t n = p->bytes - at < sizeof piece ? (size_t)(p->bytes - at) : sizeof piece;
        if (kymo_read_all(p->fd, piece, n, at) != n)
            return kymo_error_set(detail, KYMO_E_IO, 0, "the profile cannot be read");
        if (kymo_bytes_append(body, piece, n) != KYMO_OK)
            return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for a request");
        at += n;
    }
    return KYMO_OK;
}

void kymo_request_put_text(kymo_str *to, const char *text, size_t len)
{
    char line[SHOWN_MAX];
    size_t n = kymo_utf8_copy(line, sizeof line, text, len < sizeof line ? len : sizeof line);
    n = kymo_text_make_printable(line, n);
    while (n > 0 && line[n - 1] == ' ')
        n--;
    kymo_str_append(to, line, n);
}
