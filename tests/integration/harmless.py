# SPDX-License-Identifier: Apache-2.0
"""Programs that break easily say and do under Kymo what they say and do alone."""
import os
import pathlib
import re
import time

from kymotest import (BUILD, KYMO, WORKLOADS, Recording, add_case, case, check, check_close, folder, main,
                      record, record_command, run, say, skip, tools_for, ways)

HAZARDS = ["smallstack", "coroutine", "longjmp", "sigaltstack", "privdrop", "unshare",
           "rlimit-fsize", "fork", "lowmem", "mallocthread"]
ENGINES = ways()


def same(command, *, least_cpu_s=0.0, **how):
    """Runs it alone and with each engine; returns the reports."""
    plain = run(command, **how)
    reports = []
    for engine in ENGINES:
        recording = record(command, engine=engine, **how)
        result = recording.result
        check(result.status == plain.status,
              f"{engine}: status {result.status}, alone {plain.status}: {result.stderr}")
        check(result.stdout == plain.stdout, f"{engine}: prints {result.stdout!r}, "
              f"alone {plain.stdout!r}")
        check(result.stderr == plain.stderr, f"{engine}: says {result.stderr!r}, "
              f"alone {plain.stderr!r}")
        report = recording.report()
        say(f"{engine}: as alone (status {plain.status}); {report.total_s:.3f} s of "
            f"{recording.cpu_s:.3f} s, complete {report.quality['stacks_complete']}, "
            f"lost {report.lost()}")
        check(report.total_s >= least_cpu_s, f"{engine}: only {report.total_s:.3f} s were recorded")
        reports.append(report)
    return reports


def hazard(name, arguments):
    same([WORKLOADS / "hazards", name, *arguments], least_cpu_s=0.01)


for mode in HAZARDS:
    add_case(mode, hazard, mode, [])


@case
def ownsignal():
    """A program that uses our signal, too, keeps its handler and gets all its signals: samples arrive
    by another one from then on."""
    command = [WORKLOADS / "hazards", "ownsignal"]
    pattern = r"SIGURG (\d+), SIGPROF 100, from elsewhere 0; the handler is ours\n"
    for engine in [None, *ENGINES]:
        result = run(command) if engine is None else record(command, engine=engine).result
        at = re.fullmatch(pattern, result.stdout)
        check(at is not None and result.status == 0, f"{engine}: {result.stdout} {result.stderr}")
        say(f"{engine}: {at[1]} of 100 arrived")
        check(int(at[1]) == 100, f"{engine}: {at[1]} of 100 arrived")


@case
def maskall():
    """A thread that blocks every signal is sampled like any other."""
    for report in same([WORKLOADS / "hazards", "maskall"]):
        check_sampled(report)


def check_sampled(report):
    """Nearly all CPU time is in samples of threads, and in no thread that has none."""
    unsampled = report.quality["cpu_unsampled_s"]
    say(f"{report.total_s:.3f} s sampled, {unsampled:.3f} s said not to be")
    check(report.total_s >= 0.98 * (report.total_s + unsampled), "threads were not sampled")


def inherited(blocked):
    """Who starts kymo has signals blocked: the program begins with that mask, and is sampled."""
    script = ("import os, signal, sys\n"
              f"signal.pthread_sigmask(signal.SIG_BLOCK, {blocked})\n"
              "os.execvp(sys.argv[1], sys.argv[1:])")
    start = ["/usr/bin/python3.11", "-c", script]
    # What the program reads back is what it was started with.
    looker = ["/usr/bin/python3.11", "-c", "import signal\nx = 0\n"
              "for i in range(3000000): x += i\n"
              "print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"]
    plain = run([*start, *looker])
    for engine in ENGINES:
        path = folder() / "recording.kymo"
        result = run([*start, *record_command(looker, path, engine=engine)])
        check(result.status == 0 and result.stdout == plain.stdout,
              f"{engine}: status {result.status}, prints {result.stdout!r}, alone {plain.stdout!r}: "
              + result.stderr)
        check_sampled(Recording(path, result, tools_for(None)).report())


add_case("inherited.all", inherited, "signal.valid_signals()")
add_case("inherited.urgent", inherited, "[signal.SIGURG]")


@case
def rawaction():
    """A program that takes our handler away by a system call of its own: nothing is sent to it any
    more, and the report says so."""
    command = [WORKLOADS / "hazards", "rawaction"]
    plain = run(command)
    for engine in ENGINES:
        recording = record(command, engine=engine)
        result = recording.result
        check(result.status == plain.status and result.stdout == plain.stdout,
              f"{engine}: status {result.status}, prints {result.stdout!r}: {result.stderr}")
        said = run([recording.kymo, "report", recording.path])
        notes = said.stdout + said.stderr
        check("back to its default" in notes, f"{engine}: it is not said: {notes!r}")
        report = recording.report()
        unsampled = report.quality["cpu_unsampled_s"]
        say(f"{engine}: {report.total_s:.3f} s of {recording.cpu_s:.3f} s, {unsampled:.3f} said not to be")
        check(unsampled >= 0.5, "what came after is not said to be unsampled")
        check_close("sum", report.total_s + unsampled, recording.cpu_s, 0.02 * recording.cpu_s)


