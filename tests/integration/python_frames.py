# SPDX-License-Identifier: Apache-2.0
"""Python frames in stacks: which functions, files and lines, in which order, compared with what the program says.

workloads/python_stacks.py writes what sys._getframe shows of chains of calls, and uses CPU time at the
end of each. Every sample of that end must show the same chain. Every interpreter from 3.9 to 3.14 that is
found is tested: of Debian, of pyenv, and those that KYMO_PYTHONS names (paths, with a colon between).
"""
import collections
import gzip
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

from kymotest import (BUILD, KYMO, Late, Recording, add_case, by_chance, case, check, check_close,
                      check_nothing_lost, folder, main, perf_works, record, record_command, run, say, skip)
from pprof_samples import Pprof
from pythons import VERSIONS, find_interpreters, one_of_each_kind, one_of_each_version, some_of, version_of

LIBRARY = BUILD / "src" / "start" / "libkymo.so"
PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "workloads" / "python_stacks.py"
# So long does the end of each chain spin: some samples where only the kernel's tick samples.
SPIN_S = "0.012" if perf_works() else "0.05"


INTERPRETERS = find_interpreters()


# ---- profiles ----

class Frame:
    def __init__(self, name, file, line, lib, category, is_script):
        self.name, self.file, self.line, self.lib = name, file, line, lib
        self.category, self.is_script = category, is_script

    def __repr__(self):
        return f"{self.name} ({self.file}:{self.line})" if self.is_script else f"[{self.name}]"

    def what(self):
        return self.name, self.file, self.line


class Stacks:
    """The stacks of a Firefox profile, outermost first, with what this test asks of frames."""

    def __init__(self, recording):
        path = recording.path.with_suffix(".json")
        out = run([recording.kymo, "convert", recording.path, "-q", "-f", "-o", path])
        check(out.status == 0, f"kymo convert: status {out.status}: {out.stderr}")
        data = json.loads(path.read_text())
        shared = data["shared"]
        strings, functions, frames = shared["stringArray"], shared["funcTable"], shared["frameTable"]
        sources = shared["sources"]["filename"]
        resources = shared["resourceTable"]["lib"]
        categories = [c["name"] for c in data["meta"]["categories"]]
        known = []
        for i in range(frames["length"]):
            function = frames["func"][i]
            source, resource = functions["source"][function], functions["resource"][function]
            known.append(Frame(
                strings[functions["name"][function]],
                strings[sources[source]] if source is not None else "",
                frames["line"][i],
                data["libs"][resources[resource]]["path"] if resource >= 0 else None,
                categories[frames["category"][i]], functions["isJS"][function]))
        table, stacks = shared["stackTable"], []
        for i in range(table["length"]):
            offset = table["prefixOffset"][i]
            stacks.append((stacks[i - offset] if offset else ()) + (known[table["frame"][i]],))
        self.data = data
        self.samples = []  # stacks
        self.by_pid = collections.defaultdict(list)
        self.allocations = []
        self.markers = {}  # by name, with a stack
        for thread in data["threads"]:
            here = [stacks[s] for s in thread["samples"]["stack"] if s is not None]
            self.samples += here
            self.by_pid[str(thread["pid"]).split(".")[0]] += here
            names, data_of = thread["markers"]["name"], thread["markers"]["data"]
            self.markers.update((strings[names[i]], stacks[d["cause"]["stack"]])
                                for i, d in enumerate(data_of) if d and d.get("cause"))
            for kind in ("nativeAllocations", "jsAllocations"):
                if kind in thread:
                    self.allocations += [stacks[s] for s in thread[kind]["stack"] if s is not None]


def scripts_of(stack):
    return [f for f in stack if f.is_script]


def record_program(python, which, seconds=SPIN_S, arguments=(), **how):
    """The recording, and the chains that the program told, by their innermost function."""
    cwd = folder()
    truth = cwd / "truth"
    recording = record([python, *arguments, PROGRAM, truth, seconds, which], cwd=cwd, **how)
    check(recording.result.status == 0, recording.result.stderr)
    chains = collections.defaultdict(set)
    if truth.exists():
        for line in truth.read_text().splitlines():
            told = json.loads(line)
            chains[told["leaf"]].add(tuple(tuple(f) for f in told["chain"]))
    return recording, chains


