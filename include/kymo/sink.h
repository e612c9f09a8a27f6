/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - where bytes go.
 *
 * A sink is a structure that begins with kymo_sink; its write function converts back. Encoders
 * write into one piece by piece, so that an output never lies in memory as a whole.
 */
#ifndef KYMO_SINK_H
#define KYMO_SINK_H

#include <stddef.h>

#include "kymo/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* write takes all of the bytes or returns an error; after an error nothing more is written to the
 * sink. The bytes belong to the caller and are not used after write returns. */
typedef struct kymo_sink {
    kymo_err (*write)(struct kymo_sink *sink, const void *data, size_t len);
} kymo_sink;

#ifdef __cplusplus
}
#endif

#endif
