#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hostile.py KYMO - files that are made to take all memory: kymo report takes less than 512 MiB, and says one line.

Each file is small for what it would become: samples of 64 values, ids in no order, stacks of a million frames,
columns of zeros, distinct stacks, threads, gzip data of zeros.
"""
import gzip
import os
import random
import resource
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
    return TYPE + STRINGS + b"".join(field(4, b"\x08" + varint(i * 2 + 1)) for i in range(1, 4000000))


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


def main():
    kymo = os.path.abspath(sys.argv[1])
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for make in (many_values, ids_in_no_order, deep_stacks, long_columns, many_threads, distinct_stacks, a_bomb):
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
