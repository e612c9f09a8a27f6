# SPDX-License-Identifier: Apache-2.0
"""Markers, counters and allocations of a Firefox processed profile."""
import itertools
import math
import re

from . import firefox_schemas
from .firefox_schemas import GRAPH_COLORS

RULES = """markers marker-column marker-length marker-name marker-category marker-phase marker-times marker-order
marker-data marker-schema marker-list marker-table marker-text marker-number marker-exact marker-string marker-flow
marker-stack allocations alloc-main alloc-rows alloc-order alloc-range alloc-stack alloc-balance counter counter-display counter-tooltip counter-samples counter-order counter-main
counter-pid counter-first counter-end counter-percent counter-rate counter-constant counter-number
counter-heap counter-cpu""".split()

GRAPH_TYPES = ("line-accumulated", "line-rate")
TOOLTIP_SOURCES = """count rate cpu-ratio accumulated count-range selection-total selection-rate
committed-range-total sample-number""".split()
TOOLTIP_UNITS = "bytes bytes-per-second percent number".split()
EXACT_MAX = 2 ** 53


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_index(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def check_markers(profile, thread, sizes, thread_where, faults):
    where = f"{thread_where}.markers"
    markers = thread.get("markers")
    if not faults.unless(isinstance(markers, dict), "markers", where, "missing"):
        return
    names = ("data", "name", "startTime", "endTime", "phase", "category")
    if not faults.unless(all(isinstance(markers.get(n), list) for n in names), "marker-column", where,
                         "a column is missing"):
        return
    length = markers.get("length")
    if not faults.unless(is_index(length) and all(len(markers[n]) == length for n in names), "marker-length",
                         where, "columns of different lengths"):
        return
    schemas = firefox_schemas.fields_by_name(profile["meta"].get("markerSchema"))
    categories = profile["meta"].get("categories") or []
    strings = profile["shared"]["stringArray"]
    for i in range(length):
        row = {name: markers[name][i] for name in names}
        check_marker(row, sizes, len(categories), schemas, strings, where, faults)
    starts = [t for t in markers["startTime"] if is_number(t)]
    faults.unless(all(a <= b for a, b in zip(starts, starts[1:])), "marker-order", where, "not sorted by start")


def check_marker(row, sizes, categories, schemas, strings, where, faults):
    faults.unless(is_index(row["name"]) and row["name"] < sizes["stringArray"], "marker-name", where,
                  "a name that is no string")
    faults.unless(is_index(row["category"]) and row["category"] < categories, "marker-category", where,
                  "a category that there is not")
    phase, start, end = row["phase"], row["startTime"], row["endTime"]
    if faults.unless(is_index(phase) and phase <= 3, "marker-phase", where, "not 0 to 3"):
        needs_start, needs_end = phase in (0, 1, 2), phase in (1, 3)
        good = (not needs_start or is_number(start)) and (not needs_end or is_number(end))
        good = good and (phase != 1 or start <= end)
        faults.unless(good, "marker-times", where, "without the times of its phase")
    data = row["data"]
    if data is None:
        return
    if not faults.unless(isinstance(data, dict) and isinstance(data.get("type"), str), "marker-data", where,
                         "data that is not an object with a type"):
        return
    if faults.unless(data["type"] in schemas, "marker-schema", where, "a type without a schema"):
        for key, format_ in schemas[data["type"]].items():
            if key in data:
                check_value(data[key], format_, strings, f"{where} {data['type']}.{key}", faults)
    faults.unless("stack" not in data, "marker-stack", where, "a stack in Gecko's form, which is ignored")
    cause = data.get("cause")
    if cause is not None:
        stack = cause.get("stack", "") if isinstance(cause, dict) else ""
        faults.unless(stack is None or (is_index(stack) and stack < sizes["stackTable"]), "marker-stack", where,
                      "a cause that is no stack")


def check_value(value, format_, strings, where, faults):
    """A value of another type than its format's makes the viewer throw, or show nonsense."""
    if isinstance(format_, dict):
        width = len(format_.get("columns") or [])
        good = isinstance(value, list) and all(isinstance(row, list) for row in value)
        if not faults.unless(good and all(len(row) == width for row in value), "marker-table", where,
                             f"not rows of {width} cells"):
            return
        for row in value:
            for column, cell in zip(format_["columns"], row):
                check_value(cell, column.get("type", "string"), strings, where, faults)
    elif format_ == "list":
        faults.unless(isinstance(value, list), "marker-list", where, "not an array")
    elif format_ in firefox_schemas.INDEX_FORMATS:
        if faults.unless(is_index(value) and value < len(strings), "marker-string", where, "no string") \
                and format_ != "unique-string":
            faults.unless(re.fullmatch("[0-9a-f]+", strings[value]), "marker-flow", where, "an id that is not hex")
    elif format_ in firefox_schemas.TEXT_FORMATS:
        faults.unless(isinstance(value, str), "marker-text", where, "not text")
    elif faults.unless(is_number(value), "marker-number", where, "not a number"):
        faults.unless(not isinstance(value, int) or abs(value) <= EXACT_MAX, "marker-exact", where,
                      "an integer that JavaScript rounds")


def check_allocations(profile, thread, sizes, thread_where, faults):
    for name in ("nativeAllocations", "jsAllocations"):
        table = thread.get(name)
        where = f"{thread_where}.{name}"
        if table is None:
            continue
        if not faults.unless(isinstance(table, dict) and is_index(table.get("length")), "allocations", where,
                             "no table"):
            continue
        faults.unless(table["length"] > 0, "allocations", where, "empty; it is left out then")
        columns = [k for k, v in table.items() if isinstance(v, list)]
        needed = {"time", "weight", "stack"} | ({"memoryAddress", "threadId"} & set(columns))
        if "memoryAddress" in columns or "threadId" in columns:
            needed |= {"memoryAddress", "threadId"}
        if faults.unless(needed <= set(columns) and all(len(table[c]) == table["length"] for c in columns)
                         and table.get("weightType") == "bytes", "allocations", where,
                         "columns that are missing or of different lengths, or not bytes"):
            check_blocks(profile["meta"], thread, table, sizes, where, faults)


def check_blocks(meta, thread, table, sizes, where, faults):
    faults.unless(thread.get("isMainThread") is True, "alloc-main", where,
                  "not in the main thread: ends are looked for in one table only")
    whole = ("weight", "memoryAddress", "threadId")
    numbers = [v for name in whole + ("time",) for v in table.get(name, [])]
    if not faults.unless(all(map(is_number, numbers)) and 0 not in table["weight"]
                         and all(isinstance(v, int) for name in whole for v in table.get(name, [])), "alloc-rows", where,
                         "a row without a number, or of no bytes"):
        return
    times = table["time"]
    faults.unless(all(a <= b for a, b in zip(times, times[1:])), "alloc-order", where, "not sorted by time")
    start, end = meta.get("profilingStartTime"), meta.get("profilingEndTime")
    if times and is_number(start) and is_number(end):
        faults.unless(start - 1e-6 <= min(times) and max(times) <= end + 1e-6, "alloc-range", where,
                      "a row is outside of the profiling range, and will not be shown")
    faults.unless(all(s is None or (is_index(s) and s < sizes["stackTable"]) for s in table["stack"]), "alloc-stack",
                  where, "a stack that there is not")
    live = {}
    for address, weight in zip(table.get("memoryAddress", []), table["weight"]):
        if weight > 0:
            live[address] = weight
        elif not faults.unless(live.pop(address, None) == -weight, "alloc-balance", where,
                               "an end of nothing, or of other bytes than its beginning's"):
            return


def check_counters(profile, faults):
    threads = profile["threads"]
    for i, counter in enumerate(profile.get("counters") or []):
        where = f"counters[{i}]"
        good = isinstance(counter, dict) and all(
            isinstance(counter.get(k), str) for k in ("name", "category", "description", "pid"))
        if not faults.unless(good, "counter", where, "a name, category, description or pid is missing"):
            continue
        main = counter.get("mainThreadIndex")
        good = is_index(main) and main < len(threads) and isinstance(threads[main], dict)
        if faults.unless(good and threads[main].get("isMainThread") is True, "counter-main", where,
                         "no such main thread"):
            faults.unless(threads[main].get("pid") == counter["pid"], "counter-pid", where,
                          "its main thread is of another process")
        check_display(counter.get("display"), where, faults)
        check_process_cpu(profile, counter, where, faults)
        if check_counts(counter.get("samples"), where, faults) and isinstance(counter.get("display"), dict):
            check_shown(profile, counter, where, faults)
    check_heap_first(profile.get("counters") or [], faults)


def check_heap_first(counters, faults):
    """The viewer sorts the counters of a process by their weights."""
    weights = {}
    for i, counter in enumerate(counters):
        weight = (counter.get("display") or {}).get("sortWeight") if isinstance(counter, dict) else None
        if is_number(weight) and isinstance(counter.get("pid"), str):
            weights.setdefault(counter["pid"], []).append((weight, counter.get("name") != "Heap", i))
    for pid, rows in weights.items():
        heaps = [row for row in rows if not row[1]]
        faults.unless(not heaps or min(rows) == heaps[0], "counter-heap", f"counters of pid {pid}",
                      "another one is before Heap")


def check_process_cpu(profile, counter, where, faults):
    """What the processCPU counter adds up to is the CPU time of the process's threads."""
    if (counter["category"], counter["name"]) != ("CPU", "processCPU"):
        return
    threads = [t for t in profile["threads"] if isinstance(t, dict) and t.get("pid") == counter["pid"]]
    try:
        counted = sum(counter["samples"]["count"])
        cpu = sum(d or 0 for t in threads for d in t["samples"].get("threadCPUDelta", [])) / 1e6
    except (KeyError, TypeError, AttributeError):
        return
    faults.unless(math.isclose(counted, cpu, rel_tol=1e-6, abs_tol=1e-6), "counter-cpu", where,
                  f"{counted} ms, and its threads have {cpu}")


def check_shown(profile, counter, where, faults):
    """What the front-end makes of the rows: it takes the first as 0, adds the others up, and draws to the last."""
    display, samples = counter["display"], counter["samples"]
    count, number = samples["count"], samples.get("number")
    if not count:
        return
    is_rate = display.get("graphType") == "line-rate"
    faults.unless(count[0] == 0 and not (number and number[0]), "counter-first", where,
                  "begins with a change, which the front-end ignores")
    faults.unless(any(count[1:]) or counter["category"] != "System", "counter-constant", where, "never changes")
    if number is None or not any(number):
        rows = [r for r in display.get("tooltipRows") or [] if isinstance(r, dict)]
        faults.unless(all(r.get("source") != "sample-number" for r in rows), "counter-number", where,
                      "says how many operations there were, and there were none")
    if display.get("unit") == "percent" and not is_rate:
        faults.unless(max(map(abs, itertools.accumulate(count))) <= 10, "counter-percent", where,
                      "above 1000 %: 1 is 100 %")
    times = samples.get("time")
    main = profile["threads"][counter["mainThreadIndex"]] if is_index(counter.get("mainThreadIndex")) and \
        counter["mainThreadIndex"] < len(profile["threads"]) else None
    if is_rate or not times or not isinstance(main, dict):
        return
    ends = [t for t in (main.get("processShutdownTime"), profile["meta"].get("profilingEndTime")) if is_number(t)]
    faults.unless(not ends or times[-1] >= min(ends) - 1e-6, "counter-end", where, "ends before its process")


def check_display(display, where, faults):
    good = isinstance(display, dict) and display.get("graphType") in GRAPH_TYPES
    good = good and display.get("color") in GRAPH_COLORS and isinstance(display.get("label"), str)
    if not faults.unless(good and isinstance(display.get("unit"), str) and isinstance(display.get("tooltipRows"), list)
                         and "markerSchemaLocation" in display and is_number(display.get("sortWeight")),
                         "counter-display", where, "no display: the front-end's whole page fails"):
        return
    for row in display["tooltipRows"]:
        good = isinstance(row, dict) and row.get("type") in ("separator", "value")
        if good and row["type"] == "value":
            format_ = row.get("format")
            good = row.get("source") in TOOLTIP_SOURCES and isinstance(row.get("label"), str)
            good = good and isinstance(format_, dict) and format_.get("unit") in TOOLTIP_UNITS
        faults.unless(good, "counter-tooltip", where, "a row of an unknown source or unit")
        if good and row.get("source") in ("rate", "selection-rate"):
            # Milliseconds of CPU time per millisecond are CPUs.
            good = format_["unit"] == "bytes-per-second" or (format_["unit"] == "percent" and display["unit"] == "percent")
            faults.unless(good, "counter-rate", where, "a rate, which is shown per millisecond")


def check_counts(samples, where, faults):
    good = isinstance(samples, dict) and is_index(samples.get("length"))
    columns = [v for v in samples.values() if isinstance(v, list)] if good else []
    good = good and isinstance(samples.get("count"), list) and ("time" in samples) != ("timeDeltas" in samples)
    good = good and all(is_number(v) for column in columns for v in column)
    if not faults.unless(good and all(len(c) == samples["length"] for c in columns), "counter-samples", where,
                         "columns that are missing or of different lengths, or not of numbers"):
        return False
    times = samples.get("time") or []
    faults.unless(all(a <= b for a, b in zip(times, times[1:])) and all(d >= 0 for d in samples.get("timeDeltas", [])[1:]),
                  "counter-order", where, "not sorted by time")
    return True
