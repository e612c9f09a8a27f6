/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "memory/parse.h"
#include "sys/proc_file.h"

#define STAT_BYTES_MAX 16384u /* 4 KiB with some 60 lines today */
#define LEVELS_MAX 64         /* of cgroups in one another */
#define TEXT_BYTES_MAX (1u << 20)

/* ---- mounts ---- */

/* A path ends at a blank; octal numbers stand for blanks and the like. Returns 0 for one that has
 * no room. */
static int copy_path(char out[PATH_MAX], const char *from, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        char c = from[i];
        if (c == '\\' && len - i > 3 && from[i + 1] >= '0' && from[i + 1] <= '3' &&
            from[i + 2] >= '0' && from[i + 2] <= '7' && from[i + 3] >= '0' && from[i + 3] <= '7') {
            c = (char)((from[i + 1] - '0') << 6 | (from[i + 2] - '0') << 3 | (from[i + 3] - '0'));
            i += 3;
        }
        if (c == '\0' || n >= PATH_MAX - 1)
            return 0;
        out[n++] = c;
    }
    out[n] = '\0';
    return 1;
}

/* Whether word is one of those that commas part, up to a blank. */
static int has_option(const char *options, size_t len, const char *word)
{
    size_t word_len = strlen(word);
    for (size_t at = 0; at < len;) {
        const char *comma = memchr(options + at, ',', len - at);
        size_t n = comma ? (size_t)(comma - options) - at : len - at;
        if (n == word_len && memcmp(options + at, word, n) == 0)
            return 1;
        at += n + 1;
    }
    return 0;
}

#define MOUNT_WORDS 32u

/* "36 35 0:31 /root /point options [tags ...] - type source super-options" */
static void parse_mount(struct kymo_cgroup_mounts *mounts, const char *line, size_t line_len)
{
    struct {
        const char *text;
        size_t len;
    } word[MOUNT_WORDS];
    size_t count = 0, dash = 0;
    for (size_t at = 0; at < line_len && count < MOUNT_WORDS;) {
        size_t len = 0;
        while (at + len < line_len && line[at + len] != ' ')
            len++;
        word[count].text = line + at;
        word[count].len = len;
        if (dash == 0 && count >= 6 && len == 1 && line[at] == '-')
            dash = count;
        count++;
        at += len + 1;
    }
    if (dash == 0 || dash + 3 >= count)
        return;
    const char *type = word[dash + 1].text;
    size_t type_len = word[dash + 1].len;
    struct kymo_cgroup_mount *to = NULL;
    if (type_len == 7 && memcmp(type, "cgroup2", 7) == 0)
        to = &mounts->v2;
    else if (type_len == 6 && memcmp(type, "cgroup", 6) == 0 &&
             has_option(word[dash + 3].text, word[dash + 3].len, "memory"))
        to = &mounts->v1_memory;
    /* The first one: others are the same hierarchy at a second place. */
    if (!to || to->point[0])
        return;
    if (!copy_path(to->root, word[3].text, word[3].len) ||
        !copy_path(to->point, word[4].text, word[4].len))
        to->point[0] = '\0';
}

void kymo_cgroup_parse_mounts(struct kymo_cgroup_mounts *mounts, const char *text)
{
    mounts->v1_memory.point[0] = mounts->v2.point[0] = '\0';
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        parse_mount(mounts, line, len);
        line += len + (line[len] == '\n');
    }
}

void kymo_cgroup_read_mounts(struct kymo_cgroup_mounts *mounts, const char *root)
{
    char *text = malloc(TEXT_BYTES_MAX);
    mounts->v1_memory.point[0] = mounts->v2.point[0] = '\0';
    if (!text)
        return;
    if (kymo_proc_file_read(text, TEXT_BYTES_MAX, "%s/proc/self/mountinfo", root))
        kymo_cgroup_parse_mounts(mounts, text);
    free(text);
}

/* ---- the process's place ---- */

