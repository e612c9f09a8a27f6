/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reporter_remote.h - reporters on the network, and the module that has their code.
 *
 * Layer:    agent
 * Flow:     deliver.c (in a worker) -> [reporter_remote] -> libkymo-remote.so (src/remote/)
 * Threads:  one
 * Memory:   the module is never unloaded: its process ends
 * Signals:  not for handlers
 *
 * HTTP, TLS and zip need three dozen libraries. They are in a module that only a worker loads, when
 * it delivers: the agent stays small, and a build without these libraries has all the rest.
 */
#ifndef KYMO_AGENT_REPORTER_REMOTE_H
#define KYMO_AGENT_REPORTER_REMOTE_H

#include "agent/metadata.h"
#include "agent/reporter.h"

/* Changed with this structure and all that it names. */
#define KYMO_REPORTER_MODULE_ABI 2u
#define KYMO_REPORTER_MODULE_SYMBOL "kymo_reporter_module"

/* The one symbol that the module shows. */
struct kymo_reporter_module {
    uint32_t abi;
    const char *version; /* of Kymo: a module of another build is not used */
    /* As kymo_reporter_kind.report. */
    kymo_err (*report)(const struct kymo_reporter *reporter,
                       const struct kymo_interval_profile *profile, kymo_error *detail);
    /* Adds what the services of a cloud say. KYMO_E_NOT_FOUND: there is none. */
    kymo_err (*find_cloud)(struct kymo_metadata *metadata, kymo_error *detail);
};

/* s3://BUCKET/PREFIX, http://HOST/PATH, https://HOST/PATH */
extern const struct kymo_reporter_kind kymo_reporter_s3;
extern const struct kymo_reporter_kind kymo_reporter_http;
extern const struct kymo_reporter_kind kymo_reporter_https;
/* Servers with a protocol of their own, each by http:// and https://: pyroscope+, pyroscope-ingest+
 * and otlp+. */
#define KYMO_REPORTER_SERVERS 6u
extern const struct kymo_reporter_kind kymo_reporter_servers[KYMO_REPORTER_SERVERS];

/* KYMO_E_UNSUPPORTED: this build has none; KYMO_E_VERSION: it is another build's. */
KYMO_NODISCARD
kymo_err kymo_reporter_module_load(const struct kymo_reporter_module **module, kymo_error *detail);

#endif
