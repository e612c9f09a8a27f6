# SPDX-License-Identifier: Apache-2.0
"""Interpreters with the package kymo, and the calls in a recording."""
import collections
import fcntl
import json
import pathlib
import re
import shutil

from kymotest import BUILD, check, record, run, say, skip

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "python"
DUMP = BUILD / "tests" / "recording_dump"

CALL, RESUME, OPEN, RETURN, YIELD, UNWIND, GAP, STOP = range(8)
BEGINS, ENDS = (CALL, RESUME, OPEN), (RETURN, YIELD, UNWIND)
NATIVE = 2

Function = collections.namedtuple("Function", "name file line language")
# The innermost function of Python's on a stack, and whether one of them is the root, or a module's body.
Caller = collections.namedtuple("Caller", "script in_root in_module")
Call = collections.namedtuple("Call", "thread time_ns kind depth missing function")


def state_of_sources():
    """What the package is made of, and when each was changed."""
    files = [*PACKAGE.glob("*.p*"), *PACKAGE.glob("kymo/*.py"), *PACKAGE.glob("src/*.[ch]"),
             *(ROOT / "include" / "kymo").glob("*.h")]
    return "".join(f"{f} {f.stat().st_mtime_ns}\n" for f in sorted(files))


def install(interpreter, home, python):
    if not python.exists():
        made = run([interpreter.path, "-m", "venv", "--without-pip", "--clear", home])
        if made.status != 0:
            skip(f"{interpreter.name} makes no environment: {made.stdout}{made.stderr}")
    headers = run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"]).stdout.strip()
    if not pathlib.Path(headers, "Python.h").exists():
        skip(f"{interpreter.name} has no headers in {headers}")
    site = pathlib.Path(run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"])
                        .stdout.strip())
    shutil.copytree(PACKAGE / "kymo", site / "kymo", dirs_exist_ok=True)
    shutil.copy(PACKAGE / "kymo.pth", site)
    built = run([python, PACKAGE / "build_extension.py", site / "kymo"])
    check(built.status == 0, f"{interpreter.name}: {built.stdout}{built.stderr}")


def package_for(interpreter):
    """A Python like this one, of an environment of its own that has the package. Tests that run side by side
    share it: one makes it, the others wait."""
    home = BUILD / "python" / interpreter.name
    python, made_of, state = home / "bin" / "python", home / "made_of", state_of_sources()
    home.parent.mkdir(parents=True, exist_ok=True)
    with open(home.parent / f"{interpreter.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made_of.exists() or made_of.read_text() != state:
            install(interpreter, home, python)
            made_of.write_text(state)
    return python


WORKLOAD = ROOT / "tests" / "workloads" / "python_calls.py"
SCENARIOS = "recursion,generators,coroutines,exceptions,callbacks,classes,comprehensions,executed,threads"


def true_counts(python, where, scenarios=SCENARIOS):
    """What a tracer in pure Python counts of the workload's scenarios."""
    plain = run([python, WORKLOAD, "count", scenarios, where])
    check(plain.status == 0, f"alone: {plain.stderr}")
    return {tuple(row[:3]): row[3] for row in json.loads(where.read_text())}


def check_counts(calls, true):
    """Each event of the workload that a tracer in pure Python counts is there as often."""
    main = WORKLOAD.read_text().split("\n").index("def main():") + 1  # what calls the scenarios
    seen = calls.counts(str(WORKLOAD), ("main", str(WORKLOAD), main))
    del seen["call", "main", main], seen["return", "main", main]
    wrong = {key: (seen.get(key, 0), true.get(key, 0)) for key in seen.keys() | true.keys()
             if seen.get(key, 0) != true.get(key, 0)}
    say(f"{sum(true.values())} events of {len(true)} kinds, {len(calls.calls)} in all")
    check(not wrong, f"seen, and in truth: {sorted(wrong.items())[:20]}")


def record_traced(argv, **how):
    return record(argv, options=["--trace=python", *how.pop("options", [])], **how)


class Calls:
    """The events of calls in a recording."""

    def __init__(self, path):
        out = run([DUMP, path])
        check(out.status == 0, f"recording_dump: {out.stderr}")
        self.functions, self.threads, self.processes = {}, {}, {}
        text = out.stdout
        for number, line, language, name, file in re.findall(
                r'^script (\d+) process=\d+ line=(\d+) language=(\d+) name="(.*?)" file="(.*?)"$', text, re.M):
            self.functions[int(number)] = Function(name, file, int(line), int(language))
        functions = {str(number): function for number, function in self.functions.items()} | {"none": None}
        self.calls = [Call(int(thread), int(time), int(kind), int(depth), int(missing), functions[script])
                      for thread, time, kind, depth, missing, script in re.findall(
                          r"^call thread=(\d+) time=(\d+) kind=(\d+) depth=(\d+) missing=(\d+) script=(\w+)$", text, re.M)]
        for number, process, tid in re.findall(r"^thread (\d+) process=(\d+) tid=(\d+)", text, re.M):
            self.threads[int(number)] = (int(process), int(tid))
        for number, pid in re.findall(r"^process (\d+) pid=(\d+)", text, re.M):
            self.processes[int(number)] = int(pid)

    def counts(self, file, root):
        """As the reference counts them: of functions of this file, and natives that they call, in calls of the
        function `root` and of threads, but not directly in `root`."""
        out = collections.Counter()
        stacks = collections.defaultdict(list)
        for call in self.calls:
            stack, function = stacks[call.thread], call.function
            if call.kind in BEGINS or call.kind in ENDS:
                del stack[call.depth - 1:]
            caller = stack[-1] if stack else Caller(None, False, False)
            is_script = function is not None and function.language != NATIVE
            if call.kind in BEGINS:
                stack.append(Caller(function, caller.in_root or function[:3] == root,
                                    caller.in_module or function.name == "<module>") if is_script else caller)
            mine = function and (function.file == file or not is_script)
            in_module = caller.in_module if caller.script else function and function.name == "<module>"
            if not mine or call.kind == OPEN or not (caller.in_root or not in_module):
                continue
            end = call.kind in ENDS
            if is_script:
                out["return" if end else "call", function.name, function.line] += 1
            elif caller.script and caller.script.file == file and caller.script[:3] != root:
                event = "c_exception" if call.kind == UNWIND else "c_return" if end else "c_call"
                out[event, function.name.rsplit(".")[-1], 0] += 1
        return out

    def check_balance(self):
        """Each thread's calls nest: what ends is what runs."""
        stacks = collections.defaultdict(list)
        for call in self.calls:
            stack = stacks[call.thread]
            if call.kind in BEGINS:
                check(call.depth == len(stack) + 1, f"{call} at a depth of {len(stack)}")
                stack.append(call.function)
            elif call.kind in ENDS:
                check(call.depth == len(stack) and stack[-1] == call.function,
                      f"{call} ends, and {stack[-1] if stack else None} runs at {len(stack)}")
                stack.pop()
            elif call.kind == STOP:
                stack.clear()
