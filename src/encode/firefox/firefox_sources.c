/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_sources.c - the table of source files, with the text of those that were sampled.
 *
 * The viewer shows the lines of a function with their times if it has the source text. It cannot
 * request the text, so the file contains it: for the files with the most self time, up to
 * SOURCE_MAX.
 *
 * Paths come from the debug information of a recorded program, or from another user's recording,
 * and may name any file. So a file is read only under these conditions: its name ends like source
 * code, and so does its real path, without dots and links; all users may read it; all users may
 * enter its folders, or the user who encodes owns them (root owns everything: for root, others must
 * have access); and it is not newer than the recording, whose lines would differ.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/sum.h"
#include "encode/firefox/firefox.h"
#include "encode/json_table.h"

#define SOURCE_MAX (4u << 20) /* bytes of text in all */

/* ---- selection of files ---- */

static int is_source_name(const char *path)
{
    static const char *const ends[] = {
        ".c",     ".h",    ".cc", ".hh",    ".cpp", ".hpp", ".cxx", ".hxx", ".inc", ".inl",
        ".tcc",   ".S",    ".s",  ".y",     ".l",   ".rs",  ".go",  ".d",   ".nim", ".zig",
        ".swift", ".m",    ".mm", ".f",     ".f90", ".F90", ".adb", ".ads", ".pas", ".ml",
        ".hs",    ".cr",   ".py", ".pyx",   ".js",  ".mjs", ".ts",  ".php", ".rb",  ".lua",
        ".pl",    ".java", ".kt", ".scala", ".cs",  ".jl",  ".erl", ".ex",
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(ends); i++)
        if (kymo_str_ends(path, ends[i]))
            return 1;
    /* Headers of the C++ library have no ending: /usr/include/c++/12/vector. */
    return kymo_str_starts(path, "/usr/include/");
}

static int may_show(const kymo_firefox *w, const struct stat *st)
{
    uint64_t end_ns = w->p->meta.origin_realtime_ns + w->end_ns;
    return S_ISREG(st->st_mode) && (st->st_mode & S_IROTH) && st->st_mtime >= 0 &&
           (uint64_t)st->st_mtime * 1000000000u + (uint64_t)st->st_mtim.tv_nsec <= end_ns;
}

static int may_enter(const char *folder)
{
    struct stat st;
    uid_t user = geteuid();
    return stat(folder, &st) == 0 && ((st.st_mode & S_IXOTH) || (user != 0 && st.st_uid == user));
}

/* Checks all folders of a path without links; the path must be unchanged afterwards. */
static int may_reach(char *path)
{
    int is_allowed = may_enter("/");
    for (char *end = strchr(path + 1, '/'); end && is_allowed; end = strchr(end + 1, '/')) {
        *end = '\0';
        is_allowed = may_enter(path);
        *end = '/';
    }
    return is_allowed;
}

/* Whether an open file is at a permitted path, and is still at that path. */
static int is_shown_place(int fd, const struct stat *st)
{
    char link[32];
    char path[PATH_MAX];
    struct stat there;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path);
    if (len <= 0 || (size_t)len >= sizeof path)
        return 0;
    path[len] = '\0';
    return path[0] == '/' && is_source_name(path) && may_reach(path) && lstat(path, &there) == 0 &&
           there.st_dev == st->st_dev && there.st_ino == st->st_ino;
}

/* -1: it must not be shown. Opens only plain files: opening others may have side effects. */
static int open_source(const kymo_firefox *w, const char *path, struct stat *st)
{
    if (path[0] != '/' || !is_source_name(path) || stat(path, st) != 0 || !may_show(w, st))
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fstat(fd, st) == 0 && may_show(w, st) && is_shown_place(fd, st))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

struct candidate {
    uint32_t source;
    uint64_t self_ns;
};

