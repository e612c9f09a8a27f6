# SPDX-License-Identifier: Apache-2.0
"""Process trees: each image is a process of its own, with what it used and where."""
import json
import os
import pathlib
import shutil
import signal

from kymotest import (KYMO, WORKLOADS, Recording, Running, add_case, check, check_close,
                      check_complete, check_nothing_lost, engines, folder, main, record, record_command,
                      run, say, skip, tools_for, wait_until)

FAMILY = WORKLOADS / "family"


def truth_of(stdout):
    truth = {}
    for line in stdout.splitlines():
        truth.update(json.loads(line))
    return truth


def check_seconds(recording, truth, unsampled_s=0, bursts=1):
    """Each name is of a process with one thread. Samples by a tick share their weights, so the work may
    lose as much as the process used beside it, and for each of its bursts the one sample that stands
    for the end of both."""
    profile = recording.firefox()
    threads = [profile.samples(thread) for thread in profile.data["threads"]]
    largest_s = max(s.cpu_ns for samples in threads for s in samples) / 1e9
    for name, seconds in truth.items():
        inside = whole = 0.0
        for samples in threads:
            own = sum(s.cpu_ns for s in samples if any(f.name == name for f in s.frames)) / 1e9
            inside += own
            whole += sum(s.cpu_ns for s in samples) / 1e9 if own else 0
        room = max(whole - seconds, 0) + bursts * largest_s + unsampled_s
        check_close(f"seconds in {name}", inside, seconds, room)


def family(engine):
    """Seven processes and one more image: shares, clocks, command lines, and the exit status."""
    recording = record([FAMILY], engine=engine)
    report = recording.report()
    truth = truth_of(recording.result.stdout)
    check(recording.result.status == 3, f"status {recording.result.status}")
    check(len(truth) == 8, recording.result.stdout)
    check_seconds(recording, truth)
    processes = report.data["processes"]
    check(len(processes) >= 8, f"{len(processes)} processes: {processes}")
    roles = sorted(" ".join(p["command"][1:]) for p in processes if p["cpu_s"] > 0.05)
    check(roles == [""] * 6 + ["replaced", "spawned"], f"what they were called with: {roles}")
    # No process waits for a daemon, so its time is not in what wait4 says.
    waited = sum(p["cpu_s"] for p in processes) - truth["burn_daemon"]
    check_close(f"{engine}: seconds of all that was waited for", waited, recording.cpu_s,
                0.01 * recording.cpu_s)
    check_close(f"{engine}: seconds sampled", report.total_s + report.quality["cpu_unsampled_s"],
                sum(p["cpu_s"] for p in processes), 1e-3)
    check_nothing_lost(report.quality)


def namespace(engine):
    """In a pid namespace threads have numbers that are not the recorder's: totals are right still."""
    command = ["unshare", "--pid", "--fork", "--mount-proc"]
    if run([*command, "true"]).status != 0:
        skip("no pid namespace can be made here")
    recording = record([*command, FAMILY], engine=engine)
    report = recording.report()
    # On a busy machine a thread in there may end before the tick that would have sampled it.
    unsampled_s = report.quality["cpu_unsampled_s"]
    check_seconds(recording, truth_of(recording.result.stdout), unsampled_s)
    check_nothing_lost(report.quality)


def tracks(engine):
    """In the Firefox file no two images share a pid, and each has one main thread."""
    data = record([FAMILY], engine=engine).firefox().data
    mains = [t["pid"] for t in data["threads"] if t["isMainThread"]]
    check(len(mains) == len(set(mains)) >= 8, f"main threads of: {mains}")
    check({t["pid"] for t in data["threads"]} == set(mains), "a thread of no process")
    twice = [p for p in mains if "." in p]
    check(len(twice) == 1 and twice[0].split(".")[0] in mains, f"images of one process: {mains}")
    lines = [t["processName"] for t in data["threads"]]
    check(any(line.endswith("family replaced") for line in lines), f"command lines: {lines}")


def alone(engine):
    """children=no: the program alone, and the figures say so."""
    recording = record([FAMILY], engine=engine, options=["--children=no"])
    report = recording.report()
    truth = truth_of(recording.result.stdout)
    check(len(report.data["processes"]) == 1, report.data["processes"])
    check_seconds(recording, {"burn_program": truth["burn_program"]})
    check_close("seconds", report.total_s, report.data["processes"][0]["cpu_s"], 1e-4)
    notes = run([KYMO, "report", recording.path, "--top", "1"]).stderr
    check("children=no" in notes, notes)


