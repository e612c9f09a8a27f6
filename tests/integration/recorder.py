# SPDX-License-Identifier: Apache-2.0
"""What becomes of the program and of the recording when the recorder is in trouble, or the program
is the trouble."""
import os
import re
import resource
import signal
import subprocess

from as_alone import check_accounted
from kymotest import (BUILD, KYMO, WORKLOADS, Recording, Running, add_case, check, engines, folder,
                      main, record, record_command, run, say, skip, tools_for, wait_until)

ENGINES = engines()
HERE = BUILD / "tests" / "integration"


def spools(where):
    """Recordings in a folder, whatever they are called."""
    return [f for f in where.iterdir() if ".kymo" in f.name and f.stat().st_size > 0]


def killed(engine):
    """SIGKILL to kymo: the program goes on to its end, and what was drained can be read."""
    where = folder()
    running = Running(record_command([HERE / "outlives", where], where / "r.kymo", engine=engine))
    wait_until("some seconds' worth in the recording",
               lambda: any(f.stat().st_size > 20000 for f in spools(where)))
    running.process.send_signal(signal.SIGKILL)
    result = running.finish()
    check(result.status == 137, f"kymo's status is {result.status}")
    wait_until("the program's end", lambda: (where / "ended").exists())
    check((where / "ended").read_text() == "well\n", "the program did not end well")
    kept = spools(where)
    check(len(kept) == 1, f"recordings: {kept}")
    report = Recording(kept[0], result, tools_for(None)).report()
    # With the dispatch engine a good part of the samples is where the loop looks at its clock.
    share = report.inclusive_s("burn_ns") / report.total_s
    say(f"{kept[0].name}: {report.total_s:.3f} s before the end, the loop {share:.3f}")
    check(report.total_s > 0.1, "nothing can be read of what was recorded")
    check(report.rows("burn_in_public") and share > 0.9, "what was recorded is not what happened")


def no_room(engine):
    """The recording's disk is full: the program goes on, one line says so, the rest is kept."""
    if os.getuid() != 0:
        skip("only root can mount a small file system")
    where = folder()
    # A first round, in which most stacks are new, must find room; all must not.
    size = "16k" if engine == "timer" else "256k"
    mounted = run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", where])
    if mounted.status != 0:
        skip(f"tmpfs cannot be mounted here: {mounted.stderr.strip()}")
    try:
        # The dispatcher takes fewer samples on a busy machine.
        for seconds in ("1", "3", "10", "30"):
            result = run(record_command([WORKLOADS / "split", seconds], where / "r.kymo", engine=engine,
                                        period="100us"))
            check("split-right" in result.stdout, "the program did not end")
            if result.status != 0:
                break
            (where / "r.kymo").unlink()
        check(result.status == 1, f"status {result.status}")
        errors = [line for line in result.stderr.splitlines() if "No space left" in line]
        say(" | ".join(result.stderr.splitlines()))
        check(len(errors) == 1, f"{len(errors)} lines say that there is no space")
        kept = spools(where)
        check(len(kept) == 1, f"recordings: {kept}")
        check(kept[0] == where / "r.kymo" or str(kept[0]) in result.stderr,
              "nothing says where the recording is")
        report = Recording(kept[0], result, tools_for(None)).report()
        check(report.total_s > 0.05, "nothing can be read of what was recorded")
        say(f"{report.total_s:.3f} s are kept")
    finally:
        run(["umount", where])


def limited_file(engine):
    """Where kymo itself may write no file of any size, it says so and runs nothing."""
    where = folder()
    result = run(record_command([WORKLOADS / "split", "1"], where / "r.kymo", engine=engine),
                 limits=[(resource.RLIMIT_FSIZE, 64 << 10)])
    say(f"status {result.status}: {result.stderr.strip()}")
    check(result.status == 1, f"status {result.status}")
    check(len(result.stderr.splitlines()) == 1, "not one line on standard error")
    check("File too large" in result.stderr, "it does not say why")
    check(result.stdout == "", "the program ran")
    check(not list(where.iterdir()), f"it leaves {list(where.iterdir())}")


