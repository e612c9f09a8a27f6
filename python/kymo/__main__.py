# SPDX-License-Identifier: Apache-2.0
"""usage: python -m kymo [OPTIONS] SCRIPT|-m MODULE|-c CODE|- [ARGUMENTS]

Records a Python program with every call: `kymo record --trace=python` of this interpreter. OPTIONS are
those of `kymo record`.
"""
import os
import sys

from kymo._program import find_kymo


def split(words):
    """The options, and what follows them. An option's value is joined by = or follows -o, -F and -p."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "-m", "-c", "--"):
        at += 2 if words[at] in ("-o", "-F") else 1
    rest = words[at:]
    return words[:at], rest[1:] if rest[:1] == ["--"] else rest


def need_kymo():
    kymo = find_kymo()
    if not kymo:
        sys.exit("kymo: the program kymo is neither in this package nor in PATH")
    return kymo


def program():
    """The command kymo of the package."""
    kymo = need_kymo()
    os.execv(kymo, [kymo, *sys.argv[1:]])


def main():
    options, program = split(sys.argv[1:])
    if not program or options[:1] in (["-h"], ["--help"]):
        print(__doc__.strip(), file=sys.stdout if options else sys.stderr)
        sys.exit(0 if options else 2)
    kymo = need_kymo()
    os.execv(kymo, [kymo, "record", "--trace=python", *options, "--", sys.executable, *program])


if __name__ == "__main__":
    main()
