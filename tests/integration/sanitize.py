# SPDX-License-Identifier: Apache-2.0
"""kymo convert --sanitize: no byte of what is private is in any file, and every sum stays.

The workload has a word of its own, s3cret-KIND, in each text that a program can make; the test adds the host's
name, arguments, the environment, and folders. Each word must be in a file that is not sanitized, or the search
could find nothing.
"""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess

from kymotest import KYMO, WORKLOADS, case, check, folder, main, record_command, run, say

WORD = re.compile(rb"s3cret[-@][a-z-]+")
FORMATS = ("json", "json.gz", "pb.gz", "jfr", "svg", "folded", "trace.json", "trace.json.gz")
# "s3cret-environment" is never recorded; a mapped file is in no file but the recording.
PLANTED = {b"s3cret-" + kind for kind in (
    b"text", b"url", b"argument-of-a-format", b"field", b"name", b"home", b"script", b"label", b"password",
    b"folder", b"source")} | {b"s3cret@track", b"s3cret@thread"}
HOST = b"s3cret-host"


def plain(path):
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def words_of(path):
    """What is private in a file, with the folder of the workload's sources and that of this test's files."""
    data = plain(path)
    found = set(WORD.findall(data))
    for secret in (b"tests/workloads/", b"kymo-test-"):
        if secret in data:
            found.add(secret)
    return found


def record_secrets():
    """Under another host's name, if that is permitted."""
    where = folder() / "s3cret-folder"
    where.mkdir()
    data = where / "s3cret-file.db"
    data.write_bytes(b"x" * (8 << 20))
    program = shutil.copy2(WORKLOADS / "secrets", where)
    path = where / "recording.kymo"
    command = record_command([program, data, "--password=s3cret-password"], path, options=("--alloc=0",))
    host = ["unshare", "--uts", "sh", "-c", f'hostname {HOST.decode()}.example.org && exec "$0" "$@"']
    has_host = subprocess.run([*host, "true"], capture_output=True).returncode == 0
    if not has_host:
        say("the host's name cannot be changed here: it is not looked for")
    out = run([*(host if has_host else []), *command], env={**os.environ, "S3CRET": "s3cret-environment"})
    check(out.status == 0 and out.stdout == "done\n", f"{out.status}: {out.stdout} {out.stderr}")
    for left in pathlib.Path("/tmp").glob("perf-*.map"):
        if b"s3cret-home" in left.read_bytes():
            left.unlink()
    return path, has_host


def convert(path, name, *arguments):
    file = folder() / name
    out = run([KYMO, "convert", path, "-q", *arguments, "-o", file])
    check(out.status == 0 and file.stat().st_size, f"kymo convert {arguments} -o {name}: {out.status}: {out.stderr}")
    return file


def selves(file, *arguments):
    out = run([KYMO, "report", file, "--json", "--top", "0", *arguments])
    check(out.status == 0, f"kymo report: {out.stderr}")
    sums = {}
    for row in json.loads(out.stdout)["functions"]:
        sums[row["name"]] = sums.get(row["name"], 0) + row["self"]
    return sums


@case
def no_word_is_left():
    path, has_host = record_secrets()
    wanted = PLANTED | ({HOST} if has_host else set())
    shown = set()
    for format_ in FORMATS:
        shown |= words_of(convert(path, f"x.{format_}"))
        left = words_of(convert(path, f"x.{format_}", "--sanitize"))
        check(not left, f"x.{format_}: {left}")
    say(f"not sanitized, the files hold {sorted(w.decode() for w in shown)}")
    host = {w for w in shown if w.startswith(HOST)}
    check(wanted - host <= shown | host and (host or not has_host), f"not planted: {wanted - shown}")
    check(b"s3cret-environment" not in shown, "the environment is recorded")
    for format_ in ("pb.gz", "folded", "svg"):
        left = words_of(convert(path, f"x.{format_}", "--sanitize", "--mode", "live"))
        check(not left, f"x.{format_} of the heap: {left}")
    left = words_of(convert(path, "x.json", "--sanitize", "--counters=all", "--thread", "s3cret@*"))
    check(not left, f"a part: {left}")
    # What was another profiler's file before.
    for format_ in ("pb.gz", "folded", "json"):
        left = words_of(convert(convert(path, f"x.{format_}"), "y.json", "--sanitize"))
        # Collapsed stacks say of no name what it is: the thread's is a function's there.
        check(left <= ({b"s3cret@thread"} if format_ == "folded" else set()), f"from x.{format_}: {left}")


@case
def sums_stay():
    path, _ = record_secrets()
    for mode in (), ("--mode", "alloc"):
        files = [convert(path, "x.pb.gz", *mode, *how) for how in ((), ("--sanitize",))]
        how = ("--mode", "alloc_space") if mode else ("--mode", "cpu")
        whole, clean = (selves(file, *how) for file in files)
        changed = {name for name in whole if "s3cret" in name}
        check(mode or len(changed) > 0, "no function's name has a secret")
        same = {name: value for name, value in whole.items() if name not in changed}
        check({name: clean.get(name) for name in same} == same, f"{clean}, before {whole}")
        check(sum(clean.values()) == sum(whole.values()), "the total")
        check(sorted(clean.values()) == sorted(whole.values()), f"{clean}, before {whole}")
        say(f"{len(same)} functions of {len(whole)} have the same names, and all the same sums")


main()
