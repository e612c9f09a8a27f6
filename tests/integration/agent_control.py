# SPDX-License-Identifier: Apache-2.0
"""`kymo control` of what runs: what it says of itself, and how it is changed.

The program is intervals.c: a marker, an allocation and some CPU time in each round. What was recorded when
is known by the CPU clock of the program, read from outside.
"""
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import time

from kymotest import (BUILD, KYMO, WALL, WORKLOADS, Profile, Report, Running, add_case, case, check, engines, folder, main,
                      record_command, run, say, wait_until, ways)

DUMP = BUILD / "tests" / "recording_dump"
ROUNDS = 100000  # more than a test waits for


def control(*arguments):
    return run([KYMO, "control", *arguments])


def child_of(pid, name):
    found = subprocess.run(["pgrep", "-P", str(pid), name], capture_output=True, text=True).stdout.split()
    return int(found[0]) if found else 0


class Recorded:
    """The program under kymo record, or kymo agent, until end()."""

    def __init__(self, command, name="intervals"):
        self.running = Running(command)
        self.recorder = self.running.process.pid
        wait_until("the program", lambda: child_of(self.recorder, name))
        self.pid = child_of(self.recorder, name)
        wait_until("the recording of it", lambda: self.ask("status").status == 0)

    def ask(self, *arguments):
        return control("-p", str(self.recorder), *arguments)

    def status(self):
        out = self.ask("status")
        check(out.status == 0, out.stderr)
        return json.loads(out.stdout)

    def now(self, *arguments):
        """Obeyed by the answer. Returns the CPU clock of the program and the time, before and after."""
        before = self.clocks()
        out = self.ask(*arguments)
        check(out.status == 0, f"{arguments}: {out.stdout}{out.stderr}")
        return before, self.clocks()

    def clocks(self):
        return time.clock_gettime_ns(~self.pid << 3 | 2) / 1e9, time.clock_gettime_ns(time.CLOCK_MONOTONIC)

    def go_on(self, cpu_s=0.15):
        """Waits until the program has used that much CPU time."""
        until = self.clocks()[0] + cpu_s
        wait_until("some CPU time", lambda: self.clocks()[0] >= until)

    def finish(self):
        """Waits for the program's own end. Returns what it prints."""
        result = self.running.finish()
        check(result.status == 0, f"status {result.status}: {result.stderr}")
        return json.loads(result.stdout)

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        result = self.running.finish()
        check(result.status == 128 + signal.SIGTERM, f"status {result.status}: {result.stderr}")
        return result


class Agent(Recorded):
    def __init__(self, *options, report="1h", program=()):
        self.place = folder() / "profiles"
        super().__init__([KYMO, "agent", f"--report={report}", "--cpu=1ms", f"--reporter=local:{self.place}",
                          "--format=kymo", *options, "--",
                          *(program or [WORKLOADS / "intervals", str(ROUNDS), "1"])])

    def profiles(self):
        def number(path):
            return int(re.search(r"Z\.(\d+)\.", path.name).group(1))
        return sorted((p for p in pathlib.Path(self.place).iterdir() if not p.name.startswith(".")),
                      key=number) if self.place.exists() else []


def report(path, *arguments):
    out = run([KYMO, "report", path, "--json", "--top", "0", *arguments])
    check(out.status == 0, f"{path.name}: status {out.status}: {out.stderr}")
    check("inconsistent" not in out.stderr and "damaged" not in out.stderr, out.stderr)
    return json.loads(out.stdout)


def notes_of(path):
    return re.findall(r'^note .* text="(.*)"$', run([DUMP, path]).stdout, re.M)


def firefox(path):
    to = path.with_suffix(".json")
    out = run([KYMO, "convert", path, "-q", "-f", "-o", to])
    check(out.status == 0, out.stderr)
    return Profile(json.loads(to.read_text()))


def is_time(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) <= datetime.datetime.now(datetime.timezone.utc)


