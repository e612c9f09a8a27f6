# SPDX-License-Identifier: Apache-2.0
"""Code that a program makes: its functions have names and true shares, after the files with them are gone.

Each program gives two functions turns of CPU time and says by its own CPU clock how much they got.
"""
import glob
import json
import os
import pathlib
import shutil
import subprocess

from kymotest import (WORKLOADS, add_case, by_chance, check, check_close, check_complete, folder, main,
                      perf_works, record, run, say, skip)

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "workloads"
# Samples that make three points more than three standard deviations.
SECONDS = "2.5" if perf_works() else "10"
PHP = ["-d", "opcache.enable_cli=1", "-d", "opcache.file_update_protection=0", "-d",
       "opcache.jit_buffer_size=32M", "-d", "opcache.jit=function", "-d"]


def program(*names):
    for name in names:
        if shutil.which(name):
            return name
    return skip(f"{names[0]} is not here")


def record_shares(argv, cwd):
    """The recording and what the program said; the program's files are removed before it is read."""
    recording = record([*argv, SECONDS], cwd=cwd)
    check(recording.result.status == 0, recording.result.stderr)
    for path in glob.glob("/tmp/perf-*.map") + glob.glob(f"{cwd}/jit-*.dump"):
        if os.stat(path).st_uid == os.geteuid() and str(path).split("-")[-1].split(".")[0] \
                == str(recording.report().data["processes"][0]["pid"]):
            os.unlink(path)
    said = recording.result.stdout.strip().rsplit(" ", 1)[0]
    return recording, json.loads(said)


def check_shares(report, used, heavy="heavy", light="light"):
    # With what they call: interrupts and the kernel.
    h, l = (sum(f["total"] for f in report.rows(name)) / 1e9 for name in (heavy, light))
    check(h > 0 and l > 0, f"no functions: {[f['name'] for f in report.data['functions'][:8]]}")
    truth = used["heavy"] / (used["heavy"] + used["light"])
    # Weights by a tick are evened out, so samples tell as much as they are.
    samples = (h + l) / report.total_s * report.quality["samples"]
    check_close("share of heavy", h / (h + l), truth, max(0.03, by_chance(truth, samples)))
    check_close("both of all that was used", (h + l) / report.total_s,
                (used["heavy"] + used["light"]) / report.total_s / unit(used), 0.03)


def unit(used):
    """Of the figures, in a second: they sum up to about what was asked for."""
    return min((1, 1e6, 1e9), key=lambda u: abs(sum(used.values()) / u - float(SECONDS)))


def check_named(report, complete):
    q = report.quality
    say(f"named {q['frames_symbolized']:.4f}, complete {q['stacks_complete']:.4f}")
    check(q["frames_symbolized"] >= 0.995, f"frames named: {q['frames_symbolized']}")
    check_complete(report, complete)


def node(options, *arguments):
    cwd = folder()
    source = SOURCES / "jit_shares.js"
    argv = [program("node"), *options, source]
    # The last argument of the command is the time; what else it shall do comes behind.
    if arguments:
        argv = ["/bin/sh", "-c", 'n=$1; s=$2; exec node $n "$s" "$3" remove-map', "sh",
                " ".join(options), source]
    recording, used = record_shares(argv, cwd)
    report = recording.report()
    check_shares(report, used)
    check_named(report, 0.99)
    row = report.rows("heavy")[0]
    check(row["file"] == str(source), f"file: {row['file']}")
    check(row["line"] == 6, f"line: {row['line']}")
    check(row["module"] == "[jit]", f"module: {row['module']}")
    return recording


def node_wall():
    """Wall time finds modules of its own, one more by a library that waits; V8's built-in code, which
    is mapped twice, has its names all the same."""
    cwd = folder()
    (cwd / "load.js").write_text("""try { process.dlopen({exports: {}}, process.env.LIBRARY) }
catch (error) { if (!/self-register/.test(error.message)) throw error }""")
    recording = record([program("node"), "--perf-basic-prof", "--require", cwd / "load.js",
                        SOURCES / "jit_shares.js", SECONDS], options=["--wall=10ms"], cwd=cwd,
                       env=dict(os.environ, LIBRARY=str(WORKLOADS / "liblibrary_waits.so")))
    check(recording.result.status == 0, recording.result.stderr)
    for mode in ("cpu", "wall"):
        report = recording.report("--mode", mode)
        check_named(report, 0.98)
    said = run([recording.kymo, "report", recording.path]).stderr
    check("inconsistent" not in said, said)
    check(report.inclusive_s("sleep_in_library") > 0, "the library was not seen to wait")


def node_jitdump():
    recording = node(["--perf-prof"])
    lines = {f["line"] for f in recording.report("--by", "line").rows("light")}
    say(f"lines of light: {sorted(lines)}")
    check(lines & {14, 15} and lines <= {0, 12, 13, 14, 15, 16}, f"lines: {lines}")


def php(debug):
    argv = [program("php8.2", "php"), *PHP, f"opcache.jit_debug={debug}", SOURCES / "jit_shares.php"]
    modules = run([argv[0], "-m"]).stdout
    if "OPcache" not in modules:
        skip("PHP has no OPcache")
    recording, used = record_shares(argv, folder())
    report = recording.report()
    check_shares(report, used)
    check_named(report, 0)  # its code keeps no frame pointers


def java():
    cwd = folder()
    javac = program("javac")
    program("java")
    subprocess.run([javac, "-d", cwd, SOURCES / "JitShares.java"], check=True)
    recording, used = record_shares(
        ["java", "-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions",
         "-XX:+DumpPerfMapAtExit", "-XX:CompileCommand=quiet",
         "-XX:CompileCommand=dontinline,JitShares.*", "-cp", cwd, "JitShares"], cwd)
    report = recording.report()
    check_shares(report, used, "long JitShares.heavy(int)", "long JitShares.light(int)")
    check_named(report, 0.9)


add_case("node_perf_map", node, ["--perf-basic-prof"])
add_case("node_map_removed_at_exit", node, ["--perf-basic-prof"], "remove-map")
add_case("node_wall", node_wall)
add_case("node_jitdump", node_jitdump)
add_case("php_perf_map", php, 16)
add_case("php_jitdump", php, 32)
add_case("java_map_at_exit", java)
main()
