# SPDX-License-Identifier: Apache-2.0
"""`kymo control` of what runs: what it says of itself.

The program is intervals.c: a marker, an interval and some CPU time in each round, until it is stopped.
"""
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess

from kymotest import (KYMO, WORKLOADS, Running, case, check, engines, folder, main, record_command, run, say,
                      wait_until)

ROUNDS = 100000  # more than a test waits for


def control(*arguments):
    return run([KYMO, "control", *arguments])


def child_of(pid, name="intervals"):
    found = subprocess.run(["pgrep", "-P", str(pid), name], capture_output=True, text=True).stdout.split()
    return int(found[0]) if found else 0


class Recorded:
    """The program under kymo record, or kymo agent, until end()."""

    def __init__(self, command):
        self.running = Running(command)
        self.recorder = self.running.process.pid
        wait_until("the program", lambda: child_of(self.recorder))
        self.pid = child_of(self.recorder)
        wait_until("the recording of it", lambda: self.ask("status").status == 0)

    def ask(self, *arguments):
        return control("-p", str(self.recorder), *arguments)

    def status(self):
        out = self.ask("status")
        check(out.status == 0, out.stderr)
        return json.loads(out.stdout)

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
    wait_until("three profiles", lambda: len(agent.profiles()) >= 3)
    check(len(agent.profiles()) == 3, "more profiles than flushes")
    agent.end()
    samples = [report(path)["quality"]["samples"] for path in agent.profiles()]
    say(f"samples: {samples}")
    check(len(samples) == 4 and sum(samples) > 0, f"{samples}")


@case
def flush_of_a_recording():
    path = folder() / "recording.kymo"
    recorded = Recorded(record_command([WORKLOADS / "intervals", str(ROUNDS), "1"], path))
    out = recorded.ask("flush")
    check(out.status == 1 and "nothing to flush to" in out.stderr, f"{out.stdout}{out.stderr}")
    recorded.end()


@case
def wrong_use():
    for arguments, text in (["nonsense"], "is not status"), ([], "missing request"), \
            (["status", "-o", "file"], "-o goes with"), (["status", "markers"], "one thing at a time"):
        out = control(*arguments)
        check(out.status == 2 and text in out.stderr, f"{arguments}: {out.status}, {out.stderr}")


if __name__ == "__main__":
    main()
