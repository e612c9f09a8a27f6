/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_symbols.h - makes a recording self-contained: the names of its code are put into it.
 *
 * Layer:    symbolize; above symbolize
 * Flow:     finished .kymo -> [store] -> the same with SYMBOLS blocks before its END
 * Threads:  one owner
 * Memory:   frees all that it took on return
 * Signals:  not for handlers; SIGINT, SIGTERM and SIGHUP wait while the file is written to
 */
#ifndef KYMO_SYMBOLIZE_STORE_SYMBOLS_H
#define KYMO_SYMBOLIZE_STORE_SYMBOLS_H

#include "symbolize/finish.h"

/* fd: the recording, open for reading and writing, and used by no other thread or process. A
 * recording that has no END block, or is damaged, stays as it is: its names are found when it is
 * reported. progress and detail may be NULL. On an error of writing (a full disk) the recording is
 * as it was, unless the END block cannot be written again, either: then it lacks that. */
KYMO_NODISCARD
kymo_err kymo_store_symbols(int fd, const kymo_finish_progress *progress, kymo_error *detail);

#endif
