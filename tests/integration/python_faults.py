# SPDX-License-Identifier: Apache-2.0
"""Faults that tracers of Python are known for, one case each: the program does what it does untraced, and the
recording has all of it."""
import collections
import json
import os
import subprocess

from kymotest import (KYMO, add_case, check, folder, main, record, record_command, run, say, skip, wait_until)
from pythons import find_interpreters, one_of_each_version, some_of
from traced import BEGINS, CALL, DUMP, ENDS, NATIVE, OPEN, Calls, package_for, record_traced

INTERPRETERS = find_interpreters()
# One with a profile function, and one with sys.monitoring.
TESTED = some_of(INTERPRETERS)

HOME = folder()

WORK = """
def leaf(i): return i
def work(n):
    for i in range(n): leaf(i)
"""


def script(text):
    path = HOME / "program.py"
    path.write_text(WORK + text)
    return path


def traced(interpreter, text, *arguments, **how):
    """The recording of a program, which says and returns what it does untraced."""
    python, path = package_for(interpreter), script(text)
    plain = run([python, path, *arguments])
    recording = record_traced([python, path, *arguments], **how)
    result = recording.result
    check((result.status, result.stdout) == (plain.status, plain.stdout),
          f"alone {plain.status}, {plain.stdout!r}, {plain.stderr}; traced {result.status}, {result.stdout!r}, "
          f"{result.stderr}")
    return recording


def calls_of(calls, name):
    """How often a function of this name was called."""
    return sum(1 for c in calls.calls if c.kind == CALL and c.function and c.function.name == name)


def expect_leaves(recording, n):
    calls = Calls(recording.path)
    seen = calls_of(calls, "leaf")
    check(seen == n, f"{seen} of {n} calls were recorded")
    return calls


def markers(recording, category):
    out = run([KYMO, "report", recording.path, "--mode", "markers", "--json"])
    check(out.status == 0, f"kymo report: {out.stderr}")
    return [row for row in json.loads(out.stdout)["markers"] if row["category"] == category]


def firefox(recording):
    path = HOME / "profile.json"
    out = run([KYMO, "convert", recording.path, "-q", "-f", "-o", path])
    check(out.status == 0, f"kymo convert: {out.stderr}")
    return path.read_text()


# ---- what the program keeps ----

def objects_die(interpreter):
    traced(interpreter, """
import weakref
class Thing: pass
alive = []
def make():
    thing = Thing()
    alive.append(weakref.ref(thing))
for i in range(10000): make()
print(sum(1 for r in alive if r() is not None))
""")


def files_close(interpreter):
    traced(interpreter, """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
def read():
    f = open(__file__)
    return f.read(10)
for i in range(2000): read()
print("done")
""")


def memory_is_given_back(interpreter):
    traced(interpreter, """
import resource
def fill():
    block = bytearray(1 << 20)
    block[::4096] = bytes(256)
for i in range(500): fill()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 150 << 10)
""")


def recursion_limit(interpreter):
    recording = traced(interpreter, """
import sys
print(sys.getrecursionlimit())
deepest = 0
def down(n):
    global deepest
    deepest = n
    down(n + 1)
try:
    down(1)
except RecursionError:
    print(deepest)
sys.setrecursionlimit(20000)
def count(n): return n and 1 + count(n - 1)
print(count(15000))
""")
    calls = Calls(recording.path)
    calls.check_balance()
    check(calls_of(calls, "count") == 15001, "calls are missing")


# ---- times ----

