# SPDX-License-Identifier: Apache-2.0
"""Threads that come and go, or that libc does not know; code that comes and goes; time that stops.
The programs must do as they do alone, in every way of recording, and no CPU time may be missing."""
import json
import os
import pathlib
import signal
import time

from as_alone import check_accounted, check_sampled
from kymotest import (WORKLOADS, Recording, Running, add_case, check, check_close,
                      check_nothing_lost, folder, main, perf_works, record, record_command, run, say, skip,
                      tools_for, ways)

PLUGINS = WORKLOADS / "plugins"
SKIPPED = 77
STOP_S = 3


def accounted(way, recording):
    """Sampled, or said not to be: together the CPU time that the kernel counts."""
    report = recording.report()
    say(f"{way}: {report.quality['engine']}, {len(report.threads)} threads, "
        f"{report.quality['samples']} samples; lost {report.lost()}")
    check_accounted(report, recording)
    check_sampled(report)
    return report


def as_alone(command, judge):
    plain = run(command)
    if plain.status == SKIPPED:
        skip(plain.stdout.strip())
    check(plain.status == 0, f"alone: status {plain.status}: {plain.stderr}")
    for way in ways():
        recording = record(command, engine=way)
        result = recording.result
        check((result.status, result.stdout, result.stderr) == (0, plain.stdout, plain.stderr),
              f"{way}: status {result.status}, {result.stdout!r} {result.stderr!r}; alone "
              f"{plain.stdout!r} {plain.stderr!r}")
        judge(way, recording)


def children_apart(way, recording):
    """Children are processes of their own, recorded or not."""
    report = recording.report()
    say(f"{way}: {report.quality['engine']}, {report.total_s:.3f} s of {recording.cpu_s:.3f} s; "
        f"lost {report.lost()}")


def hazard(name, arguments, judge, program="hazards"):
    if not (WORKLOADS / program).exists():
        skip(f"{program} was not built: its library is not here")
    as_alone([WORKLOADS / program, name, *arguments], judge)


def told(way, recording):
    """Threads of the kernel's cannot be sampled; the report says what part of the time is."""
    report = recording.report()
    achieved = report.quality["achieved"]
    say(f"{way}: {report.quality['engine']}, {report.total_s:.3f} s of {recording.cpu_s:.3f} s")
    check_close("achieved", achieved, report.total_s / recording.cpu_s, 0.02)


def short_threads():
    """1000 threads a second that live for 0.2 ms of CPU time, beside some that stay. The one that makes them
    uses 0.1 to 0.2 s and is seen by chance, some 15 times by the kernel's tick."""
    for way in ways():
        recording = record([WORKLOADS / "manythreads", "10", "1000", "3"], engine=way)
        check(recording.result.status == 0, f"{way}: {recording.result.stderr}")
        truth = json.loads(recording.result.stdout)
        threads = truth["live"] + truth["short"] + 1
        report = accounted(way, recording)
        check_nothing_lost(report.quality, f"{way}: ")
        check(len(report.threads) == threads, f"{way}: {len(report.threads)} threads of {threads}")


def inside(report, function, module):
    """Seconds in a function of that module and in what it calls."""
    return sum(f["total"] for f in report.rows(function) if f["module"] == module) / 1e9


def plugins():
    """Two plugins take turns at the same addresses, 1 or 2 ms each, in functions of one name.
    A turn's samples are one more or one less by chance: a standard deviation of 10 ms for 800 turns,
    where 3 of 100 are 45 ms."""
    for way in ways():
        recording = record([WORKLOADS / "dlopenloop", "800"], engine=way)
        check(recording.result.status == 0, f"{way}: {recording.result.stderr}")
        truth = json.loads(recording.result.stdout)
        report = accounted(way, recording)
        check_nothing_lost(report.quality, f"{way}: ")
        seconds = {name: inside(report, "plugin_work", name + ".so")
                   for name in ("plugin_red", "plugin_blue")}
        if report.quality["engine"] == "timer":
            # The tick is as long as a turn of both, and may fall on one of them more often.
            check_close("seconds in both", sum(seconds.values()), sum(truth[n] for n in seconds),
                        0.08 * recording.cpu_s)
            continue
        # A late sample of the dispatcher stands for the plugin before, too. Where perf may not look into
        # the kernel, the time that loading takes there is in the next sample of a plugin.
        allowed = 0.03 if report.quality["engine"] == "perf" and perf_works() else 0.08
        for name, inside_s in seconds.items():
            check_close(f"seconds in {name}", inside_s, truth[name], allowed * recording.cpu_s)


