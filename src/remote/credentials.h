/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.h - finds keys for AWS where its tools look for them.
 *
 * Layer:    remote
 * Flow:     environment, files, services of the machine -> [credentials] -> s3.c
 * Threads:  one
 * Memory:   the caller's structure
 * Signals:  not for handlers
 *
 * In this order: AWS_ACCESS_KEY_ID and the like, AWS's files, the container's service (ECS, EKS),
 * the instance's (EC2). They are looked for anew for each delivery, which is a process of its own:
 * none is kept until it expires. No error has any of a key in it.
 */
#ifndef KYMO_REMOTE_CREDENTIALS_H
#define KYMO_REMOTE_CREDENTIALS_H

#include <stddef.h>

#include "base/error.h"

#define KYMO_AWS_TOKEN_MAX 16384u

struct kymo_aws_credentials {
    char access[256];
    char secret[256];
    char token[KYMO_AWS_TOKEN_MAX]; /* "": none, as for keys that do not expire */
    char region[40];                /* of the file of settings; "": none */
};

/* KYMO_E_NOT_FOUND: nothing has any; detail says what the last place said. */
KYMO_NODISCARD
kymo_err kymo_aws_credentials_find(struct kymo_aws_credentials *credentials, kymo_error *detail);

/* Takes what the section of a file of AWS's has: "[NAME]", or "[profile NAME]", with lines
 * KEY = VALUE. What is not there stays. */
void kymo_aws_file_take(const char *text, const char *section,
                        struct kymo_aws_credentials *credentials);
/* Takes the answer of a service of the machine. KYMO_E_CORRUPT: it is none, or has no keys. */
KYMO_NODISCARD
kymo_err kymo_aws_answer_take(const char *json, size_t len,
                              struct kymo_aws_credentials *credentials);
/* Whether a URL is one that credentials may be asked of: https, or a service of this machine. */
int kymo_aws_may_ask(const char *url);

#endif
