# SPDX-License-Identifier: Apache-2.0
"""The label of asyncio's tasks on samples of all kinds, and on markers with a stack: each task runs functions of its
own, so what each sample's label is to be stands in its stack. With each CPython that is found."""
import collections
import gzip

from kymotest import KYMO, add_case, check, folder, main, record, run, say, tried_again
from pprof_samples import pprof
from pythons import find_interpreters, one_of_each_kind
from traced import package_for

INTERPRETERS = one_of_each_kind(find_interpreters())

STEPS = 8
PROGRAM = """
import asyncio, threading, time
kept = []
FUNCTIONS = '''
def wait_NAME(seconds): time.sleep(seconds)
def lock_NAME(lock, seconds): lock.acquire(timeout=seconds)
def spin_NAME(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def keep_NAME(): kept.append(bytearray(1 << 20))
def grow_NAME():
    some = bytearray(1 << 20)
    some.extend(bytes(8 << 20))
    kept.append(some)
def mark_NAME():
    if kymo:
        kymo.marker("here", stack=True, task="NAME")
        kymo.marker("nowhere", task="NAME")
'''
try: import kymo
except ImportError: kymo = None
NAMES = ("one", "two", "none")
for name in NAMES:
    exec(FUNCTIONS.replace("NAME", name))
held = threading.Lock()
held.acquire()
def step(name):
    run = globals()
    run["wait_" + name](0.02)
    run["lock_" + name](held, 0.02)
    run["spin_" + name](0.02)
    run["keep_" + name]()
    run["grow_" + name]()
    run["mark_" + name]()
async def work(name):
    for i in range(STEPS):
        step(name)
        await asyncio.sleep(0)
        kept.clear()
async def main():
    tasks = [asyncio.ensure_future(work(name)) for name in NAMES[:2]]
    for name, task in zip(NAMES, tasks): task.set_name(name)
    await asyncio.gather(*tasks)
asyncio.run(main())
for i in range(STEPS): step("none")
kept.clear()
""".replace("STEPS", str(STEPS))

WHAT = ("wait", "lock", "spin", "keep", "grow")


class Sums:
    """{(function of the program, label): value} of a sample type."""

    def __init__(self, path, mode, kind):
        out = folder() / "profile.pb.gz"
        made = run([KYMO, "convert", path, "-q", "-f", *([f"--mode={mode}"] if mode else []), "-o", out])
        check(made.status == 0, f"kymo convert: {made.stderr}")
        profile = pprof.decode(gzip.decompress(out.read_bytes()), pprof.PROFILE, "profile")
        strings = [s.decode() for s in profile["string_table"]]
        functions = {f["id"]: strings[f["name"]] for f in profile["function"]}
        frames = {at["id"]: {functions[line["function_id"]] for line in at["line"]} for at in profile["location"]}
        at = [strings[t["type"]] for t in profile["sample_type"]].index(kind)
        self.sums = collections.Counter()
        for sample in profile["sample"]:
            labels = {strings[x["key"]]: strings[x["str"]] for x in sample["label"] if x["str"]}
            for name in set().union(*(frames[i] for i in sample["location_id"])):
                what, _, task = name.partition("_")
                if what in WHAT and task in ("one", "two", "none") and sample["value"][at]:
                    self.sums[name, labels.get("asyncio task")] += sample["value"][at]


def check_labels(sums, names):
    """All that a task's functions have has its label. Where frames could not be read, which is rare, there is none;
    another one there never is."""
    true = {"one": "one", "two": "two", "none": None}
    lacking = sum(n for (name, label), n in sums.items() if label is None and not name.endswith("_none"))
    wrong = {key: n for key, n in sums.items() if key[1] not in (None, true[key[0].split("_")[1]])}
    check(not wrong, f"wrong labels: {wrong}, of {dict(sums)}")
    check(lacking <= 0.02 * sum(sums.values()), f"no labels: {lacking} of {dict(sums)}")
    missing = {f"{what}_{task}" for what in names for task in true} - {name for name, _ in sums}
    check(not missing, f"never seen: {sorted(missing)}; {dict(sums)}")
    say(f"{len(sums)} functions: {dict(sums)}")


@tried_again
def samples(interpreter):
    """CPU samples; wall samples of threads that wait, and that run."""
    recording = record([interpreter.path, "-c", PROGRAM], options=["--wall=2ms"])
    check(recording.result.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
    check_labels(Sums(recording.path, None, "cpu").sums, ["spin"])
    check_labels(Sums(recording.path, None, "wall").sums, ["wait", "lock", "spin"])


INTERPRETERS_TOO = """
import sys
try: import _interpreters as subs
except ImportError: import _xxsubinterpreters as subs
one = subs.create("legacy") if sys.version_info >= (3, 13) else subs.create(isolated=False)
program = sys.argv[1]
exec(program)
subs.run_string(one, program)
exec(program)
subs.destroy(one)
"""


@tried_again
def interpreters(interpreter):
    """Each has code of asyncio of its own."""
    recording = record([interpreter.path, "-c", INTERPRETERS_TOO, PROGRAM], options=["--wall=2ms"])
    check(recording.result.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
    check_labels(Sums(recording.path, None, "cpu").sums, ["spin"])
    check_labels(Sums(recording.path, None, "wall").sums, ["wait", "lock", "spin"])


def allocations(interpreter):
    """Of 1 MiB, at one sample for 4 KiB."""
    recording = record([interpreter.path, "-c", PROGRAM], options=["--alloc=4k"])
    check(recording.result.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
    sums = Sums(recording.path, "alloc", "alloc_objects").sums
    check_labels({key: n for key, n in sums.items() if key[0].startswith(("keep", "grow"))}, ["keep", "grow"])


def markers(interpreter):
    """With a stack they know their task; without one they do not."""
    recording = record([package_for(interpreter), "-c", PROGRAM])
    check(recording.result.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
    seen = collections.Counter((m.name, m.data["task"], m.data.get("labels"), bool(m.frames))
                               for m in recording.firefox().all_markers() if m.name in ("here", "nowhere"))
    true = {("here", name, f'"asyncio task"={name}', True): STEPS for name in ("one", "two")}
    true |= {("nowhere", name, None, False): STEPS for name in ("one", "two", "none")}
    true |= {("here", "none", None, True): STEPS}
    check(seen == true, f"{dict(seen)}")


for interpreter in INTERPRETERS:
    for case in (samples, interpreters, allocations, markers):
        add_case(f"{case.__name__}.{interpreter.name}", case, interpreter)
main()
