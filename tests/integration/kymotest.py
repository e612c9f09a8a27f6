# SPDX-License-Identifier: Apache-2.0
"""What the integration tests share: running programs plainly and under Kymo, and reading results.

CPU time is what the kernel says of a process that has ended: wait4 for a program that runs plainly.
The program under `kymo record` is a child of kymo, which waits for it; wait4 of kymo says what both
used, and the clock of kymo's own process, read while it is a zombie, says what of it was kymo's.

A test file defines cases with @case and ends with main(). It prints what it measured, also when all
is well; a case that cannot run here ends by skip(), which says why.
"""
import collections
import ctypes
import json
import math
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import hangs

BUILD = pathlib.Path(os.environ["KYMO_BUILD"]).resolve()
WORKLOADS = BUILD / "tests" / "workloads"
PRELOAD = BUILD / "src" / "start" / "libkymo-preload.so"
PRELOAD_ALLOC = BUILD / "src" / "start" / "libkymo-preload-alloc.so"
KYMO = BUILD / "src" / "cli" / "kymo"
# The library's name has its version, which differs between releases of Debian.
MIMALLOC = next((name for name in ("libmimalloc.so.2", "libmimalloc.so.3")
                 if os.path.exists(f"/usr/lib/x86_64-linux-gnu/{name}")), "libmimalloc.so.2")
NOBODY = 65534
CLOCK_MONOTONIC_COARSE = 6  # linux/time.h; it advances with the kernel's tick
HZ = round(1 / time.clock_getres(CLOCK_MONOTONIC_COARSE))
PATIENCE_S = 600
CASE_PATIENCE_S = 900  # less than TIMEOUT in CMakeLists.txt
EXIT_SKIPPED = 77  # SKIP_RETURN_CODE in CMakeLists.txt


class Failed(Exception):
    """A check did not hold."""


class Late(Failed):
    """The same, of what a recorder that gets a CPU late may miss: such a case is tried again."""


class Skipped(Exception):
    """The case cannot run on this machine."""


def check(holds, message, failure=Failed):
    if not holds:
        raise failure(message)


def wait_until(what, holds):
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.01)
    check(False, f"in a minute not {what}")


def check_close(name, value, truth, tolerance):
    """value is truth, give or take tolerance (absolute, in the same unit)."""
    say(f"{name}: {value:.4f}, in truth {truth:.4f}")
    check(abs(value - truth) <= tolerance,
          f"{name} is {value:.4f}, in truth {truth:.4f}, further apart than {tolerance:.4f}")


def skip(why):
    raise Skipped(why)


def say(text):
    print("  " + text, flush=True)


# ---- running ----

class Result:
    """How a program ended: status is 128+N where signal N ended it, as a shell has it."""

    def __init__(self, wait_status, usage, own_ns, stdout, stderr):
        code = os.waitstatus_to_exitcode(wait_status)
        self.status = code if code >= 0 else 128 - code
        self.cpu_ns = round((usage.ru_utime + usage.ru_stime) * 1e9)
        self.children_cpu_ns = self.cpu_ns - own_ns
        self.stdout = stdout
        self.stderr = stderr


class Running:
    """A program that was started; finish() waits for it."""

    def __init__(self, argv, *, stdin=None, env=None, user=None, cwd=None, cpus=None, limits=()):
        self.files = [tempfile.TemporaryFile() for _ in range(3)]
        if stdin:
            self.files[0].write(stdin)
            self.files[0].seek(0)

        def prepare():
            for limit, value in limits:
                resource.setrlimit(limit, (value, value))
            if cpus:
                os.sched_setaffinity(0, cpus)
            if user is not None:
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)

        self.argv = [str(a) for a in argv]
        self.process = subprocess.Popen(
            self.argv, stdin=self.files[0], stdout=self.files[1], stderr=self.files[2],
            env=env, cwd=cwd, preexec_fn=prepare, start_new_session=True)
        self.watchdog = threading.Timer(PATIENCE_S, self.kill)
        self.watchdog.daemon = True  # a case that fails before finish() does not hold up the others
        self.watchdog.start()

    def kill(self):
        print(f"  hangs, is killed: {' '.join(self.argv)}", flush=True)
        hangs.end([self.process.pid, *hangs.descendants(self.process.pid)])

    def finish(self):
        pid = self.process.pid
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        # The CPU clock of any process by its number, as clock_getcpuclockid makes it.
        own_ns = time.clock_gettime_ns(~pid << 3 | 2)
        _, status, usage = os.wait4(pid, 0)
        self.process.returncode = status
        self.watchdog.cancel()
        texts = []
        for file in self.files[1:]:
            file.seek(0)
            texts.append(file.read().decode(errors="surrogateescape"))
        for file in self.files:
            file.close()
        return Result(status, usage, own_ns, *texts)


