# SPDX-License-Identifier: Apache-2.0
"""What a service pays for `kymo agent` with its defaults: redis under redis-benchmark, and a program
of 32 busy threads; beside async-profiler with the settings of its agent for Rust.

The program's cost is a ratio to the program alone, of many short sessions in turn. What the agent's
own processes take is counted in one long session of each program, over two intervals of 30 s: their
CPU time, profiles included, and their memory together.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile

from ..bench import percent, times
from ..measure import Failed, Ratio, interleave, median, run as run_program, spread
from ..results import Table
from .overhead import calls_for
from .servers import reachable_kymo

PROGRAM = 1.01       # CPU time of the program, to that alone
RECORDER = 0.01      # CPU time of the agent, to that of the program
PROGRAM_MIB = 8.0    # more resident memory in the program
RECORDER_MIB = 30.0  # of the agent's processes together
THREADS = 32
PEER = "tools.profiler:async-profiler:4.5"
PEER_NAME = "async-profiler 4.5, cpu 100 ms, wall 1 s"
SAME_NAME = "kymo agent, cpu 100 ms, wall 1 s"
TICKS = os.sysconf("SC_CLK_TCK")


class Lengths:
    """How long things take, in seconds: of a short session what is measured, and what comes before."""

    def __init__(self, bench):
        self.rounds = bench.rounds(10, 3)
        self.warm_s = 0.5 if bench.quick else 1.0
        self.load_s = 1.0 if bench.quick else 3.0
        self.interval_s = 5 if bench.quick else 30  # the agent's default
        self.long_s = 2 * self.interval_s


# ---- looking at processes ----

def cpu_ns(pid):
    """The CPU clock of another process, by its number, as clock_getcpuclockid makes it."""
    return time.clock_gettime_ns(~pid << 3 | 2)


def read(path):
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return ""


def children(pid):
    return [int(c) for task in pathlib.Path(f"/proc/{pid}/task").glob("*")
            for c in read(task / "children").split()]


def agents_processes(pid, program):
    """The recorder and its workers, without the program."""
    found = [pid]
    for child in children(pid):
        if child != program:
            found += agents_processes(child, program)
    return found


def cpu_s_of(pid):
    """Of a process and of all that it has waited for."""
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / TICKS if fields else 0.0


def kib(text, key):
    found = re.search(rf"^{key}:\s+(\d+)", text, re.M)
    return int(found.group(1)) if found else 0


class Watch(threading.Thread):
    """Of the agent's processes the largest sum of memory, a page that several share counted once."""

    def __init__(self, recorder, program):
        super().__init__(daemon=True)
        self.recorder, self.program = recorder, program
        self.most_kib = 0
        self.ended = threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.1):
            now = sum(kib(read(f"/proc/{pid}/smaps_rollup"), "Pss")
                      for pid in agents_processes(self.recorder, self.program))
            self.most_kib = max(self.most_kib, now)

    def stop(self):
        self.ended.set()
        self.join()


# ---- the ways in which a program runs ----

class Way:
    """before(out): what stands before the program's command; out: where the run's profiles go, which
    does not exist yet. environment(out): what is added to it. has_agent: the program is a child of it."""

    def __init__(self, name, before=lambda out: [], environment=lambda out: {}, has_agent=False):
        self.name, self.before, self.environment, self.has_agent = name, before, environment, has_agent


def under_agent(name, kymo, *options):
    return Way(name, lambda out: [kymo, "agent", "-q", *options, f"--reporter=local:{out}", "--"], has_agent=True)


def under_peer(library):
    """As its agent for Rust starts it; it is preloaded, since this is no Rust."""
    settings = "start,event=cpu,interval=100000000,wall=1000ms,jfr,cstack=dwarf,loop=30s"
    return Way(PEER_NAME, environment=lambda out: {"LD_PRELOAD": library,
                                                   "ASPROF_COMMAND": f"{settings},file={out}-%t.jfr"})


