# SPDX-License-Identifier: Apache-2.0
"""The heap at moments of one's choosing: asked for by the program itself and from outside while it runs, at a
time of a recording, and from one time to another.

The program does with its heap what the test says, step by step, and tells the time after each; so what lives
when is known to the byte.
"""
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import threading
import time

from kymotest import (BUILD, KYMO, PATIENCE_S, WORKLOADS, case, check, check_nothing_lost, folder, main,
                      record_command, run, say, skip)

DUMP = BUILD / "tests" / "recording_dump"
EVERY = ("--alloc=0", "--buffer=64m")
# Between two steps, so that a time lies between them: markers and blocks are dated by the processor's clock,
# which the recorder translates to within some 10 us.
APART_S = 0.004
PPROF, COLLAPSED, JSON = 0, 1, 2


class Steps:
    """The program, recorded; each call is a step."""

    def __init__(self, options=EVERY, under_kymo=True, started_by=()):
        self.where = folder()
        self.path = self.where / "recording.kymo"
        argv = [*started_by, WORKLOADS / "heap_steps"]
        if under_kymo:
            argv = record_command(argv, self.path, period="10ms", options=options)
        self.process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.watchdog = threading.Timer(PATIENCE_S, self.process.kill)
        self.watchdog.daemon = True  # a case that failed does not wait for it
        self.watchdog.start()
        self.pid = None

    def step(self, *words):
        """The time when it was done, a while before the next one begins; and what the program said."""
        self.process.stdin.write((" ".join(str(w) for w in words) + "\n").encode())
        self.process.stdin.flush()
        line = self.process.stdout.readline().split()
        check(len(line) == 2, f"{words}: the program said {line}")
        time.sleep(APART_S)
        self.at_ns = int(line[0]) + int(APART_S / 2 * 1e9)
        self.said = line[1].decode()
        return self.at_ns

    def do(self, *words):
        self.step(*words)
        check(self.said == "ok", f"{words}: {self.said}")
        return self.at_ns

    def profile(self, format_, name):
        self.do("profile", format_, self.where / name)
        return self.where / name

    def program(self):
        """Its process id: it is kymo's only child that does not answer a request."""
        kymo = self.process.pid
        children = pathlib.Path(f"/proc/{kymo}/task/{kymo}/children").read_text().split()
        pids = [pid for pid in children if pathlib.Path(f"/proc/{pid}/comm").read_text() == "heap_steps\n"]
        check(len(pids) == 1, f"children: {children}")
        return pids[0]

    def end(self):
        self.process.stdin.close()
        check(self.process.wait() == 0, f"status {self.process.returncode}")
        self.watchdog.cancel()
        self.dump = subprocess.run([DUMP, self.path], capture_output=True, text=True, check=True).stdout
        self.origin_ns = int(re.search(r"^meta start=(\d+)", self.dump)[1])
        self.end_ns = int(re.search(r"^process_end 0 .*end=(\d+)", self.dump, re.M)[1])
        return self.path

    def since(self, at_ns):
        """As an argument."""
        return f"{at_ns - self.origin_ns}ns"


def json_of(text):
    return {f["name"]: (f["total"]["objects"], f["total"]["bytes"]) for f in json.loads(text)["functions"]
            if f["name"].startswith("site_")}


def report(path, *arguments):
    out = run([KYMO, "report", path, "--json", "--top", "0", *arguments])
    check(out.status == 0, f"kymo report: status {out.status}: {out.stderr}")
    return out.stdout


def rows(path, *arguments):
    return json_of(report(path, *arguments))


def folded(path):
    sums = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        stack, _, weight = line.rpartition(" ")
        for site in (f for f in stack.split(";") if f.startswith("site_")):
            sums[site] = sums.get(site, 0) + int(weight)
    return sums


def bytes_of(sites):
    return {site: bytes_ for site, (_, bytes_) in sites.items()}


def check_same(what, found, true):
    say(f"{what}: {found}")
    check(found == true, f"{what}: {found}, in truth {true}")


def pprof(path, *arguments):
    if not shutil.which("go"):
        return None
    out = run(["go", "tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0", "-unit=B", *arguments, path])
    check(out.status == 0, f"pprof {arguments}: {out.stderr}")
    sites = {}
    for line in out.stdout.splitlines():
        words = line.split()
        if len(words) >= 6 and words[5].startswith("site_"):
            sites[words[5]] = int(words[3].removesuffix("B"))
    return sites


