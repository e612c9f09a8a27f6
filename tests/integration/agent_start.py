# SPDX-License-Identifier: Apache-2.0
"""A program that starts its agent itself: by kymo_agent_start of libkymo.so, or where the preload
library finds KYMO_OPTIONS=agent. What it is recorded with, and that it is harmed by nothing.
"""
import json
import os
import pathlib
import signal
import subprocess

from agents import has_ended, last_only, profiles, report
from kymotest import (BUILD, KYMO, NOBODY, PRELOAD, WORKLOADS, Report, Running, add_case, case, check,
                      check_close, folder, main, run, say, wait_until)

PROGRAM = BUILD / "tests" / "integration" / "agent_program"
ROUNDS = BUILD / "tests" / "integration" / "agent_rounds"
MARKED_ROUNDS = BUILD / "tests" / "integration" / "agent_rounds_marks"
EXISTS, CLOSED = -6, -18


def settings(place, *more):
    return ",".join(["report=300ms", "cpu=1ms", f"reporter=local:{place}", *more])


def started(mode, place, *more, kymo=KYMO, share_ms=100, **how):
    result = run([PROGRAM, mode, settings(place, *more), kymo, share_ms], **how)
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    return json.loads(result.stdout)


def settled(place):
    """The agent outlives the program for a moment."""
    wait_until("the last profile", lambda: place.exists() and any(has_ended(p) for p in profiles(place)))


@case
def running():
    """Threads that run already, and those that begin later, from start to stop, and nothing else."""
    place = folder() / "profiles"
    truth = started("stop", place, share_ms=600)
    check(truth["start"] == 0 and truth["stop"] == 0 and truth["status"] == 0, f"{truth}")
    check(truth["again"] == EXISTS and truth["later"] == 0, f"a second start: {truth}")
    check(truth["child"] == -1 and truth["sigchld"] == 0, f"the program has a child of ours: {truth}")
    check(truth["ends"] == 1, "on_end was not called once")
    reports = [Report(report(p)) for p in profiles(place)]
    # A thread is sampled from when the recorder's next look finds it at work, which a busy machine delays.
    for name, most_s in ("in_main", 0.1), ("in_older", 0.4), ("in_newer", 0.4):
        seen = sum(r.inclusive_s(name) for r in reports)
        say(f"{name}: {seen:.3f}, in truth {truth[name]:.3f}")
        check(truth[name] - most_s <= seen <= truth[name] + 0.02, f"{name} is {seen} of {truth[name]}")
    for name in "after_stop", "before_start":
        check(sum(r.inclusive_s(name) for r in reports) <= 0.1, f"{name} is in the profiles")


def ends(mode):
    """Exactly one last profile, however the program ends."""
    place = folder() / "profiles"
    result = run([PROGRAM, mode, settings(place), KYMO, 600])
    check(result.status == (137 if mode == "kill" else 0), f"status {result.status}: {result.stderr}")
    settled(place)
    last_only(place, 2)


add_case("ends.detached", ends, "detach")
add_case("ends.killed", ends, "kill")


@case
def flushed():
    """A flush makes a profile at once."""
    place = folder() / "profiles"
    truth = started("flush", place, "report=1h")
    check(truth["flush"] == 0 and truth["delivered"] >= 1, f"{truth}")
    check(len(profiles(place)) == 2, f"{len(profiles(place))} profiles")


@case
def agent_dies():
    """The agent is killed: the program hears of it, and goes on."""
    place = folder() / "profiles"
    running_program = Running([PROGRAM, "lose", settings(place), KYMO])
    wait_until("the agent", lambda: b"ready" in os.pread(running_program.files[1].fileno(), 500, 0))
    for name in os.listdir("/proc"):
        if name.isdigit() and is_agent_of(int(name), place):
            os.kill(int(name), signal.SIGKILL)
    result = running_program.finish()
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    truth = json.loads(result.stdout)
    check(truth["stop"] == CLOSED and truth["ended"] == 4 and truth["ends"] == 1, f"{truth}")


@case
def agent_terminated():
    """SIGTERM of the agent alone: after a moment, in which the program might end by it, too, it delivers
    its last profile and ends, and the program goes on."""
    place = folder() / "profiles"
    running_program = Running([PROGRAM, "lose", settings(place), KYMO])
    wait_until("the agent", lambda: b"ready" in os.pread(running_program.files[1].fileno(), 500, 0))
    agents = [int(n) for n in os.listdir("/proc") if n.isdigit() and is_agent_of(int(n), place)]
    check(len(agents) >= 1, "no agent")
    for pid in agents:
        os.kill(pid, signal.SIGTERM)
    result = running_program.finish()
    truth = json.loads(result.stdout)
    check(result.status == 0 and truth["ended"] == 3 and truth["ends"] == 1, f"{truth}")
    check(profiles(place), "no profile")


def is_agent_of(pid, place):
    try:
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return b"--join" in command and str(place).encode() in environment


def refused(mode, kymo, text):
    """What cannot be started says so, and the program goes on without."""
    place = folder() / "profiles"
    truth = started(mode, place, kymo=kymo)
    check(truth["start"] != 0 and text in truth["why"], f"{truth}")
    check(truth["in_main"] > 0 and truth["child"] == -1, f"{truth}")


add_case("refused.missing", refused, "stop", "/no/kymo", "No such file")
add_case("refused.filter", refused, "filter", KYMO, "Operation not permitted")


@case
def wrong_settings():
    """The agent's own complaint reaches the program."""
    truth = started("stop", folder() / "file", "reporter=ftp://x")
    check(truth["start"] != 0 and "ftp" in truth["why"], f"{truth}")


