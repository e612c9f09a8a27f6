# SPDX-License-Identifier: Apache-2.0
"""The program kymo."""
import pathlib
import shutil


def find_kymo():
    """The one that came with this package, else the one in PATH; None: there is none."""
    own = pathlib.Path(__file__).parent / "bin" / "kymo"
    return str(own) if own.exists() else shutil.which("kymo")
