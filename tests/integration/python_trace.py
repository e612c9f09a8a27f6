# SPDX-License-Identifier: Apache-2.0
"""Traced calls of Python: what a tracer in pure Python counts, on every interpreter that is there."""
import json
import pathlib

from kymotest import add_case, check, folder, main, run, say
from pythons import find_interpreters
from traced import Calls, package_for, record_traced

WORKLOAD = pathlib.Path(__file__).resolve().parent.parent / "workloads" / "python_calls.py"
SCENARIOS = ["recursion", "generators", "coroutines", "exceptions", "callbacks", "classes", "comprehensions",
             "executed", "threads"]
INTERPRETERS = find_interpreters()
# What calls the scenarios.
MAIN_LINE = WORKLOAD.read_text().split("\n").index("def main():") + 1


def counts(interpreter):
    """The same events, each as often."""
    python = package_for(interpreter)
    truth = folder() / "truth.json"
    plain = run([python, WORKLOAD, "count", ",".join(SCENARIOS), truth])
    check(plain.status == 0, f"alone: {plain.stderr}")
    true = {tuple(row[:3]): row[3] for row in json.loads(truth.read_text())}
    recording = record_traced([python, WORKLOAD, "run", ",".join(SCENARIOS)])
    check(recording.result.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
    calls = Calls(recording.path)
    calls.check_balance()
    seen = calls.counts(str(WORKLOAD), ("main", str(WORKLOAD), MAIN_LINE))
    del seen["call", "main", MAIN_LINE], seen["return", "main", MAIN_LINE]
    wrong = {key: (seen.get(key, 0), true.get(key, 0)) for key in seen.keys() | true.keys()
             if seen.get(key, 0) != true.get(key, 0)}
    say(f"{sum(true.values())} events of {len(true)} kinds, {len(calls.calls)} in all")
    check(not wrong, f"seen, and in truth: {sorted(wrong.items())[:20]}")


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


for interpreter in INTERPRETERS:
    add_case(f"counts.{interpreter.name}", counts, interpreter)
    add_case(f"tasks.{interpreter.name}", tasks, interpreter)
main()
