# SPDX-License-Identifier: Apache-2.0
"""A recording holds the names of its code: what becomes of the program's files changes no report."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

from kymotest import (KYMO, WORKLOADS, Recording, add_case, check, folder, main, record,
                      run, say)

FORMATS = ("json", "pb.gz", "folded")


def shown(path, where):
    """Everything that is made of a recording, as bytes."""
    made = {"report": run([KYMO, "report", path, "--top", "0"]).stdout,
            "report --json": run([KYMO, "report", path, "--json"]).stdout}
    for mode in ("cpu", "alloc", "live"):
        made[f"report {mode}"] = run([KYMO, "report", path, "--mode", mode]).stdout
    for ending in FORMATS:
        out = where / f"made.{ending}"
        done = run([KYMO, "convert", path, "-q", "-f", "-o", out])
        check(done.status == 0, f"convert to {ending}: {done.stderr}")
        made[ending] = out.read_bytes()
    return made


def same(before, after, what):
    for name, content in before.items():
        check(content == after[name], f"{name} differs when the program {what}")


def program(where):
    return pathlib.Path(shutil.copy2(WORKLOADS / "inlines", where / "prog"))


def removed_and_replaced(options):
    where = folder()
    prog = program(where)
    recording = record([prog], options=options)
    names = {f["name"] for f in recording.report().data["functions"]}
    check(any("geometry::" in name for name in names), f"its functions have no names: {names}")
    before = shown(recording.path, where)
    prog.unlink()
    same(before, shown(recording.path, where), "is gone")
    shutil.copy2(WORKLOADS / "busy", prog)
    same(before, shown(recording.path, where), "was replaced")
    prog.unlink()
    prog.write_text("no ELF file\n")
    same(before, shown(recording.path, where), "is something else")


def other_outputs_agree():
    """What record makes beside the recording is what convert makes of it."""
    where = folder()
    prog = program(where)
    path = where / "recording.kymo"
    beside = where / "beside.json"
    done = run([KYMO, "record", "-q", "-o", path, "-o", beside, "--", prog])
    check(done.status == 0, done.stderr)
    prog.unlink()
    made = where / "made.json"
    check(run([KYMO, "convert", path, "-q", "-o", made]).status == 0, "convert fails")
    check(beside.read_bytes() == made.read_bytes(), "record and convert make different files")


def later():
    """--no-symbols leaves the names to the report, which needs the program then."""
    where = folder()
    prog = program(where)
    recording = record([prog], options=["--no-symbols"])
    names = {f["name"] for f in recording.report().data["functions"]}
    check(any("geometry::" in name for name in names), f"the report finds no names: {names}")
    prog.unlink()
    names = {f["name"] for f in recording.report().data["functions"]}
    check(not any("geometry::" in name for name in names), "names of a program that is gone")


def recorder_killed():
    """There was no time to put the names into it: the report finds them."""
    where = folder()
    path = where / "recording.kymo"
    prog = pathlib.Path(shutil.copy2(WORKLOADS / "busy", where / "prog"))
    kymo = subprocess.Popen([str(KYMO), "record", "-q", "-o", str(path), "--", str(prog), "1", "600"],
                            stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        spool = []
        names = set()
        while not any("burn" in name or "main" in name for name in names):
            time.sleep(0.2)
            check(kymo.poll() is None, "kymo ended by itself")
            spool = [p for p in where.glob("*.kymo") if p.stat().st_size > 0]
            if not spool:
                continue
            copy = shutil.copy2(spool[0], where / "copy")
            report = run([KYMO, "report", copy, "--json"])
            if report.status == 0:
                names = {f["name"] for f in Recording(copy, None, KYMO).report().data["functions"]}
    finally:
        os.killpg(kymo.pid, signal.SIGKILL)
        kymo.wait()
    say(f"{spool[0].name}: {sorted(names)[:5]}")
    names = {f["name"] for f in Recording(spool[0], None, KYMO).report().data["functions"]}
    check(any("burn" in name or "main" in name for name in names), f"no names: {names}")


add_case("files.cpu", removed_and_replaced, [])
add_case("files.allocations", removed_and_replaced, ["--alloc=4k"])
add_case("files.wall", removed_and_replaced, ["--wall"])
add_case("outputs", other_outputs_agree)
add_case("later", later)
add_case("killed", recorder_killed)
main()
