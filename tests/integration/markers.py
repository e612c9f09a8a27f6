# SPDX-License-Identifier: Apache-2.0
"""Markers, counters and labels: what a program says that it made is what the profile has, of every kind,
from every place, and what is missing is counted.

The truth is what tests/workloads/marks.c prints of itself; the profile is the Firefox file, read by its
format alone.
"""
import collections
import json
import os
import pathlib
import signal
import time
from xml.etree import ElementTree

from kymotest import (BUILD, KYMO, WORKLOADS, Recording, Running, by_chance, case, check, check_close,
                      check_nothing_lost, engines, folder, main, record, record_command, run, say, skip)
from pprof_samples import Pprof

MARKS = WORKLOADS / "marks"
EXAMPLES = BUILD / "examples"
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Markers carry the clock of the processor; their times are made of it by the recorder.
CLOCKS_NS = 50000


def recorded(*arguments, options=(), period="10ms", status=0):
    recording = record([MARKS, *arguments], options=options, period=period)
    check(recording.result.status == status,
          f"status {recording.result.status}: {recording.result.stderr}")
    return recording, json.loads(recording.result.stdout)


def by_name(markers):
    found = collections.defaultdict(list)
    for marker in markers:
        found[marker.name].append(marker)
    return found


# ---- one of everything ----

flows = {}


def field_holds(kind, value, truth, profile):
    if kind == "bool":
        return value is truth or str(value).lower() == str(truth).lower()
    if kind == "number":
        return str(value) == truth or ("." in truth and float(value) == float(truth))
    if kind == "ms":
        return abs(float(value) - float(truth)) < 1e-9
    if kind == "time":
        zero = int(profile.data["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"])
        return abs(zero + value * 1e6 - int(truth)) < CLOCKS_NS
    if kind == "flow":
        return flows.setdefault(truth, value) == value and list(flows.values()).count(value) == 1
    if kind == "list":
        return [str(v) for v in value] == truth
    if kind == "table":
        return [[str(v) for v in row] for row in value] == truth
    return value == truth


def compare(marker, truth, profile):
    def holds(what, is_so):
        check(is_so, f"{truth['name']}: {what}; the marker has {vars(marker)['data']}, phase "
                     f"{marker.phase}, thread {marker.tid}, the truth is {truth}")

    holds("category", marker.category == truth["category"])
    holds("subcategory", marker.subcategory == truth.get("subcategory", "Other"))
    if "phase" in truth:
        holds("phase", marker.phase == truth["phase"])
    if "type" in truth:
        holds("type", marker.type == truth["type"])
    for key, expected in truth.get("data", {}).items():
        if expected is None:
            holds(key, marker.data.get(key) is None)
        else:
            holds(key, key in marker.data and field_holds(*expected[:1], marker.data[key], expected[1],
                                                          profile))
    values = [str(v) for v in marker.data.values()]
    if "text" in truth:
        holds("text", truth["text"] in values)
    for value in truth.get("values", []):
        holds("value", value in values)
    if "tid" in truth:
        holds("tid", marker.tid == truth["tid"])
    if "owner" in truth:
        holds("owner", str(marker.data.get("owner")) == str(truth["owner"]))
    if "track" in truth:
        holds("track", marker.thread["name"] == truth["track"])
    if "start" in truth:
        holds("start", abs(marker.start_ns - truth["start"]) < CLOCKS_NS)
    if "end" in truth:
        holds("end", abs(marker.end_ns - truth["end"]) < CLOCKS_NS)
    if "least_ns" in truth:
        holds("duration", marker.end_ns - marker.start_ns >= truth["least_ns"])
    if "function" in truth:
        # What the header has inline stands where it was inlined.
        names = [f.name for f in marker.frames if not f.in_kernel() and not f.name.startswith("kymo_")]
        holds(f"stack {names}", names and names[-1] == truth["function"])


def compare_all(mode):
    recording, truth = recorded(mode)
    profile = recording.firefox()
    found = by_name(profile.all_markers())
    for expected in truth["markers"]:
        markers = found[expected["name"]]
        count = expected.get("count", 1)
        check(len(markers) == count, f"{len(markers)} markers are called {expected['name']}, not {count}")
        for marker in markers:
            compare(marker, expected, profile)
    say(f"{len(truth['markers'])} markers are what they are said to be")
    return profile


