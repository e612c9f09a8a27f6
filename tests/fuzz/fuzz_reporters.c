/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reporters on the network read: targets, lists of attributes, files of AWS's tools, answers
 * of services and servers, files of OTLP. The first byte says which.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/metadata.h"
#include "agent/reporter_target.h"
#include "agent/url.h"
#include "remote/cloud.h"
#include "remote/credentials.h"
#include "remote/otlp_send.h"
#include "remote/pyroscope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct kymo_metadata metadata;
static struct kymo_aws_credentials keys;

static void targets(const char *text)
{
    struct kymo_s3_target s3;
    struct kymo_http_target http;
    struct kymo_url url;
    if (kymo_s3_target_parse(text, &s3, NULL) == KYMO_OK &&
        (strlen(s3.bucket) < 3 || (s3.endpoint[0] && kymo_url_parse(s3.endpoint, &url, NULL))))
        abort();
    /* What is left when ours is taken out is a URL, too. */
    if (kymo_http_target_parse("https://", text, &http, NULL) == KYMO_OK &&
        (kymo_url_parse(http.url, &url, NULL) != KYMO_OK || !url.is_https))
        abort();
    if (kymo_http_target_parse("otlp+http://", text, &http, NULL) == KYMO_OK &&
        (kymo_url_parse(http.url, &url, NULL) != KYMO_OK || url.query.len > 0))
        abort();
}

/* What servers answer is shown as one line without control characters. */
static void answers(const char *text, size_t len)
{
    kymo_str said = {0};
    (void)kymo_otlp_take_answer(text, len, &said);
    kymo_otlp_take_status(text, len, &said);
    kymo_pyroscope_explain(text, len, &said);
    for (size_t i = 0; i < said.len; i++)
        if ((unsigned char)said.data[i] < 0x20)
            abort();
    kymo_str_deinit(&said);
}

/* A file that is sent as OTLP, of an encoder that may have failed. */
static void request(const char *text, size_t len)
{
    const struct kymo_agent_identity who = {.program = "p", .host = "h", .pid = 1};
    struct kymo_interval_profile profile = {.bytes = len, .who = &who};
    kymo_bytes body;
    kymo_bytes_init(&body, SIZE_MAX);
    profile.fd = memfd_create("profile", MFD_CLOEXEC);
    if (profile.fd >= 0 && write(profile.fd, text, len) == (ssize_t)len)
        (void)!kymo_otlp_put_request(&body, &profile, NULL);
    if (profile.fd >= 0)
        close(profile.fd);
    kymo_bytes_deinit(&body);
}

/* Nothing that could end a header. */
static void check_key(const char *key)
{
    for (; *key; key++)
        if (*key <= ' ' || *key > '~')
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    memset(&metadata, 0, sizeof metadata);
    memset(&keys, 0, sizeof keys);
    switch (data[0]) {
    case 't':
        targets(text);
        break;
    case 'l':
        kymo_metadata_offer_list(&metadata, text);
        break;
    case 'f':
        kymo_aws_file_take(text, "default", &keys);
        break;
    case 'k':
        if (kymo_aws_answer_take(text, size - 1, &keys) == KYMO_OK && !keys.secret[0])
            abort();
        break;
    case 'i':
        (void)!kymo_cloud_take_instance(text, size - 1, &metadata);
        break;
    case 'e':
        (void)!kymo_cloud_take_task(text, size - 1, &metadata);
        break;
    case 'a':
        answers(text, size - 1);
        break;
    case 'o':
        request(text, size - 1);
        break;
    default:
        break;
    }
    check_key(keys.access);
    check_key(keys.secret);
    check_key(keys.token);
    if (!kymo_metadata_is_valid(&metadata))
        abort();
    free(text);
    return 0;
}
