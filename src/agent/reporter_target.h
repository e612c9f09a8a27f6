/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reporter_target.h - what the target of a reporter on the network says, before anything of it is
 * loaded.
 *
 * Layer:    agent
 * Flow:     reporter= -> [reporter_target] -> reporter_remote.c (to check it), src/remote/
 * Threads:  any
 * Memory:   the caller's structures
 * Signals:  not for handlers
 *
 *   s3://BUCKET/PREFIX?region=R&endpoint=URL&style=path|virtual&owner=ACCOUNT&group=NAME&timeout=T
 *   http(s)://HOST/PATH?method=PUT|POST&token-file=FILE&timeout=T&...
 *   pyroscope+http(s)://HOST/PATH?tenant=NAME&user=NAME&token-file=FILE&timeout=T
 *   pyroscope-ingest+..., otlp+...: the same
 *
 * Values are percent-decoded; bucket and prefix are taken as they are, as other tools for S3 do.
 * Parameters of a plain HTTP target that are not ours stay in its URL. A server with a protocol of
 * its own has its usual port, where an http:// target names none.
 */
#ifndef KYMO_AGENT_REPORTER_TARGET_H
#define KYMO_AGENT_REPORTER_TARGET_H

#include "agent/reporter.h"

#define KYMO_TARGET_TIMEOUT_MS 50000u

enum kymo_s3_style {
    KYMO_S3_AUTO,    /* virtual on AWS, path with an endpoint */
    KYMO_S3_PATH,    /* https://HOST/BUCKET/KEY */
    KYMO_S3_VIRTUAL, /* https://BUCKET.HOST/KEY */
};

struct kymo_s3_target {
    char bucket[64];
    char prefix[KYMO_REPORTER_TARGET_MAX]; /* of keys; "" or with a slash at its end */
    char region[40];                       /* "": where the environment or the machine says */
    char endpoint[512];                    /* a URL; "": the environment's, or AWS */
    char owner[16];                        /* the account that the bucket must be of; "": any */
    char group[128];                       /* "": the program's name */
    enum kymo_s3_style style;
    uint32_t timeout_ms;
};

struct kymo_http_target {
    char url[KYMO_REPORTER_TARGET_MAX + 24]; /* without what is for us */
    char token_file[512];                    /* "": no token */
    char user[256];                          /* whose password the token is; "": Bearer */
    char tenant[256];                        /* "": none is named */
    int is_post;
    uint32_t timeout_ms;
};

/* text: behind "s3://". */
KYMO_NODISCARD
kymo_err kymo_s3_target_parse(const char *text, struct kymo_s3_target *target, kymo_error *detail);
/* text: behind the scheme, "https://", "http://", or one of kymo_reporter_servers. The URL of one
 * of these ends with no slash, and has no query. */
KYMO_NODISCARD
kymo_err kymo_http_target_parse(const char *scheme, const char *text,
                                struct kymo_http_target *target, kymo_error *detail);

/* Whether it can be the name of a region, which is a part of the name of a host. */
int kymo_s3_is_region(const char *text);

#endif
