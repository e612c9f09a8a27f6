# SPDX-License-Identifier: Apache-2.0
"""Python: each module of this list measures one thing of it."""
from . import python_sampling, python_tracing

MEASURES = (python_sampling, python_tracing)


def run(bench):
    for measure in MEASURES:
        measure.run(bench)