def self_times(interpreter):
    """What only calls has no time of its own, and the times of a thread add up to its time."""
    recording = traced(interpreter, """
import time
def spin(s):
    end = time.perf_counter() + s
    while time.perf_counter() < end: pass
def outer(): inner()
def inner(): spin(0.05)
outer()
""")
    out = run([KYMO, "report", recording.path, "--mode", "trace", "--json", "--top", "0"])
    functions = json.loads(out.stdout)["functions"]
    rows = {row["name"]: row for row in functions}
    say(f"outer {rows['outer']['self']} ns of its own, {rows['outer']['total']} in all")
    check(rows["outer"]["self"] < 0.02 * rows["outer"]["total"], f"outer: {rows['outer']}")
    check(rows["outer"]["total"] >= 50000000, f"outer: {rows['outer']}")
    # Between calls, while the interpreter starts, no time is a function's.
    inside, depth, before = 0, 0, 0
    for call in Calls(recording.path).calls:
        inside += call.time_ns - before if depth else 0
        depth = call.depth if call.kind in BEGINS else call.depth - 1 if call.kind in ENDS else 0
        before = call.time_ns
    total = sum(row["self"] for row in functions)
    check(total >= 0.999 * inside > 0, f"{total} of {inside} ns are accounted for")


# ---- what happens beside calls ----

def exceptions(interpreter):
    recording = traced(interpreter, """
def fail(i):
    if i % 2: raise ValueError("odd")
    return int("none")
def passes(i): fail(i)
for i in range(200):
    try: sorted([1], key=lambda x: passes(i))
    except ValueError: pass
""")
    # Those of the start are there, too.
    rows = markers(recording, "Exceptions")
    text = firefox(recording)
    say(f"{rows[0]['count']} exceptions")
    check(200 <= rows[0]["count"] < 230, f"{rows}")
    check('"odd"' in text and '"ValueError"' in text and "program.py" in text, "type, text or file is missing")


ALL_EXCEPTIONS = {**os.environ, "KYMO_TRACE_PYTHON": "exceptions=yes"}


def exceptions_die(interpreter):
    """With their frames, as soon as they are caught."""
    for env in (os.environ, ALL_EXCEPTIONS):
        traced(interpreter, """
import sys, weakref
class Wrong(Exception):
    def __init__(self): alive.append(weakref.ref(self))
class Local(Wrong): pass
alive = []
def fail():
    local = Local()
    raise Wrong
def passes(): fail()
for i in range(100):
    try: passes()
    except Wrong: pass
    print(sum(1 for r in alive if r() is not None), end=" ")
print(sys.exc_info())
""", env=env)


def other_tracers(interpreter):
    """A trace function of the program, of Python or C, works, and none is there if the program has none. Ours
    gives way, and comes back."""
    for env in (os.environ, ALL_EXCEPTIONS):
        recording = traced(interpreter, """
import bdb, ctypes, sys, threading
def fail(i):
    try: raise ValueError(i)
    except ValueError: pass
    return sys._getframe()
def fails(n):
    for i in range(n): frame = fail(i)
    return frame
frame = fails(50)
print(sys.gettrace(), frame.f_trace, frame.f_trace_lines, frame.f_trace_opcodes)

seen = []
def mine(frame, event, arg):
    if frame.f_code in (fail.__code__, fails.__code__): seen.append((event, frame.f_lineno))
    return mine
sys.settrace(mine)
print(sys.gettrace() is mine)
fails(2)
sys.settrace(None)
print(sys.gettrace(), seen)
fails(50)

# From within a frame that runs already, as debuggers do.
def attached():
    sys._getframe().f_trace = mine
    sys.settrace(mine)
    x = 1
    x = 2
    sys.settrace(None)
def generator():
    yield 1
    x = 1
    yield x
seen.clear()
codes = (attached.__code__, generator.__code__)
def lines(frame, event, arg):
    if frame.f_code in codes: seen.append((event, frame.f_lineno))
    return lines
mine = lines
attached()
g = generator()
next(g)
sys.settrace(lines)
next(g)
sys.settrace(None)
print(seen)

class Debugger(bdb.Bdb):
    def user_line(self, frame):
        if frame.f_code is fail.__code__: stops.append(frame.f_lineno)
    def user_exception(self, frame, info): stops.append(info[0].__name__)
stops = []
Debugger().runcall(fails, 2)
print(stops, sys.gettrace())

seen.clear()
codes = (fails.__code__, fail.__code__)
threading.settrace(lines)
thread = threading.Thread(target=fails, args=(1,))
thread.start()
thread.join()
threading.settrace(None)
print(seen)

# In C: its function takes a frame and what has happened. 1 is an exception, 2 a line.
counts = [0] * 8
@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_int, ctypes.c_void_p)
def in_c(unused, frame, what, arg):
    if frame.f_code is fail.__code__: counts[what] += 1
    return 0
ctypes.pythonapi.PyEval_SetTrace.argtypes = ctypes.c_void_p, ctypes.c_void_p
ctypes.pythonapi.PyEval_SetTrace(ctypes.cast(in_c, ctypes.c_void_p), None)
fails(5)
ctypes.pythonapi.PyEval_SetTrace(None, None)
print(counts, sys.gettrace())

# A trace function that fails is taken away by CPython.
def wrong(frame, event, arg): raise RuntimeError("in a trace function")
sys.settrace(wrong)
try: fail(1)
except RuntimeError as e: print(e)
print(sys.gettrace())
fails(50)
""", env=env)
        rows = markers(recording, "Exceptions")
        least = 0 if env is os.environ and interpreter.version in ("3.10", "3.11") else 150
        count = rows[0]["count"] if rows else 0
        say(f"{count} exceptions")
        check(count >= least, f"{count} of {least} exceptions")


