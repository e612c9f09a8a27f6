#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden.py WRITE_FIXED FORMAT [--update] - compares what the fixed profile becomes with tests/golden/.

FORMAT: firefox (its exact bytes), collapsed, svg, chrome (likewise), jfr (what it holds, as text), pprof (its fields as text, since the bytes of a
compressor may differ), otlp (likewise); pprof-live and collapsed-live: what lives of its heap. --update writes the files anew; look at the difference before it is
committed: what readers see has changed.
"""
import difflib
import gzip
import os
import subprocess
import sys
import tempfile

import jfr_file

FOLDER = os.path.dirname(os.path.realpath(__file__))

class Schema:
    """Which fields of which messages are messages, packed lists and bytes."""

    def __init__(self, messages, packed, raw=None):
        self.messages, self.packed, self.raw = messages, packed, raw or {}


PPROF = Schema({"": {1: "sample_type", 2: "sample", 3: "mapping", 4: "location", 5: "function", 11: "period_type"},
                "sample": {3: "label"}, "location": {4: "line"}}, {"sample": (1, 2)})
OTLP = Schema({"": {1: "resource_profiles", 2: "dictionary"},
               "resource_profiles": {1: "resource", 2: "scope_profiles"},
               "resource": {1: "attribute"}, "attribute": {2: "value"},
               "scope_profiles": {1: "scope", 2: "profile"},
               "profile": {1: "sample_type", 2: "sample", 5: "period_type"},
               "dictionary": {1: "mapping", 2: "location", 3: "function", 4: "link", 6: "attribute", 7: "stack"},
               "location": {3: "line"}},
              {"profile": (11,), "sample": (2, 4), "mapping": (5,), "location": (4,), "stack": (1,)},
              {"profile": (7,), "link": (1, 2)})


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def dump(data, schema, message="", indent=""):
    """The fields of a message in their order, a line each."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
            yield f"{indent}{number}: {value} fixed"
            continue
        value, at = varint(data, at)
        if wire == 0:
            yield f"{indent}{number}: {value}"
            continue
        assert wire == 2, wire
        value, at = data[at:at + value], at + value
        inner = schema.messages.get(message, {}).get(number)
        if inner:
            yield f"{indent}{number} {inner}"
            yield from dump(value, schema, inner, indent + "  ")
        elif number in schema.packed.get(message, ()):
            numbers, i = [], 0
            while i < len(value):
                one, i = varint(value, i)
                numbers.append(str(one))
            yield f"{indent}{number}: [{', '.join(numbers)}]"
        elif number in schema.raw.get(message, ()):
            yield f"{indent}{number}: {value.hex()}"
        else:
            yield f"{indent}{number}: {value.decode('utf-8')!r}"


def produce(write_fixed, kind):
    kind, _, show = kind.partition("-")
    extension = {"firefox": ".json", "collapsed": ".folded", "pprof": ".pb.gz", "otlp": ".otlp", "svg": ".svg", "chrome": ".trace.json", "jfr": ".jfr"}[kind]
    stem = f"fixed.{show}" if show else "fixed"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out" + extension)
        subprocess.run([write_fixed, f"--show={show or 'auto'}", path], check=True)
        with open(path, "rb") as file:
            data = file.read()
        # A compressed file holds the same bytes.
        if kind in ("firefox", "otlp"):
            subprocess.run([write_fixed, path + ".gz"], check=True)
            with gzip.open(path + ".gz") as file:
                assert file.read() == data, f"{extension}.gz is not the {extension} compressed"
        if kind == "firefox":
            # A field's text stands in its marker only: who takes it away there has taken it away.
            assert data.count(b"http://h/") == 1, "a text is there twice"
        if kind == "jfr":
            return ("\n".join(jfr_file.lines(jfr_file.read_file(path))) + "\n").encode(), stem + ".jfr.txt"
    if kind == "pprof":
        return ("\n".join(dump(gzip.decompress(data), PPROF)) + "\n").encode(), stem + ".pb.txt"
    if kind == "otlp":
        return ("\n".join(dump(data, OTLP)) + "\n").encode(), stem + ".otlp.txt"
    return data, stem + extension


def main():
    data, name = produce(sys.argv[1], sys.argv[2])
    path = os.path.join(FOLDER, name)
    if sys.argv[3:] == ["--update"]:
        with open(path, "wb") as file:
            file.write(data)
        return 0
    with open(path, "rb") as file:
        expected = file.read()
    if data == expected:
        return 0

    def lines(text):
        return text.decode("utf-8", "replace").replace(",\"", ",\n\"").replace("\n", "\n").splitlines()

    print("\n".join(difflib.unified_diff(lines(expected), lines(data), name, "now", lineterm="", n=1)))
    return 1


if __name__ == "__main__":
    sys.exit(main())
