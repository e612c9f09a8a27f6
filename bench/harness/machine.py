# SPDX-License-Identifier: Apache-2.0
"""What the figures were measured on."""
import datetime
import os
import platform
import re
import subprocess

from .tools import version


def read(path, otherwise="unknown"):
    try:
        with open(path) as f:
            return f.read().strip()
    except OSError:
        return otherwise


def package(name):
    asked = subprocess.run(["dpkg-query", "-W", "-f=${Version}", name], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
    return asked.stdout.strip() or "not installed"


def git(root, *arguments):
    asked = subprocess.run(["git", "-C", root, *arguments], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
    return asked.stdout.strip()


def describe(root):
    """What by its name, in the order of a page."""
    cpu = re.search(r"model name\s*:\s*(.*)", read("/proc/cpuinfo"))
    memory = re.search(r"MemTotal:\s*(\d+)", read("/proc/meminfo"))
    system = re.search(r'PRETTY_NAME="(.*)"', read("/etc/os-release"))
    virtual = "hypervisor" in read("/proc/cpuinfo")
    commit = git(root, "describe", "--always")
    # What the runs themselves write does not count.
    if git(root, "status", "--porcelain", "--", ".", ":!bench/results", ":!bench/RESULTS.md",
           ":!README.md"):
        commit += "-dirty"
    return dict([
        ("date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")),
        ("Kymo", commit or "unknown"),
        ("CPU", (cpu.group(1) if cpu else platform.machine()) + (" (virtual)" if virtual else "")),
        ("CPUs", str(os.cpu_count())),
        ("load average at start", f"{os.getloadavg()[0]:.2f}"),
        ("memory", f"{int(memory.group(1)) // 1024} MiB" if memory else "unknown"),
        ("kernel", platform.release()),
        ("system", system.group(1) if system else "unknown"),
        ("clock source",
         read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        ("perf_event_paranoid", read("/proc/sys/kernel/perf_event_paranoid")
         + (", as root" if os.geteuid() == 0 else ", as a user")),
        ("compiler", version(["gcc", "--version"])),
        ("libc", package("libc6")),
        ("perf", version(["perf", "--version"])),
        ("gperftools", package("libgoogle-perftools4")),
        ("libunwind", package("libunwind8")),
        ("addr2line", version(["addr2line", "--version"])),
        ("llvm-symbolizer", version(["llvm-symbolizer", "--version"])),
    ])
