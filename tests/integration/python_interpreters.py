# SPDX-License-Identifier: Apache-2.0
"""Traced calls of sub-interpreters, also of those with a GIL of their own, on the CPythons that are there."""
import collections
import os
import pathlib

from kymotest import KYMO, add_case, check, folder, main, run, skip
from pythons import find_interpreters, one_of_each_kind, one_of_each_version
from traced import (BEGINS, CALL, NATIVE, OPEN, SCENARIOS, WORKLOAD, Calls, check_counts, package_for, record_traced,
                    true_counts)

INTERPRETERS = find_interpreters()


def has_own_locks(interpreter):
    """Isolated ones have a GIL of their own, and threads."""
    return tuple(map(int, interpreter.version.split("."))) >= (3, 12)


# create(kind), run(interpreter, text), destroy(interpreter). An isolated one has a GIL of its own from 3.12 on, and no
# threads up to 3.11.
INTERPRETERS_MODULE = """
import sys, threading
try:
    import _interpreters as subs
except ImportError:
    import _xxsubinterpreters as subs
def create(kind):
    return subs.create(kind) if sys.version_info >= (3, 13) else subs.create(isolated=kind == "isolated")
def run(one, text):
    if sys.version_info >= (3, 13):
        failed = subs.exec(one, text)
        if failed:
            raise RuntimeError(failed.formatted)
    else:
        subs.run_string(one, text)
destroy = subs.destroy
KINDS = ("legacy", "isolated")
"""


def traced(interpreter, text, **how):
    """The recording of a program, which says and returns what it does untraced."""
    python, path = package_for(interpreter), folder() / "program.py"
    path.write_text(INTERPRETERS_MODULE + text)
    plain = run([python, path])
    recording = record_traced([python, path], **how)
    result = recording.result
    check((result.status, result.stdout, result.stderr) == (plain.status, plain.stdout, plain.stderr),
          f"alone {plain.status}, {plain.stdout!r}, {plain.stderr}; traced {result.status}, {result.stdout!r}, "
          f"{result.stderr}")
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    return recording


def calls_of(calls, *names):
    """How often functions of these names were called, and natives of these names."""
    seen = collections.Counter(c.function.name.rsplit(".")[-1] for c in calls.calls if c.kind == CALL and c.function)
    return tuple(seen[name] for name in names)


def expect(calls, **true):
    seen = dict(zip(true, calls_of(calls, *true)))
    check(seen == true, f"seen {seen}, and in truth {true}")


def counts(interpreter):
    """The events of one interpreter are those that a tracer in pure Python counts, in each kind of sub-interpreter."""
    scenarios = SCENARIOS if has_own_locks(interpreter) else SCENARIOS.replace(",threads", "")
    true = true_counts(package_for(interpreter), folder() / "truth.json", scenarios)
    recording = traced(interpreter, f"""
inside = '''
import sys
sys.argv = [{str(WORKLOAD)!r}, "run", {scenarios!r}]
with open(sys.argv[0]) as file:
    exec(compile(file.read(), sys.argv[0], "exec"), {{"__name__": "__main__", "__file__": sys.argv[0]}})
'''
for kind in KINDS:
    one = create(kind)
    run(one, inside)
    run(one, inside)
    destroy(one)
""")
    calls = Calls(recording.path)
    calls.check_balance()
    check_counts(calls, {key: 4 * n for key, n in true.items()})


def callers(interpreter):
    """What a sub-interpreter calls is called by what runs it. It ends while others go on."""
    calls = Calls(traced(interpreter, """
def outer(one, text):
    run(one, text)
def behind(): pass
first, second = create("legacy"), create("isolated")
for i in range(20):
    outer(first, "def inner(): return abs(-1)\\ninner()")
    outer(second, "def inner(): return abs(-1)\\ninner()")
    behind()
destroy(first)
outer(second, "def last(): pass\\nlast()")
destroy(second)
for i in range(50): behind()
""").path)
    calls.check_balance()
    expect(calls, outer=41, inner=40, abs=40, last=1, behind=70)
    stacks = collections.defaultdict(list)
    for call in calls.calls:
        stack = stacks[call.thread]
        del stack[call.depth - 1:]
        if call.kind not in BEGINS:
            continue
        stack.append(call.function.name)
        if call.function.name in ("inner", "last"):
            check("outer" in stack and stack[-2] == "<module>", f"{call} is called by {stack}")