@case
def kinds():
    profile = compare_all("kinds")
    schemas = {s["name"]: s for s in profile.data["meta"]["markerSchema"]}
    formats = {f["key"]: f["format"] for f in schemas["EveryFormat"]["fields"]}
    for key, format_ in formats.items():
        wanted = key.replace("_", "-")
        if wanted == "table":
            check([c["label"] for c in format_["columns"]] == ["Name", "Size"], f"columns {format_}")
        elif wanted != "flow":
            check(format_ == wanted, f"{key} is of format {format_}")
    check(len(formats) == 22, f"{len(formats)} formats")
    fields = {f["key"]: f for f in schemas["EveryFormat"]["fields"]}
    check(fields["tid"].get("hidden") is True and not fields["url"].get("hidden"), "hidden fields")
    check(fields["url"]["label"] == "URL" and fields["bytes"].get("label", "bytes") == "bytes", "labels")
    every = schemas["EveryKind"]
    check(every["display"] == ["marker-chart", "timeline-overview"], f"shown in {every['display']}")
    check(every["chartLabel"] == "{marker.data.a_str}" and
          every["tooltipLabel"] == "{marker.name}: of {marker.data.a_str} and {marker.data.a_u64}" and
          every["tableLabel"] == "{marker.name}: {marker.data.a_i8}", "labels of the type")
    check("One of each kind." in every["description"] and "a workload" in every["description"], "rows")
    check(every["graphs"] == [{"key": "a_u32", "type": "line", "color": "red"}], f"{every.get('graphs')}")
    colors = {c["name"]: c["color"] for c in profile.data["meta"]["categories"]}
    check(colors["Plain"] == "blue", f"colours {colors}")


@case
def options():
    compare_all("options")


@case
def absent():
    """Nothing is preloaded: the same program makes no markers, and nothing else is different."""
    plain = run([MARKS, "kinds"])
    recording, truth = recorded("kinds")
    check(plain.status == 0, f"status {plain.status}")
    check([m["name"] for m in json.loads(plain.stdout)["markers"]] == [m["name"] for m in truth["markers"]],
          "it went another way")
    alone = json.loads(plain.stdout)
    check(truth["library"] and truth["err"] == 0 and truth["on"] == 1 and truth["written"] > 0,
          f"recorded: {truth}")
    check(not alone["library"] and alone["on"] == 0 and alone["written"] == 0, f"alone: {alone}")


# ---- many ----

def numbers_of(profile):
    """stream to the numbers that are there, in the order of their times; each is whole."""
    streams = collections.defaultdict(list)
    for marker in sorted((m for m in profile.all_markers() if m.name == "numbered"),
                         key=lambda m: m.start_ns):
        stream, number = marker.data["stream"], marker.data["number"]
        streams[stream].append((number, marker))
    return streams


def check_whole(streams, sizes):
    for stream, size in sizes.items():
        numbers = [number for number, _ in streams[stream]]
        check(sorted(numbers) == list(range(size)),
              f"of stream {stream} there are {len(numbers)} ({len(set(numbers))} different) of {size}")


@case
def threads():
    recording, truth = recorded("threads", 20000, 8, options=["--buffer=64m"])
    profile = recording.firefox()
    streams = numbers_of(profile)
    check_whole(streams, {i: truth["each"] for i in range(truth["threads"])})
    for stream, marks in streams.items():
        check(len({m.tid for _, m in marks}) == 1, f"stream {stream} is in several threads")
        numbers = [number for number, _ in marks]
        check(numbers == sorted(numbers), f"stream {stream} is out of order")
        wrong = [n for n, m in marks
                 if int(str(m.data["check"]), 0) != (stream << 32 | n) ^ 0x5A5A5A5A5A5A5A5A]
        check(not wrong, f"stream {stream}: fields of {wrong[:5]} are wrong")
    say(f"{sum(map(len, streams.values()))} markers of 8 threads, whole and in order")


