# SPDX-License-Identifier: Apache-2.0
"""Programs that block, ignore or use signals, ours among them, do under Kymo what they do alone, and are
sampled."""
import os
import re

from as_alone import ENGINES, check_accounted, check_sampled, recordings_as_alone, same
from kymotest import (WORKLOADS, Recording, add_case, case, check, folder, main, record, record_command, run,
                      say, tools_for)


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


def inherited(blocked):
    """Who starts kymo has signals blocked: the program begins with that mask, and is sampled."""
    script = ("import os, signal, sys\n"
              f"signal.pthread_sigmask(signal.SIG_BLOCK, {blocked})\n"
              "os.execvp(sys.argv[1], sys.argv[1:])")
    start = ["/usr/bin/python3", "-c", script]
    # What the program reads back is what it was started with.
    looker = ["/usr/bin/python3", "-c", "import signal\nx = 0\n"
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
    for engine, recording in recordings_as_alone([WORKLOADS / "hazards", "rawaction"]):
        said = run([recording.kymo, "report", recording.path])
        notes = said.stdout + said.stderr
        check("back to its default" in notes, f"{engine}: it is not said: {notes!r}")
        report = recording.report()
        unsampled = check_accounted(report, recording)
        # Samples of 1 ms that need no handler, until the recorder has seen that it is gone.
        copied_s = 0.001 * report.quality.get("copied_samples", 0)
        # It has worked that long by its CPU clock.
        check(unsampled >= 0.3 - copied_s, "what came after is not said to be unsampled")


@case
def xz():
    """xz -T2 blocks all signals in its workers, which do all the work."""
    source = folder() / "source"
    with source.open("wb") as f:
        for i in range(45000):
            f.write(f"{i * i} {i * 7919 % 104729:x} {i ** 3}\n".encode())
    command = ["xz", "-T2", "-6", "--block-size=1MiB", "-k", "-c", str(source)]
    for engine in ENGINES:
        recording = record(command, engine=engine)
        check(recording.result.status == 0, recording.result.stderr)
        report = recording.report()
        check_accounted(report, recording)
        check_sampled(report)


@case
def ignored_by_children():
    """A signal that the program ignores is ignored in what it starts, also if it is ours."""
    # A shell does not trap what was ignored when it began.
    trap = "trap 'echo trapped' URG; kill -URG $$; echo $1"
    same(["/usr/bin/python3", "-c", "import os, signal, sys\n"
          "signal.signal(signal.SIGURG, signal.SIG_IGN)\nlook = ['bash', '-c', sys.argv[1], 'bash']\n"
          "os.waitpid(os.posix_spawn('/bin/bash', look + ['spawn'], os.environ), 0)\n"
          "os.system('exec bash -c \"$LOOK\" bash system')\n"
          "os.fork() or os.execv('/bin/bash', look + ['fork'])\nos.wait()\n"
          "try: os.execv('/nowhere', look)\nexcept OSError as e: print(e.errno, flush=True)\n"
          "os.execv('/bin/bash', look + ['exec'])", trap], env=dict(os.environ, LOOK=trap))


main()
