/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/str.h"
#include "kymo/encode.h"

#define DEFAULT_EXTENSION ".kymo"
#define LATEST "kymo.latest" DEFAULT_EXTENSION

/* The last component of the program, with what is safe in a file's name on any system. */
static void program_name(const char *program, char out[65])
{
    const char *slash = strrchr(program, '/');
    const char *from = slash ? slash + 1 : program;
    size_t n = 0;
    for (; *from && n < 64; from++) {
        int safe = (*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z') ||
                   (*from >= '0' && *from <= '9') || strchr("._+-", *from);
        out[n++] = safe ? *from : '_';
    }
    out[n] = '\0';
}

/* The default name; number 1 has no suffix. */
static kymo_err default_path(const char *folder, const kymo_output_names *names, int number,
                             const char *extension, char path[PATH_MAX], kymo_error *detail)
{
    char program[65];
    char suffix[16] = "";
    program_name(names->program, program);
    if (number > 1)
        snprintf(suffix, sizeof suffix, "-%d", number);
    int n = snprintf(path, PATH_MAX, "%s%skymo.%s.%d%s%s", strcmp(folder, ".") == 0 ? "" : folder,
                     strcmp(folder, ".") == 0 || kymo_str_ends(folder, "/") ? "" : "/", program,
                     (int)names->pid, suffix, extension);
    if (n >= PATH_MAX)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "%.100s: the name is too long", folder);
    return KYMO_OK;
}

static kymo_err free_path(const char *folder, const kymo_output_names *names, const char *extension,
                          char path[PATH_MAX], kymo_error *detail)
{
    for (int number = 1; number < 100000; number++) {
        struct stat st;
        KYMO_TRY(default_path(folder, names, number, extension, path, detail));
        if (lstat(path, &st) != 0)
            return KYMO_OK;
    }
    return kymo_error_set(detail, KYMO_E_EXISTS, 0, "%.150s: every number is taken", path);
}

/* Replaces %p %h %t and %%. *has_pid is set if there is a %p; without a pid it becomes 0. */
static kymo_err expand(const char *pattern, const kymo_output_names *names, char out[PATH_MAX],
                       int *has_pid, kymo_error *detail)
{
    kymo_str s = {0};
    kymo_err err = KYMO_OK;
    *has_pid = 0;
    for (const char *c = pattern; *c && err == KYMO_OK; c++) {
        char text[256];
        if (*c != '%') {
            kymo_str_append(&s, c, 1);
            continue;
        }
        switch (*++c) {
        case 'p':
            *has_pid = 1;
            kymo_str_printf(&s, "%d", (int)names->pid);
            break;
        case 'h':
            if (gethostname(text, sizeof text) != 0)
                strcpy(text, "localhost");
            text[sizeof text - 1] = '\0';
            kymo_str_puts(&s, text);
            break;
        case 't': {
            struct tm tm;
            localtime_r(&names->start, &tm);
            strftime(text, sizeof text, "%Y%m%d-%H%M%S", &tm);
            kymo_str_puts(&s, text);
            break;
        }
        case '%':
            kymo_str_append(&s, "%", 1);
            break;
        default:
            err = kymo_error_set(detail, KYMO_E_INVALID, (uint64_t)(c - pattern),
                                 "%.150s: %%%.1s means nothing; there are %%p, %%h, %%t and %%%%",
                                 pattern, c);
            c--; /* *c may be the end of the text */
        }
    }
    if (err == KYMO_OK && s.failed)
        err = kymo_error_set(detail, KYMO_E_NOMEM, 0, "out of memory");
    if (err == KYMO_OK && s.len >= PATH_MAX)
        err = kymo_error_set(detail, KYMO_E_INVALID, 0, "%.100s: the name is too long", pattern);
    if (err == KYMO_OK)
        memcpy(out, kymo_str_cstr(&s), s.len + 1);
    kymo_str_deinit(&s);
    return err;
}

static void folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (!slash) {
        strcpy(folder, ".");
    } else if (len == 0) {
        strcpy(folder, "/");
    } else {
        memcpy(folder, path, len);
        folder[len] = '\0';
    }
}

static kymo_err check_folder(const char *folder, kymo_error *detail)
{
    struct stat st;
    if (stat(folder, &st) != 0)
        return kymo_error_set_errno(detail, "folder %.150s", folder);
    if (!S_ISDIR(st.st_mode))
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "%.150s is not a folder", folder);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        return kymo_error_set_errno(detail, "folder %.150s cannot be written to", folder);
    return KYMO_OK;
}

static kymo_err check_extension(const char *path, int *is_recording, kymo_error *detail)
{
    *is_recording = kymo_str_ends(path, ".kymo");
    if (*is_recording || kymo_format_for_path(path))
        return KYMO_OK;
    kymo_str list = {0};
    for (size_t i = 0; kymo_format_at(i); i++)
        kymo_str_printf(&list, " %s", kymo_format_at(i)->extension);
    kymo_err err =
        kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0, "%.120s: unknown format; use%s or .kymo",
                       path, kymo_str_cstr(&list));
    kymo_str_deinit(&list);
    return err;
}

/* What is at path already, if it matters. */
static kymo_err check_existing(kymo_output *output, const char *path, kymo_error *detail)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        /* A link to nowhere is something that is there. */
        if (lstat(path, &st) != 0 || output->force)
            return KYMO_OK;
    } else if (!S_ISREG(st.st_mode)) {
        output->is_special = 1;
        if (S_ISDIR(st.st_mode))
            return kymo_error_set(detail, KYMO_E_EXISTS, 0, "%.150s is a folder", path);
        if (output->is_recording)
            return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                                  "%.150s: a recording is written to a file, not to a device",
                                  path);
        return KYMO_OK;
    }
    if (output->force)
        return KYMO_OK;
    return kymo_error_set(detail, KYMO_E_EXISTS, 0, "%.150s exists; -f overwrites it", path);
}

