/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/process.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "memory/parse.h"
#include "sys/clock.h"
#include "sys/proc_file.h"

#define TEXT_BYTES_MAX 8192u

/* ---- the process ---- */

/* The folder's size is their number since Linux 6.2; before it is 0. */
static void count_descriptors(struct kymo_figures *f, const char *root, const char *process)
{
    char path[PATH_MAX];
    struct stat st;
    int64_t count = 0;
    if (snprintf(path, sizeof path, "%s/proc/%s/fd", root, process) >= (int)sizeof path)
        return;
    if (root[0] == '\0' && stat(path, &st) == 0 && st.st_size > 0) {
        kymo_figures_set(f, KYMO_FIGURE_FDS, st.st_size);
        return;
    }
    DIR *dir = opendir(path);
    if (!dir)
        return;
    const struct dirent *entry;
    while ((entry = readdir(dir)))
        count += entry->d_name[0] != '.';
    closedir(dir);
    /* Without the one that the folder itself took. */
    if (root[0] == '\0' && strcmp(process, "self") == 0)
        count--;
    kymo_figures_set(f, KYMO_FIGURE_FDS, count);
}

/* When the system's clock since boot was 0, to 10 ms: the difference of two clocks jitters. */
static int64_t boot_realtime_ns(void)
{
    uint64_t boot_ns = kymo_clock_ns(CLOCK_BOOTTIME), now_ns = kymo_clock_ns(CLOCK_REALTIME);
    return now_ns > boot_ns ? (int64_t)((now_ns - boot_ns + 5000000) / 10000000 * 10000000) : 0;
}

void kymo_memory_read_use(struct kymo_figures *f, const char *root, const char *process)
{
    char text[TEXT_BYTES_MAX];
    if (kymo_proc_file_read(text, sizeof text, "%s/proc/%s/status", root, process))
        kymo_memory_parse_lines(f, KYMO_GROUP_PROCESS, text);
    if (kymo_proc_file_read(text, sizeof text, "%s/proc/%s/stat", root, process))
        kymo_memory_parse_stat(f, text, sysconf(_SC_CLK_TCK), boot_realtime_ns());
    if (kymo_proc_file_read(text, sizeof text, "%s/proc/%s/io", root, process))
        kymo_memory_parse_lines(f, KYMO_GROUP_IO, text);
    count_descriptors(f, root, process);
}

void kymo_memory_read_limits(struct kymo_figures *f, const char *root, const char *process)
{
    char text[TEXT_BYTES_MAX];
    if (kymo_proc_file_read(text, sizeof text, "%s/proc/%s/limits", root, process))
        kymo_memory_parse_limits(f, text);
    if (kymo_proc_file_read(text, sizeof text, "%s/proc/%s/oom_score", root, process))
        kymo_memory_parse_file(f, KYMO_FIGURE_OOM_SCORE, text);
    if (kymo_proc_file_read(text, sizeof text, "%s/proc/%s/oom_score_adj", root, process))
        kymo_memory_parse_file(f, KYMO_FIGURE_OOM_ADJUST, text);
}

void kymo_memory_read_maps(struct kymo_figures *f, const char *root, const char *process)
{
    char text[TEXT_BYTES_MAX];
    if (kymo_proc_file_read(text, sizeof text, "%s/proc/%s/smaps_rollup", root, process))
        kymo_memory_parse_lines(f, KYMO_GROUP_MAPS, text);
}

void kymo_memory_read_pressure(struct kymo_figures *f, const char *root)
{
    static const char *const resources[] = {"memory", "cpu", "io"};
    char text[512];
    for (unsigned i = 0; i < 3; i++)
        if (kymo_proc_file_read(text, sizeof text, "%s/proc/pressure/%s", root, resources[i]))
            kymo_memory_parse_pressure(f, KYMO_GROUP_PRESSURE, i, text);
}

/* ---- its threads ---- */

/* Returns 0 if it is gone, or the kernel does not count. */
static int read_thread(struct kymo_memory_thread *t, const char *root, const char *process,
                       const char *tid)
{
    char text[256];
    int64_t number;
    if (!kymo_memory_parse_number(tid, &number) || number < 1 || number > UINT32_MAX)
        return 0;
    t->tid = (uint32_t)number;
    if (!kymo_proc_file_read(text, sizeof text, "%s/proc/%s/task/%s/schedstat", root, process,
                             tid) ||
        !kymo_memory_parse_number(text, &number) || number < 0)
        return 0;
    t->cpu_ns = (uint64_t)number;
    size_t len =
        kymo_proc_file_read(text, sizeof text, "%s/proc/%s/task/%s/comm", root, process, tid);
    while (len > 0 && text[len - 1] == '\n')
        text[--len] = '\0';
    kymo_utf8_copy(t->name, sizeof t->name, text, strlen(text));
    return 1;
}

kymo_err kymo_memory_read_threads(struct kymo_memory_threads *threads, const char *root,
                                  const char *process)
{
    char path[PATH_MAX];
    kymo_err err = KYMO_OK;
    if (snprintf(path, sizeof path, "%s/proc/%s/task", root, process) >= (int)sizeof path)
        return KYMO_OK;
    DIR *dir = opendir(path);
    if (!dir)
        return KYMO_OK;
    const struct dirent *entry;
    while (err == KYMO_OK && (entry = readdir(dir)) &&
           threads->list.len < KYMO_MEMORY_THREADS_MAX) {
        struct kymo_memory_thread t;
        if (entry->d_name[0] != '.' && read_thread(&t, root, process, entry->d_name))
            err = kymo_vec_push(&threads->list, t);
    }
    closedir(dir);
    return err;
}

void kymo_memory_threads_deinit(struct kymo_memory_threads *threads)
{
    kymo_vec_deinit(&threads->list);
}