def check_chains(stacks, chains, at_least=1):
    """Each sample that is in a leaf shows what the program said, and each leaf has samples."""
    seen, wrong = collections.Counter(), collections.defaultdict(list)
    for stack in stacks.samples:
        scripts = scripts_of(stack)
        for at, frame in enumerate(scripts):
            if frame.name in chains:
                shown = tuple(f.what() for f in scripts[:at])
                seen[frame.name] += 1
                if shown not in {c[:-1] for c in chains[frame.name]}:
                    wrong[frame.name].append(stack)
                break
    for name in sorted(wrong):
        say(f"{name}: {len(wrong[name])} of {seen[name]}: {list(wrong[name][0])}")
        say(f"   in truth: {sorted(chains[name])[0][:-1]}")
    missing = sorted(name for name in chains if seen[name] < at_least)
    say(f"{sum(seen.values())} samples of {len(chains)} chains, {sum(map(len, wrong.values()))} differ")
    check(not wrong, f"differ: {sorted(wrong)}")
    check(not missing, f"without samples: {missing}", Late)
    return seen


# ---- cases ----

def whole_chains(python):
    recording, chains = record_program(python, "plain")
    check(len(chains) > 50, f"chains: {len(chains)}")
    stacks = Stacks(recording)
    check_chains(stacks, chains)
    with_python = recording.report().quality["python_samples"]
    check(with_python == sum(any(scripts_of(s)) for s in stacks.samples), f"python_samples: {with_python}")
    interpreter = os.path.realpath(python)
    for stack in stacks.samples:
        last = max((i for i, f in enumerate(stack) if f.is_script), default=0)
        shown = [f.lib for f in stack[:last] if f.lib and (
            f.lib == interpreter or os.path.basename(f.lib).startswith("libpython"))]
        # A program of pyenv begins in its executable; all else of it is in the library.
        check(not shown or set(shown) == {interpreter}, f"the interpreter's own frames: {list(stack)}")
    quick = [s for s in stacks.samples if any(f.name == "leaf_qsort" for f in s)]
    for stack in quick:
        names = [f.name if f.is_script else os.path.basename(f.lib or "") for f in stack]
        between = names[names.index("ctypes_qsort") + 1:names.index("compare")]
        check(any(n.startswith("libc.") for n in between) and any(n.startswith("libffi") for n in between),
              f"between the caller of qsort and what it calls: {between}")
    for frame in {f for s in stacks.samples for f in s}:
        check(frame.is_script == (frame.category == "Python"), f"{frame}: {frame.category}")
        check(not frame.is_script or frame.lib is None, f"{frame}: {frame.lib}")


def markers(python):
    """The stack of a marker is that of one moment: each must be exactly what the program sees then."""
    cwd = folder()
    truth = cwd / "truth"
    recording = record([python, PROGRAM, truth, "0", "markers", LIBRARY], cwd=cwd)
    check(recording.result.status == 0, recording.result.stderr)
    stacks = Stacks(recording).markers
    told = [json.loads(line) for line in truth.read_text().splitlines()]
    wrong = 0
    for one in told:
        chain = [tuple(f) for f in one["chain"]]
        stack = stacks.get(one["leaf"], ())
        scripts = [f.what() for f in scripts_of(stack)]
        # What makes the marker is inside of the leaf.
        if scripts[:len(chain)] != chain or len(scripts) != len(chain) + 1:
            wrong += 1
            if wrong < 4:
                say(f"{one['leaf']}: {list(stack)}")
                say(f"   in truth: {chain}")
    say(f"{len(told)} markers, {wrong} differ")
    check(not wrong and len(told) > 100, f"{wrong} of {len(told)} differ")


def py_spy_of():
    if shutil.which("py-spy"):
        return shutil.which("py-spy")
    where = folder()
    run(["python3", "-m", "pip", "install", "-q", "--no-deps", "--target", where, "py-spy"])
    if not (where / "bin/py-spy").exists():
        skip("py-spy is not installed, and could not be had from PyPI")
    return where / "bin/py-spy"


