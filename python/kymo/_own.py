# SPDX-License-Identifier: Apache-2.0
"""A recording of this process that the program itself begins, where no recorder has been there before: start(FILE)."""
import atexit
import os
import shutil
import subprocess
import sys

from kymo import _kymo
from kymo._program import find_kymo, find_library

_PATIENCE_S = 600
_FOR_EVER = "report=8760h"  # one interval: a single file
_FORMAT = ".kymo"  # that file's

_runs = None  # (process, folder, output); None: there is none


def default_name():
    """As `kymo record` names what it makes."""
    program = os.path.basename(sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c") else sys.executable)
    return f"kymo.{program}.{os.getpid()}{_FORMAT}"


def begin(output, settings):
    """Begins it. Until end() it is in a folder beside the output, where it stays if the process is killed."""
    global _runs
    if _runs and _runs[0] == os.getpid():
        return
    kymo = find_kymo()
    library = find_library(kymo)
    if not kymo or not library:
        raise FileNotFoundError("the program kymo and libkymo.so are neither in this package nor where kymo is installed")
    output = os.path.abspath(default_name() if output is True else os.fspath(output))
    if not os.path.isdir(os.path.dirname(output)):
        raise FileNotFoundError(f"{os.path.dirname(output)}: no such folder")
    folder = f"{output}.unfinished"
    asked = [word for word in settings.split(",") if word]
    fixed = ["trace=python", _FOR_EVER, f"reporter=local:{folder.replace(',', '%2C')}", "format=kymo"]
    _kymo.begin_own(library, kymo, ",".join([*asked, *fixed]))
    _runs = os.getpid(), folder, output
    atexit.register(end)


def end():
    """Ends it and writes the output. A forked child has a part in its parent's recording, and ends nothing."""
    global _runs
    if not _runs or _runs[0] != os.getpid():
        return
    (_, folder, output), _runs = _runs, None
    atexit.unregister(end)
    _kymo.stop()
    _kymo.end_own(_PATIENCE_S)
    made = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(_FORMAT)]
    if not made:
        raise OSError(f"kymo: nothing was recorded in {folder}")
    if output.endswith(_FORMAT):
        os.replace(made[0], output)
    else:
        convert(made[0], output)
    shutil.rmtree(folder, ignore_errors=True)


def convert(recording, output):
    done = subprocess.run([find_kymo(), "convert", "-q", "-f", recording, "-o", output],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise OSError(f"{done.stderr.decode(errors='replace').strip()} (the recording is {recording})")