def start(argv, engine, where):
    """Not quiet: what it says is looked at."""
    command = record_command(argv, where / "r.kymo", engine=engine)
    command.remove("-q")
    return Running(command)


def outlives(engine):
    """A daemon that goes on when the program has ended is recorded to its end."""
    where = folder()
    result = start([FAMILY, "outlive"], engine, where).finish()
    check(result.status == 3, f"status {result.status}: {result.stderr}")
    check("family has ended; 1 of its processes run on" in result.stderr, result.stderr)
    truth = truth_of(result.stdout)["burn_daemon"] + 0.02
    # It burns, waits for the program's end, and burns again.
    check_seconds(Recording(where / "r.kymo", result, tools_for(None)), {"burn_daemon": truth}, bursts=2)


def late(engine):
    """A forked child that has done nothing yet when the program ends is waited for."""
    where = folder()
    script = "(sleep 0.3; \"$0\" spawned) & exit 4"
    result = start(["sh", "-c", script, FAMILY], engine, where).finish()
    check(result.status == 4, f"status {result.status}: {result.stderr}")
    check("sh has ended; " in result.stderr, result.stderr)
    check_seconds(Recording(where / "r.kymo", result, tools_for(None)), truth_of(result.stdout))


def wait_for(path, text):
    wait_until(f"'{text}' in {path}", lambda: text in path.read_text())


def late_forked(engine):
    """So is one that has nothing but what fork gave it, while nothing else of the tree is there."""
    where = folder()
    gate = where / "gate"
    os.mkfifo(gate)
    opened = os.open(gate, os.O_RDWR)  # a reader there waits for a line
    script = "(read word; \"$0\" spawned) < \"$1\" & exit 4"
    running = start(["sh", "-c", script, FAMILY, gate], engine, where)
    try:
        wait_for(pathlib.Path(f"/proc/{os.getpid()}/fd/{running.files[2].fileno()}"),
                 "sh has ended; ")
    finally:
        os.write(opened, b"go\n")
    result = running.finish()
    os.close(opened)
    check(result.status == 4, f"status {result.status}: {result.stderr}")
    check_seconds(Recording(where / "r.kymo", result, tools_for(None)), truth_of(result.stdout))


def stopped(engine):
    """Ctrl-C stops the waiting for a daemon that does not end; the status is the program's."""
    where = folder()
    running = start([FAMILY, "linger"], engine, where)
    said = pathlib.Path(f"/proc/{os.getpid()}/fd/{running.files[2].fileno()}")
    wait_for(said, "run on")
    running.process.send_signal(signal.SIGINT)
    result = running.finish()
    daemon = int(result.stdout)
    alive = pathlib.Path(f"/proc/{daemon}").exists()
    os.kill(daemon, signal.SIGKILL)
    check(result.status == 3, f"status {result.status}: {result.stderr}")
    check(alive, "the daemon did not live on")
    check_seconds(Recording(where / "r.kymo", result, tools_for(None)), {"burn_daemon": 0.05})


def make_project(where):
    for i in range(4):
        body = "\n".join(
            f"int f{i}_{j}(int a, int b) {{ int s = 0; for (int k = 0; k < a; k++) {{ s += k * b; "
            f"if (s % {j + 3} == 1) s ^= a; }} return s; }}" for j in range(80))
        (where / f"f{i}.c").write_text(body + "\n")
    (where / "main.c").write_text("int main(void) { return 0; }\n")
    objects = " ".join(f"f{i}.o" for i in range(4)) + " main.o"
    (where / "Makefile").write_text(
        f"prog: {objects}\n\tgcc -o $@ {objects}\n%.o: %.c\n\tgcc -O2 -c $< -o $@\n")