def run(argv, **how):
    return Running(argv, **how).finish()


def folder():
    """A new folder that any user may write to, gone when the test ends."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="kymo-test-"))
    path.chmod(0o777)
    folders.append(path)
    return path


folders = []


def tools_for(user):
    """kymo as that user can run it: the build may lie where only its owner can look."""
    if user is None:
        return KYMO
    if user not in copies:
        root = folder()
        for file in (KYMO, PRELOAD, PRELOAD_ALLOC):
            place = root / "src" / file.parent.name
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)
        copies[user] = root / "src" / KYMO.parent.name / KYMO.name
    return copies[user]


copies = {}


def copy_for_all(*files):
    """These files where any user may read and run them."""
    root = folder()
    return [pathlib.Path(shutil.copy2(file, root)) for file in files]


def perf_works():
    """Whether perf_event_open opens the clock of a thread, kernel included; asked without Kymo."""
    attr = (ctypes.c_uint32 * 32)()
    attr[0], attr[1], attr[2], attr[4] = 1, 128, 1, 1000000  # software, size, task clock, period
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(298, attr, 0, -1, -1, 8)
    if fd < 0:
        return False
    os.close(fd)
    return True


def engines():
    """Those that work here."""
    others = ["dispatch", "timer"]
    if perf_works():
        return ["perf", *others]
    say("perf_event_open is not permitted here: the perf engine is not tested")
    return others


WALL = "wall"  # where an engine is asked for: the best one, and wall-clock samples with it


def ways():
    """All ways to record that work here."""
    return [*engines(), WALL]


# ---- recording ----

class Recording:
    """A recording and what was seen of the program."""

    def __init__(self, path, result, kymo):
        self.path = path
        self.result = result
        self.kymo = kymo

    @property
    def cpu_s(self):
        return self.result.children_cpu_ns / 1e9

    def report(self, *arguments):
        out = run([self.kymo, "report", self.path, "--json", "--top", "0", *arguments])
        check(out.status == 0, f"kymo report: status {out.status}: {out.stderr}")
        return Report(json.loads(out.stdout))

    def firefox(self):
        path = self.path.with_suffix(".json")
        out = run([self.kymo, "convert", self.path, "-q", "-f", "--counters=all", "-o", path])
        check(out.status == 0, f"kymo convert: status {out.status}: {out.stderr}")
        return Profile(json.loads(path.read_text()))


def record_command(argv, path, *, engine="auto", period="1ms", options=(), user=None, under=()):
    """under: a command that takes the rest as its arguments, and runs it."""
    how = ["--engine=auto", "--wall=10ms"] if engine == WALL else [f"--engine={engine}"]
    if period.endswith("us"):  # as often as this machine can
        how.append("--overhead=50")
    return [*under, tools_for(user), "record", *how, f"--cpu={period}", "-q", *options,
            "-o", path, "--", *argv]


def record(argv, *, engine="auto", period="1ms", options=(), user=None, under=(), **how):
    """Runs argv under `kymo record` to its end."""
    path = folder() / "recording.kymo"
    command = record_command(argv, path, engine=engine, period=period, options=options, user=user,
                             under=under)
    result = run(command, user=user, **how)
    check(path.exists(), f"no recording: status {result.status}: {result.stderr}")
    return Recording(path, result, tools_for(None))


def by_chance(share, samples):
    """How far the share that these many samples show may be from the true one: four standard
    deviations, since a run of all tests asks hundreds of times."""
    return 4 * math.sqrt(share * (1 - share) / samples) if samples else 1


def as_many(weights):
    """How many samples of equal weight tell as much as these."""
    weights = list(weights)
    return sum(weights) ** 2 / max(sum(w * w for w in weights), 1)


def check_complete(report, least=0.999):
    """At least that share of the stacks is complete, but for what lies by chance beyond, and one."""
    stacks = report.quality["samples"] - report.quality.get("wall_stackless", 0)
    complete = report.quality["stacks_complete"]
    check(complete >= least - by_chance(1 - least, stacks) - 1 / max(stacks, 1),
          f"only {complete} of {stacks} stacks are complete", Late)


def check_nothing_lost(quality, where=""):
    """where: said in front, with ": " of its own. quality: of a report."""
    lost = lost_of(quality)
    is_late = set(lost) == {"samples: recorder late, ring full"}
    check(not lost, f"{where}lost: {lost}", Late if is_late else Failed)


def lost_of(quality):
    return {kind: n for kind, n in quality["lost"].items() if n}


class Report:
    """`kymo report --json`, with shares and the sums that tests ask for."""

    def __init__(self, data):
        self.data = data
        self.quality = data["quality"]
        self.threads = data["threads"]
        self.total_s = data["total"] / 1e9

    def with_start(self):
        """Samples, and that of the start, as files have it; of one process."""
        return self.quality["samples"] + ("cpu_startup_s" in self.quality)

    def names_of_several(self):
        """Names that several functions have: of sources or modules that other formats do not tell apart."""
        names = collections.Counter(f["name"] for f in self.data["functions"])
        return {name for name, n in names.items() if n > 1}

    def rows(self, name):
        return [f for f in self.data["functions"] if f["name"] == name]

    def self_s(self, name):
        return sum(f["self"] for f in self.rows(name)) / 1e9

    def inclusive_s(self, name):
        """With what it called, interrupts in the middle of it included."""
        return sum(f["total"] for f in self.rows(name)) / 1e9

    def share(self, name):
        return self.self_s(name) / self.total_s if self.total_s else 0.0

    def lost(self):
        return lost_of(self.quality)


class Sample:
    def __init__(self, time_ns, cpu_ns, frames):
        self.time_ns = time_ns  # CLOCK_MONOTONIC
        self.cpu_ns = cpu_ns
        self.frames = frames  # from the outermost to the innermost

    def function(self):
        """The program's own that it is in, also while an interrupt is."""
        return next((f.name for f in reversed(self.frames) if not f.in_kernel()), None)