def recordings_as_alone(command):
    """By each engine, under none of which the program prints anything else, or ends otherwise."""
    plain = run(command)
    check(plain.status == 0, f"alone: status {plain.status}: {plain.stderr}")
    for engine in ENGINES:
        recording = record(command, engine=engine)
        result = recording.result
        check(result.status == 0 and result.stdout == plain.stdout,
              f"{engine}: status {result.status}, prints {result.stdout!r}: {result.stderr}")
        yield engine, recording


def seccomp(how):
    """Behind a filter that kills for any other system call there are samples, and their weights add
    up to the CPU time."""
    command = [WORKLOADS / "hazards", "seccomp", how]
    for engine, recording in recordings_as_alone(command):
        report = recording.report()
        behind = report.inclusive_s("burn_behind_filter")
        more = report.inclusive_s("burn_more_behind_filter")
        say(f"{engine}: {report.total_s:.3f} s of {recording.cpu_s:.3f} s; behind the filter "
            f"{behind:.3f} and {more:.3f}, before {report.inclusive_s('burn_before_filter'):.3f}; "
            f"sampled {report.quality['sampled_rate']:.3f}")
        # One that ends behind a filter cannot say how far it was: the recorder looks each round.
        room = 0.01 * recording.cpu_s + (0.02 if how == "threads" else 0)
        sampled = report.total_s
        if engine == "timer" and how == "threads":
            # A thread that begins there cannot make itself a timer, and is said not to be sampled.
            sampled += report.quality["cpu_unsampled_s"]
        check(abs(sampled - recording.cpu_s) <= room, "weights do not add up")
        check_close("share of the first function", behind / (behind + more), 0.75, 0.05)
        check(behind + more >= (0.5 if sampled > report.total_s else 0.7) * recording.cpu_s, "what is behind the filter has too little")
        # Before the filter, nothing may have changed.
        check(report.inclusive_s("burn_before_filter") >= 0.06, "what is before it has too little")


for way in ("prctl", "syscall", "threads", "strict"):
    add_case(f"seccomp.{way}", seccomp, way)


@case
def seccomp_raw():
    """The recorder notices a filter that no hook saw, and says so: the next one, which kills, finds
    handlers without system calls."""
    command = [WORKLOADS / "hazards", "seccomp", "raw"]
    for engine, recording in recordings_as_alone(command):
        report = recording.report()
        behind = report.inclusive_s("burn_behind_filter")
        more = report.inclusive_s("burn_more_behind_filter")
        say(f"{engine}: {report.total_s:.3f} s of {recording.cpu_s:.3f} s")
        check(abs(report.total_s - recording.cpu_s) <= 0.01 * recording.cpu_s,
              "weights do not add up")
        check_close("share of the first function", behind / (behind + more), 0.75, 0.05)
        said = run([recording.kymo, "report", recording.path, "--top", "1"])
        check((said.stdout + said.stderr).count("a seccomp filter by a system call of its own") == 1,
              f"{engine}: this is not said: {said.stderr}")


@case
def seccomp_children():
    """What starts behind a filter runs without us, which is said."""
    command = [WORKLOADS / "hazards", "seccomp", "children"]
    for report in same(command):
        check(len(report.data["processes"]) == 1, f"{report.data['processes']}")
    said = run([KYMO, "report", record(command).path, "--top", "1"]).stderr
    for name in ("hazards", "/bin/echo"):
        check(f" {name}, which is not recorded: it begins behind a seccomp filter" in said, said)


@case
def xz():
    """xz -T2 blocks all signals in its workers, which do all the work."""
    source = folder() / "source"
    with source.open("wb") as f:
        for i in range(90000):
            f.write(f"{i * i} {i * 7919 % 104729:x} {i ** 3}\n".encode())
    command = ["xz", "-T2", "-6", "--block-size=1MiB", "-k", "-c", str(source)]
    for engine in ENGINES:
        recording = record(command, engine=engine)
        check(recording.result.status == 0, recording.result.stderr)
        report = recording.report()
        say(f"{engine}: {recording.cpu_s:.3f} s of CPU time")
        check(report.total_s >= 0.98 * recording.cpu_s, f"only {report.total_s:.3f} s were recorded")
        check_sampled(report)


