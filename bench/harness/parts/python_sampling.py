# SPDX-License-Identifier: Apache-2.0
"""Samples with Python frames, beside py-spy: what they cost, how many there are, and a frame's price."""
import glob
import os
import subprocess
import sys

from ..bench import percent, times
from ..measure import Failed, Ratio, interleave, median, run as run_program
from ..results import Table
from ..tools import Kymo, Nothing, PySpy, profile

DEPTH = 25
DEEPER = 200


def run(bench):
    beside_py_spy(bench)
    price_of_a_frame(bench)


def load(bench, python, depth, rounds, mapped=False):
    return [python, os.path.join(bench.root, "bench/loads/python_deep.py"), str(depth), str(rounds),
            *(["mapped"] if mapped else [])]


def rounds_for(bench, python, seconds):
    """How many rounds of the load take that much CPU time."""
    trial = 20000
    took = min(run_program(load(bench, python, DEPTH, trial)).cpu_s for _ in range(3))
    start = min(run_program(load(bench, python, DEPTH, 1)).cpu_s for _ in range(3))
    return int(trial * seconds / (took - start))


def name_of(python):
    """As the kernel has it, when it runs."""
    return os.path.basename(python)


def py_spy(bench):
    """Its path: what is installed, or what PyPI has; None: neither."""
    if PySpy.found():
        return PySpy.found()
    folder = bench.out("py-spy")
    made = subprocess.run([sys.executable, "-m", "venv", folder], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
    if made.returncode == 0:
        subprocess.run([folder + "/bin/pip", "install", "-q", "py-spy"], timeout=300,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = folder + "/bin/py-spy"
    return path if os.path.exists(path) else None


def beside_py_spy(bench):
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        raise Failed("there is no /usr/bin/python3")
    rounds = bench.rounds(5)
    seconds = 1.0 if bench.quick else 2.0
    argv = load(bench, python, DEPTH, rounds_for(bench, python, seconds), mapped=True)
    tools = {"none": Nothing()}
    for period in ("1ms", "100us"):
        tools[f"kymo {period}"] = Kymo(bench.build, "auto", period)
    tools["kymo wall"] = Kymo(bench.build, "auto", "1ms", "10ms")
    spy = py_spy(bench)
    if spy:
        for rate in (100, 1000):
            tools[f"py-spy {rate}"] = PySpy(spy, rate)
        tools["py-spy nonblocking"] = PySpy(spy, 1000, "--nonblocking")
        tools["py-spy native"] = PySpy(spy, 1000, "--native")
    else:
        bench.results.absent("py-spy", "not installed, and PyPI has none for this machine")
    out = bench.out("python")

    def once(tool):
        def call(_number):
            ran = profile(tool, argv, out, name_of(python), bench.usage)
            ran.counts = tool.counts(out) if tool.period_s else None
            ran.with_python = tool.python_samples(out) if tool.period_s else None
            bench.remove_outputs()
            return ran
        return call

    runs = interleave(rounds, {name: once(tool) for name, tool in tools.items()})
    table = Table("Python: samples with Python frames",
                  f"{version_of(python)}, {seconds:.0f} s of work below {DEPTH} Python frames, some of them "
                  f"called by C code; {rounds} interleaved rounds, medians. *Program* is its own CPU time; "
                  "*with tool* counts the tool's processes, too, up to the written file. py-spy stops the "
                  "program for each sample unless it is told not to; with --native it shows the C "
                  "functions as well, which Kymo always does.",
                  ["", "program, s", "program, ratio", "with tool, ratio", "took, ratio", "stacks",
                   "per second of CPU", "with Python frames"])
    base = runs["none"]
    for name, tool in tools.items():
        own = Ratio([r.own_s for r in runs[name]], [r.own_s for r in base])
        whole = Ratio([r.cpu_s for r in runs[name]], [r.cpu_s for r in base])
        took = Ratio([r.elapsed_s for r in runs[name]], [r.elapsed_s for r in base])
        stacks = median([r.counts.samples for r in runs[name]]) if tool.period_s else None
        table.row(tool.name, f"{median([r.own_s for r in runs[name]]):.3f}", times(own.median),
                  times(whole.median), times(took.median),
                  "" if stacks is None else f"{stacks:.0f}",
                  "" if stacks is None else f"{stacks / median([r.own_s for r in runs[name]]):.0f}",
                  "" if stacks is None else percent(median(
                      [r.with_python / max(r.counts.samples, 1) for r in runs[name]])))
        if name == "kymo 1ms":
            bench.results.budget("Python program's CPU time, 1 kHz", own.median, 1.03, times,
                                 spread=own.spread, interval=own.interval)
            bench.results.budget("samples with Python frames, 1 kHz", median(
                [r.with_python / r.counts.samples for r in runs[name]]), 0.95, percent, at_least=True)
        if name == "py-spy native":
            ours = Ratio([r.cpu_s for r in runs["kymo 1ms"]], [r.cpu_s for r in base]).median
            bench.results.budget("CPU time over that of the program alone, of py-spy --native's, 1 kHz",
                                 (ours - 1) / (whole.median - 1), 0.5, percent)
    bench.results.add(table)


def version_of(python):
    out = subprocess.run([python, "-c", "import platform; print('CPython', platform.python_version())"],
                         stdout=subprocess.PIPE, text=True).stdout
    return out.strip()


def interpreters():
    """The system's, pyenv's, and those that KYMO_PYTHONS names."""
    places = [*os.environ.get("KYMO_PYTHONS", "").split(":"), "/usr/bin/python3",
              *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))]
    found = {}
    for place in places:
        if os.access(place, os.X_OK):
            version = version_of(place)
            minor = int(version.split(".")[1]) if version.startswith("CPython 3.") else 0
            if 9 <= minor <= 14:
                found.setdefault(os.path.realpath(place), (minor, version, place))
    return sorted(found.values())


def nanoseconds(ns):
    return f"{ns:.1f} ns"


def price_of_a_frame(bench):
    """What a sample takes in the handler, by its own clock, at two depths."""
    rounds = bench.rounds(5)
    tool = Kymo(bench.build, "auto", "500us")
    out = bench.out("frame")
    known = interpreters()
    ways = {}
    for minor, version, python in known:
        work = rounds_for(bench, python, 0.2 if bench.quick else 0.6)
        for depth in (DEPTH, DEPTH + DEEPER):
            ways[python, depth] = load(bench, python, depth, work)

    def once(argv):
        def call(_number):
            profile(tool, argv, out, name_of(argv[0]), bench.usage)
            quality = tool.report(out)["quality"]
            bench.remove_outputs()
            return quality["handler_ns"] / max(quality["samples"], 1)
        return call

    runs = interleave(rounds, {way: once(argv) for way, argv in ways.items()})
    table = Table("Python: what a frame costs",
                  f"CPU time in the handler per sample, at 2 kHz, of stacks with {DEPTH} Python frames and with "
                  f"{DEEPER} more; {rounds} interleaved rounds, medians. Up to 3.10 each Python call has native "
                  "frames, whose unwinding is counted.",
                  ["", f"ns per sample, {DEPTH} frames", f"{DEPTH + DEEPER} frames", "ns per frame"])
    for minor, version, python in known:
        few, many = (median(runs[python, depth]) for depth in (DEPTH, DEPTH + DEEPER))
        table.row(version, f"{few:.0f}", f"{many:.0f}", f"{(many - few) / DEEPER:.1f}")
        bench.results.budget(f"a Python frame, {version}", (many - few) / DEEPER, 60, nanoseconds)
    bench.results.add(table)
