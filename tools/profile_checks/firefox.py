# SPDX-License-Identifier: Apache-2.0
"""The processed profile of the Firefox Profiler, version 66."""
import json
import math
import re

from .firefox_markers import RULES as MARKER_RULES
from .firefox_markers import check_allocations, check_counters, check_markers
from .firefox_schemas import RULES as SCHEMA_RULES
from .firefox_schemas import check_schemas

RULES = """utf8 json top version interval start-time process-type product stackwalk symbolicated range
range-samples cpu-units sample-units categories grey subcategory color extra extra-format visible-threads libs
breakpad-id code-id table-missing column-missing column-length column-type string-index source-index lib-index
resource-index resource-type func-index func-distinct symbol-index frame-distinct category-index subcategory-index
frame-index prefix inline-depth inline-parent threads thread-field thread-type pid tid main-thread process-same process-image times
paused stack-index time-columns time-order weight-type weight cpu-delta cpu-first cpu-empty idle homonyms source-content""".split() + SCHEMA_RULES + MARKER_RULES

VERSION = 66
SOURCE_MAX = 4 << 20
COLORS = """transparent purple green orange yellow lightblue blue brown magenta red lightred darkgrey
grey""".split()
EXTRA_FORMATS = {
    "string": str, "url": str, "file-path": str, "sanitized-string": str, "duration": float, "time": float,
    "seconds": float, "milliseconds": float, "microseconds": float, "nanoseconds": float, "bytes": float,
    "percentage": float, "integer": int, "decimal": float, "hexadecimal": int, "pid": str, "tid": str,
}


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value):
    return is_int(value) or (isinstance(value, float) and math.isfinite(value))


def is_bool(value):
    return isinstance(value, bool)


def is_text(value):
    return isinstance(value, str)


def is_index(value):
    return is_int(value) and value >= 0


def is_null(value):
    return value is None


def or_null(test):
    return lambda value: value is None or test(value)


def or_minus_one(test):
    return lambda value: (is_int(value) and value == -1) or test(value)


def positive_or_null(value):
    return value is None or (is_int(value) and value > 0)


# Each table of `shared`: its columns and what their values are.
TABLES = {
    "sources": {"id": or_null(is_text), "filename": is_index, "startLine": is_int, "startColumn": is_int,
                "sourceMapURL": or_null(is_index), "content": or_null(is_text)},
    "sourceLocationTable": {"source": is_index, "line": is_int, "column": is_int},
    "nativeSymbols": {"libIndex": is_index, "address": or_minus_one(is_index), "name": is_index,
                      "functionSize": positive_or_null},
    "resourceTable": {"lib": or_null(is_index), "name": is_index, "host": or_null(is_index),
                      "type": is_index},
    "funcTable": {"name": is_index, "isJS": is_bool, "relevantForJS": is_bool,
                  "resource": or_minus_one(is_index), "source": or_null(is_index),
                  "lineNumber": positive_or_null, "columnNumber": positive_or_null,
                  "originalLocation": or_null(is_index)},
    "frameTable": {"func": is_index, "address": or_minus_one(is_index), "inlineDepth": is_index,
                   "category": or_null(is_index), "subcategory": or_null(is_index),
                   "nativeSymbol": or_null(is_index), "innerWindowID": or_null(is_index),
                   "line": positive_or_null, "column": positive_or_null,
                   "originalLocation": or_null(is_index)},
    "stackTable": {"frame": is_index, "prefixOffset": is_index},
}
# Columns that are indices, and what they point into.
POINTERS = [
    ("sources", "filename", "stringArray", "string-index"),
    ("nativeSymbols", "name", "stringArray", "string-index"),
    ("nativeSymbols", "libIndex", "libs", "lib-index"),
    ("resourceTable", "name", "stringArray", "string-index"),
    ("resourceTable", "lib", "libs", "lib-index"),
    ("funcTable", "name", "stringArray", "string-index"),
    ("funcTable", "resource", "resourceTable", "resource-index"),
    ("funcTable", "source", "sources", "source-index"),
    ("frameTable", "func", "funcTable", "func-index"),
    ("frameTable", "nativeSymbol", "nativeSymbols", "symbol-index"),
    ("stackTable", "frame", "frameTable", "frame-index"),
]


class Broken(Exception):
    """What follows cannot be looked at."""


