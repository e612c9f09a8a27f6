# SPDX-License-Identifier: Apache-2.0
"""Chrome's trace event format as JSON, as Perfetto's importer takes it: what it would drop or misplace
without a word is a fault."""
import json
import math

RULES = ["trace-json", "trace-event", "trace-time", "trace-names", "trace-nesting", "trace-pairs", "trace-counter"]
NEEDED = {"M": {"name", "args"}, "X": {"name", "cat", "dur"}, "i": {"name", "cat", "s"},
          "b": {"name", "cat", "id"}, "e": {"name", "cat", "id"}, "C": {"name", "args"}}


def refuse(name):
    raise ValueError(f"{name} is not JSON")


def ns(microseconds):
    return round(microseconds * 1000)


def check_event(event, where, faults):
    phase = event.get("ph") if isinstance(event, dict) else None
    keys = {"ph", "pid", "tid", "ts"} | NEEDED.get(phase, set())
    if not faults.unless(phase in NEEDED and keys <= event.keys(), "trace-event", where, "not an event, or a key is missing"):
        return False
    numbers = [event["ts"], event.get("dur", 0)]
    good = all(isinstance(n, (int, float)) and math.isfinite(n) and n >= 0 for n in numbers)
    faults.unless(good, "trace-time", where, f"{numbers}")
    faults.unless(isinstance(event["name"], str) and event["name"] != "", "trace-names", where, "no name")
    if phase == "C":
        values = event["args"].values()
        faults.unless(len(values) == 1 and all(isinstance(v, (int, float)) or v is None for v in values),
                      "trace-counter", where, f"{event['args']}")
    return good


def check_nesting(events, faults):
    """Intervals of one thread lie inside each other, or behind each other."""
    tracks = {}
    for event in events:
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append(
                (ns(event["ts"]), -ns(event["dur"])))
    for track, spans in tracks.items():
        ends = []
        for start, minus in sorted(spans):
            while ends and ends[-1] <= start:
                ends.pop()
            faults.unless(not ends or start - minus <= ends[-1], "trace-nesting", f"track {track}",
                          f"an interval from {start} ns reaches beyond the one that it began in")
            ends.append(start - minus)


def check_pairs(events, faults):
    opened = {}
    for event in events:
        key = tuple(event.get(k) for k in ("pid", "cat", "id", "name"))
        if event["ph"] == "b":
            faults.unless(key not in opened, "trace-pairs", f"{key}", "begins twice")
            opened[key] = event["ts"]
        elif event["ph"] == "e":
            faults.unless(opened.pop(key, math.inf) <= event["ts"], "trace-pairs", f"{key}", "ends before it begins")
    faults.unless(not opened, "trace-pairs", "file", f"never end: {list(opened)[:3]}")


def check(data, faults):
    try:
        trace = json.loads(data.decode("utf-8"), parse_constant=refuse)
        events = trace["traceEvents"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        faults.add("trace-json", "file", str(error))
        return
    good = [e for i, e in enumerate(events) if check_event(e, f"event {i}", faults)]
    named = {(e["pid"], e["tid"]) for e in good if e["ph"] == "M" and e["name"] == "thread_name"}
    for event in good:
        if event["ph"] in "Xibe":
            faults.unless((event["pid"], event["tid"]) in named, "trace-names",
                          f"thread {event['tid']}", "has no name")
    check_nesting(good, faults)
    check_pairs(good, faults)