@case
def status_of_a_recording():
    """What is recorded, and how."""
    for engine in engines():
        path = folder() / "recording.kymo"
        recorded = Recorded(record_command([WORKLOADS / "intervals", str(ROUNDS), "1"], path, engine=engine,
                                           period="5ms", options=["--wall=50ms", "--alloc=64k",
                                                                  "--markers=all:-net"]))
        said = recorded.status()
        say(f"{said}")
        recorder = said.pop("recorder")
        check(recorder["pid"] == recorded.recorder and 0 < recorder["cpu_ns"] < 60e9 and
              1 << 20 < recorder["rss_bytes"] < 1 << 30, f"{recorder}")
        check(is_time(said.pop("since")), "since when")
        check(said.pop("bytes") > 0, "no bytes")
        check(said == {"state": "recording", "program": {"pid": recorded.pid}, "processes": 1, "engine": engine,
                       "period_ns": 5000000, "wall_period_ns": 50000000, "alloc_bytes": 65536,
                       "markers": "all:-net"}, f"{said}")
        by_program = json.loads(control("-p", str(recorded.pid), "status").stdout)
        check(by_program["recorder"]["pid"] == recorded.recorder, f"{by_program}")
        recorded.end()


@case
def status_of_an_agent():
    """What became of intervals and their profiles."""
    bad = folder() / "bad"
    agent = Agent(f"--reporter=local:{bad}", "--format=folded", report="250ms")
    wait_until("three profiles", lambda: agent.status()["agent"]["reporters"][0]["delivered"] >= 3)
    check(len(agent.profiles()) >= 3, "it says more than arrived")
    first = agent.status()["agent"]
    say(f"{first}")
    check(first["interval_ns"] == 250000000 and first["intervals"] >= 3 and first["broken"] == 0, f"{first}")
    kymo, folded = first["reporters"]
    check(kymo["reporter"] == f"local:{agent.place}" and kymo["format"] == ".kymo", f"{kymo}")
    check(kymo["delivered"] >= 3 and kymo["failures"] == 0 and is_time(kymo["last_delivery"]) and
          kymo["last_error"] is None, f"{kymo}")
    check(folded["delivered"] >= 1 and folded["format"] == ".folded", f"{folded}")
    bad.rename(bad.with_name("away"))

    def failed():
        reporter = agent.status()["agent"]["reporters"][1]
        return reporter["failures"] > 0 and reporter["waiting"] > 0 and \
            "cannot open the folder" in reporter["last_error"]
    wait_until("a failure", failed)
    bad.mkdir()
    agent.end()


@case
def flush():
    """The interval ends by the answer, is a whole profile, and the next one is another."""
    agent = Agent()
    for n in range(1, 4):
        out = agent.ask("flush")
        check(out.status == 0 and "has ended" in out.stdout, f"{out.stdout}{out.stderr}")
        check(agent.status()["agent"]["intervals"] == n, f"{agent.status()}")
    # An interval in which the program got no CPU is empty.
    full = 3 - agent.status()["agent"]["empty"]
    wait_until(f"{full} profiles", lambda: len(agent.profiles()) >= full)
    check(len(agent.profiles()) == full, "more profiles than flushes")
    agent.end()
    samples = [report(path)["quality"]["samples"] for path in agent.profiles()]
    say(f"samples: {samples}")
    check(len(samples) == full + 1 and sum(samples) > 0, f"{samples}")


@case
def flush_of_a_recording():
    path = folder() / "recording.kymo"
    recorded = Recorded(record_command([WORKLOADS / "intervals", str(ROUNDS), "1"], path))
    out = recorded.ask("flush")
    check(out.status == 1 and "nothing to flush to" in out.stderr, f"{out.stdout}{out.stderr}")
    recorded.end()


# ---- pauses ----

# Between the answer and what is recorded by it: a marker's clock is the processor's, translated.
SLACK_NS = 100000


