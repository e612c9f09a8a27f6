# SPDX-License-Identifier: Apache-2.0
"""Programs that start, trace, serve or fence in others: what they print and how they end is as without
Kymo, in every way of recording, and what of it cannot be recorded is named with the reason."""
import os
import pathlib
import shutil

from kymotest import KYMO, NOBODY, add_case, check, folder, main, record, run, say, skip, ways

COUNT = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo $i"


def as_alone(command, why=None, *, is_watched=False, **how):
    """why: what is said of something that is not recorded. is_watched: it may be sampled from outside; then there
    is nothing to say where CPU samples are all that is recorded."""
    plain = run(command, **how)
    for way in ways():
        recording = record(command, engine=way, **how)
        result = recording.result
        told = run([KYMO, "report", recording.path, "--top", "1"]).stderr
        count = len(recording.report().data["processes"])
        say(f"{way}: status {result.status}, {count} processes")
        check((result.status, result.stdout, result.stderr) ==
              (plain.status, plain.stdout, plain.stderr),
              f"{way}: status {result.status}, {result.stdout!r} {result.stderr!r}; alone "
              f"{plain.status}, {plain.stdout!r} {plain.stderr!r}")
        check(why is None or why in told or (is_watched and way == "perf"), f"{way}: not said: {why}; but: {told}")
    return plain


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            skip(f"there is no {program}")


def git():
    """clone starts servers that talk through pipes, and threads in some of them."""
    needs("git")
    where = folder()
    made = run(["sh", "-c", "git init -q a && cd a && for i in 1 2 3 4 5 6 7 8; do "
                "seq ${i}000 ${i}999 >f$i; done && git add . && "
                "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -qm a"],
               cwd=where)
    check(made.status == 0, made.stderr)
    plain = as_alone(["sh", "-c", "rm -rf b && git clone -q \"file://$PWD/a\" b && git -C b log -p "
                      "| md5sum && git -C b fsck --full --no-progress"], cwd=where)
    check(plain.status == 0, plain.stderr)


POOLS = """
import multiprocessing
def work(x):
    return sum(range(x * 1000))
if __name__ == "__main__":
    for way in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(way).Pool(3) as pool:
            print(way, pool.map(work, range(20))[-1])
"""


def pools():
    """Worker processes of all three kinds, with threads beside them, and SIGTERM for their end."""
    script = folder() / "pools.py"
    script.write_text(POOLS)
    plain = as_alone(["/usr/bin/python3", script])
    check(plain.status == 0 and plain.stdout.count("\n") == 3, plain.stderr)


def terminal():
    """A program on a terminal of its own."""
    needs("script")
    plain = as_alone(["script", "-qec", f"tty -s && {COUNT}; exit 4", "/dev/null"])
    check(plain.status == 4 and "20000" in plain.stdout, plain.stdout)


# Each run has a socket of its own: the server of the one before may still be ending.
TMUX = """
export TMUX_TMPDIR="$1/$$"
mkdir "$TMUX_TMPDIR"
tmux -f /dev/null new-session -d -s one "sleep 60" &&
    tmux run-shell "i=0; while [ \\$i -lt 20000 ]; do i=\\$((i + 1)); done; echo \\$i >$TMUX_TMPDIR/out" &&
    tmux list-sessions -F "#{session_name}" && cat "$TMUX_TMPDIR/out"
tmux kill-server
echo "the server was told to end: $?"
"""


def tmux():
    """A server that detaches, commands that it runs, and its end."""
    needs("tmux")
    plain = as_alone(["sh", "-c", TMUX, "sh", folder()])
    check(plain.stdout == "one\n20000\nthe server was told to end: 0\n", plain.stdout)


