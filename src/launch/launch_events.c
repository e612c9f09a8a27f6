/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_events.c - what a recording says before anything has run: of what, where, how.
 */
#include "launch/launch_start.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "launch/machine.h"
#include "sys/clock.h"
#include "sys/proc_file.h"

static const char *const engine_names[] = {
    [KYMO_SESSION_PERF] = "perf",
    [KYMO_SESSION_TIMER] = "timer",
    [KYMO_SESSION_DISPATCH] = "dispatch",
};

static uint32_t argument_count(char *const *argv)
{
    uint32_t n = 0;
    while (argv[n])
        n++;
    return n;
}

kymo_err kymo_launch_write_meta(kymo_recording_writer *writer, const kymo_launch_options *asked,
                                struct kymo_host_config *config, const char *engine_reason,
                                uint64_t *start_ns)
{
    struct kymo_machine m;
    char options[KYMO_OPTIONS_FORMAT_MAX];
    kymo_machine_read(&m);
    config->clock = m.tsc ? KYMO_CLOCK_TSC : KYMO_CLOCK_MONOTONIC;
    kymo_options_format(asked->options, options, sizeof options);
    struct timespec tick;
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    kymo_event_meta e = {
        .start_ns = kymo_clock_ns(CLOCK_MONOTONIC),
        .start_realtime_ns = kymo_clock_ns(CLOCK_REALTIME),
        .period_ns = config->period_ns,
        .wall_period_ns = asked->options->wall_period_ns,
        .memory_bytes = m.memory_bytes,
        .logical_cpus = m.logical_cpus,
        .physical_cpus = m.physical_cpus,
        .hz = tick.tv_nsec > 0 ? (uint32_t)(1000000000 / tick.tv_nsec) : 0,
        .host = m.host,
        .os = m.os,
        .kernel = m.kernel,
        .arch = m.arch,
        .cpu_name = m.cpu_name,
        .version = KYMO_VERSION,
        .engine = engine_names[config->engine],
        .engine_reason = engine_reason,
        .options = options,
        .argc = argument_count(asked->argv),
        .argv = (const char *const *)asked->argv,
    };
    *start_ns = e.start_ns;
    return kymo_recording_write_meta(writer, &e);
}

kymo_err kymo_launch_write_process(kymo_recording_writer *writer, const kymo_launch_options *asked,
                                   pid_t pid, uint64_t start_ns)
{
    char link[64];
    char exe[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(link, exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    kymo_event_process e = {
        .process = 0,
        .pid = pid,
        .parent_pid = asked->join ? (pid_t)kymo_proc_stat(pid, 4) : getpid(),
        .is_main = 1,
        .start_ns = start_ns,
        .exe = exe,
        .argc = argument_count(asked->argv),
        .argv = (const char *const *)asked->argv,
    };
    return kymo_recording_write_process(writer, &e);
}
