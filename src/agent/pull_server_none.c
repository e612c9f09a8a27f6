/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pull_server_none.c - in place of pull_server.c, in a build without libmicrohttpd.
 */
#include "agent/pull.h"

kymo_err kymo_pull_check(kymo_error *detail)
{
    return kymo_error_set(
        detail, KYMO_E_UNSUPPORTED, 0,
        "--listen: this build has no HTTP server (libmicrohttpd-dev was missing)");
}

kymo_err kymo_pull_serve(void *context, struct kymo_worker_result *result)
{
    (void)context;
    return kymo_error_set(&result->error, KYMO_E_UNSUPPORTED, 0, "this build has no HTTP server");
}
