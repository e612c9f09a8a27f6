/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/imds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ENDPOINT "http://169.254.169.254"
#define TOKEN_HEADER "X-aws-ec2-metadata-token: "

static kymo_err take_status(const char *what, const struct kymo_http_answer *answer,
                            kymo_error *detail)
{
    if (answer->status == 200 && !answer->is_cut)
        return KYMO_OK;
    return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "%s answers %d%s", what, answer->status,
                          answer->is_cut ? ", and too much" : "");
}

kymo_err kymo_machine_get(const char *url, const char *header, struct kymo_http_answer *answer,
                          kymo_error *detail)
{
    const struct kymo_http_request request = {.method = "GET",
                                              .url = url,
                                              .headers = &header,
                                              .n_headers = header != NULL,
                                              .timeout_ms = KYMO_MACHINE_TIMEOUT_MS,
                                              .is_of_machine = 1};
    KYMO_TRY(kymo_http_send(&request, answer, detail));
    return take_status("the metadata service", answer, detail);
}

kymo_err kymo_imds_open(struct kymo_imds *imds, kymo_error *detail)
{
    static const char *const ttl = "X-aws-ec2-metadata-token-ttl-seconds: 300";
    static struct kymo_http_answer answer;
    char url[sizeof imds->base + 32];
    const char *disabled = getenv("AWS_EC2_METADATA_DISABLED");
    const char *endpoint = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    if (disabled && strcasecmp(disabled, "true") == 0)
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "AWS_EC2_METADATA_DISABLED is set");
    if (!endpoint || !endpoint[0])
        endpoint = ENDPOINT;
    size_t len = strlen(endpoint);
    while (len > 0 && endpoint[len - 1] == '/')
        len--;
    if (len >= sizeof imds->base)
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                              "AWS_EC2_METADATA_SERVICE_ENDPOINT is too long");
    memcpy(imds->base, endpoint, len);
    imds->base[len] = '\0';
    snprintf(url, sizeof url, "%s/latest/api/token", imds->base);
    const struct kymo_http_request request = {.method = "PUT",
                                              .url = url,
                                              .headers = &ttl,
                                              .n_headers = 1,
                                              .body = "",
                                              .timeout_ms = KYMO_MACHINE_TIMEOUT_MS,
                                              .is_of_machine = 1};
    if (kymo_http_send(&request, &answer, detail) != KYMO_OK)
        return KYMO_E_NOT_FOUND;
    KYMO_TRY(take_status("the instance metadata service", &answer, detail));
    /* A header of it: nothing but visible characters. */
    for (size_t i = 0; i < answer.len; i++)
        if (answer.text[i] <= ' ' || answer.text[i] > '~')
            answer.len = 0;
    if (answer.len == 0 || answer.len + sizeof TOKEN_HEADER > sizeof imds->token_header)
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                              "the instance metadata service gives a token that is none");
    snprintf(imds->token_header, sizeof imds->token_header, TOKEN_HEADER "%.*s", (int)answer.len,
             answer.text);
    return KYMO_OK;
}

kymo_err kymo_imds_get(const struct kymo_imds *imds, const char *path,
                       struct kymo_http_answer *answer, kymo_error *detail)
{
    char url[sizeof imds->base + 256];
    int n = snprintf(url, sizeof url, "%s%s", imds->base, path);
    if (n < 0 || (size_t)n >= sizeof url)
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "a path of metadata is too long");
    return kymo_machine_get(url, imds->token_header, answer, detail);
}
