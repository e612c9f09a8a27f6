/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks ask the system; the last one, the trial, records a short program as `kymo record` would,
 * and is the only one that knows.
 */
#include "doctor/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "doctor/doctor_checks.h"
#include "launch/launch.h"
#include "launch/paths.h"
#include "symbolize/finish.h"
#include "sys/proc_file.h"

kymo_check *kymo_checks_add(kymo_checks *checks, const char *name)
{
    kymo_check check = {.name = name, .state = KYMO_CHECK_OK};
    if (kymo_vec_push(checks, check) == KYMO_OK)
        return &checks->data[checks->len - 1];
    checks->failed = true;
    return &checks->spare;
}

void kymo_doctor_check_all(kymo_checks *checks, const kymo_doctor_check *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        all[i].look(kymo_checks_add(checks, all[i].name));
}

void kymo_check_say(kymo_check *check, kymo_check_state state, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    check->state = state;
    vsnprintf(check->text, sizeof check->text, fmt, args);
    va_end(args);
}

void kymo_check_advise(kymo_check *check, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(check->advice, sizeof check->advice, fmt, args);
    va_end(args);
}

int kymo_doctor_read_line(const char *path, char *out, size_t cap)
{
    if (!kymo_proc_file_read(out, cap, "%s", path))
        return 0;
    out[strcspn(out, "\n")] = '\0';
    return 1;
}

/* A shell that counts: some 50 ms of CPU time, on any system. */
static char *const trial_words[] = {(char *)"/bin/sh", (char *)"-c",
                                    (char *)"i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done",
                                    NULL};

static void judge_trial(kymo_check *check, int spool)
{
    kymo_profile *profile = NULL;
    kymo_error detail = {0};
    kymo_err err = kymo_finish_load(NULL, spool, NULL, NULL, &profile, NULL, &detail);
    if (err != KYMO_OK) {
        kymo_check_say(check, KYMO_CHECK_FAIL, "recorded /bin/sh, but cannot read it: %s",
                       detail.message[0] ? detail.message : kymo_err_text(err));
        return;
    }
    const kymo_quality *q = kymo_profile_quality(profile);
    uint64_t samples = kymo_profile_sample_count(profile);
    if (samples == 0) {
        kymo_check_say(check, KYMO_CHECK_FAIL, "recorded /bin/sh, and not one sample arrived");
        kymo_check_advise(check, "run kymo record --log=debug -- PROGRAM and read what it says");
    } else {
        kymo_check_say(check, KYMO_CHECK_OK,
                       "recorded /bin/sh with the %s engine: %" PRIu64
                       " samples, %.0f %% of stacks complete, %.0f %% of frames named",
                       kymo_profile_meta(profile)->engine, samples,
                       isnan(q->stacks_complete) ? 0 : q->stacks_complete * 100,
                       isnan(q->frames_symbolized) ? 0 : q->frames_symbolized * 100);
    }
    kymo_profile_destroy(profile);
}

static void check_trial(kymo_check *check)
{
    char preload[PATH_MAX];
    kymo_error detail = {0};
    kymo_options options;
    kymo_launch_result result;
    kymo_options_init(&options);
    if (kymo_paths_preload(0, preload, &detail) != KYMO_OK) {
        kymo_check_say(check, KYMO_CHECK_FAIL, "not tried: there is no library to preload");
        return;
    }
    /* In memory: no folder has to be writable for it. */
    int spool = memfd_create("kymo-doctor", MFD_CLOEXEC);
    if (spool < 0) {
        kymo_check_say(check, KYMO_CHECK_FAIL, "not tried: no file in memory: %s", strerror(errno));
        return;
    }
    kymo_launch_options launch = {.argv = trial_words,
                                  .options = &options,
                                  .spool = spool,
                                  .preload_path = preload,
                                  .quiet = 1};
    kymo_err err = kymo_launch(&launch, &result, &detail);
    if (err != KYMO_OK)
        kymo_check_say(check, KYMO_CHECK_FAIL, "%s",
                       detail.message[0] ? detail.message : kymo_err_text(err));
    else if (result.interrupted || !WIFEXITED(result.wait_status) ||
             WEXITSTATUS(result.wait_status) != 0)
        kymo_check_say(check, KYMO_CHECK_FAIL, "/bin/sh ended with status %d when recorded",
                       result.wait_status);
    else
        judge_trial(check, spool);
    close(spool);
}

kymo_err kymo_doctor_run(kymo_checks *checks)
{
    kymo_doctor_check_engines(checks);
    kymo_doctor_check_limits(checks);
    kymo_doctor_check_files(checks);
    check_trial(kymo_checks_add(checks, "trial"));
    return checks->failed ? KYMO_E_NOMEM : KYMO_OK;
}

void kymo_checks_deinit(kymo_checks *checks)
{
    kymo_vec_deinit(checks);
}

int kymo_checks_pass(const kymo_checks *checks)
{
    for (size_t i = 0; i < checks->len; i++)
        if (checks->data[i].state == KYMO_CHECK_FAIL)
            return 0;
    return 1;
}

const char *kymo_check_state_name(kymo_check_state state)
{
    static const char *const names[] = {"ok", "info", "warn", "fail"};
    return names[state];
}

/* Paths and names in it may be any bytes. */
static void key_text(kymo_json *j, const char *name, const char *text)
{
    char valid[3 * sizeof((kymo_check *)0)->text];
    size_t len = kymo_utf8_copy(valid, sizeof valid, text, strlen(text));
    kymo_json_key(j, name);
    kymo_json_string(j, valid, len);
}

kymo_err kymo_checks_write_json(const kymo_checks *checks, kymo_sink *sink)
{
    kymo_json *j = malloc(sizeof *j);
    if (!j)
        return KYMO_E_NOMEM;
    kymo_json_init(j, sink);
    kymo_json_begin_object(j);
    kymo_json_key_u64(j, "format", 1);
    kymo_json_key(j, "works");
    kymo_json_bool(j, kymo_checks_pass(checks));
    kymo_json_key(j, "checks");
    kymo_json_begin_array(j);
    for (size_t i = 0; i < checks->len; i++) {
        const kymo_check *check = &checks->data[i];
        kymo_json_begin_object(j);
        kymo_json_key_cstr(j, "name", check->name);
        kymo_json_key_cstr(j, "state", kymo_check_state_name(check->state));
        key_text(j, "text", check->text);
        if (check->advice[0]) {
            key_text(j, "advice", check->advice);
        } else {
            kymo_json_key(j, "advice");
            kymo_json_null(j);
        }
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
    kymo_json_end_object(j);
    kymo_err err = kymo_json_finish(j);
    free(j);
    return err == KYMO_OK ? kymo_sink_write(sink, "\n", 1) : err;
}