def is_stopped(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
    except (FileNotFoundError, ProcessLookupError):
        return False


def py_spy_agrees(python):
    """The program stops itself where it has made a marker, and py-spy tells its stack: the marker's is the same."""
    spy = py_spy_of()
    count = int(os.environ.get("KYMO_PY_SPY_STACKS", "60"))
    cwd = folder()
    truth, pidfile, path = cwd / "truth", cwd / "pid", cwd / "stops.kymo"
    command = ["/bin/sh", "-c", f"echo $$ > {pidfile}; exec {python} {PROGRAM} {truth} {count} stops {LIBRARY}"]
    recorder = subprocess.Popen([str(a) for a in record_command(command, path)], cwd=cwd, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
    dumps, failed = [], 0
    while recorder.poll() is None:
        pid = pidfile.read_text().strip() if pidfile.exists() else ""
        # It tells its own stack before each stop.
        if not pid or not is_stopped(pid) or not truth.exists() or (
                truth.read_text().count("\n") <= len(dumps)):
            time.sleep(0.001)
            continue
        told = subprocess.run([spy, "dump", "--json", "--nonblocking", "--pid", pid], capture_output=True, text=True)
        failed += told.returncode != 0
        threads = json.loads(told.stdout) if told.returncode == 0 else []
        frames = next((t["frames"] for t in threads if t["os_thread_id"] in (None, int(pid))), [])
        dumps.append([(f["name"], f["filename"], f["line"]) for f in frames][::-1])
        os.kill(int(pid), signal.SIGCONT)
    check(recorder.returncode == 0, f"status {recorder.returncode}")
    if failed:
        skip(f"py-spy failed at {failed} of {len(dumps)} stacks")
    stacks = Stacks(Recording(path, None, KYMO)).markers
    told = [json.loads(line) for line in truth.read_text().splitlines()]
    check(len(told) == len(dumps) >= count, f"{len(told)} markers, {len(dumps)} dumps")
    same, differ = 0, []
    for one, dump in zip(told, dumps):
        leaf = one["leaf"].split("#")[0]
        shown = [f.what() for f in scripts_of(stacks.get(one["leaf"], ()))]
        ours = [(name.split(".")[-1], file, line) for name, file, line in shown[:-1]]  # but what makes the marker
        # py-spy shows the frame that 3.13 puts around an __init__.
        theirs = [(name.split(".")[-1], file, line) for name, file, line in dump if name != file]
        at = next((i for i, f in enumerate(theirs) if f[0] == leaf), 0)
        # In the leaf itself the stop is some lines further.
        if ours[:-1] == theirs[:at] and ours and ours[-1][0] == leaf:
            same += 1
        else:
            differ.append((ours, theirs))
    say(f"{same} of {len(told)} stacks are as py-spy says")
    for ours, theirs in differ[:3]:
        say(f"ours:   {ours}")
        say(f"py-spy: {theirs}")
    check(not differ, f"{len(differ)} of {len(told)} differ")


def trampolines(python):
    """-X perf puts code without unwind information between the evaluator's calls. Its functions, which the
    perf map names, are no frames of their own beside Python's."""
    if python_version(python) < (3, 12):
        skip("it has no -X perf")
    recording, chains = record_program(python, "plain", arguments=["-X", "perf"])
    check_chains(Stacks(recording), chains)
    complete = recording.report().quality["stacks_complete"]
    check(complete > 0.99, f"{complete:.1%} of the stacks are complete")
    # Where the evaluator has just been entered, or is left, it has no Python frame yet, and stays with its caller.
    samples = Stacks(recording).samples
    unnamed = sum(any(not f.is_script and f.name in chains for f in stack) for stack in samples)
    check(unnamed < 0.3 * len(samples), f"trampolines are shown in {unnamed} of {len(samples)} samples")


def each_engine(python, engine):
    if engine == "perf" and not perf_works():
        skip("perf_event_open is not permitted here")
    seconds = SPIN_S if engine == "perf" else "0.03"
    recording, chains = record_program(python, "plain", seconds, engine=engine)
    # The dispatcher samples when it gets a CPU: how often is not up to the program.
    seen = check_chains(Stacks(recording), chains, at_least=0 if engine == "dispatch" else 1)
    check(seen, "no samples")


def odd_text(python):
    recording, chains = record_program(python, "odd", env=dict(os.environ, PYTHONIOENCODING="utf-8"))
    check(len(chains) == 9, f"{sorted(chains)}")
    stacks = Stacks(recording)
    kept = collections.defaultdict(set)
    for stack in stacks.samples:
        scripts = scripts_of(stack)
        for at, frame in enumerate(scripts):
            if frame.name in chains:
                kept[frame.name].add(scripts[at - 1].what())
    for leaf, (told,) in sorted(chains.items()):
        name, file, line = told[-2]
        check(len(kept[leaf]) == 1, f"{leaf}: {kept[leaf]}")
        shown_name, shown_file, shown_line = kept[leaf].pop()
        # A long name keeps its begin, a long path its end, and both whole characters.
        check(shown_line == line, f"{leaf}: line {shown_line}, in truth {line}")
        check(name.startswith(shown_name) and file.endswith(shown_file), f"{leaf}: {shown_name} {shown_file}")
        if len(name.encode()) <= 64:
            check(shown_name == name, f"{leaf}: {shown_name}, in truth {name}")
        else:
            check(len(shown_name.encode()) >= 64, f"{leaf}: only {shown_name}")
        if len(file.encode()) <= 128:
            check(shown_file == file, f"{leaf}: {shown_file}, in truth {file}")
        else:
            check(len(shown_file.encode()) >= 128, f"{leaf}: only {shown_file}")


def shares(python):
    recording, _ = record_program(python, "shares", "3" if perf_works() else "10")
    used = json.loads(recording.result.stdout)
    stacks = Stacks(recording)
    found = collections.Counter()
    for stack in stacks.samples:
        for frame in stack:
            if frame.is_script and frame.name in used:
                found[frame.name] += 1
    report = recording.report()
    weights = {name: report.inclusive_s(name) for name in used}
    for name in used:
        truth = used[name] / sum(used.values())
        check_close(name, weights[name] / sum(weights.values()), truth,
                    max(0.02, by_chance(truth, sum(found.values()))))
    check_close("all of them", sum(weights.values()), sum(used.values()), 0.1 * sum(used.values()))


def tasks(python):
    """Samples have the name of the asyncio task that was running; the loop's callbacks, and what comes
    after it, have none."""
    recording, _ = record_program(python, "tasks", "1" if perf_works() else "6")
    used = json.loads(recording.result.stdout)
    found = collections.Counter()
    samples = 0
    for count, cpu_ns, functions, labels in Pprof(recording).samples:
        if any(f.split(".")[-1] == "spin_for" for f in functions):
            found[labels.get("asyncio task", "")] += cpu_ns / 1e9
            samples += count
    # Of a long name the begin is kept.
    whole = {name: next((w for w in used if name and w.startswith(name)), name) for name in found}
    check(set(whole.values()) == set(used), f"{sorted(found)}, in truth {sorted(used)}")
    for name in sorted(found):
        truth = used[whole[name]] / sum(used.values())
        check_close(name or "(none)", found[name] / sum(found.values()), truth,
                    max(0.02, by_chance(truth, samples)))
    check_nothing_lost(recording.report().quality)


def sub_interpreters(python):
    """A thread that runs code in a sub-interpreter shows its frames, and outside of them those of the
    interpreter that called it; also where it waits there."""
    recording, chains = record_program(python, "subs", options=["--wall=10ms"])
    stacks = Stacks(recording)
    waits = {name: chains.pop(name) for name in list(chains) if name.endswith("_waits")}
    check_chains(stacks, chains)
    check(len(chains) == 7 and len(waits) == 6, f"{sorted(chains)} {sorted(waits)}")
    seen, wrong = collections.Counter(), []
    for stack in stacks.samples:
        scripts = scripts_of(stack)
        at = next((i for i, f in enumerate(scripts) if f.name in waits), None)
        if at is None:
            continue
        seen[scripts[at].name] += 1
        if tuple(f.what() for f in scripts[:at]) not in {c[:-1] for c in waits[scripts[at].name]}:
            wrong.append(stack)
    say(f"{sum(seen.values())} samples of {len(seen)} functions that wait, {len(wrong)} differ")
    check(not wrong, f"{len(wrong)}: {list(wrong[0]) if wrong else ''}")
    # Those of threads that end right afterwards may be missed.
    lasting = {f"leaf_sub_{number}_waits" for number in (0, 1, 10, 11)}
    check(lasting <= set(seen), f"never seen: {lasting - set(seen)}")
    lost = recording.report().lost().get("Python frames: not read", 0)
    check(lost <= 0.02 * len(stacks.samples) + 1, f"{lost} of {len(stacks.samples)} not read")


def with_package(python, package):
    """The environment in which it can be imported: as it is, or with what PyPI has."""
    if run([python, "-c", f"import {package}"]).status == 0:
        return dict(os.environ)
    where = folder()
    run([python, "-m", "pip", "install", "-q", "--no-deps", "--target", where, package])
    environment = dict(os.environ, PYTHONPATH=str(where))
    if run([python, "-c", f"import {package}"], env=environment).status:
        skip(f"{package} is not installed, and could not be had from PyPI")
    return environment


def greenlets(python):
    """Inside a greenlet are its own frames; outside of them, those of its parent are not shown."""
    recording, chains = record_program(python, "greenlets", env=with_package(python, "greenlet"))
    check(len(chains) == 5, f"{sorted(chains)}")
    check_chains(Stacks(recording), chains)
    quality = recording.report().quality
    say(f"{quality['stacks_complete']:.3f} of {quality['samples']} stacks are complete")
    # Up to 3.10 most of their native frames are left out, and the samples count as not read.
    check(quality["stacks_complete"] >= 0.95 or python_version(python) < (3, 11),
          "greenlets' stacks do not end where these begin")


def processes(python):
    """What fork leaves of the interpreter in a child is found there; a new program finds its own. (A child that
    lives for some milliseconds may end before a recorder that is late.)"""
    recording, chains = record_program(python, "processes")
    check(len(chains["leaf_child"]) == 2, f"children: {chains['leaf_child']}")
    check_chains(Stacks(recording), chains)


def freed_code(python):
    """Code lives for a moment, and other code is made in its place: what is shown did exist."""
    count = 2000
    recording, _ = record_program(python, "made", count)
    names, wrong = set(), []
    for stack in Stacks(recording).samples:
        for frame in scripts_of(stack):
            if frame.name.startswith("made_") and frame.name != "made_up":
                names.add(frame.name)
                number = frame.name[5:]
                if not (number.isdigit() and int(number) < count and frame.file == "<string>"
                        and frame.line in (1, 2, 3, 4)):
                    wrong.append(frame)
    say(f"{len(names)} of {count} functions were seen")
    check(not wrong, f"{len(wrong)}: {wrong[:5]}")
    check(len(names) > 20, f"only {sorted(names)}")


def deep_recursion(python):
    """More frames than are kept: the innermost are there, and the stack is not called complete."""
    recording, chains = record_program(python, "deep")
    (chain,) = chains["leaf_deep"]
    check(len(chain) > 5000, f"{len(chain)}")
    found = 0
    for stack in Stacks(recording).samples:
        scripts = scripts_of(stack)
        at = next((i for i, f in enumerate(scripts) if f.name == "leaf_deep"), None)
        if at is None:
            continue
        found += 1
        shown = tuple(f.what() for f in scripts[:at])
        check(len(shown) >= 100, f"only {len(shown)} Python frames")
        check(shown == chain[-1 - len(shown):-1], f"{shown[:3]} ... {shown[-3:]}")
        check(stack[0].name == "[truncated stack]", f"it begins with {stack[:3]}")
    check(found > 0, "no samples")


def unchanged(python):
    """Often interrupted, a program that does a bit of everything writes what it writes alone."""
    cwd = folder()
    source = cwd / "turmoil.py"
    source.write_text(TURMOIL)
    alone = run([python, source], cwd=cwd)
    check(alone.status == 3, alone.stderr)
    for engine in ("perf", "timer", "dispatch"):
        if engine == "perf" and not perf_works():
            continue
        recording = record([python, source], cwd=cwd, period="100us", engine=engine)
        result = recording.result
        check((result.status, result.stdout, result.stderr) == (alone.status, alone.stdout, alone.stderr),
              f"{engine}: status {result.status}: {result.stdout[-300:]} {result.stderr[-300:]}")
        report = recording.report()
        say(f"{engine}: {report.quality['samples']} samples, lost {report.lost()}")


TURMOIL = """
import asyncio, ctypes, functools, gc, os, random, re, sys, threading, warnings
warnings.simplefilter("ignore")  # of fork, if a thread that was joined has not quite ended
r = random.Random(1)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Node:
    def __init__(self, depth):
        self.me = self
        self.children = [Node(depth - 1) for _ in range(2)] if depth else []
    def __del__(self): counts["deleted"] = counts.get("deleted", 0) + 1
counts = {}
lock = threading.Lock()
def raising(n):
    try:
        if n == 0: raise KeyError(n)
        raising(n - 1)
    except KeyError as e:
        raise ValueError(n) from e
def errors():
    for i in range(60):
        try: raising(30)
        except ValueError as e:
            with lock: counts["errors"] = counts.get("errors", 0) + 1
def generated():
    for i in range(400):
        space = {}
        exec("def f(x):\\n    return sum(y * x for y in range(20))\\n", space)
        counts["generated"] = counts.get("generated", 0) + space["f"](i)
callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
def sorting():
    values = [r.randrange(1000) for _ in range(300)]
    array = (ctypes.c_int * 300)(*values)
    ctypes.CDLL(None).qsort(array, ctypes.c_size_t(300), ctypes.c_size_t(4), callback(lambda a, b: a[0] - b[0]))
    assert list(array) == sorted(values, key=functools.cmp_to_key(lambda a, b: a - b))
    re.sub("[a-z]", lambda m: m.group().upper(), "hello" * 200)
async def child(n):
    await asyncio.sleep(0)
    return 1 if n == 0 else await child(n - 1)
async def tasks(): return sum(await asyncio.gather(*(child(n) for n in range(30))))
def recursion(n): return 0 if n == 0 else 1 + recursion(n - 1)
def work():
    for _ in range(3):
        recursion(150), sorting(), errors()
def threads():
    for _ in range(30):
        several = [threading.Thread(target=recursion, args=(100,)) for _ in range(4)]
        for t in several: t.start()
        for t in several: t.join()
def forks():
    for i in range(6):
        pid = os.fork()
        if pid == 0:
            errors()
            os._exit(i)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == i
several = [threading.Thread(target=work) for _ in range(3)]
for t in several: t.start()
for i in range(5):
    Node(7)
    gc.collect()
    generated()
    assert fib(17) == 1597
    assert asyncio.run(tasks()) == 30
threads()
for t in several: t.join()
forks()
def report(event, argument): pass
sys.setrecursionlimit(6000)
print(recursion(4000), sorted(counts.items()), flush=True)
print("to stderr", file=sys.stderr, flush=True)
os._exit(3)
"""


def killed(python):
    """A program that is killed at any moment: its recording can be read, and shows its functions."""
    cwd = folder()
    source = cwd / "endless.py"
    source.write_text(TURMOIL.replace("os._exit(3)", "while True: work(), generated()"))
    shown = 0
    for number in range(4):
        path = cwd / f"{number}.kymo"
        pidfile = cwd / f"{number}.pid"
        process = subprocess.Popen(
            [str(a) for a in record_command(
                ["/bin/sh", "-c", f"echo $$ > {pidfile}; exec {python} {source}"], path, period="100us")],
            cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not pidfile.exists() or not pidfile.read_text().strip():
            time.sleep(0.01)
        time.sleep(random.uniform(0.1, 1))
        os.kill(int(pidfile.read_text()), signal.SIGKILL)
        process.wait()
        check(process.returncode == 128 + signal.SIGKILL, f"status {process.returncode}")
        out = run([record_command([], "x")[0], "report", path, "--json", "--top", "0"])
        check(out.status == 0, out.stderr)
        shown += any(f["file"] == str(source) for f in json.loads(out.stdout)["functions"])
    say(f"{shown} of 4 recordings show the program's functions")
    check(shown > 0, "no recording shows the program's functions")


def allocations(python):
    cwd = folder()
    source = cwd / "allocates.py"
    source.write_text("""import os
def innermost():
    return bytearray(200_000)
class Outer:
    def method(self):
        return [innermost() for _ in map(str, range(30))]
for _ in range(50):
    Outer().method()
""")
    recording = record([python, source], options=["--alloc"], cwd=cwd)
    check(recording.result.status == 0, recording.result.stderr)
    stacks = Stacks(recording)
    ours = [s for s in stacks.allocations if any(f.name == "innermost" and f.is_script for f in s)]
    say(f"{len(stacks.allocations)} allocations, {len(ours)} of innermost")
    check(len(ours) > 10, "no allocation shows its Python function")
    new = python_version(python) >= (3, 11)
    method = "Outer.method" if new else "method"
    for stack in ours:
        names = [(f.name, f.line) for f in scripts_of(stack)]
        check(names[0] == ("<module>", 8) and names[1] == (method, 6) and names[-1] == ("innermost", 3),
              f"{list(stack)}")


def locked(python):
    """What is kept for the frames of each possible thread is not locked with the program's memory."""
    cwd = folder()
    source = cwd / "locks.py"
    source.write_text("""import ctypes
if ctypes.CDLL(None).mlockall(1):
    raise SystemExit(9)
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("VmLck")][0])
""")
    alone = run([python, source])
    if alone.status == 9:
        skip("mlockall is not permitted")
    recording = record([python, source])
    check(recording.result.status == 0, recording.result.stderr)
    both = int(alone.stdout), int(recording.result.stdout)
    say(f"locked: {both[0]} KiB alone, {both[1]} KiB recorded")
    check(both[1] < both[0] + (16 << 10), "more is locked than the program's")


UNKNOWN = """
const unsigned long Py_Version = VERSION;
struct { char name[8]; unsigned long version, is_free_threaded, more[8192]; } _PyRuntime = {
    "xdebugpy", VERSION, IS_FREE_THREADED, {0}};
char PyCode_Type[512];
static volatile unsigned long sink;
__attribute__((noinline)) void _PyEval_EvalFrameDefault(void)
{
    for (unsigned long i = 0; i < 400000000; i++)
        sink += i;
}
int main(void)
{
    _PyEval_EvalFrameDefault();
    return 0;
}
"""


def unread(version, is_free_threaded, name):
    """An interpreter whose frames are not known: its own functions are shown, and a note says why."""
    cwd = folder()
    (cwd / "unknown.c").write_text(UNKNOWN)
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        skip("there is no C compiler")
    built = run([compiler, "-O1", "-rdynamic", f"-DVERSION={version}", f"-DIS_FREE_THREADED={is_free_threaded}",
                 "-o", cwd / "unknown", cwd / "unknown.c"])
    check(built.status == 0, built.stderr)
    recording = record([cwd / "unknown"])
    check(recording.result.status == 0, recording.result.stderr)
    report = recording.report()
    # With interrupts that came meanwhile, which are many on a busy machine.
    check(report.inclusive_s("_PyEval_EvalFrameDefault") > 0.9 * report.total_s, f"{report.data['functions'][:3]}")
    text = run([recording.kymo, "report", recording.path])
    say(" ".join(l for l in (text.stdout + text.stderr).splitlines() if "Python" in l))
    check(f"Python {name}: " in text.stdout + text.stderr, text.stdout + text.stderr)
    check(not any(scripts_of(s) for s in Stacks(recording).samples), "there are Python frames")


@case
def unknown_version():
    unread("0x036300f0", 0, "3.99")


@case
def free_threaded():
    unread("0x030d00f0", 1, "3.13, free-threaded")


LATE = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s\\n", dlerror());
        exit(9);
    }
    return found;
}
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 2], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\\n", dlerror());
        return 9;
    }
    ((void (*)(int))find(library, "Py_InitializeEx"))(0);
    return ((int (*)(const char *, void *))find(library, "PyRun_SimpleStringFlags"))(argv[argc - 1], 0);
}
"""
LATE_CODE = """
import os, time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
def outer():
    list(map(spin, [0.6]))
    rest()
