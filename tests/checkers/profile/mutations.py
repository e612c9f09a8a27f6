#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutations.py CHECK_PROFILE WRITE_FIXED - holds tools/check-profile to its rules.

Writes the fixed profile in each format, which the checker must accept; then breaks one thing at a
time, and the checker must reject each by the rule that is meant for it. A rule without a mutation is a
failure, too.
"""
import copy
import gzip
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True


def load(path):
    loader = importlib.machinery.SourceFileLoader("check_profile", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_profile", loader))
    loader.exec_module(module)
    return module


# ---- Firefox: a mutation changes the decoded profile ----

FIREFOX = []


def firefox(rule):
    def add(function):
        FIREFOX.append((rule, function))
        return function
    return add


def delete(rule, *path):
    def mutate(p):
        for key in path[:-1]:
            p = p[key]
        del p[path[-1]]
    FIREFOX.append((rule, mutate))


def put(rule, value, *path):
    def mutate(p):
        for key in path[:-1]:
            p = p[key]
        p[path[-1]] = value
    FIREFOX.append((rule, mutate))


for key in ("meta", "libs", "shared", "threads"):
    delete("top", key)
put("version", 75, "meta", "preprocessedProfileVersion")
delete("version", "meta", "version")
delete("interval", "meta", "interval")
put("interval", 0, "meta", "interval")
delete("start-time", "meta", "startTime")
put("process-type", "default", "meta", "processType")
put("product", "", "meta", "product")
put("stackwalk", True, "meta", "stackwalk")
put("symbolicated", 1, "meta", "symbolicated")
delete("range", "meta", "profilingStartTime")
delete("range", "meta", "profilingEndTime")
put("range", 0.1, "meta", "profilingEndTime")
put("range-samples", 30, "meta", "profilingEndTime")
put("range-samples", 2.5, "meta", "profilingStartTime")
delete("sample-units", "meta", "sampleUnits")
delete("cpu-units", "meta", "sampleUnits")
delete("cpu-units", "meta", "sampleUnits", "threadCPUDelta")
put("cpu-units", "us", "meta", "sampleUnits", "threadCPUDelta")
put("sample-units", "s", "meta", "sampleUnits", "time")
delete("categories", "meta", "categories")
put("categories", [], "meta", "categories")
put("grey", "darkgrey", "meta", "categories", 0, "color")
put("subcategory", [], "meta", "categories", 2, "subcategories")
put("subcategory", ["Inner"], "meta", "categories", 2, "subcategories")
put("color", "pink", "meta", "categories", 1, "color")
put("extra", {}, "meta", "extra")
delete("extra", "meta", "extra", 0, "entries")
delete("extra", "meta", "extra", 0, "entries", 0, "value")
put("extra-format", "ratio", "meta", "extra", 1, "entries", 1, "format")
put("extra-format", "99 %", "meta", "extra", 1, "entries", 1, "value")
put("visible-threads", [100], "meta", "initialVisibleThreads")
put("visible-threads", [0, 0], "meta", "initialSelectedThreads")
delete("libs", "libs", 0, "path")
put("breakpad-id", "00", "libs", 0, "breakpadId")
put("breakpad-id", "0" * 33, "libs", 0, "breakpadId")
put("code-id", "XYZ", "libs", 0, "codeId")
delete("code-id", "libs", 0, "codeId")
for table in ("sources", "sourceLocationTable", "nativeSymbols", "resourceTable", "funcTable", "frameTable",
              "stackTable", "stringArray"):
    delete("table-missing", "shared", table)
delete("table-missing", "threads", 0, "samples")
for table, column in (("funcTable", "isJS"), ("frameTable", "innerWindowID"), ("stackTable", "prefixOffset"),
                      ("sources", "sourceMapURL"), ("nativeSymbols", "functionSize"), ("resourceTable", "host"),
                      ("funcTable", "originalLocation"), ("sources", "content")):
    delete("column-missing", "shared", table, column)
delete("column-missing", "threads", 0, "samples", "stack")
for path in (("shared", "funcTable", "name"), ("shared", "frameTable", "line"), ("shared", "stackTable", "frame"),
             ("threads", 0, "samples", "stack"), ("threads", 0, "samples", "weight"),
             ("threads", 0, "samples", "threadCPUDelta"), ("threads", 0, "samples", "timeDeltas")):
    delete("column-length", *path, 0)
delete("column-length", "threads", 0, "samples", "length")
put("column-length", 3, "shared", "stackTable", "length")
put("column-type", "main", "shared", "funcTable", "name", 0)
put("column-type", 0, "shared", "funcTable", "isJS", 0)
put("column-type", 1.5, "shared", "frameTable", "address", 0)
put("column-type", 0, "shared", "frameTable", "line", 0)
put("column-type", None, "shared", "stackTable", "prefixOffset", 0)
put("string-index", 10000, "shared", "funcTable", "name", 0)
put("string-index", 10000, "shared", "sources", "filename", 0)
put("string-index", 10000, "shared", "resourceTable", "name", 0)
put("string-index", 10000, "shared", "nativeSymbols", "name", 0)
put("source-index", 100, "shared", "funcTable", "source", 0)
put("lib-index", 100, "shared", "resourceTable", "lib", 0)
put("lib-index", 100, "shared", "nativeSymbols", "libIndex", 0)
put("resource-index", 100, "shared", "funcTable", "resource", 0)
put("resource-type", 6, "shared", "resourceTable", "type", 0)
put("func-index", 100, "shared", "frameTable", "func", 0)
put("symbol-index", 100, "shared", "frameTable", "nativeSymbol", 0)
put("category-index", 100, "shared", "frameTable", "category", 0)
put("subcategory-index", 1, "shared", "frameTable", "subcategory", 0)
put("frame-index", 100, "shared", "stackTable", "frame", 0)
put("prefix", 2, "shared", "stackTable", "prefixOffset", 1)
put("prefix", 1, "shared", "stackTable", "prefixOffset", 0)
put("threads", [], "threads")
put("threads", 7, "threads", 5)
delete("thread-field", "threads", 0, "name")
put("thread-field", 1, "threads", 0, "isMainThread")
delete("thread-type", "threads", 0, "processType")
put("pid", 100, "threads", 0, "pid")
put("pid", "main", "threads", 0, "pid")
delete("tid", "threads", 0, "tid")
put("main-thread", False, "threads", 0, "isMainThread")
put("main-thread", True, "threads", 1, "isMainThread")
put("main-thread", "200", "threads", 5, "pid")
put("process-same", "another", "threads", 1, "processName")
put("process-same", 1, "threads", 2, "processShutdownTime")
put("process-image", "200.2", "threads", 5, "pid")
put("process-image", "300.1", "threads", 5, "pid")
delete("times", "threads", 0, "registerTime")
delete("times", "threads", 0, "unregisterTime")
delete("times", "threads", 0, "processShutdownTime")
put("times", 1, "threads", 1, "unregisterTime")
delete("paused", "threads", 0, "pausedRanges")
put("paused", [{"startTime": 1, "endTime": 2}], "threads", 0, "pausedRanges")
put("stack-index", 1000, "threads", 0, "samples", "stack", 1)
delete("time-columns", "threads", 0, "samples", "timeDeltas")
put("time-columns", "now", "threads", 0, "samples", "timeDeltas", 1)
put("time-order", -0.25, "threads", 0, "samples", "timeDeltas", 2)
put("weight-type", "milliseconds", "threads", 0, "samples", "weightType")
delete("weight-type", "threads", 0, "samples", "weightType")
delete("weight", "threads", 0, "samples", "weight")
put("weight", None, "threads", 0, "samples", "weight")
put("weight", -1, "threads", 0, "samples", "weight", 1)
put("cpu-delta", -1, "threads", 0, "samples", "threadCPUDelta", 1)
put("cpu-delta", 3, "threads", 0, "samples", "threadCPUDelta")
put("cpu-first", 1, "threads", 0, "samples", "threadCPUDelta", 0)
put("source-content", "", "shared", "sources", "content", 0)
put("source-content", "x" * (4 << 20) + "x", "shared", "sources", "content", 0)
put("idle", "Waiting", "meta", "categories", 6, "name")
delete("schema", "meta", "markerSchema")
delete("markers", "threads", 0, "markers")
delete("marker-column", "threads", 0, "markers", "phase")


@firefox("func-distinct")
def one_function_twice(p):
    for column in p["shared"]["funcTable"].values():
        if isinstance(column, list):
            column.append(column[0])
    p["shared"]["funcTable"]["length"] += 1


@firefox("frame-distinct")
def one_frame_twice(p):
    for column in p["shared"]["frameTable"].values():
        if isinstance(column, list):
            column.append(column[0])
    p["shared"]["frameTable"]["length"] += 1


@firefox("inline-depth")
def inlined_without_outer(p):
    p["shared"]["frameTable"]["inlineDepth"][0] = 1


@firefox("inline-depth")
def inline_depth_jumps(p):
    depth = p["shared"]["frameTable"]["inlineDepth"]
    depth[depth.index(1)] = 2


@firefox("inline-parent")
def inlined_elsewhere(p):
    frames = p["shared"]["frameTable"]
    frames["address"][frames["inlineDepth"].index(1)] += 1


@firefox("time-columns")
def both_kinds_of_times(p):
    samples = p["threads"][0]["samples"]
    samples["time"] = samples["timeDeltas"]


NOTE = {"name": "note", "display": ["marker-chart"], "chartLabel": "{marker.data.text} {marker.data.n ? 'a' : 'b'}",
        "graphs": [{"key": "n", "type": "bar", "color": "blue"}], "colorField": "text",
        "fields": [{"key": "list", "format": "list"}, {"key": "text", "format": "string"},
                   {"key": "n", "format": "integer"}, {"key": "one", "format": "unique-string"},
                   {"key": "flow", "format": "flow-id"}, {"key": "end", "format": "terminating-flow-id"},
                   {"key": "rows", "format": {"type": "table", "columns": [
                       {"label": "a", "type": "string"}, {"label": "b", "type": "bytes"}]}}]}
NOTE_DATA = {"type": "note", "list": [1], "text": "words", "n": 1, "one": 1, "rows": [["x", 1], ["y", 2]],
             "cause": {"stack": 0}}


def with_schema(rule, **changes):
    """A good schema, but for the changes."""
    def mutate(p):
        p["meta"]["markerSchema"].append(NOTE | changes)
    FIREFOX.append((rule, mutate))


with_schema(None)
with_schema("schema", name=None)
with_schema("schema", display=["everywhere"])
with_schema("schema-distinct", name="HttpRequest")
with_schema("schema-network", display=["timeline-network"])
with_schema(None, tooltipLabel="{marker.name}: {marker.data.text}")
with_schema("schema-tooltip", tooltipLabel="{marker.data.text}")
with_schema("schema-magic", name="Network")
with_schema("schema-key", fields=NOTE["fields"] * 2)
with_schema("schema-key", fields=NOTE["fields"] + [{"key": "cause", "format": "string"}])
with_schema("schema-format", fields=[{"format": "string"}], chartLabel="", graphs=[], colorField=None)
with_schema("schema-format", fields=NOTE["fields"] + [{"key": "t", "format": {"type": "table", "columns": []}}])
with_schema("schema-format", fields=NOTE["fields"] + [{"key": "t", "format": {"type": "table", "columns": [
    {"type": "words"}]}}])
with_schema("schema-label", chartLabel="{marker.data.nobody}")
with_schema("schema-label", tooltipLabel="{marker.data.nobody ? 'a' : 'b'}")
with_schema("schema-label", tableLabel=3)
with_schema("schema-graph", graphs=[{"key": "nobody", "type": "bar"}])
with_schema("schema-graph", graphs=[{"key": "text", "type": "bar"}])
with_schema("schema-graph", graphs=[{"key": "n", "type": "pie"}])
with_schema("schema-graph", graphs=[{"key": "n", "type": "bar", "color": "lightblue"}])
with_schema("schema-color", colorField="nobody")


def with_marker(rule, count=1, **changes):
    """A good marker of a good schema (or several in a row), but for the changes of the last one."""
    def mutate(p):
        strings = p["shared"]["stringArray"]
        p["meta"]["markerSchema"].append(NOTE)
        row = {"data": NOTE_DATA | {"flow": len(strings), "end": len(strings)}, "name": 1, "startTime": 1, "endTime": 2,
               "phase": 1, "category": 0}
        strings.append("0abc")
        for key, value in row.items():
            p["threads"][0]["markers"][key] = [value] * (count - 1) + [changes.get(key, value)]
        p["threads"][0]["markers"]["length"] = changes.get("length", count)
    FIREFOX.append((rule, mutate))


def with_data(rule, **changes):
    with_marker(rule, data=NOTE_DATA | changes)


with_marker(None)
with_marker(None, 2)
with_marker("marker-length", length=2)
with_marker("marker-name", name=10000)
with_marker("marker-category", category=100)
with_marker("marker-category", category=None)
with_marker("marker-phase", phase=4)
with_marker("marker-times", endTime=None)
with_marker("marker-times", startTime=3)
with_marker("marker-order", 2, startTime=0)
with_marker("marker-data", data={"list": []})
with_data("marker-schema", type="nobody")
with_data("marker-list", list="a, b")
with_data("marker-table", rows="a")
with_data("marker-table", rows=[1])
with_data("marker-table", rows=[["x", 1], ["y"]])
with_data("marker-number", rows=[["x", "1"]])
with_data("marker-text", rows=[[1, 1]])
with_data("marker-text", text=1)
with_data("marker-number", n="1")
with_data("marker-number", n=None)
with_data("marker-exact", n=2 ** 53 + 1)
with_data("marker-string", one=10000)
with_data("marker-string", one="words")
with_data("marker-string", flow="0abc")
with_data("marker-flow", flow=1)
with_data("marker-flow", end=1)
with_data("marker-stack", stack={"samples": {}})
with_data("marker-stack", cause={"stack": 10000})


def with_table(rule, where, good, **changes):
    def mutate(p):
        table = copy.deepcopy(good)
        table.update(changes)
        table = {k: v for k, v in table.items() if v is not None}
        if where == "counters":
            p["counters"] = [table]
        else:
            p["threads"][0][where] = table
    FIREFOX.append((rule, mutate))


ALLOCATIONS = {"time": [1], "weight": [8], "stack": [0], "weightType": "bytes", "memoryAddress": [4096],
               "threadId": [100], "length": 1}
COUNTER = {"name": "rss", "category": "Memory", "description": "", "pid": "100", "mainThreadIndex": 0,
           "samples": {"time": [1, 2, 60], "count": [0, 4096, 0], "length": 3},
           "display": {"graphType": "line-accumulated", "unit": "bytes", "color": "orange", "label": "RSS",
                       "sortWeight": 0, "markerSchemaLocation": None, "tooltipRows": []}}
with_table(None, "nativeAllocations", ALLOCATIONS)
with_table("allocations", "nativeAllocations", ALLOCATIONS, time=[], weight=[], stack=[], memoryAddress=[],
           threadId=[], length=0)
with_table("allocations", "nativeAllocations", ALLOCATIONS, threadId=None)
with_table("allocations", "nativeAllocations", ALLOCATIONS, weight=[8, 8])
with_table("allocations", "nativeAllocations", ALLOCATIONS, weightType="samples")
with_table("alloc-rows", "nativeAllocations", ALLOCATIONS, weight=[0])
with_table("alloc-rows", "nativeAllocations", ALLOCATIONS, weight=[1.5])
with_table("alloc-rows", "nativeAllocations", ALLOCATIONS, memoryAddress=[None])
with_table("alloc-range", "nativeAllocations", ALLOCATIONS, time=[1e9])
with_table("alloc-stack", "nativeAllocations", ALLOCATIONS, stack=[10000])
PAIR = {"time": [1, 2], "weight": [8, -8], "stack": [0, 0], "weightType": "bytes", "memoryAddress": [4096, 4096],
        "threadId": [100, 102], "length": 2}
with_table(None, "nativeAllocations", PAIR)
with_table("alloc-order", "nativeAllocations", PAIR, time=[2, 1])
with_table("alloc-balance", "nativeAllocations", PAIR, weight=[8, -9])
with_table("alloc-balance", "nativeAllocations", PAIR, memoryAddress=[4096, 4097])
with_table("alloc-balance", "nativeAllocations", PAIR, weight=[-8, 8])


@firefox("alloc-main")
def allocations_of_another_thread(p):
    p["threads"][1]["nativeAllocations"] = copy.deepcopy(ALLOCATIONS)


with_table(None, "counters", COUNTER)
with_table("counter", "counters", COUNTER, pid=100)
with_table("counter-main", "counters", COUNTER, mainThreadIndex=100)
with_table("counter-main", "counters", COUNTER, mainThreadIndex=1)
with_table("counter-pid", "counters", COUNTER, pid="200")
with_table("counter-display", "counters", COUNTER, display=None)
with_table("counter-display", "counters", COUNTER, display={"graphType": "line"})
with_table("counter-display", "counters", COUNTER, display=COUNTER["display"] | {"color": "brown"})
with_table("counter-display", "counters", COUNTER, display=COUNTER["display"] | {"sortWeight": None})
with_table("counter-tooltip", "counters", COUNTER, display=COUNTER["display"] | {"tooltipRows": [{"type": "row"}]})
with_table("counter-tooltip", "counters", COUNTER, display=COUNTER["display"] | {"tooltipRows": [
    {"type": "value", "source": "value", "label": "", "format": {"unit": "bytes"}}]})
with_table("counter-tooltip", "counters", COUNTER, display=COUNTER["display"] | {"tooltipRows": [
    {"type": "value", "source": "count", "label": "", "format": {"unit": "jobs"}}]})
with_table("counter-samples", "counters", COUNTER, samples={"time": [1, 2], "count": [3], "length": 1})
with_table("counter-samples", "counters", COUNTER, samples={"time": [1], "count": [None], "length": 1})
with_table("counter-order", "counters", COUNTER, samples={"time": [2, 1], "count": [3, 4], "length": 2})
with_table("counter-first", "counters", COUNTER, samples={"time": [2, 60], "count": [3, 4], "length": 2})
with_table("counter-first", "counters", COUNTER,
           samples={"time": [2, 60], "count": [0, 4], "number": [1, 1], "length": 2})
with_table("counter-end", "counters", COUNTER, samples={"time": [2, 59], "count": [0, 4], "length": 2})
with_table("counter-constant", "counters", COUNTER, category="System",
           samples={"time": [2, 60], "count": [0, 0], "length": 2})
with_table(None, "counters", COUNTER, samples={"time": [2, 4, 60], "count": [0, 0.5, 0], "length": 3},
           display=COUNTER["display"] | {"unit": "percent"})
with_table("counter-percent", "counters", COUNTER, samples={"time": [2, 4, 60], "count": [0, 50, 0], "length": 3},
           display=COUNTER["display"] | {"unit": "percent"})
with_table("counter-rate", "counters", COUNTER, display=COUNTER["display"] | {"tooltipRows": [
    {"type": "value", "source": "rate", "label": "", "format": {"unit": "number"}}]})
with_table("counter-number", "counters", COUNTER, display=COUNTER["display"] | {"tooltipRows": [
    {"type": "value", "source": "sample-number", "label": "", "format": {"unit": "number"}}]})


@firefox("counter-heap")
def heap_behind_others(p):
    next(c for c in p["counters"] if c["name"] == "Heap")["display"]["sortWeight"] = 100


@firefox("counter-cpu")
def another_cpu_time(p):
    next(c for c in p["counters"] if c["name"] == "processCPU")["samples"]["count"][1] += 1


@firefox("homonyms")
def two_processes_of_one_name(p):
    for i, command in ((0, "gzip a"), (4, "gzip b")):
        for thread in p["threads"]:
            if thread["pid"] == p["threads"][i]["pid"]:
                thread["processName"] = command
        p["threads"][i]["name"] = "gzip"


@firefox("cpu-empty")
def no_cpu_time_of_no_samples(p):
    next(t for t in p["threads"] if t["samples"]["length"] == 0)["samples"]["threadCPUDelta"] = []

# ---- pprof: a mutation changes lists of (field, value), where a message is such a list ----

NESTED = {(): {1: "t", 2: "s", 3: "m", 4: "l", 5: "f", 11: "t"}, ("s",): {3: "b"}, ("l",): {4: "n"}}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def put_varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(data, path=()):
    fields, at = [], 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
            inner = NESTED.get(path[-1:], {}).get(tag >> 3)
            if inner:
                value = decode(value, path + (inner,))
        fields.append([tag >> 3, value])
    return fields


def encode(fields):
    out = b""
    for number, value in fields:
        if isinstance(value, list):
            value = encode(value)
        if isinstance(value, bytes):
            out += put_varint(number << 3 | 2) + put_varint(len(value)) + value
        else:
            out += put_varint(number << 3) + put_varint(value)
    return out


PPROF = []


def pprof(rule):
    def add(function):
        PPROF.append((rule, function))
        return function
    return add


def rows(p, number):
    return [f[1] for f in p if f[0] == number]


def set_field(row, number, value):
    """Replaces a field; None removes it."""
    row[:] = [f for f in row if f[0] != number] + ([[number, value]] if value is not None else [])


def set_in(rule, table, index, number, value):
    def mutate(p):
        set_field(rows(p, table)[index], number, value)
    PPROF.append((rule, mutate))


def set_top(rule, number, value):
    PPROF.append((rule, lambda p: set_field(p, number, value)))


SAMPLE_TYPE, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING = 1, 2, 3, 4, 5, 6
set_top("pb-field", 16, 1)
set_top("pb-wire", 9, b"time")
set_in("pb-wire", MAPPING, 0, 2, b"start")
set_top("pb-default-type", 14, 0)
set_top("pb-default-type", 14, 1 + 1)
set_top("pb-string-index", 14, 10000)
set_top("pb-string-index", 13, 10000)
set_in("pb-string-index", FUNCTION, 0, 2, 10000)
set_top("pb-period", 12, None)
set_top("pb-period", 11, None)
set_top("pb-time", 9, None)
set_top("pb-time", 10, None)
set_top("pb-sample-type", SAMPLE_TYPE, None)
set_in("pb-sample-type", SAMPLE_TYPE, 1, 2, None)
set_in("pb-id", LOCATION, 0, 1, None)
set_in("pb-id", FUNCTION, 1, 1, 1)
set_in("pb-id", MAPPING, 1, 1, 1)
set_in("pb-id-sequence", LOCATION, -1, 1, 1000)
set_in("pb-values", SAMPLE, 0, 2, b"\x01")
set_in("pb-value-negative", SAMPLE, 0, 2, put_varint(1) + put_varint(-5))
set_in("pb-location", SAMPLE, 0, 1, put_varint(1000))
set_in("pb-empty-stack", SAMPLE, 0, 1, None)
set_in("pb-mapping", LOCATION, 0, 2, 100)
set_in("pb-name", FUNCTION, 0, 2, None)
set_in("pb-system-name", FUNCTION, 0, 3, None)
set_in("pb-range", MAPPING, 0, 3, 1)
set_in("pb-address", LOCATION, 0, 3, 0x1123)
set_in("pb-address", LOCATION, 0, 3, None)
set_in("pb-has-functions", MAPPING, 1, 7, 1)
set_in("pb-has-functions", MAPPING, 0, 7, None)
set_in("pb-has-filenames", MAPPING, 3, 8, 1)
set_in("pb-has-lines", MAPPING, 3, 9, 1)
set_in("pb-has-inline", MAPPING, 1, 10, 1)
set_in("pb-has-inline", MAPPING, 0, 10, None)


@pprof("pb-string-zero")
def a_string_at_zero(p):
    next(f for f in p if f[0] == STRING)[1] = b"x"


@pprof("pb-string-zero")
def no_strings(p):
    set_field(p, STRING, None)


@pprof("pb-string-utf8")
def bytes_for_a_string(p):
    [f for f in p if f[0] == STRING][3][1] = b"a\xff"


@pprof("pb-count-first")
def values_in_the_other_order(p):
    at = [i for i, f in enumerate(p) if f[0] == SAMPLE_TYPE]
    p[at[0]], p[at[1]] = p[at[1]], p[at[0]]


@pprof("pb-function")
def a_line_of_no_function(p):
    set_field(rows(rows(p, LOCATION)[0], 4)[0], 1, 1000)


@pprof("pb-aggregate")
def one_sample_twice(p):
    p.append([SAMPLE, copy.deepcopy(rows(p, SAMPLE)[0])])


@pprof("pb-label")
def text_and_number(p):
    rows(rows(p, SAMPLE)[0], 3)[0].append([3, 7])


@pprof("pb-label")
def no_key(p):
    set_field(rows(rows(p, SAMPLE)[0], 3)[0], 1, None)


@pprof("pb-label-key")
def one_label_twice(p):
    sample = rows(p, SAMPLE)[0]
    sample.append([3, copy.deepcopy(rows(sample, 3)[1])])


@pprof("pb-label-prefix")
def a_reserved_label(p):
    strings = rows(p, STRING)
    next(f for f in p if f[0] == STRING and f[1] == b"thread")[1] = b"pprof::thread"
    assert b"thread" in strings


@pprof("pb-base")
def taken_off_and_positive(p):
    strings = len(rows(p, STRING))
    p.append([STRING, b"pprof::base"])
    p.append([STRING, b"true"])
    rows(p, SAMPLE)[0].append([3, [[1, strings], [2, strings + 1]]])


# ---- files as bytes ----

BYTES = [
    ("gzip", "a.json.gz", lambda d: d[:-20]),
    ("gzip", "a.pb.gz", lambda d: d[:-1]),
    ("gzip", "a.pb.gz", lambda d: d[:100] + bytes([d[100] ^ 1]) + d[101:]),
    ("gzip", "a.json.gz", lambda d: b"not gzip"),
    ("extension", "a.txt", lambda d: b""),
    ("utf8", "a.json", lambda d: d.replace(b"main", b"m\xe4in", 1)),
    ("json", "a.json", lambda d: d[:-1]),
    ("json", "a.json", lambda d: d.replace(b":1,", b":1,,", 1)),
    ("top", "a.json", lambda d: b"[]"),
    ("pb-wire", "a.pb", lambda d: d[:-3]),
    ("pb-wire", "a.pb", lambda d: d + b"\x35\0\0\0\0"),
    ("pb-wire", "a.pb", lambda d: d + b"\x48" + b"\xff" * 10 + b"\x01"),
    ("folded-utf8", "a.folded", lambda d: b"\xff" + d),
    ("folded-line", "a.folded", lambda d: d.replace(b" ", b"", 1) if d.count(b" ") == 1 else b"a;b\n" + d),
    ("folded-line", "a.folded", lambda d: b"a;;b 1\n" + d),
    ("folded-line", "a.folded", lambda d: b"a;b -1\n" + d),
    ("folded-line", "a.folded", lambda d: b"a;b 0\n" + d),
    ("folded-line", "a.folded", lambda d: b"a;b 1.5\n" + d),
    ("folded-distinct", "a.folded", lambda d: d + d),
    ("folded-end", "a.folded", lambda d: d[:-1]),
    ("trace-json", "a.trace.json", lambda d: d[:-2]),
    ("trace-json", "a.trace.json", lambda d: d.replace(b'"ts":0', b'"ts":NaN', 1)),
    ("trace-event", "a.trace.json", lambda d: d.replace(b'"ph":"X"', b'"ph":"Y"', 1)),
    ("trace-event", "a.trace.json", lambda d: d.replace(b'"dur":', b'"rud":', 1)),
    ("trace-time", "a.trace.json", lambda d: d.replace(b'"dur":', b'"dur":-', 1)),
    ("trace-names", "a.trace.json", lambda d: d.replace(b'"thread_name"', b'"other_name"')),
    ("trace-nesting", "a.trace.json", lambda d: d.replace(b']}', b"""
        ,{"ph":"M","pid":1,"tid":1,"ts":0,"name":"thread_name","args":{"name":"t"}}
        ,{"ph":"X","pid":1,"tid":1,"ts":0,"name":"a","cat":"c","dur":2}
        ,{"ph":"X","pid":1,"tid":1,"ts":1,"name":"b","cat":"c","dur":2}]}""")),
    ("trace-pairs", "a.trace.json", lambda d: d.replace(b'"ph":"e"', b'"ph":"b"', 1)),
    ("trace-counter", "a.trace.json", lambda d: re.sub(rb'("ph":"C".*?"args":{"[^"]*":)', rb'\1"x",":":', d, count=1)),
    (None, "a.svg", lambda d: d),
    ("svg-xml", "a.svg", lambda d: d[:-3]),
    ("svg-xml", "a.svg", lambda d: d.replace(b"\\u003c", b"<")),
    ("svg-xml", "a.svg", lambda d: b"<html/>"),
    ("svg-outside", "a.svg", lambda d: d.replace(b"</svg>", b'<image href="x.png"/></svg>')),
    ("svg-outside", "a.svg", lambda d: d.replace(b"</style>", b"@import 'x.css'</style>")),
    ("svg-scripts", "a.svg", lambda d: d.replace(b"</svg>", b"<script/></svg>")),
    ("svg-escape", "a.svg", lambda d: d.replace(b'"title":"', b'"title":"&amp;', 1)),
    ("svg-data", "a.svg", lambda d: d.replace(b'{"title"', b'{{"title"', 1)),
    ("svg-data", "a.svg", lambda d: d.replace(b'"unit":"ns"', b'"unit":3', 1)),
    ("svg-length", "a.svg", lambda d: d.replace(b'"parent":[', b'"parent":[-1,', 1)),
    ("svg-index", "a.svg", lambda d: d.replace(b'"parent":[-1,', b'"parent":[1,', 1)),
    ("svg-index", "a.svg", lambda d: d.replace(b'"name":[0,', b'"name":[1000,', 1)),
    ("svg-weight", "a.svg", lambda d: d.replace(b'"self":[0,', b'"self":[-1,', 1)),
    ("svg-distinct", "a.svg", lambda d: d.replace(b'"parent":[', b'"parent":[-1,-1,', 1).replace(
        b'"name":[', b'"name":[0,0,', 1).replace(b'"self":[', b'"self":[1,1,', 1)),
]


# ---- the same of a heap profile ----


def swap_types(p):
    first, second = [i for i, f in enumerate(p) if f[0] == SAMPLE_TYPE][:2]
    p[first], p[second] = p[second], p[first]


def count_period(p):
    set_field(p, 11, rows(p, SAMPLE_TYPE)[0])


def drop_size(p):
    sample = rows(p, SAMPLE)[0]
    # It is the first of the labels.
    sample.remove(next(f for f in sample if f[0] == 3))


HEAP = [(None, lambda p: None), ("pb-heap-types", swap_types), ("pb-heap-period", count_period), ("pb-heap-bytes", drop_size)]


def main():
    checker = load(sys.argv[1])
    failures, tested = [], set()

    def expect(rule, name, path, data):
        tested.add(rule)
        try:
            found = checker.check(path, data)
        except Exception as error:  # a checker that fails is no verdict
            failures.append(f"{path}, {name}: the checker failed: {error!r}")
            return
        if rule is None and found.list:
            failures.append(f"{path}, {name}: rejected a good one: {found.list[:3]}")
        elif rule is not None and rule not in found.rules:
            failures.append(f"{path}, {name}: not rejected by {rule}, but {found.list[:3]}")

    with tempfile.TemporaryDirectory() as folder:
        names = ["a.json", "a.json.gz", "a.pb.gz", "a.folded", "a.svg", "a.trace.json", "a.trace.json.gz"]
        paths = [os.path.join(folder, name) for name in names]
        heap = os.path.join(folder, "heap.pb.gz")
        subprocess.run([sys.argv[2], *paths, "--show=live", heap], check=True)
        good = {name: open(path, "rb").read() for name, path in zip(names, paths)}
        good["heap.pb"] = gzip.decompress(open(heap, "rb").read())
        good["a.pb"], good["a.txt"] = gzip.decompress(good["a.pb.gz"]), b""
        # The program itself: its exit status and its words.
        run = subprocess.run([sys.argv[1], *paths], capture_output=True, text=True, check=False)
        if run.returncode or run.stdout or run.stderr:
            failures.append(f"good files: status {run.returncode}: {run.stdout}{run.stderr}")
        broken = os.path.join(folder, "b.json")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("{")
        run = subprocess.run([sys.argv[1], broken], capture_output=True, text=True, check=False)
        if run.returncode != 1 or "json: file:" not in run.stdout:
            failures.append(f"a bad file: status {run.returncode}: {run.stdout}")
        run = subprocess.run([sys.argv[1], broken + "x"], capture_output=True, text=True, check=False)
        if run.returncode != 2:
            failures.append(f"no file: status {run.returncode}")

    for number, (rule, mutate) in enumerate(FIREFOX):
        profile = json.loads(good["a.json"])
        mutate(profile)
        expect(rule, f"{mutate.__name__} {number}", "a.json", json.dumps(profile).encode())
    if encode(decode(good["a.pb"])) != good["a.pb"]:
        failures.append("this test does not decode pprof as it is")
    for number, (rule, mutate) in enumerate(PPROF):
        profile = decode(good["a.pb"])
        mutate(profile)
        expect(rule, f"{mutate.__name__} {number}", "a.pb", encode(profile))
    for number, (rule, mutate) in enumerate(HEAP):
        profile = decode(good["heap.pb"])
        mutate(profile)
        expect(rule, f"heap {number}", "heap.pb", encode(profile))
    for number, (rule, name, mutate) in enumerate(BYTES):
        expect(rule, f"bytes {number}", name, mutate(good[name]))

    for rule in checker.rules():
        if rule not in tested:
            failures.append(f"no mutation breaks rule {rule}")
    print("\n".join(failures))
    print(f"{len(FIREFOX) + len(PPROF) + len(HEAP) + len(BYTES)} mutations of {len(checker.rules())} rules,"
          f" {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