def check(data, faults):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        faults.add("utf8", "file", str(error))
        return
    try:
        profile = json.loads(text, parse_constant=lambda name: float(name))
    except ValueError as error:
        faults.add("json", "file", str(error))
        return
    try:
        for key, kind in (("meta", dict), ("libs", list), ("shared", dict), ("threads", list)):
            if not isinstance(profile, dict) or not isinstance(profile.get(key), kind):
                faults.add("top", key, "missing, or of a wrong type")
                raise Broken
        check_meta(profile["meta"], len(profile["threads"]), faults)
        check_libs(profile["libs"], faults)
        sizes = check_shared(profile, faults)
        check_threads(profile, sizes, faults)
        check_counters(profile, faults)
    except Broken:
        pass


# ---- meta ----


def check_meta(meta, threads, faults):
    def field(name, test, rule):
        return faults.unless(test(meta.get(name)), rule, f"meta.{name}", "missing, or of a wrong type")

    faults.unless(meta.get("preprocessedProfileVersion") == VERSION, "version",
                  "meta.preprocessedProfileVersion", f"not {VERSION}")
    field("version", is_int, "version")
    field("interval", lambda v: is_number(v) and v > 0, "interval")
    field("startTime", lambda v: is_number(v) and v >= 0, "start-time")
    field("processType", lambda v: is_int(v) and v == 0, "process-type")
    field("product", lambda v: is_text(v) and v, "product")
    field("stackwalk", lambda v: is_int(v) and v in (0, 1), "stackwalk")
    field("symbolicated", is_bool, "symbolicated")
    both = [field(name, lambda v: is_number(v) and v >= 0, "range")
            for name in ("profilingStartTime", "profilingEndTime")]
    if all(both):
        faults.unless(meta["profilingStartTime"] <= meta["profilingEndTime"], "range", "meta",
                      "profilingEndTime is before profilingStartTime")
    if field("sampleUnits", lambda v: isinstance(v, dict), "sample-units"):
        units = meta["sampleUnits"]
        faults.unless(units.get("time") in ("ms", "bytes") and units.get("eventDelay") == "ms",
                      "sample-units", "meta.sampleUnits", "time or eventDelay is not a known unit")
        faults.unless(units.get("threadCPUDelta") in ("ns", "\u00b5s", "variable CPU cycles"), "cpu-units",
                      "meta.sampleUnits.threadCPUDelta", "not a known unit")
    check_categories(meta.get("categories"), faults)
    check_schemas(meta.get("markerSchema"), faults)
    check_extra(meta.get("extra", []), faults)
    for name in ("initialVisibleThreads", "initialSelectedThreads"):
        list_ = meta.get(name, [])
        good = isinstance(list_, list) and all(is_index(i) and i < threads for i in list_)
        faults.unless(good and len(set(list_)) == len(list_), "visible-threads", f"meta.{name}",
                      "not a list of distinct threads")


def check_categories(categories, faults):
    if not isinstance(categories, list) or not categories:
        faults.add("categories", "meta.categories", "missing or empty")
        return
    for i, category in enumerate(categories):
        where = f"meta.categories[{i}]"
        if not isinstance(category, dict) or not is_text(category.get("name")):
            faults.add("categories", where, "no name")
            continue
        faults.unless(category.get("color") in COLORS, "color", where, "not a color")
        sub = category.get("subcategories")
        faults.unless(isinstance(sub, list) and sub[:1] == ["Other"] and all(map(is_text, sub)),
                      "subcategory", where, 'the first subcategory is not "Other"')
        faults.unless(category.get("color") != "transparent" or category["name"] == "Idle", "idle", where,
                      'transparent, but not called "Idle": its samples are drawn as work')
    faults.unless(any(isinstance(c, dict) and c.get("color") == "grey" for c in categories), "grey",
                  "meta.categories", "none is grey, so there is no default")


def check_extra(extra, faults):
    if not isinstance(extra, list):
        faults.add("extra", "meta.extra", "not a list")
        return
    for i, section in enumerate(extra):
        where = f"meta.extra[{i}]"
        entries = section.get("entries") if isinstance(section, dict) else None
        if not isinstance(entries, list) or not is_text(section.get("label")):
            faults.add("extra", where, "not a label and entries")
            continue
        for k, entry in enumerate(entries):
            at = f"{where}.entries[{k}]"
            if not isinstance(entry, dict) or not is_text(entry.get("label")) or "value" not in entry:
                faults.add("extra", at, "not a label, a format and a value")
                continue
            kind = EXTRA_FORMATS.get(entry.get("format"))
            test = {str: is_text, float: is_number, int: is_int, None: lambda v: False}[kind]
            faults.unless(test(entry["value"]), "extra-format", at,
                          "an unknown format, or a value of another type")


