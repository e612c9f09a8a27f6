/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_run.c OPTIONS PROGRAM [ARGUMENT...] - runs the program under the recorder, with the
 * library that this build made, and ends as the program did. OPTIONS as in KYMO_OPTIONS. For tests
 * that ask what a program sees while it is recorded, and not what the recording says.
 *
 * exit status: the program's; 128 + N when signal N ended it; 125 when it was not recorded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launch.h"

int main(int argc, char **argv)
{
    char spool[] = "/tmp/kymo-record-run-XXXXXX";
    kymo_options options;
    kymo_error why = {0};
    kymo_launch_result result;
    kymo_options_init(&options);
    if (argc < 3 || kymo_options_parse(&options, argv[1], &why) != KYMO_OK) {
        fprintf(stderr, "record_run OPTIONS PROGRAM [ARGUMENT...]: %s\n", why.message);
        return 125;
    }
    int fd = mkstemp(spool);
    if (fd < 0)
        return 125;
    kymo_launch_options launch = {
        .argv = argv + 2, .options = &options, .spool = fd, .preload_path = KYMO_TEST_PRELOAD};
    kymo_err err = kymo_launch(&launch, &result, &why);
    unlink(spool);
    if (err != KYMO_OK) {
        fprintf(stderr, "record_run: %s\n", why.message);
        return 125;
    }
    /* When the recording has ended before the program: that one's result is what is asked for. */
    if (result.interrupted && waitpid(result.pid, &result.wait_status, 0) != result.pid)
        return 125;
    return WIFSIGNALED(result.wait_status) ? 128 + WTERMSIG(result.wait_status)
                                           : WEXITSTATUS(result.wait_status);
}
