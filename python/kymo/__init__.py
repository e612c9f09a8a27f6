# SPDX-License-Identifier: Apache-2.0
"""Traces Python for Kymo: every call and return, exceptions, collections, imports and log records, on the
timeline of `kymo record --trace=python`.

Without a recorder nothing here does anything: start() returns False.
"""
from kymo._start import start, stop, traced

__all__ = ["start", "stop", "traced"]