kymo_err kymo_output_check(kymo_output *output, const char *asked, int force,
                           const kymo_output_names *names, kymo_error *detail)
{
    struct stat st;
    int has_pid = 0;
    memset(output, 0, sizeof *output);
    output->asked = asked;
    output->force = force;
    if (!asked) {
        output->default_name = 1;
        output->is_recording = 1;
        strcpy(output->folder, ".");
        return check_folder(output->folder, detail);
    }
    if (!*asked)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "the name of the output is empty");
    if (strcmp(asked, "-") == 0)
        return kymo_error_set(
            detail, KYMO_E_UNSUPPORTED, 0,
            "-o -: standard output is the program's; record into a file, then kymo "
            "convert -o -");
    KYMO_TRY(expand(asked, names, output->path, &has_pid, detail));
    if (kymo_str_ends(output->path, "/") || (stat(output->path, &st) == 0 && S_ISDIR(st.st_mode))) {
        output->default_name = 1;
        output->is_recording = 1;
        if (has_pid)
            return kymo_error_set(detail, KYMO_E_INVALID, 0,
                                  "%.150s: a folder cannot be called by %%p: it must exist before "
                                  "the program runs",
                                  asked);
        memcpy(output->folder, output->path, sizeof output->folder);
        output->path[0] = '\0';
        return check_folder(output->folder, detail);
    }
    KYMO_TRY(check_extension(output->path, &output->is_recording, detail));
    const char *slash = strrchr(asked, '/');
    const char *pid = strstr(asked, "%p");
    folder_of(output->path, output->folder);
    if (slash && pid && pid < slash)
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "%.150s: a folder cannot be called by %%p: it must exist before the "
                              "program runs",
                              asked);
    KYMO_TRY(check_folder(output->folder, detail));
    if (has_pid) {
        output->path[0] = '\0';
        return KYMO_OK;
    }
    return check_existing(output, output->path, detail);
}

kymo_err kymo_output_check_plain(kymo_output *output, const char *path, int force,
                                 kymo_error *detail)
{
    memset(output, 0, sizeof *output);
    output->asked = path;
    output->force = force;
    if (!*path)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "the name of the output is empty");
    if (strlen(path) >= sizeof output->path)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "%.100s: the name is too long", path);
    strcpy(output->path, path);
    if (path[0] == '-' && (path[1] == '\0' || path[1] == '.')) {
        if (path[1] == '\0')
            strcpy(output->path, "-.folded");
        KYMO_TRY(check_extension(output->path, &output->is_recording, detail));
        output->is_stdout = 1;
        if (output->is_recording || kymo_str_ends(path, ".gz") || kymo_str_ends(path, ".jfr"))
            return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                                  "%.50s: standard output takes text; -o - is collapsed stacks, "
                                  "-o -.json a Firefox profile",
                                  path);
        return KYMO_OK;
    }
    KYMO_TRY(check_extension(path, &output->is_recording, detail));
    folder_of(path, output->folder);
    KYMO_TRY(check_existing(output, path, detail));
    return output->is_special ? KYMO_OK : check_folder(output->folder, detail);
}

kymo_err kymo_output_settle(kymo_output *output, const kymo_output_names *names, kymo_error *detail)
{
    int has_pid;
    if (output->default_name)
        return free_path(output->folder, names, DEFAULT_EXTENSION, output->path, detail);
    if (output->path[0])
        return KYMO_OK;
    KYMO_TRY(expand(output->asked, names, output->path, &has_pid, detail));
    return check_existing(output, output->path, detail);
}

kymo_err kymo_output_keep_path(const char *folder, const kymo_output_names *names,
                               char path[PATH_MAX], kymo_error *detail)
{
    return free_path(folder, names, ".kymo", path, detail);
}

kymo_err kymo_output_make_spool(const char *folder, const kymo_output_names *names,
                                kymo_spool *spool, kymo_error *detail)
{
    char program[65];
    program_name(names->program, program);
    return kymo_spool_create(spool, folder, program, detail);
}

kymo_err kymo_output_link_latest(const char *path, kymo_error *detail)
{
    char folder_path[PATH_MAX];
    char temporary[64];
    const char *slash = strrchr(path, '/');
    kymo_err err = KYMO_OK;
    struct stat st;
    folder_of(path, folder_path);
    /* Held open, since its path may lead elsewhere a moment later. */
    int folder = kymo_folder_open(folder_path);
    if (folder < 0)
        return kymo_error_set_errno(detail, "folder %.150s", folder_path);
    snprintf(temporary, sizeof temporary, "." LATEST ".%d", (int)getpid());
    (void)unlinkat(folder, temporary, 0);
    /* A file of this name that is not a link was not made by us, and is not replaced. */
    if (fstatat(folder, LATEST, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
        err = kymo_error_set(detail, KYMO_E_EXISTS, 0, "%.150s/" LATEST " is not a link",
                             folder_path);
    else if (symlinkat(slash ? slash + 1 : path, folder, temporary) != 0)
        err =
            errno == EPERM || errno == ENOSYS || errno == EOPNOTSUPP
                ? kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                                 "no %.150s/" LATEST " was made: this file system has no symbolic "
                                 "links (kymo report finds the latest recording without it)",
                                 folder_path)
                : kymo_error_set_errno(detail, "%.150s/" LATEST, folder_path);
    else if (renameat(folder, temporary, folder, LATEST) != 0)
        err = kymo_error_set_errno(detail, "%.150s/" LATEST, folder_path);
    if (err != KYMO_OK)
        (void)unlinkat(folder, temporary, 0);
    close(folder);
    return err;
}
