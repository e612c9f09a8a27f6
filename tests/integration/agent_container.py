# SPDX-License-Identifier: Apache-2.0
"""`kymo agent` in the place of a program: as process 1 of a container, where orphans become its children
and signals reach nobody else, and as the process that a service's manager knows.
"""
import os
import signal
import sys

from agents import agent_command, last_only
from kymotest import Running, case, check, folder, main, run, skip, wait_until

# Says what it gets, until it is told to end by SIGTERM; then its status is 7.
LISTENER = """
import os, signal, sys
def tell(signo, frame):
    print(signal.Signals(signo).name if signo in list(signal.Signals) else signo, flush=True)
    if signo == signal.SIGTERM:
        os._exit(7)
for signo in %s:
    signal.signal(signo, tell)
print("ready", flush=True)
while True:
    signal.pause()
"""
# Makes processes whose parent ends before them, and waits until none of them is left as a zombie.
ORPHANS = """
import os, sys, time
for i in range(40):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.05 + i %% 4 * 0.05)
        os._exit(0)
    os.wait()
def zombies():
    found = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found += " Z " in open(f"/proc/{name}/stat").read()
            except OSError:
                pass
    return found
others = lambda: len([n for n in os.listdir("/proc") if n.isdigit()])
time.sleep(0.4)
for i in range(3000):
    if others() <= %d and zombies() == 0:
        print("none left")
        break
    time.sleep(0.01)
else:
    print(zombies(), "zombies,", others(), "processes")
sys.exit(5)
"""


def in_container(command):
    """The command as process 1 of a pid namespace."""
    as_user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    unshare = ["unshare", *as_user, "--pid", "--fork", "--mount-proc", "--kill-child"]
    if run([*unshare, "true"]).status != 0:
        skip("no container can be made here")
    return [*unshare, *command]


def python(text):
    return [sys.executable, "-c", text]


def written(program):
    return os.pread(program.files[1].fileno(), 10000, 0).decode().split()


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


@case
def orphans():
    """Every orphan of a container is reaped, and the status is the program's."""
    place = folder() / "profiles"
    # Process 1, the recorder, the program; a worker or two of the recorder's come and go.
    command = agent_command(python(ORPHANS % 5), "-q", "--report=200ms", to=place)
    result = run(in_container(command))
    check(result.status == 5, f"status {result.status}: {result.stdout} {result.stderr}")
    check(result.stdout == "none left\n", result.stdout)
    last_only(place)


def passed_on(command, find):
    """What is sent to the process that find() names reaches the program, SIGTERM at last."""
    signals = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH,
               signal.SIGRTMIN + 3, signal.SIGTERM]
    program = Running(command(python(LISTENER % [int(s) for s in signals])))
    wait_until("the program", lambda: written(program) == ["ready"])
    target = find(program.process.pid)
    for n, signo in enumerate(signals[:-1]):
        os.kill(target, signo)
        wait_until(f"signal {signo}", lambda n=n: len(written(program)) == n + 2)
    os.kill(target, signals[-1])
    result = program.finish()
    names = [s.name if isinstance(s, signal.Signals) else str(s) for s in signals]
    check(result.stdout.split() == ["ready", *names], f"{result.stdout} {result.stderr}")
    check(result.status == 7, f"status {result.status}: {result.stderr}")


@case
def signals_of_container():
    """Process 1 gets them, and the program; its end is the container's."""
    place = folder() / "profiles"
    passed_on(lambda argv: in_container(agent_command(argv, "-q", to=place)), lambda pid: child_of(pid)[0])
    last_only(place)


@case
def signals_of_service():
    """The agent stands for the service."""
    place = folder() / "profiles"
    passed_on(lambda argv: agent_command(argv, "-q", to=place), lambda pid: pid)
    last_only(place)


@case
def killed_in_container():
    """A program that ends by a signal: process 1 cannot, so its status says it."""
    place = folder() / "profiles"
    program = python("import os; os.kill(os.getpid(), 9)")
    result = run(in_container(agent_command(program, "-q", to=place)))
    check(result.status == 128 + 9, f"status {result.status}: {result.stderr}")
    last_only(place)


@case
def not_started():
    """What goes wrong before is said with the same status as elsewhere."""
    place = folder() / "profiles"
    result = run(in_container(agent_command(["/no/such"], "-q", to=place)))
    check(result.status == 127 and "/no/such" in result.stderr, f"status {result.status}: {result.stderr}")


if __name__ == "__main__":
    main()
