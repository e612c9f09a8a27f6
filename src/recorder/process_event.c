/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/process_event.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "sys/clock.h"
#include "sys/proc_file.h"

/* Limit of a command line; a longer one is cut. */
#define COMMAND_BYTES_MAX (64u << 10)

pid_t kymo_process_parent(pid_t pid, uint64_t *start_ns)
{
    char text[1024];
    uint64_t parent = 0;
    uint64_t ticks = 0;
    if (kymo_proc_file_read(text, sizeof text, "/proc/%d/stat", (int)pid)) {
        (void)kymo_proc_stat_field(text, 4, &parent);
        (void)kymo_proc_stat_field(text, 22, &ticks);
    }
    /* The ticks are of CLOCK_BOOTTIME, which also counts while the machine is suspended. */
    uint64_t awake_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    uint64_t asleep_ns = kymo_clock_ns(CLOCK_BOOTTIME) - awake_ns;
    uint64_t began_ns = ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
    if (start_ns)
        *start_ns = began_ns > asleep_ns ? began_ns - asleep_ns : 0;
    return parent <= INT_MAX ? (pid_t)parent : 0;
}

kymo_err kymo_process_facts_take(struct kymo_process_facts *facts, const char *command,
                                 size_t bytes)
{
    if (facts->parent <= 0)
        facts->parent = kymo_process_parent(facts->pid, NULL);
    facts->command = malloc(bytes + 1);
    if (!facts->command)
        return KYMO_E_NOMEM;
    memcpy(facts->command, command, bytes);
    facts->command[bytes] = '\0';
    facts->command_bytes = bytes;
    return KYMO_OK;
}

kymo_err kymo_process_facts_read(struct kymo_process_facts *facts)
{
    char *command = malloc(COMMAND_BYTES_MAX);
    if (!command)
        return KYMO_E_NOMEM;
    size_t len =
        kymo_proc_file_read(command, COMMAND_BYTES_MAX, "/proc/%d/cmdline", (int)facts->pid);
    kymo_err err = kymo_process_facts_take(facts, command, len);
    free(command);
    return err;
}

void kymo_process_facts_deinit(struct kymo_process_facts *facts)
{
    free(facts->command);
    facts->command = NULL;
    facts->command_bytes = 0;
}

kymo_err kymo_process_event_write(const kymo_event_handler *events, void *context, uint32_t number,
                                  const struct kymo_process_facts *facts, const char *exe)
{
    kymo_err err = KYMO_OK;
    KYMO_VEC(const char *) argv = {0};
    for (size_t at = 0; at < facts->command_bytes && err == KYMO_OK;
         at += strlen(facts->command + at) + 1)
        err = kymo_vec_push(&argv, facts->command + at);
    kymo_event_process e = {
        .process = number,
        .pid = facts->pid,
        .parent_pid = facts->parent,
        .start_ns = facts->start_ns,
        .exe = exe,
        .argc = (uint32_t)argv.len,
        .argv = argv.data,
    };
    if (err == KYMO_OK)
        err = events->process(context, &e);
    kymo_vec_deinit(&argv);
    return err;
}
