# SPDX-License-Identifier: Apache-2.0
"""Programs that break easily say and do under Kymo what they say and do alone."""
import os
import re
import shutil
import time

from as_alone import ENGINES, same
from kymotest import BUILD, KYMO, WORKLOADS, add_case, case, check, folder, main, record, run, say, skip

HAZARDS = ["smallstack", "coroutine", "longjmp", "sigaltstack", "privdrop", "unshare", "fork", "mallocthread"]


def hazard(name, arguments):
    same([WORKLOADS / "hazards", name, *arguments], is_sampled=True)


for mode in HAZARDS:
    add_case(mode, hazard, mode, [])


@case
def tls():
    """Threads whose thread-local storage is not libc's are left alone, and that is said."""
    for report in same([WORKLOADS / "hazards", "tls"]):
        check(report.lost().get("samples: thread with its own TLS", 0) > 0, f"lost {report.lost()}")


@case
def waits():
    """No call ends with EINTR that would not have done so by itself: no thread is signalled there. But by the
    dispatcher one in thousands may: a thread can go to sleep while a signal is on its way to it
    (doc/design.md, "EINTR"). On a machine where all wait for a CPU it is on its way for longer."""
    command = [WORKLOADS / "hazards", "waits"]
    alone = run(command)
    for engine in ENGINES:
        result = record(command, engine=engine).result
        check((result.status, result.stderr) == (alone.status, alone.stderr), f"{engine}: {result.stderr}")
        calls = sum(int(number) for number in re.findall(r"(\d+) (?:calls|of)", result.stdout))
        say(f"{engine}: {result.stdout.strip()}")
        check(result.stdout == alone.stdout or (engine == "dispatch" and calls <= 2),
              f"{engine}: {result.stdout.strip()}, alone {alone.stdout.strip()}")


@case
def transfers():
    """No sample cuts a write or a read of all short; a signal of the program's own does, as ever."""
    command = [WORKLOADS / "hazards", "transfer"]
    alone = run(command)
    check(" 0 of 60 cut short" in alone.stdout and "60 of 60 writes ended early" in alone.stdout, f"alone: {alone.stdout}")
    for engine in ENGINES:
        for options in ([], ["--wall=2ms"]):
            result = record(command, engine=engine, options=options).result
            check((result.status, result.stdout) == (alone.status, alone.stdout),
                  f"{engine} {options}: {result.stdout}{result.stderr}")


@case
def unbuffered():
    """Python's unbuffered streams write once, and do not ask how much was written."""
    program = ("import subprocess, sys\n"
               "for i in range(5):\n"
               "    p = subprocess.Popen([sys.executable, '-u', '-c', 'import sys; sys.stdin.read(10);"
               "sys.stderr.write(\"x\" * 4000000); sys.stdout.write(sys.stdin.read())'],"
               " stdin=-1, stdout=-1, stderr=-1)\n"
               "    out, err = p.communicate(b'a' * 4000010)\n"
               "    print(len(out), len(err))\n")
    for engine in ENGINES:
        result = record(["/usr/bin/python3", "-c", program], engine=engine).result
        check((result.status, result.stdout) == (0, "4000000 4000000\n" * 5),
              f"{engine}: {result.stdout}{result.stderr}")


@case
def unreadable():
    """Where unwind tables cannot be read any more, walks end there."""
    same([WORKLOADS / "hazards", "unreadable", WORKLOADS / "plugins" / "plugin_red.so"], is_sampled=True)


STOPPED = """
import os, signal, subprocess
kymo = os.getppid()
count = ["grep", "-c", "libkymo-preload", "/proc/self/maps"]
os.kill(kymo, signal.SIGSTOP)
try:
    has_library = [subprocess.run(count, stdout=subprocess.PIPE).stdout != b"0\\n" for _ in range(100)]
finally:
    os.kill(kymo, signal.SIGCONT)
print(sum(has_library) <= 2, len(has_library))
"""


