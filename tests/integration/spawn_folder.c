/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn_folder.c - starts a program in another folder, by a name that means another file here. The
 * one that is there must be started as it would be alone. It is given on the command line: it is
 * statically linked, and looks for what is not for it in its environment.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/kymo-folder-XXXXXX";
static char there[64];
static int failures;

static void start(const char *way, int by_descriptor, int searches)
{
    char *const argv[] = {(char *)"t", NULL};
    char *const none[] = {NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    int status = -1;
    int fd = open(there, O_RDONLY | O_DIRECTORY);
    if (fd < 0 || posix_spawn_file_actions_init(&actions) != 0)
        exit(2);
    int error = by_descriptor ? posix_spawn_file_actions_addfchdir_np(&actions, fd)
                              : posix_spawn_file_actions_addchdir_np(&actions, there);
    if (error == 0)
        error = (searches ? posix_spawnp : posix_spawn)(&child, searches ? "t" : "./t", &actions,
                                                        NULL, argv, none);
    if (error != 0 || waitpid(child, &status, 0) != child || status != 0) {
        printf("%s: error %d, status %#x\n", way, error, (unsigned)status);
        failures++;
    }
    posix_spawn_file_actions_destroy(&actions);
    close(fd);
}

int main(int argc, char **argv)
{
    if (argc != 2 || !mkdtemp(folder) || chdir(folder) != 0)
        return 2;
    snprintf(there, sizeof there, "%s/there", folder);
    if (mkdir(there, 0700) != 0 || symlink("/bin/true", "t") != 0 ||
        symlink(argv[1], "there/t") != 0 || setenv("PATH", ".:/bin", 1) != 0)
        return 2;
    start("posix_spawn", 0, 0);
    start("posix_spawn by a descriptor", 1, 0);
    start("posix_spawnp", 0, 1);
    unlink("there/t");
    unlink("t");
    rmdir("there");
    (void)!chdir("/");
    rmdir(folder);
    return failures != 0;
}