def not_between(profile, pauses):
    """No sample and no marker is in a pause: (begin, end) in ns."""
    for since, until in pauses:
        late = [s.time_ns - since for s in profile.all_samples() if since + SLACK_NS < s.time_ns < until - SLACK_NS]
        check(not late, f"{len(late)} samples in the pause, {late[:3]} ns after its begin")
        late = [m.name for m in profile.all_markers()
                if m.name in ("tick", "step") and since + SLACK_NS < m.start_ns < until - SLACK_NS]
        check(not late, f"{len(late)} markers in the pause")


def pause_of_an_agent(engine):
    """Two pauses, the first through an interval: what was recorded and what was not is all that the
    program did."""
    how = ["--engine=auto", "--wall=10ms"] if engine == WALL else [f"--engine={engine}"]
    until = folder() / "end"
    agent = Agent(*how, "--alloc=0", program=[WORKLOADS / "intervals", str(ROUNDS), "1", "4096", until])
    agent.go_on()
    begins, ends = [], []
    begins.append(agent.now("pause")[1])
    check(agent.status()["state"] == "paused", f"{agent.status()}")
    agent.now("pause")
    agent.now("flush")
    agent.go_on()
    agent.now("flush")
    ends.append(agent.now("resume")[0])
    agent.now("resume")
    status = agent.status()
    check((status["state"], status["alloc_bytes"], status["markers"]) == ("recording", 1, "all"), f"{status}")
    agent.go_on()
    begins.append(agent.now("pause")[1])
    agent.go_on()
    ends.append(agent.now("resume")[0])
    agent.go_on()
    until.touch()
    truth = agent.finish()
    paths = agent.profiles()
    check(len(paths) == 3, f"{paths}")
    reports = [report(p) for p in paths]
    check(reports[1]["quality"]["samples"] == 0, "samples in an interval that was paused")
    sampled = sum(r["total"] for r in reports) / 1e9
    unsampled = [r["quality"]["cpu_unsampled_s"] for r in reports]
    in_pauses = sum(end[0] - begin[0] for begin, end in zip(begins, ends))
    say(f"{sampled:.3f} s sampled, {unsampled} s not, {in_pauses:.3f} s of it in pauses; in truth {truth['cpu']} s")
    # The kernel's work at the start and the end of the process is not in its own reading.
    check(truth["cpu"] * 0.999 <= sampled + sum(unsampled) <= truth["cpu"] + 0.1, "not all of its CPU time")
    check(sum(unsampled) >= in_pauses, "time of a pause is in samples")
    profiles = [firefox(p) for p in paths]
    times = [(begin[1], end[1]) for begin, end in zip(begins, ends)]
    ticks = 0
    for profile in profiles:
        not_between(profile, times)
        ticks += sum(m.name == "tick" for m in profile.all_markers())
    blocks = sum(f["self"]["bytes"] for p in paths for f in report(p, "--mode", "alloc")["functions"]
                 if f["name"] == "keep_block") // 4096
    say(f"{ticks} markers and {blocks} allocations of {truth['rounds']}")
    check(0 < ticks < truth["rounds"], "markers of all rounds, or of none")
    # They do not stop and go on at the very same moment: by a round at each switch, and two pauses are four.
    check(abs(ticks - blocks) <= 8, f"{ticks} markers, {blocks} allocations")
    notes = [n for p in paths for n in notes_of(p)]
    check(sum("was paused" in n for n in notes) == 2 and sum("went on, after a pause" in n for n in notes) == 2,
          f"{notes}")


for way in ways():
    add_case(f"pause_of_an_agent.{way}", pause_of_an_agent, way)


@case
def empty_in_a_pause():
    """An interval in which the recording was paused is empty, if allocations are not recorded."""
    agent = Agent()
    agent.now("pause")
    agent.now("flush")
    agent.go_on()

    def ends_empty():
        # What was sampled before the pause may be read in the first of these, on a busy machine.
        agent.now("flush")
        return agent.status()["agent"]["empty"] > 0

    wait_until("the count of an empty interval", ends_empty)
    agent.end()


