#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""c11_threads.py KYMO WORKLOAD - threads made by thrd_create are sampled from their beginning."""
import json
import os
import subprocess
import sys
import tempfile

kymo, workload = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    recording = os.path.join(folder, "c11.kymo")
    run = subprocess.run([kymo, "record", "-q", "-o", recording, "--", workload, "25"],
                         stdout=subprocess.PIPE, text=True, check=True)
    assert run.stdout == "25 threads, 25 ended well\n", run.stdout
    report = json.loads(subprocess.run([kymo, "report", "--json", recording],
                                       stdout=subprocess.PIPE, check=True).stdout)
workers = [t for t in report["threads"] if t["cpu_s"] > 0.015]
print(len(report["threads"]), "threads,", len(workers), "workers,", report["quality"])
assert len(report["threads"]) == 26
assert len(workers) == 25
# A worker's 20 ms make five samples by the kernel's tick, and more by perf. Where others want the
# CPUs, too, a tick may find none of a worker's turns; a thread that is not announced has none ever.
sampled = [t for t in workers if t["samples"] >= 2]
assert len(sampled) >= len(workers) * 2 // 3, workers
lost = {what for what in report["quality"]["lost"] if "recorder late" not in what}
assert not lost, lost