def collections_are_marked(interpreter):
    recording = traced(interpreter, """
import gc
gc.disable()
for i in range(5): gc.collect()
""")
    rows = markers(recording, "GarbageCollection")
    check(rows and rows[0]["count"] >= 5, f"collections: {rows}")


def log_records(interpreter):
    recording = traced(interpreter, """
import logging
logger = logging.getLogger("mine")
logger.setLevel(logging.INFO)
for i in range(10):
    logger.info("mod %d", i % 3)
    logger.warning("plain")
    logger.debug("not wanted")
""")
    rows = markers(recording, "Logs")
    check(rows and rows[0]["count"] == 20, f"log records: {rows}")
    check('"mod 0"' in firefox(recording), "the text is not formatted")


def logging_is_unchanged(interpreter):
    """Handlers see the same callers, also in what logging says of a record that cannot be formatted."""
    recording = traced(interpreter, """
import logging, sys, traceback
sys.stderr = sys.stdout
class Handler(logging.StreamHandler):
    def emit(self, record):
        print(len(traceback.extract_stack()))
        super().emit(record)
class Record(logging.LogRecord):
    @property
    def levelname(self): print("asked"); return self.__dict__["levelname"]
    @levelname.setter
    def levelname(self, name): self.__dict__["levelname"] = name
logging.setLogRecordFactory(Record)
logger = logging.getLogger("mine")
logger.addHandler(Handler(sys.stdout))
logger.warning("number %d", 5)
logger.warning("not a number: %d", "x")
logger.warning(RuntimeError("not text"))
print(logging.Logger.handle.__code__.co_filename == logging.__file__)
""")
    rows = markers(recording, "Logs")
    check(rows and rows[0]["count"] == 3, f"log records: {rows}")
    check("number 5" in firefox(recording), "the text is not formatted")


def own_modules(interpreter):
    """A program's modules may have names of the standard library."""
    traced(interpreter, """
import os, sys
own = os.path.join(os.path.dirname(__file__), "own")
os.makedirs(own, exist_ok=True)
for name in ("contextlib", "functools", "logging", "collections", "types"):
    with open(os.path.join(own, name + ".py"), "w") as f: f.write("print('mine')\\n")
early = [name for name in ("contextlib", "functools", "logging") if name in sys.modules]
sys.path.insert(0, own)
import contextlib, functools, logging
print(early, [os.path.dirname(m.__file__) == own for m in (contextlib, functools, logging)])
""")


def imports(interpreter):
    recording = traced(interpreter, """
import importlib
importlib.import_module("colorsys")
import colorsys, wave
""")
    rows = markers(recording, "Imports")
    check(rows and rows[0]["count"] >= 2 and rows[0]["total"] > 0, f"imports: {rows}")
    text = firefox(recording)
    check('"colorsys"' in text and '"wave"' in text, "a module is missing")


