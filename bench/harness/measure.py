# SPDX-License-Identifier: Apache-2.0
"""Runs programs and counts what they cost: CPU time by wait4, and the program's own by usage.so."""
import json
import os
import random
import signal
import statistics
import subprocess
import tempfile
import time


LEAST_ROUNDS = 5
SELDOM = 4
DRAWS = 2000


class Failed(Exception):
    """A program that a benchmark rests on did not do what it is there for."""


class Run:
    """One run: cpu_s of everything that was started, own_s of the program alone, elapsed_s from the
    start to the end."""

    def __init__(self, rusage, elapsed_s, output, usage):
        self.elapsed_s = elapsed_s
        self.cpu_s = rusage.ru_utime + rusage.ru_stime
        self.peak_kib = rusage.ru_maxrss
        self.output = output
        self.usage = usage

    @property
    def own_s(self):
        return self.usage["cpu_ns"] / 1e9

    @property
    def tool_part(self):
        """What the others used, as part of one CPU all the time."""
        return (self.cpu_s - self.own_s) / self.elapsed_s


def run(argv, env=None, stdin=None, usage_of=None, usage_library=None, cpus=None, timeout=300):
    """Runs argv to its end and returns a Run. usage_of: the name of the program (as the kernel has
    it) whose own usage is wanted; usage_library then goes to the end of LD_PRELOAD."""
    environment = dict(os.environ)
    environment.update(env or {})
    usage_path = None
    if usage_of:
        fd, usage_path = tempfile.mkstemp(prefix="kymo-bench-usage-")
        os.close(fd)
        environment["BENCH_USAGE"] = usage_path
        before = environment.get("LD_PRELOAD")
        environment["LD_PRELOAD"] = f"{before}:{usage_library}" if before else usage_library
    pin = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, \
            open(stdin or os.devnull, "rb") as source:
        begun = time.monotonic()
        child = subprocess.Popen(argv, env=environment, stdin=source, stdout=out, stderr=err,
                                 preexec_fn=pin)
        # wait4 has no time limit of its own.
        previous = signal.signal(signal.SIGALRM, lambda *_: child.kill())
        signal.alarm(timeout)
        try:
            _, status, rusage = os.wait4(child.pid, 0)
            elapsed_s = time.monotonic() - begun
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, previous)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        output, errors = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    usage = None
    if usage_path:
        with open(usage_path) as f:
            for line in f:
                said = json.loads(line)
                if said["name"] == usage_of:
                    usage = said
        os.unlink(usage_path)
    # Results are kept, and folders are this machine's own.
    what = " ".join([os.path.basename(argv[0]), *argv[1:]])
    if child.returncode != 0:
        raise Failed(f"{what}: exit status {child.returncode}\n{errors[-2000:]}")
    if usage_of and not usage:
        raise Failed(f"{what}: {usage_of} did not say what it used")
    return Run(rusage, elapsed_s, output, usage)


def interleave(rounds, ways, seldom=()):
    """Calls each of the ways (name: function of the round's number) once a round, every round from
    another start, so that no way always has the machine at its best; those named in seldom in every
    SELDOMth round only. Returns name: list of what the calls returned."""
    results = {name: [] for name in ways}
    for number in range(rounds):
        names = [name for name in ways if name not in seldom or number % SELDOM == 0]
        first = number % len(names)
        for name in names[first:] + names[:first]:
            results[name].append(ways[name](number))
    return results


def same_rounds(of, these):
    """Of the runs of a way those in the rounds of these, which may be seldom ones."""
    return of if len(of) == len(these) else of[::SELDOM]


def median(values):
    return statistics.median(values)


def interval(figure, *runs):
    """The 95 % interval of a figure of interleaved runs, by the bootstrap: figure(*lists) of rounds
    drawn with replacement. None: from so few rounds nothing can be said."""
    rounds = min(len(each) for each in runs)
    if rounds < LEAST_ROUNDS:
        return None
    chance = random.Random(0)
    figures = []
    for _ in range(DRAWS):
        drawn = [chance.randrange(rounds) for _ in range(rounds)]
        figures.append(figure(*([each[i] for i in drawn] for each in runs)))
    figures.sort()
    return figures[DRAWS // 40], figures[-1 - DRAWS // 40]


class Ratio:
    """Of some runs to those of a baseline: of the medians, with its interval, and of the fastest of
    each, which is the steadier where another program disturbs some of the runs; spread: the larger of
    the two."""

    def __init__(self, values, baseline):
        self.median = median(values) / median(baseline)
        self.interval = interval(lambda some, base: median(some) / median(base), values, baseline)
        self.fastest = min(values) / min(baseline)
        self.spread = max(spread(values), spread(baseline))


def spread(values):
    """The distance from the least to the greatest, in parts of the median."""
    middle = median(values)
    return (max(values) - min(values)) / middle if middle else 0.0
