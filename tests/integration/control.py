# SPDX-License-Identifier: Apache-2.0
"""Which categories of markers are recorded: as it was asked for at the start, and from outside while
the program runs. The workload makes a marker of Hush and one of Plain each time round, and sleeps
once."""
import os
import re
import subprocess
import time

from kymotest import (BUILD, KYMO, NOBODY, WORKLOADS, Running, add_case, check, folder, main,
                      record_command, run, say, skip, tools_for)

DUMP = BUILD / "tests" / "recording_dump"
ROUNDS = 100
# Rounds that a signal may come late, and sleeps of the program's start.
SLACK = 20


def wait_until(what, holds):
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.01)
    check(False, f"in a minute not {what}")


class Recorded:
    """The workload under kymo, until end()."""

    def __init__(self, *options, env=None, user=None):
        self.where = folder()
        self.path = self.where / "recording.kymo"
        self.running = Running(
            record_command([WORKLOADS / "marks", "until", self.where / "end"], self.path,
                           options=options, user=user), env=env, user=user)
        wait_until("the program's process id", lambda: b"}" in self.said())
        self.pid = int(re.search(rb'"pid":(\d+)', self.said()).group(1))

    def said(self):
        return os.pread(self.running.files[1].fileno(), 200, 0)

    def rounds(self):
        """How often the program has slept."""
        with open(f"/proc/{self.pid}/status") as status:
            return int(re.search(r"\nvoluntary_ctxt_switches:\t(\d+)", status.read()).group(1))

    def go_on(self):
        before = self.rounds()
        wait_until("some more rounds", lambda: self.rounds() >= before + ROUNDS)

    def end(self):
        """The names of the markers, in the order of their times."""
        (self.where / "end").touch()
        result = self.running.finish()
        check(result.status == 0, f"status {result.status}: {result.stderr}")
        dump = subprocess.run([DUMP, self.path], capture_output=True, text=True, check=True).stdout
        names = {m[1]: m[2] for m in re.finditer(r'^site (\d+) .* name="(\w+)" format', dump, re.M)}
        marks = re.findall(r"^marker thread=\d+ site=(\d+) phase=0 time=(\d+)", dump, re.M)
        return [names[site] for site, _ in sorted(marks, key=lambda m: int(m[1]))]


def control(*arguments, user=None):
    return run([tools_for(user), "control", *arguments], user=user)


def told(recorded, *arguments):
    """Whatever is asked for is in force soon after the answer."""
    result = control(*arguments)
    check(result.stdout == "1 process told\n", f"{result.stdout}{result.stderr}")
    before = recorded.rounds()
    wait_until("the signal delivered", lambda: recorded.rounds() > before + 1)
    return recorded.rounds()


def from_the_start():
    recorded = Recorded("--markers=all:-hush")
    recorded.go_on()
    names = recorded.end()
    say(f"without Hush: {len(names)} markers")
    check(len(names) >= ROUNDS // 2 and "hush" not in names, "Hush was to be off")

    recorded = Recorded(env={**os.environ, "KYMO_MARKERS": "Hush"})
    recorded.go_on()
    names = recorded.end()
    say(f"Hush alone: {len(names)} markers")
    check(len(names) >= ROUNDS // 2 and "plain" not in names, "Hush alone was to be on")


def while_it_runs():
    recorded = Recorded()
    recorder = str(recorded.running.process.pid)
    recorded.go_on()
    told(recorded, "-p", recorder, "markers=all:-Hush")
    recorded.go_on()
    told(recorded, "-p", str(recorded.pid), "markers=all")
    recorded.go_on()
    off = told(recorded, "-p", recorder, "markers=none")
    recorded.go_on()
    names = recorded.end()
    phases = re.findall(r"(?:hp)+h?|p+", "".join(n[0] for n in names))
    long = [p for p in phases if len(p) > ROUNDS // 2]
    say(f"{len(names)} markers, in {len(phases)} stretches, the long ones of "
        f"{[len(p) for p in long]}; all off at round {off} or before")
    check([p[:2] for p in long] == ["hp", "pp", "hp"], "Hush was not on, off and on again")
    check(names.count("plain") <= off + SLACK, "markers were made after all were off")


def not_of_anybody():
    """Another user's recorder does not answer, nor is there one for a process that is not recorded."""
    if os.getuid() != 0:
        skip("only root can be two users")
    recorded = Recorded()
    recorder = str(recorded.running.process.pid)
    result = control("-p", recorder, "markers=none", user=NOBODY)
    check(result.status == 1 and "another user's" in result.stderr, result.stdout + result.stderr)
    result = control("-p", "1", "markers=none")
    check(result.status == 1 and "is no recorder" in result.stderr, result.stderr)
    recorded.go_on()
    names = recorded.end()
    check(names.count("hush") >= ROUNDS // 2, "somebody was obeyed")


def wrong_lists():
    for list_of in ("a::b", ":", "-", "a,b"):
        result = run([KYMO, "control", f"markers={list_of}"])
        check(result.status == 2 and "is not a list of names" in result.stderr, result.stderr)
        result = run([KYMO, "record", f"--markers={list_of}", "--", "true"])
        check(result.status == 2 and "is not a list of names" in result.stderr, result.stderr)


for function in (from_the_start, while_it_runs, not_of_anybody, wrong_lists):
    add_case(function.__name__, function)
main()
