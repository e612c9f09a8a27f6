# SPDX-License-Identifier: Apache-2.0
"""Allocations: what a program says that it asked for is what the recording has, of every function, thread
and allocator, exactly where each one is recorded and within bounds where it is estimated; and a program
does what it does alone.

The truth is what tests/workloads/allocs.c prints of itself.
"""
import collections
import json
import math
import os
import statistics

from kymoheap import (EVERY, LIBRARIES, PERIOD, PLACE, Heap, check_exact, lost, recorded, report_of, rows,
                      workload)
from kymotest import (KYMO, WORKLOADS, add_case, case, check, check_nothing_lost, folder, main, record, run, say,
                      skip)


# ---- every function, every allocator ----

def kinds(allocator):
    # jemalloc and the tests' own have no pvalloc: glibc's block would be a stranger to them.
    count = {"jemalloc": 8, "bump": 7}.get(allocator, 9)
    check_exact(*recorded("kinds", count, allocator=allocator))


def preloaded_kinds(allocator):
    library = PLACE / LIBRARIES[allocator]
    if not library.exists():
        skip(f"{library} is not installed")
    env = {**os.environ, "LD_PRELOAD": str(library)}
    check_exact(*recorded("kinds", 8, env=env))


def operators(allocator):
    program = WORKLOADS / "allocs_new"
    if not program.exists():
        skip("there is no C++ compiler")
    env = dict(os.environ)
    if allocator:
        if not (PLACE / LIBRARIES[allocator]).exists():
            skip(f"{LIBRARIES[allocator]} is not installed")
        env["LD_PRELOAD"] = str(PLACE / LIBRARIES[allocator])
    is_calm = allocator == "mimalloc"  # whose operators abort, where others throw
    recording = record([program, *(["calm"] if is_calm else [])], options=EVERY, period=PERIOD, env=env)
    check(recording.result.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
    truth = json.loads(recording.result.stdout)
    failed = 0 if is_calm else 4
    check(truth["thrown"] == failed and truth["null"] == failed,
          f"{truth['thrown']} threw, {truth['null']} did not")
    check_exact(recording, truth)


def same_errors(allocator):
    plain = run([workload(allocator), "errors"])
    recording, _ = recorded("errors", allocator=allocator)
    check(recording.result.stdout == plain.stdout,
          f"alone {plain.stdout}, recorded {recording.result.stdout}")


for name in (None, "jemalloc", "tcmalloc", "mimalloc", "bump"):
    suffix = f".{name}" if name else ""
    add_case(f"kinds{suffix}", kinds, name)
    add_case(f"errors{suffix}", same_errors, name)
for name in LIBRARIES:
    add_case(f"kinds.preloaded.{name}", preloaded_kinds, name)
for name in (None, *LIBRARIES):
    add_case(f"operators.{name}" if name else "operators", operators, name)


# ---- estimates ----

@case
def three_sites():
    """256 MiB of 1 KiB, of 64 KiB and of 1 MiB, at 512 KiB: each within a tenth, by the median of nine."""
    ratios = collections.defaultdict(list)
    for _ in range(9):
        recording, truth = recorded("three", 256, options=["--alloc"])
        heap = Heap(recording)
        for site, true in truth["sites"].items():
            _, came, _, left = heap.sums(site)
            ratios[site, "allocated"].append(came / true["bytes"])
            ratios[site, "in use"].append(left / true["live_bytes"])
    for (site, what), values in ratios.items():
        middle = statistics.median(values)
        say(f"{site}, {what}: {middle:.3f} of the truth ({min(values):.3f} to {max(values):.3f})")
        check(abs(middle - 1) <= 0.1, f"{site}, {what}: the median is {middle:.3f} of the truth")


# ---- threads ----

@case
def frees_all():
    recording, truth = recorded("threads", 20000, 8)
    check(truth["foreign"] > 0, "no block was freed by another thread")
    heap = check_exact(recording, truth)
    check(not heap.live("site_passing"), "blocks are left")
    threads = len({e.tid for e in heap.of("site_passing") if e.bytes > 0})
    check(threads == 8, f"{threads} threads asked for blocks")


@case
def leaks():
    recording, truth = recorded("threads", 20000, 8, 1000)
    heap = check_exact(recording, truth)
    left = {**heap.live("site_passing"), **heap.live("site_leaking")}
    check(left == {address: size for address, size in truth["leaks"]},
          f"{len(left)} blocks are left, in truth {len(truth['leaks'])}")
    say(f"{len(left)} blocks are left, each with its address and size")


# ---- blocks that change their size ----

@case
def resize():
    recording, truth = recorded("resize", 200)
    check_nothing_lost(recording.report().quality)
    heap = Heap(recording)
    left = heap.sums("site_resized")
    true = truth["sites"]["site_resized"]
    check(left[2:] == (true["live_objects"], true["live_bytes"]),
          f"{left[2]} blocks of {left[3]} bytes are left, in truth {true}")
    first = heap.sums("site_first")
    check(first[0] == truth["sites"]["site_first"]["objects"] and first[2] == 0,
          f"of the first size {first[0]} came and {first[2]} are left")


# ---- hard places ----

@case
def allocator_threads():
    """jemalloc makes threads with a lock held; the calloc in there may not ask it for its statistics,
    those that the program calls may."""
    program = WORKLOADS / "hazards_jemalloc"
    if not program.exists():
        skip("jemalloc is not installed")
    plain = run([program, "allocthreads"])
    check(plain.status == 0, f"alone: status {plain.status}: {plain.stderr}")
    recording = record([program, "allocthreads"], options=EVERY, period=PERIOD)
    check((recording.result.status, recording.result.stdout) == (0, plain.stdout),
          f"status {recording.result.status}: {recording.result.stdout}{recording.result.stderr}")
    figures = [row["name"] for row in report_of(recording, "memory")["figures"]]
    check("allocator.jemalloc_allocated_bytes" in figures, f"jemalloc was not asked: {figures}")


@case
def fork():
    """Each child frees a part of what it inherited, its child another, while threads allocate."""
    recording, truth = recorded("fork", 10)
    heap = Heap(recording)
    check_nothing_lost(recording.report().quality)
    # A grandchild has what its parent asked for, too.
    sums = collections.Counter((heap.sums("site_parent", p)[2], heap.sums("site_child", p)[2])
                               for p in heap.processes())
    say(f"(blocks left of the parent's, and of children's) in how many processes: {dict(sums)}")
    check(sums == {(truth["sites"]["site_parent"]["live_objects"], 0): 1,
                   (truth["left_in_child"], truth["by_child"]): truth["children"],
                   (truth["left_in_grandchild"], 2 * truth["by_child"]): truth["children"]},
          f"processes have {dict(sums)} of blocks")


@case
def fork_frees():
    """Each child frees all that it inherited, and attaches meanwhile: none of it has leaked."""
    recording, truth = recorded("fork_frees", 150)
    heap = Heap(recording)
    check_nothing_lost(recording.report().quality)
    sums = collections.Counter((heap.sums("site_parent", p)[2], heap.sums("site_child", p)[2])
                               for p in heap.processes())
    check(sums == {(truth["sites"]["site_parent"]["live_objects"], 0): 1, (0, 1): truth["children"]},
          f"processes have {dict(sums)} of blocks")


@case
def handlers():
    """Under an allocator that handlers may call: they allocate, and each eighth jumps out."""
    recording, truth = recorded("handlers", 2000, allocator="bump")
    heap = Heap(recording)
    came, _, _, _ = heap.sums("site_handler")
    missing = sum(lost(recording).values())
    say(f"{truth['handled']} handlers, {truth['jumps']} jumps in {truth['rounds']} rounds: {came} of "
        f"{2 * truth['handled']} blocks, lost {lost(recording)}")
    check(came <= 2 * truth["handled"] <= came + missing, "blocks of handlers are missing, and not counted")


@case
def plugins():
    """What a library asked for keeps its name when the library is gone, and another in its place."""
    check_exact(*recorded("plugins", 100))


@case
def destructors():
    check_exact(*recorded("destructors", 300))


@case
def low_memory():
    """Under ulimit -v everything fails as it does alone, wherever the limit falls."""
    for mib in range(8, 72, 8):
        plain = run([workload(), "low", mib])
        recording, _ = recorded("low", mib)
        check(recording.result.stdout == plain.stdout and recording.result.stderr == plain.stderr,
              f"{mib} MiB: alone {plain.stdout}, recorded {recording.result.stdout}")


@case
def maps():
    recording, truth = recorded("maps")
    check(truth["mapped"] > 0, "nothing was mapped")
    check_nothing_lost(recording.report().quality)


# ---- programs from elsewhere ----

def program_works(argv, env=None, options=("--alloc",)):
    env = {**os.environ, **(env or {})}
    plain = run(argv, env=env)
    recording = record(argv, options=options, period=PERIOD, env=env)
    check(recording.result.status == plain.status,
          f"status {recording.result.status}, alone {plain.status}: {recording.result.stderr}")
    check(recording.result.stdout == plain.stdout, "it writes something else")
    return recording


def python(allocator):
    script = "import json\nd = [json.loads(json.dumps({str(i): [i] * 9})) for i in range(5000)]\nprint(len(d))\n"
    recording = program_works(["/usr/bin/python3", "-c", script], {"PYTHONMALLOC": allocator}, EVERY)
    objects = [e for e in Heap(recording).events if e.bytes > 0]
    say(f"PYTHONMALLOC={allocator}: {len(objects)} blocks")
    # With malloc, each object is a block of its own.
    check(len(objects) > (25000 if allocator == "malloc" else 1000), f"only {len(objects)} blocks")


for name in ("pymalloc", "malloc"):
    add_case(f"python.{name}", python, name)


@case
def programs():
    sql = folder() / "input.sql"
    sql.write_text("create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n "
                   "where i < 100000) insert into t select i, 'row ' || i from n; create index x on t(b); "
                   "select count(*), max(b) from t;")
    source = folder() / "source.cc"
    source.write_text("#include <map>\n#include <string>\n#include <iostream>\nint main() {\n"
                      "std::map<std::string, int> m; for (int i = 0; i < 10000; i++) m[std::to_string(i)] = i;\n"
                      "std::cout << m.size() << std::endl; }\n")
    out = folder() / "program"
    known = {"sqlite3": ["/usr/bin/sqlite3", ":memory:", f".read {sql}"],
             "node": ["/usr/bin/node", "-e", "let a = []; for (let i = 0; i < 3e5; i++) a.push({i}); "
                                             "console.log(a.length)"],
             "perl": ["/usr/bin/perl", "-e", 'my %h; $h{"k$_"} = $_ for 1..50000; print scalar(keys %h), "\\n"'],
             "g++": ["/usr/bin/g++", "-O1", "-o", out, source]}
    for name, argv in known.items():
        if not os.path.exists(argv[0]):
            say(f"{name} is not installed")
            continue
        recording = program_works(argv)
        blocks = sum(e.bytes > 0 for e in Heap(recording).events)
        say(f"{name}: {blocks} samples")
        check(blocks > 0, f"{name}: nothing was recorded")
    if out.exists():
        recording = program_works([out], options=EVERY)
        blocks = sum(e.bytes > 0 for e in Heap(recording).events)
        check(blocks >= 10000, f"the C++ program: {blocks} blocks")


# ---- kymo report ----

@case
def peak():
    """What is there at the end is not what is there when most is."""
    recording, truth = recorded("peak", 1000)
    true = {site: (t["objects"], t["bytes"]) for site, t in truth["sites"].items()}
    for mode, sites in {"alloc": ["site_base", "site_peak", "site_later"], "peak": ["site_base", "site_peak"],
                        "live": ["site_base", "site_later"], "leaks": ["site_base", "site_later"]}.items():
        found, data = rows(recording, mode)
        check({site: found[site] for site in found if site.startswith("site_")} ==
              {site: true[site] for site in sites}, f"{mode}: {found}")
        check(not data["partial"], f"{mode} is partial")
    check(rows(recording, "peak")[1]["total"]["bytes"] >= truth["peak_bytes"], "the peak is too low")
    heap, = report_of(recording, "live")["heaps"]
    check(heap["count"] >= 3000 and heap["rate"] == 1 and heap["not_seen"] is None, f"{heap}")


@case
def summary():
    """What record says at its end, without a report being asked for."""
    recording = folder() / "recording.kymo"
    said = run([KYMO, "record", *EVERY, "-o", recording, "--", workload(), "three", 1]).stderr
    truth = json.loads(run([KYMO, "report", "--json", "--mode", "live", recording]).stdout)
    live = "live at exit: "
    check(live in said and f" in {truth['total']['objects']:.0f} blocks" in said.split(live)[1].splitlines()[0],
          f"no sum: {said}")
    for text in ("allocated: ", "peak heap at ", "site_", f"kymo report --mode live {recording}"):
        check(text in said, f"{text} is not said: {said}")


# ---- more than the recorder can read ----

def lost_of(losses, what):
    return sum(n for kind, n in losses.items() if kind.startswith(what + ":"))


@case
def flood():
    """While two threads have left the recorder far more than it reads at once, children come: all of them are
    in the recording, and every block is, or was counted as lost."""
    recording, truth = recorded("flood", 20, options=["--alloc=0"])
    found, data = rows(recording, "alloc")
    losses = lost(recording)
    true = truth["sites"]["site_flood"]["objects"]
    say(f"{found['site_flood'][0]} of {true} blocks, lost {losses}")
    check(len(data["processes"]) == 1 + truth["children"], f"{len(data['processes'])} processes are recorded")
    # Above two million rows they are drawn from: six standard deviations, of the weights of these sizes.
    rate = max(heap["rate"] for heap in data["heaps"])
    chance = 6 * math.sqrt(true / (1 - math.exp(-64 / rate))) if rate > 1 else 0
    check(sum(heap["count"] for heap in data["heaps"]) >= true - lost_of(losses, "allocations"), f"{data['heaps']}")
    check(abs(found["site_flood_child"][0] - truth["sites"]["site_flood_child"]["objects"]) <= chance,
          f"{found['site_flood_child'][0]} blocks of children, in truth {truth['sites']['site_flood_child']}")
    check(found["site_flood"][0] - chance <= true <= found["site_flood"][0] + chance + lost_of(losses, "allocations"),
          f"{found['site_flood'][0]} of {true} blocks, lost {losses}")
    left, data = rows(recording, "live")
    # A child keeps what the threads of its parent had at the fork.
    most = truth["children"] * truth["at_a_time"] + lost_of(losses, "frees")
    check(left.get("site_flood", (0, 0))[0] <= most, f"{left} are left, at most {most}, lost {losses}")
    check(data["partial"] == (lost_of(losses, "frees") > 0), "partial, or not, without a reason")


@case
def small_buffer():
    """No recorder reads while far more is written than the session holds: what is missing is counted, and that
    leaks are partial is said."""
    recording, truth = recorded("lost", 100000, options=["--alloc=0", "--buffer=1m"])
    losses = lost(recording)
    true = truth["sites"]["site_flood"]["objects"]
    found, data = rows(recording, "leaks")
    came = rows(recording, "alloc")[0]["site_flood"][0]
    missing = lost_of(losses, "allocations")
    left = found.get("site_flood", (0, 0))[0]
    say(f"{came} of {true} blocks, {left} seem to be left, lost {losses}")
    check(missing > 0 and lost_of(losses, "frees") > 0, f"nothing was lost: {losses}")
    check(came <= true <= came + missing, f"{came} of {true} blocks, lost {losses}")
    check(left <= lost_of(losses, "frees"), f"{left} blocks seem to be left, lost {losses}")
    check(data["partial"], "leaks are not partial")
    text = run([KYMO, "report", "--mode", "leaks", recording.path]).stdout
    check("partial" in text, f"the report does not say so: {text}")


@case
def temporary():
    recording, truth = recorded("temporary", 1000)
    true = truth["sites"]["site_at_once"]["objects"]
    found, _ = rows(recording, "temporary")
    check(found["site_at_once"][0] == true and "site_after_one" not in found, f"{found}")
    found, _ = rows(recording, "temporary", "--within", "2")
    check(found["site_at_once"][0] == found["site_after_one"][0] == true, f"within 2: {found}")


@case
def formats():
    """Collapsed stacks have the same bytes: of all that was asked for, and of what is left."""
    recording, truth = recorded("three", 1)
    for mode, key in (("alloc", "bytes"), ("live", "live_bytes")):
        path = f"{recording.path}.{mode}.folded"
        run([KYMO, "convert", "-q", recording.path, "--mode", mode, "-o", path])
        with open(path, encoding="utf-8") as file:
            lines = [line.rsplit(" ", 1) for line in file]
        for site, true in truth["sites"].items():
            bytes_ = sum(int(weight) for stack, weight in lines if site in stack.split(";"))
            check(bytes_ == true[key], f"{site}, {mode}: {bytes_} bytes, in truth {true[key]}")


@case
def without():
    """Without --alloc, no allocations are recorded."""
    recording = record([workload(), "peak"], period=PERIOD)
    check(not Heap(recording).events, "there are allocations")


main()