# ---- the start ----

LOADED = """
import sys
print(sorted({"inspect", "signal", "subprocess", "threading"} & set(sys.modules)))
import kymo
assert kymo.now() and callable(kymo.dump) and "scope" in dir(kymo)
try:
    kymo.nothing
except AttributeError:
    print("done")
"""


def little_is_loaded(interpreter):
    """The start of an interpreter does not load what only markers and dumps need."""
    result = record_traced([package_for(interpreter), "-c", LOADED]).result
    check((result.status, result.stdout) == (0, "[]\ndone\n"), f"{result}")


# ---- threads ----

def threads(interpreter):
    """One that runs already, one of _thread, one that lives to the end, with their names."""
    recording = traced(interpreter, """
import kymo, threading, _thread, time, os
kymo.stop()
go, done = threading.Event(), threading.Event()
def waits():
    go.wait()
    work(1000)
    done.set()
threading.Thread(target=waits, name="ran before").start()
kymo.start()
go.set()
done.wait()
raw = threading.Lock()
raw.acquire()
def bare():
    work(1000)
    raw.release()
_thread.start_new_thread(bare, ())
raw.acquire()
quiet = threading.Event()
def stays():
    work(1000)
    quiet.set()
    time.sleep(1000)
threading.Thread(target=stays, name="stays", daemon=True).start()
quiet.wait()
""")
    expect_leaves(recording, 3000)
    names = {row["name"] for row in json.loads(
        run([KYMO, "report", recording.path, "--by", "thread", "--json"]).stdout)["threads"]}
    check("stays" in names, f"threads are called {names}")


def tasks(interpreter):
    recording = traced(interpreter, """
import asyncio
async def step(n):
    for i in range(5):
        work(200)
        await asyncio.sleep(0)
async def main():
    await asyncio.gather(*(asyncio.ensure_future(named(i)) for i in range(10)))
async def named(i):
    asyncio.current_task().set_name(f"job {i}")
    await step(i)
asyncio.run(main())
""")
    dump = run([DUMP, recording.path]).stdout
    named = {line.split('text="')[1].split('"')[0] for line in dump.splitlines()
             if line.startswith("label") and 'key="asyncio task"' in line and 'text="' in line}
    check({f"job {i}" for i in range(10)} <= named, f"tasks: {sorted(named)}")


# ---- processes ----

def forks(interpreter):
    """A child that outlives its parent, and a pool."""
    expect_leaves(traced(interpreter, """
import os, time
if os.fork() == 0:
    time.sleep(0.2)
    work(1000)
    os._exit(0)
"""), 1000)
    expect_leaves(traced(interpreter, """
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(work, [1000, 1000])
"""), 2000)


def spawns(interpreter):
    for way in ("spawn", "forkserver"):
        expect_leaves(traced(interpreter, f"""
import multiprocessing
if __name__ == "__main__":
    processes = [multiprocessing.get_context("{way}").Process(target=work, args=(500,)) for i in range(2)]
    for p in processes: p.start()
    for p in processes: p.join()
"""), 1000)


def children(interpreter):
    recording = traced(interpreter, """
import subprocess, sys
code = "def leaf(i): return i\\nfor i in range(500): leaf(i)\\n"
for words in ([sys.executable, "-c", code], [sys.executable, "-X", "dev", "-c", code],
              [sys.executable, "-m", "timeit", "-n", "1", "-r", "1", "pass"],
              ["python3", "-c", code]):
    print(subprocess.run(words, stdout=subprocess.DEVNULL).returncode)
""")
    say(f"{calls_of(Calls(recording.path), 'leaf')} calls")
    check(calls_of(Calls(recording.path), "leaf") >= 1000, "calls of children are missing")


def exec_and_kill(interpreter):
    expect_leaves(traced(interpreter, """
import os, sys
work(100)
os.execv("/bin/true", ["true"])
"""), 100)
    expect_leaves(traced(interpreter, """
import os, signal
work(100000)
os.kill(os.getpid(), signal.SIGKILL)
"""), 100000)
    expect_leaves(traced(interpreter, """
import os
work(1000)
os._exit(3)
"""), 1000)


