/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_tree.h - files of /proc and /sys as a machine has them, below a folder of the test's own.
 */
#ifndef KYMO_TESTS_MEMORY_TREE_H
#define KYMO_TESTS_MEMORY_TREE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "unit.h"

static char tree[64];

static inline int tree_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static inline int tree_begin(void **state)
{
    (void)state;
    strcpy(tree, "/tmp/kymo-memory-XXXXXX");
    return mkdtemp(tree) ? 0 : -1;
}

static inline int tree_end(void **state)
{
    (void)state;
    return nftw(tree, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* path begins with a slash; its folders are made. */
static inline void tree_put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", tree, path);
    for (char *slash = full + strlen(tree) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

#endif