static int compare(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;
    if (x->self_ns != y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    return (x->source > y->source) - (x->source < y->source);
}

/* The self time of each file. */
static void sum_self(const kymo_firefox *w, struct candidate *list)
{
    const kymo_profile *p = w->p;
    for (size_t t = 0; t < p->threads.len; t++) {
        const kymo_sample_columns *s = &p->samples.data[t];
        for (size_t i = 0; i < s->count; i++) {
            if (s->stack[i] == KYMO_NONE)
                continue;
            const kymo_frame *f = &p->frames.data[p->stack_frame.data[s->stack[i]]];
            if (f->line_count == 0)
                continue;
            uint32_t function = p->lines.data[f->first_line].function;
            uint32_t source = p->functions.data[function].source;
            if (source != KYMO_NONE)
                list[source].self_ns = kymo_sum(list[source].self_ns, s->weight_ns[i]);
        }
    }
}

/* By source: how many bytes are read; 0: not read. */
static kymo_err choose(const kymo_firefox *w, uint32_t *bytes)
{
    size_t n = w->p->sources.len;
    uint64_t left = SOURCE_MAX;
    struct candidate *list = calloc(n + 1, sizeof *list);
    if (!list)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        list[i].source = i;
    sum_self(w, list);
    if (n > 1)
        qsort(list, n, sizeof *list, compare);
    for (size_t i = 0; i < n && list[i].self_ns > 0; i++) {
        struct stat st;
        int fd = open_source(w, kymo_profile_source(w->p, list[i].source), &st);
        if (fd < 0)
            continue;
        close(fd);
        if (st.st_size <= 0 || (uint64_t)st.st_size > left)
            continue;
        bytes[list[i].source] = (uint32_t)st.st_size;
        left -= (uint64_t)st.st_size;
    }
    free(list);
    return KYMO_OK;
}

/* ---- text ---- */

/* The file may have been replaced since it was chosen. Returns how much was read. */
static size_t read_text(const kymo_firefox *w, const char *path, char *text, size_t most)
{
    struct stat st;
    size_t len = 0;
    int fd = open_source(w, path, &st);
    if (fd < 0)
        return 0;
    while (len < most) {
        ssize_t n = read(fd, text + len, most - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    close(fd);
    return len;
}

static kymo_err put_text(kymo_firefox *w, const char *path, uint32_t bytes)
{
    char *text = malloc((size_t)bytes + 1);
    size_t cap = 3 * (size_t)bytes + 1; /* each byte that is not UTF-8 becomes three */
    char *shown = malloc(cap);
    if (!text || !shown) {
        free(text);
        free(shown);
        return KYMO_E_NOMEM;
    }
    size_t len = read_text(w, path, text, bytes);
    if (len == 0 || memchr(text, '\0', len))
        kymo_json_null(w->json);
    else
        kymo_json_string(w->json, shown, kymo_utf8_copy(shown, cap, text, len));
    free(text);
    free(shown);
    return KYMO_OK;
}

static kymo_err put_content(kymo_firefox *w)
{
    size_t n = w->p->sources.len;
    const kymo_encode_options *options = w->encoder->options;
    uint32_t *bytes = calloc(n + 1, sizeof *bytes);
    kymo_err err = bytes ? KYMO_OK : KYMO_E_NOMEM;
    if (err == KYMO_OK && !(options && options->flags & KYMO_ENCODE_NO_SOURCE))
        err = choose(w, bytes);
    for (uint32_t i = 0; err == KYMO_OK && i < n; i++) {
        if (bytes[i])
            err = put_text(w, kymo_profile_source(w->p, i), bytes[i]);
        else
            kymo_json_null(w->json);
    }
    free(bytes);
    return err;
}

kymo_err kymo_firefox_put_sources(kymo_firefox *w)
{
    kymo_json *j = w->json;
    size_t n = w->p->sources.len;
    kymo_json_key_object(j, "sources");
    kymo_json_constant_column(j, "id", "null", n);
    KYMO_JSON_COLUMN(j, "filename", i, n, kymo_json_u64(j, w->p->sources.data[i]));
    kymo_json_constant_column(j, "startLine", "1", n);
    kymo_json_constant_column(j, "startColumn", "1", n);
    kymo_json_constant_column(j, "sourceMapURL", "null", n);
    kymo_json_key_array(j, "content");
    KYMO_TRY(put_content(w));
    kymo_json_end_array(j);
    kymo_json_end_table(j, n);
    kymo_json_key_object(j, "sourceLocationTable");
    kymo_json_constant_column(j, "source", "0", 0);
    kymo_json_constant_column(j, "line", "0", 0);
    kymo_json_constant_column(j, "column", "0", 0);
    kymo_json_end_table(j, 0);
    return j->err;
}
