# SPDX-License-Identifier: Apache-2.0
"""What the system says of a recorded program, beside what the program knows itself."""
import json

from kymotest import KYMO, case, check, folder, main, record_command, run

MIB = 1 << 20
# 64 MiB that are written, 40 descriptors, and a second of work: fifty rounds of the recorder.
PROGRAM = ["/usr/bin/python3", "-c", """
import os, time
block = bytearray(b"x" * 4096) * (64 << 8)
files = [os.dup(0) for _ in range(40)]
while time.process_time() < 1:
    pass
"""]


def counters(*options):
    path = folder() / f"{len(options)}.kymo"
    result = run(record_command(PROGRAM, path, options=options))
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    report = json.loads(run([KYMO, "report", "--json", "--mode", "markers", path]).stdout)
    return {row["name"]: row for row in report["counters"]}


@case
def program():
    """Resident memory, page faults and descriptors are those that the program caused."""
    found = counters("--counters=20ms")
    for name in ("Resident", "Resident, anonymous"):
        check(64 * MIB <= found[name]["max"] < 256 * MIB, f"{found[name]}")
    check(found["Page faults"]["last"] > 0, f"{found['Page faults']}")
    check(found["File descriptors"]["max"] >= 40, f"{found['File descriptors']}")
    check(found["Threads"]["max"] == 1, f"{found['Threads']}")


@case
def off():
    """Who wants none has none."""
    found = counters("--counters=off")
    check(found == {}, f"{found}")


main()
