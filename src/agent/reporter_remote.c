/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/reporter_remote.h"

#include <dlfcn.h>
#include <string.h>

#include "agent/reporter_target.h"
#include "launch/paths.h"

#ifdef KYMO_HAS_REMOTE
#define HAS_REMOTE 1
#else
#define HAS_REMOTE 0
#endif

#define MODULE_NAME "libkymo-remote.so"

static kymo_err find_module(char path[PATH_MAX], kymo_error *detail)
{
    if (!HAS_REMOTE)
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                              "this kymo was built without libcurl and libzip, which s3:// and "
                              "http:// need");
    return kymo_paths_library(MODULE_NAME, "remote", path, detail);
}

kymo_err kymo_reporter_module_load(const struct kymo_reporter_module **module, kymo_error *detail)
{
    char path[PATH_MAX];
    KYMO_TRY(find_module(path, detail));
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct kymo_reporter_module *m =
        handle ? dlsym(handle, KYMO_REPORTER_MODULE_SYMBOL) : NULL;
    if (!m) {
        const char *why = dlerror();
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0, "cannot load %s: %.180s", MODULE_NAME,
                              why ? why : "it is empty");
    }
    if (m->abi != KYMO_REPORTER_MODULE_ABI || strcmp(m->version, KYMO_VERSION) != 0)
        return kymo_error_set(detail, KYMO_E_VERSION, 0, "%s is of another version of Kymo",
                              MODULE_NAME);
    *module = m;
    return KYMO_OK;
}

static kymo_err report(const struct kymo_reporter *r, const struct kymo_interval_profile *p,
                       kymo_error *detail)
{
    const struct kymo_reporter_module *module;
    KYMO_TRY(kymo_reporter_module_load(&module, detail));
    return module->report(r, p, detail);
}

static kymo_err check_s3(const struct kymo_reporter *r, kymo_error *detail)
{
    struct kymo_s3_target target;
    char path[PATH_MAX];
    KYMO_TRY(kymo_s3_target_parse(r->target, &target, detail));
    return find_module(path, detail);
}

/* What its protocol carries is not for the user to choose. */
static kymo_err check_format(const struct kymo_reporter *r, kymo_error *detail)
{
    if (!strchr(r->kind->prefix, '+') || strcmp(r->extension, r->kind->extension) == 0)
        return KYMO_OK;
    return kymo_error_set(detail, KYMO_E_INVALID, 0,
                          "%s takes %s, and no other format=", r->kind->prefix,
                          r->kind->extension + 1);
}

static kymo_err check_http(const struct kymo_reporter *r, kymo_error *detail)
{
    KYMO_TRY(check_format(r, detail));
    struct kymo_http_target target;
    char path[PATH_MAX];
    KYMO_TRY(kymo_http_target_parse(r->kind->prefix, r->target, &target, detail));
    return find_module(path, detail);
}

const struct kymo_reporter_kind kymo_reporter_s3 = {
    .prefix = "s3://", .extension = ".jfr", .check = check_s3, .report = report, .is_remote = 1};
const struct kymo_reporter_kind kymo_reporter_http = {.prefix = "http://",
                                                      .extension = ".pb.gz",
                                                      .check = check_http,
                                                      .report = report,
                                                      .is_remote = 1};
const struct kymo_reporter_kind kymo_reporter_https = {.prefix = "https://",
                                                       .extension = ".pb.gz",
                                                       .check = check_http,
                                                       .report = report,
                                                       .is_remote = 1};

#define SERVER(scheme, ending, parts)                                                 \
    {                                                                                 \
        .prefix = scheme, .extension = ending, .check = check_http, .report = report, \
        .is_remote = 1, .in_parts = parts                                             \
    }
const struct kymo_reporter_kind kymo_reporter_servers[KYMO_REPORTER_SERVERS] = {
    SERVER("pyroscope+http://", ".pb.gz", 1),
    SERVER("pyroscope+https://", ".pb.gz", 1),
    SERVER("pyroscope-ingest+http://", ".pb.gz", 1),
    SERVER("pyroscope-ingest+https://", ".pb.gz", 1),
    SERVER("otlp+http://", ".otlp", 0),
    SERVER("otlp+https://", ".otlp", 0),
};
