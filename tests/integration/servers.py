# SPDX-License-Identifier: Apache-2.0
"""Servers that nobody here wrote, under load and under Kymo: they answer right and end well, their
logs and clients say nothing that they do not say alone, and their stacks are complete. How quick
they are is measured by bench/run servers."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import servers
from servers.server import Session
from kymotest import (Recording, add_case, check, folder, main, offers, record_command, say, skip,
                      tools_for)

SECONDS = 2


def loaded(server, seconds, prefix=()):
    """One session under load; returns it and the rate."""
    with Session(server, prefix) as session:
        load = server.load(seconds)
        wrong = server.verify()
    check(not load.errors, f"the client saw {load.errors}")
    check(not wrong, f"the server is wrong: {wrong}")
    check(session.status == server.end_status, f"status {session.status}: {session.said}")
    return session, load.rate


def works(name):
    kind = servers.KNOWN[name]
    if kind.missing():
        skip(f"not installed (tools/install-deps load): {' '.join(kind.missing())}")
    server = kind(folder() / name)
    server.prepare()
    alone, rate_alone = loaded(server, 1)

    path = folder() / "recording.kymo"
    user = server.user.pw_uid if server.user else None
    options = ["--wall=10ms"] if offers("--wall") else []
    session, rate = loaded(server, SECONDS,
                           record_command([], path, options=options, user=user))
    new = session.complaints - alone.complaints
    check(not new, f"said only under Kymo: {sorted(new)}")
    ours = [line for line in session.said.splitlines() if "kymo:" in line]
    check(not ours, f"Kymo says {ours}")

    report = Recording(path, None, tools_for(None)).report()
    quality = report.quality
    processes = report.data["processes"]
    say(f"{rate:.0f} requests a second, {rate_alone:.0f} alone; {quality['engine']}, "
        f"{quality['samples']} samples, {quality.get('wall_samples') or 0} of wall time, in "
        f"{len(processes)} processes, "
        f"{report.total_s:.2f} s, complete {quality['stacks_complete']}, "
        f"achieved {quality['achieved']}, disturbed {quality['disturbed']}")
    check(not report.lost(), f"lost: {report.lost()}")
    check(report.total_s > 0.05 or not offers("children") and name in ("nginx", "postgres"),
          f"only {report.total_s:.3f} s were recorded")
    if server.own_frames and quality["samples"]:
        # One of some hundreds is more than a thousandth.
        broken = round((1 - quality["stacks_complete"]) * quality["samples"])
        check(broken <= 1 + 0.001 * quality["samples"],
              f"stacks_complete {quality['stacks_complete']}: {broken} are not")
    if server.own_frames:
        check(quality["disturbed"] <= 0.001 * quality["samples"] + 1,
              f"{quality['disturbed']} calls were disturbed")
    if offers("children") and name in ("nginx", "postgres"):
        check(len(processes) >= 3, f"only {len(processes)} processes were recorded")


for known in servers.KNOWN:
    add_case(known, works, known)
main()
