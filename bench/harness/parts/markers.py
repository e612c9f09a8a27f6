# SPDX-License-Identifier: Apache-2.0
"""ns per marker, beside the bare write of as many bytes in the same run: bench/marker_bench.c measures
under `kymo record`. Instructions by callgrind, and other libraries in the same loops."""
import json
import re

from ..marker_peers import KINDS as PEER_KINDS, ns_of, peers_table
from ..markers import EMPTY, can_count, instructions, measured, times, write_readme
from ..measure import Failed, run as run_program
from ..results import Table

# What it is, and the shape of its floor; None: it writes no record.
KINDS = {
    "disabled": ("off: a typed marker whose category nobody wants", None),
    "now": ("kymo_now()", None),
    "instant16": ("instant", "ring"),
    "instant32": ("instant, typed, 2 numbers", "ring"),
    "instant64": ("instant, typed, 6 numbers", "ring"),
    "typed": ("instant, typed: number, bytes, literal, flow", "ring"),
    "text": ("text of 18 bytes", "text"),
    "numbers_text": ("typed: 2 numbers and a text of 18 bytes", "text"),
    "format": ("formatted text, 3 arguments", "ring"),
    "scope": ("scope", "scope"),
    "scope_typed": ("scope with a payload", "scope"),
    "scope_short": ("scope below its minimum duration", None),
    "interval": ("interval, begin and end by id", "pair"),
    "stack": ("instant with the stack here", "ring"),
    "label": ("label scope", "pair"),
    "counter": ("counter, the same in all threads", None),
    "own_counter": ("counter, another in each thread", None),
    "gauge": ("gauge, the same in all threads", None),
    "counter_each": ("counter, each change recorded", "ring"),
}
# Of the warm floor of the same run.
BUDGETS = {"instant32": 1.2, "scope": 1.2, "numbers_text": 1.2}


def floors_of(bench):
    """Kind to its floor: as many bytes as marker_count says that one writes, and their number."""
    floors = {}
    for kind, (_, shape) in KINDS.items():
        told = run_program([bench.built("bench/marker_count"), "bytes", kind]).output
        count = int(re.search(r"^bytes=(\d+)$", told, re.M).group(1))
        if (count == 0) != (shape is None):
            raise Failed(f"{kind} writes {count} bytes")
        floors[kind] = (f"{shape}{count}" if shape else None, count)
    return floors


def names_of(floors):
    return {name for name, _ in floors.values() if name}


def ours(bench, threads, floors):
    """A sample each ten seconds of CPU time: none in a batch."""
    recording = bench.out("markers.kymo")
    lines, output = measured(bench, [bench.kymo, "record", "-q", "-f", "--cpu=10s", "--buffer=64m",
                                     "-o", recording, "--", bench.built("bench/marker_bench")],
                             threads, names_of(floors))
    if set(KINDS) - set(lines):
        raise Failed(f"marker_bench printed no {sorted(set(KINDS) - set(lines))}")
    if not re.search(r"^marker stats=0 made=([1-9]\d*) written=\1 lost=0$", output, re.M):
        raise Failed(f"markers were lost: {output.splitlines()[-1]}")
    # Labels and counters, too: what is lost costs nothing.
    lost = json.loads(run_program([bench.kymo, "report", "--json", recording]).output)["quality"]["lost"]
    if lost:
        raise Failed(f"records were lost: {lost}")
    bench.remove_outputs()
    return lines


def nanoseconds(ns):
    return f"{ns:.2f} ns"


