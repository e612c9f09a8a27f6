# SPDX-License-Identifier: Apache-2.0
"""1000 sampled stacks and more of each program (in as many runs as that takes) are, frame by frame, what libgcc says they are.

libgcc walks the sampled stacks, too, inside the handler; see check_preload.c. The rate is high, so
that after some thousands of samples the recorder hands in its row tables: stacks are compared
before and after. In assembly that has no rows (of libgmp, in cc1) libgcc stops where our walk goes
on by the frame pointer: such stacks are counted apart, shown, and compared as far as libgcc comes.
"""
import os

import known_programs
from kymotest import BUILD, add_case, check, engines, folder, main, record, say

MOST_RUNS = 20
LIBRARY = BUILD / "tests" / "integration" / "check" / "libkymo-preload.so"


def summary(path):
    lines = path.read_text().splitlines()
    counts = {key: int(value) for key, value in (l.split() for l in lines if not l.startswith("#"))}
    return counts, [l for l in lines if l.startswith("#")]


def compare(name, command):
    where = folder()
    if command is None:
        command, _ = known_programs.PROGRAMS[name](where)
    perf = engines()[0] == "perf"
    env = dict(os.environ, KYMO_PRELOAD=str(LIBRARY), KYMO_CHECK_FILE=str(where / "summary"),
               KYMO_CHECK_EVERY="5" if perf else "1")
    # At a tick's rate 1000 stacks would take minutes, so fewer have to do.
    wanted = 1000 if perf else 200
    sums, runs = {}, 0
    # How many samples one run has is the processor's to say.
    while sums.get("equal", 0) < wanted and runs < MOST_RUNS:
        recording = record(command, engine=engines()[0], period="100us", env=env)
        check(recording.result.status == 0, f"status {recording.result.status}")
        counts, kept = summary(where / "summary")
        say(", ".join(f"{n} {key}" for key, n in counts.items()))
        check(counts["different"] == 0, "\n".join(["stacks differ (ours, libgcc's):"] + kept))
        check(counts["equal"] > 0, "no stack was compared")
        for line in kept[:12]:
            say(line)
        sums = {key: n + sums.get(key, 0) for key, n in counts.items()}
        runs += 1
    check(sums["equal"] >= wanted, f"fewer than {wanted} stacks were equal in {runs} runs")
    check(sums["shorter"] <= 0.01 * sums["compared"],
          f"libgcc did not reach the end of {sums['shorter']} stacks")


for program in known_programs.PROGRAMS:
    add_case(program, compare, program, None)
# What the compiler does not write: hashes, ciphers, curves and big numbers, in assembly.
add_case("openssl_assembly", compare, "openssl",
         ["openssl", "speed", "-seconds", "3", "-bytes", "8192", "-evp", "aes-256-gcm"])
main()