# ---- while it runs ----

@case
def of_its_own():
    """A program asks what lives, gives some of it back, asks again; what it asks with is not there any more."""
    steps = Steps()
    steps.do("give", "site_a", 1000, 100)
    steps.do("give", "site_b", 10, 50000)
    steps.do("free", "site_a", 400)
    there = {"site_a": (600, 60000), "site_b": (10, 500000)}
    check_same("JSON", json_of(steps.profile(JSON, "first.json").read_text()), there)
    check_same("collapsed", folded(steps.profile(COLLAPSED, "first.folded")), bytes_of(there))
    first = steps.profile(PPROF, "first.pb.gz")
    check(gzip.decompress(first.read_bytes()), "there is nothing in the pprof file")
    check_same("pprof", pprof(first) or bytes_of(there), bytes_of(there))
    steps.do("free", "site_b", 10)
    steps.do("thread", "helper", "site_c", 7, 1000)
    there = {"site_a": (600, 60000), "site_c": (7, 7000)}
    check_same("later", json_of(steps.profile(JSON, "second.json").read_text()), there)
    steps.step("profile", 9, steps.where / "none")
    check(steps.said == "KYMO_E_INVALID", f"an unknown format: {steps.said}")
    check_same("at the end", rows(steps.end(), "--mode", "live"), there)


@case
def nobody_records():
    steps = Steps(under_kymo=False)
    steps.step("profile", JSON, steps.where / "none")
    check(steps.said == "KYMO_E_UNSUPPORTED", f"without a recorder: {steps.said}")
    steps.process.stdin.close()
    check(steps.process.wait() == 0, "it did not end well")
    steps.watchdog.cancel()
    steps = Steps(options=())
    steps.step("profile", JSON, steps.where / "none")
    check(steps.said == "KYMO_E_UNSUPPORTED", f"without --alloc: {steps.said}")
    for asked in ("heap", "alloc=4k"):
        more = ["-o", steps.where / "none.folded"] if asked == "heap" else []
        out = run([KYMO, "control", "-p", steps.process.pid, asked, *more])
        check(out.status == 1 and "--alloc" in out.stderr, f"{asked}: {out.status}, {out.stderr}")
    steps.end()


@case
def from_outside():
    """kymo control writes what lives now, of the process or of all."""
    steps = Steps()
    steps.do("give", "site_a", 100, 1000)
    kymo = [KYMO, "control", "-p"]
    now = steps.where / "now.folded"
    out = run([*kymo, steps.program(), "heap", "-o", now])
    check(out.status == 0 and "wrote" in out.stderr, f"{out.status}: {out.stderr}")
    check_same("of the process", folded(now), {"site_a": 100000})
    steps.do("free", "site_a", 50)
    out = run([*kymo, steps.process.pid, "heap", "-o", now])
    check(out.status == 2 and "exists" in out.stderr, f"a second time: {out.status}: {out.stderr}")
    out = run([*kymo, steps.process.pid, "-q", "heap", "-f", "-o", now])
    check(out.status == 0 and out.stderr == "", f"{out.status}: {out.stderr}")
    check_same("of all", folded(now), {"site_a": 50000})
    out = run([*kymo, steps.process.pid, "heap", "-o", steps.where / "now.json"])
    check(out.status == 0, out.stderr)
    check("nativeAllocations" in (steps.where / "now.json").read_text(), "no blocks in the Firefox file")
    for words, text in ((["heap"], "-o"), (["heap", "-o", "x.kymo"], "x.kymo"), (["heap", "alloc=1"], "second"),
                        (["alloc=1", "-o", "x.folded"], "-o"), (["alloc=x"], "alloc"), ([], "missing request")):
        out = run([*kymo, steps.process.pid, *words])
        check(out.status == 2 and text in out.stderr, f"{words}: {out.status}, {out.stderr}")
    steps.end()