/* The folder of a path of the hierarchy; 0: it is not below what is mounted. */
static int join(char out[PATH_MAX], const struct kymo_cgroup_mount *mount, const char *path,
                size_t path_len)
{
    size_t root_len = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    size_t point_len = strlen(mount->point);
    /* "/../x" is beside what this process may see, "/x (deleted)" is no more. */
    if (!mount->point[0] || path_len == 0 || path[0] != '/' || memmem(path, path_len, "/..", 3))
        return 0;
    if (path_len < root_len || memcmp(path, mount->root, root_len) != 0 ||
        (path_len > root_len && path[root_len] != '/'))
        return 0;
    path += root_len;
    path_len -= root_len;
    if (path_len == 1)
        path_len = 0;
    if (point_len + path_len >= PATH_MAX)
        return 0;
    memcpy(out, mount->point, point_len);
    if (path_len)
        memcpy(out + point_len, path, path_len);
    out[point_len + path_len] = '\0';
    return 1;
}

static void keep_path(struct kymo_cgroup_place *place, const char *path, size_t len)
{
    len = len < PATH_MAX ? len : PATH_MAX - 1;
    memcpy(place->path, path, len);
    place->path[len] = '\0';
}

void kymo_cgroup_find(struct kymo_cgroup_place *place, const struct kymo_cgroup_mounts *mounts,
                      const char *text)
{
    place->version = 0;
    place->path[0] = place->memory[0] = place->unified[0] = '\0';
    place->memory_root = 0;
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        const char *names = memchr(line, ':', len);
        const char *path = names ? memchr(names + 1, ':', len - (size_t)(names + 1 - line)) : NULL;
        if (path) {
            size_t names_len = (size_t)(path - ++names);
            size_t path_len = len - (size_t)(++path - line);
            if (kymo_str_starts(line, "0::")) {
                (void)join(place->unified, &mounts->v2, path, path_len);
                if (place->version == 0)
                    keep_path(place, path, path_len);
            } else if (has_option(names, names_len, "memory")) {
                place->version = 1;
                keep_path(place, path, path_len);
                if (join(place->memory, &mounts->v1_memory, path, path_len))
                    place->memory_root = strlen(mounts->v1_memory.point);
            }
        }
        line += len + (line[len] == '\n');
    }
    if (place->version == 0 && place->unified[0]) {
        place->version = 2;
        memcpy(place->memory, place->unified, sizeof place->memory);
        place->memory_root = strlen(mounts->v2.point);
    }
}

/* ---- what it says ---- */

/* Least limit and least distance to one, from the cgroup up to the mount. */
static void read_levels(struct kymo_figures *f, const struct kymo_cgroup_place *place,
                        const char *root)
{
    enum kymo_figure current = KYMO_FIGURE_CGROUP_CURRENT, max = KYMO_FIGURE_CGROUP_MAX;
    const struct kymo_figure_row *of_current = &kymo_figure_rows[current];
    const struct kymo_figure_row *of_max = &kymo_figure_rows[max];
    const char *current_file = place->version == 1 ? of_current->key_v1 : of_current->key;
    const char *max_file = place->version == 1 ? of_max->key_v1 : of_max->key;
    int64_t limit = INT64_MAX, headroom = INT64_MAX;
    size_t len = strlen(place->memory);
    for (unsigned i = 0; i < LEVELS_MAX && len >= place->memory_root; i++) {
        struct kymo_figures level;
        char text[64];
        level.is_known[current] = level.is_known[max] = 0;
        if (kymo_proc_file_read(text, sizeof text, "%s%.*s/%s", root, (int)len, place->memory,
                                max_file))
            kymo_memory_parse_file(&level, max, text);
        if (level.is_known[max] && kymo_proc_file_read(text, sizeof text, "%s%.*s/%s", root,
                                                       (int)len, place->memory, current_file))
            kymo_memory_parse_file(&level, current, text);
        if (level.is_known[max] && level.value[max] < limit)
            limit = level.value[max];
        int64_t left;
        if (level.is_known[max] && level.is_known[current] &&
            !__builtin_sub_overflow(level.value[max], level.value[current], &left) &&
            left < headroom)
            headroom = left;
        while (len > place->memory_root && place->memory[len - 1] != '/')
            len--;
        if (len == place->memory_root)
            break;
        len--; /* the slash */
    }
    if (limit != INT64_MAX)
        kymo_figures_set(f, KYMO_FIGURE_CGROUP_LIMIT, limit);
    if (headroom != INT64_MAX)
        kymo_figures_set(f, KYMO_FIGURE_CGROUP_HEADROOM, headroom > 0 ? headroom : 0);
}

