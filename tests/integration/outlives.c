/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outlives.c FOLDER - works until its parent has died, and for another 0.3 s of CPU time; then it
 * writes FOLDER/ended. The test that killed the parent learns from that file how the program ended.
 */
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "../workloads/workload.h"

DEFINE_BURN(burn_in_public, 89)

int main(int argc, char **argv)
{
    char path[PATH_MAX];
    must(argc > 1, "usage: outlives FOLDER");
    pid_t parent = getppid();
    while (getppid() == parent)
        burn_ns(burn_in_public, 10000000);
    burn_ns(burn_in_public, 300000000);
    snprintf(path, sizeof path, "%s/ending", argv[1]);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    must(fd >= 0 && write(fd, "well\n", 5) == 5 && close(fd) == 0, "write");
    char ended[PATH_MAX];
    snprintf(ended, sizeof ended, "%s/ended", argv[1]);
    must(rename(path, ended) == 0, "rename");
    return 0;
}