@case
def daemon():
    """It closes 3..N and forks; its child, which is not recorded, writes a file."""
    texts = []
    where = folder()
    for engine in [None, *ENGINES]:
        path = where / f"result-{engine}"
        command = [WORKLOADS / "hazards", "daemon", path]
        result = run(command) if engine is None else record(command, engine=engine).result
        check(result.status == 0, f"{engine}: status {result.status}: {result.stderr}")
        # The child goes on after all that we can wait for.
        for _ in range(2000):
            if path.exists() and path.read_text().endswith("\n"):
                break
            time.sleep(0.01)
        texts.append(path.read_text())
    check(len(set(texts)) == 1, f"the daemon says {texts}")
    say(texts[0].strip())


@case
def single():
    """One thread stays one for glibc, which has quicker ways for it."""
    command = [BUILD / "tests" / "integration" / "single_thread"]
    for report in same(command, least_cpu_s=0.1):
        check(len(report.threads) == 1, f"{len(report.threads)} threads in the report")


@case
def exceptions():
    if not (WORKLOADS / "exceptions").exists():
        skip("exceptions was not built: there is no C++ compiler")
    same([WORKLOADS / "exceptions", "20000"], least_cpu_s=0.1)


@case
def unshare_user():
    """A program of one thread may make a user namespace: unshare(1) does, and runs another."""
    alone = run(["unshare", "-U", "/bin/echo", "in there"])
    if alone.status != 0:
        skip(f"user namespaces are not permitted here: {alone.stderr.strip()}")
    same(["unshare", "-U", "/bin/echo", "in there"])


@case
def file_size_limit():
    """ulimit -f 1 in the shell that starts the program: kymo's own files are limited as well, but
    no program dies of it."""
    where = folder()
    command = ["sh", "-c", "ulimit -f 1; exec \"$0\" 1 >out", str(WORKLOADS / "split")]
    for engine in ENGINES:
        recording = record(command, engine=engine, cwd=where)
        check(recording.result.status == 0, f"status {recording.result.status}: "
              + recording.result.stderr)
        check("split-right" in (where / "out").read_text(), "the program did not end")


@case
def empty_environment():
    """env -i: the program sees none of our variables, and its children neither."""
    same(["env", "-i", "/usr/bin/env"])
    program = ["/usr/bin/python3.11", "-c",
               "import os, subprocess; print(sorted(os.environ)); "
               "print(subprocess.run(['/usr/bin/env'], capture_output=True).stdout)"]
    same(program, env={})
    same(program, env={"LD_PRELOAD": "", "A": "B"})
    same(["/usr/bin/python3.11", "-c", "import os; print(os.listdir('/proc/self/fd'))"])


@case
def ignored_by_children():
    """A signal that the program ignores is ignored in what it starts, also if it is ours."""
    # A shell does not trap what was ignored when it began.
    trap = "trap 'echo trapped' URG; kill -URG $$; echo $1"
    same(["/usr/bin/python3.11", "-c", "import os, signal, sys\n"
          "signal.signal(signal.SIGURG, signal.SIG_IGN)\nlook = ['bash', '-c', sys.argv[1], 'bash']\n"
          "os.waitpid(os.posix_spawn('/bin/bash', look + ['spawn'], os.environ), 0)\n"
          "os.system('exec bash -c \"$LOOK\" bash system')\n"
          "os.fork() or os.execv('/bin/bash', look + ['fork'])\nos.wait()\n"
          "try: os.execv('/nowhere', look)\nexcept OSError as e: print(e.errno, flush=True)\n"
          "os.execv('/bin/bash', look + ['exec'])", trap], env=dict(os.environ, LOOK=trap))


@case
def environment_of_others():
    """What another thread does to the environment while popen runs stays; and where ours does not
    fit into an exec, the program starts without it."""
    program = BUILD / "tests" / "integration" / "popen_environ"
    for what in ("changes", "full"):
        result = run([program, what])
        check(result.status == 0, f"{what}, alone: {result.stdout}")
        same([program, what])


def memory_group():
    """A new cgroup of 64 MiB; None where such cannot be made."""
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                        ("/sys/fs/cgroup", "memory.max")):
        group = pathlib.Path(root) / f"kymo-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(64 << 20))
            return group
        except OSError:
            group.rmdir()
    return None


@case
def small_cgroup():
    """Kymo and the program together in 64 MiB."""
    group = memory_group()
    if group is None:
        skip("no cgroup with a memory limit can be made here")
    try:
        enter = ["sh", "-c", f"echo $$ > {group}/cgroup.procs && exec \"$@\"", "sh"]
        program = [WORKLOADS / "split", "1"]
        for engine in ENGINES:
            path = folder() / "recording.kymo"
            result = run(enter + [str(a) for a in record_command(program, path, engine=engine)])
            check(result.status == 0, f"status {result.status}: {result.stderr}")
            check("split-right" in result.stdout, "the program did not end")
            failures = [(group / f).read_text().strip() for f in ("memory.failcnt", "memory.events")
                        if (group / f).exists()]
            say(f"{engine}: ended well; the limit was hit: {failures}")
    finally:
        group.rmdir()


main()