def children_of(pid):
    """Those that run: what a shell would call its jobs."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(entry.parent.name))
    return found


def wait_for_child(running):
    """The program under `kymo record`, once it has used 0.2 s of CPU time."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        for pid in children_of(running.process.pid):
            try:
                if time.clock_gettime_ns(~pid << 3 | 2) > 200000000:
                    return pid
            except OSError:
                pass
        time.sleep(0.01)
    running.kill()
    check(False, "the program does not start")


def stopped(who):
    """SIGSTOP for seconds, then SIGCONT, in the middle of the work."""
    for way in ways():
        path = folder() / "recording.kymo"
        running = Running(record_command([WORKLOADS / "busy", "1", "0.7"], path, engine=way))
        program = wait_for_child(running)
        targets = {"program": [program], "recorder": [running.process.pid],
                   "both": [running.process.pid, program]}[who]
        for pid in targets:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(STOP_S)
        for pid in targets:
            os.kill(pid, signal.SIGCONT)
        recording = Recording(path, running.finish(), tools_for(None))
        result = recording.result
        check(result.status == 0, f"{way}: status {result.status}: {result.stderr}")
        truth = json.loads(result.stdout)["cpu"]
        report = accounted(way, recording)
        # But for what it took to begin and to end.
        check(recording.cpu_s >= truth, f"{recording.cpu_s:.4f} s of CPU time, by itself {truth:.4f}")
        if who != "recorder":
            check(report.total_s >= 0.98 * truth, f"only {report.total_s:.3f} s were sampled")


def reads_of(pid):
    """How many system calls that read the process has made."""
    counts = pathlib.Path(f"/proc/{pid}/io").read_text().split()
    return int(counts[counts.index("syscr:") + 1])


def idle(options):
    """1000 threads that sleep beside one that works: the recorder has no system call for each of them
    and tick. In two seconds that would be 200000 for wall time, and ten times that for dispatch."""
    # On a busy machine the program has ended before it was looked at.
    for lives_s in (6, 12, 24, 48, 96):
        if counts_of_idle(options, lives_s):
            return
    check(False, "the threads were gone each time")


def counts_of_idle(options, lives_s):
    """Whether there was time to count."""
    threads, seconds = 1000, 2
    path = folder() / "recording.kymo"
    running = Running(record_command([WORKLOADS / "waits", "beside", lives_s, threads], path,
                                     engine="dispatch", options=options))
    program = wait_for_child(running)
    time.sleep(1)  # until it is known who is idle
    before, began = reads_of(running.process.pid), time.monotonic()
    time.sleep(seconds)
    count = reads_of(running.process.pid) - before
    seconds = time.monotonic() - began
    try:
        known = len(os.listdir(f"/proc/{program}/task"))
    except OSError:
        known = 0
    recording = Recording(path, running.finish(), tools_for(None))
    check(recording.result.status == 0, f"status {recording.result.status}")
    found = len(recording.report("--mode", "wall" if options else "cpu").threads)
    say(f"{count} reads in {seconds:.2f} s; {known} threads, {found} in the report")
    if known != threads + 1:
        return False
    # Some 8 for the one that works, each millisecond; and all are looked at now and then.
    check(count <= 10 * 1000 * seconds + 10 * threads * seconds, f"{count} reads")
    return True


def entered():
    """nsenter joins namespaces, which only a process of one thread may, and becomes a program."""
    command = ["nsenter", "-t", str(os.getpid()), "-m", "-u", "-i", "--", "/bin/echo", "in there"]
    alone = run(command)
    if alone.status != 0:
        skip(f"namespaces cannot be joined here: {alone.stderr.strip()}")
    as_alone(command, children_apart)


add_case("short_threads", short_threads)
add_case("plugins", plugins)
for name, arguments, judged in (("dlopen", ["1000", PLUGINS / "plugin_red.so"], accounted),
                                ("jumpout", [], accounted),
                                ("longjmp", [], accounted),
                                ("iouring", [], told),
                                ("rawclone", [], children_apart),
                                ("forkmalloc", [], children_apart)):
    add_case(name, hazard, name, arguments, judged)
add_case("forkmalloc.jemalloc", hazard, "forkmalloc", [], children_apart, "hazards_jemalloc")
add_case("mallocthread.jemalloc", hazard, "mallocthread", [], accounted, "hazards_jemalloc")
add_case("setns", entered)
add_case("idle.dispatch", idle, [])
add_case("idle.wall", idle, ["--wall=10ms"])
for what in ("program", "recorder", "both"):
    add_case(f"stopped.{what}", stopped, what)
main()
