# SPDX-License-Identifier: Apache-2.0
"""start and stop. kymo.pth calls begin() in each interpreter whose environment asks for it."""
import contextlib
import os
import sys


def _tracer():
    from kymo import _kymo
    _kymo.hide(os.path.dirname(__file__) + os.sep)
    return _kymo


def start(natives=True, exceptions=True):
    """Traces all threads of this interpreter. Returns whether a recorder wants it."""
    tracer = _tracer()
    if not tracer.start(natives=natives, exceptions=exceptions):
        return False
    from kymo import _log
    _log.follow()
    return True


def stop():
    """Ends what start began."""
    _tracer().stop()


@contextlib.contextmanager
def traced(natives=True, exceptions=True):
    """Traces a block, or as a decorator a function."""
    start(natives=natives, exceptions=exceptions)
    try:
        yield
    finally:
        stop()


def begin():
    """At the start of an interpreter. Whatever goes wrong, the program runs."""
    try:
        start()
    except Exception as why:  # the program is not to be harmed
        print(f"kymo: python {sys.version_info.major}.{sys.version_info.minor} is not traced: {why}",
              file=sys.stderr)
