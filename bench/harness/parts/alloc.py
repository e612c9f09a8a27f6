# SPDX-License-Identifier: Apache-2.0
"""What recording allocations costs: a tight pair of malloc and free, a mix as programs have it, real
programs; beside glibc alone and other heap profilers, each to its own allocator alone."""
import json
import os
import shutil
import subprocess

from ..bench import percent, times
from ..measure import Failed, Ratio, interleave, median, run as run_program, spread
from ..results import Table
from .programs import programs

LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
JEMALLOC = LIBRARIES + "libjemalloc.so.2"
TCMALLOC = LIBRARIES + "libtcmalloc.so.4"
# Pairs that alloc_bench measures at once.
BATCH = 100000
RATES = {"512 KiB": "512k", "4 KiB": "4k", "every one": "0"}
# More than glibc alone of the same run: ns of a tight pair; times of the mix.
TIGHT = {"512 KiB": 2, "4 KiB": 30, "every one": 200}
MIX = {"512 KiB": 1.03, "4 KiB": 1.3, "every one": 3}


class Way:
    """base: the name of the way that it is compared with; slow: how much fewer pairs it is given."""

    def __init__(self, name, base=None, before=(), env=None, slow=1, rate=None):
        self.name = name
        self.base = base
        self.before = list(before)
        self.env = env or {}
        self.slow = slow
        self.rate = rate

    def run(self, bench, mode, pairs):
        pairs = max(pairs // self.slow // BATCH, 1) * BATCH
        before = [word.replace("OUT", bench.out("alloc")) for word in self.before]
        env = {key: value.replace("OUT", bench.out("alloc")) for key, value in self.env.items()}
        ran = run_program([*before, bench.built("bench/alloc_bench"), mode, str(pairs)], env=env)
        line = next(l for l in ran.output.splitlines() if l.startswith("{"))
        said = json.loads(line)
        said["tool_s"] = max(ran.cpu_s - said["ns"] * pairs / 1e9, 0) / pairs * 1e6
        said["lost"] = said["samples"] = None
        if self.rate:
            said["samples"], said["lost"] = recorded(bench, self.name, pairs)
        remove_all(bench)
        return said


def recorded(bench, name, least):
    """Samples and losses of the recording. That nothing is slower proves nothing where nothing was
    recorded."""
    text = run_program([bench.kymo, "report", "--json", "--mode", "alloc", "--top", "1",
                        bench.out("alloc.kymo")]).output
    said = json.loads(text)
    count = sum(heap["count"] for heap in said["heaps"])
    samples = said["allocated"]["samples"]
    if count < least or samples == 0:
        raise Failed(f"{name}: {count} allocations counted and {samples} recorded, of at least {least}")
    return samples, sum(said["quality"]["lost"].values())


def remove_all(bench):
    for name in os.listdir(bench.scratch):
        if name.startswith("alloc"):
            path = bench.out(name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def record(bench, *options):
    """A sample each ten seconds of CPU time: what is measured is the allocations."""
    return [bench.kymo, "record", "-q", "-f", "--cpu=10s", "--counters=off", *options, "-o",
            bench.out("alloc.kymo"), "--"]


def ways(bench):
    known = [Way("glibc alone")]
    known.append(Way("kymo record, no allocations", "glibc alone", record(bench)))
    known += [Way(f"kymo record --alloc, {name}", "glibc alone", record(bench, f"--alloc={value}"),
                  slow=4 if name == "every one" else 1, rate=name) for name, value in RATES.items()]
    if os.path.exists(JEMALLOC):
        known.append(Way("jemalloc alone", env={"LD_PRELOAD": JEMALLOC}))
        for lg in (19, 12):
            known.append(Way(f"jemalloc prof, 2^{lg} bytes", "jemalloc alone",
                             env={"LD_PRELOAD": JEMALLOC,
                                  "MALLOC_CONF": f"prof:true,lg_prof_sample:{lg}"}))
    else:
        bench.results.absent("jemalloc", f"{JEMALLOC} is not installed")
    if os.path.exists(TCMALLOC):
        known.append(Way("tcmalloc alone", env={"LD_PRELOAD": TCMALLOC}))
        known.append(Way("tcmalloc, a sample each 512 KiB", "tcmalloc alone",
                         env={"LD_PRELOAD": TCMALLOC, "TCMALLOC_SAMPLE_PARAMETER": "524288"}))
        known.append(Way("gperftools' HEAPPROFILE", "tcmalloc alone", slow=50,
                         env={"LD_PRELOAD": TCMALLOC, "HEAPPROFILE": "OUT.heap"}))
    else:
        bench.results.absent("tcmalloc", f"{TCMALLOC} is not installed")
    if shutil.which("heaptrack"):
        known.append(Way("heaptrack -r", "glibc alone", ["heaptrack", "-r", "-o", "OUT.heaptrack"],
                         slow=10))
    else:
        bench.results.absent("heaptrack", "not installed")
    if shutil.which("valgrind"):
        known.append(Way("valgrind --tool=dhat", "glibc alone", slow=25,
                         before=["valgrind", "-q", "--tool=dhat", "--dhat-out-file=OUT.dhat"]))
    else:
        bench.results.absent("dhat", "valgrind is not installed")
    return known


def loop(bench, known, mode, pairs, title, how):
    rounds = bench.rounds(9)
    runs = interleave(rounds, {way.name: (lambda way: lambda _number: way.run(bench, mode, pairs))(way)
                               for way in known})
    table = Table(title, f"{how} Medians of {rounds} interleaved runs; *more* and the ratio are to the "
                  "way's own allocator alone. *Tool*: CPU time of everything else that the command "
                  "starts, and of starting the program, for a pair.",
                  ["", "ns a pair", "spread", "more, ns", "ratio", "tool, ns", "peak, KiB", "samples", "lost"])
    for way in known:
        ns = [r["ns"] for r in runs[way.name]]
        base = [r["ns"] for r in runs[way.base or way.name]]
        table.row(way.name, f"{median(ns):.2f}", percent(spread(ns)),
                  f"{median(ns) - median(base):.2f}" if way.base else "–",
                  times(Ratio(ns, base).median) if way.base else "–",
                  f"{median([r['tool_s'] for r in runs[way.name]]) * 1e3:.1f}",
                  f"{median([r['peak_kib'] for r in runs[way.name]]):.0f}",
                  "–" if way.rate is None else f"{median([r['samples'] for r in runs[way.name]]):.0f}",
                  "–" if way.rate is None else max(r["lost"] for r in runs[way.name]))
    bench.results.add(table)
    return runs


def nanoseconds(ns):
    return f"{ns:.2f} ns"


def mebibytes(mib):
    return f"{mib:.2f} MiB"


def differences(runs, name, base, key="ns"):
    """Of the two runs of each round, which were made one after the other."""
    return median([a[key] - b[key] for a, b in zip(runs[name], runs[base])])


def loops(bench):
    known = ways(bench)
    pairs = 1000000 if bench.quick else 5000000
    tight = loop(bench, known, "tight", pairs, "Allocations: a tight pair",
                 "malloc of 16 to 128 bytes and free at once, 8 frames deep, one pinned thread: the "
                 "allocator's fastest way and nothing else; ns of the thread's CPU time.")
    mix = loop(bench, known, "mix", pairs, "Allocations: a mix",
               "Four threads, lognormal sizes with a median of 90 bytes, 25 frames deep, a tenth freed "
               "by another thread; ns of the process's CPU time.")
    for rate, limit in TIGHT.items():
        name = f"kymo record --alloc, {rate}"
        bench.results.budget(f"allocations, tight pair, {rate}: more than glibc alone",
                             differences(tight, name, "glibc alone"), limit, nanoseconds,
                             spread=spread([r["ns"] for r in tight[name]]))
    for rate, limit in MIX.items():
        name = f"kymo record --alloc, {rate}"
        ns, base = ([r["ns"] for r in mix[n]] for n in (name, "glibc alone"))
        ratio = Ratio(ns, base)
        bench.results.budget(f"allocations, mix, {rate}: to glibc alone", ratio.median, limit, times,
                             spread=ratio.spread, interval=ratio.interval)
    bench.results.budget("allocations, 512 KiB: memory in the program, more",
                         differences(tight, "kymo record --alloc, 512 KiB", "glibc alone", "peak_kib")
                         / 1024, 4, mebibytes)


def cplusplus(bench):
    """A source that the C++ compiler allocates much for."""
    path = bench.out("source.cc")
    with open(path, "w") as f:
        f.write("#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n")
        for i in range(4 if bench.quick else 20):
            f.write(f"int f{i}(const std::string &s) {{ std::map<std::string, std::vector<int>> m{i}; "
                    f"m{i}[s].push_back({i}); return std::regex_match(s, std::regex(\"a+{i}\")) + "
                    f"(int)m{i}.size(); }}\n")
    return path


def known_programs(bench):
    """name: argv, file for standard input, the program's name as the kernel has it, environment."""
    known = {name: (argv, stdin, program, {}) for name, (argv, stdin, program) in programs(bench).items()
             if not name.startswith("cc1")}
    if "python3.11" in known:
        argv, stdin, program, _ = known["python3.11"]
        known["python3.11, PYTHONMALLOC=malloc"] = (argv, stdin, program, {"PYTHONMALLOC": "malloc"})
    cc1plus = subprocess.run(["g++", "-print-prog-name=cc1plus"], stdout=subprocess.PIPE,
                             text=True).stdout.strip()
    if os.path.isabs(cc1plus):
        multiarch = subprocess.run(["gcc", "-print-multiarch"], stdout=subprocess.PIPE, text=True)
        known["g++ (cc1plus -O1)"] = ([cc1plus, "-quiet", "-imultiarch", multiarch.stdout.strip(),
                                       "-D_GNU_SOURCE", "-O1", cplusplus(bench),
                                       "-o", bench.out("source.s")], None, "cc1plus", {})
    return known


def real(bench, tools, rounds, title, how):
    """The programs' own CPU time under each of the tools (name: the words before the command); returns
    program, tool: ratio."""
    known = known_programs(bench)

    def once(tool, before, argv, stdin, program, env):
        def call(_number):
            ran = run_program([*before, *argv], env=env, stdin=stdin, usage_of=program,
                              usage_library=bench.usage)
            ran.samples = ran.lost = None
            if tool.startswith("--alloc"):
                ran.samples, ran.lost = recorded(bench, f"{program}, {tool}", 100)
            remove_all(bench)
            return ran
        return call

    ways = {"alone": [], **tools}
    runs = interleave(rounds, {(name, tool): once(tool, before, *known[name])
                               for name in known for tool, before in ways.items()})
    table = Table(title, f"{how} The program's own CPU time, medians of {rounds} interleaved runs.",
                  ["", "alone, s", "with, s", "ratio", "fastest", "spread", "samples",
                   "lost"])
    ratios = {}
    for name in known:
        alone = [r.own_s for r in runs[name, "alone"]]
        for tool in tools:
            ours = runs[name, tool]
            if any(r.output != runs[name, "alone"][0].output for r in ours) and tool != "heaptrack -r":
                raise Failed(f"{name} writes something else under kymo record {tool}")
            ratio = ratios[name, tool] = Ratio([r.own_s for r in ours], alone)
            table.row(f"{name}, {tool}", f"{median(alone):.3f}",
                      f"{median([r.own_s for r in ours]):.3f}", times(ratio.median),
                      times(ratio.fastest), percent(ratio.spread),
                      "–" if ours[0].samples is None else f"{median([r.samples for r in ours]):.0f}",
                      "–" if ours[0].samples is None else max(r.lost for r in ours))
    bench.results.add(table)
    return ratios


def real_programs(bench):
    ratios = real(bench, {"--alloc": record(bench, "--alloc")}, bench.rounds(9),
                  "Allocations: real programs", "At the default rate, 512 KiB.")
    for (name, _), ratio in ratios.items():
        bench.results.budget(f"allocations at 512 KiB: {name}", ratio.median, 1.03, times,
                             spread=ratio.spread, interval=ratio.interval)
    every = {"--alloc=0": record(bench, "--alloc=0")}
    if shutil.which("heaptrack"):
        every["heaptrack -r"] = ["heaptrack", "-r", "-o", bench.out("alloc.heaptrack")]
    real(bench, every, bench.rounds(3), "Allocations: real programs, every allocation",
         "What it takes to have each allocation with its stack.")


def run(bench):
    loops(bench)
    real_programs(bench)
