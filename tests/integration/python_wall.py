# SPDX-License-Identifier: Apache-2.0
"""Wall time of Python: threads that wait show the functions of their Python code.

The truth is what the program measures around each of its waits, and its frames as it sees them itself
(sys._getframe) where it waits. Each case runs with each CPython that is found.
"""
import json
import math
import pathlib

from kymotest import (WORKLOADS, add_case, check, check_close, check_nothing_lost, main, record, run, say, skip,
                      tried_again)
from pythons import find_interpreters, one_of_each_version, some_of

PERIOD_S = 0.01
SECONDS = 4
PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "workloads" / "python_waits.py"


def tolerance(truth, name):
    """As in wall.py: each change lies anywhere between two looks, whose period doubles while no thread
    moves, and the recorder's looks are late where the program's own waits are."""
    chance = 4 * math.sqrt(2 * truth["waits"][name] * (2 * PERIOD_S) ** 2 / 12)
    late = max(truth["late"].values())
    return chance + 2 * late + 0.01 * truth["elapsed"][name] + 2 * PERIOD_S


def record_way(way, python, arguments=()):
    recording = record([python, *arguments, PROGRAM, way, SECONDS, WORKLOADS / "libpython_waits_native.so"], options=["--wall=10ms"])
    check(recording.result.status == 0,
          f"status {recording.result.status}: {recording.result.stderr}")
    truth = json.loads(recording.result.stdout)
    report = recording.report("--mode", "wall")
    check_nothing_lost(report.quality)
    return recording, truth, report


def definitions():
    """The line of each function of the program, by its plain name."""
    lines = {}
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1):
        if line.strip().startswith(("def ", "async def ")):
            lines[line.split("def ")[1].split("(")[0]] = number
    return lines


def plain(name):
    return name.split(".")[-1]


def rows_of(report, name):
    """Functions of the program; before 3.11 their names are plain."""
    return [f for f in report.data["functions"]
            if plain(f["name"]) == plain(name) and f["file"] and f["file"].endswith(PROGRAM.name)]


def check_time(report, truth, name):
    rows = rows_of(report, name)
    check(rows, f"no time in {name}")
    defined = definitions()[plain(name)]
    for f in rows:
        check(f["file"] == str(PROGRAM), f"{name} is in {f['file']}")
        check(f["line"] == defined, f"{name} begins in line {f['line']}, and not {defined}")
    check_close(name, sum(f["total"] for f in rows) / 1e9, truth["elapsed"][name], tolerance(truth, name))


def check_stacks(recording, truth):
    """Each stack that waits in one of the functions has exactly the frames that the program saw."""
    seen = {name: 0 for name in truth["stacks"]}
    others = []
    by_inner = {tuple(map(tuple, frames)): name for name, frames in truth["stacks"].items()}
    names = {frames[-1][0] for frames in truth["stacks"].values()}
    ours = set(definitions())
    for sample in recording.firefox().all_samples():
        if not sample.frames[-1].name.startswith("[waiting"):
            continue
        frames = [(f.name, f.line) for f in sample.frames if f.line and plain(f.name) in ours]
        if not frames or frames[-1][0] not in names:
            continue
        name = by_inner.get(tuple(frames))
        if name:
            seen[name] += 1
        else:
            others.append(frames)
    # Between its line's two calls a thread may be found in another wait, such as for the GIL.
    check(all(seen.values()), f"never seen: {[n for n, times in seen.items() if not times]}; {others[:3]}")
    odd = [frames for frames in others if not any(
        [f[0] for f in frames] == [f[0] for f in truth["stacks"][name]][:len(frames)]
        for name in truth["stacks"])]
    check(not odd, f"not what the program saw: {odd[:3]}")
    say(f"{sum(seen.values())} waits with the frames of the program, {len(others)} on other lines")


def kinds(python, version):
    recording, truth, report = record_way("kinds", python)
    for name in truth["elapsed"]:
        check_time(report, truth, name)
    check_stacks(recording, truth)


