/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3.h - puts a profile into a store with the protocol of Amazon S3.
 *
 * Layer:    remote
 * Flow:     module.c -> [s3] -> credentials.c, pack.c, sigv4.c, http.c
 * Threads:  one
 * Memory:   the zip file, in its process
 * Signals:  not for handlers
 *
 * The key and the content of the zip file are those of async-profiler's agent for Rust, so that
 * what reads its profiles reads these:
 *
 *   PREFIX/profile_{GROUP}_{MACHINE}_{PID}_{2026-11-27T00-14-30Z}-{NUMBER}-{AGENT}.zip
 *     async_profiler_dump_0.jfr     or "profile" with the ending of another format
 *     metadata.json                 {"start":MS,"end":MS,"reporting_interval":MS,...}
 *
 * MACHINE is ec2_{ID}_, ecs_{ARN of the task, with - for / and _}_, onprem__ (it was looked for
 * where the program runs, and nothing found) or unknown__ (it was not). NUMBER and AGENT are ours:
 * theirs overwrite each other, when two agents with the same group and process id end in one
 * second, as containers on one machine can. AGENT is of the host, the container, the program and
 * its start. The key of a profile never changes, so a delivery that is tried again replaces itself.
 */
#ifndef KYMO_REMOTE_S3_H
#define KYMO_REMOTE_S3_H

#include "agent/reporter.h"
#include "agent/reporter_target.h"
#include "base/bytes.h"

struct kymo_s3_place {
    kymo_str url;  /* where the object goes */
    kymo_str host; /* with the port that is sent */
    kymo_str path; /* of the URL, percent-encoded once */
};

/* Appends the key, which is not encoded. */
void kymo_s3_put_key(kymo_str *key, const struct kymo_s3_target *target,
                     const struct kymo_interval_profile *profile);
/* Where a key is. endpoint "" is AWS. The strings are appended to: begin with a place of zeros. */
KYMO_NODISCARD
kymo_err kymo_s3_find_place(struct kymo_s3_place *place, const struct kymo_s3_target *target,
                            const char *endpoint, const char *region, const char *key,
                            kymo_error *detail);
/* It is one of zeros again. */
void kymo_s3_place_deinit(struct kymo_s3_place *place);
/* Writes metadata.json. */
KYMO_NODISCARD
kymo_err kymo_s3_write_metadata(const struct kymo_interval_profile *profile, kymo_sink *to);

/* As kymo_reporter_kind.report, of kymo_reporter_s3. */
KYMO_NODISCARD
kymo_err kymo_s3_report(const struct kymo_reporter *reporter,
                        const struct kymo_interval_profile *profile, kymo_error *detail);

#endif
