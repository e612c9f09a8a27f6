/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/descriptors.h"

#include <sys/resource.h>

#define MOST (1u << 20)
#define UNKNOWN 256u /* whatever the system is */

int kymo_descriptors_for(enum kymo_descriptor_use use)
{
    struct rlimit limit;
    rlim_t all = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : UNKNOWN;
    if (all > MOST)
        all = MOST;
    return (int)(all * (unsigned)use / 8);
}
