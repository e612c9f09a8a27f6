# SPDX-License-Identifier: Apache-2.0
"""What hangs, where, before it is killed: the end of a test that only says "timeout" teaches nothing."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import traceback

STATUS = ("State", "SigPnd", "ShdPnd", "SigBlk", "TracerPid", "Seccomp")


def read(path):
    try:
        return path.read_bytes().decode(errors="replace").replace("\0", " ").strip()
    except OSError as error:
        return f"({error.strerror})"


def descendants(root):
    """The processes that come from this one, the oldest first; those whose parent has ended are not
    found."""
    parents = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        fields = read(entry).rpartition(")")[2].split()
        if len(fields) > 1:
            parents[int(entry.parent.name)] = int(fields[1])
    found = [root]
    for pid in found:
        found += sorted(child for child, parent in parents.items() if parent == pid)
    return found[1:]


def describe(pid):
    """Its threads: state, system call, kernel's function, and stacks as gdb sees them."""
    process = pathlib.Path(f"/proc/{pid}")
    print(f"  process {pid}: {read(process / 'cmdline')[:300]}")
    for task in sorted(process.glob("task/*")):
        status = dict(line.split(":", 1) for line in read(task / "status").splitlines() if ":" in line)
        known = ", ".join(f"{name} {status.get(name, '?').strip()}" for name in STATUS)
        print(f"    thread {task.name} {read(task / 'comm')}: {known}; in {read(task / 'wchan')}, "
              f"call {read(task / 'syscall')}")
    if shutil.which("gdb") and read(process / "cmdline"):
        command = ["gdb", "-batch", "-nx", "-p", str(pid), "-ex", "thread apply all backtrace 40"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60)
            print("\n".join("    " + line for line in done.stdout.splitlines()[-200:]), flush=True)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"    gdb: {error}", flush=True)


def end(pids):
    """Describes all of them, then kills them."""
    for pid in pids:
        describe(pid)
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Limit:
    """with Limit(seconds) as limit: what has not ended by then is described with all processes that
    come from this one, which are killed; limit.passed tells."""

    def __init__(self, seconds):
        self.passed = False
        self.seconds = seconds
        self.waits = threading.get_ident()

    def __enter__(self):
        self.timer = threading.Timer(self.seconds, self.expire)
        self.timer.daemon = True
        self.timer.start()
        return self

    def __exit__(self, *_):
        self.timer.cancel()

    def expire(self):
        self.passed = True
        print(f"  has not ended after {self.seconds} s:", flush=True)
        frame = sys._current_frames().get(self.waits)
        print("".join(traceback.format_stack(frame)), flush=True)
        end(descendants(os.getpid()))
