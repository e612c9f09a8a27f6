#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/unit/python_line_vectors.h: line tables of real code, and what CPython itself reads in them.

    python_line_vectors.py INTERPRETER... > tests/unit/python_line_vectors.h

Each interpreter, 3.9 or later, compiles the same source.
"""
import dis
import subprocess
import sys

SOURCE = '''


def plain(a):
    b = a + 1

    return b
def one(a): return a
def loop(items):
    for item in items:
        if item > 3:
            continue
        while item:
            item -= 1
        else:
            break
    return [x
            for x in
            items
            if x]
def far():
    a = 1
''' + "\n" * 300 + '''
    b = 2
    try:
        raise ValueError(
            a,
            b)
    except (KeyError,
            ValueError) as e:
        return (
            a +
            len(str(e)))
    finally:
        print(
            "x"
        )
def back(f):
    return f(
        1,
''' + "\n" * 200 + '''
        2,
        g=lambda: f(3))
async def waits(a):
    async with a as b:
        await b
    async for c in b:
        yield c
class C:
    """Text."""
    x = 1
    def m(self):
        with self:
            return self.y if self.x else \\
                self.z
    lines = lambda self: (
        1 +
        self.x)
def long(a):
    a = %s
    return a
''' % (", ".join(f"a[{i}]" for i in range(150)))


def codes_of(code):
    yield code
    for c in code.co_consts:
        if hasattr(c, "co_code"):
            yield from codes_of(c)


def runs_of(code):
    """(end, line) of each run of instructions; line 0: none."""
    size = len(code.co_code)
    lines = [0] * size
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            lines[start:end] = [line or 0] * (min(end, size) - start)
    else:
        starts = list(dis.findlinestarts(code))
        for i, (start, line) in enumerate(starts):
            end = starts[i + 1][0] if i + 1 < len(starts) else size
            lines[start:end] = [line] * (end - start)
    runs = []
    for at, line in enumerate(lines):
        if runs and runs[-1][1] == line:
            runs[-1][0] = at + 1
        else:
            runs.append([at + 1, line])
    return runs


def write_of_this():
    minor = sys.version_info[1]
    for code in codes_of(compile(SOURCE, "source.py", "exec")):
        table = code.co_linetable if minor >= 10 else code.co_lnotab
        name = code.co_name.replace("<", "").replace(">", "")
        text = "".join(f"\\x{b:02x}" for b in table)
        pieces = [text[i:i + 80] for i in range(0, len(text), 80)] or [""]
        runs = runs_of(code)
        numbers = [f"{{{end}, {line}}}," for end, line in runs]
        rows = [" ".join(numbers[i:i + 6]) for i in range(0, len(numbers), 6)]
        print(f"    {{{minor}, \"{name}\", {code.co_firstlineno}, {len(table)},")
        print("\n".join(f'     "{p}"' for p in pieces) + ",")
        print(f"     {len(runs)},")
        print("     (const struct vector_run[]){\n         " + "\n         ".join(rows) + "\n     }},")


def main():
    if sys.argv[1:] == ["--one"]:
        return write_of_this()
    print("""/* SPDX-License-Identifier: Apache-2.0 */
/* Made by tests/tools/python_line_vectors.py. Line tables of CPython, and what it reads in them. */
#ifndef KYMO_TESTS_PYTHON_LINE_VECTORS_H
#define KYMO_TESTS_PYTHON_LINE_VECTORS_H

#include <stdint.h>

struct vector_run {
    uint32_t end, line; /* up to this place; 0: no line */
};

struct line_vector {
    uint32_t minor;
    const char *name;
    uint32_t first_line, len;
    const char *table;
    uint32_t runs;
    const struct vector_run *run;
};

/* clang-format off */
static const struct line_vector line_vectors[] = {""", flush=True)
    for interpreter in sys.argv[1:]:
        print(subprocess.run([interpreter, __file__, "--one"], check=True, stdout=subprocess.PIPE,
                             universal_newlines=True).stdout, end="")
    print("""};
/* clang-format on */

#endif""")


if __name__ == "__main__":
    main()
