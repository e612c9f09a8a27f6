# SPDX-License-Identifier: Apache-2.0
"""`kymo agent`: profiles of a service's intervals. What they say together is what the program says,
whatever ends it; what happens to profiles does nothing to the program.
"""
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from agents import agent_command, has_ended, last_only, profiles, report
from kymotest import (KYMO, PRELOAD, WORKLOADS, Profile, Report, Running, case, check, check_close,
                      check_nothing_lost, folder, main, run, say, skip, wait_until)


def program(rounds, pause_ms=20):
    return [WORKLOADS / "intervals", str(rounds), str(pause_ms)]


def truth_of(result):
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    return json.loads(result.stdout)


# ---- what the intervals say together ----

@case
def cpu():
    """CPU time: all of it, once. A gap at a boundary would be a period for each."""
    place = folder() / "profiles"
    truth = truth_of(run(agent_command(program(200), "--report=250ms", "--cpu=1ms", to=place)))
    files = profiles(place)
    reports = [report(p) for p in files]
    seen = sum(r["total"] / 1e9 + r["quality"]["cpu_unsampled_s"] for r in reports)
    burnt = sum(Report(r).inclusive_s("burn_round") for r in reports)
    say(f"{len(files)} profiles, {sum(r['quality']['samples'] for r in reports)} samples")
    check(len(files) >= 20, "too few rotations")
    # The kernel's work at the start and the end of the process is not in its own reading.
    check(truth["cpu"] * 0.999 <= seen <= truth["cpu"] + 0.1, f"{seen} s of {truth['cpu']} s")
    check_close("burn_round", burnt, truth["burn_round"], 0.03 * truth["burn_round"] + 0.05)
    for r in reports:
        check_nothing_lost(r["quality"])


def check_markers(files, truth):
    """All of the program's are in these profiles, each in one."""
    ticks, rounds = 0, 0
    for path in files:
        json_path = path.with_suffix(".json")
        out = run([KYMO, "convert", path, "-q", "-o", json_path])
        check(out.status == 0, out.stderr)
        found = Profile(json.loads(json_path.read_text())).all_markers()
        ticks += sum(m.name == "tick" for m in found)
        # Those that are still open are in the next profile, too.
        rounds += sum(m.name == "round" and m.phase == 1 and m.end_ns is not None for m in found)
    say(f"{ticks} ticks and {rounds} rounds in {len(files)} profiles")
    check(ticks == truth["rounds"], f"{ticks} of {truth['rounds']} ticks")
    check(rounds == truth["rounds"], f"{rounds} of {truth['rounds']} rounds")


@case
def markers():
    """Each marker is in one profile; an interval that is open at an end goes on in the next one."""
    place = folder() / "profiles"
    truth = truth_of(run(agent_command(program(200), "--report=250ms", to=place)))
    check_markers(profiles(place), truth)


@case
def heap():
    """Each allocation is in one profile, and what lives is right at the end of each."""
    place = folder() / "profiles"
    truth = truth_of(run(agent_command(program(200), "--report=250ms", "--alloc=0", to=place)))
    files = profiles(place)
    step = truth["live"] // truth["rounds"]
    allocated, live = 0, []
    for path in files:
        allocated += sum(f["self"]["bytes"] for f in functions(path, "alloc") if f["name"] == "keep_block")
        live.append(sum(f["self"]["bytes"] for f in functions(path, "live") if f["name"] == "keep_block"))
    say(f"live: {live}")
    check(allocated == truth["live"], f"{allocated} bytes allocated of {truth['live']}")
    check(live[-1] == truth["live"], f"{live[-1]} bytes live of {truth['live']}")
    check(live == sorted(live) and all(n % step == 0 for n in live), "what lives goes back, or is a part of a block")


@case
def heap_of_threads():
    """What lives is known in each profile, also if one thread frees and resizes what another one allocated."""
    place = folder() / "profiles"
    truth = truth_of(run(agent_command([WORKLOADS / "passed_on"], "--report=250ms", "--alloc=0", "--format=kymo",
                                       to=place)))
    files = profiles(place)
    check(len(files) >= 4, f"only {len(files)} profiles")
    for path in files:
        said = run([KYMO, "report", path]).stderr
        check("before this file begins" not in said, f"{path.name}: {said}")
    lost = sum(sum(report(path)["quality"]["lost"].values()) for path in files)
    found = [f["self"] for f in functions(files[-1], "live") if f["name"] == "change_block"]
    say(f"{len(files)} profiles; at the end {found}, in truth {truth}; {lost} records lost")
    check(lost or (found[0]["objects"], found[0]["bytes"]) == (truth["count"], truth["live"]), f"{found}: {truth}")


