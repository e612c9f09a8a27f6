/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - what libkymo-remote.so shows: one structure, see agent/reporter_remote.h.
 */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/reporter_remote.h"
#include "base/str.h"
#include "remote/cloud.h"
#include "remote/otlp_send.h"
#include "remote/put.h"
#include "remote/pyroscope.h"
#include "remote/s3.h"

/* The process is for this one call. A file of its memory would have keys in it; a connection that
 * the other side has closed is an error of a write, and no signal. */
static void prepare_process(void)
{
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    signal(SIGPIPE, SIG_IGN);
}

static kymo_err report(const struct kymo_reporter *r, const struct kymo_interval_profile *p,
                       kymo_error *detail)
{
    const char *prefix = r->kind->prefix;
    prepare_process();
    if (strcmp(prefix, "s3://") == 0)
        return kymo_s3_report(r, p, detail);
    if (kymo_str_starts(prefix, "pyroscope+"))
        return kymo_pyroscope_push(r, p, detail);
    if (kymo_str_starts(prefix, "pyroscope-ingest+"))
        return kymo_pyroscope_ingest(r, p, detail);
    if (kymo_str_starts(prefix, "otlp+"))
        return kymo_otlp_report(r, p, detail);
    return kymo_put_report(r, p, detail);
}

static kymo_err find_cloud(struct kymo_metadata *metadata, kymo_error *detail)
{
    prepare_process();
    return kymo_cloud_find(metadata, detail);
}

KYMO_API extern const struct kymo_reporter_module kymo_reporter_module;
const struct kymo_reporter_module kymo_reporter_module = {
    .abi = KYMO_REPORTER_MODULE_ABI,
    .version = KYMO_VERSION,
    .report = report,
    .find_cloud = find_cloud,
};
