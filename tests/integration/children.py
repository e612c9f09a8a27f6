# SPDX-License-Identifier: Apache-2.0
"""What a process starts, and what becomes of it, while the tree is recorded: nothing is disturbed,
everything that can be recorded is, and what cannot be is said."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from as_alone import check_accounted, check_sampled
from kymotest import (BUILD, KYMO, NOBODY, WALL, add_case, case, check, check_close, engines, folder, main,
                      record, record_command, run, say, skip, tried_again)

HERE = BUILD / "tests" / "integration"
PYTHON = "/usr/bin/python3"  # others in PATH may be scripts that start more processes
JEMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")


def processes(recording):
    return recording.report().data["processes"]


def notes(recording):
    return run([KYMO, "report", recording.path, "--top", "1"]).stderr


@tried_again
def exec_chains(engine, options=()):
    """Samples at 10 kHz fall everywhere into each image's beginning and end: none is killed."""
    recording = record([HERE / "exec_chain", "8", "100"], engine=engine, period="100us",
                       options=options)
    check(recording.result.status == 0, f"status {recording.result.status}")
    check(recording.result.stdout == "8 of 8 chains came to their end\n", recording.result.stdout)
    check(recording.result.stderr == "", recording.result.stderr)
    count = len(processes(recording))
    say(f"{engine}: {count} images, of 8 times 101 and one")
    check(count >= 809, f"{count} images are recorded: {notes(recording)}")


for name in engines():
    add_case(f"exec_chains.{name}", exec_chains, name)
add_case("exec_chains.real_time", exec_chains, "timer", ["--signal=RTMAX-3"])
# Which engine it may be is Kymo's to find out: one that sends such a signal from outside would end
# the image that has no handler for it yet.
add_case("exec_chains.real_time_auto", exec_chains, "auto", ["--signal=RTMAX-3"])


def exec_by_a_thread(engine):
    """The thread that calls exec is the next image's main one, and its clock goes on: no thread has time
    of another, whichever of the two used more."""
    for main_ms, thread_ms in ((100, 400), (400, 100)):
        recording = record([HERE / "exec_thread", str(main_ms), str(thread_ms), "50"], engine=engine)
        check(recording.result.status == 0, f"status {recording.result.status}")
        report = recording.report()
        first, then = report.data["processes"]
        used = sorted(t["cpu_s"] for t in report.threads)
        say(f"{engine}: {first['cpu_s']:.3f} and {then['cpu_s']:.3f} s of {recording.cpu_s:.3f} s; threads {used}")
        slack = 0.01 + 0.02 * recording.cpu_s
        check_close("the image before", first["cpu_s"], (main_ms + thread_ms) / 1e3, slack)
        check_close("the image behind", then["cpu_s"], 0.05, slack)
        for found, ms in zip(used, (50, 100, 400)):
            check_close("a thread", found, ms / 1e3, slack)
        check_close("sampled", report.total_s + report.quality["cpu_unsampled_s"], recording.cpu_s,
                    0.01 * recording.cpu_s)


for name in engines():
    add_case(f"exec_by_a_thread.{name}", exec_by_a_thread, name)


@case
def execs_while_looked_at():
    """A process runs another program at the moment at which Kymo reads what it runs: code of the
    first one is not taken for the second's."""
    shell = os.path.realpath("/bin/bash")
    now = folder() / "now"
    work = 'for i in {1..200000}; do :; done; while [ ! -e "$EXEC_NOW" ]; do :; done'
    recording = record([shell, "-c", f"{work}; exec /usr/bin/env true"],
                       env={**os.environ, "EXEC_NOW": str(now), "EXEC_FROM": shell,
                            "LD_PRELOAD": str(HERE / "libexec_in_stat.so")})
    check(now.exists(), "Kymo did not look")
    check("replaced" not in recording.result.stderr, recording.result.stderr)
    files = {m["name"] for m in recording.report("--by", "module").data["functions"] if m["self"]}
    check("bash" in {pathlib.Path(f).name for f in files}, f"samples are in {files}")


