/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "buffer/attach.h"

#define PRELOAD_NAME "libkymo-preload.so"
#define PRELOAD_ALLOC_NAME "libkymo-preload-alloc.so"

/* From the folder of the executable. The first two are an installation (bin/kymo beside
 * lib/kymo/), the last, with the folder's name behind it, is a build tree (src/cli/kymo beside
 * src/start/). */
static const char *const places[] = {
    "../" KYMO_INSTALL_LIBDIR "/kymo",
    "../lib/kymo",
    "../",
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
    size_t len = strcspn(path, " :");
    return path[len] == '\0' && len < KYMO_LIBRARY_PATH_MAX;
}

kymo_err kymo_paths_link(const char *library, char link[PATH_MAX], kymo_error *detail)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || folder[0] != '/' || !kymo_paths_preloadable(folder) ||
        access(folder, W_OK | X_OK) != 0)
        folder = "/tmp";
    char made[PATH_MAX];
    const char *name = strrchr(library, '/');
    name = name ? name + 1 : library;
    int n = snprintf(made, sizeof made, "%s/kymo-XXXXXX", folder);
    if (n < 0 || (size_t)n + 1 + strlen(name) >= sizeof made)
        return kymo_error_set(detail, KYMO_E_RANGE, 0, "TMPDIR is too long");
    if (!mkdtemp(made))
        return kymo_error_set_errno(detail, "a link to %.60s in %.60s", name, folder);
    snprintf(link, PATH_MAX, "%.*s/%s", n, made, name);
    /* The program may run as another user, who must be able to reach the link, too. */
    if (chmod(made, 0711) != 0 || symlink(library, link) != 0) {
        kymo_err err = kymo_error_set_errno(detail, "a link to %.60s in %.60s", name, folder);
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

/* What KYMO_PRELOAD names: with alloc, the other library beside it, if it is the one without. */
static kymo_err accept_named(const char *named, int alloc, char out[PATH_MAX], kymo_error *detail)
{
    size_t folder_len = strlen(named) - strlen(PRELOAD_NAME);
    if (!alloc || strlen(named) < strlen(PRELOAD_NAME) ||
        strcmp(named + folder_len, PRELOAD_NAME) != 0)
        return accept(named, out, detail);
    kymo_str path = {0};
    kymo_str_printf(&path, "%.*s" PRELOAD_ALLOC_NAME, (int)folder_len, named);
    kymo_err err = path.failed ? KYMO_E_NOMEM : accept(kymo_str_cstr(&path), out, detail);
    kymo_str_deinit(&path);
    return err;
}

kymo_err kymo_paths_library(const char *name, const char *folder, char out[PATH_MAX],
                            kymo_error *detail)
{
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
        const int is_build = i + 1 == KYMO_ARRAY_LEN(places);
        kymo_str_printf(&path, "%s/%s%s/%s", exe, places[i], is_build ? folder : "", name);
        int there = !path.failed && access(kymo_str_cstr(&path), F_OK) == 0;
        kymo_err err = there ? accept(kymo_str_cstr(&path), out, detail) : KYMO_E_NOT_FOUND;
        kymo_str_deinit(&path);
        if (there)
            return err;
    }
    return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "%s is not beside %.100s; install Kymo",
                          name, exe);
}

kymo_err kymo_paths_preload(int alloc, char out[PATH_MAX], kymo_error *detail)
{
    const char *named = getenv("KYMO_PRELOAD");
    const char *name = alloc ? PRELOAD_ALLOC_NAME : PRELOAD_NAME;
    if (named && *named) {
        kymo_error why = {0};
        kymo_err err = accept_named(named, alloc, out, &why);
        if (err != KYMO_OK)
            return kymo_error_set(detail, err, 0, "KYMO_PRELOAD: %.200s", why.message);
        return KYMO_OK;
    }

    kymo_error why = {0};
    kymo_err err = kymo_paths_library(name, "start", out, &why);
    if (err == KYMO_E_NOT_FOUND)
        return kymo_error_set(detail, err, 0, "%.200s, or name it by KYMO_PRELOAD", why.message);
    if (err != KYMO_OK && detail)
        *detail = why;
    return err;
}
