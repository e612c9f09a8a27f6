/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cloud.h - asks the services of a cloud where the program runs.
 *
 * Layer:    remote
 * Flow:     agent/metadata_find.c -> [cloud] -> imds.c -> ECS, EC2
 * Threads:  one
 * Memory:   the caller's structures
 * Signals:  not for handlers
 *
 * ECS is asked first, when its variable is set: on Fargate there is no EC2 service, and to wait for
 * one takes a second.
 */
#ifndef KYMO_REMOTE_CLOUD_H
#define KYMO_REMOTE_CLOUD_H

#include "agent/metadata.h"

/* KYMO_E_NOT_FOUND: there is none, or it answers nothing of use. */
KYMO_NODISCARD
kymo_err kymo_cloud_find(struct kymo_metadata *metadata, kymo_error *detail);

/* The parsers of what they answer: an instance identity document, and a task of ECS's metadata
 * version 4. KYMO_E_CORRUPT: it is not JSON, or has no name of the instance or task. */
KYMO_NODISCARD
kymo_err kymo_cloud_take_instance(const char *json, size_t len, struct kymo_metadata *metadata);
KYMO_NODISCARD
kymo_err kymo_cloud_take_task(const char *json, size_t len, struct kymo_metadata *metadata);

#endif
