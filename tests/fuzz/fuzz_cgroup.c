/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a process's cgroup is: mountinfo and, behind an empty line, /proc/PID/cgroup.
 */
#include <stdlib.h>
#include <string.h>

#include "memory/cgroup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct kymo_cgroup_mounts mounts;
    static struct kymo_cgroup_place place;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    char *middle = strstr(text, "\n\n");
    if (middle)
        middle[1] = '\0';
    kymo_cgroup_parse_mounts(&mounts, text);
    kymo_cgroup_find(&place, &mounts, middle ? middle + 2 : text);
    if (strlen(place.memory) < place.memory_root || strlen(place.unified) >= PATH_MAX)
        abort();
    free(text);
    return 0;
}
