/* SPDX-License-Identifier: Apache-2.0 */
/* single_thread.c - whether glibc takes the process for one of one thread, and the kernel, too. */
#include <dirent.h>
#include <sys/single_threaded.h>

#include "../workloads/workload.h"

DEFINE_BURN(burn_alone, 101)

int main(void)
{
    int tasks = 0;
    burn_ns(burn_alone, 300000000);
    DIR *folder = opendir("/proc/self/task");
    must(folder != NULL, "/proc/self/task");
    for (struct dirent *e; (e = readdir(folder)) != NULL;)
        tasks += e->d_name[0] != '.';
    closedir(folder);
    printf("%d thread, alone for glibc: %d\n", tasks, __libc_single_threaded);
    return 0;
}