@case
def from_a_table():
    """Where allocations are sampled, the recorder knows what lives without its recording: the same, to the byte,
    as the recording says of that time. At this rate a block of a KiB is missed once in 10^27."""
    steps = Steps(options=("--alloc=16",))
    steps.do("give", "site_a", 100, 1000)
    steps.do("give", "site_b", 40, 2000)
    steps.do("grow", "site_b", 20, 5000)
    steps.do("free", "site_a", 60)
    steps.do("thread", "helper", "site_c", 7, 1000)
    there = {"site_a": (40, 40000), "site_b": (20, 40000), "site_grown": (20, 100000), "site_c": (7, 7000)}
    first = steps.profile(PPROF, "first.pb.gz")
    check_same("pprof", pprof(first) or bytes_of(there), bytes_of(there))
    # What a recording's samples have is in the file where that was read.
    check(b"sampled rate" not in gzip.decompress(first.read_bytes()), "the recording was read")
    check(b"alloc_space" not in gzip.decompress(first.read_bytes()), "what was allocated is not known")
    check_same("JSON", json_of(steps.profile(JSON, "first.json").read_text()), there)
    folded_now = steps.profile(COLLAPSED, "first.folded").read_text()
    at_ns = steps.at_ns
    steps.do("free", "site_b", 40)
    steps.end()
    then = convert(steps, "then.folded", "--mode", "live", "--at", steps.since(at_ns))
    check(sorted(folded_now.splitlines()) == sorted(then.read_text().splitlines()),
          "the recording says something else of that time")


@case
def after_the_program():
    """The program has ended, and what it started goes on: an answer that ends is not its end again."""
    steps = Steps(started_by=("sh", "-c", 'exec 3<&0; "$0" <&3 & exit 0'))
    steps.do("give", "site_a", 10, 100)
    kymo = steps.process.pid
    while "sh\n" in [pathlib.Path(f"/proc/{pid}/comm").read_text() for pid in
                     pathlib.Path(f"/proc/{kymo}/task/{kymo}/children").read_text().split()]:
        time.sleep(APART_S)
    for i in range(2):
        path = steps.where / f"{i}.folded"
        out = run([KYMO, "control", "-p", kymo, "heap", "-o", path])
        check(out.status == 0, f"status {out.status}: {out.stderr}")
        check_same("what lives", folded(path), {"site_a": 1000})
    asked_ns = steps.do("give", "site_a", 10, 100)
    steps.end()
    check(len(re.findall("^process_end 0 ", steps.dump, re.M)) == 1 and steps.end_ns < asked_ns,
          "the program ended twice")


@case
def another_rate():
    """From the answer on, a thread that records each block follows; sums are right before and after."""
    steps = Steps()

    def control(setting):
        out = run([KYMO, "control", "-p", steps.process.pid, setting])
        check(out.stdout == "1 process told\n", f"{setting}: {out.stdout}{out.stderr}")

    steps.do("give", "site_a", 1000, 1000)
    steps.do("map", 8 << 20)
    control("alloc=off")
    # The first one was drawn before.
    steps.do("give", "site_b", 1000, 1000)
    steps.do("free", "site_a", 500)
    # What was recorded goes on to be.
    steps.do("grow", "site_a", 100, 3000)
    steps.do("unmap")
    control("alloc=1")
    # A thread that records nothing looks again after 16 MiB.
    steps.do("give", "site_b", 20, 1 << 20)
    steps.do("give", "site_c", 1000, 1000)
    control("alloc=64k")
    for _ in range(8):
        steps.do("give", "site_c", 64, 1 << 20)
    path = steps.end()
    found = json.loads(report(path, "--mode", "live"))
    sites = {f["name"]: f["total"] for f in found["functions"]}
    check_same("before", (sites["site_a"]["objects"], sites["site_a"]["bytes"]), (400, 400000))
    check_same("grown", (sites["site_grown"]["objects"], sites["site_grown"]["bytes"]), (100, 300000))
    check_nothing_lost(found["quality"])
    check(rows(path, "--mode", "mapped") == {}, "the mapping is still there")
    check(sites["site_b"]["objects"] <= 21, f"while it was off: {sites['site_b']}")
    true = 1000 * 1000 + (512 << 20)
    mean = sites["site_c"]["bytes"]
    say(f"after: {mean:.0f} bytes, in truth {true}")
    # Blocks of 16 times the rate are all there, but for one in nine millions.
    check(abs(mean - true) < 3 << 20, f"after: {mean} bytes, in truth {true}")
    check(found["heaps"][0]["rate"] == 65536, f"{found['heaps']}")


# ---- at a time ----