def rest():
    time.sleep(0.6)
def in_child():
    spin(0.1)
outer()
child = os.fork()
if not child:
    in_child()
    os._exit(0)
os.waitpid(child, 0)
"""


def loaded_later(python):
    """A program that loads the interpreter when it runs, as PL/Python and uWSGI do."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        skip("there is no C compiler")
    places = run([python, "-c", "import os, sys, sysconfig; print(os.path.join(sysconfig.get_config_var('LIBDIR'), "
                  "sysconfig.get_config_var('INSTSONAME') or '')); print(sys.base_prefix)"]).stdout.split("\n")
    library, home = places[0], places[1]
    if not os.path.basename(library).startswith("libpython3.") or ".so" not in library or not os.path.exists(library):
        skip("this interpreter has no library")
    cwd = folder()
    (cwd / "late.c").write_text(LATE)
    built = run([compiler, "-O1", "-o", cwd / "late", cwd / "late.c", "-ldl"])
    check(built.status == 0, built.stderr)
    recording = record([cwd / "late", library, LATE_CODE], options=["--wall=10ms"],
                       env=dict(os.environ, PYTHONHOME=home))
    check(recording.result.status == 0, recording.result.stderr)
    names = ["<module>", "outer", "spin"]
    cpu, waits, children, native = 0, 0, 0, 0
    for stack in Stacks(recording).samples:
        scripts = [f.name for f in scripts_of(stack)]
        if scripts[:3] == names and scripts[-1] == "spin":
            cpu += 1
            check(stack[0].name != "[incomplete stack]", f"{list(stack)}")
        if "rest" in scripts:
            check(scripts == ["<module>", "outer", "rest"], f"{list(stack)}")
            waits += 1
        children += scripts == ["<module>", "in_child", "spin"]
        native += not scripts
    say(f"{cpu} samples of spin, {waits} waits of rest, {children} of the child, {native} native")
    check(cpu > 0 and waits > 0 and children > 0, f"{cpu} samples, {waits} waits, {children} of the child")
    if perf_works():
        check(cpu > 200, f"{cpu} samples of 600 ms")