def losses(recording, name):
    """Of the markers of this name: lost for want of room, above their limit, texts cut."""
    report = recording.report("--mode", "markers").data
    rows = [m for m in report["markers"] if m["name"] == name]
    check(len(rows) == 1, f"{len(rows)} rows are called {name}")
    return rows[0]


@case
def full():
    """The recorder stands still and the buffer is small: what is not there is counted exactly."""
    recording, truth = recorded("full", 30000, 8, options=["--buffer=1m"])
    streams = numbers_of(recording.firefox())
    there = sum(map(len, streams.values()))
    lost = losses(recording, "numbered")["lost"]
    say(f"{there} of {truth['threads'] * truth['each']} are there, {lost} are said to be lost")
    check(lost > 0 and there > 0, "the buffer was not full")
    check(there + lost == truth["threads"] * truth["each"], "the sum is another")
    for stream, marks in streams.items():
        numbers = [number for number, _ in marks]
        check(len(set(numbers)) == len(numbers) and numbers == sorted(numbers), "doubles, or out of order")


@case
def ring():
    """A flight recorder: the last markers are there, the first are not, and the sum is exact."""
    recording, truth = recorded("ring", 20000, options=["--buffer=64m", "--ring=64k"])
    profile = recording.firefox()
    numbers = [number for number, _ in numbers_of(profile)[0]]
    report = recording.report("--mode", "markers").data
    kept, dropped = report["count"], report["quality"]["ring"]
    lost = losses(recording, "numbered")["lost"]
    say(f"{len(numbers)} of {truth['each']} are there, from {numbers[0]} on; {dropped}")
    check(report["quality"]["ring"]["bytes"] == 65536, "the ring has another size")
    # Its beginning was dropped, its end was not: it is no interval, from whatever time.
    whole = by_name(profile.all_markers())["whole run"]
    check([m.phase for m in whole] == [0], f"phases of the interval: {[m.phase for m in whole]}")
    check(kept == len(numbers) + 1, f"{kept} markers are reported")
    check(kept + dropped["dropped_markers"] + lost == truth["each"] + 2, "the sum is another")
    check(0 < numbers[0] and numbers[-1] == truth["each"] - 1, "these are not the newest")
    check(lost or numbers == list(range(numbers[0], truth["each"])), "there are holes")
    text = run([KYMO, "report", recording.path, "--mode", "markers"])
    check(f"{dropped['dropped_markers']} older markers" in text.stdout, f"it is not said:\n{text.stdout}")


@case
def capped():
    recording, truth = recorded("capped", 5000)
    there = len(by_name(recording.firefox().all_markers())["capped"])
    row = losses(recording, "capped")
    windows = truth["seconds"] + 2
    say(f"{there} of {truth['made']} in {truth['seconds']} s, {row['capped']} above the limit")
    check(there + row["capped"] + row["lost"] == truth["made"], "the sum is another")
    check(100 <= there <= windows * truth["per_second"], "the limit does not hold")


@case
def unfinished():
    """What was lost is in the recording while it is made: a recorder that is killed has said it."""
    where = folder()
    running = Running(record_command([MARKS, "capped", "4000000000"], where / "r.kymo", period="10ms"))
    capped = 0
    for _ in range(600):
        time.sleep(0.1)
        kept = [f for f in where.iterdir() if ".kymo" in f.name and f.stat().st_size > 0]
        if kept:
            report = Recording(kept[0], None, KYMO).report("--mode", "markers").data
            capped = sum(m["capped"] for m in report["markers"] if m["name"] == "capped")
        if capped:
            break
    os.killpg(running.process.pid, signal.SIGKILL)
    running.finish()
    say(f"{capped} above the limit, before its end")
    check(capped > 0, "in a minute nothing says that markers are missing")


# ---- hard places ----

@case
def handlers():
    recording, truth = recorded("handlers", 500, options=["--buffer=64m", "--cpu=1ms"])
    profile = recording.firefox()
    check_whole(numbers_of(profile), dict(enumerate(truth["streams"])))
    found = by_name(profile.all_markers())
    check(len(found["in handler"]) == len(found["handler's text"]) == truth["streams"][1],
          "scopes or texts of the handler are missing")
    check(len(found["in main"]) == truth["streams"][0], "scopes of the main thread are missing")