def functions(path, mode):
    return report(path, "--mode", mode)["functions"]


@case
def short_processes():
    """An interval in which processes began and ended, none of which had a sample, is sent."""
    place = folder() / "profiles"
    script = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); /bin/true; sleep 0.03; done; times"
    out = run(agent_command(["sh", "-c", script], "--report=250ms", "--cpu=10ms", to=place))
    check(out.status == 0, out.stderr)
    own, children = out.stdout.splitlines()
    used = sum(float(s) + 60 * float(m) for m, s in re.findall(r"(\d+)m([\d.]+)s", own + children))
    reports = [report(p) for p in profiles(place)]
    seen = sum(r["total"] / 1e9 + r["quality"]["cpu_unsampled_s"] for r in reports)
    say(f"{len(reports)} profiles, {seen:.3f} s of {used:.3f} s")
    # The shell's own figures are in hundredths of a second, and its end is not in them.
    check(0.95 * used - 0.04 <= seen <= 1.05 * used + 0.1, "CPU time is missing, or there twice")


# ---- formats ----

@case
def last_is_empty():
    """The last profile is sent, and whole, also if nothing happened in its interval."""
    place = folder()
    options = [option for name in ("pprof", "jfr", "otlp", "svg", "folded")
               for option in (f"--reporter=local:{place / name}", f"--format={name}")]
    out = run(agent_command(["sleep", "1"], "--report=300ms", *options))
    check(out.status == 0, out.stderr)
    for name in ("pprof", "jfr", "otlp", "svg"):
        files = profiles(place / name)
        check(files and all(path.stat().st_size > 0 for path in files), f"{name}: {files}")
    # Text without a line is what it is.
    check(len(profiles(place / "folded")) == len(profiles(place / "pprof")), "a format has fewer profiles")
    for path in profiles(place / "pprof") + profiles(place / "otlp"):
        gzip.decompress(path.read_bytes())


@case
def formats():
    """Other profilers' tools read the profiles, which say when each interval was."""
    place = folder()
    before = time.time()
    truth_of(run(agent_command(program(60), "--report=500ms", f"--reporter=local:{place}/jfr", "--format=jfr",
                               f"--reporter=local:{place}/pprof", "--format=pprof")))
    after = time.time()
    jfr, pprof = profiles(place / "jfr"), profiles(place / "pprof")
    check(len(jfr) == len(pprof) > 1, f"{len(jfr)} and {len(pprof)} profiles")
    if shutil.which("jfr"):
        summaries = [run(["jfr", "summary", path]) for path in jfr]
        for out in summaries:
            check(out.status == 0, out.stdout + out.stderr)
        # One may be too short for a sample.
        check(any("jdk.ExecutionSample" in out.stdout for out in summaries), summaries[0].stdout)
    if shutil.which("go"):
        ends = []
        for path in pprof:
            out = run(["go", "tool", "pprof", "-raw", path], env={**os.environ, "PPROF_TMPDIR": str(place)})
            check(out.status == 0, out.stderr)
            stamp = re.search(r"^Time: (\S+ \d\d:\d\d:\d\d)", out.stdout, re.M).group(1)
            begin = time.mktime(time.strptime(stamp, "%Y-%m-%d %H:%M:%S")) - time.timezone
            check(before - 2 <= begin <= after + 2, f"{stamp}: not when it was")
            ends.append(begin)
        check(ends == sorted(ends), "they are not one after the other")


# ---- ends ----

@case
def exits():
    """An exit, with the program's status."""
    place = folder() / "profiles"
    result = run(agent_command(["sh", "-c", "sleep 0.7; exit 7"], "--report=300ms", to=place))
    check(result.status == 7, f"status {result.status}")
    last_only(place)


