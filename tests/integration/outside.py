# SPDX-License-Identifier: Apache-2.0
"""Programs that our library is not in, since nothing can be preloaded, or since it had better not: the kernel
samples them, and all that they start."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

from kymotest import (BUILD, KYMO, WORKLOADS, Recording, add_case, case, check, check_close, check_complete, folder,
                      main, perf_works, record, record_command, run, say, skip, wait_until)

HERE = BUILD / "tests" / "integration"

# Stacks that are longer than their copies are found out when a ring is read, which holds no more than this.
RING_SAMPLES = 128
GO = next((path for path in (shutil.which("go"), "/usr/local/go/bin/go") if path and os.path.exists(path)), None)
THREE = ("burn_a", "burn_b", "burn_c")


def needs_static():
    if not (WORKLOADS / "deepens_static").exists():
        skip("there is no static libc here")


def record_outside(argv, **how):
    if not perf_works():
        skip("perf_event_open is not permitted here, or not in the kernel")
    recording = record(argv, **how)
    report = recording.report()
    quality = report.quality
    say(f"{quality.get('copied_samples', 0)} of {quality['samples']} samples are copies; "
        f"{quality['stacks_complete']:.4f} of stacks complete, {quality['cpu_unsampled_s']:.4f} of "
        f"{recording.cpu_s:.4f} s not sampled, lost {report.lost()}")
    return recording, report


def built(command, source, name):
    """A program of that source; skips the case where there is no such compiler."""
    here = folder()
    (here / source[0]).write_text(source[1])
    made = subprocess.run([*command, "-o", here / name, here / source[0]], cwd=here, capture_output=True, check=False,
                          env={**os.environ, "CGO_ENABLED": "0", "GO111MODULE": "off"})
    if made.returncode:
        skip(f"{command[0]} does not build it here: {made.stderr[-200:]}")
    return here / name


C_SOURCE = ("three.c", r"""
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
#define BURN(name, salt)                                                              \
    __attribute__((noinline)) double name(double seconds)                             \
    {                                                                                 \
        volatile unsigned long x = salt;                                              \
        double begin = now(), end;                                                    \
        do                                                                            \
            for (int i = 0; i < 200000; i++)                                          \
                x = x * 2862933555777941757ul + salt;                                 \
        while ((end = now()) - begin < seconds);                                      \
        return end - begin;                                                           \
    }
