# SPDX-License-Identifier: Apache-2.0
"""The samples of a recording with their labels, as its pprof file has them."""
import gzip
import pathlib
import sys

from kymotest import KYMO, check, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
from profile_checks import pprof  # noqa: E402


class Pprof:
    """What the pprof file of a recording says."""

    def __init__(self, recording):
        path = recording.path.with_suffix(".pb.gz")
        out = run([KYMO, "convert", recording.path, "-q", "-f", "-o", path])
        check(out.status == 0, f"kymo convert: {out.stderr}")
        profile = pprof.decode(gzip.decompress(path.read_bytes()), pprof.PROFILE, "profile")
        strings = [s.decode() for s in profile["string_table"]]
        functions = {f["id"]: strings[f["name"]] for f in profile["function"]}
        frames = {at["id"]: {functions[line["function_id"]] for line in at["line"]} for at in profile["location"]}
        kinds = [strings[t["type"]] for t in profile["sample_type"]]
        self.samples = []  # (count, CPU time, functions, labels)
        for sample in profile["sample"]:
            values = dict(zip(kinds, sample["value"]))
            self.samples.append((values["samples"], values["cpu"], set().union(*(frames[i] for i in sample["location_id"])),
                                 {strings[l["key"]]: strings[l["str"]] if l["str"] else l["num"]
                                  for l in sample["label"]}))

    def sums(self, holds):
        """How many samples hold, by their functions and labels, and their CPU time."""
        found = [(count, ns) for count, ns, functions, labels in self.samples if holds(functions, labels)]
        return sum(count for count, _ in found), sum(ns for _, ns in found)
