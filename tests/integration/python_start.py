# SPDX-License-Identifier: Apache-2.0
"""A program that records itself: kymo.start(FILE), on every interpreter that is there."""
import collections
import gzip
import json
import os
import pathlib
import signal

from kymotest import BUILD, KYMO, add_case, check, folder, main, record, run, wait_until
from pythons import find_interpreters, one_of_each_kind, some_of
from traced import BEGINS, SCENARIOS, WORKLOAD, Calls, check_counts, package_for, true_counts

INTERPRETERS = find_interpreters()
ENVIRONMENT = {**os.environ, "PATH": f"{pathlib.Path(KYMO).parent}:{os.environ['PATH']}"}
WORK = """
import kymo, os, signal, sys, threading
def leaf(): pass
def work(n):
    for _ in range(n): leaf()
"""


def program(interpreter, text, *arguments, **how):
    path = folder() / "program.py"
    path.write_text(WORK + text)
    where = folder()
    how.setdefault("env", ENVIRONMENT)
    return run([package_for(interpreter), path, *arguments], cwd=where, **how), where


def leaves(path):
    calls = Calls(path)
    return collections.Counter(c.thread for c in calls.calls
                               if c.kind in BEGINS and c.function and c.function.name == "leaf")


def marked(path):
    out = run([KYMO, "report", path, "--mode=markers", "--json"])
    check(out.status == 0, out.stderr)
    return {row["name"]: row["count"] for row in json.loads(out.stdout)["markers"]}


def counts(interpreter):
    """Each event that a tracer in Python counts, as often."""
    true = true_counts(package_for(interpreter), folder() / "truth.json")
    result, where = program(interpreter, """
import runpy
sys.argv = sys.argv[1:]
kymo.start("x.kymo")
runpy.run_path(sys.argv[0], run_name="__main__")
kymo.stop()
""", WORKLOAD, "run", SCENARIOS)
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    check_counts(Calls(where / "x.kymo"), true)


def again(interpreter):
    """From each start to its stop, of all threads, and nothing beside it; so are markers."""
    result, where = program(interpreter, """
turn, done = threading.Barrier(2), []
def other():
    while True:
        turn.wait()
        if done: return
        work(30)
        turn.wait()
def both(n):
    turn.wait(); work(n); turn.wait()
thread = threading.Thread(target=other, daemon=True)
thread.start()
for i in range(4):
    kymo.marker("outside"); both(1000)
    assert kymo.start(f"{i}.kymo")
    kymo.marker("inside", number=i); both(100 + i)
    kymo.stop()
    assert not os.path.exists(f"{i}.kymo.unfinished")
with kymo.traced("block.kymo", settings="cpu=1ms"): both(7)
kymo.start(); work(1000); kymo.stop()
done.append(1); turn.wait(); thread.join()
print("done")
""")
    check((result.status, result.stdout) == (0, "done\n"), f"{result}")
    check(sorted(p.name for p in where.iterdir()) == [*(f"{i}.kymo" for i in range(4)), "block.kymo"], f"{list(where.iterdir())}")
    for i in range(4):
        seen = sorted(leaves(where / f"{i}.kymo").values())
        check(seen == [30, 100 + i], f"recording {i}: {seen}")
        names = marked(where / f"{i}.kymo")
        check(names.get("inside") == 1 and "outside" not in names, f"{names}")
    check(sorted(leaves(where / "block.kymo").values()) == [7, 30], "the block")


def formats(interpreter):
    """The file's name says in which format; True is a name as of `kymo record`."""
    result, where = program(interpreter, """
for name in (True, "x.json.gz", "x.folded", "a,b %.kymo"):
    kymo.start(name); work(50); kymo.stop()
""")
    check(result.status == 0, result.stderr)
    names = sorted(p.name for p in where.iterdir())
    check(len(names) == 4 and names[1].startswith("kymo.program.py.") and names[1].endswith(".kymo"), f"{names}")
    for name in names[:2]:
        check(sum(leaves(where / name).values()) == 50, name)
    profile = json.loads(gzip.decompress((where / "x.json.gz").read_bytes()))
    check(profile["threads"], "no thread")


ENDS = {"end": ("", 0), "exit": ("sys.exit(3)", 3), "raise": ("raise KeyError", 1),
        "thread": ("threading.Thread(target=work, args=(1,)).start()", 0)}


def ends(interpreter):
    """A program that ends by itself leaves the file, and its own status."""
    for name, (last, status) in ENDS.items():
        result, where = program(interpreter, f'kymo.start("x.kymo"); work(50); print(1)\n{last}')
        check((result.status, result.stdout) == (status, "1\n"), f"{name}: {result}")
        seen = sum(leaves(where / "x.kymo").values())
        check(seen == 50 + (name == "thread"), f"{name}: {seen}")


