# SPDX-License-Identifier: Apache-2.0
"""Wall time: what threads do, or wait in, at moments of elapsed time.

The truth is what the programs take of the clock around each of their waits. How long they worked in
between depends on the machine; how long they waited is theirs to know.
"""
import json
import math
import os
import pathlib
import sys
import time

from kymotest import (NOBODY, WORKLOADS, Recording, Running, add_case, case, check, check_close,
                      check_complete, check_nothing_lost, copy_for_all, engines, folder, main, record, record_command,
                      run, say, skip, tools_for)

PERIOD_S = 0.01
SECONDS = 6


def tolerance(truth, name, period_s=PERIOD_S):
    """How far the time in a function that waits again and again may be from the truth.

    Each change between work and wait lies anywhere between two looks, so that it is seen too early or too
    late by chance: four standard deviations for all of them. The recorder's looks are late where it has to
    wait for a CPU, as the program's own waits are then, which has measured that. Some of each wait is the
    kernel's.
    """
    chance = 4 * math.sqrt(2 * truth[name + "_waits"] * period_s ** 2 / 12)
    return chance + 2 * truth[name + "_late"] + 0.01 * truth[name] + period_s


def few_of(calls):
    """How many calls may see EINTR: one in 1000, and what lies by chance beyond that."""
    return calls / 1000 + 3 * math.sqrt(calls / 1000) + 2


def truth_of(recording):
    check(recording.result.status == 0,
          f"status {recording.result.status}: {recording.result.stderr}")
    return json.loads(recording.result.stdout)


def check_quality(report, looks):
    quality = report.quality
    say(f"{quality['wall_samples']} wall samples, {quality['wall_achieved']:.4f} of the threads' time, "
        f"{quality['stacks_complete']:.4f} of stacks complete, {quality['disturbed']} disturbed")
    check(abs(quality["wall_achieved"] - 1) <= 0.01, "time is missing, or there twice")
    check(quality["disturbed"] <= few_of(looks), f"{quality['disturbed']} calls disturbed")
    check_nothing_lost(report.quality)


def shares(engine):
    if engine not in engines():
        skip(f"{engine} does not work here")
    recording = record([WORKLOADS / "waits", "shares", 6], engine=engine,
                       options=["--wall=10ms"])
    truth = truth_of(recording)
    report = recording.report("--mode", "wall")
    check(report.data["mode"] == "wall" and report.data["unit"] == "nanoseconds", "mode or unit")
    for name, call in (("wait_sleep", "[waiting: clock_nanosleep]"), ("wait_poll", "[waiting: poll]"),
                       ("wait_futex", "[waiting: futex]")):
        check_close(name, report.inclusive_s(name), truth[name], tolerance(truth, name))
        # The main thread joins by a futex.
        if name != "wait_futex":
            check_close(call, report.self_s(call), truth[name], tolerance(truth, name))
    check_quality(report, truth["lived"] / PERIOD_S)
    check_complete(report)


add_case("shares.perf", shares, "perf")
add_case("shares.timer", shares, "timer")


@case
def unoptimized():
    """Each frame keeps a frame pointer, which /proc does not tell: no thread is asked for it, and each
    of these waits would end with EINTR."""
    recording = record([WORKLOADS / "waits_O0", "shares", 4], options=["--wall=10ms"])
    truth = truth_of(recording)
    report = recording.report("--mode", "wall")
    for name in ("wait_sleep", "wait_poll", "wait_futex"):
        check_close(name, report.inclusive_s(name), truth[name], tolerance(truth, name))
    check_quality(report, truth["lived"] / PERIOD_S)
    check_complete(report)
    # CPU samples end one in 1000 at most.
    check(truth["eintr"] <= few_of(truth["calls"]), f"{truth['eintr']} of {truth['calls']} calls saw EINTR")


@case
def reads_its_clock():
    """A thread that reads its own CPU clock all the time moves the kernel's figures by that: what tells that
    it runs never stands still. It waits and works in turns; the truth is its own."""
    recording = record([sys.executable, "-c", """
import json, time
took = {"waits": 0, "works": 0}
def waits():
    time.sleep(0.05)
def works():
    end = time.thread_time() + 0.05
    while time.thread_time() < end: pass
for i in range(60):
    for name, run in ("waits", waits), ("works", works):
        begin = time.monotonic()
        run()
        took[name] += time.monotonic() - begin
print(json.dumps(took))
"""], options=["--wall=10ms"])
    truth = truth_of(recording)
    report = recording.report("--mode", "wall")
    allowed = 4 * math.sqrt(2 * 60 * PERIOD_S ** 2 / 12) + 0.05 * (truth["waits"] + truth["works"])
    for name in truth:
        check_close(name, report.inclusive_s(name), truth[name], allowed)