def gil(python, version):
    """A thread that runs Python code all the time runs, or waits for the GIL; either way in this function."""
    recording, truth, report = record_way("gil", python)
    for name in ("spin_one", "spin_two"):
        rows = rows_of(report, name)
        check(rows, f"no time in {name}")
        check_close(name, sum(f["total"] for f in rows) / 1e9, truth["elapsed"][name],
                    0.03 * truth["elapsed"][name] + 2 * max(truth["late"].values()) + 10 * PERIOD_S)
    for name in ("spin_one", "spin_two"):
        waiting = sum(1 for s in recording.firefox().all_samples()
                      if s.frames[-1].name.startswith("[waiting") and name in [f.name for f in s.frames])
        say(f"{waiting} samples of {name} wait for the GIL")
        check(waiting, f"{name} is never seen to wait for the GIL")


def loop(python, version):
    """asyncio's loop waits in epoll; tasks that sleep are on no stack."""
    recording, truth, report = record_way("asyncio", python)
    for name, file in (("select", "selectors.py"), ("_run_once", "base_events.py"),
                       ("run_forever", "base_events.py"), ("run_loop", PROGRAM.name)):
        total = sum(f["total"] for f in report.data["functions"] if plain(f["name"]) == name
                    and f["file"] and f["file"].endswith(file)) / 1e9
        # The program has nothing else to do; its start and its end are not the loop's. How late things
        # are on this machine, the loop's own sleep says.
        check_close(name, total, truth["elapsed"]["loop"],
                    0.03 * truth["elapsed"]["loop"] + 0.2 + 2 * (truth["elapsed"]["loop"] - SECONDS))
    check(not rows_of(report, "wait_awaited") or
          sum(f["total"] for f in rows_of(report, "wait_awaited")) / 1e9 < 0.5 * truth["elapsed"]["loop"],
          "a suspended task is on the stack")


def forked(python, version):
    recording, truth, report = record_way("forked", python)
    for name in ("sleep_long", "sleep_short"):
        check_time(report, truth, name)


def native(python, version):
    """The same native stack in two functions: the thread is asked for it once, and found there again."""
    recording, truth, report = record_way("native", python)
    for name in ("native_long", "native_short"):
        check_time(report, truth, name)
    check_stacks(recording, truth)


def trampolines(python, version):
    """With -X perf code without unwind information lies between the evaluator's calls."""
    if version < (3, 12):
        skip("it has no -X perf")
    recording, truth, report = record_way("kinds", python, ["-X", "perf"])
    for name in truth["elapsed"]:
        check_time(report, truth, name)
    check_stacks(recording, truth)
    folded = recording.path.with_suffix(".folded")
    out = run([recording.kymo, "convert", recording.path, "-q", "-f", "--mode=wall", "-o", folded])
    check(out.status == 0, out.stderr)
    waits = [line.rsplit(" ", 1) for line in folded.read_text().splitlines() if "[waiting" in line]
    whole = sum(int(ns) for _, ns in waits)
    cut = sum(int(ns) for stack, ns in waits if "[incomplete stack]" in stack or "[truncated stack]" in stack)
    say(f"{cut / whole:.1%} of the time that threads wait has a stack that is cut")
    # A thread that waits before its libraries are known is looked at again.
    check(cut < 0.1 * whole, f"{cut / 1e9:.2f} of {whole / 1e9:.2f} s")


@tried_again
def held(function, interpreter):
    say(f"Python {interpreter.version}, {interpreter.path}")
    function(interpreter.path, tuple(map(int, interpreter.version.split("."))))


# Where the interpreter keeps its frames is each version's own; how the recorder waits is not.
INTERPRETERS = find_interpreters()
for interpreter in one_of_each_version(INTERPRETERS):
    for case in (kinds, native, trampolines):
        add_case(f"{case.__name__}.{interpreter.name}", held, case, interpreter)
for interpreter in some_of(INTERPRETERS):
    for case in (gil, loop, forked):
        add_case(f"{case.__name__}.{interpreter.name}", held, case, interpreter)

main()
