# SPDX-License-Identifier: Apache-2.0
"""Samples without a signal, from the kernel's copies of stacks: who gets them, that they say what a handler
says, and what ends them."""
import json
import os
import signal
import subprocess
import sys

from kymotest import (KYMO, WORKLOADS, Recording, by_chance, case, check, check_close, check_complete, folder,
                      main, perf_works, record, run, say, skip, tools_for)

# What of a program's beginning its handler samples: a few samples, until the recorder has heard of them.
HANDLED_S = 0.1
# Stacks that are longer than their copies are found out when a ring is read, which holds no more than this.
RING_SAMPLES = 128


def record_copied(argv, options=(), **how):
    if not perf_works():
        skip("perf_event_open is not permitted here, or not in the kernel")
    recording = record(argv, engine="perf", options=options, **how)
    check(recording.result.status == 0, recording.result.stderr)
    report = recording.report()
    say(f"{report.quality.get('copied_samples', 0)} of {report.quality['samples']} samples are copies; "
        f"{report.quality['stacks_complete']:.4f} of stacks complete, lost {report.lost()}")
    return recording, report


def shares_of(text):
    truth = [json.loads(line) for line in text.splitlines() if line.startswith("{")][0]
    total = sum(truth.values())
    return {name: seconds / total for name, seconds in truth.items()}


def incomplete(recording):
    """The stacks that are cut, without what all have in common."""
    text = run([KYMO, "convert", recording.path, "-q", "-o", "-"]).stdout
    lines = text.splitlines()
    return [line.partition("[incomplete stack];")[2] for line in lines if "[incomplete stack]" in line]


@case
def shares():
    """Both ways give the shares that the program has measured, and all of its CPU time."""
    for options in ((), ("--copies=no",)):
        recording, report = record_copied([WORKLOADS / "deepens", "2", "1000"], options)
        check_complete(report)
        check(abs(report.total_s - recording.cpu_s) <= 1e-4 + report.quality["cpu_unsampled_s"],
              "CPU time is missing, or there twice")
        for name, share in shares_of(recording.result.stdout).items():
            check_close(name, report.inclusive_s(name) / report.total_s, share,
                        max(0.02, by_chance(share, report.quality["samples"])))
        copied = report.quality.get("copied_samples", 0)
        if options:
            check(copied == 0, "there are copies")
        elif not report.lost():  # a recorder that came late leaves the rest to handlers
            say(f"{report.quality['samples'] - copied} by the handler")
            check(copied > 0, "there are no copies")


@case
def longer_stacks():
    """A stack that outgrows its copies gets a handler: few are cut."""
    for size in ("24000", "40000", "200000"):
        recording, report = record_copied([WORKLOADS / "deepens", "2", size])
        cut = report.quality["samples"] * (1 - report.quality["stacks_complete"])
        say(f"{size} bytes: {cut:.0f} stacks are cut")
        check(cut <= RING_SAMPLES + 1, "stacks are cut for long")
        for name, share in shares_of(recording.result.stdout).items():
            check_close(name, report.self_s(name) / report.total_s, share,
                        max(0.02, by_chance(share, report.quality["samples"])))


@case
def without_unwind_information():
    """Assembly that nothing is said of is followed to its return, by the handler and where copies are walked: all
    callers are found, and are the true ones. What is walked when the process has ended may lack its code."""
    def once(options):
        recording, report = record_copied([WORKLOADS / "bare", "2"], options)
        cut = report.quality["samples"] * (1 - report.quality["stacks_complete"])
        say(f"{cut:.0f} stacks are cut: {incomplete(recording)}")
        # One of 2000 was cut once by the handler, where a hypervisor took the CPU away.
        check(cut <= (2 if options else RING_SAMPLES + 1), "stacks are cut")
        for name, share in shares_of(recording.result.stdout).items():
            check_close(name, report.inclusive_s(name) / report.total_s, share,
                        max(0.02, by_chance(share, report.quality["samples"])) +
                        cut / report.quality["samples"])
        return report.quality.get("copied_samples", 0) / report.quality["samples"]

    once(("--copies=no",))
    # A recorder that comes late gives the process a handler.
    check(any(once(()) > 0.5 for _ in range(5)), "the process has a handler each time")


