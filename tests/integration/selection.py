# SPDX-License-Identifier: Apache-2.0
"""A part of a recording: --from, --to, --thread, --process, --focus, --ignore of report, convert and diff.

What is selected and what is left out must add up to the whole, function by function, to the nanosecond. Which
samples belong to a part is read from the Firefox file of the whole recording.
"""
import json

from kymotest import KYMO, WALL, WORKLOADS, Profile, Report, case, check, folder, main, record, run, say


def kymo(*arguments):
    out = run([KYMO, *arguments])
    check(out.status == 0, f"kymo {' '.join(map(str, arguments))}: status {out.status}: {out.stderr}")
    return out


def refused(*arguments, says):
    out = run([KYMO, *arguments])
    check(out.status == 2 and says in out.stderr and out.stderr.count("\n") == 1 and not out.stdout,
          f"{arguments}: {out.status}: {out.stderr}")


def report_of(path, *arguments):
    return Report(json.loads(kymo("report", path, "--json", "--top", "0", *arguments).stdout))


def selves(path, *arguments):
    sums = {}
    for row in report_of(path, *arguments).data["functions"]:
        key = (row["name"], row["file"], row["line"], row["module"])
        sums[key] = sums.get(key, 0) + row["self"]
    return {key: value for key, value in sums.items() if value}


def check_adds_up(path, *parts):
    """The parts, each a tuple of arguments, are the whole."""
    whole = selves(path)
    sums = {}
    for part in parts:
        mine = selves(path, *part)
        check(mine and mine != whole, f"{part}: all or nothing of the whole")
        for key, value in mine.items():
            sums[key] = sums.get(key, 0) + value
    check(sums == whole, f"{parts}: {sums}, the whole is {whole}")
    say(f"{parts}: {len(whole)} functions add up to {sum(whole.values())} ns")


def firefox(path, *arguments):
    out = folder() / "part.json"
    kymo("convert", path, "-q", *arguments, "-o", out)
    return Profile(json.loads(out.read_text()))


def samples_of(profile):
    zero = int(profile.data["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"])
    return sorted((round(s.time_ns - zero), t["tid"], tuple(f.name for f in s.frames))
                  for t in profile.data["threads"] for s in profile.samples(t))


