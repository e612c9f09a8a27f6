# SPDX-License-Identifier: Apache-2.0
"""Collapsed stacks: "outermost;...;innermost WEIGHT" in each line."""
import re

RULES = ["folded-utf8", "folded-line", "folded-distinct", "folded-end"]
LINE = re.compile(r"[^;\x00-\x1f]+(;[^;\x00-\x1f]+)* [1-9][0-9]*")


def check(data, faults):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        faults.add("folded-utf8", "file", str(error))
        return
    if not text:
        return
    faults.unless(text.endswith("\n"), "folded-end", "file", "the last line has no newline")
    seen = set()
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        where = f"line {number}"
        if not faults.unless(LINE.fullmatch(line), "folded-line", where, "not a stack and a weight"):
            continue
        stack = line.rpartition(" ")[0]
        faults.unless(stack not in seen, "folded-distinct", where, "a stack that was there before")
        seen.add(stack)
