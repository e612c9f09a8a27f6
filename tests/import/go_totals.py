#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""go_totals.py KYMO - profiles of Go's runtime: kymo shows what `go tool pprof -top` shows.

Of the files beside this one, and of new ones by write_profiles.go: self and total of every function, for every
sample type, also after kymo convert to pprof and to collapsed stacks.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
UNITS = {"nanoseconds": "ns", "bytes": "B", "count": "count"}


def run(*argv, **how):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False, **how)
    assert done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def of_pprof(go, path, mode, unit, env):
    text = run(go, "tool", "pprof", "-top", f"-sample_index={mode}", f"-unit={UNITS[unit]}", "-nodecount=0",
               "-nodefraction=0", "-edgefraction=0", path, env=env)
    rows = {}
    for line in text.split("cum%\n", 1)[1].splitlines():
        m = re.match(r" *(\d+)(?:ns|B)? +\S+ +\S+ +(\d+)(?:ns|B)? +\S+ +(.*?)(?: \((?:partial-)?inline\))?$", line)
        assert m, line
        rows[m[3]] = (int(m[1]), int(m[2]))
    return rows


def of_kymo(kymo, path, mode):
    report = json.loads(run(kymo, "report", "--json", "--mode", mode, path))
    rows = collections.defaultdict(lambda: (0, 0))
    for f in report["functions"]:
        self, total = rows[f["name"]]
        rows[f["name"]] = (self + f["self"], total + f["total"])
    return dict(rows), report["unit"]


def compare(what, wanted, got):
    wrong = {n: (w, got.get(n)) for n, w in wanted.items() if w != (0, 0) and got.get(n) != w}
    assert not wrong, f"{what}: {len(wrong)} of {len(wanted)} functions differ: {dict(list(wrong.items())[:5])}"


def check(kymo, go, path, folder, env):
    functions = 0
    names = re.search(r"^--mode: +(.*)$", run(kymo, "report", "--no-pager", path), re.M)
    for mode in names[1].split(", ") if names else ["goroutine"]:
        got, unit = of_kymo(kymo, path, mode)
        wanted = of_pprof(go, path, mode, unit, env)
        compare(f"{path.name}, {mode}", wanted, got)
        again, folded = folder / "again.pb.gz", folder / "again.folded"
        run(kymo, "convert", "-qf", "--mode", mode, path, "-o", again, "-o", folded)
        compare(f"{path.name}, {mode}, converted", wanted, of_kymo(kymo, again, mode)[0])
        compare(f"{path.name}, {mode}, written by kymo", wanted, of_pprof(go, again, mode, unit, env))
        no_semicolons = {name.replace(";", ":"): row for name, row in wanted.items()}
        compare(f"{path.name}, {mode}, collapsed", no_semicolons, of_kymo(kymo, folded, "samples")[0])
        functions += len(wanted)
    print(f"{path.name}: {functions} functions of {len(names[1].split(', ')) if names else 1} sample types are the same")


def main():
    kymo = sys.argv[1]
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if not go:
        print("there is no go: tools/install-deps installs golang")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        env = {**os.environ, "PPROF_TMPDIR": name, "GO111MODULE": "off", "GOFLAGS": ""}
        for path in sorted(HERE.glob("go_*.pb.gz")):
            check(kymo, go, path, folder, env)
        run(go, "run", HERE / "write_profiles.go", cwd=folder, env=env)
        new = sorted(folder.glob("go_*.pb.gz"))
        assert len(new) >= 4, new
        for path in new:
            check(kymo, go, path, folder, env)
    return 0


if __name__ == "__main__":
    sys.exit(main())