# ---- who else is there ----

def other_profilers(interpreter):
    """The program's own profile function does not end the trace, nor does ours end it."""
    recording = traced(interpreter, """
import sys
seen = []
def mine(frame, event, arg): seen.append(event)
work(500)
sys.setprofile(mine)
print(sys.getprofile() is mine)
work(500)
sys.setprofile(None)
print(sys.getprofile(), seen.count("call"), seen.count("c_call"))
work(500)
""")
    expect_leaves(recording, 1500)


def profile_module(interpreter):
    """The profiler in pure Python checks that each return has a call."""
    if interpreter.version >= "3.12":
        skip("from 3.12 on CPython tells it of the return from sys.setprofile, if any tool is told of calls")
    traced(interpreter, """
import profile, sys
events = []
def hook(frame, event, arg): events.append((event, getattr(arg, "__name__", None)))
sys.setprofile(hook)
work(2)
sys.setprofile(hook)
sys.setprofile(None)
print(events)
p = profile.Profile()
p.runcall(work, 10)
p.create_stats()
print(sorted((name, row[:2]) for (_, _, name), row in p.stats.items() if name[0] != "<"))
""")


def replaced(interpreter):
    """A profiler in C works; where it takes our place, that is said."""
    recording = traced(interpreter, """
import cProfile
work(100)
p = cProfile.Profile()
p.enable()
work(100)
p.disable()
work(100)
print(sum(1 for e in p.getstats()) > 2)
""")
    seen = calls_of(Calls(recording.path), "leaf")
    said = markers(recording, "Tracing")
    check(seen == 300 or (seen == 100 and said), f"{seen} of 300 calls, {said}")


def descriptors(interpreter):
    recording = traced(interpreter, """
import os
work(100)
os.closerange(3, 256)
work(100)
print("runs")
""")
    expect_leaves(recording, 200)


def standard_input(interpreter):
    python, path = package_for(interpreter), script("import sys\nwork(10)\nprint(len(sys.stdin.read()))\n")
    for given in (subprocess.DEVNULL, None):
        argv = record_command([python, path], folder() / "in.kymo", options=["--trace=python"])
        out = subprocess.run(argv, stdin=given if given else subprocess.PIPE, input=None, capture_output=True,
                             text=True, timeout=300)
        check((out.returncode, out.stdout) == (0, "0\n"), f"{out.returncode}, {out.stdout!r}, {out.stderr}")


def recorder_dies(interpreter):
    python = package_for(interpreter)
    path = script("""
import os, signal, sys
work(1000)
os.kill(os.getppid(), signal.SIGKILL)
for i in range(20): work(1000)
open(sys.argv[1], "w").write("ran to its end")
""")
    result = folder() / "result"
    argv = record_command([python, path, result], folder() / "dies.kymo", options=["--trace=python"])
    subprocess.run(argv, capture_output=True, timeout=300)
    wait_until("has the program ended", result.exists)


# ---- functions ----

def functions(interpreter):
    """A generator is one function; what exec runs, and modules, are Python's, with lines."""
    recording = traced(interpreter, """
def generator():
    yield 1
    yield 2
    yield 3
print(list(generator()))
exec(compile("def inside(): return 1\\nfor i in range(50): inside()", "made.py", "exec"))
""")
    calls = Calls(recording.path)
    # A CPU sample may have been taken in one of them: it defines the function for itself.
    called = {id(c.function): c.function for c in calls.calls if c.function}.values()
    of = collections.Counter((f.name, f.file) for f in called)
    check(of["generator", str(HOME / "program.py")] == 1, f"generator: {of}")
    inside = [f for f in called if f.name == "inside"]
    check(len(inside) == 1 and inside[0].file == "made.py" and inside[0].line == 1 and
          inside[0].language != NATIVE, f"{inside}")
    check(calls_of(calls, "inside") == 50, "calls of it are missing")


# ---- what is left out when asked ----

