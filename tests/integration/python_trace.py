# SPDX-License-Identifier: Apache-2.0
"""Traced calls of Python: what a tracer in pure Python counts, on every interpreter that is there."""
import collections
import json
import os
import re

from kymotest import KYMO, add_case, check, folder, main, run, say
from pythons import find_interpreters, one_of_each_version, some_of
from traced import SCENARIOS, WORKLOAD, Calls, check_counts, package_for, record_traced, true_counts

INTERPRETERS = find_interpreters()


def counts(interpreter):
    """The same events, each as often."""
    python = package_for(interpreter)
    true = true_counts(python, folder() / "truth.json")
    recording = record_traced([python, WORKLOAD, "run", SCENARIOS])
    check(recording.result.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
    calls = Calls(recording.path)
    calls.check_balance()
    check_counts(calls, true)


RAISES = WORKLOAD.with_name("python_raises.py")


def told(word):
    """By line of the workload, how many exceptions it says that are of this word."""
    lines = enumerate(RAISES.read_text().split("\n"), 1)
    return {number: int(m[1]) for number, line in lines if (m := re.search(rf" # .*\b{word} (\d+)", line))}


def raised(interpreter, options, true):
    env = {**os.environ, "KYMO_TRACE_PYTHON": options}
    recording = record_traced([package_for(interpreter), RAISES], env=env)
    check(recording.result.status == 1 and "uncaught" in recording.result.stderr, f"{recording.result}")
    rows = [m.data for m in recording.firefox().all_markers() if m.name == "Exception"]
    seen = collections.Counter(row["line"] for row in rows if row["file"] == str(RAISES))
    wrong = {line: (seen[line], true.get(line, 0)) for line in seen.keys() | true.keys()
             if seen[line] != true.get(line, 0)}
    say(f"{options}: {sum(true.values())} exceptions in {len(true)} lines")
    check(not wrong, f"{options}: seen, and in truth, by line: {sorted(wrong.items())}")
    texts = {(row["exception"], row.get("value")) for row in rows}
    check(not true or {("KeyError", "deep"), ("OSError", "uncaught")} <= texts, f"{texts}")


def raises(interpreter):
    """Each exception once, where it is raised."""
    raised(interpreter, "exceptions=yes", told("raises"))
    raised(interpreter, "1", told("leaving" if interpreter.version in ("3.10", "3.11") else "raises"))
    raised(interpreter, "exceptions=no", {})


TASKS = """
import asyncio, logging, time
logging.basicConfig(level=logging.INFO, filename="/dev/null")
async def work(n):
    for step in range(3):
        end = time.thread_time() + 0.03
        while time.thread_time() < end:
            pass
        logging.info("step of work-%d", n)
        await asyncio.sleep(0)
async def main():
    tasks = [asyncio.ensure_future(work(n)) for n in range(3)]
    for n, task in enumerate(tasks):
        task.set_name(f"work-{n}")
    await asyncio.gather(*tasks)
asyncio.run(main())
logging.info("behind all")
"""


def tasks(interpreter):
    """A task's label holds to the end of its step, although CPU samples come in between."""
    recording = record_traced([package_for(interpreter), "-c", TASKS])
    check(recording.result.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
    found = {}
    for marker in recording.firefox().all_markers():
        if marker.name == "Log":
            found.setdefault(marker.data["text"], []).append(marker.data.get("labels"))
    true = {f"step of work-{n}": [f'"asyncio task"=work-{n}'] * 3 for n in range(3)} | {"behind all": [None]}
    check(found == true, f"{found}")


WAITING = """
import threading, time
threads = [threading.Thread(target=time.sleep, args=(0.5,)) for n in range(10)]
for thread in threads: thread.start()
for thread in threads: thread.join()
end = time.thread_time() + 0.3
while time.thread_time() < end: pass
"""


def quality(interpreter):
    """It is of the CPU samples, where the time of calls is reported, too."""
    python = package_for(interpreter)
    recording = record_traced([python, "-c", WAITING])
    for words in (["--quality"], ["-v"], ["-v", "--by", "thread"], ["-v", "--mode", "calls"],
                  ["-v", "--mode", "cpu"]):
        out = run([KYMO, "report", recording.path, *words])
        check(out.status == 0, f"kymo report: {out.stderr}")
        stands = re.search(r"which stand for ([\d.]+) (m?s) of ([\d.]+) (m?s)", " ".join(out.stdout.split()))
        check(stands, f"{words}: {out.stdout}")
        sampled, cpu = (float(stands[at]) * (0.001 if stands[at + 1] == "ms" else 1) for at in (1, 3))
        check(sampled < cpu * 1.1, f"{words}: samples stand for {sampled} s of {cpu} s")


def period(interpreter):
    """Samples beside a trace are few, unless they are asked for."""
    path = folder() / "period.kymo"
    for options, env, true_ns in (([], {}, 10000000), (["--cpu=2ms"], {}, 2000000), (["-F", "1000"], {}, 1000000),
                                  ([], {"KYMO_OPTIONS": "cpu=3ms"}, 3000000)):
        out = run([KYMO, "record", "--trace=python", "-q", "-f", *options, "-o", path, "--",
                   package_for(interpreter), "-c", "pass"], env={**os.environ, **env})
        check(out.status == 0, f"kymo record: {out.stderr}")
        report = run([KYMO, "report", "--quality", "--json", path])
        check(report.status == 0, f"kymo report: {report.stderr}")
        seen_ns = json.loads(report.stdout)["quality"]["period_ns"]
        check(seen_ns == true_ns, f"{options}, {env}: {seen_ns} ns")


# As an older package asks for it.
OLD_TRACER = """
import ctypes
attach = ctypes.CDLL(None).kymo_trace_attach
attach.restype = ctypes.c_void_p
assert attach(1) is None
"""


def report_text(recording):
    check(recording.result.status == 0, recording.result.stderr)
    out = run([KYMO, "report", recording.path])
    return " ".join((out.stdout + out.stderr).split())


def untraced(interpreter):
    """A recording without the calls that were asked for says why."""
    for code, why in (("pass", "each Python that ran lacks the package kymo"), (OLD_TRACER, "of another version")):
        text = report_text(record_traced([interpreter.path, "-c", code]))
        check(why in text, text)
    text = report_text(record_traced([package_for(interpreter), "-c", "pass"]))
    check("traced:" not in text and "of another version" not in text, text)


for interpreter in INTERPRETERS:
    add_case(f"counts.{interpreter.name}", counts, interpreter)
for interpreter in one_of_each_version(INTERPRETERS, checked=True):
    add_case(f"tasks.{interpreter.name}", tasks, interpreter)
    add_case(f"raises.{interpreter.name}", raises, interpreter)
for interpreter in some_of(INTERPRETERS)[:1]:
    add_case(f"quality.{interpreter.name}", quality, interpreter)
    add_case(f"period.{interpreter.name}", period, interpreter)
    add_case(f"untraced.{interpreter.name}", untraced, interpreter)
main()