def killed(interpreter):
    """What is killed leaves its recording in a folder."""
    for last in "os._exit(4)", "os.kill(os.getpid(), signal.SIGKILL)":
        result, where = program(interpreter, f'kymo.start("x.kymo"); work(50)\n{last}')
        check(result.status in (4, 128 + signal.SIGKILL), f"{last}: {result}")
        left = where / "x.kymo.unfinished"
        wait_until("the recording", lambda: left.exists() and list(left.glob("*.kymo")))
        check(sum(leaves(next(left.glob("*.kymo"))).values()) == 50, last)


def forks(interpreter):
    """Forked children are in the recording, and do not end it."""
    result, where = program(interpreter, """
kymo.start("x.kymo"); work(50)
pid = os.fork()
if pid == 0:
    work(20)
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
work(5)
kymo.stop()
""")
    check(result.status == 0, f"{result}")
    seen = sorted(leaves(where / "x.kymo").values())
    check(seen == [20, 55], f"{seen}")


def refused(interpreter):
    """What cannot be recorded says why, and the program goes on."""
    text = """
try: kymo.start(sys.argv[1])
except OSError as why: print(why)
work(10)
kymo.stop()
"""
    for name, env, words in (("x.kymo", {**os.environ, "PATH": "/nowhere"}, "neither in this package"),
                             ("/no/folder/x.kymo", ENVIRONMENT, "no such folder"),
                             ("x.kymo", {**ENVIRONMENT, "KYMO_OPTIONS": "nonsense=1"}, "nonsense")):
        result, where = program(interpreter, text, name, env=env)
        check(result.status == 0 and words in result.stdout, f"{words}: {result}")
        check(not list(where.iterdir()), f"{list(where.iterdir())}")


AGENT = """
import ctypes, sys
class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("settings", ctypes.c_char_p),
                ("interval_ns", ctypes.c_uint64), ("cpu_ns", ctypes.c_uint64), ("wall_ns", ctypes.c_uint64),
                ("reporters", ctypes.c_void_p), ("kymo", ctypes.c_char_p), ("on_end", ctypes.c_void_p),
                ("data", ctypes.c_void_p), ("report", ctypes.c_void_p), ("format", ctypes.c_char_p)]
library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
library.kymo_agent_stop.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p]
def agent(round, is_traced):
    settings = f"trace=python,report=1h,format=kymo,reporter=local:{round}".encode()
    options, agent = Options(settings=settings, kymo=sys.argv[2].encode()), ctypes.c_void_p()
    options.size = ctypes.sizeof(options)
    assert library.kymo_agent_start(ctypes.byref(options), ctypes.byref(agent), None) == 0
    assert not is_traced or kymo.start()
    work(10)
    assert library.kymo_agent_stop(agent, 60000000000, None) == 0
    work(5)
for round, is_traced in enumerate((True, False, True)):
    agent(round, is_traced)
"""


def agents(interpreter):
    """The tracer of one recording of a program's agent tells nothing to the next, whose functions have other numbers,
    until it is asked to."""
    result, where = program(interpreter, AGENT, BUILD / "src" / "start" / "libkymo.so", KYMO)
    check(result.status == 0, f"status {result.status}: {result.stdout}{result.stderr}")
    for round, true in enumerate((10, 0, 10)):
        (path,) = (where / str(round)).iterdir()
        calls = Calls(path)
        begun = [c.function.name if c.function else None for c in calls.calls if c.kind in BEGINS]
        check(begun.count("leaf") == true and None not in begun, f"round {round}: {collections.Counter(begun)}")
        check(true or not begun, f"round {round}: {begun}")


def recorded(interpreter):
    """Under a recorder it goes into that one's recording."""
    path = folder() / "program.py"
    path.write_text(WORK + 'print(kymo.start("x.kymo")); work(50); kymo.stop()\nprint(os.path.exists("x.kymo"))')
    recording = record([package_for(interpreter), path], options=["--trace=python"],
                       env={**ENVIRONMENT, "KYMO_TRACE_PYTHON": "off"})
    check(recording.result.stdout == "True\nFalse\n", f"{recording.result}")
    check(sum(leaves(recording.path).values()) == 50, "leaves")


def unrecorded_child(interpreter):
    """A forked child that is not recorded, and asks to be traced: it is not."""
    path = folder() / "program.py"
    path.write_text(WORK + """
pid = os.fork()
if pid == 0:
    os._exit(7 if not kymo.start() else 8)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
""")
    recording = record([package_for(interpreter), path], options=["--children=no"], env=ENVIRONMENT)
    check(recording.result.stdout == "7\n", f"{recording.result.stdout} {recording.result.stderr}")


for tested in one_of_each_kind(INTERPRETERS, checked=True):
    for tried in (counts, again):
        add_case(f"{tried.__name__}.{tested.name}", tried, tested)
for tested in some_of(INTERPRETERS):
    for tried in (formats, ends, killed, forks, unrecorded_child, refused, recorded, agents):
        add_case(f"{tried.__name__}.{tested.name}", tried, tested)
main()