def filters(interpreter):
    """Functions that are left out are; what is wrong is said, and the program runs."""
    program = """
import json
def order(): return json.loads("[1, 2, 3]")
for i in range(100): order()
work(10)
"""
    def seen(options):
        recording = traced(interpreter, program, env={**os.environ, "KYMO_TRACE_PYTHON": options})
        calls = Calls(recording.path)
        calls.check_balance()
        files = {c.function.file for c in calls.calls if c.function and c.function.language != NATIVE}
        natives = sum(1 for c in calls.calls if c.function and c.function.language == NATIVE)
        deepest = max((c.depth for c in calls.calls), default=0)
        return calls_of(calls, "order"), calls_of(calls, "loads"), files, natives, deepest, recording

    everything = seen("1")
    check(everything[0] == 100 and everything[1] == 100 and everything[3] > 0 and
          not any("site-packages/kymo" in f for f in everything[2]), f"{everything}")
    own = seen("library=no")
    check(own[:2] == (100, 0) and not any("json" in f or "frozen" in f for f in own[2]), f"{own}")
    check(markers(own[5], "Imports"), "imports of modules of the library are not marked")
    check(seen("natives=no")[3] == 0, "native calls are there")
    check(seen("include=*/program.py,depth=2")[4] <= 2, "calls are deeper than 2")
    check(seen("exclude=*/json/*")[:2] == (100, 0), "functions of json are there")
    check(seen("off")[0] == 0, "it is traced")
    wrong = seen("depths=3")
    check(wrong[0] == 0 and "'depths=3' is unknown" in wrong[5].result.stderr, wrong[5].result.stderr)


def filters_change(interpreter):
    """What one block leaves out is there in the next one."""
    recording = traced(interpreter, """
import kymo
for hidden in ({"include": ["/nowhere/*"]}, {}, {"include": ["/nowhere/*"]}, {"library": False}):
    with kymo.traced(**hidden): work(10)
""", env={**os.environ, "KYMO_TRACE_PYTHON": "off"})
    calls = expect_leaves(recording, 20)
    # A sample tells of it, too, by another number.
    told = {id(c.function) for c in calls.calls if c.function and c.function.name == "leaf"}
    check(len(told) == 1, f"it is told of {len(told)} times")


def blocks(interpreter):
    """Blocks in blocks, in functions that call themselves, in threads; a block ends nothing that ran before.
    Pauses end with what they are of."""
    env = {**os.environ, "KYMO_TRACE_PYTHON": "off"}
    expect_leaves(traced(interpreter, """
import kymo, threading
work(1000)
with kymo.traced(library=False):
    with kymo.traced(): work(1)
    work(10)
work(1000)
@kymo.traced()
def again(n):
    if n: again(n - 1)
    work(1)
again(9)
work(1000)
inside, outside = threading.Event(), threading.Event()
def other():
    with kymo.traced():
        inside.set()
        outside.wait()
        work(50)
thread = threading.Thread(target=other)
thread.start()
inside.wait()
with kymo.traced(): work(5)
outside.set()
thread.join()
work(1000)
try:
    with kymo.traced(): raise KeyError
except KeyError: work(1000)
""", env=env), 1 + 10 + 10 + 50 + 5)
    expect_leaves(traced(interpreter, """
import kymo
kymo.resume(); kymo.pause(); kymo.resume()  # of nothing
work(1000)
kymo.start(exclude=("*nothing*",))
work(1)
kymo.pause(); kymo.pause()
work(1000)
kymo.resume(); kymo.resume()
work(10)
with kymo.traced():
    work(100)
    kymo.pause()
    work(1000)
work(1000)
kymo.resume()
work(50)
kymo.pause()
kymo.stop()
kymo.resume()
work(1000)
with kymo.traced():
    work(5)
    kymo.pause()
kymo.resume()
work(1000)
""", env=env), 1 + 10 + 100 + 50 + 5)
    expect_leaves(traced(interpreter, """
import kymo
kymo.start()
with kymo.traced(): work(1)
work(10)
kymo.stop()
work(1000)
with kymo.traced():
    kymo.start()
work(100)
""", env=env), 111)