def peer_library(bench):
    """A path, or a Failed that says why there is none: it is in a package of Maven's."""
    if not shutil.which("mvn"):
        raise Failed("no mvn to fetch its package with")
    done = subprocess.run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={PEER}",
                           f"-DoutputDirectory={bench.scratch}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=120)
    packages = list(pathlib.Path(bench.scratch).glob("async-profiler-*.jar"))
    if not packages:
        raise Failed(f"Maven does not give {PEER}: {done.stdout.strip()[-200:]}")
    machine = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}.get(os.uname().machine, "")
    with zipfile.ZipFile(packages[0]) as package:
        try:
            content = package.read(f"{machine}/libasyncProfiler.so")
        except KeyError:
            raise Failed(f"its package has no library for {os.uname().machine}") from None
    path = pathlib.Path(bench.out("libasyncProfiler.so"))
    path.write_bytes(content)
    path.chmod(0o755)
    tried = subprocess.run(["/bin/true"], env={**os.environ, "LD_PRELOAD": str(path)},
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if tried.returncode != 0 or "cannot be preloaded" in tried.stdout:
        raise Failed(f"its library cannot be loaded: {tried.stdout.strip()}")
    return str(path)


def ways_of(bench, kymo, lengths):
    interval = f"--report={lengths.interval_s}s"
    ways = {"alone": Way("alone"), "kymo": under_agent("kymo agent, defaults", kymo, interval),
            "same": under_agent(SAME_NAME, kymo, interval, "--cpu=100ms", "--wall=1s")}
    try:
        ways["peer"] = under_peer(peer_library(bench))
    except (Failed, OSError, subprocess.TimeoutExpired, zipfile.BadZipFile) as why:
        bench.results.absent(PEER_NAME, str(why))
    return ways


# ---- the programs ----

class Short:
    """A session's CPU time of the program for one unit of work, its peak of resident memory, and the
    part of its CPU time that the profiles have (None: they are not Kymo's)."""

    def __init__(self, cost, peak_kib, seen_part):
        self.cost, self.peak_kib, self.seen_part = cost, peak_kib, seen_part


class Long:
    """While a program runs, the agent's processes are watched; after two intervals they are judged."""

    def __init__(self, recorder, program, out):
        self.recorder, self.program, self.out = recorder, program, out
        self.watch = Watch(recorder, program)

    def judge(self):
        wait_for("two profiles", lambda: len(profiles(self.out)) >= 2)
        self.program_s = cpu_ns(self.program) / 1e9
        self.agent_s = sum(cpu_s_of(p) for p in agents_processes(self.recorder, self.program))
        self.watch.stop()
        self.recorder_kib = kib(read(f"/proc/{self.recorder}/status"), "VmHWM")
        self.most_kib = self.watch.most_kib


def wait_for(what, holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise Failed(f"in {seconds} s not {what}")
        time.sleep(0.02)


def program_pid(process, way, name):
    def find():
        candidates = children(process.pid) if way.has_agent else [process.pid]
        return [pid for pid in candidates if read(f"/proc/{pid}/comm").strip() == name]
    wait_for(f"a process {name}", find)
    return find()[0]


def profiles(out):
    return sorted(p for p in pathlib.Path(out).glob("*") if not p.name.startswith("."))


def seen_part(bench, out, program_s):
    """The CPU time that the profiles have, to the program's; a lost record is a failure."""
    seen = 0.0
    for path in profiles(out):
        text = subprocess.run([bench.kymo, "report", "--json", path], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout
        report = json.loads(text)
        if any(report["quality"]["lost"].values()):
            raise Failed(f"records were lost: {report['quality']['lost']}")
        seen += report["total"] / 1e9
    return seen / program_s


class Redis:
    name = "redis"
    unit = "CPU us for a request"
    told = "redis-server under redis-benchmark, which fills the CPUs with it"

    def __init__(self, bench, lengths):
        import servers
        self.bench, self.lengths = bench, lengths
        kind = servers.KNOWN["redis"]
        if kind.missing():
            raise Failed("not installed: " + ", ".join(kind.missing()))
        self.server = kind(bench.out("server-redis"))
        self.server.prepare()

    def session(self, way, out, use):
        """use(process, pid) while it runs, for what is said of it. Returns that and its CPU time."""
        from servers.server import Broken, Session
        added = [f"{name}={value}" for name, value in way.environment(out).items()]
        try:
            with Session(self.server, [*(["env", *added] if added else []), *way.before(out)]) as session:
                pid = program_pid(session.process, way, "redis-server")
                errors = self.server.load(self.lengths.warm_s).errors
                result = use(session.process.pid, pid)
                errors += self.server.verify()
                program_s = cpu_ns(pid) / 1e9
        except Broken as why:
            raise Failed(str(why)) from None
        if errors or session.status != self.server.end_status:
            raise Failed(f"redis {way.name}: status {session.status}, {errors}")
        return result, program_s

    def short(self, way, out):
        def use(_, pid):
            before = cpu_ns(pid)
            load = self.server.load(self.lengths.load_s)
            if load.errors:
                raise Failed(f"redis {way.name}: {load.errors}")
            return Short((cpu_ns(pid) - before) / load.requests / 1e3, kib(read(f"/proc/{pid}/status"), "VmHWM"), None)
        result, program_s = self.session(way, out, use)
        if way.has_agent:
            result.seen_part = seen_part(self.bench, out, program_s)
        return result

    def long(self, way, out):
        def use(recorder, pid):
            long = Long(recorder, pid, out)
            end = time.monotonic() + self.lengths.long_s
            while time.monotonic() < end:  # how long a load takes is an estimate
                self.server.load(self.lengths.load_s)
            long.judge()
            return long
        return self.session(way, out, use)[0]


class Threads:
    name = f"{THREADS} threads"
    unit = "CPU s"
    told = f"{THREADS} threads that are always busy, in stacks of 60 frames, on all CPUs"

    def __init__(self, bench, lengths):
        self.bench, self.lengths = bench, lengths
        self.program = bench.built("bench/deep")
        self.calls_a_second = calls_for(bench, 1.0)

    def command(self, way, out, seconds):
        calls = int(self.calls_a_second * seconds * os.cpu_count())
        return [*way.before(out), self.program, str(THREADS), str(calls)]

    def short(self, way, out):
        ran = run_program(self.command(way, out, self.lengths.load_s), env=way.environment(out), usage_of="deep",
                          usage_library=self.bench.usage)
        return Short(ran.own_s, ran.usage["peak_kib"],
                     seen_part(self.bench, out, ran.own_s) if way.has_agent else None)

    def long(self, way, out):
        process = subprocess.Popen(self.command(way, out, 100 * self.lengths.long_s), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            pid = program_pid(process, way, "deep")
            long = Long(process.pid, pid, out)
            time.sleep(self.lengths.long_s)
            long.judge()
            os.kill(pid, signal.SIGKILL)
            process.wait(60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return long


# ---- what is judged ----

def mib(value):
    return f"{value:.2f} MiB"


def measure(bench, program, ways, lengths, costs, recorders):
    place = pathlib.Path(bench.out("profiles-" + program.name.replace(" ", "-")))
    place.mkdir()
    place.chmod(0o777)

    def once(name, way):
        return lambda number: program.short(way, place / f"{name}-{number}")

    program.short(ways["alone"], place / "first")  # fills caches, and is not counted
    runs = interleave(lengths.rounds, {name: once(name, way) for name, way in ways.items()})
    # With a tool that adds nothing these figures would be as far from 1.
    base = [run.cost for run in runs["alone"]]
    again = Ratio(base[1:], base[:-1])
    peak = median([run.peak_kib for run in runs["alone"]])
    for name, way in ways.items():
        ratio = Ratio([run.cost for run in runs[name]], base)
        more = (median([run.peak_kib for run in runs[name]]) - peak) / 1024
        seen = [run.seen_part for run in runs[name] if run.seen_part is not None]
        costs.row(f"{program.name}, {way.name}", f"{median([run.cost for run in runs[name]]):.3f}", program.unit,
                  percent(spread([run.cost for run in runs[name]])),
                  times(again.median if name == "alone" else ratio.median), times(ratio.fastest),
                  "" if name == "alone" else f"{more:.2f}", percent(median(seen) if seen else None))
        if name == "kymo":
            hold = bench.results.budget
            hold(f"CPU time of {program.name} under the agent", ratio.median, PROGRAM, times, spread=ratio.spread,
                 interval=ratio.interval)
            hold(f"memory in {program.name} under the agent", more, PROGRAM_MIB, mib)
    long = program.long(ways["kymo"], place / "long")
    part = long.agent_s / long.program_s
    recorders.row(program.name, f"{long.program_s:.1f}", f"{long.agent_s:.2f}", percent(part),
                  f"{long.recorder_kib / 1024:.1f}", f"{long.most_kib / 1024:.1f}")
    bench.results.budget(f"CPU time of the agent beside {program.name}, by the program's", part, RECORDER,
                         lambda value: f"{100 * value:.2f} %")
    bench.results.budget(f"memory of the agent's processes beside {program.name}", long.most_kib / 1024,
                         RECORDER_MIB, mib)


def run(bench):
    sys.path.insert(0, os.path.join(bench.root, "tests"))
    lengths = Lengths(bench)
    kymo = reachable_kymo(bench)
    ways = ways_of(bench, kymo, lengths)
    costs = Table("A service under the agent",
                  f"{Redis.told[0].upper()}{Redis.told[1:]}; {Threads.told}. Medians of {lengths.rounds} interleaved "
                  f"rounds of {lengths.load_s:.0f} s; redis has been loaded for {lengths.warm_s:.0f} s before, and "
                  "the threads' figure has their start in it. CPU time is the program's own. *Ratio*: to alone; "
                  "of alone, of each round to the one before. *Memory*: more MiB at the peak than alone, with "
                  "what it shares with the recorder. *Seen*: CPU time of the samples, of the program's; a thread's "
                  "time after its last one is not in it. async-profiler works inside the program alone.",
                  ["", "CPU", "unit", "spread", "ratio", "of the fastest", "memory", "seen"])
    recorders = Table("The agent's own processes",
                      f"Over two intervals of {lengths.interval_s} s of each program, with the profiles of both "
                      "made and delivered to a folder. *Recorder*: the peak of its resident memory; *together*: the "
                      "largest sum with its workers, of what is shared each one's part.",
                      ["", "program, CPU s", "agent, CPU s", "part", "recorder, MiB", "together, MiB"])
    for kind in (Redis, Threads):
        try:
            program = kind(bench, lengths)
        except Failed as why:
            bench.results.absent(f"{kind.name} under the agent", str(why))
            continue
        measure(bench, program, ways, lengths, costs, recorders)
    bench.results.add(costs)
    bench.results.add(recorders)