def forks(engine, preload):
    """Threads are inside malloc while another one forks; children attach in a handler."""
    env = dict(os.environ)
    if preload:
        if not preload.exists():
            skip(f"{preload} is not there")
        env["LD_PRELOAD"] = str(preload)
    recording = record([HERE / "fork_threads"], engine=engine, env=env)
    check(recording.result.status == 0, f"status {recording.result.status}")
    check(recording.result.stdout == "20 of 20 children did their work\n", recording.result.stdout)
    check(recording.result.stderr == "", recording.result.stderr)
    # 4 of each of five kinds, one of which makes two of itself and one of which uses no CPU time
    # worth a session. The kernel looks at a CPU timer at its own tick only: where many want the CPU,
    # one or another child of 20 ms is never on it then.
    count = len(processes(recording)) - 1
    say(f"{engine}: {count} of 20 children that work are recorded")
    check(10 <= count <= 24, f"{count} children")


for name in engines():
    add_case(f"forks.{name}", forks, name, None)
add_case("forks.jemalloc", forks, "auto", JEMALLOC)


@case
def headers_stay_in_place():
    """A child attaches in a handler; what that interrupted may use the ancestor's header."""
    result = record([HERE / "fork_header"]).result
    check(result.status == 0 and result.stdout == "", f"status {result.status}: {result.stdout}")


@case
def nothing_is_printed():
    """What children are given is for the library alone."""
    for argv in (["env", "-i", "env"], ["sh", "-c", "env -i /usr/bin/env"],
                 ["env", "-i", "sh", "-c", "exec env -u PWD -u SHLVL -u _ -u OLDPWD"]):
        recording = record(argv)
        check(recording.result.stdout == "", recording.result.stdout)
        check(recording.result.stderr == "", recording.result.stderr)


def an_exec_that_fails(*options):
    """Nothing has changed: the program goes on, and is sampled."""
    count = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"
    recording = record(["bash", "-c", f"shopt -s execfail; exec kymo-no-such-program 2>&-; {count}"],
                       options=options)
    check(recording.result.status == 0, f"status {recording.result.status}")
    report = recording.report()
    check_accounted(report, recording)
    check_sampled(report)


add_case("an_exec_that_fails", an_exec_that_fails)
add_case("an_exec_that_fails.real_time", an_exec_that_fails, "--engine=timer", "--signal=RTMAX-3")


VFORKS = """
import subprocess, sys
for i in range(30):
    done = subprocess.run(["sh", "-c", "echo $((%d * 2)); exit %d" % (i, i)], stdout=subprocess.PIPE,
                          restore_signals=True, close_fds=bool(i % 2))
    assert (done.stdout, done.returncode) == (b"%d\\n" % (2 * i), i), done
try:
    subprocess.run(["kymo-no-such-program"])
    sys.exit("it was found")
except FileNotFoundError:
    pass
n = 0
for i in range(1500000):
    n += i
"""


@case
def vfork_children():
    """CPython's subprocess: vfork, sigaction, execve. The parent keeps its samples."""
    recording = record([PYTHON, "-c", VFORKS])
    check(recording.result.status == 0, recording.result.stderr)
    found = processes(recording)
    own = [p for p in found if p["name"].startswith("python")]
    say(f"{len(found)} processes; python has {own[0]['cpu_s']:.3f} s")
    check(len(own) == 1 and len(found) == 31, f"{[p['name'] for p in found]}")
    main_thread = [t for t in recording.report().threads if t["pid"] == own[0]["pid"]][0]
    check(main_thread["achieved"] > 0.98, f"achieved {main_thread['achieved']}")


@case
def refused():
    """What cannot be recorded runs as it is, and is listed."""
    for command, user, why in (("/sbin/ldconfig --version", None, "statically linked"),
                               ("unshare -r -n /bin/echo there", None, "cannot be reached"),
                               ("mount --version", NOBODY, "gains privileges")):
        user = user if os.geteuid() == 0 else None
        plain = run(["sh", "-c", command + "; true"], user=user)
        if "unshare failed: Operation not permitted" in plain.stderr:
            say(f"{command}: not permitted here")  # as in a chroot
            continue
        check(plain.status == 0 and plain.stdout, f"{command}: {plain.stderr}")
        for engine in ("auto", "timer"):  # what the kernel samples is not listed
            recording = record(["sh", "-c", command + "; true"], user=user, engine=engine)
            check(recording.result.stdout == plain.stdout, recording.result.stdout)
            check(recording.result.stderr == "", recording.result.stderr)
        told = notes(recording)
        say([line for line in told.splitlines() if "not recorded" in line][0])
        check(why in told, told)


