# SPDX-License-Identifier: Apache-2.0
"""Differences of two files: as a pprof file with negative values, of markers, of the RSS breakdown, and of files whose
sample types differ."""
import json
import pathlib
import re
import shutil
import sys

from kymotest import KYMO, WORKLOADS, case, check, folder, main, record, run, say

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check-profile"


def kymo(*arguments):
    out = run([KYMO, *arguments])
    check(out.status == 0, f"kymo {' '.join(map(str, arguments))}: status {out.status}: {out.stderr}")
    return out


def two():
    """Of the second one's functions, some are not in the first."""
    return (record([WORKLOADS / "split", "0.3"]).path, record([WORKLOADS / "split", "0.5"]).path,
            record([WORKLOADS / "phases", "8"]).path)


def changes(*arguments):
    """Of each name, and of all."""
    data = json.loads(kymo("diff", "--json", "--top=0", *arguments).stdout)
    sums = {}
    for row in data["changes"]:
        sums[row["name"]] = sums.get(row["name"], 0) + row["change"]
    return {name: change for name, change in sums.items() if change}, data["total"]


def of_go(path):
    """What `go tool pprof -top` says: self of each function, and the total that shares are of."""
    if not shutil.which("go"):
        say("there is no go: its reader is not asked")
        return None, None
    out = run(["go", "tool", "pprof", "-top", "-sample_index=cpu", "-unit=ns", "-nodecount=0", "-nodefraction=0",
               "-edgefraction=0", path])
    check(out.status == 0, out.stderr)
    rows = {}
    for line in out.stdout.split("cum%\n", 1)[1].splitlines():
        found = re.match(r" *(-?\d+)(?:ns)? +\S+ +\S+ +(-?\d+)(?:ns)? +\S+ +(.*?)(?: \(inline\))?$", line)
        check(found, line)
        if int(found[1]):
            rows[found[3]] = int(found[1])
    return rows, int(re.search(r"% of (\d+)ns total", out.stdout)[1])


@case
def pprof():
    """Of a program with itself and with another one, both ways."""
    small, large, other = two()
    for before, after in (small, large), (large, small), (large, other):
        path = folder() / "x.pb.gz"
        kymo("diff", "-q", before, after, "-o", path)
        rows, total = changes(before, after, "--normalize=none")
        found = run([CHECKER, path])
        check(found.status == 0, found.stdout)
        by_go, whole = of_go(path)
        check(by_go is None or by_go == rows, f"go tool pprof: {by_go}, kymo diff: {rows}")
        check(by_go is None or whole == total["before"], f"go's total is {whole}, that of before {total['before']}")
        say(f"{len(rows)} functions changed by {total['change']} ns together")


@case
def markers():
    """Counts and durations are those of the two reports, by name and by category."""
    paths = [record([WORKLOADS / "marks", *mode], period="10ms").path for mode in (["kinds"], ["labels", "20"])]
    for by in "name", "category":
        reports = [{(row["name"], row["category"]): row for row in json.loads(
            kymo("report", path, "--json", "--mode=markers", "--by", by).stdout)["markers"] if row["count"]}
            for path in paths]
        diff = json.loads(kymo("diff", *paths, "--json", "--mode=markers", "--by", by, "--top=0").stdout)
        rows = {(row["name"], row["category"]): row for row in diff["changes"]}
        check(set(rows) == set(reports[0]) | set(reports[1]), f"by {by}: {sorted(rows)}")
        for key, row in rows.items():
            for report, side in zip(reports, ("before", "after")):
                of = report.get(key, {"total": 0, "count": 0})
                check(row[side] == of["total"] and row[f"count_{side}"] == of["count"], f"{key}: {row}, {of}")
            check(row.get("only") == ("before" if key not in reports[1] else "after" if key not in reports[0] else None),
                  f"{key}: {row}")
    text = kymo("diff", *paths, "--mode=markers", "--top=0").stdout
    check(all(name in text for name, _ in rows), text)
    grown = run([KYMO, "diff", "-q", paths[1], paths[0], "--mode=markers", "--fail-above=0%"])
    shrunk = run([KYMO, "diff", "-q", paths[0], paths[0], "--mode=markers", "--fail-above=0%"])
    check(grown.status == 3 and "grew by" in grown.stderr, f"{grown.status}: {grown.stderr}")
    check(shrunk.status == 0, f"{shrunk.status}: {shrunk.stderr}")