# ---- libs ----


def guid_of(build_id):
    """As breakpad makes it: three little-endian numbers and eight bytes."""
    b = bytes.fromhex(build_id)[:16].ljust(16, b"\0")
    return (b[3::-1] + b[5:3:-1] + b[7:5:-1] + b[8:]).hex().upper()


def check_libs(libs, faults):
    for i, lib in enumerate(libs):
        where = f"libs[{i}]"
        names = ("arch", "name", "path", "debugName", "debugPath")
        if not isinstance(lib, dict) or not all(is_text(lib.get(name)) for name in names):
            faults.add("libs", where, "a name or path is missing")
            continue
        id_ = lib.get("breakpadId")
        good = is_text(id_) and re.fullmatch(r"[0-9A-F]{32}[0-9a-fA-F]+", id_)
        faults.unless(good, "breakpad-id", where, "not a GUID and an age")
        code = lib.get("codeId", 0)
        if not faults.unless(code is None or (is_text(code) and re.fullmatch(r"([0-9a-f]{2})+", code)),
                             "code-id", where, "neither null nor a build-id in hex"):
            continue
        if good and code:
            faults.unless(id_ == guid_of(code) + "0", "breakpad-id", where, "not that of codeId")


# ---- shared ----


def check_table(table, columns, where, faults):
    """The table's length; Broken if its columns cannot be walked together."""
    if not isinstance(table, dict):
        faults.add("table-missing", where, "missing")
        raise Broken
    length = table.get("length")
    broken = not faults.unless(is_index(length), "column-length", f"{where}.length", "missing")
    for name, test in columns.items():
        column = table.get(name)
        if not faults.unless(isinstance(column, list), "column-missing", f"{where}.{name}", "missing"):
            broken = True
            continue
        if not faults.unless(len(column) == length, "column-length", f"{where}.{name}",
                             f"has {len(column)} values, not {length}"):
            broken = True
        for i, value in enumerate(column):
            if not test(value):
                faults.add("column-type", f"{where}.{name}", f"value {i} is {value!r}")
                broken = True
                break
    if broken:
        raise Broken
    return length


def check_pointer(column, size, rule, where, faults):
    for i, value in enumerate(column):
        if value is not None and value >= size:
            faults.add(rule, where, f"value {i} is {value} of {size}")
            return False
    return True


def check_shared(profile, faults):
    shared = profile["shared"]
    strings = shared.get("stringArray")
    if not isinstance(strings, list) or not all(map(is_text, strings)):
        faults.add("table-missing", "shared.stringArray", "missing, or not strings")
        raise Broken
    sizes = {"stringArray": len(strings), "libs": len(profile["libs"])}
    for name, columns in TABLES.items():
        sizes[name] = check_table(shared.get(name), columns, f"shared.{name}", faults)
    good = True
    for table, column, target, rule in POINTERS:
        good &= check_pointer(shared[table][column], sizes[target], rule, f"shared.{table}.{column}", faults)
    if not good:
        raise Broken
    content = [text for text in shared["sources"]["content"] if text is not None]
    faults.unless(sum(map(len, content)) <= SOURCE_MAX and all(content), "source-content", "shared.sources.content",
                  f"empty, or more than {SOURCE_MAX} characters")
    check_functions(shared, faults)
    check_frames(profile["meta"], shared, faults)
    check_stacks(shared["stackTable"], shared["frameTable"], faults)
    return sizes


def distinct(rows, rule, where, what, faults):
    seen = {}
    for i, row in enumerate(rows):
        if seen.setdefault(row, i) != i:
            faults.add(rule, where, f"{what} {i} is the same as {seen[row]}")


def check_functions(shared, faults):
    f = shared["funcTable"]
    distinct(zip(f["name"], f["resource"], f["source"], f["lineNumber"], f["columnNumber"], f["isJS"]),
             "func-distinct", "shared.funcTable", "function", faults)
    faults.unless(all(t <= 5 for t in shared["resourceTable"]["type"]), "resource-type",
                  "shared.resourceTable.type", "not a known type")


