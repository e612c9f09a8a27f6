# SPDX-License-Identifier: Apache-2.0
"""Programs from elsewhere, with their allocations recorded: each says and leaves behind what
it does alone, whatever allocator it has, and the recording accounts for the blocks that it asked for:
with --alloc=0, those that are recorded and those that are counted as lost are what the threads counted.
"""
import json
import math
import os
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import servers
from servers.server import Broken, Session
from kymotest import (KYMO, MIMALLOC, Recording, add_case, check, folder, main, record, record_command, run,
                      say, skip, tools_for)

CHECK_PROFILE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check-profile"
PYTHON = "/usr/bin/python3"
PLACE = pathlib.Path("/usr/lib/x86_64-linux-gnu")
LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
             "mimalloc": MIMALLOC}
SAMPLES = ("--alloc",)
EVERY = ("--alloc=0",)
# CPU samples are not looked at.
PERIOD = "10ms"
# For a compressed MB the checker takes 10 s.
CHECKED_BYTES = 100_000


def preloading(allocator):
    if allocator is None:
        return {}
    library = PLACE / LIBRARIES[allocator]
    if not library.exists():
        skip(f"{library} is not installed")
    return {"LD_PRELOAD": str(library)}


def check_heaps(recording, options, least):
    """At least so many blocks were asked for, and all but those that were gone early are in the recording
    or counted as lost."""
    out = run([KYMO, "report", recording.path, "--json", "--top", "0", "--mode", "alloc"])
    check(out.status == 0, f"kymo report: status {out.status}: {out.stderr}")
    data = json.loads(out.stdout)
    heaps = data["heaps"]
    count = sum(h["count"] for h in heaps)
    lost = sum(h["lost"] for h in heaps)
    frees = sum(h["lost_frees"] for h in heaps)
    total = data["total"]
    say(f"{' '.join(options)} {len(heaps)} processes, {count} blocks of {sum(h['bytes'] for h in heaps)} bytes; "
        f"{total['samples']} recorded, {lost} and {frees} frees lost")
    check(count >= least, f"only {count} blocks were seen")
    unseen = sorted({h["not_seen"] for h in heaps if h["not_seen"]})
    check(not unseen, f"not seen: {unseen}")
    check(not data["partial"] or frees > 0, "partial, and no end of a block is lost")
    if options == EVERY:
        # The block at which a forked child is found to be one is not in its count.
        check(-len(heaps) <= count - total["objects"] - lost <= 0,
              f"{total['objects']} blocks and {lost} lost are not {count}")
    else:
        check(lost == 0 and frees == 0, f"lost: {lost}, frees {frees}")
        check(total["samples"] > 0, "no block was drawn")
    check_files(recording, total["bytes"], max(heap["rate"] for heap in heaps))
    return data


def check_files(recording, asked, rate):
    """pprof and collapsed stacks keep the rules of their formats (those of Pyroscope's and Parca's
    importers included), and have as many bytes as the report. Of samples, and above two million rows, they have what the draws tell:
    the report has what was counted, which is within six standard errors."""
    for mode, name in (("live", "live.pb.gz"), ("alloc", "alloc.folded")):
        path = recording.path.with_name(name)
        out = run([KYMO, "convert", "-q", "-f", recording.path, "--mode", mode, "-o", path])
        check(out.status == 0, f"kymo convert: status {out.status}: {out.stderr}")
        if path.stat().st_size > CHECKED_BYTES and name.endswith(".gz"):
            continue
        out = run([sys.executable, CHECK_PROFILE, path])
        check(out.status == 0, f"{name}: {out.stdout[:1000]}{out.stderr[:1000]}")
    with open(path, encoding="utf-8") as file:
        written = sum(int(line.rpartition(" ")[2]) for line in file)
    allowed = 1 if rate <= 1 else 6 * math.sqrt(rate * asked) + rate
    check(abs(written - asked) <= allowed, f"the collapsed stacks have {written} bytes, the report {asked}")


def masked(text, mask):
    return re.sub(mask, "#", text) if mask else text


def unchanged(argv, options, least, *, env=None, files=(), mask=None, prepare=lambda where: None):
    """The same output, errors and files as alone. mask: what differs from run to run."""
    env = {**os.environ, **(env or {})}
    where = folder()
    prepare(where)
    plain = run(argv, env=env, cwd=where)
    check(plain.status == 0, f"the program itself fails: {plain.status} {plain.stdout[-500:]} {plain.stderr[-500:]}")
    made = [(where / f).read_bytes() for f in files]
    for path in where.iterdir():
        path.unlink()
    prepare(where)
    recording = record(argv, options=options, period=PERIOD, env=env, cwd=where)
    result = recording.result
    check(result.status == plain.status, f"status {result.status}: {result.stdout[-500:]} {result.stderr[-500:]}")
    check(masked(result.stdout, mask) == masked(plain.stdout, mask), "standard output differs")
    check(masked(result.stderr, mask) == masked(plain.stderr, mask), f"standard error differs: {result.stderr[-500:]}")
    check([(where / f).read_bytes() for f in files] == made, "files that it writes differ")
    return check_heaps(recording, options, least)