def reads_of(pid):
    """How many times a process has read from any file so far."""
    lines = pathlib.Path(f"/proc/{pid}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["syscr"])


@case
def asleep():
    """Threads that never move: whole stacks, and what each does is not read at each tick.

    What that costs is the bench's to tell; here it is counted.
    """
    threads, seconds, watched_s = 128, 11, 5
    path = folder() / "recording.kymo"
    running = Running(record_command([WORKLOADS / "waits", "asleep", seconds, threads], path,
                                     options=["--wall=10ms"]))
    time.sleep((seconds - watched_s) / 2)
    reads, began = reads_of(running.process.pid), time.monotonic()
    time.sleep(watched_s)
    reads = reads_of(running.process.pid) - reads
    ticks = (time.monotonic() - began) / PERIOD_S
    recording = Recording(path, running.finish(), tools_for(None))
    truth = truth_of(recording)
    report = recording.report("--mode", "wall")
    check_close("wait_asleep", report.inclusive_s("wait_asleep"), truth["wait_asleep"],
                0.01 * truth["lived"])
    check_quality(report, truth["lived"] / PERIOD_S)
    check_complete(report)
    # A sample of what the main thread did before may come as it falls asleep: that is one, and told.
    check(truth["eintr"] <= min(1, report.quality["disturbed"]), f"{truth['eintr']} calls saw EINTR")
    say(f"the recorder read {reads / ticks:.2f} times in a tick of {threads} threads")
    # Some 3200 reads of its start are allowed for: a slow machine may still be there.
    check(reads <= 0.1 * ticks * threads, "it looks at threads that did not move")


def frame_pointer(program):
    """A stack that cannot be walked from outside with what /proc tells: the thread is asked, once, in a
    call that goes on afterwards as if nothing had been."""
    recording = record([WORKLOADS / program, "reader", SECONDS], options=["--wall=10ms"])
    truth = truth_of(recording)
    report = recording.report("--mode", "wall")
    # What passed before the first look, which is late where the recorder waits for a CPU, has no stack.
    unseen = report.self_s("[no stack]")
    for name in ("read_bytes", "with_variable_frame"):
        check_close(name, report.inclusive_s(name), truth["lived"], 0.05 * truth["lived"] + unseen)
    check_quality(report, 2 * truth["lived"] / PERIOD_S)
    check_complete(report, 0.98)
    check(truth["eintr"] <= few_of(truth["calls"]), f"{truth['eintr']} of {truth['calls']} saw EINTR")


add_case("frame_pointer.variable", frame_pointer, "waits")
add_case("frame_pointer.unoptimized", frame_pointer, "waits_O0")


def loops(engine):
    """Event loops are sampled where they work, and left alone where they wait, with wall time too."""
    if engine not in engines():
        skip(f"{engine} does not work here")
    running = []
    for way in ("poll", "epoll_wait"):
        path = folder() / "recording.kymo"
        command = record_command([WORKLOADS / "eventloop", way, 2 * SECONDS], path, engine=engine,
                                 options=["--wall=10ms"])
        running.append((path, Running(command)))
    wrong = []
    for path, loop in running:
        recording = Recording(path, loop.finish(), tools_for(None))
        truth = truth_of(recording)
        report = recording.report()
        wall = recording.report("--mode", "wall")
        work_s = report.inclusive_s("burn_a") + report.inclusive_s("burn_b")
        waiting = sum(wall.self_s(f"[waiting: {name}]") for name in ("poll", "epoll_wait", "ppoll"))
        disturbed = report.quality["disturbed"]
        say(f"{truth['calls']} waits, {truth['eintr']} saw EINTR, {disturbed} disturbed; "
            f"{work_s / report.total_s:.4f} of the weight in the work; {wall.total_s:.2f} s of wall "
            f"time, {waiting:.2f} s waited")
        if engine == "perf" and work_s < 0.96 * (truth["cpu_a"] + truth["cpu_b"]):
            wrong.append("weight outside the work")
        if truth["eintr"] > few_of(truth["calls"]):
            wrong.append(f"{truth['eintr']} of {truth['calls']} waits saw EINTR")
        # The dispatcher's part is one call in 1000 at most, wall time's one look.
        allowed = wall.total_s / PERIOD_S + (truth["calls"] if engine == "dispatch" else 0)
        if disturbed > few_of(allowed):
            wrong.append(f"{disturbed} calls disturbed")
    check(not wrong, "; ".join(wrong))


add_case("loops.perf", loops, "perf")
add_case("loops.dispatch", loops, "dispatch")
add_case("loops.timer", loops, "timer")


@case
def hidden():
    """Where others may not look into the process, time is accounted for, and it is not disturbed."""
    program = copy_for_all(WORKLOADS / "waits")[0]
    recording = record([program, "hidden", 4], user=NOBODY if os.geteuid() == 0 else None,
                       options=["--wall=10ms"])
    truth = truth_of(recording)
    report = recording.report("--mode", "wall")
    say(f"{truth['calls']} calls, {truth['eintr']} saw EINTR; "
        f"{report.quality['wall_achieved']:.4f} of the time")
    check_close("[waiting]", sum(f["self"] for f in report.data["functions"]
                                 if f["name"].startswith("[waiting")) / 1e9, truth["lived"],
                0.05 * truth["lived"] + 2 * truth["wait_sleep_late"])
    check(truth["eintr"] <= few_of(truth["calls"]), f"{truth['eintr']} calls saw EINTR")


@case
def raw():
    """A thread that no hook and no signal reaches is there, with the stack that it has."""
    recording = record([WORKLOADS / "waits", "raw", 3], options=["--wall=10ms"])
    truth = truth_of(recording)
    report = recording.report("--mode", "wall")
    check(len(report.threads) == 2, f"{len(report.threads)} threads")
    # It is found by the third look at /proc, which a busy machine delays, and all its time since then.
    rows = recording.report("--mode", "wall", "--by", "thread").data["functions"]
    found = min(f["total"] for f in rows) / 1e9
    say(f"sleep_raw {report.inclusive_s('sleep_raw'):.3f} s, the thread {found:.3f} s of {truth['lived']:.3f} s")
    check(0.9 * found <= report.inclusive_s("sleep_raw") <= truth["lived"], "its time is missing")


@case
def blocked():
    """Who waits where no signal ends it (state D, as for a disk) has that for its state, and its call."""
    recording = record([WORKLOADS / "waits", "blocked", 3], options=["--wall=10ms"])
    truth = truth_of(recording)
    report = recording.report("--mode", "wall")
    # When its child ends it wants a CPU, for which it waits on a busy machine: that may count or not.
    seen = report.self_s("[blocked: vfork]")
    say(f"[blocked: vfork]: {seen:.4f}, in truth {truth['blocked']:.4f} to {truth['lived']:.4f}")
    check(0.97 * truth["blocked"] <= seen <= 1.03 * truth["lived"], "its time is missing")
    check_quality(report, truth["lived"] / PERIOD_S)


@case
def outputs():
    """Each output has the wall time in its own way, and says what is waited in."""
    recording = record([WORKLOADS / "waits", "shares", 3], options=["--wall=5ms"])
    truth = truth_of(recording)
    profile = recording.firefox()
    names = [c["name"] for c in profile.data["meta"]["categories"]]
    check(names.count("Idle") == 1, f"categories: {names}")
    leaves = {s.frames[-1].name for s in profile.all_samples()}
    check("[waiting: poll]" in leaves, f"innermost: {leaves}")
    folded = recording.path.with_suffix(".folded")
    out = run([recording.kymo, "convert", recording.path, "-q", "--mode", "wall", "-o", folded])
    check(out.status == 0, out.stderr)
    waited = sum(int(line.rsplit(" ", 1)[1]) for line in folded.read_text().splitlines()
                 if ";wait_poll;" in line)
    check_close("wait_poll", waited / 1e9, truth["wait_poll"], tolerance(truth, "wait_poll", 0.005))
    spoken = run([recording.kymo, "record", "--wall", "-f", "-o", folded, "--", "sleep", "0.5"])
    check("the threads waited" in spoken.stderr and "[waiting: clock_nanosleep]" in spoken.stderr,
          spoken.stderr)
    plain = record(["true"])
    out = run([plain.kymo, "report", plain.path, "--mode", "wall"])
    check(out.status != 0 and "no wall time" in out.stderr, out.stderr)


main()