def build(engine):
    """make -j2: the driver, cc1, as and ld are processes, and all together use what make waited
    for."""
    if not shutil.which("gcc") or not shutil.which("make"):
        skip("there is no make or gcc")
    where = folder()
    make_project(where)
    # ccache would compile once, for the first engine, and never again.
    compilers = os.pathsep.join(d for d in os.environ["PATH"].split(os.pathsep) if "ccache" not in d)
    recording = record(["make", "-s", "-j2"], engine=engine, cwd=where,
                       env={**os.environ, "PATH": compilers})
    check(recording.result.status == 0, recording.result.stderr)
    check((where / "prog").exists(), "nothing was built")
    report = recording.report()
    count = {}
    for process in report.data["processes"]:
        count[process["name"]] = count.get(process["name"], 0) + 1
    say(f"{engine}: {count}")
    for name, least in (("make", 1), ("gcc", 6), ("cc1", 5), ("as", 5), ("ld", 1)):
        check(count.get(name, 0) >= least, f"{count.get(name, 0)} of {name}")
    check_close("seconds of all processes", sum(p["cpu_s"] for p in report.data["processes"]),
                recording.cpu_s, 0.02 * recording.cpu_s)
    check_complete(report, 0.99)


def processes_in(path):
    """Of a recording that is being written."""
    read = run([KYMO, "report", path, "--json", "--top", "1"])
    return json.loads(read.stdout)["processes"] if read.status == 0 else []


def killed(engine):
    """SIGKILL to kymo in the middle of a tree: the tree goes on, and the recording can be read."""
    where = folder()
    running = start([FAMILY], engine, where)
    wait_until("a child in the recording", lambda: any(
        len(processes_in(f)) > 1 for f in where.iterdir() if ".kymo" in f.name))
    running.process.send_signal(signal.SIGKILL)
    result = running.finish()
    check(result.status == 137, f"status {result.status}")
    spools = [f for f in where.iterdir() if ".kymo" in f.name]
    report = Recording(spools[0], result, tools_for(None)).report()
    say(f"{len(report.data['processes'])} processes, {report.total_s:.3f} s before the end")
    check(len(report.data["processes"]) > 1, "no child is in what can be read")


def gone_before_looked_at(engine):
    """Children that are reaped before the recorder asks what they had mapped are named all the same."""
    # A quick machine takes more turns until each child has its samples.
    for turns in (20000, 100000, 500000):
        script = "f() { for ((i = 0; i < %d; i++)); do :; done; }; (f); (f); (f)& x=$(f); wait" % turns
        report = record(["bash", "-c", script], engine=engine).report()
        if len(report.data["processes"]) >= 3:
            break
    # A module whose path is not known has no name to stand before the offset.
    nameless = [f["name"] for f in report.data["functions"] if f["name"].startswith("+0x")]
    check(len(report.data["processes"]) >= 3, report.data["processes"])
    check(not nameless, f"functions of no file: {nameless}")


MANY = """
import os, subprocess, sys
begun, begins = os.pipe()
goes_on, go = os.pipe()
work = 'echo; read x; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'
children = [subprocess.Popen(['/bin/sh', '-c', work], stdin=goes_on, stdout=begins) for _ in range(int(sys.argv[1]))]
left = len(children)
while left:
    left -= len(os.read(begun, left))
os.close(goes_on)
os.close(go)
print(all(child.wait() == 0 for child in children))
"""


def many(engine):
    """More processes at once than the recorder has descriptors for: all are in the recording."""
    count = 100
    under = ["/bin/sh", "-c", 'ulimit -n 64; exec "$@"', "sh"]
    recording = record(["/usr/bin/python3", "-c", MANY, str(count)], engine=engine, under=under)
    check((recording.result.status, recording.result.stdout) == (0, "True\n"), recording.result.stderr)
    report = recording.report()
    told = run([KYMO, "report", recording.path, "--top", "1"]).stderr
    check(len(report.data["processes"]) == count + 1, f"{len(report.data['processes'])} processes; {told}")
    check("not recorded" not in told, told)
    # With a hundred processes to serve on a busy machine the recorder may be late with its heartbeat.
    check(set(report.lost()) <= {"samples: recorder silent"}, report.lost())
    children = [p for p in report.data["processes"] if p["command"][0] != "/usr/bin/python3"]
    say(f"{engine}: {report.total_s:.3f} s sampled of {recording.cpu_s:.3f} s")
    check(all(p["cpu_s"] > 0 for p in children), "a child's CPU time is not known")


ENGINES = engines()
for function in (family, namespace, many, outlives, build, gone_before_looked_at):
    for engine_name in ENGINES:
        add_case(f"{function.__name__}.{engine_name}", function, engine_name)
# What the recorder does by itself, however the processes are sampled.
for function in (tracks, alone, late, late_forked, stopped, killed):
    add_case(function.__name__, function, ENGINES[0])

main()
