# SPDX-License-Identifier: Apache-2.0
"""What the tests of `kymo agent` share: its command line, and the profiles that it wrote."""
import json
import os
import pathlib
import re

from kymotest import BUILD, KYMO, check, folder, run

DUMP = BUILD / "tests" / "recording_dump"


def agent_command(argv, *options, to=None):
    where = [] if to is None else [f"--reporter=local:{to}"]
    return [KYMO, "agent", *where, *options, "--", *argv]


def environment(**more):
    """Without what the machine's own environment says of clouds and proxies; with an empty home."""
    env = {name: value for name, value in os.environ.items()
           if not re.match(r"AWS_|ECS_|OTEL_|SSL_|CURL_|K8S_|POD_|KYMO_OPTIONS", name)
           and not name.lower().endswith("_proxy")}
    env.update(HOME=str(folder()), AWS_EC2_METADATA_DISABLED="true")
    env.update({name: str(value) for name, value in more.items() if value is not None})
    return env


def profiles(place):
    """The files, in the order of their intervals."""
    def number(path):
        return int(re.search(r"Z\.(\d+)\.", path.name).group(1))
    return sorted((p for p in pathlib.Path(place).iterdir() if not p.name.startswith(".")), key=number)


def report(path, *arguments):
    out = run([KYMO, "report", path, "--json", "--top", "0", *arguments])
    check(out.status == 0, f"{path.name}: status {out.status}: {out.stderr}")
    check("inconsistent" not in out.stderr and "damaged" not in out.stderr, out.stderr)
    return json.loads(out.stdout)


def has_ended(path):
    """Whether it is of a program that ended: the last one."""
    dump = run([DUMP, path])
    return re.search(r"^end time=\d+ clean=1", dump.stdout, re.M) is not None


def last_only(place, least=1):
    """Of these profiles only the last one says that the program has ended."""
    files = profiles(place)
    check(len(files) >= least, f"only {len(files)} profiles")
    ended = [has_ended(p) for p in files]
    check(ended == [False] * (len(files) - 1) + [True], f"ended: {ended}")
    return files