class Frame:
    def __init__(self, name, lib, depth, line):
        self.name = name
        self.lib = lib  # path; None: none
        self.inline_depth = depth
        self.line = line

    def in_kernel(self):
        return self.name == "[kernel]" or (
            self.lib not in (None, "[vdso]", "[jit]") and self.lib[0] == "[")


class Marker:
    """A marker of a Firefox profile. phase: 0 instant, 1 interval, 2 and 3 only its start, or its end;
    data: fields by their keys, with the strings that indices stand for; frames: of its cause."""

    def __init__(self, thread, name, category, subcategory, phase, start_ns, end_ns, data, frames):
        self.thread = thread
        self.tid = int(thread["tid"]) if str(thread["tid"]).isdigit() else thread["tid"]
        self.name = name
        self.category = category
        self.subcategory = subcategory
        self.phase = phase
        self.start_ns = start_ns  # CLOCK_MONOTONIC; None: not known
        self.end_ns = end_ns
        self.data = data
        self.frames = frames

    @property
    def type(self):
        return self.data.get("type")


class Profile:
    """A Firefox processed profile, read by its format alone: nothing of our encoder's is here."""

    def __init__(self, data):
        self.data = data
        shared = data["shared"]
        strings = shared["stringArray"]
        functions, frames = shared["funcTable"], shared["frameTable"]
        resources = shared["resourceTable"]["lib"]
        self.frames = []
        for i in range(frames["length"]):
            function = frames["func"][i]
            resource = functions["resource"][function]
            lib = resources[resource] if resource >= 0 else None
            self.frames.append(Frame(
                strings[functions["name"][function]],
                data["libs"][lib]["path"] if lib is not None and lib >= 0 else None,
                frames["inlineDepth"][i], frames["line"][i]))
        table = shared["stackTable"]
        self.stacks = []
        for i in range(table["length"]):
            offset = table["prefixOffset"][i]
            parent = self.stacks[i - offset] if offset else ()
            self.stacks.append(parent + (self.frames[table["frame"][i]],))

    def samples(self, thread):
        """Of one of data["threads"]; those with a stack."""
        zero = int(self.data["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"])
        table = thread["samples"]
        now = 0.0
        out = []
        for i in range(table["length"]):
            now = now + table["timeDeltas"][i] if "timeDeltas" in table else table["time"][i]
            stack = table["stack"][i]
            cpu = table["threadCPUDelta"][i] if "threadCPUDelta" in table else 0
            if stack is not None:
                out.append(Sample(zero + now * 1e6, cpu or 0, self.stacks[stack]))
        return out

    def all_samples(self):
        return [s for t in self.data["threads"] for s in self.samples(t)]

    def markers(self, thread):
        zero = int(self.data["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"])
        strings = self.data["shared"]["stringArray"]
        categories = self.data["meta"]["categories"]
        schemas = {s["name"]: s for s in self.data["meta"]["markerSchema"]}

        def monotonic(ms):
            return None if ms is None else zero + round(ms * 1e6)

        table, out = thread["markers"], []
        for i in range(table["length"]):
            data = dict(table["data"][i] or {})
            for field in schemas.get(data.get("type"), {"fields": []})["fields"]:
                if field["format"] in ("unique-string", "flow-id", "terminating-flow-id") and \
                        data.get(field["key"]) is not None:
                    data[field["key"]] = strings[data[field["key"]]]
            stack = (data.get("cause") or {}).get("stack")
            out.append(Marker(thread, strings[table["name"][i]], categories[table["category"][i]]["name"],
                              data.get("subcategory", "Other"), table["phase"][i],
                              monotonic(table["startTime"][i]), monotonic(table["endTime"][i]), data,
                              self.stacks[stack] if stack is not None else ()))
        return out

    def all_markers(self):
        return [m for t in self.data["threads"] for m in self.markers(t)]

    def counter(self, name):
        """(time, value) of all its samples, where value is the sum so far; without the rows of no change
        that the viewer needs in front and at the end."""
        found = [c for c in self.data.get("counters", []) if c["name"] == name]
        if len(found) != 1:
            return None
        zero = int(self.data["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"])
        samples, value, now, out = found[0]["samples"], 0, 0.0, []
        for i in range(samples["length"]):
            now = now + samples["timeDeltas"][i] if "timeDeltas" in samples else samples["time"][i]
            value += samples["count"][i]
            changes = samples["count"][i] or samples.get("number", [0] * (i + 1))[i]
            if changes or 0 < i < samples["length"] - 1:
                out.append((zero + now * 1e6, value))
        return out


