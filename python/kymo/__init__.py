# SPDX-License-Identifier: Apache-2.0
"""Traces Python for Kymo: every call and return, exceptions, collections, imports and log records, on the
timeline of `kymo record --trace=python`. Markers, counters and labels of the program's own are in every recording.

Without a recorder nothing here does anything: start() returns False.
"""
from kymo._dump import dump, dump_on
from kymo._marks import counter, describe, label, marker, now, scope, set_label
from kymo._start import start, stop, traced

__all__ = ["counter", "describe", "dump", "dump_on", "label", "marker", "now", "scope", "set_label", "start", "stop", "traced"]
