# SPDX-License-Identifier: Apache-2.0
"""Another language, by the library that programs are linked with: kymo/marker_abi.h is all it knows."""
import json
import pathlib

from kymotest import BUILD, KYMO, case, check, folder, main, record_command, run

LIBRARY = BUILD / "src" / "start" / "libkymo.so"
PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "workloads" / "binding.py"
COMMAND = ["/usr/bin/python3", PROGRAM, LIBRARY]


def told(result):
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    return json.loads(result.stdout.splitlines()[0])


@case
def alone():
    """The library is there, and records nothing before an agent is started."""
    said = told(run(COMMAND))
    check((said["attach"], said["on"], said["written"], said["sites"]) == (0, 0, 0, 0), f"{said}")


@case
def recorded():
    """Types, categories and sites made at run time are as those of a C program."""
    path = folder() / "recording.kymo"
    said = told(run(record_command(COMMAND, path)))
    expected = {
        "attach": 0, "on": 1, "nothing": "", "merged": True, "apart": True, "select": 0,
        "written": 200, "sites": 1,
        "fault": 'binding.py:10: type Request: a label names a field that it lacks: "uri"',
        "other": "binding.py:13: type Request has other fields than the one of binding.py:11: "
                 "both are kept"}
    check(said == expected, f"{said}")
    report = json.loads(run([KYMO, "report", "--json", "--mode", "markers", path]).stdout)
    rows = [(row["name"], row["category"], row["count"]) for row in report["markers"]]
    check(rows == [("request", "python", 200)], f"{rows}")
    counters = [(row["name"], row["last"], row["operations"]) for row in report["counters"]
                if row["operations"]]  # the others are what the system says
    check(counters == [("Bytes", 199 * 200 // 2, 200)], f"{counters}")


main()
