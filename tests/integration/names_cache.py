# SPDX-License-Identifier: Apache-2.0
"""The cache of inflated debug sections: the same output without it, with an empty, a full and a damaged one."""
import functools
import os
import pathlib
import random
import resource
import time

from kymotest import KYMO, case, check, folder, main, record, run, say, wait_until

FUNCTIONS = 1500
SETTLED_S = 3  # a file is cached when its ctime is more than 2 s old

@functools.cache
def recorded():
    return record([program()], options=("--no-symbols",)).path


def program():
    """A program whose compressed debug sections are large enough to be cached."""
    place = folder()
    source, path = place / "many.c", place / "many"
    lines = ["#include <stdlib.h>", "static volatile unsigned long sum;",
             "struct pair { unsigned long a, b; };",
             "static inline __attribute__((always_inline)) void inner(struct pair *p)",
             "{ for (int i = 0; i < 2000; i++) sum += p->a ^ p->b ^ (unsigned long)i; }"]
    for i in range(FUNCTIONS):
        lines += [f"__attribute__((noinline)) static void function_{i}(unsigned long value_{i})",
                  "{", f"    struct pair pair_{i} = {{value_{i}, {i}}};", f"    inner(&pair_{i});",
                  "}"]
    lines += ["int main(void)", "{", "    for (int i = 0; i < 60; i++) {"]
    lines += [f"        function_{i}((unsigned long)i);" for i in range(FUNCTIONS)]
    lines += ["    }", "    return 0;", "}"]
    source.write_text("\n".join(lines) + "\n")
    built = run(["gcc", "-O1", "-g", "-gz=zlib", "-Wl,--build-id=sha1", "-o", path, source])
    check(built.status == 0, built.stderr)
    wait_until("the program's file is old enough",
               lambda: time.time() - os.stat(path).st_ctime > SETTLED_S)
    return path

def report(path, cache, limits=(), **more):
    env = {"XDG_CACHE_HOME": str(cache), **more}
    out = run([KYMO, "report", path, "--json", "--top", "0"], env=env, limits=limits)
    check(out.status == 0 and not out.stderr, f"{env}: {out.status}: {out.stderr}")
    folded = folder() / "out.folded"
    converted = run([KYMO, "convert", path, "-q", "-o", folded], env=env, limits=limits)
    check(converted.status == 0, converted.stderr)
    return out.stdout, folded.read_text()

def files(cache):
    return {p: p.read_bytes() for p in sorted((cache / "kymo").glob("section-*"))}

@case
def names_are_the_same():
    recording = recorded()
    cache = folder() / "cache"
    cache.mkdir()
    plain = report(recording, cache, KYMO_CACHE="off")
    check(not list(cache.iterdir()), "KYMO_CACHE=off made a folder")
    check("main;function_" in plain[1] and ";inner " in plain[1], f"names are missing: {plain[1]}")

    check(report(recording, cache) == plain, "an empty cache changes the output")
    kept = files(cache)
    check(kept, "nothing was cached")
    say(f"{len(kept)} files, {sum(map(len, kept.values()))} bytes")
    check(report(recording, cache) == plain, "a full cache changes the output")
    check(files(cache) == kept, "a full cache was written again")
    for path in [cache / "kymo", *kept]:
        check(path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), f"mode of {path}")

    chance = random.Random(1)
    ways = {"empty": lambda b: b"", "cut": lambda b: b[:chance.randrange(len(b))],
            "longer": lambda b: b + b"x", "random": lambda b: chance.randbytes(len(b)),
            "one byte": lambda b: (lambda at: b[:at] + bytes([b[at] ^ 1]) + b[at + 1:])
            (chance.randrange(len(b)))}
    for name, damage in ways.items():
        for path, content in kept.items():
            path.write_bytes(damage(content))
        check(report(recording, cache) == plain, f"damaged files ({name}) change the output")
        # One byte may lie in a block that is not needed.
        check(files(cache) == kept or name == "one byte", f"damaged files ({name}) stay")
    # All of them under the name of one of others.
    contents = list(kept.values())
    for path, content in zip(kept, contents[1:] + contents[:1]):
        path.write_bytes(content)
    check(report(recording, cache) == plain, "exchanged files change the output")

@case
def works_without_a_folder():
    recording = recorded()
    plain = report(recording, "/nowhere", KYMO_CACHE="off")
    none = {"HOME": "/nowhere", "TMPDIR": "/nowhere"}
    check(report(recording, "/nowhere", **none) == plain, "the output differs without a folder")
    # What lies in the place of the folder and is not ours to use.
    for number, make in enumerate((lambda p: p.write_text(""), lambda p: p.symlink_to("/tmp"),
                                   lambda p: (p.mkdir(), p.chmod(0o777)))):
        cache = folder() / f"cache{number}"
        cache.mkdir()
        make(cache / "kymo")
        check(report(recording, cache, **none) == plain, "the output differs without a folder")
        check(not list(pathlib.Path("/tmp").glob("section-*")), "a link was followed")

@case
def fits_into_a_limit():
    """A file that may not become as large is left out, and no part of it stays."""
    recording = recorded()
    cache = folder() / "cache"
    cache.mkdir()
    plain = report(recording, cache)
    large = max(len(content) for content in files(cache).values())
    limit = large - 1
    check(len(plain[0]) < limit, "the limit is for the cache, not for the output")
    for path in files(cache):
        path.unlink()
    check(report(recording, cache, limits=[(resource.RLIMIT_FSIZE, limit)]) == plain, "another output")
    kept = files(cache)
    check(kept and max(map(len, kept.values())) <= limit, f"{[len(c) for c in kept.values()]}")
    check(set(cache.glob("kymo/*")) | set(cache.glob("kymo/.*")) == set(kept), "a part was left")


main()
