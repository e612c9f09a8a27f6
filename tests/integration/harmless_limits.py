# SPDX-License-Identifier: Apache-2.0
"""Programs whose memory, files or stacks are limited do under Kymo what they do alone."""
import os
import pathlib

from as_alone import ENGINES, same
from kymotest import WORKLOADS, add_case, case, check, folder, main, record, record_command, run, say, skip


def hazard(name):
    same([WORKLOADS / "hazards", name], is_sampled=True)


for mode in ("rlimit-fsize", "lowmem"):
    add_case(mode, hazard, mode)


@case
def address_space():
    """Of a limited address space hardly anything goes to us."""
    same(["sh", "-c", "ulimit -v 307200 && exec \"$0\" space 240", WORKLOADS / "hazards"], is_sampled=True)


@case
def locked():
    """mlockall locks the program's memory and not ours, with or without a limit that suffices alone."""
    for limit in ([], ["5"], ["1"]):
        same([WORKLOADS / "hazards", "lock", *limit], is_sampled=True)
    plain = run([WORKLOADS / "hazards", "lock"])
    result = record([WORKLOADS / "hazards", "lock"], options=["--alloc=0"]).result
    check((result.status, result.stdout) == (0, plain.stdout), f"{result.stdout} {result.stderr}")


@case
def limited_exec():
    """A stack whose limit is lower than it was, and an environment that exec refuses then: E2BIG."""
    same(["/usr/bin/python3", "-c", "import os, resource\n"
          "env = {f'V{i:06d}': 'x' for i in range(60000)}\n"
          "resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10))\n"
          "try: os.execve('/bin/true', ['true'], env)\nexcept OSError as e: print(e.errno)"])


@case
def file_size_limit():
    """ulimit -f 1 in the shell that starts the program: kymo's own files are limited as well, but
    no program dies of it."""
    where = folder()
    command = ["sh", "-c", "ulimit -f 1; exec \"$0\" 0.4 >out", str(WORKLOADS / "split")]
    for engine in ENGINES:
        recording = record(command, engine=engine, cwd=where)
        check(recording.result.status == 0, f"status {recording.result.status}: "
              + recording.result.stderr)
        check("split-right" in (where / "out").read_text(), "the program did not end")


def memory_group():
    """A new cgroup of 64 MiB; None where such cannot be made."""
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                        ("/sys/fs/cgroup", "memory.max")):
        group = pathlib.Path(root) / f"kymo-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(64 << 20))
            return group
        except OSError:
            group.rmdir()
    return None


@case
def small_cgroup():
    """Kymo and the program together in 64 MiB."""
    group = memory_group()
    if group is None:
        skip("no cgroup with a memory limit can be made here")
    try:
        enter = ["sh", "-c", f"echo $$ > {group}/cgroup.procs && exec \"$@\"", "sh"]
        program = [WORKLOADS / "split", "0.4"]
        for engine in ENGINES:
            path = folder() / "recording.kymo"
            result = run(enter + [str(a) for a in record_command(program, path, engine=engine)])
            check(result.status == 0, f"status {result.status}: {result.stderr}")
            check("split-right" in result.stdout, "the program did not end")
            failures = [(group / f).read_text().strip() for f in ("memory.failcnt", "memory.events")
                        if (group / f).exists()]
            say(f"{engine}: ended well; the limit was hit: {failures}")
    finally:
        group.rmdir()


main()