@case
def memory():
    """Lines of the RSS breakdown are those of the two reports."""
    program = "import time; x = b'x' * {}; time.sleep(1)"
    paths = [record([sys.executable, "-c", program.format(size)], options=["--alloc"]).path
             for size in (10_000_000, 30_000_000)]
    ends = [{(row["line"], row["name"]): row["bytes"] for row in json.loads(
        kymo("report", path, "--json", "--mode=memory").stdout)["ledger"] if row["last"]} for path in paths]
    rows = {(row["line"], row["name"]): row for row in json.loads(
        kymo("diff", *paths, "--json", "--mode=memory").stdout)["changes"] if row["last"]}
    check(("rss", None) in rows and set(rows) == set(ends[0]) | set(ends[1]), f"{sorted(rows, key=str)}")
    for key, row in rows.items():
        check((row["before"], row["after"]) == tuple(end.get(key, 0) for end in ends), f"{key}: {row}")
    check("rss" in kymo("diff", *paths, "--mode=memory").stdout, "no line of the sum")


KEEPER = """
kept = []
for i in range({turns}):
    kept.append(bytearray(2000))
    if len(kept) > {most}:
        kept.pop(0)
"""


def lives(rows):
    """By function: how many objects live from when on, by their bucket. Two rows may be of functions that are
    called the same."""
    found = {}
    for row in rows:
        for begin, *counts in row["lifetimes"]:
            buckets = found.setdefault((row["name"], row["file"], row["line"], row["module"]), {})
            buckets[begin] = [round(a + b, 3) for a, b in zip(counts, buckets.get(begin, [0] * len(counts)))]
    return found


def near(a, b):
    """Whether two estimates differ by their rounding alone: sums of the same parts, in another order."""
    return abs(a - b) < 0.01


def same_lives(a, b):
    """Whether as many objects live from when on, by two accounts as of lives()."""
    return set(a) == set(b) and all(near(x, y) for begin in a for x, y in zip(a[begin], b[begin]))


@case
def lifetimes():
    """Buckets are those of the two reports."""
    for rate in "0", "8k":
        paths = [record([sys.executable, "-c", KEEPER.format(turns=20000, most=most)], period="10ms",
                        options=[f"--alloc={rate}"]).path for most in (10, 2000)]
        reports = [json.loads(kymo("report", path, "--json", "--mode=lifetimes", "--top=0").stdout) for path in paths]
        diff = json.loads(kymo("diff", *paths, "--json", "--mode=lifetimes", "--top=0").stdout)
        sides = [lives(report["functions"]) for report in reports]
        changed = lives(diff["changes"])
        check(set(changed) == set(sides[0]) | set(sides[1]), f"{set(changed) ^ (set(sides[0]) | set(sides[1]))}")
        for key, buckets in changed.items():
            for side in range(2):
                found = {begin: [count[side]] for begin, count in buckets.items() if count[side]}
                check(same_lives(found, sides[side].get(key, {})), f"{key}: {found}, in the report {sides[side].get(key)}")
        for side, name in enumerate(("before", "after")):
            all_lives = lives([dict(diff["total"])])[None, None, None, None]
            check(same_lives({begin: [count[side]] for begin, count in all_lives.items() if count[side]},
                             {begin: [count] for begin, count in reports[side]["lifetimes"]}), f"the sum {name}")
            check(near(diff["total"][name], reports[side]["total"]["objects"]), f"objects {name}: {diff['total']}")
        say(f"--alloc={rate}: {len(changed)} functions free {diff['total']['before']:.0f} and {diff['total']['after']:.0f}")
    text = kymo("diff", *paths, "--mode=lifetimes", "--top=0").stdout
    check("blocks freed" in text and diff["changes"][0]["name"] in text and "lives before and after" in text, text)
    by_total = json.loads(kymo("diff", *paths, "--json", "--mode=lifetimes", "--normalize=total").stdout)
    check(abs(by_total["total"]["change"]) < 1 and by_total["normalized"] == "total", f"{by_total['total']}")
    fewer = record([sys.executable, "-c", KEEPER.format(turns=100, most=10)], period="10ms", options=["--alloc=8k"]).path
    for pair, status in (((fewer, paths[0]), 3), ((paths[0], fewer), 0)):
        out = run([KYMO, "diff", "-q", *pair, "--mode=lifetimes", "--fail-above=5%"])
        check(out.status == status and ("grew by" in out.stderr) == bool(status), f"{out.status}: {out.stderr}")
    for options, what in (["--by=stack"], "--by stack"), (["-o", folder() / "x.svg"], "not written as stacks"):
        out = run([KYMO, "diff", *paths, "--mode=lifetimes", *options])
        check(out.status == 2 and what in out.stderr, f"{options}: {out.status}: {out.stderr}")