THREADS = """
texts = ['''
import sys
def leaf(i): return len(str(i))
def fail(): raise KeyError("of a sub-interpreter")
def work(n):
    for i in range(n): leaf(i)
for i in range(20):
    work(100)
    try: fail()
    except KeyError: pass
''', '''
import threading
def leaf(i): return len(str(i))
def work(n):
    for i in range(n): leaf(i)
threads = [threading.Thread(target=work, args=(500,)) for i in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
''']
def several(kind):
    for text in texts if sys.version_info >= (3, 12) or kind == "legacy" else texts[:1]:
        one = create(kind)
        run(one, text)
        destroy(one)
"""


def side_by_side(interpreter):
    """Each in a thread of its own, from 3.12 on at the same time. Up to 3.11 one thread is in others at a time."""
    if not has_own_locks(interpreter):
        text = "for kind in KINDS * 2: several(kind)\n"
    else:
        # Interpreters are made one after another: CPython's own tables are not made for more.
        text = """
made = threading.Lock()
create_alone, destroy_alone = create, destroy
def create(kind):
    with made: return create_alone(kind)
def destroy(one):
    with made: destroy_alone(one)
threads = [threading.Thread(target=several, args=(kind,)) for kind in KINDS * 2]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    recording = traced(interpreter, THREADS + text)
    calls = Calls(recording.path)
    calls.check_balance()
    both = 4 if has_own_locks(interpreter) else 2
    leaves = 4 * 2000 + both * 1000
    expect(calls, leaf=leaves, fail=80, work=80 + both * 2)
    seen = sum(1 for c in calls.calls if c.kind == CALL and c.function and c.function.language == NATIVE and
               c.function.name == "builtins.len")
    check(seen >= leaves, f"{seen} of at least {leaves} calls of len")
    raised = [m for m in recording.firefox().all_markers()
              if m.name == "Exception" and m.data.get("value") == "of a sub-interpreter"]
    check(len(raised) == 80, f"{len(raised)} of 80 exceptions")


def choices(interpreter):
    """Each interpreter starts and stops for itself, by its own options; others go on."""
    calls = Calls(traced(interpreter, """
def outside(): pass
inside = '''
import kymo
def unseen(): pass
def seen(): pass
kymo.stop()
unseen()
with kymo.traced(natives=False):
    seen()
    hash(1)
unseen()
was_started = kymo.start()
seen()
kymo.pause()
unseen()
kymo.resume()
seen()
'''
for kind in KINDS:
    one = create(kind)
    outside()
    run(one, inside)
    outside()
    run(one, "seen()")
    destroy(one)
    outside()
import kymo
one = create("isolated")
kymo.stop()
outside()
run(one, "def seen(): pass\\nseen()")
destroy(one)
outside()
kymo.start()
outside()
""").path)
    calls.check_balance()
    expect(calls, outside=3 * 2 + 1, seen=4 * 2 + 1, unseen=0, hash=0)


def exceptions(interpreter):
    """One that leaves a sub-interpreter is another one outside. Each is marked where it is raised."""
    recording = traced(interpreter, """
for kind in KINDS:
    one = create(kind)
    for i in range(10):
        try: run(one, "def fail(): raise ValueError('inside')\\nfail()")
        except Exception as why: assert "inside" in str(why)
    destroy(one)
""")
    rows = collections.Counter(m.data.get("value") for m in recording.firefox().all_markers()
                               if m.name == "Exception" and m.data["exception"] == "ValueError")
    check(rows["inside"] == 20, f"{rows}")


def many(interpreter):
    """They come and go; what is known of one goes with it."""
    calls = Calls(traced(interpreter, """
for i in range(30):
    one = create(KINDS[i % 2])
    run(one, "def leaf(): return abs(-1)\\nfor i in range(10): leaf()")
    destroy(one)
