# SPDX-License-Identifier: Apache-2.0
"""The program kymo, and the library by which a program records itself."""
import os
import pathlib
import shutil


def find_kymo():
    """The one that came with this package, else the one in PATH; None: there is none."""
    own = pathlib.Path(__file__).parent / "bin" / "kymo"
    return str(own) if own.exists() else shutil.which("kymo")


def find_library(kymo):
    """The one of this kymo: in this package, installed, or in a folder where both were built."""
    if not kymo:
        return None
    folder = pathlib.Path(os.path.realpath(kymo)).parent
    places = [folder.parent / "lib", *sorted(folder.parent.glob("lib/*-linux-*")), folder.parent / "lib64",
              folder.parent / "start"]
    return next((str(p / "libkymo.so.0") for p in places if (p / "libkymo.so.0").exists()), None)
