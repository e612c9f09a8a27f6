# SPDX-License-Identifier: Apache-2.0
"""Traces Python for Kymo: every call and return, exceptions, collections, imports and log records, on the
timeline of `kymo record --trace=python`. Markers, counters and labels of the program's own are in every recording.

Without a recorder nothing here does anything, but start(FILE) and traced(FILE): they record this process.
"""
import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:  # for editors
    from kymo._dump import dump, dump_on
    from kymo._marks import counter, describe, label, marker, now, scope, set_label
    from kymo._start import pause, resume, start, stop, traced

__all__ = ["counter", "describe", "dump", "dump_on", "label", "marker", "now", "pause", "resume", "scope", "set_label",
           "start", "stop", "traced"]

_PARTS = {"dump": "kymo._dump", "dump_on": "kymo._dump",
          "pause": "kymo._start", "resume": "kymo._start", "start": "kymo._start", "stop": "kymo._start",
          "traced": "kymo._start"}


def __getattr__(name):
    """Loads a part when it is first used: kymo.pth imports this package into each interpreter that is traced."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_PARTS.get(name, "kymo._marks")), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
