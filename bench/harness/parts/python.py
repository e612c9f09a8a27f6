# SPDX-License-Identifier: Apache-2.0
"""Every call of Python traced, beside an empty hook and other tracers: the traced thread, the whole tree with
what is converted, bytes of an event."""
import glob
import os
import shutil
import subprocess

from ..bench import times
from ..measure import SELDOM, Failed, Ratio, interleave, interval, median, run as run_program, same_rounds
from ..results import Table

# Some 3 to 4 million events each.
LOADS = {"fib": 33, "ast": 11, "json": 54, "sim": 30}
VIZTRACER_ENTRIES = 12000000
# A figure per event is the difference of two runs, so it needs many; some peers take 10 s for one.
OURS = ("none", "hook", "records", "kymo")


def run(bench):
    for version, path in interpreters():
        measure(bench, version, path)


def interpreters():
    """The newest with sys.monitoring, and the newest before, that have headers."""
    places = glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")) + ["/usr/bin/python3"]
    asked = "import os, sys, sysconfig; print(*sys.version_info[:2], os.path.exists(" \
            "sysconfig.get_paths()['include'] + '/Python.h'))"
    known = {}
    for place in places:
        out = subprocess.run([place, "-c", asked], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        words = out.stdout.split()
        if out.returncode == 0 and words[-1] == "True":
            known[int(words[0]), int(words[1])] = place
    new = max((v for v in known if (3, 12) <= v <= (3, 13)), default=None)
    old = max((v for v in known if (3, 9) <= v < (3, 12)), default=None)
    found = [(v, known[v]) for v in (new, old) if v]
    if not found:
        raise Failed("no CPython with headers was found")
    return found


def prepare(bench, version, path):
    """An environment with the package, the empty hook, and what PyPI has of the peers."""
    home = bench.out("python%d.%d" % version)
    subprocess.run([path, "-m", "venv", home], check=True, stdout=subprocess.DEVNULL)
    python = home + "/bin/python"
    site = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()
    package = os.path.join(bench.root, "python")
    shutil.copytree(package + "/kymo", site + "/kymo")
    shutil.copy(package + "/kymo.pth", site)
    subprocess.run([python, package + "/build_extension.py", site + "/kymo"], check=True,
                   stdout=subprocess.DEVNULL)
    include = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"],
                             check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-I" + include,
                    os.path.join(bench.root, "bench/peers/python_hook.c"), "-o", site + "/_hook.so"], check=True)
    has = ["none", "hook", "records", "kymo", "cprofile"]
    for peer in ("viztracer", "trace0"):
        if subprocess.run([python, "-m", "pip", "install", "-q", peer], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0:
            has.append(peer)
        else:
            bench.results.absent(f"{peer} on CPython %d.%d" % version, "PyPI has none for it")
    return python, has


class Traced:
    """own_s of the load; cpu_s of all processes, conversion included; bytes written."""

    def __init__(self, own_s, cpu_s, size, lost):
        self.own_s, self.cpu_s, self.size, self.lost = own_s, cpu_s, size, lost


def script_of(bench):
    return os.path.join(bench.root, "bench/loads/python_calls.py")


def record(bench, python, load, rounds, recording):
    """The program itself says when it is traced, as with the others."""
    return run_program([bench.kymo, "record", "-q", "-f", "--no-symbols", "--trace=python", "-o", recording, "--",
                        python, script_of(bench), "kymo", load, str(rounds), "-", "0"],
                       env={"KYMO_TRACE_PYTHON": "off"})


def trace_once(bench, python, way, load):
    out = bench.out({"trace0": "trace.pb", "viztracer": "trace.json"}.get(way, "trace.bin"))
    argv = [python, script_of(bench), way, load, str(LOADS[load]), out, str(VIZTRACER_ENTRIES)]
    lost = 0
    if way == "kymo":
        recording = bench.out("trace.kymo")
        ran = record(bench, python, load, LOADS[load], recording)
        more = run_program([bench.kymo, "convert", "-q", "-f", "-o", bench.out("trace.json.gz"), recording])
        lost = kinds_lost(bench, recording)
        size, cpu_s = os.path.getsize(recording), ran.cpu_s + more.cpu_s
    else:
        ran = run_program(argv, env={"KYMO_TRACE_PYTHON": "off"})
        size, cpu_s = os.path.getsize(out) if os.path.exists(out) else 0, ran.cpu_s
    if os.path.exists(out):
        os.unlink(out)
    return Traced(int(ran.output.split()[0]) / 1e9, cpu_s, size, lost)


def kinds_lost(bench, recording):
    """How many kinds of losses of traced calls it tells of."""
    told = subprocess.run([bench.kymo, "report", "--quality", "--json", recording], stdout=subprocess.PIPE,
                          text=True).stdout
    return sum(1 for word in told.split('"') if word.startswith("traced calls"))


def events_of(bench, python, load):
    """Calls and returns, Python's and native ones, in the trace of the load."""
    recording = bench.out("count.kymo")
    record(bench, python, load, LOADS[load], recording)
    # A line at a time: what is started later is told to have had the memory that this process has.
    with subprocess.Popen([bench.built("tests/recording_dump"), recording], stdout=subprocess.PIPE) as dump:
        return sum(line.startswith(b"call ") for line in dump.stdout)


def measure(bench, version, path):
    python, has = prepare(bench, version, path)
    counts = {load: events_of(bench, python, load) for load in LOADS}
    rounds = bench.rounds(21)

    def once(load, way):
        return lambda _number: trace_once(bench, python, way, load)

    ways = [(load, way) for load in LOADS for way in has]
    runs = interleave(rounds, {(load, way): once(load, way) for load, way in ways},
                      seldom=[(load, way) for load, way in ways if way not in OURS])
    name = "CPython %d.%d" % version
    table = Table(f"Python: every call traced, {name}",
                  f"CPU time; medians of {rounds} interleaved rounds, other tracers in every {SELDOM}th. "
                  "*Thread* is the load alone, as a ratio to untraced; *over the hook* is what the tracer takes of an "
                  "event beyond an empty hook for the same events (for trace0, which sees no native calls, of its "
                  "own), *fastest* the same of the fastest runs of both; *records* is a hook that reads the clock and "
                  "writes 16 bytes, the floor of a tracer; *tree* is all processes from the start to a file that a "
                  "viewer opens, interpreter's start included. Kymo's file is the recording.",
                  ["", "thread, ms", "thread", "spread", "ns an event", "over the hook, ns", "fastest", "tree, ms",
                   "tree", "bytes an event", "lost"])
    for load in LOADS:
        events = counts[load]

        def over(ours, its, middle=median, events=events):
            return (middle([r.own_s for r in ours]) - middle([r.own_s for r in its])) * 1e9 / events

        for way in has:
            these = runs[load, way]
            base, hook, floor = (same_rounds(runs[load, of], these) for of in ("none", "hook", "records"))
            own = median([r.own_s for r in these])
            ratio = Ratio([r.own_s for r in these], [r.own_s for r in base])
            tree = Ratio([r.cpu_s for r in these], [r.cpu_s for r in base])
            size = median([r.size for r in these])
            table.row(f"{load}, {'untraced' if way == 'none' else way}", f"{own * 1e3:.1f}", times(ratio.median),
                      f"{100 * ratio.spread:.0f} %", "" if way == "none" else f"{over(these, base):.1f}",
                      *(["", ""] if way in ("none", "hook") else [f"{over(these, hook):.1f}",
                                                                  f"{over(these, hook, min):.1f}"]),
                      f"{median([r.cpu_s for r in these]) * 1e3:.0f}", times(tree.median),
                      f"{size / events:.1f}" if size and way != "cprofile" else "",
                      str(sum(r.lost for r in these)) if way == "kymo" else "")
            if way == "kymo":
                # What reading the clock takes differs from machine to machine: 6 to 21 ns.
                for beside, of in (("the empty hook", hook), ("a hook that writes the clock", floor)):
                    bench.results.budget(
                        f"{name}, {load}: an event over {beside}, ns", over(these, of), 10.0,
                        lambda x: f"{x:.1f} ns", spread=ratio.spread, interval=interval(over, these, of))
                for beside, of, limit in (("the empty hook's", hook, 1.3),
                                          ("that of a hook that writes the clock", floor, 1.4)):
                    hooked = Ratio([r.cpu_s for r in these], [r.cpu_s for r in of])
                    bench.results.budget(f"{name}, {load}: whole tree beside {beside}", hooked.median, limit,
                                         times, spread=hooked.spread, interval=hooked.interval)
                bench.results.budget(f"{name}, {load}: bytes of an event", size / events, 4.0,
                                     lambda x: f"{x:.2f}")
    bench.results.add(table)
