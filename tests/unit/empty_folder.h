/* SPDX-License-Identifier: Apache-2.0 */
/*
 * empty_folder.h - tests that write files: each works in an empty folder of its own.
 */
#ifndef KYMO_TESTS_EMPTY_FOLDER_H
#define KYMO_TESTS_EMPTY_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

/* The set-up and the teardown of such a test; *state is the folder's path. */
static inline int enter(void **state)
{
    char *folder = strdup("/tmp/kymo-unit-XXXXXX");
    *state = folder;
    return folder && mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static inline int leave(void **state)
{
    char command[128];
    int status = chdir("/");
    snprintf(command, sizeof command, "rm -rf %s", (char *)*state);
    status |= system(command);
    free(*state);
    return status;
}

static inline void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static inline void has(const char *path, const char *expected)
{
    char text[64] = "";
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("%s is missing", path);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(text, expected);
}

#endif
