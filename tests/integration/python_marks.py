# SPDX-License-Identifier: Apache-2.0
"""Markers, counters and labels that a Python program makes by the package, on every interpreter that is there."""
from kymotest import add_case, check, main, record, run
from pythons import find_interpreters, one_of_each_kind
from traced import package_for, record_traced

PROGRAM = """
import asyncio, decimal, fractions, os, sys, threading, time, tracemalloc
import kymo
kymo.describe("request", "{method} {url}", url="url", size="bytes", took="duration", share="percentage")
before = kymo.now()
kymo.marker("plain")
kymo.marker("request", category="Network", since=before, method="GET", url="/\\u20ac", size=1 << 40, took=0.25, share=0.5)
kymo.marker("kinds", none=None, whole=-5, real=1.5, text="t", truth=True, huge=1 << 70, other=fractions.Fraction(1, 3))
kymo.marker("mixed", v=1)
kymo.marker("mixed", v=2.5)
kymo.marker("mixed", v=3)
kymo.marker("mixed", v="text")
kymo.marker("mixed", v=None)
kymo.marker("no words", **{"a b": 1})
class Bad:
    def __str__(self):
        raise RuntimeError
kymo.marker("bad", v=Bad())
kymo.marker("surrogate", v="\\udc80")
with kymo.scope("block", category="Work", n=1) as block:
    block.set(rows=2)
@kymo.scope(category="Work", k="v")
def plainly(a):
    return a + 1
@kymo.scope("awaited")
async def coroutine():
    await asyncio.sleep(0)
    return 3
@kymo.scope()
def generator():
    yield 1
    kymo.marker("in a generator")
    yield 2
    return 3
assert list(generator()) == [1, 2]
assert plainly(1) == 2 and plainly.__name__ == "plainly"
assert asyncio.run(coroutine()) == 3
try:
    with kymo.scope("left by an exception"):
        raise KeyError
except KeyError:
    pass
def caller():
    kymo.marker("with a stack", stack=True)
caller()
with kymo.label("tenant", "acme"):
    with kymo.label("n", 7):
        kymo.marker("both")
    kymo.marker("one label")
kymo.set_label("w", 1.5)
kymo.marker("set")
kymo.set_label("w", None)
kymo.marker("cleared")
def other():
    kymo.marker("in a thread")
thread = threading.Thread(target=other)
thread.start()
thread.join()
queue, sent, moved = kymo.counter("queue"), kymo.counter("sent", "total", unit="bytes"), kymo.counter("moved", "delta")
for i in range(5):
    queue.set(i)
    sent.add(100)
    moved.add(-1)
for i in range(1500):
    kymo.marker(f"name {i}", i=i)
for i in range(64):
    kymo.marker("many types", **{f"f{j}": j if i >> j & 1 else "t" for j in range(6)})
kymo.describe("described", n="integer", share="decimal")
tracemalloc.start()
for i in range(1000):
    kymo.marker("described", n=True, share=fractions.Fraction(1, 2))
    kymo.marker("described", n=1.5, share="text")
if tracemalloc.get_traced_memory()[0] > 50000:
    sys.exit(f"markers of one name have kept {tracemalloc.get_traced_memory()[0]} bytes")
tracemalloc.stop()
for wrong in (lambda: kymo.describe("x", a="nothing"), lambda: kymo.counter("x", "sum"), lambda: queue.add(1),
              lambda: sent.set(1)):
    try:
        wrong()
    except ValueError:
        pass
    else:
        sys.exit("no ValueError")
if os.fork() == 0:
    kymo.marker("in a child", n=1)
    os._exit(0)
os.wait()
for i in range(3000):
    kymo.marker("made up keys", **{f"k{i}": i})
    kymo.marker("made up categories", category=f"c{i}")
scope = kymo.scope("never left")
scope.__enter__()
print("done")
"""


