# SPDX-License-Identifier: Apache-2.0
"""Which categories of markers are recorded: as it was asked for at the start, and from outside while
the program runs. The workload makes a marker of Hush and one of Plain each time round, and sleeps
once."""
import os
import pathlib
import re
import signal
import subprocess
import time

from kymotest import (BUILD, KYMO, NOBODY, WORKLOADS, Running, add_case, check, folder, main,
                      record_command, run, say, skip, tools_for, wait_until)

DUMP = BUILD / "tests" / "recording_dump"
ROUNDS = 100


def times_slept(pid):
    """How often the process's threads have slept, all together."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status") as status:
            total += int(re.search(r"\nvoluntary_ctxt_switches:\t(\d+)", status.read()).group(1))
    return total


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
        return times_slept(self.pid)

    def go_on(self):
        before = self.rounds()
        wait_until("some more rounds", lambda: self.rounds() >= before + ROUNDS)

    def end(self):
        """The markers as (name, time), in the order of their times."""
        (self.where / "end").touch()
        result = self.running.finish()
        check(result.status == 0, f"status {result.status}: {result.stderr}")
        return marks_of(self.path)


def marks_of(path):
    dump = subprocess.run([DUMP, path], capture_output=True, text=True, check=True).stdout
    check(dump.rstrip().endswith(": whole"), f"{path} is not whole")
    names = {m[1]: m[2] for m in re.finditer(r'^site (\d+) .* name="(\w+)" format', dump, re.M)}
    marks = re.findall(r"^marker thread=\d+ site=(\d+) phase=0 time=(\d+)", dump, re.M)
    return sorted(((names[site], int(ns)) for site, ns in marks), key=lambda m: m[1])


def names_of(marks):
    return [name for name, _ in marks]


def control(*arguments, user=None):
    return run([tools_for(user), "control", *arguments], user=user)


def told(*arguments):
    """(before the request, after the answer): what was asked for is in force when it comes."""
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    result = control(*arguments)
    check(result.stdout == "1 process told\n", f"{result.stdout}{result.stderr}")
    return before, time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def between(marks, since, until):
    """Which names there are in that time, more than once: one may have been on its way. Markers are dated by
    the processor's clock, which the recorder translates to within some 10 us."""
    slack_ns = 100000
    names = [name for name, ns in marks if since + slack_ns < ns < until - slack_ns]
    return {name for name in names if names.count(name) > 1}


