/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfork_filter.c - a child of vfork sets a seccomp filter, in its parent's memory but for itself
 * alone, and becomes another program. The parent's next child is as any other.
 *
 *   vfork_filter [with]   with: the library must be in that child
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "has_library.h"

static int ends_well(pid_t child)
{
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv)
{
    static struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    static const struct sock_fprog program = {1, all};
    static char *const nothing[] = {(char *)"true", NULL};
    static char *const look[] = {(char *)"vfork_filter", (char *)"look", NULL};
    pid_t child;
    if (argc > 1 && strcmp(argv[1], "look") == 0)
        return !has_library();
    for (int i = 0; i < 2; i++) {
        child = vfork();
        if (child == 0) {
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0)
                execv("/bin/true", nothing);
            _exit(99);
        }
        if (!ends_well(child))
            return 2;
        if (argc == 1)
            continue;
        if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, look, environ) != 0 ||
            !ends_well(child)) {
            puts("the library is not in the child");
            return 1;
        }
    }
    return 0;
}
