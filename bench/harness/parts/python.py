# SPDX-License-Identifier: Apache-2.0
"""Python: each module of this list measures one thing of it."""
from . import python_sampling

MEASURES = (python_sampling,)


def run(bench):
    for measure in MEASURES:
        measure.run(bench)