def story():
    """A program whose heap is known at each of some times."""
    steps = Steps()
    times = {}
    steps.do("give", "site_a", 100, 1000)
    times["start"] = steps.do("map", 8 << 20)
    steps.do("give", "site_b", 50, 10000)
    times["peak"] = steps.do("thread", "helper", "site_c", 20, 2000)
    steps.do("free", "site_b", 40)
    times["after"] = steps.do("free", "site_a", 100)
    steps.do("give", "site_a", 10, 77)
    steps.end()
    return steps, times


HEAPS = {"start": {"site_a": (100, 100000)},
         "peak": {"site_a": (100, 100000), "site_b": (50, 500000), "site_c": (20, 40000)},
         "after": {"site_b": (10, 100000), "site_c": (20, 40000)},
         "end": {"site_a": (10, 770), "site_b": (10, 100000), "site_c": (20, 40000)}}


@case
def at_times():
    steps, times = story()
    for name, at_ns in times.items():
        check_same(name, rows(steps.path, "--mode", "live", "--at", steps.since(at_ns)), HEAPS[name])
    check_same("end", rows(steps.path, "--mode", "live"), HEAPS["end"])
    check_same("peak", rows(steps.path, "--mode", "peak"), HEAPS["peak"])
    at_ns = json.loads(report(steps.path, "--mode", "peak"))["at_s"] * 1e9
    check(times["start"] - steps.origin_ns < at_ns < times["peak"] - steps.origin_ns, f"the peak is at {at_ns} ns")


@case
def of_a_range():
    """What was allocated in a range of time, and what of that lived at its end."""
    steps = Steps()
    steps.do("give", "site_a", 10, 100)
    first_ns = steps.at_ns
    steps.do("give", "site_b", 20, 1000)
    steps.do("free", "site_b", 5)
    steps.do("give", "site_a", 3, 50)
    second_ns = steps.at_ns
    steps.do("free", "site_b", 15)
    steps.do("give", "site_c", 1, 10)
    path = steps.end()
    span = ("--from", steps.since(first_ns), "--to", steps.since(second_ns))
    check_same("allocated", rows(path, "--mode", "alloc", *span), {"site_a": (3, 150), "site_b": (20, 20000)})
    there = {"site_a": (3, 150), "site_b": (15, 15000)}
    check_same("lives at its end", rows(path, "--mode", "live", *span), there)
    file = steps.where / "x.folded"
    run([KYMO, "convert", path, "-q", "--mode", "live", *span, "-o", file])
    check_same("as a file", folded(file), bytes_of(there))
    check_same("without a function", rows(path, "--mode", "live", *span, "--ignore", "site_b"), {"site_a": (3, 150)})
    data = json.loads(report(path, "--mode", "alloc", *span))
    check(data["selection"]["counted"] == "recorded allocations"
          and data["selection"]["selected"] < data["selection"]["of"], f"{data['selection']}")
    out = run([KYMO, "report", path, "--mode", "live", *span, "--at", steps.since(steps.end_ns)])
    check(out.status == 2 and "not between --from and --to" in out.stderr, f"{out.status}: {out.stderr}")
    out = run([KYMO, "report", path, "--mode", "memory", *span])
    check(out.status == 2 and "the ledger is of whole processes" in out.stderr, f"{out.status}: {out.stderr}")


@case
def threads():
    """A block belongs to the thread that asked for it, whichever thread frees it."""
    steps = Steps()
    steps.do("give", "site_a", 3, 100)
    steps.do("thread", "first", "site_b", 30, 1000)
    steps.do("thread", "second", "site_b", 50, 1000)
    steps.do("free", "site_b", 40)
    path = steps.end()
    data = json.loads(report(path, "--mode", "live", "--by", "thread"))
    found = {f["name"].split(" ")[0]: f["total"]["objects"] for f in data["functions"]}
    check(found.get("second") == 40 and "first" not in found, f"live, by thread: {found}")
    data = json.loads(report(path, "--mode", "alloc", "--by", "thread"))
    found = {f["name"].split(" ")[0]: f["total"]["objects"] for f in data["functions"]}
    check(found["first"] >= 30 and found["second"] >= 50, f"all, by thread: {found}")
    data = json.loads(report(path, "--mode", "lifetimes"))
    check_same("freed by another thread", data["elsewhere"]["objects"], 40)


