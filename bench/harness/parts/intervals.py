# SPDX-License-Identifier: Apache-2.0
"""How often the interval of 95 % of what lives at the end holds the truth, on real programs: the same
command with each allocation recorded, and many times with samples."""
import json
import os
import subprocess

from ..results import Table

QUERY = """create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 60000)
insert into t select x, hex(zeroblob(x % 40)) from c;
create index i on t(b); select count(*) from t where b like '%01%';"""
# Each allocates the same in each run.
PROGRAMS = {
    "ls": ["ls", "-R", "/usr/include"],
    "sqlite3": ["sqlite3", ":memory:", QUERY],
    "perl": ["perl", "-e", "my %h; push @{$h{$_ % 977}}, 'x' x ($_ % 50) for 1 .. 60000;"],
    "python3": ["/usr/bin/python3", "-c", "import json; json.loads(json.dumps([{str(i): i} for i in range(9000)]))"],
    "g++": ["cc1plus", "-quiet", "-O1", "-o", "/dev/null", "-"],
}
ENVIRONMENT = {"PERL_HASH_SEED": "0", "PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"}
SOURCE = "#include <map>\n#include <string>\nint main() { return std::map<std::string, int>().size(); }\n"
LEAST = 0.93


def compiler():
    """g++'s own first process, as g++ calls it."""
    def told(what):
        return subprocess.run(["g++", what], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return [told("-print-prog-name=cc1plus"), "-imultiarch", told("-print-multiarch")]


def live_at_end(bench, command, rate):
    """The report's totals of what lives at the end, and of all that was asked for."""
    out = bench.out("intervals.kymo")
    environment = dict(os.environ, **ENVIRONMENT)
    # Without the randomization of addresses, a program that sorts by them allocates the same again.
    subprocess.run(["setarch", "-R", bench.kymo, "record", "-q", "-f", "--cpu=10s", f"--alloc={rate}", "-o", out,
                    "--", *command], env=environment, input=SOURCE, text=True, check=True,
                   stdout=subprocess.DEVNULL)
    report = json.loads(subprocess.run([bench.kymo, "report", "--mode", "live", "--json", out], check=True,
                                       stdout=subprocess.PIPE, text=True).stdout)
    bench.remove_outputs()
    return report["total"], report["allocated"]


def holds(figures, name, truth):
    return figures[name + "_low"] <= truth * (1 + 1e-9) and truth <= figures[name + "_high"] * (1 + 1e-9)


def run(bench):
    rounds = bench.rounds(100, 3)
    table = Table("Intervals of the heap",
                  f"{rounds} recordings of each program with a sample per 512 KiB, beside one of every "
                  "allocation: in how many of them the interval of 95 % of what lives at the end holds what "
                  "does. Of few samples that is more than 95 of 100: their intervals end where counts do. "
                  "Totals of all that was asked for are counted.",
                  ["", "lives at the end", "blocks", "samples, median", "bytes held", "blocks held",
                   "totals are exact"])
    for name, command in PROGRAMS.items():
        if command[0] == "cc1plus":
            command = [*compiler(), *command[1:]]
        truth, asked_for = live_at_end(bench, command, "0")
        held = {"bytes": 0, "objects": 0}
        exact, samples = 0, []
        for _ in range(rounds):
            found, whole = live_at_end(bench, command, "512k")
            for figure in held:
                held[figure] += holds(found, figure, truth[figure])
            exact += abs(whole["objects"] / asked_for["objects"] - 1) < 0.001
            samples.append(found["samples"])
        table.row(name, f"{truth['bytes'] / 1024:.0f} KiB", f"{truth['objects']:.0f}",
                  str(sorted(samples)[len(samples) // 2]), f"{held['bytes']} of {rounds}",
                  f"{held['objects']} of {rounds}", f"{exact} of {rounds}")
        for figure, count in held.items():
            bench.results.budget(f"{name}: runs whose interval misses what lives ({figure})",
                                 1 - count / rounds, 1 - LEAST, lambda part: f"{100 * part:.0f} %")
    bench.results.add(table)
