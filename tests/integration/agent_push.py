# SPDX-License-Identifier: Apache-2.0
"""`kymo agent` with reporters for Pyroscope and OpenTelemetry, whose own code takes what they send.

What should arrive is what the files of a local reporter of the same run say, read by another reader:
of each interval, of each type of sample, the sum of each function. Each interval arrives once, also
where requests fail on the way.
"""
import base64
import gzip
import json
import pathlib
import re
import sys
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))

from agents import environment, profiles
from kymotest import (BUILD, KYMO, WORKLOADS, Running, case, check, folder, main, record, run, say, skip)
from profile_checks import pprof
from servers.http_stub import Stub
from servers.receivers import Receivers

MODULE = BUILD / "src" / "remote" / "libkymo-remote.so"
TOKEN = "TOKEN-of-a-file"
WITH = ("--wall", "--alloc=4k", "--label=team=it's, {a}", "--label=x.y/z=1", "--metadata=none")
HEAP = {"alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"}
SERIES = {"cpu/nanoseconds": "process_cpu", "samples/count": "process_cpu", "wall/nanoseconds": "wall"}


def token_file():
    file = folder() / "token"
    file.write_text(TOKEN + "\n")
    return file


def totals(data):
    """(time in ns, {"type/unit": {innermost function: sum}}) of a pprof file."""
    p = pprof.decode(gzip.decompress(data), pprof.PROFILE, "profile")
    strings = [text.decode() for text in p["string_table"]]
    names = {f["id"]: strings[f["name"]] for f in p["function"]}
    leaf = {at["id"]: names[at["line"][0]["function_id"]] if at["line"] else "" for at in p["location"]}
    types = [f"{strings[t['type']]}/{strings[t['unit']]}" for t in p["sample_type"]]
    sums = {t: {} for t in types}
    for sample in p["sample"]:
        name = leaf[sample["location_id"][0]]
        for t, value in zip(types, sample["value"]):
            sums[t][name] = sums[t].get(name, 0) + value
    return p["time_nanos"], without_zeros(sums)


def without_zeros(sums):
    kept = {t: {name: value for name, value in of.items() if value} for t, of in sums.items()}
    return {t: of for t, of in kept.items() if of}


class Run:
    """The agent with one more reporter, to its end; what the local ones wrote: `truth` by the time of
    the interval, in all types."""

    def __init__(self, target, *options, deadline="60s", rounds=60, env=None):
        if not MODULE.exists():
            skip("built without libcurl or libzip")
        where = folder()
        running = Running([KYMO, "agent", "--report=300ms", f"--deadline={deadline}",
                           f"--reporter=local:{where / 'pprof'}", "--format=pprof",
                           f"--reporter=local:{where / 'kymo'}", "--format=kymo", f"--reporter={target}", *options, "--",
                           WORKLOADS / "intervals", str(rounds), "20"], env=env or environment())
        result = running.finish()
        self.said = result.stderr
        check("by signal" not in self.said, f"a delivery crashed: {self.said}")
        check(result.status == 0 and json.loads(result.stdout)["rounds"] == rounds, f"the program: {self.said}")
        check(TOKEN not in self.said, self.said)
        self.truth = {}
        for file in profiles(where / "pprof"):
            self.add(file)
        for file in profiles(where / "kymo") if "--alloc=4k" in options else ():
            heap = file.with_suffix(".live.pb.gz")
            out = run([KYMO, "convert", file, "--mode", "live", "-o", heap])
            check(out.status == 0, out.stderr)
            self.add(heap)
        # One that had nothing but markers is in no file.
        self.truth = {time: sums for time, sums in self.truth.items() if sums}
        check(len(self.truth) >= 3, f"only {len(self.truth)} intervals")

    def add(self, file):
        time, sums = totals(file.read_bytes())
        of = self.truth.setdefault(time, {})
        check(not set(of) & set(sums), "two files of one interval")
        of.update(sums)


def by_turns(*faults):
    """A fault, and then a request that is served, for each of these; more requests are served."""
    turns = [turn for fault in faults for turn in (fault, None)]
    return lambda request: turns.pop(0) if turns else None


def each_once(received):
    """Without what was sent twice, which is the same."""
    seen = {}
    for r in received:
        check(seen.setdefault(r["id"], r) == r, f"{r['id']} was sent with different contents")
    return list(seen.values())


