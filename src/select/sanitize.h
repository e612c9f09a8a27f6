/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitize.h - text without what may be private: arguments, paths, URLs, texts, host names.
 *
 * Layer:    select; above base, profile
 * Flow:     copy_text.c -> [sanitize] -> the copy's strings
 * Threads:  one owner at a time
 * Memory:   kymo_sanitizer_destroy frees all of it
 * Signals:  not for handlers
 *
 * What is taken out becomes a placeholder with a number. Equal texts get equal placeholders, in the
 * order in which they come, so the same profile always becomes the same file.
 */
#ifndef KYMO_SELECT_SANITIZE_H
#define KYMO_SELECT_SANITIZE_H

#include "base/error.h"
#include "base/str.h"

/* What a piece of text is. */
typedef enum kymo_text_role {
    KYMO_TEXT_LITERAL, /* of Kymo, or of the machine's system: stays */
    KYMO_TEXT_CODE,    /* a name in the program's code, of a function, a category, a counter: URLs
                          become "[url]", absolute paths base names, the host's name "[host]" */
    KYMO_TEXT_NAME,    /* may be chosen at run time: stays if it looks like a name, else "name 1" */
    KYMO_TEXT_PATH,    /* of code: "dir1/FILE"; equal folders have equal numbers */
    KYMO_TEXT_FILE,    /* of data: "dir1/file 1" */
    KYMO_TEXT_PROGRAM, /* a path of a program: its base name */
    KYMO_TEXT_VALUE,   /* "text 1" */
    KYMO_TEXT_ROLE_COUNT
} kymo_text_role;

typedef struct kymo_sanitizer kymo_sanitizer;

/* hostname: no text holds it, nor its part up to the first dot; NULL: not known. */
KYMO_NODISCARD
kymo_err kymo_sanitizer_create(const char *hostname, kymo_sanitizer **out);
/* NULL is allowed. */
void kymo_sanitizer_destroy(kymo_sanitizer *sanitizer);

/* Appends what the text becomes to out. */
KYMO_NODISCARD
kymo_err kymo_sanitize(kymo_sanitizer *sanitizer, kymo_text_role role, const char *text, size_t len,
                       kymo_str *out);

#endif