@case
def stopped():
    """What starts while the recorder is stopped does not wait for it, but for the first one, which finds
    that out: from then on nothing is led to the recorder."""
    for engine in ENGINES:
        result = record(["/usr/bin/python3", "-c", STOPPED], engine=engine).result
        check((result.status, result.stdout) == (0, "True 100\n"), f"{engine}: {result.stdout} {result.stderr}")


@case
def without_libc():
    """Go without cgo has threads of its own: it runs as if Kymo were not there, and is named where the kernel may
    not sample it."""
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.path.exists(go):
        skip("there is no Go here")
    where = folder()
    (where / "main.go").write_text(GO_PROGRAM)
    env = dict(os.environ, CGO_ENABLED="0", GOFLAGS="-mod=mod", GOPROXY="off", GO111MODULE="off")
    built = run([go, "build", "-buildmode=pie", "-o", where / "program", where / "main.go"], env=env)
    check(built.status == 0, built.stderr)
    alone = run([where / "program"])
    check(alone.status == 0 and alone.stdout, alone.stderr)
    said = run([KYMO, "record", "--engine=timer", "-o", where / "x.kymo", "--", where / "program"])
    check(said.status == 2 and "does not use the C library" in said.stderr, said.stderr)
    for engine in ("auto", "timer"):
        recording = record(["sh", "-c", f"{where}/program; exit $?"], engine=engine)
        check((recording.result.status, recording.result.stdout) == (0, alone.stdout), recording.result.stderr)
    told = run([KYMO, "report", recording.path, "--top", "1"])
    check("it does not use the C library" in told.stdout + told.stderr, told.stderr)


GO_PROGRAM = """package main

import (
	"os"
	"strconv"
)

func work(n uint64) uint64 {
	for i := 0; i < 20000000; i++ {
		n = n*6364136223846793005 + 1442695040888963407
	}
	return n
}

func main() {
	sums := make(chan uint64)
	for i := 0; i < 4; i++ {
		go func(n uint64) { sums <- work(n) }(uint64(i))
	}
	os.Stdout.WriteString(strconv.FormatUint((<-sums)^(<-sums)^(<-sums)^(<-sums), 10))
}
"""


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
    for report in same(command, is_sampled=True):
        check(len(report.threads) == 1, f"{len(report.threads)} threads in the report")


@case
def exceptions():
    if not (WORKLOADS / "exceptions").exists():
        skip("exceptions was not built: there is no C++ compiler")
    same([WORKLOADS / "exceptions", "8000"], is_sampled=True)


@case
def unshare_user():
    """A program of one thread may make a user namespace: unshare(1) does, and runs another."""
    alone = run(["unshare", "-U", "/bin/echo", "in there"])
    if alone.status != 0:
        skip(f"user namespaces are not permitted here: {alone.stderr.strip()}")
    same(["unshare", "-U", "/bin/echo", "in there"])


@case
def empty_environment():
    """env -i: the program sees none of our variables, and its children neither."""
    same(["env", "-i", "/usr/bin/env"])
    program = ["/usr/bin/python3", "-c",
               "import os, subprocess; print(sorted(os.environ)); "
               "print(subprocess.run(['/usr/bin/env'], capture_output=True).stdout)"]
    same(program, env={})
    same(program, env={"LD_PRELOAD": "", "A": "B"})
    same(["/usr/bin/python3", "-c", "import os; print(os.listdir('/proc/self/fd'))"])
    # As the kernel shows it, too: nothing is left of ours but the room.
    kernel = "print([e for e in open('/proc/self/environ').read().split(chr(0)) if e])"
    same(["/usr/bin/python3", "-c", kernel])
    same(["sh", "-c", "/usr/bin/python3 -c \"$0\"; exit $?", kernel])


@case
def environment_of_others():
    """What another thread does to the environment while popen runs stays; and where ours does not
    fit into an exec, the program starts without it."""
    program = BUILD / "tests" / "integration" / "popen_environ"
    for what in ("changes", "full"):
        result = run([program, what])
        check(result.status == 0, f"{what}, alone: {result.stdout}")
        same([program, what])


main()
