# SPDX-License-Identifier: Apache-2.0
"""A program that is given its own profiles by a callback (kymo/agent.h): what they say, and what becomes of
them when the callback fails, refuses, is slow or does not return.
"""
import json
import os

from agents import report
from kymotest import BUILD, KYMO, Report, add_case, case, check, check_close, folder, main, run, say

PROGRAM = BUILD / "tests" / "integration" / "agent_callback"
TIMEOUT = -15


def given(mode, *more, form=None):
    """The folder that the profiles were copied to, what the callback was told, and how it ended."""
    place = folder()
    settings = ",".join(["report=1h", "cpu=1ms", "metadata=none", "label=team=blue", "label=a=b\\c", *more])
    result = run([PROGRAM, mode, settings, KYMO, place, *([form] if form else [])])
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return place, lines[:-1], lines[-1]


def each(form, expected, *more):
    """Every profile once, in order, whole, with its metadata; the last one says so."""
    place, told, end = given("ok", *more, form=form)
    check(end["stop"] == 0 and end["delivered"] == len(told) and end["dropped"] == end["failures"] == 0, f"{end}")
    numbers = [t["number"] for t in told]
    check(len(told) >= 4 and numbers == sorted(set(numbers)), f"{numbers}")
    check([t["last"] for t in told] == [0] * (len(told) - 1) + [1], f"{told}")
    for t in told:
        check(t["format"] == expected and t["interval_ms"] == 3600000 and t["lost"] == 0, f"{t}")
        check(t["metadata"] == {"team": "blue", "a": "b\\c"}, f"{t}")
        check(t["program"] == "agent_callback" and t["is_self"] == 1, f"{t}")
        check(t["blocked"] == t["own"] == 1 and t["writes"] == -1, f"{t}")
        check(os.stat(place / str(t["number"])).st_size == t["bytes"] > 0, f"{t}")
    if expected in ("kymo", "pb.gz"):
        seen = sum(Report(report(place / str(n))).inclusive_s("in_program") for n in numbers)
        check_close("in_program", seen, end["in_program"], 0.05 + 0.02 * end["in_program"])


add_case("pprof", each, None, "pb.gz")
add_case("split", each, None, "pb.gz", "split=process")
add_case("kymo", each, "kymo", "kymo")
add_case("jfr", each, "jfr", "jfr")


@case
def changed():
    """Settings are others while it runs: the callback stays, and what is wrong is said, with nothing done."""
    _, told, end = given("change")
    labels = [t["metadata"]["team"] for t in told]
    check(end["stop"] == 0 and end["delivered"] == len(told) >= 4, f"{end}")
    # A profile that was not delivered before has the new label, too.
    check(labels[2:] == ["red"] * (len(told) - 2) and set(labels[:2]) <= {"blue", "red"}, f"{labels}")
    check("a" not in told[-1]["metadata"], f"{told[-1]}")
    check([t["interval_ms"] for t in told[2:]] == [1800000] * (len(told) - 2), f"{told}")


@case
def fails():
    """A profile that the callback failed for is given again."""
    place, told, end = given("again")
    numbers = [t["number"] for t in told]
    check(end["stop"] == 0 and end["failures"] == 1 and end["dropped"] == 0, f"{end}")
    check(len(told) == end["delivered"] + 1 and numbers[0] == numbers[1], f"{numbers}")
    check(len(list(place.iterdir())) == end["delivered"], f"{numbers}")
    check("callback" in end["reason"], f"{end}")


@case
def refuses():
    """One that it refuses is not."""
    place, told, end = given("refuse")
    check(end["delivered"] == 0 and end["dropped"] == len(told) >= 4 and not list(place.iterdir()), f"{end}")
    check(len({t["number"] for t in told}) == len(told), f"{told}")


@case
def slow():
    """The oldest of those that wait is dropped, and counted; the one under way and the newest are not."""
    _, told, end = given("slow", "spool-bytes=1")
    numbers = [t["number"] for t in told]
    say(f"{numbers}, {end['dropped']} dropped of {end['intervals']} intervals")
    check(end["dropped"] >= 1 and end["delivered"] == len(told), f"{end}")
    check(told[-1]["last"] == 1 and numbers == sorted(set(numbers)), f"{numbers}")


@case
def does_not_return():
    """The stop keeps to its deadline; the callback's thread ends when it returns."""
    _, told, end = given("hang")
    check(end["stop"] == TIMEOUT and end["delivered"] == 0 and len(told) == 1, f"{end} {told}")


@case
def not_for_others():
    """It cannot be asked for where there is no program that could be called."""
    result = run([KYMO, "agent", "--reporter=callback:4", "--", "true"])
    check(result.status == 2 and "kymo_agent_start" in result.stderr, f"{result.status} {result.stderr}")


if __name__ == "__main__":
    main()