@case
def leaks():
    """Young blocks are left out by their age, or by their share."""
    steps = Steps()
    between_ns = steps.do("give", "site_a", 100, 10)
    steps.do("give", "site_b", 300, 10)
    path = steps.end()
    check_same("all", rows(path, "--mode", "leaks"), {"site_a": (100, 1000), "site_b": (300, 3000)})
    check_same("older ones", rows(path, "--mode", "leaks", "--min-age", f"{steps.end_ns - between_ns}ns"),
               {"site_a": (100, 1000)})
    found = rows(path, "--mode", "leaks", "--ignore-youngest", "70")
    say(f"without the youngest 70 %: {found}")
    # Of 400, and some that libc has.
    check(found["site_a"] == (100, 1000) and found["site_b"][0] <= 20, f"{found}")


@case
def lifetimes():
    """Some live for less than it takes to sleep a fifth of a second, others for longer."""
    steps = Steps()
    steps.do("give", "site_a", 60, 100)
    time.sleep(0.2)
    steps.do("free", "site_a", 60)
    path = steps.end()
    data = json.loads(report(path, "--mode", "lifetimes"))
    site, = (f for f in data["functions"] if f["name"] == "site_a")
    buckets = dict(site["lifetimes"])
    say(f"site_a: {buckets}")
    check(sum(buckets.values()) == 60 and min(buckets) >= 1 << 27, f"lives: {buckets}")


@case
def longer_lives():
    """As many are freed as before, but later; one site is new."""
    paths = []
    for slept_s in 0, 0.2:
        steps = Steps()
        steps.do("give", "site_a", 60, 100)
        time.sleep(slept_s)
        steps.do("free", "site_a", 60)
        if slept_s:
            steps.do("give", "site_b", 5, 100)
            steps.do("free", "site_b", 5)
        paths.append(steps.end())
    out = run([KYMO, "diff", *paths, "--mode=lifetimes", "--json", "--top=0"])
    check(out.status == 0, out.stderr)
    found = {row["name"]: row for row in json.loads(out.stdout)["changes"] if row["name"].startswith("site_")}
    say(f"site_a: {found['site_a']['lifetimes']}")
    for side, name in enumerate(("before", "after")):
        check(found["site_a"][name] == sum(life[1 + side] for life in found["site_a"]["lifetimes"]) == 60, f"{found}")
    check(all(life[2] == 0 for life in found["site_a"]["lifetimes"] if life[0] < 1 << 27), f"{found['site_a']}")
    check(found["site_b"]["after"] == 5 and found["site_b"]["only"] == "after", f"{found['site_b']}")


@case
def growth():
    steps, times = story()
    ends = [f"{steps.path}@{steps.since(times[name])}" for name in ("start", "after")]
    out = run([KYMO, "diff", *ends, "--json", "--top", "0"])
    check(out.status == 0, out.stderr)
    found = {f["name"]: (f["before"], f["after"], f["change"]) for f in json.loads(out.stdout)["changes"]
             if f["name"].startswith("site_")}
    check_same("from start to after", found, {"site_a": (100000, 0, -100000), "site_b": (0, 100000, 100000),
                                              "site_c": (0, 40000, 40000)})
    path = steps.where / "growth.pb.gz"
    out = run([KYMO, "diff", *ends, "-o", path])
    check(out.status == 0 and "wrote" in out.stderr, out.stderr)
    change = {site: bytes_ for site, (_, _, bytes_) in found.items()}
    check_same("pprof", pprof(path) or change, change)
    comments = gzip.decompress(path.read_bytes())
    check(b"inuse_space before: " in comments and b"inuse_space after: " in comments, "which sums these are")
    came = {"site_b": 500000, "site_c": 40000}
    check_same("pprof, what came", pprof(path, "-sample_index=alloc_space") or came, came)
    for more, text in (([path], "exists"), ([steps.where / "x.json"], ".pb.gz"), ([path, "-f", "--json"], "json")):
        out = run([KYMO, "diff", *ends, "-o", *more])
        check(out.status == 2 and text in out.stderr, f"-o {more}: {out.status}, {out.stderr}")


