# SPDX-License-Identifier: Apache-2.0
"""Allocations on their way into the recording: each one that the program made is there, or counted as
lost; whatever ends is something that began."""
import collections
import re
import subprocess

from kymotest import BUILD, WORKLOADS, case, check, folder, main, record_command, run, say

DUMP = BUILD / "tests" / "recording_dump"


class Recorded:
    """What the recording of a run with --alloc=0 says, line by line."""

    def __init__(self, *argv, options=()):
        path = folder() / "recording.kymo"
        result = run(record_command([WORKLOADS / argv[0], *argv[1:]], path, period="100ms",
                                    options=("--alloc=0", *options)))
        check(result.status == 0, f"status {result.status}: {result.stderr}")
        text = subprocess.run([DUMP, path], capture_output=True, text=True, check=True).stdout
        check(text.endswith(": whole\n"), text[-200:])
        self.began, self.ended, self.lost = [], [], collections.Counter()
        self.heap = {}
        for line in text.splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "allocation":
                self.began.append(re.search(r" id=(\S+)", line)[1])
            elif kind == "free":
                self.ended.append(re.search(r" id=(\S+)", line)[1])
            elif kind == "loss":
                # The last one of a kind counts.
                self.lost[re.search(r'name="([^"]*)"', rest)[1]] = int(
                    re.search(r"count=(\d+)", rest)[1])
            elif kind == "heap":
                self.heap = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', rest))

    def lost_of(self, what):
        return sum(count for name, count in self.lost.items() if name.startswith(what))


def is_consistent(recorded):
    began = set(recorded.began)
    check(len(began) == len(recorded.began), "an id was given twice")
    check(len(set(recorded.ended)) == len(recorded.ended), "a block ended twice")
    # A block that found no room is in no table, so its end is not written.
    check(began.issuperset(recorded.ended), "what was not allocated has ended")


@case
def all_are_there():
    """8000 blocks fit into the buffer, however late the recorder comes."""
    recorded = Recorded("allocs", "threads", "2000", "4")
    is_consistent(recorded)
    check(recorded.lost_of("allocations") + recorded.lost_of("frees") == 0, f"{recorded.lost}")
    check(len(recorded.began) == int(recorded.heap["count"]) >= 8000,
          f"{len(recorded.began)} of {recorded.heap}")


@case
def what_is_lost_is_counted():
    """Far more than fits, whether the recorder keeps up or not."""
    recorded = Recorded("allocs", "threads", "20000", "8", options=("--buffer=1m",))
    is_consistent(recorded)
    lost = recorded.lost_of("allocations")
    say(f"{len(recorded.began)} recorded, {lost} lost")
    check(len(recorded.began) + lost == int(recorded.heap["count"]) >= 160000,
          f"{len(recorded.began)} + {lost} of {recorded.heap}")


@case
def a_malloc_of_the_programs_own_is_named():
    recorded = Recorded("allocs_own", "peak")
    check(not recorded.began, "what cannot be seen was seen")
    check(recorded.heap["not_seen"] == '"malloc of the executable"', f"{recorded.heap}")


main()
