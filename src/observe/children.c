/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/children.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* Of one thread. */
static kymo_err add_of(pid_t pid, pid_t tid, kymo_pids *pids)
{
    char path[64];
    int child;
    kymo_err err = KYMO_OK;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)tid);
    FILE *f = fopen(path, "re");
    while (f && err == KYMO_OK && fscanf(f, "%d", &child) == 1)
        err = kymo_vec_push(pids, (pid_t)child);
    if (f)
        fclose(f);
    return err;
}

kymo_err kymo_children_add(pid_t pid, kymo_pids *pids)
{
    char path[32];
    struct dirent *entry;
    kymo_err err = KYMO_OK;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    while (dir && err == KYMO_OK && (entry = readdir(dir))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid > 0)
            err = add_of(pid, tid, pids);
    }
    if (dir)
        closedir(dir);
    return err;
}