def check_frames(meta, shared, faults):
    f = shared["frameTable"]
    distinct(zip(f["func"], f["address"], f["inlineDepth"], f["category"], f["nativeSymbol"], f["line"],
                 f["column"]), "frame-distinct", "shared.frameTable", "frame", faults)
    categories = meta.get("categories")
    if not isinstance(categories, list):
        return
    for i, (category, subcategory) in enumerate(zip(f["category"], f["subcategory"])):
        if category is None:
            continue
        if not faults.unless(category < len(categories), "category-index", "shared.frameTable.category",
                             f"value {i} is {category}"):
            continue
        list_ = categories[category].get("subcategories", []) if isinstance(categories[category], dict) else []
        faults.unless(subcategory is None or subcategory < max(len(list_), 1), "subcategory-index",
                      "shared.frameTable.subcategory", f"value {i} is {subcategory}")


def check_stacks(stacks, frames, faults):
    depth, address, symbol = frames["inlineDepth"], frames["address"], frames["nativeSymbol"]
    frame = stacks["frame"]
    for i, offset in enumerate(stacks["prefixOffset"]):
        if not faults.unless(offset <= i, "prefix", "shared.stackTable.prefixOffset",
                             f"the parent of stack {i} is not before it"):
            return
        me = frame[i]
        if depth[me] == 0:
            continue
        if not faults.unless(offset > 0, "inline-depth", "shared.stackTable",
                             f"stack {i} begins with an inlined frame"):
            continue
        outer = frame[i - offset]
        faults.unless(depth[outer] == depth[me] - 1, "inline-depth", "shared.stackTable",
                      f"stack {i} of inline depth {depth[me]} is below depth {depth[outer]}")
        faults.unless(address[outer] == address[me] and symbol[outer] == symbol[me], "inline-parent",
                      "shared.stackTable", f"stack {i} is inlined into another address or symbol")


# ---- threads ----


def check_threads(profile, sizes, faults):
    threads = profile["threads"]
    if not faults.unless(threads, "threads", "threads", "there are none"):
        return
    main = {}
    for i, thread in enumerate(threads):
        where = f"threads[{i}]"
        if not faults.unless(isinstance(thread, dict), "threads", where, "not an object"):
            continue
        check_thread(thread, where, faults)
        if is_text(thread.get("pid")):
            main.setdefault(thread["pid"], []).append(thread.get("isMainThread") is True)
        check_samples(profile, thread, sizes, where, faults)
        check_markers(profile, thread, sizes, where, faults)
        check_allocations(profile, thread, sizes, where, faults)
    for pid, flags in main.items():
        faults.unless(sum(flags) == 1, "main-thread", f"pid {pid}", f"{sum(flags)} main threads")
    check_processes(threads, faults)
    check_homonyms(threads, faults)


def check_homonyms(threads, faults):
    """The viewer shows processes by the names of their main threads. What is long is cut, and may be the same."""
    seen = {}
    for i, thread in enumerate(threads):
        if not isinstance(thread, dict) or thread.get("isMainThread") is not True:
            continue
        name, command = thread.get("name"), thread.get("processName")
        if not is_text(name) or not is_text(command) or len(command) > 40 or not command.startswith(name):
            continue
        faults.unless(seen.setdefault(name, command) == command, "homonyms", f"threads[{i}]",
                      f"called {name!r} as another process of another command")


def check_processes(threads, faults):
    """Threads of one pid are of one process; the images of a process are numbered without a gap."""
    seen = {}
    for i, thread in enumerate(threads):
        if not isinstance(thread, dict) or not is_text(thread.get("pid")):
            continue
        process = [thread.get(name) for name in ("processName", "processStartupTime", "processShutdownTime")]
        faults.unless(seen.setdefault(thread["pid"], process) == process, "process-same", f"threads[{i}]",
                      f"its process is not what other threads of pid {thread['pid']} say")
    for pid in seen:
        number, _, image = pid.partition(".")
        if image.isdigit():
            before = number if image == "1" else f"{number}.{int(image) - 1}"
            faults.unless(before in seen, "process-image", f"pid {pid}", f"there is no {before} before it")