def our_table(bench, threads, lines, floors):
    empty = lines[EMPTY].ns
    table = Table(f"Markers, {threads} thread{'s' if threads > 1 else ''}",
                  "ns of the thread's CPU time for one, the call of the function that it stands in "
                  f"included (an empty one: {empty:.2f} ns); batches of 8192 in turn, the thread "
                  "pinned, nothing lost; medians. The floor is the bare write of as many bytes in as "
                  "many records, with a timestamp each (a scope: two), to a ring of the thread's own, "
                  "in the same run: warm, in lines that it has just written, or cold, in lines that "
                  "are in no cache. What writes no record has what it costs more than the empty function. What else "
                  "runs on the machine slows down instructions, but not reading the clock, which is most "
                  "of a floor: the least of both are without that.",
                  ["", "bytes", "ns", "least", "middle half", "floor, warm", "cold", "ratio to warm",
                   "least to least", "to cold"])
    for kind, (text, _) in KINDS.items():
        line = lines[kind]
        floor, count = floors[kind]
        if floor:
            warm, cold = lines[f"{floor} warm"], lines[f"{floor} cold"]
            beside = [f"{warm.ns:.2f}", f"{cold.ns:.2f}", times(line.ns / warm.ns),
                      times(line.least / warm.least), times(line.ns / cold.ns)]
        else:
            beside = ["–", "–", f"{line.ns - empty:+.2f} ns",
                      f"{line.least - lines[EMPTY].least:+.2f} ns", "–"]
        table.row(text, count or "–", f"{line.ns:.2f}", f"{line.least:.2f}",
                  f"{100 * line.spread:.0f} %", *beside)
    bench.results.add(table)


def our_budgets(bench, lines, floors):
    for kind, limit in BUDGETS.items():
        line, floor = lines[kind], lines[f"{floors[kind][0]} warm"]
        bench.results.budget(f"marker: {KINDS[kind][0]}, to the bare write, warm", line.ns / floor.ns,
                             limit, times, spread=line.spread)
    bench.results.budget("marker: disabled", lines["disabled"].ns - lines[EMPTY].ns, 0.5,
                         nanoseconds, spread=lines["disabled"].spread)


def our_instructions(bench, floors):
    """Kind or floor to its instructions; None: they cannot be counted here."""
    if not can_count():
        bench.results.absent("instructions per marker", "valgrind is not installed")
        return None
    counted = instructions(bench, [bench.built("bench/marker_count")],
                           [EMPTY, *KINDS, *sorted(names_of(floors))])
    table = Table("Instructions of a marker",
                  "By callgrind, in a session of the process's own that nobody reads; the call of "
                  "the function that it stands in and the loop included: what twice as many have "
                  "more than so many, divided by their number.",
                  ["", "instructions", "its floor"])
    table.row("an empty function", f"{counted[EMPTY]:.0f}", "–")
    for kind, (text, _) in KINDS.items():
        floor = floors[kind][0]
        table.row(text, f"{counted[kind]:.0f}", f"{counted[floor]:.0f}" if floor else "–")
    bench.results.add(table)
    return counted


def our_readme(bench, lines, floors, peers):
    kinds = ["disabled", "instant32", "numbers_text", "scope"]
    warm, text, scope = (lines[f"{floors[kind][0]} warm"].ns for kind in kinds[1:])

    def figures(values):
        return " / ".join("–" if each is None else f"{max(each, 0):.1f}" if each < 1 else f"{each:.0f}"
                          for each in values) + " ns"

    others = [f"the bare write of as many bytes – / {warm:.0f} / {text:.0f} / {scope:.0f} ns",
              *(f"{name} {figures(values)}" for name, values in peers.items())]
    cells = ["a marker: off / two numbers / two numbers and a text / scope",
             figures([ns_of(lines, kind) for kind in kinds]), "; ".join(others)]
    print("README: | " + " | ".join(cells) + " |", flush=True)
    if not bench.quick:
        write_readme(bench.root, cells)


def run(bench):
    floors = floors_of(bench)
    lines = ours(bench, 1, floors)
    our_table(bench, 1, lines, floors)
    our_budgets(bench, lines, floors)
    our_table(bench, 2, ours(bench, 2, floors), floors)
    counted = our_instructions(bench, floors)
    peers = peers_table(bench, lines, counted, [floors[kind][0] for kind in PEER_KINDS[1:]])
    our_readme(bench, lines, floors, peers)