@case
def no_room():
    """A child whose limits are too small for a session works on without us, and is listed; none has
    so little left by a session that it cannot work."""
    work = "i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done; echo $i; exit 3"

    def command(limit):
        return ["sh", "-c", f"ulimit {limit}; sh -c '{work}'; exit $?"]

    # Down to twice what sh itself needs.
    sizes = [60000]
    while run(command(f"-v {sizes[-1] * 9 // 20}")).status == 3:
        sizes.append(sizes[-1] * 9 // 10)
    check(sizes[-1] < 30000, f"sh does not run with less than {sizes[-1] // 2} KiB")
    for limit in [f"-v {size}" for size in sizes] + ["-n 4"]:
        recording = record(command(limit))
        result = recording.result
        check((result.status, result.stdout, result.stderr) == (3, "50000\n", ""),
              f"ulimit {limit}: status {result.status}, {result.stdout!r} {result.stderr!r}")
        told = notes(recording)
        say(f"ulimit {limit}: {told.splitlines()[0] if told else None}")
        if limit == "-n 4" or int(limit[3:]) < 30000:
            check("sh, which is not recorded: its limits leave no room" in told,
                  f"ulimit {limit}: {told}")


CHANGED_ROOT = """
import os, sys
os.chroot(sys.argv[1])
os.chdir("/")
for argv in (["/sh", "-c", "echo in there; exit 5"], ["/ldconfig", "--version"]):
    if os.fork() == 0:
        os.execv(argv[0], argv)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


@case
def changed_root():
    """In another root our library is not to be found: a shell runs there as alone, and is listed, with
    the loader that we know and with a copy of it."""
    loaded = [pathlib.Path(f) for f in re.findall(r"(/\S+) \(0x", run(["ldd", "/bin/sh"]).stdout)]
    check(loaded, "ldd does not say what /bin/sh needs")
    places = [shutil.copy2]
    if loaded[0].stat().st_dev == folder().stat().st_dev and os.geteuid() == 0:
        places.append(os.link)
    for place in places:
        root = folder()
        for file in loaded:
            copy = root / str(file)[1:]
            copy.parent.mkdir(parents=True, exist_ok=True)
            place(file.resolve(), copy)
        shutil.copy2("/bin/sh", root / "sh")
        shutil.copy2("/sbin/ldconfig", root / "ldconfig")
        command = [PYTHON, "-c", CHANGED_ROOT, root]
        plain = run(command)
        if "PermissionError" in plain.stderr:
            skip("chroot is not permitted here")
        check("in there\n5\n" in plain.stdout and plain.stdout.endswith("\n0\n"), plain.stderr)
        for engine in ("auto", "timer"):  # what the kernel samples is not listed
            recording = record(command, engine=engine)
            check(recording.result.status == 0, recording.result.stderr)
            check(recording.result.stdout == plain.stdout, recording.result.stdout)
            check(recording.result.stderr == "", recording.result.stderr)
        told = [line for line in notes(recording).splitlines() if "not recorded" in line]
        say(f"{told}")
        why = "libkymo-preload.so cannot be reached" if place is os.link else "its loader is not"
        check(len(told) == 2 and "/sh" in told[0] and why in told[0], f"{told}")
        check("/ldconfig" in told[1] and "statically linked" in told[1], f"{told}")


WAITERS = """
import os, time
pids = []
for i in range(5):
    pid = os.fork()
    if pid == 0:
        time.sleep(0.5)
        os._exit(0)
    pids.append(pid)
for pid in pids:
    assert os.waitpid(pid, 0)[1] == 0
"""


@case
def children_that_wait():
    """A child that only sleeps is of no interest, unless waiting threads are recorded."""
    for engine, least, most in (("auto", 1, 1), (WALL, 6, 6)):
        count = len(processes(record([PYTHON, "-c", WAITERS], engine=engine)))
        say(f"{engine}: {count} processes")
        check(least <= count <= most, f"{count} processes")


SIGNALS = """
import os, signal, sys, time

def work():
    end = time.thread_time() + 0.15
    while time.thread_time() < end:
        pass

def everything_by_default():
    for s in range(1, 65):
        try:
            signal.signal(s, signal.SIG_DFL)
        except (OSError, ValueError):
            pass  # not to be changed
    work()
    return all(signal.getsignal(s) in (signal.SIG_DFL, None) for s in (10, 23, 28))

def own_handlers():
    seen = []
    for s in (signal.SIGURG, signal.SIGWINCH):
        signal.signal(s, lambda signo, frame: seen.append(signo))
    work()
    os.kill(os.getpid(), signal.SIGURG)
    os.kill(os.getpid(), signal.SIGWINCH)
    work()
    return sorted(seen) == [signal.SIGURG, signal.SIGWINCH]

for child in (everything_by_default, own_handlers):
    pid = os.fork()
    if pid == 0:
        os._exit(not child())
    assert os.waitpid(pid, 0)[1] == 0, child
"""


def children_with_signals(engine):
    """What a forked child does to our signal before it has attached: it is recorded all the same,
    and has its own signals and no others."""
    recording = record([PYTHON, "-c", SIGNALS], engine=engine)
    check(recording.result.status == 0, recording.result.stderr)
    times = sorted(p["cpu_s"] for p in processes(recording))
    say(f"{engine}: {times} s")
    check(len(times) == 3 and times[1] > 0.14 and times[2] > 0.29, f"{times}")


for name in engines():
    add_case(f"children_with_signals.{name}", children_with_signals, name)


FAR_AWAY = """
import ctypes, os, sys, time
pid = os.fork()
if pid == 0:
    if ctypes.CDLL(None).unshare(0x50000000):  # CLONE_NEWUSER | CLONE_NEWNET
        os._exit(1)
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass
    os._exit(0)
sys.exit(os.wait()[1] != 0)
"""


@case
def names_of_the_brief():
    """What ends at once has said itself what it is; the rest is read in /proc. Both say the same."""
    where = folder()
    script = where / "script"
    script.write_text("#!/bin/sh\n:\n")
    script.chmod(0o755)
    second = where / "second"
    second.write_text(f"#!{script} x\n")
    second.chmod(0o755)
    (where / "link").symlink_to("/bin/true")
    long = "x" * 2000
    commands = [
        ("/bin/true", "a", "b c"), ("env",), ("./link", "1"), (where / "link",), (script, "y"), ("./script",),
        (second, "z"), ("/bin/echo", "/bin/echo"), ("/bin/true", long), ("/bin/true", "x", "/bin/true"),
    ]
    (where / "run").write_text("".join(
        f"{' '.join(repr(str(word)) for word in command)} >/dev/null\n" for command in commands) + ":\n")
    recording = record(["/bin/sh", where / "run"], cwd=where)
    true, echo, sh, env = (os.path.realpath(shutil.which(name)) for name in ("true", "echo", "sh", "env"))
    expected = [
        (true, ["/bin/true", "a", "b c"]), (env, ["env"]), (true, ["./link", "1"]), (true, [str(where / "link")]),
        (sh, ["/bin/sh", str(script), "y"]), (sh, ["/bin/sh", "./script"]),
        (sh, ["/bin/sh", str(script), "x", str(second), "z"]), (echo, ["/bin/echo", "/bin/echo"]),
        (true, ["/bin/true", long]), (true, ["/bin/true", "x", "/bin/true"]),
    ]
    dump = run([BUILD / "tests/recording_dump", recording.path]).stdout
    lines = [line for line in dump.splitlines() if line.startswith("process ")][1:]
    got = [(re.search(r' exe="([^"]*)"', line)[1], re.findall(r' arg="([^"]*)"', line)) for line in lines]
    wrong = [pair for pair in zip(got, expected) if pair[0] != pair[1]]
    check(got == expected, f"{len(got)} of {len(expected)}; got, and expected: {wrong}"[:2000])


@case
def a_long_path():
    """The library's path is longer than a process keeps it: what it starts is recorded all the same."""
    deep = folder()
    for _ in range(6):
        deep = deep / ("x" * 200)
    deep.mkdir(parents=True)
    shutil.copy(BUILD / "src/start/libkymo-preload.so", deep)
    recording = record(["/bin/sh", "-c", "/bin/true; /bin/true; :"],
                       env={**os.environ, "KYMO_PRELOAD": str(deep / "libkymo-preload.so")})
    check(recording.result.stderr == "", recording.result.stderr)
    names = [p["name"] for p in processes(recording)]
    check(names == ["sh", "true", "true"], names)


@case
def out_of_reach():
    """A forked child that left the network of the recorder's socket works on, and is listed, where the kernel may
    not sample it."""
    if run([PYTHON, "-c", FAR_AWAY]).status != 0:
        skip("unshare is not permitted here")
    check(record([PYTHON, "-c", FAR_AWAY]).result.status == 0, "its status is another one")
    recording = record([PYTHON, "-c", FAR_AWAY], engine="timer")
    check(recording.result.status == 0, f"status {recording.result.status}")
    check(recording.result.stderr == "", recording.result.stderr)
    told = notes(recording)
    check("the recorder cannot be reached" in told, told)
    check(len(processes(recording)) == 1, f"{processes(recording)}")


@case
def the_end_of_a_grandchild():
    """What it used after its last sample is known, though its parent has waited for it."""
    recording = record(["sh", "-c", '"$0" 1 0; true', HERE / "exec_chain"], period="1s")
    found = [p for p in processes(recording) if p["name"] == "exec_chain"]
    say(f"{[p['cpu_s'] for p in found]} s, without a sample")
    check(len(found) == 2, f"{[p['name'] for p in found]}")
    # One starts the other and waits; that one burns a millisecond.
    times = sorted(p["cpu_s"] for p in found)
    check(times[0] > 0 and times[1] > 0.001, f"{times}")


@case
def the_recorder_dies():
    """The program goes on, and its children do not wait for what is gone."""
    path = folder() / "recording.kymo"
    program = "import os, sys, time\nprint(os.getpid(), flush=True)\nsys.stdin.read()\n" \
        "for i in range(20):\n" \
        "    if os.fork() == 0:\n" \
        "        end = time.thread_time() + 0.02\n" \
        "        while time.thread_time() < end: pass\n" \
        "        os._exit(0)\n" \
        "    assert os.wait()[1] == 0\n" \
        "    assert os.system('exit 3') == 768\n" \
        "print('done')"
    kymo = subprocess.Popen([str(a) for a in record_command([PYTHON, "-c", program], path)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    kymo.stdout.readline()
    kymo.send_signal(signal.SIGKILL)
    kymo.wait()
    started = time.monotonic()
    kymo.stdin.close()
    rest = kymo.stdout.read()
    took = time.monotonic() - started
    say(f"40 children took {took:.1f} s")
    check(rest == "done\n", rest)
    # Each would wait for 10 s.
    check(took < 200, f"{took:.1f} s: each waited")


@case
def the_recorder_is_stopped():
    """One child waits for it as long as a child does, and the others do not wait at all."""
    path = folder() / "recording.kymo"
    program = "import os, sys\nprint(os.getpid(), flush=True)\nsys.stdin.read()\n" \
        "for i in range(20): assert os.system('exit 3') == 768\nprint('done')"
    kymo = subprocess.Popen([str(a) for a in record_command([PYTHON, "-c", program], path)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    kymo.stdout.readline()
    kymo.send_signal(signal.SIGSTOP)
    started = time.monotonic()
    kymo.stdin.close()
    rest = kymo.stdout.readline()
    took = time.monotonic() - started
    kymo.send_signal(signal.SIGCONT)
    kymo.wait()
    say(f"20 children took {took:.1f} s")
    check(rest == "done\n", rest)
    # One that waits takes 10 s, all of them 200.
    check(took < 120, f"{took:.1f} s: each waited")


main()