@case
def later_processes():
    """What one process has shown of its program's stacks, the next ones begin with. A third of the first one's
    samples are copies, and all of the second one's, but where a recorder that comes late gives it a handler."""
    twice = f"{WORKLOADS}/deepens 1 24000; {WORKLOADS}/deepens 1 24000"
    for _ in range(5):
        _, report = record_copied(["sh", "-c", twice])
        cut = report.quality["samples"] * (1 - report.quality["stacks_complete"])
        say(f"{cut:.0f} stacks are cut")
        check(cut <= RING_SAMPLES + 1, "stacks of the second are cut")
        if report.quality.get("copied_samples", 0) > report.quality["samples"] / 2:
            return
    check(False, "the second has a handler each time")


@case
def later_processes_that_are_short():
    """Once a process of a program has been sampled by copies, the next ones are from their second sample on, not
    from the eighth: without that, 172 of 500 samples could be copies at most."""
    many = f"{WORKLOADS}/deepens 0.1 1000; for i in $(seq 40); do {WORKLOADS}/deepens 0.01 1000; done"
    for _ in range(10):
        _, report = record_copied(["sh", "-c", many])
        if report.quality.get("copied_samples", 0) > 0.45 * report.quality["samples"]:
            return
    check(False, "each begins with its handler")


@case
def closed_libraries():
    """Copies are walked later, so who closes libraries has handlers before the first is closed: its addresses
    may be another one's by then."""
    _, report = record_copied([WORKLOADS / "dlopenloop", "300"])
    check(report.quality.get("copied_samples", 0) <= HANDLED_S * 1000 + RING_SAMPLES, "copies go on")
    check_complete(report)


@case
def python():
    """An interpreter's frames are read by its handler alone."""
    _, report = record_copied([sys.executable, "-c", "sum(i * i for i in range(3_000_000))"])
    processes = {p["name"] for p in report.data["processes"]}
    say(f"{processes}")
    check(report.quality.get("python_samples", 0) > 0, "no functions of Python")
    check(report.quality.get("copied_samples", 0) == 0 or len(processes) > 1, "samples are copied")


def used_s(pid):
    try:
        with open(f"/proc/{pid}/schedstat") as stat:
            return int(stat.read().split()[0]) / 1e9
    except (OSError, IndexError):
        return float("inf")


SHALLOW_S = 1.3  # the first third of what `deepens` does


@case
def a_late_recorder():
    """What finds no room in a ring is counted, and its time is in what comes next; then the thread has its
    handler, and all is sampled again."""
    if not perf_works():
        skip("perf_event_open is not permitted here, or not in the kernel")
    path = folder() / "late.kymo"
    kymo = subprocess.Popen([KYMO, "record", "-q", "--engine=perf", "-o", path, "--", WORKLOADS / "deepens",
                             str(3 * SHALLOW_S), "1000"], stdout=subprocess.PIPE, text=True)
    # The recorder is stopped for longer than a ring has room for, while the program burns on.
    program = None
    while program is None:
        with open(f"/proc/{kymo.pid}/task/{kymo.pid}/children") as children:
            pids = children.read().split()
        for pid in pids:
            try:
                if os.readlink(f"/proc/{pid}/exe").endswith("/deepens"):
                    program = pid
            except OSError:
                pass
    while used_s(program) < 0.3:
        pass
    os.kill(kymo.pid, signal.SIGSTOP)
    start_s = used_s(program)
    while used_s(program) < start_s + 0.6:
        pass
    end_s = used_s(program)
    os.kill(kymo.pid, signal.SIGCONT)
    text = kymo.communicate()[0]
    check(kymo.returncode == 0, f"status {kymo.returncode}")
    report = Recording(path, None, tools_for(None)).report()
    lost = sum(report.lost().values())
    say(f"lost {report.lost()}, {report.quality['samples']} samples, {report.total_s:.3f} s")
    # Some 600 less what the ring holds; a hypervisor may take ticks with the CPU.
    check(lost >= 100, "losses are not counted")
    # What is lost is shown as what comes next; on a busy machine that may be the other function.
    error = 0.05 if end_s < 0.9 * SHALLOW_S else 0.05 + lost * 1e-3 / report.total_s
    for name, share in shares_of(text).items():
        check_close(name, report.self_s(name) / report.total_s, share, error)


if __name__ == "__main__":
    main()
