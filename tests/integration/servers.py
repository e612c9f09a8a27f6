# SPDX-License-Identifier: Apache-2.0
"""Servers of Debian, under load and under Kymo: they answer right and end well, their
logs and clients say nothing that they do not say alone, and their stacks are complete. How quick
they are is measured by bench/run servers."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import servers
from servers.server import Session
from kymotest import (Late, Recording, add_case, check, check_complete, check_nothing_lost, folder, main,
                      record_command, say, skip, tools_for, tried_again)

SECONDS = 1


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
    kind = servers.TESTED[name]
    if kind.missing():
        skip(f"not installed (tools/install-deps load): {' '.join(kind.missing())}")
    server = kind(folder() / name)
    server.prepare()
    alone, rate_alone = loaded(server, 1)

    for options in ([], ["--wall=10ms"], ["--alloc"]):
        # Each by itself: three in a row that are not late may be rare.
        tried_again(judge, Late)(server, alone, rate_alone, options)


def judge(server, alone, rate_alone, options):
    path = folder() / "recording.kymo"
    user = server.user.pw_uid if server.user else None
    session, rate = loaded(server, SECONDS,
                           record_command([], path, options=options, user=user))
    new = session.complaints - alone.complaints
    check(not new, f"said only under Kymo: {sorted(new)}")
    ours = [line for line in session.said.splitlines() if "kymo:" in line]
    check(not ours, f"Kymo says {ours}")

    report = Recording(path, None, tools_for(None)).report()
    quality = report.quality
    processes = report.data["processes"]
    samples = quality["samples"]
    # A thread that runs, and ends before a CPU sample found it, has no stack that could be broken.
    stacks = samples - quality.get("wall_stackless", 0)
    broken = round((1 - quality["stacks_complete"]) * stacks) if stacks else 0
    say(f"{' '.join(options)} {rate:.0f} requests a second, {rate_alone:.0f} alone; "
        f"{quality['engine']}, {samples} samples, {quality.get('wall_samples') or 0} of wall time, "
        f"in {len(processes)} processes, {report.total_s:.2f} s, {samples - stacks} without a stack, "
        f"{broken} stacks not complete, "
        f"achieved {quality['achieved']}, disturbed {quality['disturbed']}")
    check_nothing_lost(report.quality)
    # On a busy machine a server has little to do.
    check(samples > 0 and report.total_s > 0, f"only {report.total_s:.3f} s were recorded")
    # One worker may get all there is; each client has a process of its own.
    least = {"nginx": 2, "postgres": 4}.get(server.name, 1)
    check(len(processes) >= least, f"only {len(processes)} processes were recorded")
    if not server.own_frames:
        return
    # Where wall time is asked for, of few calls one or another.
    check(quality["disturbed"] <= (1 + 0.001 * samples if options else 0),
          f"{quality['disturbed']} calls were disturbed")
    # A stack may be longer than its copy; until a recorder that is late knows it, so may the next ones be.
    check_complete(report)


for known in servers.TESTED:
    add_case(known, works, known)
main()