def check_thread(thread, where, faults):
    def field(name, test, rule):
        return faults.unless(name in thread and test(thread[name]), rule, f"{where}.{name}",
                             "missing, or of a wrong type")

    field("processType", lambda v: v == "default" or (is_text(v) and v), "thread-type")
    field("name", is_text, "thread-field")
    field("isMainThread", is_bool, "thread-field")
    field("pid", lambda v: is_text(v) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", v), "pid")
    field("tid", lambda v: is_int(v) or (is_text(v) and v), "tid")
    for begin, end in (("processStartupTime", "processShutdownTime"), ("registerTime", "unregisterTime")):
        good = field(begin, is_number, "times")
        good &= field(end, or_null(is_number), "times")
        if good and thread[end] is not None:
            faults.unless(thread[begin] <= thread[end], "times", where, f"{end} is before {begin}")
    if field("pausedRanges", lambda v: isinstance(v, list), "paused"):
        for range_ in thread["pausedRanges"]:
            good = isinstance(range_, dict) and is_text(range_.get("reason"))
            good = good and or_null(is_number)(range_.get("startTime", 0))
            good = good and or_null(is_number)(range_.get("endTime", 0))
            faults.unless(good, "paused", f"{where}.pausedRanges", "not a range with a reason")


def sample_times(samples, where, faults):
    """Absolute times in ms, or None."""
    has = [name for name in ("time", "timeDeltas") if name in samples]
    if not faults.unless(len(has) == 1, "time-columns", where, "needs one of time and timeDeltas"):
        return None
    column = samples[has[0]]
    if not faults.unless(isinstance(column, list) and all(map(is_number, column)), "time-columns",
                         f"{where}.{has[0]}", "not a list of numbers"):
        return None
    if has == ["time"]:
        return column
    times, now = [], 0
    for delta in column:
        now += delta
        times.append(now)
    return times


def check_samples(profile, thread, sizes, thread_where, faults):
    where = f"{thread_where}.samples"
    samples = thread.get("samples")
    if not isinstance(samples, dict):
        faults.add("table-missing", where, "missing")
        return
    try:
        length = check_table(samples, {"stack": or_null(is_index)}, where, faults)
    except Broken:
        return
    check_pointer(samples["stack"], sizes["stackTable"], "stack-index", f"{where}.stack", faults)
    times = sample_times(samples, where, faults)
    if times is not None:
        check_times(profile["meta"], times, length, where, faults)
    check_weights(samples, length, where, faults)
    deltas = samples.get("threadCPUDelta")
    if deltas is None:
        return
    good = isinstance(deltas, list) and all(v is None or (is_number(v) and v >= 0) for v in deltas)
    if faults.unless(good, "cpu-delta", f"{where}.threadCPUDelta", "not a list of numbers or nulls"):
        faults.unless(len(deltas) == length, "column-length", f"{where}.threadCPUDelta",
                      f"has {len(deltas)} values, not {length}")
        faults.unless(length != 0, "cpu-empty", f"{where}.threadCPUDelta",
                      "empty: the front-end's query tool loops for ever")
        faults.unless(not deltas or not deltas[0], "cpu-first", f"{where}.threadCPUDelta",
                      "begins with CPU time, which the front-end ignores")
    units = profile["meta"].get("sampleUnits")
    faults.unless(isinstance(units, dict) and "threadCPUDelta" in units, "cpu-units",
                  "meta.sampleUnits.threadCPUDelta", "missing, though threads have it")


def check_times(meta, times, length, where, faults):
    if not faults.unless(len(times) == length, "column-length", f"{where} times",
                         f"has {len(times)} values, not {length}"):
        return
    faults.unless(all(a <= b for a, b in zip(times, times[1:])), "time-order", where, "not sorted by time")
    start, end = meta.get("profilingStartTime"), meta.get("profilingEndTime")
    if times and is_number(start) and is_number(end):
        # A sum of differences may be off in its last digit; a nanosecond is far above that.
        faults.unless(times[0] >= start - 1e-6 and times[-1] <= end + 1e-6, "range-samples", where,
                      "a sample is outside of the profiling range, and will not be shown")


def check_weights(samples, length, where, faults):
    kind = samples.get("weightType")
    faults.unless(kind in ("samples", "tracing-ms", "bytes"), "weight-type", where, "not a known weightType")
    if not faults.unless("weight" in samples, "weight", where, "missing; null is for weights of 1"):
        return
    weights = samples["weight"]
    if weights is None:
        faults.unless(kind == "samples", "weight", where, "null, but they are not counts")
        return
    if not faults.unless(isinstance(weights, list) and all(map(is_number, weights)), "weight", where,
                         "not a list of numbers"):
        return
    faults.unless(len(weights) == length, "column-length", f"{where}.weight",
                  f"has {len(weights)} values, not {length}")
    faults.unless(kind == "bytes" or all(w >= 0 for w in weights), "weight", where, "a weight below 0")