# Nothing is read meanwhile: what is short finds no room from three quarters of the buffer on.
PRESSED = """
import os, signal, time
def long():
    end = time.perf_counter() + 0.005
    while time.perf_counter() < end: pass
kymo = os.getppid()
os.kill(kymo, signal.SIGSTOP)
try:
    for i in range(40):
        work(2000)
        long()
finally:
    os.kill(kymo, signal.SIGCONT)
"""


def short_calls_make_room(interpreter):
    """Where the recorder does not keep up, calls are left out that are short, and all are counted."""
    recording = traced(interpreter, PRESSED, options=["--buffer=1m"],
                       env={**os.environ, "KYMO_TRACE_PYTHON": "natives=no"})
    calls = Calls(recording.path)
    calls.check_balance()
    losses = recording.report().lost()
    left_out = losses.get("traced calls: short, buffer nearly full", 0)
    kept = calls_of(calls, "leaf")
    say(f"{kept} of 80000 calls, lost {losses}")
    check(losses.get("traced calls: buffer full", 0) == 0, f"{losses}")
    check(0 < left_out <= 80000 and kept + left_out == 80000, f"{kept} of 80000 calls, {left_out} left out")
    check(calls_of(calls, "long") == 40 and calls_of(calls, "work") == 40, "long calls are missing")


def started_by_python(interpreter):
    """python -m kymo: a script, a module, code, standard input."""
    python, home = package_for(interpreter), folder()
    path = script("import sys\nwork(50)\nprint(sys.argv[1:])\n")
    env = {**os.environ, "PATH": f"{KYMO.parent}:{os.environ['PATH']}"}
    for words, given, says in (([path, "a", "-b"], "", "['a', '-b']\n"), (["-c", "print(1)"], "", "1\n"),
                               (["-m", "calendar", "2024", "2"], "", None), (["-"], "print(2)", "2\n")):
        out = subprocess.run([python, "-m", "kymo", "-q", "-f", "-o", home / "m.kymo", *words], env=env,
                             input=given, capture_output=True, text=True, timeout=300)
        check(out.returncode == 0 and says in (out.stdout, None), f"{words}: {out}")
        check(len(Calls(home / "m.kymo").calls) > 0, f"{words}: no calls")


def flight_recorder(interpreter):
    """The newest calls, with their callers: at the end, by a call, by a signal, by an exception in a thread."""
    home = folder()
    python, path = package_for(interpreter), script("""
import glob, kymo, os, pathlib, signal, sys, threading
home = sys.argv[1]
kymo.dump_on(signal.SIGUSR2, pathlib.Path(home) / "signal.kymo")
kymo.dump_on(ValueError, home + "/{time}.thread.kymo")
def serve():
    work(30000)
    kymo.dump(home + "/call.kymo")
    os.kill(os.getpid(), signal.SIGUSR2)
    def fail(): raise ValueError("of the program")
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    try:
        kymo.dump(home + "/none/x.kymo")
    except OSError as why:
        print("none" in str(why))
    work(30000)
serve()
""")
    env = {**os.environ, "PATH": f"{KYMO.parent}:{os.environ['PATH']}"}
    recording = record_traced([python, path, home], options=["--ring=64K"], env=env)
    result = recording.result
    check((result.status, result.stdout) == (0, "True\n"), f"{result.status}: {result.stdout}{result.stderr}")
    check("ValueError: of the program" in result.stderr, f"the program's own words: {result.stderr}")
    threads = list(home.glob("*.thread.kymo"))
    check(len(threads) == 1 and "{" not in threads[0].name, f"{threads}")
    for path in (home / "call.kymo", home / "signal.kymo", *threads, recording.path):
        calls = Calls(path)
        calls.check_balance()
        first = [call.function.name for call in calls.calls if call.kind == OPEN][:2]
        check(first == ["<module>", "serve"], f"{path}: it begins in {first}")
        check(0 < calls_of(calls, "leaf") < 30000, f"{path}: {calls_of(calls, 'leaf')} calls")
    alone = run([python, "-c", "import kymo\ntry: kymo.dump('x.kymo')\nexcept OSError: print('no recorder')"], env=env)
    check((alone.status, alone.stdout) == (0, "no recorder\n"), f"{alone.status}: {alone.stdout}{alone.stderr}")
    busy = run([python, "-c", """
import kymo, os, signal, sys
class Busy:
    def write(self, text): raise RuntimeError("reentrant call")
    def flush(self): pass
kymo.dump_on(signal.SIGUSR2, "x.kymo")
sys.stderr = Busy()
os.kill(os.getpid(), signal.SIGUSR2)
print("went on")
"""], env=env)
    check((busy.status, busy.stdout) == (0, "went on\n") and "kymo: no dump: " in busy.stderr,
          f"{busy.status}: {busy.stdout}{busy.stderr}")