def begins_in_a_pause(engine):
    """A thread and a process that begin in a pause are not recorded until its end."""
    where = folder()
    path = where / "recording.kymo"
    recorded = Recorded(record_command([WORKLOADS / "begins", where], path, engine=engine), "begins")
    recorded.go_on(0.1)
    begin = recorded.now("pause")[1]
    (where / "begin").touch()
    wait_until("a thread and a child", lambda: (where / "thread").exists() and (where / "child").exists())
    recorded.now("pause")
    end = recorded.now("resume")[0]
    recorded.go_on()
    (where / "end").touch()
    truth = recorded.finish()
    out = report(path)
    profile = firefox(path)
    not_between(profile, [(begin[1], end[1])])
    sampled, unsampled = out["total"] / 1e9, out["quality"]["cpu_unsampled_s"]
    say(f"{sampled:.3f} s sampled, {unsampled:.3f} s not, in truth {truth['cpu'] + truth['child']:.3f} s")
    check(unsampled >= end[0] - begin[0], "time of the pause is in samples")
    whole = truth["cpu"] + truth["child"]
    check(whole * 0.99 <= sampled + unsampled <= whole + 0.2, "not all CPU time")
    for name in ("burn_main", "burn_thread", "burn_child"):
        check(Report(out).inclusive_s(name) > 0, f"{name} has no samples after the pause")
    steps = {m.tid for m in profile.all_markers() if m.name == "step"}
    check(len(steps) == 3, f"markers of threads {steps}")


for way in ways():
    add_case(f"begins_in_a_pause.{way}", begins_in_a_pause, way)


# ---- periods ----

def periods(engine):
    """From one sample in a second of CPU time to many. CPU time stays whole, and later profiles say the new
    period."""
    how = ["--engine=auto", "--wall=5s"] if engine == WALL else [f"--engine={engine}"]
    until = folder() / "end"
    agent = Agent(*how, "--cpu=1s", program=[WORKLOADS / "intervals", str(ROUNDS), "1", "4096", until])
    agent.go_on()
    agent.now("cpu=2ms")
    if engine == WALL:
        agent.now("wall=10ms")
    status = agent.status()
    check((status["period_ns"], status["wall_period_ns"]) == (2000000, 10000000 if engine == WALL else 0), f"{status}")
    agent.go_on()
    agent.now("flush")
    agent.go_on()
    agent.now("pause")
    agent.now("cpu=4ms")
    agent.now("resume")
    agent.now("flush")
    agent.go_on()
    until.touch()
    truth = agent.finish()
    reports = [report(p) for p in agent.profiles()]
    samples = [r["quality"]["samples"] for r in reports]
    seen = sum(r["total"] / 1e9 + r["quality"]["cpu_unsampled_s"] for r in reports)
    said = [int(re.search(r"^meta .*period=(\d+)", run([DUMP, p]).stdout, re.M).group(1)) for p in agent.profiles()]
    say(f"{samples} samples, periods {said}, {seen:.3f} s of {truth['cpu']} s")
    check(said == [1000000000, 2000000, 4000000], f"periods {said}")
    # At a kernel tick of 4 or 10 ms there are 15 in that time, and at the old period none.
    check(min(samples) >= 5, f"samples {samples}")
    check(truth["cpu"] * 0.999 <= seen <= truth["cpu"] + 0.1, "not all of its CPU time")
    if engine == WALL:
        wall = [r["quality"]["wall_samples"] for r in reports]
        say(f"{wall} wall samples")
        check(min(wall) >= 2, "no wall samples of the new period")
    check(any("changed from 1.00 s to 2 ms" in n for n in notes_of(agent.profiles()[0])),
          f"{notes_of(agent.profiles()[0])}")


