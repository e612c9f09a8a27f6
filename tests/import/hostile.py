#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hostile.py KYMO [FILE...] - files that are made to take all memory: kymo report takes less than 512 MiB, and says
one line. FILE: which ones, by the names of the functions that make them; none: all.

Each file is small for what it would become: samples of 64 values, ids in no order, stacks of a million frames,
columns of zeros, distinct stacks, threads, gzip data of zeros; of JFR keys in no order, descriptions, blocks, labels.
"""
import gzip
import os
import random
import resource
import struct
import sys
import tempfile

MOST_KIB = 512 << 10


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


TYPE = field(1, b"\x08\x01\x10\x02")
STRINGS = field(6, b"") + field(6, b"a") + field(6, b"count")
FIREFOX = b'{"meta":{"interval":1,"preprocessedProfileVersion":66},'


def many_values():
    return TYPE * 64 + STRINGS + field(2, field(2, b"\1" * 64)) * 1500000


def ids_in_no_order():
    """Odd ones, each a varint of 4 bytes."""
    begin = field(4, b"\x08" + bytes(4))[:-4]
    low = [bytes([0x80 | i]) for i in range(1, 128, 2)]
    rests = [bytes([0x80 | i & 127, 0x80 | i >> 7 & 127, i >> 14]) for i in range(62500)]
    return TYPE + STRINGS + b"".join(begin + (rest + begin).join(low) + rest for rest in rests)


def deep_stacks():
    location = field(4, b"\x08\x01" + field(4, b"\x08\x01")) + field(5, b"\x08\x01\x10\x01")
    return TYPE + STRINGS + location + field(2, field(1, b"\1" * 1000000) + field(2, b"\1")) * 20


def long_columns():
    column = b"[" + b"0," * 20000000 + b"0]"
    return (FIREFOX + b'"shared":{"stringArray":["f"],"funcTable":{"name":[0]},"frameTable":{"func":' + column +
            b'},"stackTable":{"frame":' + column + b',"prefix":' + column +
            b'}},"threads":[{"name":"t","samples":{"stack":[null]}}]}')


def many_threads():
    thread = b'{"name":"t","pid":"1","tid":1,"samples":{"stack":[null]}}'
    return FIREFOX + b'"threads":[' + (thread + b",") * 500000 + thread + b"]}"


def distinct_stacks():
    rng = random.Random(1)
    names = [b"fn%d" % i for i in range(3000)]
    return b"\n".join(b";".join(rng.choices(names, k=18)) + b" 1" for _ in range(700000)) + b"\n"


# ---- JFR ----

CLASSES = {  # id: name, fields of (name, class, is a constant, is an array)
    11: ("long", ()),
    20: ("java.lang.String", ()),
    22: ("java.lang.Thread", (("osName", 20, 0, 0), ("osThreadId", 11, 0, 0))),
    26: ("jdk.types.StackTrace", (("frames", 27, 0, 1),)),
    27: ("jdk.types.StackFrame", (("method", 28, 1, 0), ("lineNumber", 11, 0, 0))),
    28: ("jdk.types.Method", (("name", 20, 0, 0),)),
    40: ("jdk.ExecutionSample", (("startTime", 11, 0, 0), ("sampledThread", 22, 1, 0), ("stackTrace", 26, 1, 0))),
    41: ("profiler.Malloc", (("startTime", 11, 0, 0), ("address", 11, 0, 0), ("size", 11, 0, 0))),
}
LABELS = {
    42: ("kymo.Label", (("startTime", 11, 0, 0), ("eventThread", 22, 1, 0), ("key", 20, 0, 0), ("value", 20, 0, 0),
                        ("samples", 11, 0, 0))),
    43: ("kymo.CPUTime", (("startTime", 11, 0, 0), ("eventThread", 22, 1, 0), ("cpuTime", 11, 0, 0))),
}


def text(string):
    return b"\3" + varint(len(string)) + string.encode()


def element(strings, name, attributes, children):
    words = [name] + [word for pair in attributes for word in pair]
    numbers = [strings.setdefault(word, len(strings)) for word in words]
    out = varint(numbers[0]) + varint(len(attributes)) + b"".join(map(varint, numbers[1:]))
    return out + varint(len(children)) + b"".join(children)


def description(classes):
    strings, made, rows = {}, {}, []
    for id, (name, fields) in classes.items():
        if fields not in made:
            made[fields] = [
                element(strings, "field", [("name", n), ("class", str(c))] + [("constantPool", "true")] * pool +
                        [("dimension", "1")] * array, []) for n, c, pool, array in fields]
        rows.append(element(strings, "class", [("name", name), ("id", str(id))], made[fields]))
    tree = element(strings, "root", [], [element(strings, "metadata", [], rows)])
    return event(0, b"\0\0\1" + varint(len(strings)) + b"".join(map(text, strings)) + tree)


def event(kind, fields):
    body = varint(kind) + fields
    size = len(body) + 1
    while len(varint(size)) + len(body) != size:
        size = len(varint(size)) + len(body)
    return varint(size) + body


def jfr(events, pools, classes=None):
    """pools: (class, count, keys and values)"""
    constants = event(1, b"\0\0\0\0" + varint(len(pools)) + b"".join(varint(k) + varint(n) + d for k, n, d in pools))
    metadata = description(classes or CLASSES)
    at = 68 + len(events)
    return b"FLR\0" + struct.pack(">HHQQQQQQQI", 2, 0, at + len(constants) + len(metadata), at, at + len(constants), 0, 1,
                                  0, 10**9, 1) + events + constants + metadata


def rows(blocks, *parts):
    """A row for each number from 0 to 16384 * blocks, which is between the parts as a varint of 4 bytes; the largest
    block first."""
    n = 16384
    row = b"\x80\x80\x80\0".join(parts)
    at = [sum(map(len, parts[:i + 1])) + 4 * i for i in range(len(parts) - 1)]
    block = bytearray(row * n)
    out = []
    for i in reversed(range(blocks)):
        for k in at:
            block[k::len(row)] = bytes(0x80 | i & 127 for i in range(n))
            block[k + 1::len(row)] = bytes(0x80 | i >> 7 for i in range(n))
            block[k + 2::len(row)] = bytes([0x80 | i & 127]) * n
            block[k + 3::len(row)] = bytes([i >> 7]) * n
        out.append(bytes(block))
    return b"".join(out)


def jfr_keys_in_no_order():
    return jfr(b"", [(28, 16384 * 700, rows(700, b"", b"\1"))])


def jfr_description():
    fields = tuple((f"f{i}", 11, 0, 0) for i in range(60000))
    return jfr(b"", [], CLASSES | {i: (f"c{i}", fields) for i in range(100, 120)})


def jfr_deep_stacks():
    frames = b"\1\0" * 999999
    stacks = b"".join(varint(i + 1) + varint(1000000) + frames + varint(i + 1) + b"\0" for i in range(40))
    methods = b"".join(varint(i) + text(f"f{i}") for i in range(1, 41))
    events = b"".join(event(40, b"\1\0" + varint(i + 1)) for i in range(40))
    return jfr(events, [(28, 40, methods), (26, 40, stacks)])


def jfr_threads():
    """An event is its size, its class, its time, the thread and no stack; a thread has no name and a tid."""
    return jfr(rows(190, b"\x08\x28\1", b"\0"), [(22, 16384 * 190, rows(190, b"", b"\1", b""))])


def jfr_blocks():
    return jfr(rows(600, b"\x08\x29\1", b"\1"), [])


def jfr_labels():
    """Each sample has another label."""
    events = rows(190, b"\x0c\x2a\1\1\3\4", b"\1\1\5\x2b\1\1\1")
    return jfr(events, [(22, 1, b"\1\1\5")], CLASSES | LABELS)


def a_bomb():
    return gzip.compress(b"a;b 1\n" + bytes(600 << 20), 1)


def peak_kib(kymo, path):
    """(most memory, exit status, standard error) of kymo report."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write, 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.execv(kymo, [kymo, "report", "-q", path])
    os.close(write)
    with os.fdopen(read) as f:
        text = f.read()
    _, status, usage = os.wait4(pid, 0)
    return usage.ru_maxrss, os.waitstatus_to_exitcode(status), text


FILES = (many_values, ids_in_no_order, deep_stacks, long_columns, many_threads, distinct_stacks, a_bomb,
         jfr_keys_in_no_order, jfr_description, jfr_deep_stacks, jfr_threads, jfr_blocks, jfr_labels)


def main():
    kymo = os.path.abspath(sys.argv[1])
    by_name = {make.__name__: make for make in FILES}
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for make in [by_name[name] for name in sys.argv[2:] or by_name]:
            path = os.path.join(folder, make.__name__)
            with open(path, "wb") as f:
                f.write(make())
            kib, status, text = peak_kib(kymo, path)
            print(f"{make.__name__}: {os.path.getsize(path) >> 20} MiB, {kib >> 10} MiB of memory, status {status}: "
                  f"{text.strip()}", flush=True)
            os.unlink(path)
            is_told = status == 0 and not text or status == 1 and len(text.splitlines()) == 1 and "MiB" in text
            failures += kib > MOST_KIB or not is_told
    return failures


if __name__ == "__main__":
    sys.exit(main())
