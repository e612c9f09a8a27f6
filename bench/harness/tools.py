# SPDX-License-Identifier: Apache-2.0
"""The profilers: how each is put before a program, and how many samples it says it took."""
import glob
import json
import os
import re
import shutil
import struct
import subprocess

from .measure import Failed, run


class Counts:
    """samples taken; weight_s: the CPU time that they stand for in what the tool shows."""

    def __init__(self, samples, weight_s):
        self.samples = samples
        self.weight_s = weight_s


class Nothing:
    """The program alone."""
    name = "no profiler"
    period_s = None

    def command(self, argv, out):
        return argv, {}


class Kymo:
    """wall: the period of wall-clock samples beside those of CPU time; None: none. names: whether
    symbols are looked up at the end. cold: with an empty cache of debug sections; else it has those of
    the recording before. copies: whether threads are sampled without a signal where that is possible."""

    def __init__(self, build, engine, period, wall=None, names=True, cold=False,
                 copies=True):
        self.kymo = os.path.join(build, "src/cli/kymo")
        self.engine = engine
        self.period = period
        self.period_s = {"1ms": 1e-3, "500us": 5e-4, "100us": 1e-4}[period]
        rate = {"1ms": "1 kHz", "500us": "2 kHz", "100us": "10 kHz"}[period]
        self.wall = [f"--wall={wall}"] if wall else []
        self.names = [] if names else ["--no-symbols"]
        self.copies = [] if copies else ["--copies=no"]
        self.cold = cold
        self.name = (f"kymo record, {engine}, {rate}" + (f", wall {wall}" if wall else "") +
                     ("" if copies else ", by signals alone") + ("" if names else ", no symbols") + (", nothing cached" if cold else ""))

    def command(self, argv, out):
        cache = out + ".cache"
        if self.cold:  # the kernel's symbols stay
            for path in glob.glob(os.path.join(cache, "kymo", "section-*")):
                os.unlink(path)
            os.makedirs(cache, exist_ok=True)
        return ([self.kymo, "record", "-q", "-f", f"--cpu={self.period}", "--overhead=50",
                 f"--engine={self.engine}", *self.wall, *self.copies, *self.names, "-o", out + ".kymo", "--", *argv],
                {"XDG_CACHE_HOME": cache} if self.cold else {})

    def report(self, out):
        text = subprocess.run([self.kymo, "report", "--json", out + ".kymo"], check=True,
                              stdout=subprocess.PIPE).stdout
        return json.loads(text)

    def counts(self, out):
        report = self.report(out)
        quality = report["quality"]
        return Counts(quality["samples"], report["total"] / 1e9)

    def complete(self, out, _entries):
        return self.report(out)["quality"]["stacks_complete"]

    def python_samples(self, out):
        return self.report(out)["quality"].get("python_samples", 0)


