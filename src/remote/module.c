/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - what libkymo-remote.so shows: one structure, see agent/reporter_remote.h.
 */
#include <string.h>
#include <sys/resource.h>

#include "agent/reporter_remote.h"
#include "remote/cloud.h"
#include "remote/put.h"
#include "remote/s3.h"

/* A file of the memory of this process would have keys in it. */
static void leave_no_core(void)
{
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
}

static kymo_err report(const struct kymo_reporter *r, const struct kymo_interval_profile *p,
                       kymo_error *detail)
{
    leave_no_core();
    return strcmp(r->kind->prefix, "s3://") == 0 ? kymo_s3_report(r, p, detail)
                                                 : kymo_put_report(r, p, detail);
}

KYMO_API extern const struct kymo_reporter_module kymo_reporter_module;
const struct kymo_reporter_module kymo_reporter_module = {
    .abi = KYMO_REPORTER_MODULE_ABI,
    .version = KYMO_VERSION,
    .report = report,
    .find_cloud = kymo_cloud_find,
};
