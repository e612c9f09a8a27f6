# SPDX-License-Identifier: Apache-2.0
"""Real programs: what they say is unchanged, and what Kymo says of them is so.

Each with perf at 1 kHz, and with timers as a user who may do nothing special.
"""
import math
import os
import re
import struct

import known_programs
from kymotest import (HZ, NOBODY, add_case, by_chance, check, check_close, check_nothing_lost, folder, main,
                      perf_works, record, run, say, skip)

# The code that begins a process or a thread, in the program, in ld.so and in libc.
ENTRIES = {"_start", "_dl_start_user", "clone3", "__clone3", "clone", "__clone"}
# A program's first milliseconds, until its event is made (more on a busy machine), have one sample.
START_S = 0.01
RING_SAMPLES = 128  # as many copies of stacks as the recorder has not read, at most


def outputs(where, files):
    found = [(where / f).read_bytes() for f in files]
    for f in files:
        (where / f).unlink()
    return found


def same_output(name, plain, profiled):
    check(profiled.status == plain.status, f"status {profiled.status}, plainly {plain.status}: "
          + profiled.stderr)
    if name == "openssl":  # it prints how fast it was
        mask = known_programs.without_measurements
        check(mask(profiled.stdout) == mask(plain.stdout), "standard output differs")
        check(mask(profiled.stderr) == mask(plain.stderr), "standard error differs")
        return
    check(profiled.stdout == plain.stdout, "standard output differs")
    check(profiled.stderr == plain.stderr, f"standard error differs: {profiled.stderr}")


def is_entry(frame):
    """A program without symbols shows its entry by its address in the file."""
    at = re.fullmatch(r".*\+0x([0-9a-f]+)", frame.name)
    if at is None or frame.lib is None:
        return frame.name in ENTRIES
    with open(frame.lib, "rb") as file:
        entry = struct.unpack_from("<Q", file.read(64), 24)[0]
    return entry <= int(at[1], 16) < entry + 64


def check_stacks(name, report, profile):
    """Counted by the quality line, and once more in what the Firefox Profiler would show."""
    samples = profile.all_samples()
    entries = {frame: is_entry(frame) for frame in {s.frames[0] for s in samples}}
    ends = sum(entries[s.frames[0]] for s in samples)
    odd = sorted(frame.name for frame, good in entries.items() if not good)
    say(f"{ends} of {len(samples)} stacks end in the entry" + (f", not: {odd[:5]}" if odd else ""))
    # A tick of 4 ms leaves a few hundred samples: one or two more of them than one in 1000 lie by chance in
    # a library's assembly that has no unwind tables.
    least = 0.999 - by_chance(0.001, len(samples)) - 1 / len(samples)
    # Its sha512 keeps the place of its caller where the kernel copies nothing; the handler comes after that.
    if name == "openssl" and report.quality.get("copied_samples"):
        least -= RING_SAMPLES / len(samples)
    check(ends >= least * len(samples), f"stacks that do not end in the entry but in {odd[:5]}")
    check(report.quality["stacks_complete"] >= least,
          f"stacks_complete is {report.quality['stacks_complete']}")
    check(report.with_start() == len(samples),
          f"{report.with_start()} samples in the report, {len(samples)} in the other file")


def has_symbols(lib):
    """Whether the file has a symbol table of its own, or a debug file beside it by build-id."""
    if not os.path.exists(lib):
        return False
    notes = run(["readelf", "-nSW", lib]).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]{2})([0-9a-f]+)", notes)
    return " .symtab " in notes or build_id is not None and os.path.exists(
        f"/usr/lib/debug/.build-id/{build_id[1]}/{build_id[2]}.debug")


def check_names(report, profile):
    """By the report, whose figure counts each frame once, and by how often frames occur."""
    with_symbols = {lib: has_symbols(lib) for lib in {f.lib for f in profile.frames if f.lib}}
    known = {f: re.search(r"\+0x[0-9a-f]+$", f.name) is None
             for f in profile.frames if f.lib and with_symbols[f.lib]}
    occurring = [known[f] for s in profile.all_samples() for f in s.frames if f in known]
    unnamed = sorted(f.name for f, is_named in known.items() if not is_named)
    share = sum(occurring) / len(occurring)
    named = report.quality["frames_symbolized"]
    say(f"{len(known)} frames in files with symbols, {named} named by the report; of their "
        f"{len(occurring)} occurrences {share:.5f}; not {unnamed[:5]}")
    check(share >= 0.99, f"{1 - share:.4f} of the occurrences are not named: {unnamed[:5]}")
    # One of a handful is more than a hundredth.
    check(named >= 0.99 or len(known) < 100 and len(unnamed) <= 1, f"frames_symbolized is {named}")


def profile_program(name, engine, user):
    if engine == "perf" and not perf_works():
        skip("perf_event_open is not permitted here")
    if user is not None and os.getuid() != 0:
        user = None  # the user of the tests is such a one already
    where = folder()
    command, files = known_programs.PROGRAMS[name](where)
    plain = run(command, user=user)
    check(plain.status == 0, f"the program itself fails: {plain.stderr}")
    made = outputs(where, files)
    recording = record(command, engine=engine, user=user)
    same_output(name, plain, recording.result)
    check(outputs(where, files) == made, "a file that it writes differs")

    report = recording.report()
    quality = report.quality
    check(quality["engine"] == engine, f"the engine is {quality['engine']}")
    check_nothing_lost(report.quality)
    check_close("CPU seconds", report.total_s, recording.cpu_s, 0.01 * recording.cpu_s)
    # Without privilege a timer is no finer than the kernel tick.
    period_s = 0.001 if engine == "perf" else max(0.001, 1 / HZ)
    rate = quality["samples"] * period_s / recording.cpu_s
    say(f"{quality['samples']} samples, {rate:.4f} of one each {period_s * 1e3:g} ms of CPU time; "
        f"by the report {quality['sampled_rate']} of what was asked for")
    if engine == "perf":
        # How near the rate comes is for a benchmark: a hypervisor that takes the CPU away takes ticks, too.
        check(rate >= 0.5 * (1 - START_S / recording.cpu_s), "too few samples")
        check(abs(quality["sampled_rate"] - min(rate, 1)) < 0.01, "the report says another rate")
    else:
        # On a busy machine ticks fall into a program by chance.
        expected = recording.cpu_s / period_s
        check(quality["samples"] >= 0.5 * expected - 4 * math.sqrt(expected), "too few samples for the tick")
    profile = recording.firefox()
    check_names(report, profile)
    check_stacks(name, report, profile)


for program in known_programs.PROGRAMS:
    add_case(f"{program}.perf", profile_program, program, "perf", None)
    add_case(f"{program}.timer", profile_program, program, "timer", NOBODY)
main()
