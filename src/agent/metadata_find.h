/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metadata_find.h - finds out where the program runs: environment, files, services of the cloud.
 *
 * Layer:    agent
 * Flow:     agent.c -> [metadata_find] (in a worker) -> a file -> agent.c
 * Threads:  one
 * Memory:   the caller's structures
 * Signals:  not for handlers
 *
 * Later sources replace earlier ones: Kubernetes and container, cloud, OTEL_RESOURCE_ATTRIBUTES,
 * OTEL_SERVICE_NAME. What is not there is left out; nothing here is an error.
 */
#ifndef KYMO_AGENT_METADATA_FIND_H
#define KYMO_AGENT_METADATA_FIND_H

#include "agent/metadata.h"
#include "recorder/worker.h"

/* How long the services of a cloud may take. */
#define KYMO_METADATA_PATIENCE_NS 5000000000ull
#define KYMO_CONTAINER_ID_MAX 65u

/* The 64 hexadecimal digits by which Docker, containerd, CRI-O and ECS know a container, out of
 * /proc/self/cgroup, or of /proc/self/mountinfo where a cgroup namespace hides them. 0: none. */
int kymo_metadata_container_id(const char *cgroup, const char *mountinfo,
                               char out[KYMO_CONTAINER_ID_MAX]);

/* The worker: writes a kymo_metadata at the start of the file that *(const int *)context is. First
 * what takes no request, so that this is there if the rest takes too long. */
KYMO_NODISCARD
kymo_err kymo_metadata_find(void *context, struct kymo_worker_result *result);
/* Takes what the worker wrote; KYMO_E_CORRUPT: it is not whole. */
KYMO_NODISCARD
kymo_err kymo_metadata_take(int fd, struct kymo_metadata *metadata);

#endif
