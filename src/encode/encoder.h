/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encoder.h - what the formats have in common: a profile, a sink, and how far they are.
 *
 * Layer:    encode; above profile
 * Flow:     kymo_encode -> [encoder] -> firefox.c, pprof.c, collapsed.c, svg.c
 * Threads:  one owner at a time
 * Memory:   nothing of its own
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_ENCODER_H
#define KYMO_ENCODE_ENCODER_H

#include "base/bytes.h"
#include "kymo/encode.h"
#include "profile/tables.h"

typedef struct kymo_encoder {
    const kymo_profile *profile; /* finished */
    kymo_sink *sink;
    kymo_error *detail;
    const kymo_encode_options *options; /* NULL: none */
    const uint64_t *bytes;              /* written so far, compressed */
    uint64_t done;                      /* units of work, as the format counts them */
    uint64_t total;
    uint64_t report_at;
} kymo_encoder;

/* What the functions of the table of formats look like. Each sets total and then counts its work.
 */
typedef kymo_err kymo_format_write(kymo_encoder *encoder);
kymo_format_write kymo_chrome_write;
kymo_format_write kymo_firefox_write;
kymo_format_write kymo_jfr_write;
kymo_format_write kymo_otlp_write;
kymo_format_write kymo_pprof_write;
kymo_format_write kymo_pstats_write;
kymo_format_write kymo_collapsed_write;
kymo_format_write kymo_svg_write;

/* Counts units of work and calls the progress function about 200 times in all; its wish to stop is
 * KYMO_E_INTERRUPTED. */
KYMO_NODISCARD
kymo_err kymo_encoder_step(kymo_encoder *encoder, uint64_t units);

/* The name that formats without a notion of "unknown" show where a sample has no stack. */
#define KYMO_NO_STACK_NAME "[no stack]"

/* A time as nanoseconds since the profile's zero; 0 for what was before. */
static inline uint64_t kymo_since_origin(const kymo_profile *profile, uint64_t time_ns)
{
    uint64_t origin = profile->meta.origin_monotonic_ns;
    return time_ns > origin ? time_ns - origin : 0;
}

/* The span of the recording, since the profile's zero: what meta says, and in any case all samples;
 * where meta says no end, all markers, counts and blocks, too. */
void kymo_encoder_range(const kymo_profile *profile, uint64_t *start_ns, uint64_t *end_ns);
/* The sample type that a format with one weight shows. */
uint32_t kymo_encoder_type(const kymo_encoder *encoder);
/* The type of the same name and unit in another profile, or KYMO_NONE. */
uint32_t kymo_encoder_type_like(const kymo_profile *profile, const kymo_sample_type *type);
/* Whether any sample is of this type. */
int kymo_encoder_has_type(const kymo_profile *profile, uint32_t type);
/* Whether any sample or block has no stack. */
int kymo_encoder_lacks_stacks(const kymo_profile *profile);

#endif
