/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of the last write decides, not kymo.latest.kymo: the newest recording may have been
 * named with -o, there are file systems without links, and kymo diff needs the one before it as
 * well.
 */
#include "cli/latest.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "recorder/spool.h"

#define SUFFIX ".kymo"

static int is_before(const struct kymo_latest *a, const struct kymo_latest *b)
{
    if (a->written.tv_sec != b->written.tv_sec)
        return a->written.tv_sec > b->written.tv_sec;
    if (a->written.tv_nsec != b->written.tv_nsec)
        return a->written.tv_nsec > b->written.tv_nsec;
    return strcmp(a->name, b->name) > 0;
}

size_t kymo_latest_find(const char *folder, struct kymo_latest *out, size_t max)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        struct kymo_latest found = {{0}, {0, 0}};
        struct stat st;
        size_t at = n;
        if (!kymo_str_ends(entry->d_name, SUFFIX) ||
            kymo_str_ends(entry->d_name, KYMO_SPOOL_SUFFIX) ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        snprintf(found.name, sizeof found.name, "%s", entry->d_name);
        found.written = st.st_mtim;
        while (at > 0 && is_before(&found, &out[at - 1]))
            at--;
        if (at == max)
            continue;
        size_t moved = n < max ? n - at : max - at - 1;
        memmove(&out[at + 1], &out[at], moved * sizeof *out);
        out[at] = found;
        n += n < max;
    }
    if (dir)
        closedir(dir);
    return n;
}

int kymo_latest_take(unsigned command, int quiet, struct kymo_latest *storage, const char **file)
{
    if (kymo_latest_find(".", storage, 1) == 0)
        return kymo_usage_error(command, "missing FILE.kymo: this folder has no recording; kymo "
                                         "record -- PROGRAM makes one");
    *file = storage->name;
    if (!quiet)
        kymo_fprint(stderr, "kymo: the latest recording here: %s\n", storage->name);
    return -1;
}