def from_the_start():
    recorded = Recorded("--markers=all:-hush")
    recorded.go_on()
    names = names_of(recorded.end())
    say(f"without Hush: {len(names)} markers")
    check(len(names) >= ROUNDS // 2 and "hush" not in names, "Hush was to be off")

    recorded = Recorded(env={**os.environ, "KYMO_MARKERS": "Hush"})
    recorded.go_on()
    names = names_of(recorded.end())
    say(f"Hush alone: {len(names)} markers")
    check(len(names) >= ROUNDS // 2 and "plain" not in names, "Hush alone was to be on")


def check_switches(recorded, first):
    """Hush is off, on, and everything off, each from the answer on; first: how to name the recorder."""
    recorded.go_on()
    hush_off = told("-p", first, "markers=all:-Hush")
    recorded.go_on()
    hush_on = told("-p", first, "markers=all")
    recorded.go_on()
    all_off = told("-p", first, "markers=none")
    recorded.go_on()
    marks = recorded.end()
    there = [between(marks, 0, hush_off[0]), between(marks, hush_off[1], hush_on[0]),
             between(marks, hush_on[1], all_off[0]), between(marks, all_off[1], 1 << 63)]
    say(f"{len(marks)} markers: {', '.join('+'.join(sorted(names)) or 'none' for names in there)}")
    both = {"hush", "plain"}
    check(there == [both, {"plain"}, both, set()], "Hush was not on, off and on again, and then all off")


def while_it_runs():
    recorded = Recorded()
    check_switches(recorded, str(recorded.running.process.pid))
    recorded = Recorded()
    check_switches(recorded, str(recorded.pid))


def categories():
    """Those of the program are listed, used or not; others are refused, unless they may come."""
    recorded = Recorded("--markers=all:-hush")
    pid = str(recorded.pid)

    def listed():
        out = control("-p", pid, "markers")
        check(out.status == 0, out.stderr)
        return dict(reversed(line.split("  (")[0].split(None, 1)) for line in out.stdout.splitlines())

    wait_until("all categories", lambda: "Plain" in listed())
    say(f"{listed()}")
    check(listed()["Plain"] == "on" and listed()["Hush"] == "off", f"{listed()}")
    whole = control("-p", str(recorded.running.process.pid), "markers").stdout
    check("Hush" in whole, f"of all processes: {whole}")
    told("-p", pid, "markers=Hush")
    check(listed()["Plain"] == "off" and listed()["Hush"] == "on", f"{listed()}")
    for words in ("Hush:nonsense", "-nonsense"):
        result = control("-p", pid, "markers=" + words)
        check(result.status != 0 and "'nonsense' is no category; there are: " in result.stderr and
              "Hush" in result.stderr and result.stdout == "", f"{result}")
    check(listed()["Hush"] == "on", "what was refused changed the list")
    told("-p", pid, "-f", "markers=nonsense:hush")
    check(listed()["Hush"] == "on" and listed()["Plain"] == "off", f"{listed()}")
    recorded.end()


def snapshot():
    """The recording so far is a whole one, also of a flight recorder, and the recording goes on."""
    for options in ((), ("--ring=1M",)):
        recorded = Recorded(*options)
        recorded.go_on()
        path = recorded.where / "now.kymo"
        result = control("snapshot", "-p", str(recorded.pid), "-o", path)
        check(result.status == 0 and "wrote" in result.stderr, f"{options}: {result.stdout}{result.stderr}")
        svg = control("snapshot", "-p", str(recorded.pid), "-q", "-o", recorded.where / "now.json.gz")
        check((svg.status, svg.stdout, svg.stderr) == (0, "", ""), f"{options}: {svg.stdout}{svg.stderr}")
        again = control("snapshot", "-p", str(recorded.pid), "-o", path)
        check(again.status != 0 and "exists" in again.stderr, f"{options}: {again.stderr}")
        at_once = [subprocess.Popen([KYMO, "control", "snapshot", "-p", str(recorded.pid), "-q", "-o",
                                     recorded.where / f"{i}.json"], stderr=subprocess.PIPE, text=True)
                   for i in range(12)]
        said = [asked.communicate()[1] for asked in at_once]
        check("" in said and all(text == "" or "ask again" in text for text in said), f"{options}: {said}")
        recorded.go_on()
        so_far, whole = names_of(marks_of(path)), names_of(recorded.end())
        say(f"{options}: {len(so_far)} of {len(whole)} markers")
        check(ROUNDS // 2 <= len(so_far) < len(whole) and so_far == whole[:len(so_far)],
              f"{options}: other markers in the snapshot")
        read = run([KYMO, "report", "--mode=markers", path])
        check(read.status == 0 and "hush" in read.stdout, f"{options}: {read.stdout}{read.stderr}")
    missing = control("snapshot")
    check(missing.status == 2 and "name a file by -o" in missing.stderr, missing.stderr)


def profile():
    """What is recorded in a while, also with --ring and when the program ends meanwhile."""
    recorded = Recorded()
    path = recorded.where / "while.folded"
    asked = Running([KYMO, "control", "-p", str(recorded.pid), "profile=300ms", "-o", path])
    recorded.go_on()
    result = asked.finish()
    check(result.status == 0 and path.exists(), f"{result.stdout}{result.stderr}")
    asked = Running([KYMO, "control", "-p", str(recorded.pid), "profile=1h", "-q", "-o",
                     recorded.where / "rest.json.gz"])
    recorded.go_on()
    recorded.end()
    result = asked.finish()
    check((result.status, result.stderr) == (0, ""), f"at the end: {result.stderr}")
    recorded = Recorded("--ring=1M")
    refused = control("-p", str(recorded.pid), "profile=1s", "-o", path.with_suffix(".svg"))
    check(refused.status == 1 and "--ring" in refused.stderr, refused.stderr)
    for wrong in ("profile=0s", "profile=2h", "profile=now"):
        refused = control(wrong, "-o", path.with_suffix(".svg"))
        check(refused.status == 2 and "takes a time" in refused.stderr, refused.stderr)
    recorded.end()


def unknown_at_the_end():
    """A name that no program ever had is warned of, with those that there were."""
    for names, is_said in (("Hush:nonsense", True), ("Hush:-plain", False), ("all", False)):
        recorded = Recorded("--markers=" + names)
        recorded.end()
        notes = subprocess.run([DUMP, recorded.path], capture_output=True, text=True,
                               check=True).stdout
        found = re.search(r"no program had a category named 'nonsense'; there were: .*Hush", notes)
        check((found is not None) == is_said, f"{names}: {found}")


def without_main():
    """No thread has samples that it could look at its list by, and the main one has ended, or blocks the
    signal: another one gets it."""
    for how in ("without_main", "blocked"):
        recorded = Recorded("--cpu=10s", env={**os.environ, "MARKS_UNTIL": how})
        if how == "without_main":
            wait_until("the end of the main thread", lambda: "State:\tZ" in pathlib.Path(
                f"/proc/{recorded.pid}/task/{recorded.pid}/status").read_text())
        say(how)
        check_switches(recorded, str(recorded.running.process.pid))


def who_stands_still():
    """A stopped process is not told, and follows the list once it goes on."""
    recorded = Recorded("--cpu=10s")
    recorded.go_on()
    os.kill(recorded.pid, signal.SIGSTOP)
    wait_until("the program stopped", lambda: "State:\tT" in pathlib.Path(
        f"/proc/{recorded.pid}/status").read_text())
    result = control("-p", str(recorded.running.process.pid), "markers=all:-Hush")
    check(result.stdout.startswith("0 processes told, 1 did not answer"), result.stdout + result.stderr)
    os.kill(recorded.pid, signal.SIGCONT)
    told("-p", str(recorded.running.process.pid), "markers=all:-Hush")
    recorded.go_on()
    marks = recorded.end()
    check("hush" not in names_of(marks[-ROUNDS:]), "it did not follow")


def after_a_silence():
    """A recorder that stands still for more than five seconds finds no program that makes markers. When it is
    back they are on again, also where no samples ask whether it is."""
    recorded = Recorded("--cpu=10s")
    recorder = recorded.running.process.pid
    recorded.go_on()
    os.kill(recorder, signal.SIGSTOP)
    time.sleep(7)
    recorded.go_on()
    os.kill(recorder, signal.SIGCONT)
    slept = times_slept(recorder)
    wait_until("rounds of the recorder", lambda: times_slept(recorder) > slept + 20)
    recorded.go_on()
    back_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    recorded.go_on()
    marks = recorded.end()
    pause = max(after[1] - before[1] for before, after in zip(marks, marks[1:]))
    after = sum(ns > back_ns for _, ns in marks)
    say(f"{len(marks)} markers, none for {pause / 1e9:.1f} s, {after} after that")
    check(after >= ROUNDS // 2, "markers did not come back")


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
    names = names_of(recorded.end())
    check(names.count("hush") >= ROUNDS // 2, "another user was obeyed")


def wrong_lists():
    for list_of in ("a::b", ":", "-", "a,b"):
        result = run([KYMO, "control", f"markers={list_of}"])
        check(result.status == 2 and "is not a list of names" in result.stderr, result.stderr)
        result = run([KYMO, "record", f"--markers={list_of}", "--", "true"])
        check(result.status == 2 and "is not a list of names" in result.stderr, result.stderr)


for function in (from_the_start, while_it_runs, without_main, who_stands_still, after_a_silence,
                 not_of_anybody, wrong_lists, categories, snapshot, profile,
                 unknown_at_the_end):
    add_case(function.__name__, function)
main()
