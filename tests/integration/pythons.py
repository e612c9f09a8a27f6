# SPDX-License-Identifier: Apache-2.0
"""The CPythons of this machine whose frames Kymo reads: the system's, pyenv's, and those that KYMO_PYTHONS
names (paths, with colons between them)."""
import collections
import glob
import os

from kymotest import run

VERSIONS = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]

Interpreter = collections.namedtuple("Interpreter", "name version path")


def version_of(path):
    out = run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
    return out.stdout.strip() if out.status == 0 else None


def is_debug_build(path):
    return run([path, "-c", "import sys; sys.exit(not hasattr(sys, 'gettotalrefcount'))"]).status == 0


def find_interpreters():
    """What is named first is preferred."""
    places = os.environ.get("KYMO_PYTHONS", "").split(":")
    places += ["/usr/bin/python3", *sorted(glob.glob("/usr/bin/python3.[0-9]*"))]
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    places += sorted(glob.glob(f"{root}/versions/*/bin/python3"))
    found = {}
    for place in places:
        if os.access(place, os.X_OK):
            found.setdefault(os.path.realpath(place), place)
    out = []
    for path in found:
        version = version_of(path)
        if version in VERSIONS:
            origin = "debian" if path.startswith("/usr/bin/") else "other"
            origin += "-debug" if is_debug_build(path) else ""
            out.append(Interpreter(f"{version}.{origin}", version, path))
    return out


def one_of_each_version(interpreters, checked=False):
    """For what each version has in another place; checked: a debug build is preferred, since it checks what an
    extension does."""
    found = {}
    for i in sorted(interpreters, key=lambda i: i.name.endswith("-debug") != checked):
        found.setdefault(i.version, i)
    return [i for i in interpreters if i in found.values()]


def one_of_each_kind(interpreters, checked=False):
    """For what works in another way: frames that are counted, up to 3.10, or matched by address, and calls by a profile
    function, up to 3.11, or by sys.monitoring."""
    each = one_of_each_version(interpreters, checked)
    return [i for i in each if i.version in ("3.10", "3.11", "3.13")] or each


def some_of(interpreters):
    """Those that suffice for what the layout of a version does not change: one whose frames are counted, and one
    whose frames are matched by address."""
    return [i for i in interpreters if i.version in ("3.10", "3.13")] or interpreters[-1:]
