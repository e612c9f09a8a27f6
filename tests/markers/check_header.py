#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_header.py CASE [ARGUMENT...] - the headers that programs include, as their compilers see them.

language COMPILER STD   every_call.c (and objects.cc) in that language, with and without optimization
                        and KYMO_DISABLE, run with a library that writes down each call
mistakes COMPILER       each mistake of mistakes.c is one
disabled COMPILER       the machine code of a marker that is off
vanishes COMPILER       what KYMO_DISABLE leaves in an object
linked                  the same program with a library linked, preloaded and absent, in each form that
                        a linker can give it, with plugins

A case that fails says what it ran. Compilers: gcc, clang (g++ and clang++ for C++).
"""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror"]
C_WARNINGS = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wvla"]
# As many errors as there are.
LIMIT = {"gcc": "-fmax-errors=0", "clang": "-ferror-limit=0"}
CXX = {"gcc": "g++", "clang": "clang++"}


def run(command, env=None, fails=False):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env={**os.environ, **env} if env else None)
    if (done.returncode != 0) != fails:
        verdict = "went well" if fails else f"failed ({done.returncode})"
        sys.exit(f"{' '.join(str(word) for word in command)}\n{done.stdout}{done.stderr}{verdict}")
    return done


def check(holds, message):
    if not holds:
        sys.exit(message)


def build(compiler, source, out, *flags):
    source = [HERE / name for name in source.split()]
    run([compiler, "-I", INCLUDE, "-o", out, *flags, *source])
    return out


def fake_library(folder):
    return build("gcc", "fake_library.c", folder / "libfake.so", "-std=gnu11", "-O1", "-fPIC",
                 "-shared", *WARNINGS)


def case_language(folder, compiler, std):
    is_cxx = "++" in std
    command = CXX[compiler] if is_cxx else compiler
    flags = [f"-std={std}", *WARNINGS, "-Wpedantic"] + ([] if is_cxx else C_WARNINGS)
    library = fake_library(folder)
    for how in (["-O0"], ["-O2"], ["-O2", "-DKYMO_DISABLE"]):
        link = [library, f"-Wl,-rpath,{folder}"]
        as_cxx = ["-x", "c++"] if is_cxx else []
        program = folder / "every_call"
        run([command, "-I", INCLUDE, *flags, *how, "-o", program, *as_cxx,
             HERE / "every_call.c", *(["-x", "none"] if is_cxx else []), *link])
        run([program])
        if is_cxx:
            program = folder / "objects"
            run([command, "-I", INCLUDE, *flags, *how, "-o", program, HERE / "objects.cc", *link])
            run([program])


def case_mistakes(folder, compiler):
    text = (HERE / "mistakes.c").read_text().splitlines()
    ranges = {}
    for number, line in enumerate(text, 1):
        begins = re.match(r"#ifdef MISTAKE_(\w+)$", line)
        if begins:
            end = next(n for n in range(number, len(text)) if text[n] == "#endif")
            ranges[begins.group(1)] = range(number, end + 2)
    check(len(ranges) > 25, "mistakes.c has too few mistakes")
    for language in (["-std=gnu11"], ["-x", "c++", "-std=gnu++20"]):
        for disable in ([], ["-DKYMO_DISABLE"]):
            command = [compiler, *language, "-fsyntax-only", "-I", INCLUDE, "-Wall", "-Werror",
                       "-fno-diagnostics-color", *disable, HERE / "mistakes.c"]
            run(command)

            def errors(*names):
                return run([*command, LIMIT[compiler], *(f"-DMISTAKE_{name}" for name in names)], fails=True).stderr

            # All at once. Alone those that a compiler does not come to then, and those whose error is in a macro:
            # a note that leads here may be of another one's.
            text = errors(*ranges)
            together = {int(n) for n in re.findall(r"mistakes\.c:(\d+):\d+: (?:fatal )?error", text)}
            twice = re.search(".*(redefinition|redeclaration|duplicate).*", text)
            check(not twice, f"two mistakes of one name: {twice and twice.group()}")
            for name in [name for name, lines in ranges.items() if not together & set(lines)]:
                text = errors(name)
                where = {int(n) for n in re.findall(r"mistakes\.c:(\d+)", text)}
                check(where & set(ranges[name]),
                      f"{' '.join(map(str, command))}\nMISTAKE_{name}: no error there:\n{text}")


def functions(program, *flags):
    """Name -> [(address, instruction)] of the functions of an object."""
    found, body = {}, None
    for line in run(["objdump", "-d", "--no-show-raw-insn", *flags, program]).stdout.splitlines():
        begins = re.match(r"[0-9a-f]+ <(\w+)>:$", line)
        if begins:
            body = found.setdefault(begins.group(1), [])
        elif body is not None and ":\t" in line:
            address, _, instruction = line.strip().partition(":\t")
            body.append((int(address, 16), instruction.split("#")[0].strip()))
    return found


def off_path(body):
    """The instructions that run while the word that is tested is 0."""
    at = {address: i for i, (address, _) in enumerate(body)}
    i, path = 0, []
    while True:
        instruction = body[i][1]
        name = instruction.split()[0]
        path.append(instruction)
        if name.startswith("ret"):
            return path
        check(len(path) < 20, f"too long: {path}")
        if name in ("je", "jz", "jmp"):
            i = at[int(instruction.split()[1], 16)]
        else:
            i += 1


def case_disabled(folder, compiler):
    if platform.machine() != "x86_64":
        print("not x86-64: nothing to read")
        return
    for place in ("-fPIC", "-fPIE", "-fno-pie"):
        code = functions(build(compiler, "disabled_path.c", folder / "disabled.o", "-O2", "-c", place,
                               "-fcf-protection=none"))
        ones = {name: body for name, body in code.items()
                if name.startswith("one_") and "." not in name}
        check(len(ones) == 11, f"functions: {sorted(code)}")
        for name, body in ones.items():
            path = off_path(body)
            # A block has a frame for what it calls, and clang may make one before it asks.
            if compiler == "clang" or "scope" in name:
                path = [i for i in path if not re.match(r"push|pop|(sub|add) .*,%rsp$", i)]
            names = [instruction.split()[0].rstrip("lq") for instruction in path]
            after = ["ca", "ret"] if "scope" in name else ["ret"]
            if compiler == "clang" and names[-4:] == ["ca", "test", "jne", "ret"]:
                names[-4:] = after  # it asks a register again, which was cleared
                names = [name for name in names if name != "xor"]
            check(names in (["mov", "test", "jne", *after], ["cmp", "jne", *after]),
                  f"{compiler} {place}, {name}, while it is off: {path}")
            check("rip" in path[0] or "0x0" in path[0], f"{name} loads {path[0]}")


def case_vanishes(folder, compiler):
    for std, sources in (("gnu11", "user.c other.c disabled_path.c"), ("gnu++17", "objects.cc")):
        for optimization in ("-O0", "-O2"):
            for source in sources.split():
                if source == "objects.cc" and optimization == "-O0":
                    continue  # its classes stay until they are optimized away
                command = CXX[compiler] if "++" in std else compiler
                out = build(command, source, folder / "gone.o", f"-std={std}", optimization, "-c",
                            "-DKYMO_DISABLE")
                symbols = run(["nm", out]).stdout
                left = [line for line in symbols.splitlines()
                        if re.search("kymo| w ", line)
                        and not re.search(r"kymo_(now|now_to_ns|flow|flow_global)$", line)]
                check(not left, f"{source} {optimization} {compiler}: {left}")
                sections = run(["objdump", "-h", out]).stdout
                check("kymo" not in sections and "init_array" not in sections, sections)
                if optimization == "-O2":
                    check("kymo" not in symbols, symbols)


def case_linked(folder):
    library = fake_library(folder)
    rpath = f"-Wl,-rpath,{folder}"
    plugin = build("gcc", "plugin.c", folder / "plugin.so", "-O1", "-fPIC", "-shared", *WARNINGS)
    inline_plugins = [build(CXX[compiler], "inline_plugin.cc", folder / f"inline_{compiler}.so",
                            "-std=c++11", "-O1", "-fPIC", "-shared", *WARNINGS)
                      for compiler in CXX]
    on = {"FAKE_MARKERS_ON": "1"}
    preload = {**on, "LD_PRELOAD": library}
    quiet, loud = "0 and 0 evaluated\n", "6 and 1 evaluated\n"
    ways = [("-O0",), ("-O2",), ("-O2", "-flto"), ("-O2", "-no-pie", "-fno-pie"),
            ("-O2", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"),
            ("-O2", "-Wl,-z,now"), ("-O2", "-rdynamic"),
            ("-O2", "-Wl,-z,nodynamic-undefined-weak")]
    if shutil.which("ld.gold"):  # binutils is about to drop it
        ways.append(("-O2", "-fuse-ld=gold"))
    for compiler in ("gcc", "clang"):
        for flags in ways:
            if compiler == "clang" and "-flto" in flags:
                continue  # needs a linker with its plugin
            program = build(compiler, "user.c other.c", folder / "user", "-pthread", *flags, *WARNINGS)
            alone = run([program])
            check(alone.stdout == quiet and not alone.stderr, f"{flags}, alone: {alone}")
            with_it = run([program], preload)
            check(with_it.stdout == loud, f"{compiler} {flags}, preloaded: {with_it}")
            check("1 links of 1 detached" in with_it.stderr, f"{flags}, preloaded: {with_it}")
            check(run([program, plugin]).stdout == quiet, f"{flags}, with a plugin, alone")
            # What is left of a plugin after dlclose; C++ markers in inline functions and templates.
            gone = run([program, *inline_plugins], preload)
            check("21 links of 21 detached" in gone.stderr, f"{flags}, C++ plugins stay: {gone}")
            with_it = run([program, plugin, plugin], preload)
            check(with_it.stdout == loud and "21 links of 21 detached" in with_it.stderr,
                  f"{compiler} {flags}, preloaded, with plugins: {with_it}")
        program = build(compiler, "user.c other.c", folder / "user", "-O2", "-Wl,--no-as-needed",
                        library, rpath)
        check(run([program]).stdout == quiet, "linked, and off")
        with_it = run([program], on)
        check(with_it.stdout == loud, f"linked: {with_it}")
        # It is there once, whichever header brings it.
        check(run([program], preload).stderr == with_it.stderr, "linked and preloaded")
        for flags in (("-static",), ("-static-pie", "-fPIE")):
            program = build(compiler, "user.c other.c", folder / "user", "-O2", "-DUSER_IS_STATIC",
                            *flags)
            alone = run([program], preload)
            check(alone.stdout == quiet and not alone.stderr, f"{flags}: {alone}")
        # No symbol of ours is asked for.
        program = build(compiler, "user.c other.c", folder / "user.o", "-O2", "-r")
        asked = [line for line in run(["nm", "-u", program]).stdout.split() if "kymo" in line]
        check(not [name for name in asked if "_kymo_categories" not in name], f"asks for {asked}")


def main():
    case = globals().get(f"case_{sys.argv[1]}") if len(sys.argv) > 1 else None
    if not case:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        case(pathlib.Path(folder), *sys.argv[2:])


if __name__ == "__main__":
    main()
