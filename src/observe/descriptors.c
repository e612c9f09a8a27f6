/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOST (1u << 20)
#define UNKNOWN 256u /* whatever the system is */

static int all(void)
{
    struct rlimit limit;
    rlim_t most = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : UNKNOWN;
    return (int)(most > MOST ? MOST : most);
}

int kymo_descriptors_for(enum kymo_descriptor_use use)
{
    return all() * (int)use / 8;
}

int kymo_descriptors_keep(int fd, enum kymo_descriptor_use use)
{
    if (fd < kymo_descriptors_for(use))
        return fd;
    close(fd);
    errno = EMFILE;
    return -1;
}

int kymo_descriptors_run_short(int fd, int count)
{
    int lowest = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (lowest >= 0)
        close(lowest);
    return lowest < 0 || lowest > all() - count;
}