@case
def under_record():
    """A program that is recorded already is recorded once."""
    where = folder()
    result = run([KYMO, "record", "-q", "-o", where / "x.kymo", "--", PROGRAM, "stop", settings(where / "p"), KYMO])
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    truth = json.loads(result.stdout)
    check(truth["start"] == EXISTS, f"{truth}")


@case
def output_ends():
    """The agent holds no descriptor of the program's: who reads its output sees the end with it."""
    place = folder() / "profiles"
    program = subprocess.Popen([PROGRAM, "detach", settings(place, "report=1h", "deadline=60s"), KYMO],
                               stdout=subprocess.PIPE)
    program.stdout.read()
    check(program.wait() == 0, "status")
    settled(place)


@case
def preloaded():
    """LD_PRELOAD with KYMO_OPTIONS=agent, of a program that knows nothing of it; with what it starts."""
    place = folder() / "profiles"
    result = run(["sh", "-c", f"{WORKLOADS}/intervals 40; {WORKLOADS}/intervals 20"],
                 env={**os.environ, "LD_PRELOAD": str(PRELOAD),
                      "KYMO_OPTIONS": f"agent,{settings(place)}"})
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    truths = [json.loads(line) for line in result.stdout.splitlines()]
    settled(place)
    reports = [Report(report(p)) for p in last_only(place)]
    burnt = sum(r.inclusive_s("burn_round") for r in reports)
    truth = sum(t["burn_round"] for t in truths)
    check_close("burn_round", burnt, truth, 0.05 * truth + 0.05)
    ticks = sum(r.data.get("markers", 0) for r in reports)
    say(f"{len(reports)} profiles, {ticks} markers")


@case
def not_root():
    """As a user who is not root."""
    if os.geteuid() != 0:
        return
    place = folder() / "profiles"
    result = run(["sh", "-c", f"{PROGRAM} stop {settings(place)} {KYMO}"], user=NOBODY)
    if result.status == 126 or result.status == 127:
        return say("the build is in a folder without access")
    truth = json.loads(result.stdout)
    check(truth["start"] == 0 and truth["stop"] == 0, f"{truth} {result.stderr}")


def lines_of(rounds, place, *more):
    result = run([ROUNDS, str(rounds), settings(place, "report=1h", *more), KYMO])
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    return [json.loads(line) for line in result.stdout.splitlines()]


def rounds(count, *more):
    """Starts and stops while threads work, come and go, and fork: a profile of each round, of its CPU time
    alone, and nothing that grows in the program."""
    place = folder() / "profiles"
    truths = lines_of(count, place, *more)
    files = sorted(place.iterdir())
    check(len(truths) == len(files) == count, f"{len(files)} profiles of {len(truths)} rounds")
    shares, children = [], 0
    for truth, path in zip(truths, files):
        seen = Report(report(path))
        shares.append(seen.inclusive_s("in_round") / truth["in_round"])
        children += seen.inclusive_s("in_child") > 0
        check(seen.inclusive_s("between_rounds") == 0, f"{path.name} has what was before or after it")
        check(shares[-1] <= 1.05, f"{path.name} has {shares[-1]} of in_round's CPU time")
        check(truth["stop"] == 0 and truth["timers"] in (-1, 0) and truth["default"] == 1, f"{truth}")
    say(f"of in_round {min(shares):.3f} to {max(shares):.3f}, children in {children} of {count}")
    # When a thread is seen first is chance, on a busy machine.
    check(sorted(shares)[count // 2] >= 0.6, f"shares: {shares}")
    check(children >= count // 2, f"children in {children} of {count} profiles")
    # The first rounds find libc's own memory: a stack that is kept for the next thread, an arena.
    early, late = truths[min(4, count // 2)], truths[-1]
    check(late["files"] == truths[0]["files"] and late["threads"] == truths[0]["threads"], f"{truths[0]} {late}")
    check(late["maps"] <= early["maps"] + 4, f"{early} {late}")
    check(late["pages"] <= early["pages"] + 128, f"{early} {late}")


add_case("rounds", rounds, 15)
add_case("rounds.timer", rounds, 5, "engine=timer")
add_case("rounds.dispatch", rounds, 5, "engine=dispatch")
add_case("rounds.wall", rounds, 5, "wall=5ms")


@case
def marked_rounds():
    """Markers, labels and counters between a start and its stop, of all threads, and none beside them: also of
    threads that made some in an earlier recording."""
    place = folder() / "profiles"
    result = run([MARKED_ROUNDS, "6", settings(place, "report=1h", "format=kymo"), KYMO])
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    files = sorted(place.iterdir())
    check(len(files) == 6, f"{len(files)} profiles")
    for path in files:
        rows = {row["name"]: row["count"] for row in json.loads(
            run([KYMO, "report", path, "--mode=markers", "--json"]).stdout)["markers"]}
        # Two workers, a guest and a child.
        check(rows == {"Instant": 4000, "Text": 4000, "Share": 4}, f"{path.name}: {rows}")


@case
def killed_and_replaced():
    """An agent that was killed is replaced by the next start, whether or not its death was noticed."""
    place = folder() / "profiles"
    result = run([ROUNDS, "6", settings(place, "report=300ms"), KYMO, "kill"])
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    truths = [json.loads(line) for line in result.stdout.splitlines()]
    check(len(truths) == 6, f"{len(truths)} rounds")
    for truth in truths:
        if "stop" in truth:
            check(truth["stop"] == CLOSED and truth["timers"] in (-1, 0) and truth["default"] == 1, f"{truth}")
    check(truths[-1]["files"] == truths[0]["files"], f"{truths}")


if __name__ == "__main__":
    main()