@case
def other_modes():
    """What cannot be compared is said, with the words that can."""
    path = record([WORKLOADS / "marks", "kinds"], period="10ms").path
    out = run([KYMO, "diff", path, path, "--mode=nothing"])
    check(out.status == 2 and "is unknown" in out.stderr and "trace, calls, markers" in out.stderr, out.stderr)
    out = run([KYMO, "diff", path, path, "--mode=lifetimes"])
    check(out.status == 1 and "alloc" in out.stderr, out.stderr)
    for options in ["--normalize=time"], ["-o", folder() / "x.svg"]:
        out = run([KYMO, "diff", path, path, "--mode=markers", *options])
        check(out.status == 2 and "--mode markers" in out.stderr, f"{options}: {out.stderr}")
    out = run([KYMO, "diff", path, path, "--mode=memory"])
    check(out.status == 1 and "no RSS breakdown" in out.stderr, out.stderr)
    jfr = folder() / "x.jfr"
    kymo("convert", path, "-q", "-o", jfr)
    out = run([KYMO, "diff", path, jfr, "--mode=markers"])
    check(out.status == 1 and f"{jfr}: markers are read from" in out.stderr, f"{out.status}: {out.stderr}")
    out = kymo("report", jfr, "--mode=markers")
    check("markers are read from" in out.stderr and "markers: none" not in out.stdout, f"{out.stderr}{out.stdout}")


@case
def parts_as_pprof():
    """Selection goes before the difference."""
    small, large, _ = two()
    how = ("--thread", "split-left", "--focus", "burn_ten")
    path = folder() / "x.pb.gz"
    kymo("diff", "-q", small, large, *how, "-o", path)
    rows, _ = changes(small, large, "--normalize=none", *how)
    by_go, _ = of_go(path)
    check("burn_sixty" not in rows and "burn_ten" in rows, f"{rows}")
    check(by_go is None or by_go == rows, f"go tool pprof: {by_go}, kymo diff: {rows}")


@case
def types_of_other_names():
    """The same samples, as a recording and as files: nothing differs, whatever a file calls them."""
    recording = record([WORKLOADS / "split", "0.1"]).path
    for name in "x.pb.gz", "x.folded":
        path = folder() / name
        kymo("convert", recording, "-q", "-o", path)
        how = "--normalize=total" if name == "x.folded" else "--normalize=none"
        for pair in (recording, path), (path, recording):
            rows, total = changes(*pair, how)
            check(not rows and total["before"] == total["after"] > 0, f"{name}: {rows}, {total}")
            out = kymo("diff", *pair, how)
            lines = out.stderr.splitlines()
            check(len(lines) == (name == "x.folded") and all(line.startswith("kymo: comparing ") for line in lines),
                  f"{name}: {lines}")
    # A row has the place that one of the files knows.
    data = json.loads(kymo("diff", "--json", "--normalize=total", path, recording).stdout)
    places = {row["name"]: row["file"] for row in data["changes"]}
    check(places["burn_sixty"].endswith("split.c"), f"{places}")
    out = run([KYMO, "diff", path, recording])
    check(out.status == 1 and "--normalize=total does" in out.stderr, f"{out.status}: {out.stderr}")


@case
def heaps_of_other_files():
    """A recording's heap and that of a file: what differs is what differs between the two recordings."""
    first, second = [record([WORKLOADS / "allocs", mode], period="10ms", options=["--alloc=0", "--buffer=64m"]).path
                     for mode in ("peak", "resize")]
    for name in "x.pb.gz", "x.jfr":
        path = folder() / name
        kymo("convert", second, "-q", "-o", path, *(["--mode=live"] if name == "x.pb.gz" else []))
        for mode in "live", "alloc":
            # Files have the functions that pass a request on, too.
            wanted, total = changes(first, second, f"--mode={mode}", "--all-frames")
            for pair, sign in (((first, path), 1), ((path, first), -1)):
                rows, found = changes(*pair, f"--mode={mode}", "--normalize=none")
                check({n: sign * c for n, c in rows.items()} == wanted, f"{name}, {mode}: {rows}, in truth {wanted}")
                check(sign * found["change"] == total["change"], f"{name}, {mode}: {found}, in truth {total}")
            say(f"{name}, {mode}: {len(wanted)} functions changed by {total['change']} bytes together")
        out = run([KYMO, "diff", first, path, "--mode=peak"])
        check(out.status == 1 and f"{path}: --mode: it has no 'peak'" in out.stderr, f"{out.status}: {out.stderr}")
    plain = record([WORKLOADS / "split", "0.1"]).path
    out = run([KYMO, "diff", plain, path, "--mode=live"])
    check(out.status == 1 and f"{plain}: no allocations were recorded" in out.stderr, f"{out.status}: {out.stderr}")


main()
