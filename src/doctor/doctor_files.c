/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "arch/system.h"
#include "base/str.h"
#include "doctor/doctor_checks.h"
#include "launch/paths.h"
#include "sys/elf_target.h"

/* Below this a recording of some minutes may not fit. */
#define SPACE_WANTED (256ull << 20)

static void check_library(kymo_checks *checks, int alloc)
{
    kymo_check *check =
        kymo_checks_add(checks, alloc ? "libkymo-preload-alloc.so" : "libkymo-preload.so");
    char path[PATH_MAX];
    kymo_error detail;
    if (kymo_paths_preload(alloc, path, &detail) == KYMO_OK) {
        kymo_check_say(check, KYMO_CHECK_OK, "%.250s", path);
    } else {
        kymo_check_say(check, KYMO_CHECK_FAIL, "%s", detail.message);
        kymo_check_advise(check, "make install, or KYMO_PRELOAD=/path/to/libkymo-preload.so");
    }
}

/* Libraries that nearly every profile has, and the packages that bring their debug files. */
static const struct {
    const char *name;
    const char *places[3];
    const char *package;
} common[] = {
    {"debug file of libc",
     {"/lib/" KYMO_ARCH_TRIPLET "/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"},
     "libc6-dbg"},
    {"debug file of python3", {"/usr/bin/python3", NULL, NULL}, "python3-dbg"},
};

int kymo_doctor_debug_path(const char *file, char out[PATH_MAX])
{
    uint8_t id[64];
    size_t len = 0;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    kymo_err err = kymo_elf_target_build_id(fd, id, &len);
    close(fd);
    if (err != KYMO_OK || len < 2)
        return 0;
    int n = snprintf(out, PATH_MAX, "/usr/lib/debug/.build-id/%02x/", id[0]);
    for (size_t i = 1; i < len; i++)
        n += snprintf(out + n, PATH_MAX - (size_t)n, "%02x", id[i]);
    snprintf(out + n, PATH_MAX - (size_t)n, ".debug");
    return 1;
}

static void check_debug_files(kymo_checks *checks)
{
    for (size_t i = 0; i < KYMO_ARRAY_LEN(common); i++) {
        const char *file = NULL;
        char path[PATH_MAX];
        for (size_t p = 0; p < KYMO_ARRAY_LEN(common[i].places) && !file; p++)
            if (common[i].places[p] && access(common[i].places[p], R_OK) == 0)
                file = common[i].places[p];
        if (!file || !kymo_doctor_debug_path(file, path))
            continue; /* not installed, or a build without an id: there is nothing to look for */
        kymo_check *check = kymo_checks_add(checks, common[i].name);
        if (access(path, R_OK) == 0) {
            kymo_check_say(check, KYMO_CHECK_OK, "%.250s", path);
            continue;
        }
        kymo_check_say(check, KYMO_CHECK_INFO,
                       "none for %.80s: only exported functions are named, without lines", file);
        kymo_check_advise(check, "apt-get install %s", common[i].package);
    }
}

static void check_space(kymo_checks *checks, const char *name, const char *folder)
{
    kymo_check *check = kymo_checks_add(checks, name);
    struct statvfs fs;
    char text[32];
    if (statvfs(folder, &fs) != 0 || access(folder, W_OK | X_OK) != 0) {
        kymo_check_say(check, KYMO_CHECK_WARN, "%.180s cannot be written to: %s", folder,
                       strerror(errno));
        kymo_check_advise(check, "record elsewhere: kymo record -o DIR/ -- PROGRAM");
        return;
    }
    uint64_t bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    kymo_check_say(check, bytes < SPACE_WANTED ? KYMO_CHECK_WARN : KYMO_CHECK_OK,
                   "%s free in %.180s", kymo_format_bytes(text, bytes), folder);
    if (bytes < SPACE_WANTED)
        kymo_check_advise(check, "make room, or record elsewhere: kymo record -o DIR/ -- PROGRAM");
}

void kymo_doctor_check_files(kymo_checks *checks)
{
    char cwd[PATH_MAX];
    check_library(checks, 0);
    check_library(checks, 1);
    check_debug_files(checks);
    /* Nothing of a recording goes to TMPDIR. */
    check_space(checks, "space here", getcwd(cwd, sizeof cwd) ? cwd : ".");
}
