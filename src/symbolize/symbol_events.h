/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_events.h - what a profile knows of the names of code, as events of a recording.
 *
 * Layer:    symbolize; above profile
 * Flow:     a symbolized kymo_profile -> [symbol events] -> recording_write_symbols.c
 * Threads:  the profile's
 * Memory:   frees all that it took on return
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_SYMBOL_EVENTS_H
#define KYMO_SYMBOLIZE_SYMBOL_EVENTS_H

#include "base/error.h"
#include "kymo/profile.h"
#include "recording/events.h"

/* Every frame of the profile that lies in a file, once for each file and address, whether it has a
 * name or not. The handler needs no function but `symbols`. KYMO_E_NOMEM, or what the handler
 * returned. */
KYMO_NODISCARD
kymo_err kymo_symbol_events_send(const kymo_profile *profile, const kymo_event_handler *to,
                                 void *context);

#endif
