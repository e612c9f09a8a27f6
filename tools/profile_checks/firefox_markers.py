# SPDX-License-Identifier: Apache-2.0
"""Markers, counters and allocations of a Firefox processed profile."""
import math

RULES = """schema schema-distinct schema-format markers marker-column marker-length marker-name marker-category
marker-phase marker-times marker-data marker-list marker-stack allocations counter counter-display counter-samples
counter-main""".split()

DISPLAYS = """marker-chart marker-table timeline-overview timeline-memory timeline-ipc timeline-fileio
timeline-network stack-chart""".split()
FORMATS = """url file-path sanitized-string string unique-string flow-id terminating-flow-id duration time seconds
milliseconds microseconds nanoseconds bytes percentage integer decimal hexadecimal pid tid list""".split()
GRAPH_COLORS = "blue green grey ink magenta orange purple red teal yellow".split()
GRAPH_TYPES = ("line-accumulated", "line-rate")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_index(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def check_schemas(schemas, faults):
    if not isinstance(schemas, list):
        faults.add("schema", "meta.markerSchema", "missing")
        return
    names = set()
    for i, schema in enumerate(schemas):
        where = f"meta.markerSchema[{i}]"
        good = isinstance(schema, dict) and isinstance(schema.get("name"), str)
        good = good and isinstance(schema.get("fields"), list) and isinstance(schema.get("display"), list)
        if not faults.unless(good and all(d in DISPLAYS for d in schema["display"]), "schema", where,
                             "not a name, known displays and fields"):
            continue
        faults.unless(schema["name"] not in names, "schema-distinct", where, "a name that was there before")
        names.add(schema["name"])
        for field in schema["fields"]:
            format_ = field.get("format") if isinstance(field, dict) else None
            table = isinstance(format_, dict) and format_.get("type") == "table"
            faults.unless(isinstance(field, dict) and isinstance(field.get("key"), str)
                          and (table or format_ in FORMATS), "schema-format", where,
                          "a field without a key or a known format")


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
    schemas = profile["meta"].get("markerSchema")
    lists = list_fields(schemas if isinstance(schemas, list) else [])
    categories = profile["meta"].get("categories") or []
    for i in range(length):
        row = {name: markers[name][i] for name in names}
        check_marker(row, sizes, len(categories), lists, where, faults)


def list_fields(schemas):
    """By schema: the fields that must hold arrays."""
    result = {}
    for schema in schemas:
        if isinstance(schema, dict) and isinstance(schema.get("fields"), list):
            result[schema.get("name")] = [
                f["key"] for f in schema["fields"] if isinstance(f, dict) and "key" in f
                and (f.get("format") == "list" or isinstance(f.get("format"), dict))]
    return result


def check_marker(row, sizes, categories, lists, where, faults):
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
    for key in lists.get(data["type"], []):
        faults.unless(isinstance(data.get(key, []), list), "marker-list", where, f"{key} is not an array")
    faults.unless("stack" not in data, "marker-stack", where, "a stack in Gecko's form, which is ignored")
    cause = data.get("cause")
    if cause is not None:
        stack = cause.get("stack", "") if isinstance(cause, dict) else ""
        faults.unless(stack is None or (is_index(stack) and stack < sizes["stackTable"]), "marker-stack", where,
                      "a cause that is no stack")


def check_allocations(thread, thread_where, faults):
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
        faults.unless(needed <= set(columns) and all(len(table[c]) == table["length"] for c in columns)
                      and table.get("weightType") == "bytes", "allocations", where,
                      "columns that are missing or of different lengths, or not bytes")


def check_counters(profile, faults):
    mains = {i for i, t in enumerate(profile["threads"]) if isinstance(t, dict)}
    for i, counter in enumerate(profile.get("counters") or []):
        where = f"counters[{i}]"
        good = isinstance(counter, dict) and all(
            isinstance(counter.get(k), str) for k in ("name", "category", "description", "pid"))
        if not faults.unless(good, "counter", where, "a name, category, description or pid is missing"):
            continue
        faults.unless(counter.get("mainThreadIndex") in mains, "counter-main", where, "no such thread")
        display = counter.get("display")
        faults.unless(isinstance(display, dict) and display.get("graphType") in GRAPH_TYPES
                      and display.get("color") in GRAPH_COLORS and isinstance(display.get("label"), str)
                      and isinstance(display.get("unit"), str) and isinstance(display.get("tooltipRows"), list),
                      "counter-display", where, "no display: the front-end's whole page fails")
        samples = counter.get("samples")
        good = isinstance(samples, dict) and is_index(samples.get("length"))
        columns = [v for v in samples.values() if isinstance(v, list)] if good else []
        good = good and isinstance(samples.get("count"), list) and ("time" in samples) != ("timeDeltas" in samples)
        faults.unless(good and all(len(c) == samples["length"] for c in columns), "counter-samples", where,
                      "columns that are missing or of different lengths")
