# SPDX-License-Identifier: Apache-2.0
"""Other libraries' markers, in the same loops with the same payloads: bench/peers/NAME_bench.c."""
import contextlib
import os
import re
import subprocess

from .machine import package
from .markers import EMPTY, can_count, instructions, measured, times
from .measure import Failed
from .results import Table

# Off, two numbers, two numbers and a text; of the latter two the bare writes.
KINDS = ["disabled", "instant32", "numbers_text"]


class Peer:
    """told: what it does with an event; package: whose version is shown; is_recorded: a reader gets
    them."""

    def __init__(self, name, program, told, package, arguments=(), is_recorded=True):
        self.name, self.program, self.told = name, program, told
        self.package, self.arguments, self.is_recorded = package, arguments, is_recorded


PEERS = [
    Peer("barectf", "barectf", "buffer of the thread's own, given with each call", "python3-barectf"),
    Peer("FxT", "fxt", "one buffer for all threads", "libfxt2"),
    Peer("LTTng-UST", "lttng", "buffer for each CPU, 8 of 1 MiB, written over", "liblttng-ust1"),
    Peer("ftrace", "ftrace", "formatted text, written to trace_marker", "linux"),
    Peer("SystemTap probe", "sdt", "nobody is attached: nothing is recorded", "systemtap-sdt-dev",
         is_recorded=False),
    Peer("SystemTap probe, attached", "sdt", "a uprobe records time and registers",
         "systemtap-sdt-dev", ["--attach"]),
]


def version_of(peer):
    return os.uname().release if peer.package == "linux" else package(peer.package)


@contextlib.contextmanager
def lttng_session(bench):
    """While it lasts, LTTng's events are recorded."""
    session = f"kymo-bench-{os.getpid()}"
    environment = dict(os.environ, LTTNG_HOME=bench.scratch)

    def ask(*argv):
        done = subprocess.run(["lttng", "-n", *argv], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Failed(f"lttng {argv[0]}: {done.stdout.strip()}")

    pidfile = bench.out("sessiond.pid")
    subprocess.run(["lttng-sessiond", "--no-kernel", "--background", "--pidfile", pidfile],
                   env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ask("create", session, "--output", bench.out("lttng"))
        ask("enable-channel", "-u", "events", "--overwrite", "--subbuf-size=1M", "--num-subbuf=8")
        ask("enable-event", "-u", "kymo_bench:two_words", "-c", "events")
        ask("enable-event", "-u", "kymo_bench:numbers_text", "-c", "events")
        ask("start")
        yield {"LTTNG_HOME": bench.scratch}
    finally:
        subprocess.run(["lttng", "-n", "destroy", session], env=environment,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if os.path.exists(pidfile):
            with open(pidfile) as f:
                os.kill(int(f.read()), 15)


def ns_of(lines, kind):
    if kind not in lines:
        return None
    return lines[kind].ns - (lines[EMPTY].ns if kind == "disabled" else 0)


def counts_of(bench, command, env=None):
    if not can_count():
        return "–"
    return " / ".join(f"{n:.0f}" for n in instructions(bench, command, KINDS[1:], env).values())


def run_peer(bench, peer, floors):
    """Lines of it, and its instructions; a Failed that says why there are none."""
    path = os.path.join(bench.build, f"bench/{peer.program}_bench")
    if not os.path.exists(path):
        raise Failed(f"{peer.package} is not installed")
    command = [path, *peer.arguments]
    session = lttng_session(bench) if peer.program == "lttng" else contextlib.nullcontext()
    with session as env:
        lines, _ = measured(bench, command, 1, floors, env=env)
        # A system call, or a trap, is no instruction of the program's.
        counts = "–" if peer.arguments or peer.program == "ftrace" else counts_of(bench, command, env)
    return lines, counts


def peers_table(bench, ours, counted, floors):
    """counted: instructions of our kinds and of floors; floors: of two numbers, of two numbers and a
    text. Returns name to ns of KINDS, of those that record."""
    table = Table("Markers beside others",
                  "The same payloads in the same loops, each library in a program of its own, one "
                  "thread; ns of its CPU time for one, medians; off: more than an empty function. The "
                  "ratio is to Kymo's. Nobody reads the others' buffers meanwhile. Instructions in "
                  "the program, by callgrind, of two numbers / and a text.",
                  ["", "version", "off", "two numbers", "ratio", "two numbers and a text", "ratio",
                   "instructions", "where it goes"])
    kymos = [ns_of(ours, kind) for kind in KINDS]

    def row(name, version, ns, counts, told):
        off, *others = ["–" if each is None else f"{each:.2f}" for each in ns]
        ratios = ["–" if each is None else times(each / mine)
                  for each, mine in zip(ns[1:], kymos[1:])]
        table.row(name, version, off, others[0], ratios[0], others[1], ratios[1], counts, told)

    def ours_counted(names):
        return " / ".join(f"{counted[name]:.0f}" for name in names) if counted else "–"

    row("Kymo", "this", kymos, ours_counted(KINDS[1:]), "buffer of the thread's own, written to a file")
    for place, told in (("warm", "a ring of the thread's own, in the cache"),
                        ("cold", "a ring of the thread's own, not in the cache")):
        row(f"bare write, {place}", "", [None, *(ours[f"{floor} {place}"].ns for floor in floors)],
            ours_counted(floors), told)
    found = {}
    for peer in PEERS:
        try:
            lines, counts = run_peer(bench, peer, floors)
        except Failed as why:
            bench.results.absent(f"markers: {peer.name}", re.sub(r"\s+", " ", str(why))[-200:])
            continue
        theirs = [ns_of(lines, kind) for kind in KINDS]
        if peer.is_recorded:
            found[peer.name] = theirs
        # The machine's state in that run, by what is the same in all of them.
        drift = lines[f"{floors[0]} warm"].ns / ours[f"{floors[0]} warm"].ns
        row(peer.name, version_of(peer), theirs, counts,
            f"{peer.told} (its bare write: {times(drift)} ours)")
    bench.results.add(table)
    return found
