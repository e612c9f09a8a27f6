#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""symbolize_agreement.py SYMBOLIZE_TOOL - does our symbolizer say what addr2line says?

Of each file below, random addresses of .text are drawn (the seed is fixed) until 5000 of them lie in a
function, and each frame of each of them (function, base name of the file, line, at every level of
inlining) is compared with what `addr2line -f -C -i` prints. At least 99.5 % must be the same.

Where the two differ and are allowed to, and how the test makes sure that it is that and no fault of ours:

* outside: the address lies in no function: in the padding between two of them, or, in a stripped
  library, in a function that has no symbol. addr2line then names the nearest symbol before it, however
  far away; ours is unnamed, since that name is wrong. The extents come from nm, not from us. Such
  addresses are not among the 5000; that ours has no name for any of them is checked.
* addr2line's file: binutils 2.40 shows the wrong file for code before the first DW_LNS_set_file of a
  DWARF 5 line table: it takes the initial file number 1 for the unit's own name, which is number 0
  (setpwent, for one, is in getXXent_r.c, which getpwent_r.c includes). Everything else must be the
  same, and llvm-symbolizer must show our file; these count as the same.
* wrappers: the fortified functions of glibc's headers are declared artificial, to be shown as a part of
  their caller, which ours does (libc.so itself has them since Debian 13). addr2line's frames in these
  headers are left out.

Everything else counts as a disagreement and is printed.
"""
import bisect
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

PYTHON = os.path.realpath("/usr/bin/python3")
FILES = [PYTHON, "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
         "/lib/x86_64-linux-gnu/libc.so.6"]
NEEDS_DEBUG = {PYTHON, "/lib/x86_64-linux-gnu/libc.so.6"}
COUNT = 5000
SEED = 20261121
LEAST = 0.995
SKIPPED = 77


# The headers that have such wrappers.
FORTIFIED = {header.name for header in
             pathlib.Path("/usr/include/x86_64-linux-gnu/bits").glob("*.h")
             if "__fortify_function" in header.read_text()}


def output(argv, text=None):
    done = subprocess.run(argv, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)}: exit status {done.returncode}: {done.stderr}")
    return done


def text_section(path):
    found = re.search(r"\s\.text\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)",
                      output(["readelf", "-SW", path]).stdout)
    return int(found.group(1), 16), int(found.group(2), 16)


class Extents:
    """The code that lies in some symbol, by nm."""

    def __init__(self, path, debug):
        spans = []
        for argv in [["nm", "-D", "-S", path]] + ([["nm", "-S", debug]] if debug else []):
            for line in output(argv).stdout.splitlines():
                m = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwWi] ", line)
                if m:
                    spans.append((int(m.group(1), 16), int(m.group(2), 16)))
        self.starts, self.ends = [], []
        for start, size in sorted(spans):
            if self.ends and start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], start + size)
            else:
                self.starts.append(start)
                self.ends.append(start + size)

    def holds(self, address):
        at = bisect.bisect_right(self.starts, address) - 1
        return at >= 0 and address < self.ends[at]


def place(file, line):
    file = "" if file in ("?", "??") else os.path.basename(file)
    return file, int(line) if line.isdigit() else 0


def ours(tool, path, addresses):
    """(what was used, [(named, frames)])"""
    done = output([tool, "-s", path], "".join(f"{a:#x}\n" for a in addresses))
    answers = []
    for line in done.stdout.splitlines():
        field = line.split("\t")
        if field[0]:
            answers.append((field[1] == "1", []))
        else:
            name = "??" if field[1] == "?" else field[1]
            answers[-1][1].append((name,) + place(field[3], field[4]))
    used = dict(line.split(" ", 1) for line in done.stderr.splitlines() if " " in line)
    return used, answers


def split_pairs(lines):
    frames = []
    for function, where in zip(lines[::2], lines[1::2]):
        file, _, line = re.sub(r" \(discriminator \d+\)$", "", where).rpartition(":")
        frames.append((function,) + place(file, line))
    return frames


def addr2line(path, addresses):
    """Frames of each address. An address of its own ends each answer: -a prints it first."""
    text = output(["addr2line", "-a", "-f", "-C", "-i", "-e", path],
                  "".join(f"{a:#x}\n" for a in addresses)).stdout
    answers = re.split(r"^0x[0-9a-f]{16}\n", text, flags=re.M)[1:]
    return [split_pairs(a.splitlines()) for a in answers]


def llvm(path, addresses):
    text = output(["llvm-symbolizer", "-e", path, "--demangle", "--inlines"],
                  "".join(f"{a:#x}\n" for a in addresses)).stdout
    answers = []
    for block in text.strip().split("\n\n"):
        lines = block.splitlines()
        answers.append([(f,) + place(*w.rsplit(":", 2)[:2]) for f, w in zip(lines[::2], lines[1::2])])
    return answers


def without_wrappers(frames):
    """What the wrapper's caller is inlined into stays; so does a wrapper that is inlined nowhere."""
    return [f for i, f in enumerate(frames) if f[1] not in FORTIFIED or i + 1 == len(frames)]


