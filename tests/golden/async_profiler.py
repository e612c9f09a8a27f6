#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""async_profiler.py - async-profiler and its converter, for tests that compare with them.

KYMO_ASYNC_PROFILER names libasyncProfiler.so, KYMO_JFR_CONVERTER the converter's jar. Without them, both are what Maven
has in its folder. Run as a program, it gets them by Maven, if there is one; without, the tests do without.
"""
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import zipfile

VERSION = "4.1"
NAMES = ("async-profiler", "jfr-converter")
PATIENCE_S = 300


def jar(name):
    path = pathlib.Path.home() / ".m2/repository/tools/profiler" / name / VERSION / f"{name}-{VERSION}.jar"
    return str(path) if path.exists() else None


def converter():
    """The path of the jar; None: there is none, or no Java to run it."""
    return (os.environ.get("KYMO_JFR_CONVERTER") or jar("jfr-converter")) if shutil.which("java") else None


def library(folder):
    """The path of the agent's library, unpacked into folder; None: there is none."""
    named, packed = os.environ.get("KYMO_ASYNC_PROFILER"), jar("async-profiler")
    if named or not packed or platform.machine() != "x86_64":
        return named
    with zipfile.ZipFile(packed) as archive:
        return archive.extract("linux-x64/libasyncProfiler.so", folder)


def install():
    for name in NAMES:
        if jar(name) or not shutil.which("mvn"):
            continue
        try:
            done = subprocess.run(["mvn", "-q", "-B", "dependency:get", f"-Dartifact=tools.profiler:{name}:{VERSION}"],
                                  capture_output=True, timeout=PATIENCE_S, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            done = False
        if not done:
            print(f"kymo: Maven cannot get {name} {VERSION}: the tests go without", file=sys.stderr)
            return


if __name__ == "__main__":
    install()
