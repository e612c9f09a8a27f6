/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_id.h - what tells agents and their profiles apart at a server that has many of them.
 *
 * Layer:    remote
 * Flow:     who is profiled -> [agent_id] -> s3_key.c, pyroscope.c
 * Threads:  one
 * Memory:   the caller's
 * Signals:  not for handlers
 */
#ifndef KYMO_REMOTE_AGENT_ID_H
#define KYMO_REMOTE_AGENT_ID_H

#include "agent/reporter.h"
#include "remote/sha256.h"

/* A hash of host, container, program and its start: the same for the life of an agent. Returns
 * out. */
const char *kymo_agent_id(const struct kymo_agent_identity *who, char out[KYMO_SHA256_HEX]);
/* The same for each try to deliver this profile, and another for each other profile. */
void kymo_profile_digest(const struct kymo_interval_profile *profile,
                         unsigned char out[KYMO_SHA256_BYTES]);
/* A text of metadata; NULL: it is not known. */
const char *kymo_agent_knows(const struct kymo_agent_identity *who, const char *name);
/* The service that is profiled: service.name, else the program's name. */
const char *kymo_agent_service(const struct kymo_agent_identity *who);

#endif