def stopped_by(signo, whom):
    place = folder() / "profiles"
    running = Running(agent_command(program(100000), "--report=300ms", "--cpu=1ms", to=place))
    wait_until("two profiles", lambda: place.exists() and len(profiles(place)) >= 2)
    child = subprocess.run(["pgrep", "-P", str(running.process.pid), "intervals"], capture_output=True,
                           text=True).stdout.split()[0]
    os.kill(int(child) if whom == "program" else running.process.pid, signo)
    result = running.finish()
    check(result.status == 128 + signo, f"status {result.status}: {result.stderr}")
    last_only(place, 3)
    left = [p.name for p in place.iterdir() if p.name.startswith(".")]
    check(not left, f"left behind: {left}")


@case
def killed():
    """SIGKILL of the program: what it did till then is delivered."""
    stopped_by(signal.SIGKILL, "program")


@case
def terminated():
    """SIGTERM of the agent, as an init sends it, is the program's."""
    stopped_by(signal.SIGTERM, "agent")


@case
def agent_killed():
    """SIGKILL of the agent: the program goes on, and nothing half-written stays."""
    where = folder()
    place = where / "profiles"
    running = Running(agent_command(program(150), "--report=300ms", f"--spool={where}", to=place))
    wait_until("a profile", lambda: place.exists() and len(profiles(place)) >= 1)
    child = int(subprocess.run(["pgrep", "-P", str(running.process.pid), "intervals"], capture_output=True,
                               text=True).stdout.split()[0])
    running.process.kill()
    running.finish()
    check(os.path.exists(f"/proc/{child}"), "the program has ended with it")
    wait_until("the program's end", lambda: not os.path.exists(f"/proc/{child}"))
    for path in profiles(place):
        report(path)
    check([p.name for p in where.iterdir()] == ["profiles"], f"left: {list(where.iterdir())}")


# ---- failures ----

@case
def folder_goes():
    """A folder that is removed, and comes back: each profile arrives, and the program does not notice."""
    place = folder() / "profiles"
    running = Running(agent_command(program(200), "--report=250ms", "--deadline=60s", to=place))
    wait_until("a profile", lambda: place.exists() and len(profiles(place)) >= 1)
    kept = place.with_name("kept")
    place.rename(kept)
    time.sleep(1)
    place.mkdir()
    result = running.finish()
    check_markers(profiles(kept) + profiles(place), truth_of(result))
    check("cannot open the folder" in result.stderr, f"it is not said: {result.stderr}")


@case
def no_room():
    """A file system that is full costs the profiles that do not fit; the program's status stays."""
    place = folder() / "profiles"
    running = Running(agent_command(program(100), "--report=250ms", "--deadline=300ms", to=place))
    wait_until("a profile", lambda: place.exists() and len(profiles(place)) >= 1)
    shutil.rmtree(place)
    result = running.finish()
    truth_of(result)
    check("were not delivered in time" in result.stderr, f"it is not said: {result.stderr}")


@case
def wrong_use():
    """What cannot work is said before the program runs."""
    where = folder()
    (where / "file").touch()
    for options, text in ([], "where to?"), (["--reporter=local:" + str(where / "file")], "Not a directory"), \
            (["--reporter=ftp://x"], "it takes local:DIR"), \
            (["--reporter=local:x", "--report=5"], "it takes a time with its unit"), \
            (["--reporter=local:x", "--ring=1m"], "--ring is not for the agent"):
        result = run([KYMO, "agent", *options, "--", "touch", where / "ran"])
        check(result.status == 2 and text in result.stderr, f"{options}: {result.status}, {result.stderr}")
        check(not (where / "ran").exists(), "the program ran")


@case
def environment():
    """KYMO_OPTIONS has the same settings."""
    place = folder() / "profiles"
    result = run([KYMO, "agent", "--", *program(30)],
                 env={**os.environ, "KYMO_OPTIONS": f"agent,report=200ms,cpu=1ms,reporter=local:{place},format=folded"})
    truth_of(result)
    check(len(profiles(place)) > 1 and all(p.suffix == ".folded" for p in profiles(place)),
          f"{list(place.iterdir())}")


