/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo doctor PROG`: the file is looked at, and not run. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/doctor_checks.h"
#include "launch/launch.h"
#include "launch/precheck.h"
#include "sys/elf_target.h"
#include "views/runtimes.h"

static void check_recordable(kymo_checks *checks, const kymo_precheck *p)
{
    kymo_check *check = kymo_checks_add(checks, "recordable");
    if (p->outside[0] && kymo_launch_can_watch_process(0)) {
        kymo_check_say(check, KYMO_CHECK_OK,
                       "its CPU samples alone, taken from outside by the kernel, since %.250s",
                       p->outside);
    } else if (p->verdict != KYMO_PRECHECK_OK) {
        kymo_check_say(check, KYMO_CHECK_FAIL, "%.250s", p->reason);
        if (p->verdict == KYMO_PRECHECK_NOT_RECORDABLE)
            kymo_check_advise(check, "kymo record --run-anyway runs it, without recording it");
    } else if (p->warning[0]) {
        kymo_check_say(check, KYMO_CHECK_WARN, "%.250s", p->warning);
    } else {
        kymo_check_say(check, KYMO_CHECK_OK, "its loader and C library are those that Kymo needs");
    }
}

static void check_runtime(kymo_checks *checks, const kymo_precheck *p)
{
    const kymo_runtime *runtime = kymo_runtime_of(p->judged);
    char real[PATH_MAX];
    /* java and python3 are mostly links; what they lead to may be called otherwise. */
    if (!runtime && realpath(p->judged, real))
        runtime = kymo_runtime_of(real);
    if (!runtime)
        return;
    kymo_check *check = kymo_checks_add(checks, "runtime");
    if (runtime->makes_code) {
        kymo_check_say(
            check, KYMO_CHECK_INFO,
            "%s: the code that it makes while it runs has no names, unless it is told to",
            runtime->language);
        kymo_check_advise(check, "start %s", runtime->advice);
    } else {
        kymo_check_say(check, KYMO_CHECK_INFO,
                       "%s: functions of the interpreter and of C libraries are shown, those of %s "
                       "are not yet",
                       runtime->language, runtime->language);
        if (runtime->advice)
            kymo_check_advise(check, "%s names them", runtime->advice);
    }
}

static void check_symbols(kymo_checks *checks, const kymo_precheck *p)
{
    char path[PATH_MAX];
    int fd = open(p->judged, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    int has_symbols = kymo_elf_target_has_symbols(fd);
    close(fd);
    kymo_check *check = kymo_checks_add(checks, "symbols");
    if (has_symbols) {
        kymo_check_say(check, KYMO_CHECK_OK, "in %.200s itself", p->judged);
    } else if (kymo_doctor_debug_path(p->judged, path) && access(path, R_OK) == 0) {
        kymo_check_say(check, KYMO_CHECK_OK, "%.250s", path);
    } else {
        kymo_check_say(check, KYMO_CHECK_INFO,
                       "none in %.150s: only functions that it exports have names", p->judged);
        kymo_check_advise(check,
                          "build it with -g and without strip, or install its debug package");
    }
}

kymo_err kymo_doctor_run_program(kymo_checks *checks, const char *name)
{
    kymo_precheck p;
    kymo_precheck_program(name, getenv("PATH"), &p);
    if (p.path[0]) {
        kymo_check *check = kymo_checks_add(checks, "program");
        if (strcmp(p.path, p.judged) != 0 && p.judged[0])
            kymo_check_say(check, KYMO_CHECK_OK, "%.120s, run by %.120s", p.path, p.judged);
        else
            kymo_check_say(check, KYMO_CHECK_OK, "%.250s", p.path);
    }
    check_recordable(checks, &p);
    if (p.verdict == KYMO_PRECHECK_OK || p.outside[0]) {
        check_runtime(checks, &p);
        check_symbols(checks, &p);
    }
    return checks->failed ? KYMO_E_NOMEM : KYMO_OK;
}