/* One number in a file of its own, if this version of cgroups has it. */
static void read_number(struct kymo_figures *f, const struct kymo_cgroup_place *place,
                        const char *root, enum kymo_figure figure)
{
    const struct kymo_figure_row *row = &kymo_figure_rows[figure];
    const char *file = place->version == 1 ? row->key_v1 : row->key;
    int is_file = row->group == KYMO_GROUP_CGROUP || figure == KYMO_FIGURE_CGROUP_FAILURES;
    char text[64];
    if (is_file && file && file[0] &&
        kymo_proc_file_read(text, sizeof text, "%s%s/%s", root, place->memory, file))
        kymo_memory_parse_file(f, figure, text);
}

void kymo_cgroup_look(struct kymo_cgroup_place *place, const struct kymo_cgroup_mounts *mounts,
                      const char *root, const char *process)
{
    char text[STAT_BYTES_MAX];
    (void)kymo_proc_file_read(text, sizeof text, "%s/proc/%s/cgroup", root, process);
    kymo_cgroup_find(place, mounts, text);
}

void kymo_cgroup_read_use(struct kymo_figures *f, const struct kymo_cgroup_place *place,
                          const char *root)
{
    char text[STAT_BYTES_MAX];
    if (!place->memory[0])
        return;
    int is_v1 = place->version == 1;
    read_number(f, place, root, KYMO_FIGURE_CGROUP_CURRENT);
    read_number(f, place, root, KYMO_FIGURE_CGROUP_PEAK);
    read_levels(f, place, root);
    if (kymo_proc_file_read(text, sizeof text, "%s%s/memory.stat", root, place->memory))
        kymo_memory_parse_words(f, KYMO_GROUP_CGROUP_STAT, is_v1, text);
    if (kymo_proc_file_read(text, sizeof text, "%s%s/%s", root, place->memory,
                            is_v1 ? "memory.oom_control" : "memory.events"))
        kymo_memory_parse_words(f, KYMO_GROUP_CGROUP_EVENTS, is_v1, text);
    if (f->is_known[KYMO_FIGURE_CGROUP_CURRENT] && f->is_known[KYMO_FIGURE_CGROUP_INACTIVE_FILE]) {
        int64_t used = f->value[KYMO_FIGURE_CGROUP_CURRENT];
        int64_t unused = f->value[KYMO_FIGURE_CGROUP_INACTIVE_FILE];
        kymo_figures_set(f, KYMO_FIGURE_CGROUP_WORKING_SET, used > unused ? used - unused : 0);
    }
}

void kymo_cgroup_read_limits(struct kymo_figures *f, const struct kymo_cgroup_place *place,
                             const char *root)
{
    if (!place->memory[0])
        return;
    for (unsigned i = 0; i < KYMO_FIGURE_COUNT; i++)
        if (i != KYMO_FIGURE_CGROUP_CURRENT && i != KYMO_FIGURE_CGROUP_PEAK)
            read_number(f, place, root, i);
}

void kymo_cgroup_read_pressure(struct kymo_figures *f, const struct kymo_cgroup_place *place,
                               const char *root)
{
    static const char *const resources[] = {"memory", "cpu", "io"};
    char text[512];
    for (unsigned i = 0; i < 3; i++)
        if (place->unified[0] && kymo_proc_file_read(text, sizeof text, "%s%s/%s.pressure", root,
                                                     place->unified, resources[i]))
            kymo_memory_parse_pressure(f, KYMO_GROUP_CGROUP_PRESSURE, i, text);
}

uint64_t kymo_cgroup_limit(const char *root, const char *process)
{
    struct kymo_cgroup_mounts *mounts = malloc(sizeof *mounts);
    struct kymo_cgroup_place *place = malloc(sizeof *place);
    struct kymo_figures *f = calloc(1, sizeof *f);
    uint64_t limit = UINT64_MAX;
    if (mounts && place && f) {
        kymo_cgroup_read_mounts(mounts, root);
        kymo_cgroup_look(place, mounts, root, process);
        if (place->memory[0])
            read_levels(f, place, root);
        if (f->is_known[KYMO_FIGURE_CGROUP_LIMIT] && f->value[KYMO_FIGURE_CGROUP_LIMIT] >= 0)
            limit = (uint64_t)f->value[KYMO_FIGURE_CGROUP_LIMIT];
    }
    free(mounts);
    free(place);
    free(f);
    return limit;
}