@case
def fork():
    recording, truth = recorded("fork")
    streams = numbers_of(recording.firefox())
    check_whole(streams, dict(enumerate(truth["streams"])))
    pids = {stream: {m.thread["pid"] for _, m in marks} for stream, marks in streams.items()}
    check(all(len(p) == 1 for p in pids.values()) and len(set.union(*pids.values())) == 3,
          f"processes {pids}")


@case
def labels_fork():
    """A forked child has the labels of the thread that forked it, until it leaves them."""
    recording, _ = recorded("labels_fork", period="1ms")
    profile = recording.firefox()
    found = {m.name: set(m.data.get("labels", "").split()) for m in profile.all_markers()
             if m.type == "NoPayloadUserData" or m.data.get("labels")}
    check(found.get("left") == {"request_id=17", "phase=set"}, f"labels {found}")
    check(found.get("child") == {"request_id=17", "phase=set"}, f"labels {found}")
    check(found.get("grandchild") == {"request_id=17", "phase=set", "user=ann"}, f"labels {found}")
    check(found.get("parent") == {"request_id=17"}, f"labels {found}")
    check(found.get("main's child") == {"request_id=1"}, f"labels {found}")
    # The child's samples have them, too: some 200 ms.
    inner, _ = Pprof(recording).sums(
        lambda functions, labels: "burn_some" in functions and labels.get("phase") == "set")
    check(inner > 0, "no sample of the child has the label")


@case
def plugins():
    recording, truth = recorded("plugins", 200)
    profile = recording.firefox()
    found = by_name(profile.all_markers())
    for name in ("early", "late"):
        check(len(found[name]) == len(found[name + " scope"]) == truth[name], f"{len(found[name])} {name}")
        for i, marker in enumerate(sorted(found[name], key=lambda m: m.start_ns)):
            check(marker.data["literal"] == name + " literal" and marker.data["number"] == i,
                  f"{name} {i} has {marker.data}")
    schemas = [s["name"] for s in profile.data["meta"]["markerSchema"] if "OfPlugin" in s["name"]]
    check(schemas == ["OfPlugin"], f"schemas {schemas}")
    categories = [c["name"] for c in profile.data["meta"]["categories"] if c["name"] == "Plugin"]
    check(len(categories) == 1, "the category is there several times")


def check_open(profile, names):
    found = by_name(profile.all_markers())
    for name in names:
        check(len(found[name]) == 1 and found[name][0].phase == 2,
              f"{name}: {[m.phase for m in found[name]]}")
    return found


@case
def killed():
    recording, truth = recorded("killed", status=128 + signal.SIGKILL)
    found = check_open(recording.firefox(), truth["open"])
    starts = [found[name][0].start_ns for name in truth["open"]]
    check(starts == sorted(starts) and starts[1] < truth["before"] + CLOCKS_NS, "they begin at other times")
    check(found["second"][0].subcategory == "Part", "category of second")
    check(found["ended"][0].phase == 1, "what had ended is unfinished")


@case
def thread_ends():
    recording, truth = recorded("thread_ends")
    found = check_open(recording.firefox(), truth["open"])
    check(found["thread's"][0].tid == found["last words"][0].tid, "it is in another thread")