@case
def of_two_recordings():
    """The live heaps of two recordings as one pprof file: the first one's is taken off."""
    paths = []
    for blocks in 10, 25:
        steps = Steps()
        steps.do("give", "site_a", blocks, 1000)
        steps.do("give", "site_b", 5, 100)
        if blocks == 10:
            steps.do("give", "site_c", 1, 70)
        paths.append(steps.end())
    change = {"site_a": 15000, "site_b": 0, "site_c": -70}
    out = run([KYMO, "diff", *paths, "--json", "--top", "0", "--normalize", "none"])
    found = {f["name"]: f["change"] for f in json.loads(out.stdout)["changes"] if f["name"].startswith("site_")}
    check_same("kymo diff", found, change)
    path = steps.where / "x.pb.gz"
    out = run([KYMO, "diff", "-q", *paths, "-o", path])
    check(out.status == 0, out.stderr)
    check_same("pprof", {site: n for site, n in (pprof(path) or change).items() if n},
               {site: n for site, n in change.items() if n})
    out = run([KYMO, "diff", "-q", "-f", "--mode", "alloc", *paths, "-o", path])
    check(out.status == 0, out.stderr)
    came = {"site_a": 15000, "site_c": -70}
    check_same("pprof, allocated", {site: n for site, n in (pprof(path, "-sample_index=alloc_space") or came).items()
                                    if n}, came)


# ---- files ----

def convert(steps, name, *arguments):
    path = steps.where / name
    out = run([KYMO, "convert", "-q", "-f", steps.path, "-o", path, *arguments])
    check(out.status == 0, f"kymo convert {arguments}: {out.stderr}")
    return path


@case
def files():
    """A file shows what the report does, at any time."""
    steps, times = story()
    for name, at_ns in times.items():
        at = ("--mode", "live", "--at", steps.since(at_ns))
        true = bytes_of(HEAPS[name])
        check_same(f"{name}, collapsed", folded(convert(steps, "at.folded", *at)), true)
        path = convert(steps, "at.pb.gz", *at)
        check_same(f"{name}, pprof", pprof(path) or true, true)
    old = ("--mode", "leaks", "--min-age", f"{steps.end_ns - times['start']}ns")
    check_same("old, collapsed", folded(convert(steps, "old.folded", *old)), {})
    old = ("--mode", "leaks", "--min-age", f"{steps.end_ns - times['peak']}ns")
    check_same("old, collapsed", folded(convert(steps, "old.folded", *old)),
               {"site_b": 100000, "site_c": 40000})
    young = ("--mode", "leaks", "--ignore-youngest", "100")
    check_same("none", folded(convert(steps, "none.folded", *young)), {})
    for arguments, text in ((["--mode", "peak", "--at", "1s"], "--at"), (["--mode", "live", "--min-age", "1s"], "leaks"),
                            (["--within", "2"], "unknown option")):
        out = run([KYMO, "convert", steps.path, "-o", steps.where / "x.folded", *arguments])
        check(out.status == 2 and text in out.stderr, f"{arguments}: {out.status}, {out.stderr}")


@case
def mappings():
    """Large mappings have files of their own."""
    steps, times = story()
    true = {"site_mapping": 8 << 20}
    check_same("mapped", rows(steps.path, "--mode", "mapped"), {"site_mapping": (1, 8 << 20)})
    check_same("collapsed", folded(convert(steps, "mapped.folded", "--mode", "mapped")), true)
    path = convert(steps, "mapped.pb.gz", "--mode", "mapped")
    check_same("pprof", pprof(path) or true, true)
    before = convert(steps, "before.folded", "--mode", "mapped", "--at", "1ns")
    check_same("before", folded(before), {})


@case
def pprof_reads():
    """Every index of every file, and the label of sizes."""
    if not shutil.which("go"):
        skip("go is not installed")
    steps, _ = story()
    indexes = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
    asked = {"site_a": (110, 100770), "site_b": (50, 500000), "site_c": (20, 40000)}
    shown = {"alloc": "end", "live": "end", "peak": "peak", "leaks": "end"}
    for mode, name in shown.items():
        path = convert(steps, f"{mode}.pb.gz", "--mode", mode)
        for i, index in enumerate(indexes):
            table = asked if i < 2 else HEAPS[name]
            true = {site: pair[i % 2] for site, pair in table.items()}
            found = {site: n for site, n in pprof(path, f"-sample_index={index}").items() if n}
            check_same(f"{mode}, {index}", found, true)
    path = convert(steps, "live.pb.gz", "--mode", "live")
    check_same("of 5000 bytes and more", pprof(path, "-tagfocus=bytes=5kb:"), {"site_b": 100000})
    check_same("of 70 to 80 bytes", pprof(path, "-tagfocus=bytes=70b:80b"), {"site_a": 770})
    check_same("of the helper", pprof(path, "-tagfocus=thread=helper"), {"site_c": 40000})


main()
