# SPDX-License-Identifier: Apache-2.0
"""ns per marker, beside the bare write to a ring in the same run: bench/marker_bench.c measures under
`kymo record`. Instructions by callgrind, and LTTng-UST in the same way."""
import os
import re
import shutil
import subprocess

from ..measure import Failed, run as run_program
from ..results import Table

KINDS = {
    "disabled": "off: a typed marker whose category nobody wants",
    "now": "kymo_now()",
    "instant16": "instant, 16 bytes",
    "instant32": "instant, typed, 2 numbers (32 bytes)",
    "instant64": "instant, typed, 6 numbers (64 bytes)",
    "typed": "instant, typed: number, bytes, literal, flow",
    "text": "text of 18 bytes",
    "numbers_text": "typed: 2 numbers and a text of 18 bytes",
    "format": "formatted text, 3 arguments",
    "scope": "scope",
    "scope_typed": "scope with a payload",
    "scope_short": "scope below its minimum duration",
    "interval": "interval, begin and end by id",
    "stack": "instant with the stack here",
    "label": "label scope",
    "counter": "counter",
}
# Of the floor of the same run.
BUDGETS = {"instant32": 1.2, "scope": 1.2, "numbers_text": 1.2}
COUNTED = 2000


class Line:
    def __init__(self, threads, kind, floor, ns, least, low, high):
        self.threads, self.kind, self.floor = int(threads), kind, floor
        self.ns, self.least = float(ns), float(least)
        self.spread = (float(high) - float(low)) / self.ns if self.ns else 0


def record_command(bench, argv):
    # A sample each ten seconds of CPU time: none in a batch.
    return [bench.kymo, "record", "-q", "-f", "--cpu=10s", "--buffer=64m", "-o",
            bench.out("markers.kymo"), "--", *argv]


def measured(bench, threads):
    """Of one run: kind to line."""
    rounds = bench.rounds(31, 2)
    argv = [bench.built("bench/marker_bench"), str(rounds), str(threads)]
    output = run_program(record_command(bench, argv), timeout=600).output
    found = re.findall(r"^marker threads=(\d) kind=(\S+) floor=(\S+) ns=([\d.]+) least=([\d.]+) "
                       r"quartiles=([\d.]+)-([\d.]+)$", output, re.M)
    lines = {line.kind: line for line in (Line(*fields) for fields in found)}
    if set(KINDS) - set(lines):
        raise Failed(f"marker_bench printed no {sorted(set(KINDS) - set(lines))}")
    if not re.search(r"^marker stats=0 written=[1-9]\d* lost=0$", output, re.M):
        raise Failed(f"markers were lost: {output.splitlines()[-1]}")
    bench.remove_outputs()
    return lines


def nanoseconds(ns):
    return f"{ns:.2f} ns"


def ratio(value):
    return f"{value:.2f}x"


def our_table(bench, threads, lines):
    empty = lines["empty"].ns
    table = Table(f"Markers, {threads} thread{'s' if threads > 1 else ''}",
                  "ns of the thread's CPU time for one, the call of the function that it stands in "
                  f"included (an empty one: {empty:.2f} ns); batches of 8192 in turn, the thread "
                  "pinned, nothing lost; medians. The floor is the bare write of a record of about "
                  "the same bytes, with a timestamp, to a ring of the thread's own (a scope: two "
                  "timestamps), in the same run.",
                  ["", "ns", "least", "middle half", "floor, ns", "ratio"])
    for kind, text in KINDS.items():
        line = lines[kind]
        floor = lines[line.floor]
        is_alone = line.floor == "empty"
        table.row(text, f"{line.ns:.2f}", f"{line.least:.2f}", f"{100 * line.spread:.0f} %",
                  "–" if is_alone else f"{floor.ns:.2f}",
                  f"{line.ns - empty:+.2f} ns" if is_alone else ratio(line.ns / floor.ns))
    bench.results.add(table)