def python_version(python):
    return tuple(int(n) for n in version_of(python).split("."))


def formats(python):
    """Each format says the name, and where it can the file and the line."""
    cwd = folder()
    source = cwd / "formatted.py"
    source.write_text("""import time

def spinner():
    end = time.thread_time() + 0.5
    while time.thread_time() < end:
        pass

spinner()
""")
    recording = record([python, source], cwd=cwd)
    texts = {}
    for ending in ("folded", "pb.gz", "jfr", "svg"):
        out = cwd / f"out.{ending}"
        done = run([recording.kymo, "convert", recording.path, "-q", "-f", "-o", out])
        check(done.status == 0, f"{ending}: {done.stderr}")
        texts[ending] = out.read_bytes()
    lines = texts["folded"].decode().splitlines()
    check(any(";<module>;spinner" in line for line in lines), f"collapsed: {lines[:3]}")
    for ending in ("svg", "jfr"):
        check(b"spinner" in texts[ending], f"{ending} lacks the function")
    raw = gzip.decompress(texts["pb.gz"])
    for word in (b"spinner", str(source).encode()):
        check(word in raw, f"pprof lacks {word}")
    if shutil.which("go"):
        top = run(["go", "tool", "pprof", "-lines", "-top", cwd / "out.pb.gz"])
        check(top.status != 0 or any(f"formatted.py:{line}" in top.stdout for line in (4, 5, 6)),
              top.stdout[:800])
    report = recording.report()
    row = report.rows("spinner")
    check(row and row[0]["file"] == str(source) and row[0]["line"] == 3, f"report: {row}")
    lines = {f["line"] for f in recording.report("--by", "line").rows("spinner")}
    check(lines and lines <= {4, 5, 6}, f"lines: {lines}")
    stacks = Stacks(recording)
    mine = [f for s in stacks.samples for f in s if f.name == "spinner"]
    check(mine and all(f.is_script and f.category == "Python" and f.file == str(source)
                       and f.line in (3, 4, 5, 6) for f in mine), f"{mine[:3]}")


# What depends on how an interpreter was built is tried with each, and what depends on the engine with one.
for name, version, path in INTERPRETERS:
    for function in (whole_chains, markers):
        add_case(f"{function.__name__}.{name}", function, path)
for name, version, path in one_of_each_version(INTERPRETERS):
    for function in (trampolines, tasks, sub_interpreters):
        add_case(f"{function.__name__}.{name}", function, path)
for name, version, path in one_of_each_kind(INTERPRETERS):
    for function in (deep_recursion, loaded_later, greenlets, py_spy_agrees):
        add_case(f"{function.__name__}.{name}", function, path)
SOME = some_of(INTERPRETERS)
for name, version, path in SOME:
    for function in (odd_text, shares, processes, freed_code, unchanged, killed, allocations, locked, formats):
        add_case(f"{function.__name__}.{name}", function, path)
for name, version, path in SOME[-1:]:
    for engine in ("perf", "timer", "dispatch"):
        add_case(f"{engine}.{name}", each_engine, path, engine)
missing = sorted(set(VERSIONS) - {version for _, version, _ in INTERPRETERS})
if missing:
    say(f"not here, and not tested: {', '.join(missing)}")
main()
