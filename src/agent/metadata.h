/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metadata.h - what is known of where a program runs: names with texts.
 *
 * Layer:    agent
 * Flow:     label=, metadata_find.c, src/remote/cloud.c -> [metadata] -> reporters
 * Threads:  one owner
 * Memory:   a structure of a fixed size without pointers, which a worker hands back in a file
 * Signals:  not for handlers
 *
 * Names are those of OpenTelemetry's resource attributes where it has one: host.id, cloud.region,
 * k8s.pod.name, container.id, aws.ecs.task.arn, service.name.
 */
#ifndef KYMO_AGENT_METADATA_H
#define KYMO_AGENT_METADATA_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define KYMO_METADATA_MAX 48u
#define KYMO_METADATA_NAME_MAX 64u
#define KYMO_METADATA_VALUE_MAX 448u

struct kymo_metadata {
    uint32_t n;
    struct {
        char name[KYMO_METADATA_NAME_MAX];
        char value[KYMO_METADATA_VALUE_MAX];
    } items[KYMO_METADATA_MAX];
};

/* Sets a name to a value, which is cut at its limit and made UTF-8 without control characters; one
 * that was there is replaced. An empty value sets nothing. KYMO_E_INVALID: no name, or one that is
 * too long or has more than letters, digits and . _ - /; KYMO_E_FULL. */
KYMO_NODISCARD
kymo_err kymo_metadata_put(struct kymo_metadata *metadata, const char *name, const char *value);
/* The same, for what others say: a name that cannot be set is left out. */
void kymo_metadata_offer(struct kymo_metadata *metadata, const char *name, const char *value);
/* NULL: it is not known. */
const char *kymo_metadata_get(const struct kymo_metadata *metadata, const char *name);
/* All of `more`, which replaces what has the same name. */
void kymo_metadata_add(struct kymo_metadata *metadata, const struct kymo_metadata *more);
/* NAME=VALUE,NAME=VALUE with percent signs, as in OTEL_RESOURCE_ATTRIBUTES. */
void kymo_metadata_offer_list(struct kymo_metadata *metadata, const char *list);
/* Whether it is as kymo_metadata_put leaves it; for one that comes from another process. */
int kymo_metadata_is_valid(const struct kymo_metadata *metadata);

#endif