for way in ways():
    add_case(f"periods.{way}", periods, way)


@case
def wall_of_none():
    path = folder() / "recording.kymo"
    recorded = Recorded(record_command([WORKLOADS / "intervals", str(ROUNDS), "1"], path))
    out = recorded.ask("wall=10ms")
    check(out.status == 1 and "wall time is not recorded there" in out.stderr, f"{out.stdout}{out.stderr}")
    recorded.end()


@case
def wrong_use():
    for arguments, text in (["nonsense"], "is not status"), ([], "missing request"), \
            (["status", "-o", "file"], "-o goes with"), (["cpu=1"], "is not a time"), (["cpu=off"], "cpu"), \
            (["wall=off"], "wall=off"), (["status", "markers"], "one thing at a time"):
        out = control(*arguments)
        check(out.status == 2 and text in out.stderr, f"{arguments}: {out.status}, {out.stderr}")



# ---- settings ----

def agent_to(place, *options):
    return Recorded([KYMO, "agent", "-q", "--report=1h", f"--reporter=local:{place}", *options, "--",
                     WORKLOADS / "intervals", str(ROUNDS)])


@case
def other_settings():
    """Interval, reporters and labels of a running agent: from then on, and what was before stays whole."""
    before, after, both = folder() / "before", folder() / "after", folder() / "both"
    agent = agent_to(before, f"--reporter=local:{both}")
    agent.go_on()
    check(agent.status()["agent"]["interval_ns"] == 3600 * 10**9, "the interval")
    out = agent.ask("set=report=200ms,cpu=3ms,counters=100ms,"
                    f"reporter=local:{after},format=jfr,reporter=local:{both}")
    check(out.status == 0, out.stderr)
    status = agent.status()
    check(status["agent"]["interval_ns"] == 2 * 10**8 and status["period_ns"] == 3000000, f"{status}")
    check([r["reporter"] for r in status["agent"]["reporters"]] == [f"local:{after}", f"local:{both}"], f"{status}")
    wait_until("intervals", lambda: agent.status()["agent"]["intervals"] >= 4)
    agent.end()
    # The interval that was under way ended by the new length, and went to the new reporters.
    check(not list(before.iterdir()), "a reporter that was replaced has a profile")
    names = [p.name for p in after.iterdir()]
    check(len(names) >= 4 and all(n.endswith(".jfr") for n in names), f"{names}")
    check(len([p for p in both.iterdir() if p.suffix == ".kymo"]) == len(names), "the reporter that stayed")


@case
def settings_that_cannot_be_others():
    """Each is refused with what is wrong, and nothing of the list is done."""
    place = folder() / "profiles"
    agent = agent_to(place)
    wrong = {"engine=timer": "engine cannot be changed while the agent runs",
             "spool=/tmp": "spool cannot be changed",
             "wall=10ms": "wall time is not recorded there: wall= needs a new start",
             "alloc=1m": "allocations are not recorded there",
             "counters=off": "cannot be switched off",
             "reporter=ftp://x": "reporter=ftp://x",
             "report=1": "report=1: it takes a time",
             "keep=3,nonsense": "nonsense cannot be changed"}
    for text, why in wrong.items():
        out = agent.ask(f"set=report=5s,{text}")
        check(out.status == 1 and why in out.stderr, f"{text}: {out.status} {out.stdout}{out.stderr}")
        check(agent.status()["agent"]["interval_ns"] == 3600 * 10**9, f"{text}: the interval was changed")
    agent.end()


@case
def settings_of_a_record():
    """kymo record has none that this could change."""
    recorded = Recorded([KYMO, "record", "-q", "-o", folder() / "x.kymo", "--", WORKLOADS / "intervals", str(ROUNDS)])
    out = recorded.ask("set=report=5s")
    check(out.status == 1 and "kymo record" in out.stderr, f"{out.status} {out.stderr}")
    recorded.end()


if __name__ == "__main__":
    main()