def check_markers(recording):
    found = {}
    for marker in recording.firefox().all_markers():
        found.setdefault(marker.name, []).append(marker)

    def data(name):
        drop = ("type", "stack", "cause", "labels")
        return [{k: v for k, v in m.data.items() if k not in drop} for m in found.get(name, [])]

    for name in ("plain", "both", "one label", "set", "cleared", "in a thread", "awaited", "left by an exception",
                 "with a stack", "no words", "generator"):
        check(data(name) == [{}], f"{name}: {data(name)}")
    check(data("request") == [{"method": "GET", "url": "/\u20ac", "size": 1 << 40, "took": 250, "share": 0.5}],
          f"{data('request')}")
    check(data("kinds") == [{"whole": -5, "real": 1.5, "text": "t", "truth": "True", "huge": str(1 << 70),
                             "other": "1/3"}], f"{data('kinds')}")
    check(data("mixed") == [{"v": 1}, {"v": 2.5}, {"v": 3}, {"v": "text"}, {}], f"{data('mixed')}")
    check(data("bad") == [{}] and data("surrogate") == [{}], f"{data('bad')} {data('surrogate')}")
    check(data("block") == [{"n": 1, "rows": 2}], f"{data('block')}")
    check(data("plainly") == [{"k": "v"}], f"{data('plainly')}")
    check(data("in a child") == [{"n": 1}], f"{data('in a child')}")
    labels = {name: found[name][0].data.get("labels") for name in ("both", "one label", "set", "cleared")}
    check(labels == {"both": "n=7 tenant=acme", "one label": "tenant=acme", "set": "w=1.5", "cleared": None}, f"{labels}")
    named = [data(f"name {i}") for i in range(1500)]
    check(named == [[{"i": i}] for i in range(1500)], "not each of 1500 names has its marker")
    check(data("described") == [{"n": 1, "share": 0.5}, {}] * 1000, f"{data('described')[:3]}")
    types = data("many types")
    check(len(types) == 64 and types[1]["f0"] == 0 and types[-1] == {f"f{j}": str(j) for j in range(6)},
          f"{types[-1:]}")
    keys = data("made up keys")
    check(len(keys) == 3000 and keys[0] == {"k0": 0} and keys[-1] == {}, f"{len(keys)}: {keys[:1]}, {keys[-1:]}")
    check(len(found["made up categories"]) == 3000, f"{len(found['made up categories'])} made-up categories")
    inside, around = found["in a generator"][0], found["generator"][0]
    check(around.start_ns <= inside.start_ns <= around.end_ns, "the interval of a generator ends where it is made")
    stack = [frame.name for frame in found["with a stack"][0].frames]
    check("caller" in stack, f"the marker's stack is {stack}")
    values = {name: [value for _, value in recording.firefox().counter(name) or []][-1:] for name in
              ("queue", "sent", "moved")}
    check(values == {"queue": [4], "sent": [500], "moved": [-5]}, f"counters: {values}")
    check("never left" in found, "an open scope is not shown")


def marks(interpreter):
    """Sampled or traced; alone the program does the same."""
    python = package_for(interpreter)
    alone = run([python, "-c", PROGRAM])
    check((alone.status, alone.stdout) == (0, "done\n"), f"alone: {alone.status} {alone.stdout}{alone.stderr}")
    for how in (record, record_traced):
        recording = how([python, "-c", PROGRAM])
        result = recording.result
        check((result.status, result.stdout) == (0, "done\n"), f"{result.status}: {result.stdout}{result.stderr}")
        check_markers(recording)


SAME = """
import kymo, sys
def scope_sets(**fields):
    with kymo.scope("s") as scope:
        scope.set(**fields)
for name, wrong in {
        "name": lambda: kymo.marker(5),
        "category": lambda: kymo.marker("a", category=5),
        "fields": lambda: kymo.marker("a", **{f"k{i}": i for i in range(65)}),
        "scope": lambda: kymo.scope().__enter__(),
        "scope's category": lambda: scope_sets(category="c"),
        "scope's fields": lambda: scope_sets(**{f"k{i}": i for i in range(64)}),
        "scope's first fields": lambda: kymo.scope("s", **{f"k{i}": i for i in range(64)}),
        "unit": lambda: kymo.counter("a", unit=5),
        "counter's name": lambda: kymo.counter("\\udc80"),
        "counter's category": lambda: kymo.counter("a", category=5)}.items():
    try:
        wrong()
    except (TypeError, ValueError) as why:
        print(name, type(why).__name__)
kymo.counter("a", category="").set(1)
kymo.marker("a", **{f"k{i}": i for i in range(64)})
scope_sets(**{f"k{i}": i for i in range(63)})
"""


def same_exceptions(interpreter):
    """What is called wrongly raises the same with and without a recorder."""
    python = package_for(interpreter)
    alone, recorded = run([python, "-c", SAME]), record([python, "-c", SAME]).result
    check((alone.status, alone.stdout) == (recorded.status, recorded.stdout) and alone.status == 0 and
          len(alone.stdout.splitlines()) == 10,
          f"alone: {alone.stdout}{alone.stderr}recorded: {recorded.stdout}{recorded.stderr}")


STOPPED = """
import kymo, os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
class Text:
    def __str__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        return "text"
class Number:
    def __index__(self):
        raise KeyboardInterrupt
try:
    kymo.marker("number", v=Number())
except KeyboardInterrupt:
    {"marker": lambda: kymo.marker("text", v=Text()), "label": lambda: kymo.set_label("k", Text())}[sys.argv[1]]()
"""


def stopped(interpreter):
    """A signal's handler that ends the program may run in a method of a value."""
    for what in ("marker", "label"):
        result = record([package_for(interpreter), "-c", STOPPED, what]).result
        check(result.status == 7, f"{what}: status {result.status}: {result.stderr}")


for interpreter in one_of_each_kind(find_interpreters(), checked=True):
    add_case(f"same_exceptions.{interpreter.name}", same_exceptions, interpreter)
    add_case(f"stopped.{interpreter.name}", stopped, interpreter)
    add_case(f"marks.{interpreter.name}", marks, interpreter)
main()