def only_files_differ(a, b):
    return len(a) == len(b) and all(x[0] == y[0] and x[2] == y[2] for x, y in zip(a, b))


def same_files(a, b):
    return [x[1:] for x in a] == [y[1:] for y in b]


def check(tool, path):
    start, size = text_section(path)
    used, _ = ours(tool, path, [start])
    debug = used["debug"] if used["debug"] != "?" else None
    if path in NEEDS_DEBUG and not debug:
        print(f"{path}: its debug file is not installed")
        return None
    extents = Extents(path, debug)
    chosen = random.Random(SEED)
    drawn, inside, outside, wrong_names = 0, [], 0, []
    while len(inside) < COUNT:
        batch = [start + chosen.randrange(size) for _ in range(COUNT)]
        for address, (named, frames) in zip(batch, ours(tool, path, batch)[1]):
            if len(inside) == COUNT:
                break
            drawn += 1
            if extents.holds(address):
                inside.append((address, frames))
            else:
                outside += 1
                if named:
                    wrong_names.append((address, frames))
    addresses = [address for address, _ in inside]
    theirs = addr2line(path, addresses)
    if len(theirs) != COUNT:
        sys.exit(f"addr2line answered {len(theirs)} of {COUNT} addresses")
    same, files, different = 0, [], []
    for (address, mine), his in zip(inside, theirs):
        if mine in (his, without_wrappers(his)):
            same += 1
        elif only_files_differ(mine, his):
            files.append((address, mine, his))
        else:
            different.append((address, mine, his))
    confirmed = 0
    if files:
        for (address, mine, his), third in zip(files, llvm(debug or path, [f[0] for f in files])):
            if same_files(mine, third):
                confirmed += 1
            else:
                different.append((address, mine, his))
    frames = sum(len(f) for _, f in inside)
    print(f"{path}\n  {drawn} addresses drawn: {COUNT} in functions ({frames} frames), "
          f"{outside} outside, of which {len(wrong_names)} were named\n"
          f"  {same} the same, {confirmed} with addr2line's wrong file (llvm-symbolizer has ours), "
          f"{len(different)} different: {(same + confirmed) / COUNT:.2%} agree")
    for address, mine, his in different[:20]:
        print(f"  different: {address:#x}\n    ours      {mine}\n    addr2line {his}")
    for address, mine in wrong_names[:20]:
        print(f"  named, but in no symbol: {address:#x} {mine}")
    return (same + confirmed) / COUNT >= LEAST and not wrong_names


def main():
    tool = sys.argv[1]
    missing = [t for t in ("addr2line", "nm", "readelf", "llvm-symbolizer") if not shutil.which(t)]
    missing += [f for f in FILES if not os.path.exists(f)]
    if missing:
        print(f"not here: {', '.join(missing)}")
        sys.exit(SKIPPED)
    results = [check(tool, path) for path in FILES]
    if False in results:
        sys.exit(1)
    sys.exit(SKIPPED if None in results else 0)


if __name__ == "__main__":
    main()
