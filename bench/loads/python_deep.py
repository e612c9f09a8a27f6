# SPDX-License-Identifier: Apache-2.0
"""python_deep.py DEPTH ROUNDS: work below DEPTH calls of 40 functions, every fifth through the C code of map."""
import sys

FUNCTIONS = []
SOURCE = """
def f{n}(depth, rounds):
    if depth == 0:
        return work(rounds)
    return {call}
"""
DIRECT = "FUNCTIONS[(depth * 7 + {n}) % 40](depth - 1, rounds)"
MAPPED = "list(map(FUNCTIONS[(depth * 7 + {n}) % 40], [depth - 1], [rounds]))[0]"


def work(rounds):
    total = 0
    for i in range(rounds):
        words = [str(i + k) for k in range(20)]
        total += len(",".join(sorted(words))) + hash(words[3]) % 3
        total += sum(k * k for k in range(30))
    return total


def main(depth, rounds):
    sys.setrecursionlimit(10000)
    mapped = len(sys.argv) > 3
    for n in range(40):
        call = MAPPED if mapped and n % 5 == 0 else DIRECT
        exec(compile(SOURCE.format(n=n, call=call.format(n=n)), "functions.py", "exec"), globals())
        FUNCTIONS.append(globals()[f"f{n}"])
    return FUNCTIONS[0](depth, rounds)


main(int(sys.argv[1]), int(sys.argv[2]))
