# SPDX-License-Identifier: Apache-2.0
"""The package in a build of CPython without the GIL: it refuses to trace, says so once, and the program runs as
untraced. The extension is built to do here what it does there, and as far as it can be without such a build, compiled
for one."""
import os
import pathlib
import shutil

from kymotest import add_case, check, folder, main, run, skip
from pythons import find_interpreters
from traced import BEGINS, PACKAGE, Calls, record_traced

INCLUDE = PACKAGE.parent / "include"

PROGRAM = """
import kymo, sys, threading
from kymo import _start
_start.begin()
def leaf(): pass
def work():
    for i in range(100):
        leaf()
        kymo.marker("unseen", n=i)
        with kymo.scope("unseen"), kymo.label("unseen", "yes"): pass
with kymo.traced():
    work()
threads = [threading.Thread(target=work) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
kymo.describe("unseen", "{n}", n="bytes")
count = kymo.counter("unseen")
count.set(3)
kymo.pause(); kymo.resume(); kymo.stop()
print(kymo.start(), kymo.now())
"""


def refuses(interpreter):
    """No call, no marker, no label; one line of why where a recorder wanted them, and none without."""
    where = folder()
    shutil.copytree(PACKAGE / "kymo", where / "kymo")
    built = run([interpreter.path, "-c", f"""
import sys
sys.path.insert(0, {str(PACKAGE)!r})
import build_extension
build_extension.FLAGS.append("-DKYMO_AS_FREE_THREADED")
build_extension.build({str(where / "kymo")!r})"""])
    if built.status != 0 and "Python.h" in built.stderr:
        skip(f"{interpreter.name} has no headers")
    check(built.status == 0, f"{built.stdout}{built.stderr}")
    env = {**os.environ, "PYTHONPATH": str(where), "PYTHONDONTWRITEBYTECODE": "1"}
    plain = run([interpreter.path, "-c", PROGRAM], env=env)
    check((plain.status, plain.stdout, plain.stderr) == (0, "False 0\n", ""), f"alone: {plain}")
    recording = record_traced([interpreter.path, "-c", PROGRAM], env=env)
    result = recording.result
    check((result.status, result.stdout) == (0, "False 0\n"), f"{result.status}, {result.stdout!r}, {result.stderr}")
    check(result.stderr == f"kymo: python {interpreter.version} is not traced: it is a free-threaded build\n",
          f"{result.stderr!r}")
    check(not any(c.kind in BEGINS for c in Calls(recording.path).calls), "there are calls")
    profile = recording.path.with_suffix(".json")
    check("unseen" not in {m.name for m in recording.firefox().all_markers()}, f"there are markers in {profile}")


def compiles(interpreter):
    """All of it with the types of such a build."""
    include = run([interpreter.path, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"]).stdout.strip()
    if not pathlib.Path(include, "Python.h").exists():
        skip(f"{interpreter.name} has no headers")
    for source in sorted((PACKAGE / "src").glob("*.c")):
        out = run(["cc", "-fsyntax-only", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
                   "-Wno-cast-function-type", "-DPy_GIL_DISABLED=1", "-isystem", include, f"-I{INCLUDE}", source])
        check(out.status == 0, f"{source.name}: {out.stderr}")


# The first version that there is such a build of.
INTERPRETERS = [i for i in find_interpreters() if tuple(map(int, i.version.split("."))) >= (3, 13)]
for interpreter in INTERPRETERS:
    add_case(f"refuses.{interpreter.name}", refuses, interpreter)
    add_case(f"compiles.{interpreter.name}", compiles, interpreter)
if not INTERPRETERS:
    add_case("refuses", skip, "no interpreter is recent enough")
main()