def our_budgets(bench, lines):
    for kind, limit in BUDGETS.items():
        line, floor = lines[kind], lines[lines[kind].floor]
        bench.results.budget(f"marker: {KINDS[kind]}, to the bare write", line.ns / floor.ns, limit,
                             ratio, spread=line.spread)
    bench.results.budget("marker: disabled", lines["disabled"].ns - lines["empty"].ns, 0.5,
                         nanoseconds, spread=lines["disabled"].spread)


def instructions(bench):
    """Of one marker: what twice as many have more, so that the start is not in it."""
    if not shutil.which("valgrind"):
        bench.results.absent("instructions per marker", "valgrind is not installed")
        return

    program = bench.built("bench/marker_count")

    def counted(kind, n):
        out = bench.out("callgrind")
        run_program(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", program, kind,
                     str(n)])
        with open(out) as f:
            return int(re.search(r"^(?:summary|totals): (\d+)", f.read(), re.M).group(1))

    table = Table("Instructions of a marker",
                  "By callgrind, in a session of the process's own that nobody reads; the call of "
                  "the function that it stands in and the loop included: what twice as many have "
                  "more than so many, divided by their number.",
                  ["", "instructions"])
    others = {"empty": "an empty function", "ring32": "bare write of 32 bytes",
              "ring_text": "bare write of a text of 18 bytes", "ring_scope": "bare write of a scope"}
    for kind, text in {**others, **KINDS}.items():
        n = COUNTED if kind != "stack" else 100
        table.row(text, f"{(counted(kind, 2 * n) - counted(kind, n)) / n:.1f}")
    bench.results.add(table)


def lttng(bench, ours):
    program = os.path.join(bench.build, "bench/lttng_bench")
    if not shutil.which("lttng") or not os.path.exists(program):
        bench.results.absent("LTTng-UST", "not installed")
        return
    session = f"kymo-bench-{os.getpid()}"
    environment = dict(os.environ, LTTNG_HOME=bench.scratch)

    def ask(*argv):
        done = subprocess.run(["lttng", "-n", *argv], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Failed(f"lttng {argv[0]}: {done.stdout.strip()}")

    daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel", "--background", "--pidfile",
                               bench.out("sessiond.pid")], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    daemon.wait()
    try:
        ask("create", session, "--output", bench.out("lttng"))
        ask("enable-channel", "-u", "events", "--overwrite", "--subbuf-size=1M", "--num-subbuf=8")
        ask("enable-event", "-u", "kymo_bench:two_words", "-c", "events")
        ask("enable-event", "-u", "kymo_bench:numbers_text", "-c", "events")
        ask("start")
        output = run_program([program, str(bench.rounds(31, 2))], env={"LTTNG_HOME": bench.scratch},
                             cpus={min(os.sched_getaffinity(0))}).output
    finally:
        subprocess.run(["lttng", "-n", "destroy", session], env=environment,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(bench.out("sessiond.pid")) as f:
            os.kill(int(f.read()), 15)
    theirs = {kind: float(ns) for kind, ns in
              re.findall(r"^lttng kind=(\S+) ns=([\d.]+)", output, re.M)}
    table = Table("Markers beside LTTng-UST",
                  "The same payloads in the same kind of loop; LTTng into a ring buffer that is "
                  "overwritten (8 of 1 MiB for each CPU). ns of CPU time, medians.",
                  ["", "Kymo, ns", "LTTng-UST, ns", "ratio to ours"])
    for kind in ["disabled", "instant32", "numbers_text"]:
        mine, other = ours[kind].ns, theirs[kind]
        if kind == "disabled":
            mine, other = mine - ours["empty"].ns, other - theirs["empty"]
        table.row(KINDS[kind], f"{mine:.2f}", f"{other:.2f}",
                  ratio(other / mine) if mine > 0.05 else "–")
    bench.results.add(table)


def run(bench):
    ours = measured(bench, 1)
    our_table(bench, 1, ours)
    our_budgets(bench, ours)
    if len(os.sched_getaffinity(0)) > 1:
        our_table(bench, 2, measured(bench, 2))
    else:
        bench.results.absent("markers, 2 threads", "there is one CPU")
    lttng(bench, ours)
    instructions(bench)
