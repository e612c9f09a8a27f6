/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - a new profile with some of the rows of another one.
 *
 * Layer:    select; above profile
 * Flow:     kymo_profile -> [copy] -> kymo_profile -> encode/, views/
 * Threads:  one owner at a time
 * Memory:   the caller owns both profiles; neither refers to the other
 * Signals:  not for handlers
 *
 * The copy has what the kept rows refer to and nothing else: no name, path or text of a row that
 * was left out. Rows keep their order, so a copy of everything encodes to the same bytes.
 */
#ifndef KYMO_SELECT_COPY_H
#define KYMO_SELECT_COPY_H

#include "base/error.h"
#include "select/keep.h"
#include "select/sanitize.h"

/* A finished copy of a finished profile. A kept thread is one of a kept process. sanitizer: of
 * `from`; changes all text; NULL: text stays as it is. KYMO_E_NOMEM; what exceeds a table's limit
 * is KYMO_E_TOO_BIG. */
KYMO_NODISCARD
kymo_err kymo_profile_copy(const kymo_profile *from, const kymo_keep *keep,
                           kymo_sanitizer *sanitizer, kymo_profile **out);

#endif