def check_arrived(done, received):
    """Sums by interval and type, none twice."""
    arrived = {}
    for r in received:
        of = arrived.setdefault(r["time_ns"], {})
        for t, sums in without_zeros(r["totals"]).items():
            check(t not in of, f"{t} of the interval {r['time_ns']} is there twice")
            of[t] = sums
        check(r["duration_ns"] > 0, r)
    check(set(arrived) == set(done.truth), f"intervals {sorted(arrived)} of {sorted(done.truth)}")
    for time, truth in done.truth.items():
        for t in truth:
            check(arrived[time].get(t) == truth[t], f"{t}: {arrived[time].get(t)} arrived, {truth[t]} was measured")
        check(set(arrived[time]) == set(truth), f"{set(arrived[time])} of {set(truth)}")
    types = set().union(*map(set, done.truth.values()))
    check({"cpu/nanoseconds", "samples/count", "wall/nanoseconds", "inuse_space/bytes"} <= types, f"only {types}")
    burn = sum(truth.get("cpu/nanoseconds", {}).get("burn_round", 0) for truth in done.truth.values())
    check(burn > 0, "burn_round has no samples")
    say(f"{len(done.truth)} intervals, {len(received)} profiles")


# ---- Pyroscope ----

@case
def push():
    """push.v1, with failures on the way: what was sent twice has one identifier."""
    with Receivers("pyroscope") as there:
        there.stub.fault = by_turns(500, "reset", "lose", "stall", 503, "lose", 429)
        done = Run(f"pyroscope+http://127.0.0.1:{there.port}/?tenant=team-1&token-file={token_file()}&timeout=2s", *WITH)
        received = there.finish()
        once = each_once(received)
        check(len(received) == len(once) + 2, f"{len(received)} arrived, {len(once)} of them others")
        check_arrived(done, once)
        check({r.target for r in there.stub.requests} == {"/push.v1.PusherService/Push"}, "other targets")
    for r in once:
        check(all(r["labels"]["__name__"] == SERIES.get(t, "memory") for t in r["totals"]), r)
        check(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", r["id"]), r["id"])
        labels = {"service_name": "intervals", "team": "it's, {a}", "x_y_z": "1", "__delta__": "false"}
        check(labels.items() <= r["labels"].items(), r["labels"])
        check(re.fullmatch("[0-9a-f]{16}", r["labels"]["__session_id__"]), r["labels"])
        check(r["headers"]["X-Scope-Orgid"] == "team-1" and r["headers"]["Authorization"] == f"Bearer {TOKEN}", r["headers"])


@case
def ingest():
    """The older protocol, whose profiles have no identifier: a lost answer is a second delivery."""
    with Receivers("pyroscope") as there:
        there.stub.fault = by_turns(500, "reset", "stall", 503)
        done = Run(f"pyroscope-ingest+http://127.0.0.1:{there.port}?user=me&token-file={token_file()}&timeout=2s", *WITH,
                   env=environment(OTEL_SERVICE_NAME="shop front"))
        received = there.finish()
        check_arrived(done, received)
    basic = base64.b64encode(f"me:{TOKEN}".encode()).decode()
    for r in received:
        labels = {"service_name": "intervals", "team": "it's_ _a_", "x_y_z": "1"}
        check(labels.items() <= r["labels"].items(), r["labels"])
        check(r["headers"]["Authorization"] == f"Basic {basic}" and r["query"]["format"] == "pprof", r)
        check(int(r["query"]["until"]) > int(r["query"]["from"]), r["query"])
        check(abs(int(r["query"]["from"]) - r["time_ns"]) < 1000000000, r)


@case
def many_labels():
    """The server takes 30 for a series; names that begin with two underscores are its own."""
    with Receivers("pyroscope") as there:
        more = [f"--label=many.{i}=value {i}" for i in range(40)]
        Run(f"pyroscope+http://127.0.0.1:{there.port}", "--metadata=none", "--label=__name__=mine",
            "--label=service.name=a service", "--label=many_1=second", *more)
        for r in there.finish():
            check(len(r["labels"]) == 30 and r["labels"]["service_name"] == "a service", r["labels"])
            check(r["labels"]["__name__"] == "process_cpu" and r["labels"]["many_1"] == "second", r["labels"])


# ---- OpenTelemetry ----

@case
def otlp():
    """The collector's receiver takes it, and its tables keep the rules."""
    with Receivers("otlp") as there:
        there.stub.fault = by_turns("lose", 500, "reset", "stall", 503)
        done = Run(f"otlp+http://127.0.0.1:{there.port}?token-file={token_file()}&timeout=2s", *WITH)
        received = there.finish()
        once = each_once(received)
        check(len(received) > len(once), "nothing was sent twice")
        check_arrived(done, once)
        for request in there.stub.requests:
            check(request.target == "/v1development/profiles" and request.headers["Content-Encoding"] == "gzip", request.target)
            check(request.headers["Authorization"] == f"Bearer {TOKEN}", "no token")
    for r in once:
        check(not r["faults"], r["faults"])
        resource = {"service.name": "intervals", "process.executable.name": "intervals", "team": "it's, {a}",
                    "x.y/z": "1", "os.type": "linux"}
        check(resource.items() <= r["labels"].items() and r["labels"]["process.pid"].isdigit(), r["labels"])
        check(len(r["totals"]) == 1 and "kymo.engine" in r["query"], r)


@case
def converted():
    """What `kymo convert` writes of a recording is taken, and has the sums of its pprof file."""
    where = folder()
    recording = record([WORKLOADS / "intervals", "30", "5"], options=["--alloc=4k", "--wall=5ms"])

    def convert(name, *options):
        out = run([KYMO, "convert", recording.path, "-f", "-o", where / name, *options])
        check(out.status == 0 and "shows time" not in out.stderr, out.stderr)
        return (where / name).read_bytes()
    for options, types in (((), 7), (("--mode", "live"), 4), (("--mode", "wall"), 3)):
        with Receivers("otlp") as there:
            body = convert("a.otlp.gz", *options)
            check(gzip.decompress(body) == convert("a.otlp", *options), ".otlp.gz is not .otlp compressed")
            request = urllib.request.Request(f"http://127.0.0.1:{there.port}/v1development/profiles", body,
                                             {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"})
            with urllib.request.urlopen(request) as answer:
                check(answer.status == 200, answer.status)
            received = there.finish()
        check(len(received) == types and not any(r["faults"] for r in received), received)
        if options == ("--mode", "wall"):
            check(set(received[0]["totals"]) == {"wall/nanoseconds"}, "wall time is not the first")
            continue
        truth = {}
        for mode in (("--mode", "cpu"), ("--mode", "live"))[bool(options):]:
            out = run([KYMO, "convert", recording.path, "-q", "-f", "-o", where / "a.pb.gz", *mode])
            check(out.status == 0, out.stderr)
            truth.update(totals((where / "a.pb.gz").read_bytes())[1])
        arrived = {t: sums for r in received for t, sums in without_zeros(r["totals"]).items()}
        check(arrived == truth, f"{arrived} arrived, {truth} is in the pprof file")


# ---- what servers refuse ----

def refused(target, status, body, content_type="application/json", deadline="500ms"):
    """What a server says is in the log; a profile that it refuses for good is dropped, and the next
    one waits longer."""
    def serve(request):
        return status, {"Content-Type": content_type}, body
    with Stub(serve) as stub:
        done = Run(target.format(stub.port), "--metadata=none", deadline=deadline)
        check(stub.requests, "nothing was sent")
    return done.said


def field(number, data):
    check(len(data) < 128, "too long for this")
    return bytes((number << 3 | 2, len(data))) + data


@case
def refusals():
    said = refused("pyroscope+http://127.0.0.1:{}", 400, b'{"code":"invalid_argument","message":"no \\"such\\" label\\u0007"}')
    check('answers 400: no "such" label' in said and "this profile is dropped" in said and "\x07" not in said, said)
    said = refused("pyroscope-ingest+http://127.0.0.1:{}?token-file=" + str(token_file()), 422, b"bad\nprofile" + 200000 * b"x")
    check("answers 422: bad" in said and "token-file" not in said and len(said) < 20000, said[:1000])
    said = refused("otlp+http://127.0.0.1:{}", 400, bytes((8, 3)) + field(2, b"no such profile"), "application/x-protobuf")
    check("answers 400: no such profile; this profile is dropped" in said, said)
    # Taken, but not all of it: to send it again would double the rest.
    said = refused("otlp+http://127.0.0.1:{}", 200, field(1, bytes((8, 2)) + field(2, b"too old")), "application/x-protobuf")
    check("rejects 2 profiles: too old; this profile is dropped" in said, said)
    # A warning, with all of it taken; and an answer that is none.
    said = refused("otlp+http://127.0.0.1:{}", 200, field(1, field(2, b"soon too old")), "application/x-protobuf", "60s")
    check("says: soon too old" in said and "dropped" not in said, said)
    said = refused("otlp+http://127.0.0.1:{}", 200, b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "application/x-protobuf", "60s")
    check("dropped" not in said and "answers" not in said, said)


@case
def wrong_targets():
    """They are errors of the command line, before the program runs."""
    for target, why, *more in (("pyroscope+http://h/?colour=red", "no option 'colour'"), ("otlp+http://me:unseen-word@h/", "token-file="),
                               ("otlp+https://h/?user=me", "no ?token-file="), ("pyroscope+http://h/?tenant=a%20b", "a blank"),
                               ("otlp+ftp://h/?unseen-word", "it takes local:DIR"),
                               ("otlp+http://h", "takes otlp, and no other", "--format=pprof")):
        result = run([KYMO, "agent", f"--reporter={target}", *more, "--", "echo", "it ran"], env=environment())
        check(result.status == 2 and why in result.stderr and not result.stdout, f"{target}: {result.stderr}")
        check("unseen-word" not in result.stderr, result.stderr)


if __name__ == "__main__":
    main()
