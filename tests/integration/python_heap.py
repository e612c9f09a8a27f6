# SPDX-License-Identifier: Apache-2.0
"""Memory of Python's objects: those of Python's own allocator and those of malloc, each counted once, on every
interpreter that is there."""
import json
import os

from kymotest import KYMO, add_case, check, main, record, run, say
from pythons import find_interpreters, one_of_each_kind

PROGRAM = """
import os, sys
def kept(into, size):
    for i in range(len(into)): into[i] = bytes(size)
def temporary(n, size):
    for i in range(n): bytes(size)
def grown(into):
    for i in range(len(into)):
        b = bytearray(10)
        b.extend(bytes(100))
        into[i] = b
def freed(n):
    all = [bytes(90) for i in range(n)]
small, large, arrays = [None] * 1000, [None] * 500, [None] * 100
kept(small, 100)
kept(large, 1000)
temporary(1000, 100)
grown(arrays)
freed(1000)
print(sum(map(sys.getsizeof, small)), sum(map(sys.getsizeof, large)), sys.getsizeof(arrays[0]), flush=True)
if len(sys.argv) > 1 and os.fork() == 0:
    small.clear()
    os._exit(0)
elif len(sys.argv) > 1:
    os.wait()
os._exit(0)
"""


def sums(path, mode):
    """{function: (blocks, bytes)} of all that it and what it called asked for."""
    out = run([KYMO, "report", path, "--mode", mode, "--json", "--top", "0"])
    check(out.status == 0, out.stderr)
    return {row["name"]: (row["total"]["objects"], row["total"]["bytes"])
            for row in json.loads(out.stdout)["functions"] if (row["file"] or "").startswith("<string>")}


def exact(interpreter):
    """Every allocation is recorded: blocks and bytes are those that the program says."""
    for arguments in ([], ["fork"]):
        recording = record([interpreter.path, "-I", "-c", PROGRAM, *arguments], options=["--alloc=0"])
        result = recording.result
        check(result.status == 0, f"status {result.status}: {result.stderr}")
        small, large, array = map(int, result.stdout.split())
        live, asked = sums(recording.path, "live"), sums(recording.path, "alloc")
        say(f"live {live}, in all {asked}")
        if arguments:
            continue  # figures of both processes
        check(live["kept"] == (1500, small + large), f"kept: {live['kept']}, not {small + large} bytes")
        check(live["grown"][0] == 200 and live["grown"][1] <= 100 * (array + 16), f"grown: {live['grown']}, {array}")
        # Up to 3.10 a function keeps one frame.
        check("temporary" not in live and live.get("freed", (0, 0))[0] <= 1, f"what was freed lives: {live}")
        check(asked["temporary"][0] >= 1000 and asked["freed"][0] >= 1000, f"asked for: {asked}")
        check(asked["kept"][0] >= 1500, f"asked for: {asked}")


def sampled(interpreter):
    """The truth is in the interval, also of objects that make up many arenas."""
    program = ("import os\ndef make(n): return [bytes(67) for i in range(n)]\nkeep = make(200000)\nos._exit(0)\n")
    recording = record([interpreter.path, "-I", "-c", program], options=["--alloc=64k"])
    check(recording.result.status == 0, recording.result.stderr)
    out = run([KYMO, "report", recording.path, "--mode", "live", "--json", "--top", "0"])
    rows = [r["total"] for r in json.loads(out.stdout)["functions"] if r["name"] == "make"]
    true = 200000 * 100
    say(f"{rows[0]['bytes']:.0f} of {true} bytes")
    check(len(rows) == 1 and abs(rows[0]["bytes"] - true) < 0.4 * true, f"{rows}")
    memory = run([KYMO, "report", recording.path, "--mode", "memory", "--json"])
    check(memory.status == 0, memory.stderr)


def other_allocators(interpreter):
    """PYTHONMALLOC puts another one in its place: nothing is counted twice, and nothing breaks."""
    for allocator in ("malloc", "debug", "pymalloc"):
        recording = record([interpreter.path, "-c", PROGRAM], options=["--alloc=0"],
                           env={**os.environ, "PYTHONMALLOC": allocator})
        check(recording.result.status == 0, f"{allocator}: {recording.result.stderr}")
        small, large, _ = map(int, recording.result.stdout.split())
        live = sums(recording.path, "live").get("kept", (0, 0))
        say(f"{allocator}: {live}")
        if allocator == "malloc":
            check(live == (1500, small + large), f"{allocator}: {live}")


# A debug build has an allocator that checks blocks, and puts it in place of any other.
for interpreter in one_of_each_kind([i for i in find_interpreters() if not i.name.endswith("-debug")]):
    for case in (exact, sampled, other_allocators):
        add_case(f"{case.__name__}.{interpreter.name}", case, interpreter)
main()
