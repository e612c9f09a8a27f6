/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

#define PRELOAD_NAME "libkymo-preload.so"

/* From the folder of the executable. The first two are an installation (bin/kymo beside
 * lib/kymo/), the last is a build tree (src/cli/kymo beside src/start/). */
static const char *const places[] = {
    "../" KYMO_INSTALL_LIBDIR "/kymo/" PRELOAD_NAME,
    "../lib/kymo/" PRELOAD_NAME,
    "../start/" PRELOAD_NAME,
};

static kymo_err accept(const char *path, char out[PATH_MAX], kymo_error *detail)
{
    char real[PATH_MAX];
    if (!realpath(path, real) || access(real, R_OK) != 0)
        return kymo_error_set_errno(detail, "%.150s", path);
    memcpy(out, real, strlen(real) + 1);
    return KYMO_OK;
}

int kymo_paths_preloadable(const char *path)
{
    return path[strcspn(path, " :")] == '\0';
}

kymo_err kymo_paths_link(const char *library, char link[PATH_MAX], kymo_error *detail)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || folder[0] != '/' || !kymo_paths_preloadable(folder) ||
        access(folder, W_OK | X_OK) != 0)
        folder = "/tmp";
    char made[PATH_MAX];
    int n = snprintf(made, sizeof made, "%s/kymo-XXXXXX", folder);
    if (n < 0 || (size_t)n + sizeof "/" PRELOAD_NAME > sizeof made)
        return kymo_error_set(detail, KYMO_E_RANGE, 0, "TMPDIR is too long");
    if (!mkdtemp(made))
        return kymo_error_set_errno(detail, "a link to %s in %.60s", PRELOAD_NAME, folder);
    snprintf(link, PATH_MAX, "%.*s/" PRELOAD_NAME, n, made);
    /* The program may run as somebody else, who is to reach it, too. */
    if (chmod(made, 0711) != 0 || symlink(library, link) != 0) {
        kymo_err err = kymo_error_set_errno(detail, "a link to %s in %.60s", PRELOAD_NAME, folder);
        rmdir(made);
        return err;
    }
    return KYMO_OK;
}

void kymo_paths_unlink(char link[PATH_MAX])
{
    if (!link[0])
        return;
    unlink(link);
    *strrchr(link, '/') = '\0';
    rmdir(link);
    link[0] = '\0';
}

kymo_err kymo_paths_preload(char out[PATH_MAX], kymo_error *detail)
{
    const char *named = getenv("KYMO_PRELOAD");
    if (named && *named) {
        kymo_error why;
        kymo_err err = accept(named, out, &why);
        if (err != KYMO_OK)
            return kymo_error_set(detail, err, 0, "KYMO_PRELOAD: %.200s", why.message);
        return KYMO_OK;
    }

    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0)
        return kymo_error_set_errno(detail, "/proc/self/exe");
    exe[n] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < KYMO_ARRAY_LEN(places); i++) {
        kymo_str path = {0};
        kymo_str_printf(&path, "%s/%s", exe, places[i]);
        int there = !path.failed && access(kymo_str_cstr(&path), F_OK) == 0;
        kymo_err err = there ? accept(kymo_str_cstr(&path), out, detail) : KYMO_E_NOT_FOUND;
        kymo_str_deinit(&path);
        if (there)
            return err;
    }
    return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                          "%s is not beside %.100s; install Kymo, or name it by KYMO_PRELOAD",
                          PRELOAD_NAME, exe);
}