# ---- python ----

def have_module(name, package):
    if not os.path.exists(PYTHON) or run([PYTHON, "-c", f"import {name}"]).status != 0:
        skip(f"{package} is not installed")


# How long it took.
TEST_TIMES = r"in [0-9.]+s\b"


# Some of Python's own tests of json; two of them start a process.
JSON_TESTS = [f"test.test_json.{name}" for name in (
    "test_decode", "test_dump", "test_fail", "test_scanstring", "test_pass1",
    "test_tool.TestTool.test_infile_stdout", "test_tool.TestTool.test_sort_keys_flag")]


def json_tests(allocator, options, library):
    have_module("test.test_json", "Python's libpython3.X-testsuite")
    env = {**preloading(library), "PYTHONMALLOC": allocator, "PYTHONHASHSEED": "1"}
    unchanged([PYTHON, "-m", "unittest", "-v", *JSON_TESTS], options, 10000 if allocator == "pymalloc" else 200000,
              env=env, mask=TEST_TIMES)


for allocator in ("pymalloc", "malloc"):
    add_case(f"json_tests.{allocator}", json_tests, allocator, EVERY, None)
for library in LIBRARIES:
    add_case(f"json_tests.{library}", json_tests, "malloc", SAMPLES, library)

SOLVER = """
import kiwisolver
kept = []
for i in range(100):
    solver = kiwisolver.Solver()
    xs = [kiwisolver.Variable(f"a rather long name of variable {j}") for j in range(30)]
    for a, b in zip(xs, xs[1:]):
        solver.addConstraint(b >= a + i % 7)
    solver.addConstraint(xs[0] >= 10)
    solver.addEditVariable(xs[15], "weak")
    solver.suggestValue(xs[15], 100 + i)
    solver.updateVariables()
    try:
        solver.addConstraint(xs[1] <= xs[0] - 1)
    except kiwisolver.UnsatisfiableConstraint as error:
        kept.append((xs[-1].value(), type(error).__name__))
print(sum(v for v, _ in kept), set(name for _, name in kept))
"""


def extension(options, library):
    """C++ in a module that python loads for itself alone, with its own copy of nothing: operators of
    new and delete, and exceptions that leave it."""
    have_module("kiwisolver", "python3-kiwisolver")
    data = unchanged([PYTHON, "-c", SOLVER], options, 30000, env=preloading(library))
    if options == EVERY:
        asked = sum(f["total"]["objects"] for f in data["functions"] if "_cext" in (f["module"] or ""))
        check(asked > 30000, f"only {asked} blocks in functions of the extension")


GREENLETS = """
import greenlet, json
main, done = greenlet.getcurrent(), []
def work(i):
    kept = []
    for j in range(60):
        kept.append(bytes(600 + i + j))
        main.switch()
        kept = json.loads(json.dumps({"a": [len(k) for k in kept]})) and kept[-20:]
    done.append(sum(len(k) for k in kept))
running = [greenlet.greenlet(lambda i=i: work(i)) for i in range(40)]
while running:
    for g in running:
        g.switch()
    running = [g for g in running if not g.dead]
print(len(done), sum(done))
"""


def greenlets(options, allocator):
    """Stacks that are copied away and back under our feet."""
    have_module("greenlet", "python3-greenlet")
    unchanged([PYTHON, "-c", GREENLETS], options, 2400, env={"PYTHONMALLOC": allocator})


add_case("extension.glibc", extension, EVERY, None)
for library in LIBRARIES:
    add_case(f"extension.{library}", extension, EVERY, library)
for allocator in ("pymalloc", "malloc"):
    add_case(f"greenlets.{allocator}", greenlets, EVERY, allocator)


# ---- a C project ----

ZLIB = pathlib.Path("/usr/share/doc/zlib1g-dev/examples")
PNG = pathlib.Path("/usr/share/doc/libpng-dev/examples")
# zlib's and libpng's own tests, as their makefiles have them, and programs of zlib's examples.
MAKEFILE = """
CFLAGS = -O1 -w
PROGRAMS = example minigzip enough gzjoin
all: $(PROGRAMS) pngtest
$(PROGRAMS): %: %.c
	$(CC) $(CFLAGS) -o $@ $< -lz
pngtest: pngtest.c
	$(CC) $(CFLAGS) -o $@ $< -lpng -lz
test: all
	echo hello world | ./minigzip | ./minigzip -d
	./example foo.gz
	./minigzip < example.c > 1.gz
	./minigzip < enough.c > 2.gz
	./gzjoin 1.gz 2.gz > joined.gz
	./minigzip -d < joined.gz | cksum
	./enough 150 8 15
	./pngtest pngtest.png out.png
	@echo all passed
"""