def scribbled(engine):
    """The program writes at random over the memory that it shares with the recorder."""
    for seed, writes in enumerate([1, 10, 100, 1000], start=1):
        path = folder() / "recording.kymo"
        result = run(record_command([HERE / "scribble", str(seed), str(writes)], path,
                                    engine=engine))
        check("scribbled" in result.stdout, f"the program did not end: {result.stderr}")
        check(result.status in (0, 1), f"status {result.status}: {result.stderr}")
        read = run([KYMO, "report", path, "--json"]) if path.exists() else None
        check(read is None or read.status in (0, 1), f"report: {read and read.status}")
        lines = (result.stderr + (read.stderr if read else "")).splitlines()
        say(f"seed {seed}: {result.stdout.strip()}; status {result.status}, report "
            f"{read.status if read else 'none'}; {lines[:2]}")


def replaced_library(engine):
    """A library's file is replaced while the program runs its old code: names of the new file,
    whose functions lie at the same addresses, must not appear."""
    where = folder()
    library = where / "libreplaced.so"
    for source, target in (("libreplaced_before.so", library),
                           ("libreplaced_after.so", where / "new")):
        target.write_bytes((HERE / source).read_bytes())
        target.chmod(0o755)
    recording = record([HERE / "replace", library, where / "new"], engine=engine)
    check(recording.result.status == 0, recording.result.stderr)
    report = recording.report()
    check(not report.rows("only_in_the_new_file"), "a name of the new file was used")
    profile = recording.firefox()
    frames = [f for f in profile.frames if f.lib == str(library)]
    names = {f.name for f in frames}
    say(f"names of frames in the library: {sorted(names)}")
    check(frames, "no frame in the library")
    rightly = [n for n in names
               if n == "only_in_the_old_file" or n.startswith("libreplaced.so+0x")]
    check(len(rightly) == len(names), f"frames are called {names}")
    seconds = sum(s.cpu_ns for s in profile.all_samples()
                  if any(f.lib == str(library) for f in s.frames)) / 1e9
    say(f"{seconds:.3f} s in the library and what it calls, of {recording.cpu_s:.3f} s")
    check(seconds > 0.8 * recording.cpu_s, "its time is not shown")


def few_descriptors():
    """More threads than perf events: those that perf refuses are sampled otherwise, and it is said."""
    if "perf" not in ENGINES:
        skip("perf is not permitted")
    threads = 60
    recording = record([WORKLOADS / "busy", str(threads), "0.05"], engine="perf",
                       under=["/bin/sh", "-c", 'ulimit -n 64; exec "$@"', "sh"])
    check(recording.result.status == 0, recording.result.stderr)
    told = run([KYMO, "report", recording.path, "--top", "1"]).stderr
    said = re.search(r"(\d+) threads were sampled at the kernel tick, since perf refused: "
                     r"Too many open files \(ulimit -n\)", told)
    check(said, f"it is not said: {told}")
    check(0 < int(said[1]) < threads, said[0])
    unsampled = check_accounted(recording.report(), recording)
    # A tick finds a thread of 50 ms at work, or it does not: of some tens, not most.
    check(unsampled < 0.5 * recording.cpu_s, "too much is unsampled")


def nobody_reads():
    """kymo record 2>&1 | head: the reader of the summary is gone before it comes."""
    where = folder()
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([KYMO, "record", "-o", where / "r.kymo", "--", "true"], stdout=write, stderr=write)
    os.close(write)
    check(done.returncode == 0, f"status {done.returncode}")
    check([f.name for f in spools(where)] == ["r.kymo"], f"{spools(where)}")


add_case("nobody_reads", nobody_reads)
add_case("few_descriptors", few_descriptors)
for function in (killed, no_room, limited_file, scribbled, replaced_library):
    for which in ENGINES:
        add_case(f"{function.__name__}.{which}", function, which)
main()
