# SPDX-License-Identifier: Apache-2.0
"""The recording so far, as a file: kymo control snapshot of this process."""
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

from kymo._program import find_kymo


def dump(path):
    """Writes the recording so far to path, whose ending says the format, over a file that is there. Recording goes
    on. With --ring it is the newest part. Returns the path; OSError: there is no recorder, or no such folder."""
    kymo = find_kymo()
    if not kymo:
        raise FileNotFoundError("the program kymo is neither in this package nor in PATH")
    done = subprocess.run([kymo, "control", "-p", str(os.getpid()), "-q", "-f", "snapshot", "-o", os.fspath(path)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, errors="replace")
    if done.returncode != 0:
        raise OSError(done.stderr.strip() or f"kymo control: status {done.returncode}")
    return path


def _try(path):
    """In a place where nothing may go wrong. A signal may have come while the program writes to sys.stderr, which
    takes no other text then."""
    try:
        dump(path.replace("{time}", time.strftime("%Y%m%d-%H%M%S")))
    except Exception as why:
        with contextlib.suppress(OSError):
            os.write(2, f"kymo: no dump: {why}\n".encode(errors="replace"))


def dump_on(what, path):
    """Dumps when a signal comes (what is its number; in the main thread), or when an exception that is not handled
    ends a thread (what is a class of exceptions). {time} in the path is replaced. What was to be called then is
    called after that: the signal's handler, sys.excepthook, threading.excepthook. A signal without a handler does
    nothing else: SIGTERM does not end the program."""
    path = os.fsdecode(path)
    if not isinstance(what, type):
        before = signal.getsignal(what)

        def on_signal(number, frame):
            _try(path)
            if callable(before):
                before(number, frame)

        signal.signal(what, on_signal)
        return
    if not issubclass(what, BaseException):
        raise TypeError("dump_on takes a signal's number or a class of exceptions")
    of_main, of_thread = sys.excepthook, threading.excepthook

    def on_exception(kind, value, traceback):
        if issubclass(kind, what):
            _try(path)
        of_main(kind, value, traceback)

    def in_thread(args):
        if issubclass(args.exc_type, what):
            _try(path)
        of_thread(args)

    sys.excepthook, threading.excepthook = on_exception, in_thread
