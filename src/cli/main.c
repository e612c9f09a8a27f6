/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "options/options.h"
#include "views/terminal.h"

static int unknown_command(const char *name)
{
    struct kymo_suggestion best;
    kymo_suggest_start(&best, name, strlen(name));
    for (size_t i = 0; i < kymo_command_count; i++)
        kymo_suggest_try(&best, kymo_commands[i].name);
    kymo_suggest_try(&best, "help");
    const char *near = kymo_suggest_best(&best);
    /* The most common slip of all is to forget the word record. */
    if (near)
        return kymo_usage_error(0, "unknown command '%.60s'; did you mean '%s'?", name, near);
    return kymo_usage_error(0, "unknown command '%.60s' (to run a program: kymo record -- %.60s)",
                            name, name);
}

static void on_file_too_large(int signo)
{
    (void)signo;
}

static int help(int argc, char **argv)
{
    const kymo_command *command = argc > 1 ? kymo_command_find(argv[1]) : NULL;
    if (argc > 1 && !command)
        return unknown_command(argv[1]);
    if (command)
        kymo_help_print_command(stdout, command);
    else
        kymo_help_print_all(stdout);
    return kymo_flush_output();
}

/* A descriptor of 0 to 2 that is closed is taken, or a file of ours would be opened as it, and be
 * written messages into: a recording, for one. Writing to what is put there fails as if it were
 * closed, and for the program, which gets none of it, it is. */
static void reserve_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/", O_PATH | O_CLOEXEC);
}

int main(int argc, char **argv)
{
    reserve_standard_descriptors();
    /* A limit on the size of files is an error of a write, with a message and the recording kept;
     * it shall not end us. A handler, since a signal that is ignored stays ignored in the recorded
     * program. `kymo report | head` ends quietly by SIGPIPE as usual. */
    signal(SIGXFSZ, on_file_too_large);
    if (argc < 2) {
        kymo_help_print_all(stderr);
        return KYMO_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help(1, argv + 1);
    if (strcmp(argv[1], "help") == 0)
        return help(argc - 1, argv + 1);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("kymo %s\n", KYMO_VERSION);
        return kymo_flush_output();
    }
    if (argv[1][0] == '-')
        return kymo_usage_error(0, "unknown option '%.60s'", argv[1]);
    const kymo_command *command = kymo_command_find(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : unknown_command(argv[1]);
}