# ---- cases ----

cases = {}


def case(function):
    cases[function.__name__] = function
    return function


def add_case(name, function, *arguments):
    cases[name] = lambda: function(*arguments)


TRIES = 4


def tried_again(function, failure=Failed):
    """For cases whose figures a machine under load blurs, since the recorder gets a CPU late: right once is
    right, and what is broken is wrong each time."""
    def run_case(*arguments):
        for left in range(TRIES - 1, -1, -1):
            try:
                return function(*arguments)
            except failure as why:
                if not left:
                    raise
                say(f"tried again: {why}")
    run_case.__name__ = function.__name__
    return run_case


def cpu_seconds():
    """Of this process and of those that it has waited for."""
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def main():
    """Runs the cases that are named on the command line, or all."""
    failed, skipped = [], []
    names = sys.argv[1:] or list(cases)
    for name in names:
        print(f"{name}:", flush=True)
        began, used = time.monotonic(), cpu_seconds()
        try:
            with hangs.Limit(CASE_PATIENCE_S) as limit:
                tried_again(cases[name], Late)()
            check(not limit.passed, "its processes hung and were killed")
        except Skipped as why:
            say(f"SKIPPED: {why}")
            skipped.append(name)
        except Failed as why:
            say(f"FAILED: {why}")
            failed.append(name)
        except Exception:
            traceback.print_exc(file=sys.stdout)
            failed.append(name)
        say(f"({time.monotonic() - began:.1f} s, CPU time {cpu_seconds() - used:.1f} s)")
    for path in folders:
        if failed and os.environ.get("KYMO_TEST_KEEP"):
            say(f"kept: {path}")
        else:
            shutil.rmtree(path, ignore_errors=True)
    print(f"{len(names) - len(failed) - len(skipped)} of {len(names)} held"
          + (f"; failed: {' '.join(failed)}" if failed else "")
          + (f"; skipped: {' '.join(skipped)}" if skipped else ""))
    sys.exit(1 if failed else EXIT_SKIPPED if len(skipped) == len(names) else 0)