""").path)
    calls.check_balance()
    expect(calls, leaf=300, abs=300)


def late(interpreter):
    """Threads of a sub-interpreter that run when its trace starts."""
    if not has_own_locks(interpreter):
        skip("one that is isolated has no threads, and the other one is as the main one")
    calls = Calls(traced(interpreter, """
inside = '''
import _thread, kymo
kymo.stop()
begin, end, done = _thread.allocate_lock(), _thread.allocate_lock(), _thread.allocate_lock()
for lock in (begin, end, done): lock.acquire()
def leaf(): pass
def waits():
    begin.release()
    end.acquire()
    for i in range(100): leaf()
    done.release()
_thread.start_new_thread(waits, ())
begin.acquire()
kymo.start()
end.release()
done.acquire()
'''
for kind in KINDS:
    one = create(kind)
    run(one, inside)
    run(one, "import time\\nfor i in range(100): time.sleep(0.001)")
    destroy(one)
""").path)
    expect(calls, leaf=200, waits=0)
    check(sum(1 for c in calls.calls if c.kind == OPEN and c.function and c.function.name == "waits") == 2, "open calls")


MARKS = """
inside = '''
import kymo
kymo.describe("request", "{method} {n}", n="bytes")
for i in range(200):
    kymo.marker("request", method="GET", n=i)
    with kymo.scope("block", n=i): pass
    with kymo.label("tenant", "sub"): kymo.marker("labelled")
kymo.counter("jobs").set(3)
'''
def work(kind):
    one = made(create, kind)
    run(one, inside)
    made(destroy, one)
lock = threading.Lock()
def made(what, argument):
    with lock: return what(argument)
threads = [threading.Thread(target=work, args=(kind,)) for kind in KINDS * 2]
for thread in threads:
    thread.start()
    if sys.version_info < (3, 12): thread.join()
for thread in threads: thread.join()
"""


def markers(interpreter):
    """Markers of the program's own, of several interpreters at once."""
    recording = traced(interpreter, MARKS, options=["--quiet"])
    seen = collections.Counter()
    for marker in recording.firefox().all_markers():
        if marker.name == "request":
            seen["request", marker.data["method"], marker.data["n"]] += 1
        elif marker.name in ("block", "labelled"):
            seen[marker.name, marker.data.get("labels")] += 1
    true = {("request", "GET", i): 4 for i in range(200)}
    true |= {("block", None): 800, ("labelled", "tenant=sub"): 800}
    wrong = {k: (seen[k], true.get(k, 0)) for k in seen.keys() | true.keys() if seen[k] != true.get(k, 0)}
    check(not wrong, f"seen, and in truth: {list(wrong.items())[:10]}")


def own_recordings(interpreter):
    """A recording that the program begins and ends itself, while another interpreter is traced: that is traced in the
    next one, too."""
    where = folder()
    (where / "program.py").write_text(INTERPRETERS_MODULE + """
import kymo
one = create("isolated")
def outside(): pass
run(one, "def leaf(): return abs(-1)\\nimport kymo")
for turn in range(3):
    assert kymo.start(f"{turn}.kymo")
    run(one, "assert kymo.start()")
    outside()
    run(one, "for i in range(10): leaf()")
    kymo.stop()
    run(one, "for i in range(10): leaf()")
destroy(one)
print("done")
""")
    out = run([package_for(interpreter), where / "program.py"], cwd=where,
              env={**os.environ, "PATH": f"{pathlib.Path(KYMO).parent}:{os.environ['PATH']}"})
    check((out.status, out.stdout, out.stderr) == (0, "done\n", ""), f"{out.status}, {out.stdout}, {out.stderr}")
    for turn in range(3):
        expect(Calls(where / f"{turn}.kymo"), leaf=10, outside=1)


CASES = [own_recordings, callers, side_by_side, choices, exceptions, many, late, markers]
for interpreter in one_of_each_version(INTERPRETERS, checked=True):
    add_case(f"counts.{interpreter.name}", counts, interpreter)
for interpreter in one_of_each_kind(INTERPRETERS, checked=True):
    for case in CASES:
        add_case(f"{case.__name__}.{interpreter.name}", case, interpreter)
main()