def copy_project(where):
    for source in [*(ZLIB / f"{name}.c" for name in ("example", "minigzip", "enough", "gzjoin")),
                   PNG / "pngtest.c", PNG / "pngtest.png"]:
        shutil.copy(source, where)
    (where / "Makefile").write_text(MAKEFILE)


def make_test(options):
    """make with compiler, assembler, linker, shells and the programs that are tested."""
    for need in (ZLIB / "example.c", PNG / "pngtest.c"):
        if not need.exists():
            skip(f"{need} is not there: zlib1g-dev and libpng-dev have it, with their documentation")
    data = unchanged(["make", "test"], options, 100000, prepare=copy_project,
                     files=["foo.gz", "joined.gz", "out.png", "example", "pngtest"],
                     mask=r"[0-9.]+ (?:milli)?seconds|/tmp/cc\w+")
    check(len(data["heaps"]) >= 15, f"only {len(data['heaps'])} processes")


add_case("make_test", make_test, EVERY)


# ---- programs with another allocator than they are used to ----

CXX = """
#include <iostream>
#include <map>
#include <string>
int main()
{
    std::map<std::string, int> m;
    for (int i = 0; i < 10000; i++)
        m["a key that is no short one " + std::to_string(i)] = i;
    try { m.at("none"); } catch (const std::out_of_range &) { std::cout << m.size() << std::endl; }
}
"""


def prepare_programs(where):
    (where / "source.cc").write_text(CXX)
    (where / "work.sql").write_text(
        "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000) "
        "insert into t select i, 'row ' || i from n; create index x on t(b); select count(*), max(b) from t;\n")


PROGRAMS = {
    "sqlite3": (["/usr/bin/sqlite3", ":memory:", ".read work.sql"], 1000),
    "perl": (["/usr/bin/perl", "-e", 'my %h; $h{"k$_"} = "v" x ($_ % 99) for 1..50000; print scalar(keys %h)'], 50000),
    "node": (["/usr/bin/node", "-e", "let a = []; for (let i = 0; i < 3e5; i++) a.push({i, s: 's' + i}); "
                                     "setTimeout(() => console.log(a.length), 5)"], 1000),
    "g++": (["/bin/sh", "-c", "g++ -O1 -o program source.cc && ./program"], 50000),
}


def program(name, library, options):
    argv, least = PROGRAMS[name]
    need = "/usr/bin/g++" if name == "g++" else argv[0]
    if not os.path.exists(need):
        skip(f"{need} is not installed")
    unchanged(argv, options, least, env=preloading(library), prepare=prepare_programs)


for name in PROGRAMS:
    add_case(f"{name}.every", program, name, None, EVERY)
    for library in LIBRARIES:
        add_case(f"{name}.{library}", program, name, library, SAMPLES)


# ---- servers under load ----

def loaded(server, seconds, prefix=()):
    with Session(server, prefix) as session:
        load = server.load(seconds)
        wrong = server.verify()
    check(not load.errors, f"the client saw {load.errors}")
    check(not wrong, f"the server is wrong: {wrong}")
    check(session.status == server.end_status, f"status {session.status}: {session.said}")
    return session


def server_works(name, library, options):
    kind = servers.KNOWN[name]
    if kind.missing():
        skip(f"not installed (tools/install-deps load): {' '.join(kind.missing())}")
    preload = [f"{key}={value}" for key, value in preloading(library).items()]
    under = ["/usr/bin/env", *preload]
    server = kind(folder() / name)
    server.prepare()
    try:
        alone = loaded(server, 1, under)
    except Broken as error:
        if not library:
            raise
        skip(f"{name} does not run with {library} even alone: {str(error)[:200]}")
    path = folder() / "recording.kymo"
    user = server.user.pw_uid if server.user else None
    session = loaded(server, 1, record_command([], path, options=options, user=user, period=PERIOD, under=under))
    new = session.complaints - alone.complaints
    check(not new, f"said only under Kymo: {sorted(new)}")
    ours = [line for line in session.said.splitlines() if "kymo:" in line]
    check(not ours, f"Kymo says {ours}")
    check_heaps(Recording(path, None, tools_for(None)), options, 1000)


# Samples with their own allocators: integration.servers.
for name in ("redis", "postgres", "node"):
    add_case(f"server.{name}.every", server_works, name, None, EVERY)
add_case("server.postgres.jemalloc", server_works, "postgres", "jemalloc", SAMPLES)
add_case("server.redis.tcmalloc", server_works, "redis", "tcmalloc", SAMPLES)
add_case("server.redis.mimalloc", server_works, "redis", "mimalloc", SAMPLES)
main()