@case
def utf8():
    recording, truth = recorded("utf8", 200)
    profile = recording.firefox()  # which is JSON, read as UTF-8, to begin with
    found = by_name(profile.all_markers())
    check(len(found["random"]) == len(found["random format"]) == truth["each"], "markers are missing")
    long = [v for v in found["long"][0].data.values() if str(v).startswith("x")]
    check(long and long[0][1] == "\u00e4" and long[0].endswith("\u00e4\u2026"), f"cut to {long[0][-5:]!r}")
    rows = {m["name"]: m for m in recording.report("--mode", "markers").data["markers"]}
    cut = rows["random"]["cut"] + rows["random format"]["cut"] + rows["long"]["cut"]
    say(f"{cut} texts are said to be cut")
    # Every other one is long; the third of each round is a label's.
    labels = recording.report().lost().get("labels: texts cut", 0)
    say(f"{labels} of labels")
    check(cut + labels == truth["cut"] and labels == truth["each"] // 2, "not all cut texts are counted")


# ---- the edges ----

@case
def across_exec():
    recording, truth = recorded("exec", 500)
    profile = recording.firefox()
    streams = numbers_of(profile)
    check_whole(streams, dict(enumerate(truth["streams"])))
    check(len({m.thread["pid"] for stream in streams.values() for _, m in stream}) <= 2,
          "they are in more processes than there were images")
    check_open(profile, truth["open"])


@case
def across_vfork():
    """In its parent's memory a child of vfork is its parent's thread; behind its exec it is a process."""
    recording, truth = recorded("vfork", 500)
    streams = numbers_of(recording.firefox())
    check_whole(streams, dict(enumerate(truth["streams"])))
    numbers = [number for number, _ in streams[0]]
    check(numbers == sorted(numbers), "the parent's are out of order")
    check(len({m.tid for _, m in streams[0]}) == 1, "the parent's are in several threads")
    check(streams[0][0][1].thread["pid"] != streams[1][0][1].thread["pid"], "both are in one process")


@case
def past_the_end():
    """The recording ends, the program goes on: its categories are off at once, though nothing samples it,
    and what there was before is there."""
    place = folder()
    recording = record([MARKS, "past_end", place / "said"], options=["--duration=500ms"], period="10s")
    for _ in range(6000):
        if (place / "said").exists():
            break
        time.sleep(0.01)
    truth = json.loads((place / "said").read_text())
    numbers = sorted(number for number, _ in numbers_of(recording.firefox())[0])
    say(f"{len(numbers)} markers of {truth['made']}")
    check(truth["on"] == 0, "its category stayed on")
    check((truth["begun"], truth["stopped"]) == (1, 1), f"it was told otherwise: {truth}")
    check(numbers == list(range(len(numbers))) and numbers, "there are gaps")
    check(truth["made"] - len(numbers) <= 100, "it went on making markers that were not read")


@case
def static_program():
    """It has no markers. Beside one that is recorded it runs as if it were not; alone it is refused, with the
    reason, where the kernel may not sample it."""
    program = WORKLOADS / "marks_static"
    if not program.exists():
        skip("there is no static libc here")
    recording = record(["sh", "-c", f"{program} && exit 0"], engine="timer")
    check(recording.result.status == 0, f"{recording.result.status}: {recording.result.stderr}")
    truth = json.loads(recording.result.stdout)
    check(truth["on"] == 0 and truth["selected"] < 0, f"{truth}")
    check(not recording.firefox().all_markers(), "there are markers")
    out = run([KYMO, "report", recording.path, "--json"])
    check("it is statically linked" in out.stderr, f"it is not said why it is not recorded: {out.stderr}")
    refused = run(record_command([program], folder() / "recording.kymo", engine="timer"))
    check("static" in refused.stderr, f"{refused.status}: {refused.stderr}")


@case
def many_places():
    """More than a session has numbers for, or bytes: each is there under its own name, or counted."""
    places = 70000
    for megabytes, least, most in ((8, 500, 4096), (256, 32000, 32768)):
        recording, _ = recorded("sites", places, options=[f"--buffer={megabytes}m"])
        names = [m.name for m in recording.firefox().all_markers()]
        lost = recording.report().lost()
        say(f"{megabytes} MiB: {len(names)} of {places} are there; lost {lost}")
        check(least <= len(names) <= most, "too few, or too many")
        check(names == [f"place {i}" for i in range(len(names))], "they have other names")
        check(len(names) + lost.get("markers: no room for their names", 0) == places, "the sum is another")


# ---- on and off ----

def names_of(recording):
    return {m.name for m in recording.firefox().all_markers()}


@case
def select():
    recording, truth = recorded("select")
    check(truth["err"] == 0 and truth["refused"] < 0, f"{truth}")
    names = names_of(recording)
    check({"before", "still there", "after", "asked for"} <= names and "off" not in names, f"{names}")


@case
def before_the_run():
    for how in ({"options": ["--markers=all:-Plain:Quiet"]}, {"env": {**os.environ,
                                                                  "KYMO_MARKERS": "all:-Plain:Quiet"}}):
        recording = record([MARKS, "kinds"], **how)
        names = names_of(recording)
        check("uncategorized" in names and "quiet" in names and "instant" not in names, f"{how}: {names}")
    only = record([MARKS, "kinds"], options=["--markers=Plain/Part"])
    check(names_of(only) == {"in a part"}, f"{names_of(only)}")
    refused = run([KYMO, "record", "--markers=::", "--", "/bin/true"])
    check(refused.status == 2 and "markers" in refused.stderr, f"{refused.status}: {refused.stderr}")


# ---- counters and labels ----

@case
def counters():
    recording, truth = recorded("counters", 10000, 8)
    profile = recording.firefox()
    for name, wanted in (("Total", truth["total"]), ("Energy", truth["total"] / 12), ("Balance", truth["balance"]),
                         ("Level", truth["level"]), ("Steps", truth["steps"][-1])):
        samples = profile.counter(name)
        check(samples, f"there is no counter {name}")
        say(f"{name}: {samples[-1][1]}, in truth {wanted}")
        check(samples[-1][1] == wanted, f"{name} ends with another value")
        check(samples == sorted(samples, key=lambda s: s[0]), f"{name} is out of order")
    values = [value for _, value in profile.counter("Steps")]
    check(values == truth["steps"], f"steps {values}")
    operations = next(c for c in profile.data["counters"] if c["name"] == "Total")["samples"]["number"]
    check(sum(operations) == truth["operations"], f"{sum(operations)} operations")
    # Where changes find no room, too, a sum is what was counted.
    tight, told = recorded("counters", 100000, 8, options=["--buffer=1m"])
    for profile, wanted in ((profile, truth["operations"]), (tight.firefox(), told["operations"])):
        values = [value for _, value in profile.counter("Changes")]
        say(f"{len(values)} changes of {wanted}")
        check(values[-1] == wanted and values == sorted(values), f"changes end with {values[-1]}")


@case
def labels():
    """CPU time under each label is what the program measured, as its shares of a thread's samples."""
    recording, truth = recorded("labels", 300, 2, period="1ms")
    samples = Pprof(recording)
    for thread in truth["threads"]:
        request = thread["request_id"]
        for number, key in ((request, "in_request_ns"), (request + 1000, "nested_ns")):
            count, found = samples.sums(lambda _, labels: labels.get("request_id") == number)
            # As many burn outside as in the inner request.
            all_ns = thread["in_request_ns"] + 2 * thread["nested_ns"]
            share = thread[key] / all_ns
            in_thread = max(count, 1) / share
            say(f"request_id {number}: {count} samples")
            check_close("its CPU time, of the thread's", found / all_ns, share,
                        max(0.02, by_chance(share, in_thread)))
    inner = samples.sums(lambda functions, _: "burn_nested" in functions)
    user = samples.sums(lambda functions, labels: "burn_nested" in functions and labels.get("user") == "nested")
    check(user == inner and user[0] > 0, f"{user} of {inner} have the label user")
    markers = [m for m in recording.firefox().all_markers() if m.name == "labelled"]
    check(len(markers) == 2 * truth["each"], f"{len(markers)} markers")
    of_thread = collections.defaultdict(collections.Counter)
    for marker in markers:
        of_thread[marker.tid][frozenset(marker.data["labels"].split())] += 1
    # Each has its own thread's inner request, and the phase that its last round set.
    odd, even = (truth["each"] - 1) // 2, truth["each"] // 2
    wanted = [{frozenset(phase | {f"request_id={t['request_id'] + 1000}", "user=nested"}): n
               for phase, n in ((set(), 1), ({"phase=even"}, even), ({"phase=odd"}, odd))}
              for t in truth["threads"]]
    found = list(of_thread.values())
    check(len(found) == len(wanted) and all(w in found for w in wanted), f"labels of markers: {found}")
    check_makers(recording, 2 * truth["each"])


def check_makers(recording, each):
    """Whatever thread and time a marker is shown with, its labels are those of its maker."""
    for name in ("for main", "earlier"):
        markers = [m for m in recording.firefox().all_markers() if m.name == name]
        check(len(markers) == each, f"{len(markers)} of {name}")
        for marker in markers:
            request = f"request_id={int(marker.data['owner']) + 1000}"
            check(request in marker.data["labels"].split(), f"{name}, not {request}: {marker.data}")


# ---- the example ----

def check_chart(recording, names):
    """tools/marker-chart draws a page that is well-formed, and has these texts."""
    page = recording.path.with_suffix(".html")
    out = run([ROOT / "tools" / "marker-chart", recording.path.with_suffix(".json"), page])
    check(out.status == 0, f"marker-chart: {out.stderr}")
    tree = ElementTree.fromstring(page.read_text().split("\n", 1)[1])
    texts = " ".join("".join(e.itertext()) for e in tree.iter() if e.tag.endswith("text"))
    check(all(name in texts for name in names), f"one of {names} is not on the page")


@case
def kvserver():
    """A real server under load, with its client: flows, counters, labels, and samples beside them."""
    place = folder()
    for requests in (6000, 12000, 24000):
        script = f"{EXAMPLES}/kvserver {place}/socket & {EXAMPLES}/kvload {place}/socket {requests} 8 && wait $!"
        # The engine insists: workers sleep too often for samples of their own otherwise.
        recording = record(["sh", "-c", script], options=["--buffer=64m"], engine=engines()[0], period="200us")
        check(recording.result.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
        report = recording.report()
        in_pprof = Pprof(recording)
        # What execute does there, since the label begins and ends in execute itself.
        store = {f"kv_store_{what}" for what in ("get", "put", "remove", "scan")}
        work, work_ns = in_pprof.sums(lambda functions, _: functions & store)
        # How many samples there are is the processor's to say.
        if work > 0 and report.share("checksum") > 0:
            break
    said = [json.loads(line) for line in recording.result.stdout.splitlines()]
    load = next(s for s in said if "hits" in s)
    server = next(s for s in said if "hits" not in s)
    check(load["wrong"] == 0 and load["hits"] > 0 and server["requests"] == load["requests"], f"{said}")
    profile = recording.firefox()
    markers = profile.all_markers()
    found = by_name(markers)
    requests = found["request"]
    check(len(requests) == load["requests"], f"{len(requests)} requests of {load['requests']}")
    check(all(m.phase == 1 for m in requests), "requests are unfinished")

    flows_of = collections.defaultdict(list)
    for marker in markers:
        if marker.data.get("flow") is not None:
            flows_of[marker.data["flow"]].append(marker)
    for request in requests:
        hops = flows_of[request.data["flow"]]
        check(len(hops) >= 5 and len({(m.thread["pid"], m.tid) for m in hops}) >= 3,
              f"request {request.data['id']} is in {[m.name for m in hops]}")
    ids = {m.data["flow"]: m.data["id"] for m in requests}
    check(len(ids) == load["requests"], "requests share a flow")
    asked = found["ask"]
    check(all(ids[m.data["flow"]] == m.data["id"] for m in asked) and
          len(asked) == load["requests"] - 1, "the client's flows are others")

    for name, wanted in (("Bytes received", load["sent"]), ("Bytes sent", load["received"]),
                         ("Queue of work", 0), ("Queue of the journal", 0)):
        samples = profile.counter(name)
        check(samples and samples[-1][1] == wanted, f"{name} ends with {samples and samples[-1][1]}, "
                                                    f"not {wanted}")
    lengths = [value for _, value in profile.counter("Queue of work")]
    check(min(lengths) >= 0 and max(lengths) > 0, f"queue between {min(lengths)} and {max(lengths)}")
    known, _ = in_pprof.sums(lambda functions, labels: functions & store and labels.get("request_id", 0) > 0)
    say(f"{work} samples of {work_ns / 1e6:.1f} ms in the store, {known} with a request's number")
    check(known == work > 0, "samples of the work do not know their request")
    check_nothing_lost(report.quality)
    check(report.share("checksum") > 0, "there are no samples of the work")
    check_chart(recording, {"request", "execute", "journaled", "ask", "Queue of work", "Connections"})
    say(f"{len(markers)} markers, {len(profile.all_samples())} samples, queue up to {max(lengths)}")


main()