def sudo():
    """Root becomes another user, which gains nothing; the other way round something is gained."""
    needs("sudo")
    command = ["sudo", "-n", "-u", "nobody", "sh", "-c", f"id -un; {COUNT}; exit 3"]
    if os.geteuid() != 0 or run(["sudo", "-n", "-u", "nobody", "true"]).status != 0:
        skip("sudo does not let us")
    plain = as_alone(command)
    check(plain.status == 3 and plain.stdout == "nobody\n20000\n", plain.stdout)


def set_user():
    """A program of root's that anybody may run as root."""
    if os.geteuid() != 0:
        skip("not root: no such program can be made")
    where = folder()
    program = pathlib.Path(shutil.copy2("/usr/bin/id", where / "id-of-root"))
    program.chmod(0o4755)
    command = ["sh", "-c", f"{program} -un; exit 5"]
    if run(command, user=NOBODY).stdout != "root\n":
        skip("the folder for temporary files does not honour the bit")
    as_alone(command, "gains privileges", user=NOBODY)


def strace():
    needs("strace")
    command = ["strace", "-f", "-o", "/dev/null", "sh", "-c", f"{COUNT} | cat; exit 8"]
    if run(command).status != 8:
        skip("ptrace is not permitted here")
    as_alone(command)


GDB = """
gdb -nx -q -batch -ex starti -ex "stepi 1000" -ex continue -ex 'print $_exitcode' \\
    --args sh -c "$1; exit 4" 2>/dev/null | grep -E '^([0-9]+|.1 = .*)$'
"""


def gdb():
    """It steps, lets its program go on, and passes our signals on to it."""
    needs("gdb")
    command = ["sh", "-c", GDB, "sh", COUNT]
    if run(command).stdout != "20000\n$1 = 4\n":
        skip("gdb does not run here")
    as_alone(command)


def valgrind():
    needs("valgrind")
    command = ["sh", "-c", "valgrind -q --error-exitcode=9 sh -c 'echo there; exit 6'"]
    if run(command).status != 6:
        skip("valgrind does not run here")
    as_alone(command, "statically linked", is_watched=True)


def perf():
    """Another profiler's events beside ours, on the same threads."""
    needs("perf")
    command = ["perf", "record", "-q", "-o", folder() / "perf.data", "sh", "-c", f"{COUNT}; exit 7"]
    if run(command).status != 7:
        skip("perf does not run here")
    as_alone(command)


CONTAINER = """
mount -t tmpfs none "$1" && mkdir "$1/old" "$1/proc" && cp -L /bin/sh "$1/sh" || exit 77
for file in $(ldd /bin/sh | grep -o '/[^ ]*x86[-_]64[^ ]*'); do
    mkdir -p "$1${file%/*}" && cp -L "$file" "$1$file"
done
mount -t proc none "$1/proc" && cd "$1" && pivot_root . old && exec /sh -c 'echo $$ in here; exit 6'
"""


def container():
    """As a container is started: new namespaces, another root, process 1."""
    needs("unshare", "pivot_root")
    command = ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "sh", "-c", CONTAINER, "sh",
               folder()]
    plain = run(command)
    if plain.status != 6:
        skip(f"no container can be made here: {plain.stderr}")
    check(plain.stdout == "1 in here\n", plain.stdout)
    as_alone(command, "its loader is not the glibc that we run under", is_watched=True)


CHROMIUM = """
exec chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$1" --dump-dom 2>/dev/null \
    'data:text/html,<p id=a>-</p><script>let s = 0; for (let i = 0; i < 3e6; i++) s += i % 7;
    document.getElementById("a").textContent = s</script>'
"""


def chromium():
    """Some thirty processes with filters, their own signals and shared memory. (Not on the list of
    what the tests install: it is large.)"""
    needs("chromium")
    plain = as_alone(["sh", "-c", CHROMIUM, "sh", folder()])
    check("<p id=\"a\">8999994</p>" in plain.stdout, plain.stdout)


for what in (git, pools, terminal, tmux, sudo, set_user, strace, gdb, valgrind, perf, container,
             chromium):
    add_case(what.__name__, what)
main()