BURN(burn_a, 3)
BURN(burn_b, 5)
BURN(burn_c, 7)
static double took[3];
static void *run_b(void *unused)
{
    took[1] = burn_b(0.3);
    return unused;
}
int main(void)
{
    pthread_t thread;
    took[0] = burn_a(0.2);
    pthread_create(&thread, NULL, run_b, NULL);
    took[2] = burn_c(0.5);
    pthread_join(thread, NULL);
    printf("{\"burn_a\": %f, \"burn_b\": %f, \"burn_c\": %f}\n", took[0], took[1], took[2]);
    return 5;
}
""")

# Half of its work is its runtime's, on the runtime's own stacks.
GO_GARBAGE = ("garbage.go", r"""
package main
type node struct { left, right *node }
//go:noinline
func grow(depth int) *node { if depth == 0 { return nil }; return &node{grow(depth - 1), grow(depth - 1)} }
var kept *node
func main() { for i := 0; i < 60; i++ { kept = grow(16) } }
""")

GO_SOURCE = ("main.go", r"""
package main
import ("fmt"; "os"; "runtime"; "syscall"; "unsafe")
var sink uint64
func now() float64 {
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 3, uintptr(unsafe.Pointer(&t)), 0)
	return float64(t.Sec) + float64(t.Nsec)/1e9
}
//go:noinline
func spin(salt uint64) { x := sink; for i := 0; i < 200000; i++ { x = x*2862933555777941757 + salt }; sink = x }
//go:noinline
func burn_a(s float64) float64 { b := now(); for now()-b < s { spin(3) }; return now() - b }
//go:noinline
func burn_b(s float64) float64 { b := now(); for now()-b < s { spin(5) }; return now() - b }
//go:noinline
func burn_c(s float64) float64 { b := now(); for now()-b < s { spin(7) }; return now() - b }
func main() {
	runtime.LockOSThread()
	a := burn_a(0.2)
	done := make(chan float64)
	go func() { runtime.LockOSThread(); done <- burn_b(0.3) }()
	c := burn_c(0.5)
	fmt.Printf("{\"burn_a\": %f, \"burn_b\": %f, \"burn_c\": %f}\n", a, <-done, c)
	os.Exit(5)
}
""")


def check_three(program, prefix="", least=0.999):
    """Each function of two threads has what it measured of its own CPU time; its stacks begin where threads do."""
    recording, report = record_outside([program])
    check(recording.result.status == 5, f"{recording.result.status}: {recording.result.stderr}")
    truth = json.loads(recording.result.stdout)
    check(report.quality["copied_samples"] == report.quality["samples"], "a handler took samples")
    check_complete(report, least)
    unsampled_s = report.quality["cpu_unsampled_s"]
    for name in THREE:
        # What a thread used before it was found is in its first sample, which need not be of that function.
        check_close(name, report.inclusive_s(prefix + name), truth[name],
                    0.02 + 0.02 * truth[name] + unsampled_s)
    check(report.total_s <= recording.cpu_s * 1.001 + 0.001, "there is more than the program used")
    check(len(report.threads) >= 2, f"{report.threads}")


COMPILERS = {
    "static": ["gcc", "-O2", "-g", "-static", "-pthread"],
    "static_pie": ["gcc", "-O2", "-g", "-static-pie", "-pthread"],
    "asan": ["gcc", "-O1", "-g", "-fsanitize=address", "-pthread"],
    "tsan": ["gcc", "-O1", "-g", "-fsanitize=thread", "-pthread"],
    "musl": ["musl-gcc", "-O2", "-g", "-static", "-pthread"],
    "musl_dynamic": ["musl-gcc", "-O2", "-g", "-pthread"],
}


def compiled(command):
    if not shutil.which(command[0]):
        skip(f"{command[0]} is not here")
    program = built(command, C_SOURCE, "three")
    if run([program]).status != 5:
        skip("the program does not run here")
    check_three(program)


for kind, arguments in COMPILERS.items():
    add_case(f"compiled.{kind}", compiled, arguments)


@case
def go():
    """Go keeps frame pointers, and says nothing of its frames where others do."""
    if not GO:
        skip("Go is not here")
    check_three(built([GO, "build"], GO_SOURCE, "three"), "main.", 0.97)


@case
def go_runtime():
    """Its runtime works on stacks of its own: their callers are the program's functions all the same."""
    if not GO:
        skip("Go is not here")
    recording, report = record_outside([built([GO, "build"], GO_GARBAGE, "garbage")])
    check(recording.result.status == 0, recording.result.stderr)
    check_complete(report, 0.99)
    check(report.inclusive_s("runtime.systemstack") > 0, "the runtime did nothing on its own stacks")


@case
def longer_stacks():
    """Stacks that are longer than their copies get longer ones."""
    needs_static()
    recording, report = record_outside([WORKLOADS / "deepens_static", "1", "40000"])
    cut = report.quality["samples"] * (1 - report.quality["stacks_complete"])
    say(f"{cut:.0f} stacks are cut")
    check(recording.result.status == 0, recording.result.stderr)
    check(cut <= 2 * RING_SAMPLES, "stacks are cut for long")


def functions_of(recording):
    return {name: s for line in recording.result.stdout.splitlines() if line.startswith("{")
            for name, s in json.loads(line).items()}


def check_family(argv):
    """Every process of the tree is found, and has the function that it ran, but for the daemon: its parent may be
    gone before it was found, and nobody waits for it, so that its time is not in the sum of all. One that the
    recorder found late has less; a busy machine may hide one until its end."""
    for _ in range(5):
        recording, report = record_outside(argv)
        check(recording.result.status == 3, f"{recording.result.status}: {recording.result.stderr}")
        truth = functions_of(recording)
        check(len(truth) == 8, f"{truth}")
        daemon_s = truth.pop("burn_daemon") * 1.02 + 0.03
        most_s = recording.cpu_s * 1.001 + 0.001 + (daemon_s if report.inclusive_s("burn_daemon") else 0)
        check(report.total_s <= most_s, "there is more than the programs used")
        lacking = {name: seconds for name, seconds in truth.items() if report.inclusive_s(name) < 0.9 * seconds - 0.03}
        more = {name: seconds for name, seconds in truth.items()
                if report.inclusive_s(name) > seconds * 1.02 + 0.03}
        say(f"{len(report.data['processes'])} processes; too little of {lacking}")
        check(not more, f"too much of {more}")
        if not lacking:
            return
    check(False, f"too little of {lacking}")


