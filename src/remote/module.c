/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - what libkymo-remote.so shows: one structure, see agent/reporter_remote.h.
 */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/reporter_remote.h"
#include "remote/cloud.h"
#include "remote/put.h"
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
    prepare_process();
    return strcmp(r->kind->prefix, "s3://") == 0 ? kymo_s3_report(r, p, detail)
                                                 : kymo_put_report(r, p, detail);
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
