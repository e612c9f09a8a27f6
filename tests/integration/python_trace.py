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


for interpreter in INTERPRETERS:
    add_case(f"counts.{interpreter.name}", counts, interpreter)
main()
