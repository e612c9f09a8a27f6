#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""readme.py KYMO README - the commands below the README's heading "Use" work, typed in their order.

./program, the Makefile and the process that runs already are ours; everything else is as it is written there.
"""
import os
import re
import subprocess
import sys
import tempfile

KYMO, README = (os.path.abspath(path) for path in sys.argv[1:3])
BUSY = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"


def commands():
    section = re.search(r"^## Use\n(.*?)^## ", open(README).read(), re.M | re.S).group(1)
    block = re.search(r"^```\n(.*?)^```", section, re.M | re.S).group(1)
    return [re.sub(r"\s+#.*", "", line) for line in block.splitlines() if line.startswith("kymo ")]


def main():
    lines = commands()
    if len(lines) < 5:
        sys.exit(f"only {len(lines)} commands were found in {README}")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="kymo-readme-") as folder:
        os.mkdir(folder + "/bin")
        os.symlink(KYMO, folder + "/bin/kymo")
        with open(folder + "/program", "w") as f:
            f.write(f"#!/bin/sh\n{BUSY}\n")
        os.chmod(folder + "/program", 0o755)
        with open(folder + "/Makefile", "w") as f:
            f.write("all:\n\t" + BUSY.replace("$", "$$") + "\n")
        env = {k: v for k, v in os.environ.items() if not k.startswith("KYMO_")}
        env["PATH"] = folder + "/bin:" + env["PATH"]
        # A make above us has a job server that is not meant for the one that is recorded.
        env.pop("MAKEFLAGS", None)
        running = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        for line in lines:
            typed = line.replace("-p 1234", f"-p {running.pid}").replace("--duration=10s", "--duration=1s")
            run = subprocess.run(typed, shell=True, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True)
            ok = run.returncode == 0 or "perf events, which are not permitted" in run.stderr
            failed += not ok
            print(f"{'ok' if ok else 'FAILED'}  {line}")
            if not ok:
                print(f"status {run.returncode}\n{run.stdout}{run.stderr}")
        running.kill()
    sys.exit(1 if failed else 0)


main()