@case
def guide():
    """The unit and the pod of the guide are what systemd and a reader of YAML take."""
    text = (pathlib.Path(__file__).parents[2] / "doc" / "agent.md").read_text()
    blocks = re.findall(r"^```\n(.*?)^```", text, re.M | re.S)
    unit = next(b for b in blocks if b.startswith("[Service]"))
    pod = next(b for b in blocks if b.startswith("spec:"))
    environment = next(b for b in blocks if b.startswith("env:"))
    missing = []
    if shutil.which("systemd-analyze"):
        path = folder() / "guide.service"
        unit = unit.replace("/usr/bin/kymo", str(KYMO)).replace("/usr/bin/server", "/bin/sleep")
        path.write_text("[Unit]\nDescription=A server\n" + unit)
        out = run(["systemd-analyze", "verify", path])
        # It may complain of other units of the machine.
        check(path.name not in out.stderr, out.stderr)
    else:
        missing.append("systemd-analyze")
    try:
        import yaml
    except ImportError:
        return skip(f"missing: {missing + ['python3-yaml']}")
    spec = yaml.safe_load(pod)["spec"]
    container = spec["containers"][0]
    check({m["name"] for m in container["volumeMounts"]} == {v["name"] for v in spec["volumes"]}, "the volumes")
    # With the words of the pod, and the paths of here.
    place = folder() / "profiles"
    words = [w.replace("/opt/kymo/bin/kymo", str(KYMO)).replace("/profiles", str(place)) for w in container["command"]]
    result = run([*words, *map(str, program(20))])
    truth_of(result)
    check(container["args"] == ["./server", "--port", "80"], "the arguments are texts")
    last_only(place)
    variables = {v["name"]: v["value"] for v in yaml.safe_load(environment)["env"]}
    place = folder() / "profiles"
    result = run(program(20), env={**os.environ, "LD_PRELOAD": str(PRELOAD),
                                   "KYMO_OPTIONS": variables["KYMO_OPTIONS"].replace("/profiles", str(place))})
    truth_of(result)
    wait_until("the last profile", lambda: place.exists() and profiles(place) and has_ended(profiles(place)[-1]))
    if missing:
        skip(f"missing: {missing}")


# ---- a profile for each process ----

def split_by(place):
    """The seconds of each burn_ function by process and by interval, from names like family.host.PID.TIME.N.pb.gz."""
    found = {}
    for path in profiles(place):
        pid = int(re.search(r"\.(\d+)\.\d{4}-", path.name).group(1))
        seen = Report(report(path))
        for name in FAMILY:
            if seconds := seen.inclusive_s(f"{name}_slice"):
                found.setdefault(name, {}).setdefault(pid, []).append(seconds)
    return found


FAMILY = ["burn_program", "burn_forked", "burn_grandchild", "burn_spawned", "burn_before_exec", "burn_after_exec",
          "burn_killed", "burn_daemon"]


@case
def split():
    """Forked children, programs that they start and daemons have profiles under their own number: all of them
    together have what one would have, and none has anything of another."""
    place = folder() / "profiles"
    result = run(agent_command([WORKLOADS / "family"], "-q", "--split=process", "--report=300ms", "--cpu=1ms",
                               to=place))
    check(result.status == 3, f"status {result.status}: {result.stderr}")
    truth = {}
    for line in result.stdout.splitlines():
        truth.update(json.loads(line))
    found = split_by(place)
    pids = {}
    for name in FAMILY:
        check(len(found.get(name, {})) == 1, f"{name} is in the profiles of {list(found.get(name, {}))}")
        (pid, seconds), = found[name].items()
        pids[name] = pid
        say(f"{name}: {sum(seconds):.3f} in {len(seconds)} profiles of {pid}, in truth {truth[name]:.3f}")
        check_close(name, sum(seconds), truth[name], 0.05 * truth[name] + 0.03)
    check(pids["burn_before_exec"] == pids["burn_after_exec"], f"an exec changed the process: {pids}")
    check(len(set(pids.values())) == len(FAMILY) - 1, f"{pids}")


@case
def split_needs_a_format():
    """A recording is of all processes: that is said."""
    result = run(agent_command(["true"], "--split=process", "--format=kymo", to=folder() / "profiles"))
    check(result.status == 2 and "split=process" in result.stderr, f"{result.status} {result.stderr}")


if __name__ == "__main__":
    main()