NO_ROWS = ("no_rows.c", r"""
#include <stdlib.h>
#include <time.h>
__asm__(".text; .globl no_rows; no_rows: push %rbp; push %rbx; sub $24, %rsp; mov %rdi, %rbx; xor %ebp, %ebp;"
        "1: call *%rbx; lea places(%rip), %rcx; movslq %eax, %rax; mov (%rcx, %rax, 8), %rax; jmp *%rax;"
        "2: add $24, %rsp; pop %rbx; pop %rbp; ret; .section .data.rel, \"aw\"; .align 8; places: .quad 2b, 1b;"
        ".text");
void no_rows(int (*call)(void));
static volatile unsigned long sink;
static int rounds;
__attribute__((noinline)) int callback(void)
{
    for (unsigned i = 0; i < 1000000; i++)
        sink = sink * 3 + i;
    return --rounds > 0;
}
__attribute__((noinline)) void outer(void) { no_rows(callback); sink++; }
int main(int argc, char **argv) { rounds = atoi(argv[argc - 1]); outer(); return 0; }
""")


@case
def not_complete():
    """Code that nothing is said of, and that cannot be followed, has callers all the same: a frame pointer of 0, or
    a stack that begins near by, does not make it the outermost."""
    program = built(["gcc", "-O2", "-fomit-frame-pointer", "-static", "-no-pie"], NO_ROWS, "no_rows")
    recording, report = record_outside([program, "300"])
    check(recording.result.status == 0, recording.result.stderr)
    check(report.quality["stacks_complete"] < 0.1, "they are said to be complete")


@case
def threads_that_sleep():
    """Memory for copies goes from threads that sleep to one that works."""
    program = built(["gcc", "-O2", "-static", "-pthread"], ("sleepers.c", r"""
        #include <pthread.h>
        #include <stdlib.h>
        #include <time.h>
        #include <unistd.h>
        static double now(void)
        {
            struct timespec t;
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
            return t.tv_sec + t.tv_nsec / 1e9;
        }
        __attribute__((noinline)) void burn(double seconds)
        {
            volatile unsigned x = 1;
            while (now() < seconds)
                for (int i = 0; i < 100000; i++)
                    x = x * 3;
        }
        static void *sleeps(void *unused) { pause(); return unused; }
        static void *works(void *seconds) { burn(*(double *)seconds); return NULL; }
        int main(int argc, char **argv)
        {
            double seconds = argc > 1 ? atof(argv[1]) : 0;
            pthread_t thread;
            pthread_attr_t small;
            pthread_attr_init(&small);
            pthread_attr_setstacksize(&small, 65536);
            for (int i = 0; i < 600; i++)
                if (pthread_create(&thread, &small, sleeps, NULL) != 0)
                    return 1;
            if (seconds == 0)
                return 0;
            sleep(2);
            if (pthread_create(&thread, &small, works, &seconds) != 0)
                return 1;
            pthread_join(thread, NULL);
            return 0;
        }
        """), "sleepers")
    if run([program]).status != 0:
        skip("so many threads cannot be made here")
    for _ in range(5):
        recording, report = record_outside([program, "4"])
        check(recording.result.status == 0, recording.result.stderr)
        if report.inclusive_s("burn") > 2:
            return
    check(False, "little of what it did is there")


@case
def family():
    """What a static program forks, spawns and becomes is sampled from outside, too."""
    needs_static()
    check_family([WORKLOADS / "family_static"])


@case
def family_of_a_shell():
    """A shell, which has our library, starts what has not: that is said, and sampled."""
    needs_static()
    check_family(["sh", "-c", f"{WORKLOADS}/family_static; exit $?"])