# ---- files ----

def pstats_file(interpreter):
    """Python's own reader has the counts and times of each function, and of each caller."""
    recording = traced(interpreter, """
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def twice(): return fib(10), fib(5)
twice()
work(100)
""")
    path = folder() / "x.pstats"
    out = run([KYMO, "convert", recording.path, "-q", "-o", path])
    check(out.status == 0, f"kymo convert: {out.stderr}")
    read = ("import json, pstats, sys\n"
            "for (file, line, name), (cc, nc, tt, ct, callers) in pstats.Stats(sys.argv[1]).stats.items():\n"
            "    if file.endswith('program.py'):\n"
            "        print(json.dumps([name, cc, nc, tt, ct, {k[2]: v for k, v in callers.items()}]))\n")
    out = run([package_for(interpreter), "-c", read, path])
    rows = {row[0]: row[1:] for row in map(json.loads, out.stdout.splitlines())}
    check(rows["fib"][:2] == [2, 192], f"fib: {rows['fib']}")
    check(rows["fib"][4]["twice"][:2] == [2, 2] and rows["fib"][4]["fib"][0] == 190, f"fib: {rows['fib']}")
    check(rows["leaf"][:2] == [100, 100] and rows["leaf"][4]["work"][:2] == [100, 100], f"leaf: {rows['leaf']}")
    check(rows["twice"][3] >= rows["fib"][2] > 0 and rows["work"][3] >= rows["work"][2], f"{rows}")
    for options, is_deep, is_said in (([], True, False), (["--fold-recursion"], False, False),
                                      (["--min-duration=1000s"], False, True)):
        out = run([KYMO, "convert", recording.path, *options, "-o", "-"])
        check(out.status == 0 and ("fib;fib" in out.stdout) == is_deep and
              ("shorter than 1000.00 s" in out.stderr) == is_said, f"{options}: {out.stdout[:500]}{out.stderr}")
    refused = run([KYMO, "convert", record([package_for(interpreter), "-c", "pass"]).path, "-q", "-o", folder() / "y.pstats"])
    check(refused.status == 1 and "traced calls" in refused.stderr, f"{refused.status}: {refused.stderr}")


CASES = [objects_die, files_close, memory_is_given_back, recursion_limit, self_times, exceptions,
         exceptions_die, other_tracers, collections_are_marked, log_records, imports,
         little_is_loaded, threads, tasks, forks, spawns,
         children, exec_and_kill, other_profilers, replaced, descriptors, standard_input, recorder_dies, functions,
         filters, filters_change, blocks, short_calls_make_room, started_by_python, logging_is_unchanged, own_modules, profile_module, flight_recorder, pstats_file]
# Each version up to 3.11 tells of exceptions in another way, and each from 3.12 on has another sys.monitoring.
OF_EACH = [recursion_limit, exceptions, exceptions_die, other_tracers, replaced, threads, tasks, forks, other_profilers]
for tested in one_of_each_version(INTERPRETERS, checked=True):
    for fault in CASES if tested in TESTED else OF_EACH:
        add_case(f"{fault.__name__}.{tested.name}", fault, tested)
main()