@case
def times():
    recording = record([WORKLOADS / "phases", "20"])
    whole = samples_of(recording.firefox())
    check(len(whole) > 20, f"{len(whole)} samples")
    # Apart from both neighbours, which a file's milliseconds may round.
    cuts = [(a[0] + b[0]) // 2 for a, b in zip(whole, whole[1:]) if b[0] - a[0] > 100]
    first, second = cuts[len(cuts) // 4], cuts[3 * len(cuts) // 4]
    check_adds_up(recording.path, ("--to", f"{first}ns"), ("--from", f"{first + 1}ns", "--to", f"{second}ns"),
                  ("--from", f"{second + 1}ns"))
    part = samples_of(firefox(recording.path, "--from", f"{first}ns", "--to", f"{second}ns"))
    check(part == [s for s in whole if first <= s[0] <= second], "other samples are in the range")
    end = report_of(recording.path).data["duration_s"]
    refused("report", recording.path, "--from", f"{end + 1:.3f}s", says="is after its end")


@case
def elapsed_time():
    """A sample of wall time may stand for all of a long wait: the range takes a part of it."""
    recording = record([WORKLOADS / "waits", "asleep", "0.3", "3"], engine=WALL)
    mode = ("--mode", "wall")
    whole = report_of(recording.path, *mode).data
    half_ns = round(whole["duration_s"] * 1e9 / 2)
    cut = ("--to", f"{half_ns}ns"), ("--from", f"{half_ns + 1}ns")
    halves = [report_of(recording.path, *mode, *how).data["total"] for how in cut]
    say(f"{halves} ns of {whole['total']}")
    check(sum(halves) == whole["total"], "they do not add up")
    # Three threads and the main one wait; none is in more than the range.
    check(all(0 < half <= 4 * (half_ns + 1) for half in halves), "more time than there was")


@case
def processes_and_threads():
    recording = record([WORKLOADS / "family"])
    threads = report_of(recording.path).threads
    used = [t for t in threads if t["samples"]]
    check(len(used) > 3, f"only {len(used)} threads have samples")
    # A program that becomes another by exec keeps its numbers.
    check_adds_up(recording.path, *(("--thread", str(tid)) for tid in sorted({t["tid"] for t in used})))
    pids = sorted({t["pid"] for t in used})
    check_adds_up(recording.path, *(("--process", str(pid)) for pid in pids))
    # Each process burns in a function of its own.
    own = [{f for f in ("burn_forked", "burn_grandchild", "burn_killed", "burn_spawned")
            if report_of(recording.path, "--process", str(pid)).rows(f)} for pid in pids]
    check(all(len(f) <= 1 for f in own) and len(set().union(*own)) == 4, f"by process: {own}")
    # By a pattern, and several together.
    check(selves(recording.path, "--process", "fam*", "--thread", "*") == selves(recording.path), "* is not all")
    both = selves(recording.path, "--process", str(pids[0]), "--process", str(pids[1]))
    check(sum(both.values()) == sum(sum(selves(recording.path, "--process", str(p)).values()) for p in pids[:2]),
          "two processes are not the sum of both")


@case
def functions():
    recording = record([WORKLOADS / "split", "0.3"])
    check_adds_up(recording.path, ("--focus", "burn_ten"), ("--ignore", "burn_ten"))
    check_adds_up(recording.path, ("--focus", "^burn_(ten|sixty)$"), ("--ignore", "^burn_(ten|sixty)$"))
    stacks = {s[2] for s in samples_of(firefox(recording.path, "--focus", "burn_ten"))}
    check(stacks and all("burn_ten" in stack for stack in stacks), f"{stacks}")
    # No name of what was left out is in the file.
    text = folder() / "part.json"
    kymo("convert", recording.path, "-q", "--no-source", "--ignore", "burn_ten", "-o", text)
    check("burn_ten" not in text.read_text() and "burn_sixty" in text.read_text(), "burn_ten is in the file")


@case
def other_profilers_files():
    """What a file holds of a recording is selected in it as in the recording."""
    recording = record([WORKLOADS / "split", "0.3"])
    for name in ("x.pb.gz", "x.folded", "x.json.gz"):
        path = folder() / name
        kymo("convert", recording.path, "-q", "-o", path)
        how = ("--focus", "burn_thirty")
        true = report_of(recording.path, *how)
        part = report_of(path, *how, *(("--mode", "cpu") if name == "x.json.gz" else ()))
        # A Firefox file leaves out the time before the first sample of a thread.
        if name != "x.json.gz":
            check(part.total_s == true.total_s, f"{name}: {part.total_s}, in the recording {true.total_s}")
        check(part.rows("burn_thirty") and not part.rows("burn_ten"), f"{name}: other functions")
    path = folder() / "x.pb.gz"
    kymo("convert", recording.path, "-q", "-o", path)
    check(report_of(path, "--thread", "split-left").total_s ==
          report_of(recording.path, "--thread", "split-left").total_s, "another time of the thread")
    refused("report", path, "--from", "1ms", says="the samples of pprof files have no times")


@case
def markers():
    recording = record([WORKLOADS / "marks", "threads", "100", "3"])
    found = kymo("report", recording.path, "--json", "--mode", "markers", "--by", "thread").stdout
    rows = json.loads(found)["markers"]
    check([r["count"] for r in rows] == [100] * 3, f"{rows}")
    tid = rows[0]["name"].rpartition("(")[2].rstrip(")")
    part = json.loads(kymo("report", recording.path, "--json", "--mode", "markers", "--thread", tid).stdout)
    check([m["count"] for m in part["markers"]] == [100], f"of one thread: {part['markers']}")
    check((part["selection"]["selected"], part["selection"]["of"], part["selection"]["counted"])
          == (100, 300, "markers"), f"{part['selection']}")
    numbers = [m.data["stream"] for m in firefox(recording.path, "--thread", tid).all_markers() if "stream" in m.data]
    check(len(numbers) == 100 and len(set(numbers)) == 1, f"{len(numbers)} markers of {len(set(numbers))} threads")
    refused("report", recording.path, "--mode", "markers", "--focus", "x", says="markers have no functions")


@case
def the_head():
    """The recording's own figures stay, and a line says what part is shown."""
    recording = record([WORKLOADS / "split", "0.3"])
    whole = kymo("report", recording.path).stdout.splitlines()
    part = kymo("report", recording.path, "--thread", "split-left").stdout.splitlines()
    check(part[:3] == whole[:3] and part[2].startswith("quality: "), f"{part[:3]}, of the whole {whole[:3]}")
    check(part[3].startswith("selected: ") and "of CPU time" in part[3] and "(--thread split-left)" in part[3]
          and part[3].endswith("all above is of the whole recording"), part[3])
    data = report_of(recording.path, "--thread", "split-left").data
    all_ = report_of(recording.path).data
    check(data["quality"] == all_["quality"] and data["duration_s"] == all_["duration_s"], "quality of the part")
    check(data["selection"]["selected"] == data["total"] and data["selection"]["of"] == all_["total"]
          and data["selection"]["threads"] == ["split-left"], f"{data['selection']}")
    check("selection" not in all_, "a whole recording says that it is a part")
    said = kymo("convert", recording.path, "--thread", "split-left", "-o", folder() / "x.folded").stderr
    check(said.startswith("kymo: selected: "), said)


@case
def differences():
    """Both files are selected from."""
    before, after = (record([WORKLOADS / "split", seconds]).path for seconds in ("0.05", "0.1"))
    how = ("--thread", "split-left", "--focus", "burn_")
    rows = json.loads(kymo("diff", before, after, "--json", "--normalize=none", "--top=0", *how).stdout)
    sums = [sum(selves(path, *how).values()) for path in (before, after)]
    check([rows["total"]["before"], rows["total"]["after"]] == sums, f"{rows['total']}, by report {sums}")
    check([rows[f"selection_{w}"]["selected"] for w in ("before", "after")] == sums, "the sums in the head")
    text = kymo("diff", before, after, *how).stdout.splitlines()
    check(text[0].startswith("before: ") and text[1].startswith("after:  "), f"{text[:2]}")
    refused("diff", before, after, "--thread", "nobody", says="no thread matches --thread 'nobody'")
    folded = folder() / "x.folded"
    kymo("diff", before, after, "-q", *how, "-o", folded)
    weights = [line.rsplit(" ", 2)[1:] for line in folded.read_text().splitlines()]
    check([sum(int(w[i]) for w in weights) for i in (0, 1)] == sums, "the weights of the file")


main()
