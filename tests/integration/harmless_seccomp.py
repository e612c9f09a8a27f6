# SPDX-License-Identifier: Apache-2.0
"""Programs behind seccomp filters do under Kymo what they do alone, and are sampled where that does no
harm."""
import json
import re

from as_alone import check_accounted, recordings_as_alone, same
from kymotest import (KYMO, WORKLOADS, add_case, as_many, by_chance, case, check, check_close, main, record,
                      run, say, tried_again)

# What it used until it was behind the filter: it cannot ask there.
USED = re.compile(r"^\{.*\}\n", re.M)
# Weights by a tick are evened out over so many samples, and one more may lie on both sides.
NEIGHBOURS = 17


def recordings_behind(how):
    """With what the program used until it was behind the filter, in seconds."""
    command = [WORKLOADS / "hazards", "seccomp", how]
    for engine, recording in recordings_as_alone(command, figures=USED):
        check(recording.result.status == 0, f"{engine}: {recording.result.status}: {recording.result.stderr}")
        yield engine, recording, json.loads(USED.search(recording.result.stdout)[0])


def weights_of(samples, *names):
    """Of those that lie in one of these functions, or in what it calls."""
    return [s.cpu_ns / 1e9 for s in samples if any(f.name in names for f in s.frames)]


def check_behind(engine, recording, truth):
    """The weights add up to the CPU time, before the filter and behind it; where it is three parts of four
    in the one function and one in the other, so is the profile."""
    report = recording.report()
    samples = recording.firefox().all_samples()
    behind, more = (weights_of(samples, name) for name in ("burn_behind_filter", "burn_more_behind_filter"))
    before = sum(weights_of(samples, "burn_before_filter"))
    both = sum(behind) + sum(more)
    room = sum(sorted(s.cpu_ns / 1e9 for s in samples)[-NEIGHBOURS:])
    rest = recording.cpu_s - truth["used"]
    say(f"{engine}: {len(samples)} samples; before the filter {before:.3f}, in truth {truth['burnt']:.3f}; "
        f"behind it {both:.3f}, in truth {rest:.3f}, give or take {room:.3f}")
    unsampled = check_accounted(report, recording)
    check(before >= truth["burnt"] - room, "what is before the filter has too little")
    check(both >= rest - unsampled - room, "what is behind the filter has too little")
    if both:
        check_close("share of the first function", sum(behind) / both, 0.75,
                    0.02 + by_chance(0.75, as_many(behind + more)))


@tried_again
def seccomp(how):
    """Behind a filter that kills for any other system call there are samples."""
    for engine, recording, truth in recordings_behind(how):
        check_behind(engine, recording, truth)


for way in ("prctl", "syscall", "threads", "strict"):
    add_case(f"seccomp.{way}", seccomp, way)


@case
@tried_again
def seccomp_no_return():
    """Behind a filter that kills a thread that returns from a handler, no signal of ours comes any more; that
    is said, and how much CPU time it was."""
    for how in ("noreturn", "noreturn-child", "noreturn-second"):
        for engine, recording, truth in recordings_behind(how):
            report = recording.report()
            samples = recording.firefox().all_samples()
            room = sum(sorted(s.cpu_ns / 1e9 for s in samples)[-NEIGHBOURS:])
            unsampled = check_accounted(report, recording)
            rest = max(p["cpu_s"] for p in report.data["processes"]) - truth["used"]
            say(f"{engine}: {rest:.3f} s behind the filter")
            check(report.inclusive_s("burn_before_filter") >= truth["burnt"] - room - (unsampled - rest),
                  "what is before it has too little")
            # A sample may fall between the program's last look at its clock and the filter.
            check(unsampled >= rest - room, "what is behind it is not said to be unsampled")
            said = run([recording.kymo, "report", recording.path, "--top", "1"])
            notes = said.stdout + said.stderr
            check("lets no signal handler return" in notes, f"{engine}: it is not said: {notes}")


@case
@tried_again
def seccomp_raw():
    """The recorder notices a filter that no hook saw, and says so: the next one, which kills, finds
    handlers without system calls."""
    for engine, recording, truth in recordings_behind("raw"):
        check_behind(engine, recording, truth)
        said = run([recording.kymo, "report", recording.path, "--top", "1"])
        check((said.stdout + said.stderr).count("a seccomp filter by a system call of its own") == 1,
              f"{engine}: this is not said: {said.stderr}")


@case
def seccomp_number():
    """An action by number behind a filter that kills for masks: Kymo looks at neither."""
    same([WORKLOADS / "hazards", "seccomp", "number"])


@case
def seccomp_children():
    """What starts behind a filter runs without us, which is said; but the kernel may sample it."""
    command = [WORKLOADS / "hazards", "seccomp", "children"]
    for report in same(command):
        check(len(report.data["processes"]) == 1 or report.quality["engine"] == "perf", f"{report.data['processes']}")
    said = run([KYMO, "report", record(command, engine="timer").path, "--top", "1"]).stderr
    for name in ("hazards", "/bin/echo"):
        check(f" {name}, which is not recorded: it begins behind a seccomp filter" in said, said)


main()
