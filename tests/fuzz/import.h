/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h - gives bytes to the reader of one format, and looks at what it makes of them.
 */
#ifndef KYMO_TESTS_FUZZ_IMPORT_H
#define KYMO_TESTS_FUZZ_IMPORT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"
#include "kymo/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An error says what is wrong; a profile can be reported. */
static inline int fuzz_import(const char *name, const uint8_t *data, size_t size)
{
    const kymo_import_format *format = NULL;
    kymo_profile *profile = NULL;
    kymo_report *report = NULL;
    kymo_error detail = {.code = KYMO_OK};
    for (size_t i = 0; (format = kymo_import_format_at(i)) && strcmp(format->name, name) != 0; i++)
        ;
    kymo_err err = kymo_import_as(format, data, size, &profile, &detail);
    if (err != KYMO_OK && (detail.code != err || detail.message[0] == '\0') &&
        err != KYMO_E_NOMEM && err != KYMO_E_TOO_BIG)
        abort();
    if (err == KYMO_OK && kymo_report_create(profile, NULL, &report) == KYMO_OK)
        kymo_report_destroy(report);
    kymo_profile_destroy(profile);
    return 0;
}

#endif
