/* SPDX-License-Identifier: Apache-2.0 */
/* import_fixture.h - what the tests of imported text formats share. */
#ifndef KYMO_TESTS_IMPORT_FIXTURE_H
#define KYMO_TESTS_IMPORT_FIXTURE_H

#include "kymo/import.h"
#include "kymo/report.h"
#include "profile_fixture.h"

static inline kymo_profile *import_text(const char *text)
{
    kymo_profile *p = NULL;
    kymo_error detail = {.message = ""};
    if (kymo_import_memory(text, strlen(text), &p, &detail) != KYMO_OK)
        fail_msg("%s", detail.message);
    return p;
}

static inline void assert_import_fails(const char *text, kymo_err err, const char *part)
{
    kymo_profile *p;
    kymo_error detail = {.message = ""};
    if (kymo_import_memory(text, strlen(text), &p, &detail) != err)
        fail_msg("wanted another error about %s, got \"%s\"", part, detail.message);
    if (!strstr(detail.message, part))
        fail_msg("no \"%s\" in \"%s\"", part, detail.message);
}

static inline void assert_row(const kymo_report *report, size_t at, const char *name, uint64_t self,
                              uint64_t total)
{
    size_t n;
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    assert_true(at < n);
    assert_string_equal(rows[at].name, name);
    assert_int_equal(rows[at].self, self);
    assert_int_equal(rows[at].total, total);
}

#endif