@case
def becomes_static():
    """A process with our library becomes one without."""
    needs_static()
    recording, report = record_outside(["sh", "-c", f"exec {WORKLOADS}/deepens_static 0.5 1000"])
    check(recording.result.status == 0, recording.result.stderr)
    check(report.inclusive_s("burn_deep") > 0, "nothing of the second program is there")
    for options, has_note in (((), False), (("--alloc",), True)):
        for _ in range(5):
            recording, _ = record_outside(["sh", "-c", f"exec {WORKLOADS}/deepens_static 0.5 1000"], options=options)
            told = run([KYMO, "report", recording.path, "--top", "1"]).stderr
            if "not recorded" not in told:  # it had ended before it was found
                break
        check(("deepens_static is sampled from outside" in told) == has_note and "not recorded" not in told, told)


@case
def becomes_dynamic():
    """One without our library starts one that could have it: that is sampled from outside all the same, and
    neither sees that it is recorded."""
    if not perf_works() or not shutil.which("gcc"):
        skip("perf_event_open is not permitted here, or there is no gcc")
    program = built(["gcc", "-static"], ("run.c", """
        #include <unistd.h>
        int main(int argc, char **argv) { return argc < 2 || execvp(argv[1], argv + 1); }
        """), "run")
    work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; env; exit 7"
    plain = run([program, "sh", "-c", work])
    recording, report = record_outside([program, "sh", "-c", work])
    check(recording.result.status == 7 and recording.result.stdout == plain.stdout, recording.result.stdout)
    check(report.total_s > 0.5 * recording.cpu_s, "little of it is there")


@case
def is_killed():
    """Its status is the recorder's, and what was sampled is there."""
    needs_static()
    recording, report = record_outside(
        ["sh", "-c", f"{WORKLOADS}/busy_static 2 1000 & sleep 0.5; kill -9 $!; wait $!"])
    check(recording.result.status == 128 + signal.SIGKILL, f"{recording.result.status}")
    check(report.inclusive_s("burn_busy") > 0, "nothing is there")


def cpu_s(pid):
    """CPU time of a process that runs."""
    user, system = (pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[i] for i in (11, 12))
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def record_running(argv, *, until=("--duration=1s",), env=None):
    """What `kymo record -p` samples of a process that has run for a while, and its CPU time meanwhile."""
    if not perf_works():
        skip("perf_event_open is not permitted here, or not in the kernel")
    path = folder() / "recording.kymo"
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as running:
        try:
            wait_until("it has used CPU time", lambda: cpu_s(running.pid) > 0.3)
            before_s = cpu_s(running.pid)
            result = run([KYMO, "record", "-q", "-p", str(running.pid), *until, "-o", path], env=env)
            used_s = cpu_s(running.pid) - before_s
            check(result.status == 0 and not result.stderr, f"{result.status}: {result.stderr}")
            check(running.poll() is None, "it has ended")
        finally:
            running.kill()
    recording = Recording(path, result, KYMO)
    report = recording.report()
    say(f"{report.total_s:.3f} of at most {used_s:.3f} s are sampled, {report.quality['stacks_complete']:.4f} of "
        f"stacks complete")
    # From the first event to the last one, and the clock of all is read in ticks.
    check(0 < report.total_s <= used_s + 0.05, "it has more than it used meanwhile")
    check(len(report.threads) > 0 and report.quality["cpu_unsampled_s"] < 0.05, f"{report.quality}")
    check_complete(report)
    return report


def running(program, env=None):
    report = record_running([program, "3", "1000"], env=env)
    check(report.inclusive_s("burn_busy") > 0.9 * report.total_s, "its function is not there")
    check(len(report.threads) == 3, f"{report.threads}")


@case
def running_process():
    """A process that runs already, whatever is in it, with its threads: what it does from now on."""
    running(WORKLOADS / "busy")


@case
def running_static():
    needs_static()
    running(WORKLOADS / "busy_static")


@case
def running_without_its_memory():
    """Where its memory may not be read, its files are."""
    running(WORKLOADS / "busy", {**os.environ, "LD_PRELOAD": f"{HERE}/libno_memory_of_others.so"})


@case
def running_process_ends():
    """It ends while it is sampled: then so does the recording."""
    if not perf_works():
        skip("perf_event_open is not permitted here, or not in the kernel")
    path = folder() / "recording.kymo"
    with subprocess.Popen([WORKLOADS / "busy", "1", "1"], stdout=subprocess.PIPE) as program:
        wait_until("it has used CPU time", lambda: cpu_s(program.pid) > 0.1)
        result = run([KYMO, "record", "-q", "-p", str(program.pid), "-o", path])
        check(result.status == 0, f"{result.status}: {result.stderr}")
        check(program.wait() == 0, "its status is another one")
    check(Recording(path, result, KYMO).report().inclusive_s("burn_busy") > 0, "nothing is there")


