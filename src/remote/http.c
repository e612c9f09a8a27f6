/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/http.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/url.h"
#include "base/str.h"
#include "sys/write_all.h"

#define CONNECT_MS 10000
/* Less than a byte a second for so long is a connection that stands. */
#define STALL_S 15

struct upload {
    const struct kymo_http_request *request;
    uint64_t at;
};

static size_t read_body(char *to, size_t size, size_t count, void *context)
{
    struct upload *u = context;
    const uint64_t left = u->request->body_bytes - u->at;
    const size_t n = size * count < left ? size * count : (size_t)left;
    if (u->request->body)
        memcpy(to, (const char *)u->request->body + u->at, n);
    else if (kymo_read_all(u->request->body_fd, to, n, u->at) != n)
        return CURL_READFUNC_ABORT;
    u->at += n;
    return n;
}

static int seek_body(void *context, curl_off_t offset, int origin)
{
    struct upload *u = context;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > u->request->body_bytes)
        return CURL_SEEKFUNC_FAIL;
    u->at = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* Ends a transfer that is longer than what is wanted of it: a hostile one may have no end. */
static size_t take_answer(char *data, size_t size, size_t count, void *context)
{
    struct kymo_http_answer *a = context;
    const size_t room = sizeof a->text - 1 - a->len;
    const size_t n = size * count < room ? size * count : room;
    memcpy(a->text + a->len, data, n);
    a->len += n;
    a->is_cut = n < size * count;
    return a->is_cut ? 0 : n;
}

/* The value of a header of this name, trimmed; 0: it is another, or longer. */
static int header_is(const char *line, size_t len, const char *name, char *out, size_t cap)
{
    const size_t name_len = strlen(name);
    if (len <= name_len || strncasecmp(line, name, name_len) != 0 || line[name_len] != ':')
        return 0;
    const char *value = line + name_len + 1;
    const char *end = line + len;
    while (value < end && *value == ' ')
        value++;
    while (end > value && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
        end--;
    if ((size_t)(end - value) >= cap)
        return 0;
    memcpy(out, value, (size_t)(end - value));
    out[end - value] = '\0';
    return 1;
}

static size_t take_header(char *line, size_t size, size_t count, void *context)
{
    struct kymo_http_answer *a = context;
    char date[64];
    if (header_is(line, size * count, "date", date, sizeof date)) {
        const time_t time = curl_getdate(date, NULL);
        a->date_s = time > 0 ? time : 0;
    }
    (void)header_is(line, size * count, "x-amz-bucket-region", a->region, sizeof a->region);
    return size * count;
}

static int set_headers(const struct kymo_http_request *r, struct curl_slist **list)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        struct curl_slist *longer = curl_slist_append(*list, r->headers[i]);
        if (!longer)
            return 0;
        *list = longer;
    }
    /* A large body would wait for a server's "100 Continue", which some never send. */
    struct curl_slist *longer = curl_slist_append(*list, "Expect:");
    if (longer)
        *list = longer;
    return longer != NULL;
}

static void set_certificates(CURL *curl)
{
    const char *file = getenv("CURL_CA_BUNDLE");
    const char *folder = getenv("SSL_CERT_DIR");
    if (!file || !file[0])
        file = getenv("SSL_CERT_FILE");
    if (file && file[0])
        curl_easy_setopt(curl, CURLOPT_CAINFO, file);
    if (folder && folder[0])
        curl_easy_setopt(curl, CURLOPT_CAPATH, folder);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
}

static void set_bounds(CURL *curl, const struct kymo_http_request *r)
{
    const long timeout_ms = (long)r->timeout_ms;
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                     timeout_ms < CONNECT_MS ? timeout_ms : (long)CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALL_S);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    if (r->is_of_machine)
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
}

static void set_request(CURL *curl, const struct kymo_http_request *r, struct upload *upload,
                        struct kymo_http_answer *answer, const struct curl_slist *headers)
{
    curl_easy_setopt(curl, CURLOPT_URL, r->url);
    /* What is signed is what is sent: "/a/../b" stays. */
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "kymo/" KYMO_VERSION);
    if (strcmp(r->method, "GET") != 0) {
        curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, r->method);
        curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->body_bytes);
        curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_body);
        curl_easy_setopt(curl, CURLOPT_READDATA, upload);
        curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_body);
        curl_easy_setopt(curl, CURLOPT_SEEKDATA, upload);
    }
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, answer);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
}

static kymo_err say_failed(const struct kymo_url *url, CURLcode code, char text[CURL_ERROR_SIZE],
                           kymo_error *detail)
{
    const kymo_err err = code == CURLE_OPERATION_TIMEDOUT ? KYMO_E_TIMEOUT
                         : code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL
                             ? KYMO_E_INVALID
                         : code == CURLE_OUT_OF_MEMORY ? KYMO_E_NOMEM
                                                       : KYMO_E_IO;
    if (!text[0])
        strcpy(text, curl_easy_strerror(code));
    text[kymo_text_make_printable(text, strlen(text))] = '\0';
    return kymo_error_set(detail, err, 0, "%.*s: %.150s",
                          url->authority.len < 70 ? (int)url->authority.len : 70,
                          url->authority.data, text);
}

kymo_err kymo_http_send(const struct kymo_http_request *r, struct kymo_http_answer *answer,
                        kymo_error *detail)
{
    struct kymo_url url;
    struct upload upload = {r, 0};
    struct curl_slist *headers = NULL;
    char text[CURL_ERROR_SIZE] = "";
    long status = 0;
    KYMO_TRY(kymo_url_parse(r->url, &url, detail));
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "libcurl does not start");
    CURL *curl = curl_easy_init();
    if (!curl || !set_headers(r, &headers)) {
        curl_easy_cleanup(curl);
        curl_slist_free_all(headers);
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for a request");
    }
    answer->status = 0;
    answer->date_s = 0;
    answer->region[0] = '\0';
    answer->len = 0;
    answer->is_cut = 0;
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, text);
    set_bounds(curl, r);
    set_certificates(curl);
    set_request(curl, r, &upload, answer, headers);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    answer->text[answer->len] = '\0';
    answer->status = (int)status;
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && answer->is_cut))
        return KYMO_OK;
    return say_failed(&url, code, text, detail);
}

int kymo_http_may_pass(int status)
{
    return status == 408 || status == 425 || status == 429 || status >= 500;
}