class Perf:
    """Debian's perf. In a virtual machine without a cycle counter it samples by the CPU clock, so
    that is asked for everywhere: then a sample's period is in nanoseconds. Without a graph its cost is
    that of the interrupts."""

    def __init__(self, graph, hz=999):
        self.graph = ["--call-graph", graph] if graph else []
        self.hz = str(hz)
        self.period_s = 1 / hz
        self.name = ("perf record -g" if graph == "fp" else
                     f"perf record --call-graph {graph}" if graph else
                     f"perf record, no stacks, {hz} Hz")

    def command(self, argv, out):
        return ["perf", "record", "-q", "-F", self.hz, "-e", "cpu-clock", *self.graph,
                "-o", out + ".data", "--", *argv], {}

    def counts(self, out):
        # -G: without the stacks, whose unwinding would take minutes.
        text = subprocess.run(["perf", "script", "-i", out + ".data", "-G", "-F", "comm,period"],
                              check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True).stdout
        periods = [int(p) for p in re.findall(r"(\d+)\s*$", text, re.M)]
        return Counts(len(periods), sum(periods) / 1e9)

    def complete(self, out, entries):
        """The part of the stacks of a tenth of the time that end in one of the functions."""
        if not self.graph:
            return None
        text = subprocess.run(["perf", "script", "-i", out + ".data", "--time", "10%/5", "-F",
                               "ip,sym"], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout
        stacks = [stack.split("\n") for stack in text.strip().split("\n\n") if stack.strip()]
        whole = sum(any(line.split()[-1] in entries for line in stack[-4:]) for stack in stacks)
        return whole / len(stacks) if stacks else None


class Samply:
    """Of crates.io. It looks for symbols when the profile is loaded, which is not counted."""
    name = "samply record, 1 kHz"
    period_s = 1e-3

    @staticmethod
    def absence():
        """Why it cannot be measured; None: it can be."""
        if not shutil.which("samply"):
            return "not installed (cargo install samply)"
        with open("/proc/sys/kernel/perf_event_paranoid") as f:
            return "it needs kernel.perf_event_paranoid=1, also as root" if int(f.read()) > 1 else None

    @classmethod
    def add_to(cls, tools, results):
        why = cls.absence()
        if why:
            results.absent("samply", why)
        else:
            tools["samply"] = cls()

    def command(self, argv, out):
        return ["samply", "record", "--save-only", "-r", "1000", "-o", out + ".prof", "--",
                *argv], {}


class PySpy:
    """Of PyPI. It reads the frames from outside."""

    def __init__(self, path, rate, *options):
        self.path = path
        self.options = options
        self.rate = str(rate)
        self.period_s = 1 / rate
        self.name = " ".join(["py-spy record,", f"{rate} Hz", *options])

    @staticmethod
    def found():
        return shutil.which("py-spy")

    def command(self, argv, out):
        return [self.path, "record", "-r", self.rate, *self.options, "-f", "raw", "-o", out + ".prof", "--",
                *argv], {}

    def counts(self, out):
        """A line for each stack: its frames with semicolons between, and how often it was seen."""
        with open(out + ".prof") as f:
            samples = sum(int(line.rsplit(" ", 1)[1]) for line in f if line.strip())
        return Counts(samples, samples * self.period_s)

    def python_samples(self, out):
        """Those with a frame in a file of Python."""
        with open(out + ".prof") as f:
            return sum(int(line.rsplit(" ", 1)[1]) for line in f if ".py:" in line or ".py)" in line)


class Gperftools:
    name = "gperftools, 1 kHz"
    period_s = 1e-3
    PLACES = ("/usr/lib/x86_64-linux-gnu/libprofiler.so.0", "/usr/lib/libprofiler.so.0")

    def __init__(self):
        self.library = next((p for p in self.PLACES if os.path.exists(p)), None)
        if not self.library:
            raise Failed("libprofiler.so.0 is not installed")

    def command(self, argv, out):
        return argv, {"LD_PRELOAD": self.library, "CPUPROFILE": out + ".prof",
                      "CPUPROFILE_FREQUENCY": "1000"}

    def counts(self, out):
        """The legacy format: a header of 5 words, then (count, depth, pc...) until (0, 1, 0)."""
        with open(out + ".prof", "rb") as f:
            data = f.read()
        words = struct.unpack(f"<{len(data) // 8}Q", data[:len(data) // 8 * 8])
        at, samples = 2 + words[1], 0
        while at + 1 < len(words) and words[at] != 0:
            samples += words[at]
            at += 2 + words[at + 1]
        # pprof shows each sample as one period.
        return Counts(samples, samples * self.period_s)

    def complete(self, _out, _entries):
        return None


def version(argv):
    """The first line that names a number of what a tool says of itself."""
    if not shutil.which(argv[0]):
        return "not installed"
    text = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    return next((line.strip() for line in text.splitlines() if re.search(r"\d", line)), "unknown")


def profile(tool, argv, out, program, usage_library, **how):
    """One run of argv under the tool; out: the start of the paths that it writes to."""
    command, env = tool.command(argv, out)
    return run(command, env=env, usage_of=program, usage_library=usage_library, **how)