@case
def paused():
    """Pauses and periods hold for it; CPU time of a pause counts as not sampled."""
    needs_static()
    if not perf_works():
        skip("perf_event_open is not permitted here, or not in the kernel")
    path = folder() / "recording.kymo"
    with subprocess.Popen([KYMO, "record", "-q", "-o", path, "--", WORKLOADS / "busy_static", "1", "4"],
                          stdout=subprocess.PIPE) as recorder:
        children = pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children")
        wait_until("the program runs", children.read_text)
        program = int(children.read_text().split()[0])
        wait_until("it has used CPU time", lambda: cpu_s(program) > 0.5)
        for command in ("pause", "resume", "cpu=2ms"):
            out = run([KYMO, "control", "-p", str(recorder.pid), command])
            check(out.status == 0 and "1 process told" in out.stdout, out.stdout + out.stderr)
            until_s = cpu_s(program) + 0.5
            wait_until("it goes on", lambda until_s=until_s: cpu_s(program) > until_s)
        check(recorder.wait() == 0, f"{recorder.returncode}")
    recording = Recording(path, None, KYMO)
    report = recording.report()
    say(f"{report.total_s} s sampled, {report.quality['cpu_unsampled_s']} s not")
    check(report.quality["cpu_unsampled_s"] > 0.4, "the pause is not counted")
    check(report.total_s > 2, "little is there beside the pause")


@case
def running_until_interrupted():
    """Ctrl-C ends the recording, and not the program."""
    if not perf_works():
        skip("perf_event_open is not permitted here, or not in the kernel")
    path = folder() / "recording.kymo"
    with subprocess.Popen([WORKLOADS / "busy", "1", "1000"], stdout=subprocess.PIPE) as program:
        try:
            wait_until("it has used CPU time", lambda: cpu_s(program.pid) > 0.1)
            with subprocess.Popen([KYMO, "record", "-q", "-p", str(program.pid), "-o", path]) as recorder:
                before_s = cpu_s(program.pid)
                wait_until("it is sampled", lambda: cpu_s(program.pid) > before_s + 0.5)
                recorder.send_signal(signal.SIGINT)
                check(recorder.wait() == 0, f"{recorder.returncode}")
            check(program.poll() is None, "the program has ended")
        finally:
            program.kill()
    check(Recording(path, None, KYMO).report().inclusive_s("burn_busy") > 0, "nothing is there")


@case
def ends_at_once():
    """Before anything could be sampled: its status is the recorder's, and the line says why there is nothing."""
    if not perf_works():
        skip("perf_event_open is not permitted here, or not in the kernel")
    program = built(["gcc", "-static"], ("ends.c", "int main(void) { return 3; }\n"), "ends")
    recording = record([program])
    check(recording.result.status == 3, f"{recording.result.status}: {recording.result.stderr}")
    told = run([KYMO, "report", recording.path]).stderr
    check("had ended before it could be sampled" in told or recording.report().threads, told)


@case
def without_permission():
    """Where the kernel may not be asked, or the user asks for another engine, it is refused, with the reason."""
    needs_static()
    refused = run(record_command([WORKLOADS / "busy_static", "1", "0.1"], folder() / "recording.kymo", engine="timer"))
    check(refused.status == 2 and "statically linked" in refused.stderr, f"{refused.status}: {refused.stderr}")
    doctor = run([KYMO, "doctor", WORKLOADS / "busy_static"])
    # Without root it may be permitted where samples in the kernel are not.
    says = "taken from outside by the kernel" + ("" if perf_works() else "|cannot be recorded")
    check(re.search(says, doctor.stdout), doctor.stdout)


@case
def only_cpu():
    """What it cannot have is said at once."""
    needs_static()
    if not perf_works():
        skip("perf_event_open is not permitted here, or not in the kernel")
    command = [w for w in record_command([WORKLOADS / "busy_static", "1", "0.1"], folder() / "recording.kymo",
                                         options=("--alloc",)) if w != "-q"]
    out = run(command)
    check(out.status == 0 and "only its CPU samples are recorded" in out.stderr, out.stderr)


main()
