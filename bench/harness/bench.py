# SPDX-License-Identifier: Apache-2.0
"""What all parts of a benchmark run share."""
import os
import subprocess

from .measure import Failed


class Bench:
    """build: the build tree; root: the source tree; scratch: a folder for what tools write; quick:
    whether this is a short run that only shows that everything works."""

    def __init__(self, build, root, scratch, results, quick):
        self.build = os.path.abspath(build)
        self.root = root
        self.scratch = scratch
        self.results = results
        self.quick = quick
        self.kymo = self.built("src/cli/kymo")
        self.preload = self.built("src/start/libkymo-preload.so")
        self.usage = self.built("bench/usage.so")

    def built(self, path):
        """A file of the build tree, which must be there."""
        full = os.path.join(self.build, path)
        if not os.path.exists(full):
            raise Failed(f"{full} is not there: build first (make bench does)")
        return full

    def out(self, name):
        return os.path.join(self.scratch, name)

    def rounds(self, full, quick=1):
        return quick if self.quick else full

    def engines(self):
        """The engines that work here; the others are said to be missing."""
        works = []
        for engine in ("perf", "dispatch", "timer"):
            tried = subprocess.run([self.kymo, "record", "-q", "-f", f"--engine={engine}", "-o",
                                    self.out("try.kymo"), "--", "/bin/true"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if tried.returncode == 0:
                works.append(engine)
            else:
                self.results.absent(f"kymo's engine {engine}", tried.stderr.strip())
        if not works:
            raise Failed("kymo record works with no engine")
        return works

    def has_wall(self):
        """Whether kymo record takes wall-clock samples."""
        told = subprocess.run([self.kymo, "record", "--help"], stdout=subprocess.PIPE, text=True)
        return "--wall" in told.stdout

    def remove_outputs(self):
        """What the tools wrote in a run; a copy of stacks is tens of megabytes."""
        for name in os.listdir(self.scratch):
            if name.endswith((".kymo", ".data", ".prof", ".old")):
                os.unlink(self.out(name))


def percent(part):
    return "–" if part is None else f"{100 * part:.1f} %"


def times(ratio):
    return f"{ratio:.3f}x"
