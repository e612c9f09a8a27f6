# SPDX-License-Identifier: Apache-2.0
"""What the servers have in common: how they are started, awaited, loaded and stopped."""
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import time

PATIENCE_S = 300
# Words of a log that tell of something that went wrong; what a server says without Kymo, too, is
# none of Kymo's doing.
BAD = re.compile(r"error|warn|fail|crit|emerg|alert|panic|fatal|abort|exception|interrupt|eintr"
                 r"|signal|segfault|timed? ?out|refused|reset|cannot|could not", re.I)


class Broken(Exception):
    """The server or its client did not do what it is there for."""


class Load:
    """What a client saw: requests, and how many of them a second, and everything that was not as it
    should be."""

    def __init__(self, requests, rate, errors):
        self.requests = requests
        self.rate = rate
        self.errors = errors


class Server:
    """One server in a folder of its own, which it may write to. prepare() once, then any number of
    sessions one after the other, under the same data and the same load."""

    name = None
    needs = ()  # commands, or paths
    user_name = "nobody"
    own_frames = True  # False: code without unwind tables, whose stacks need not be complete
    end_status = 0  # after SIGTERM
    usual = re.compile("$^")  # lines of its log that it writes on some days without Kymo, too

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.user = None
        if os.geteuid() == 0:
            self.user = pwd.getpwnam(self.user_name)
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.port = free_port()

    @classmethod
    def missing(cls):
        """What of its needs is not installed."""
        return [need for need in cls.needs if not shutil.which(need)]

    def prepare(self):
        """Makes configuration and data."""

    def command(self):
        raise NotImplementedError

    def ready(self):
        """Whether a client would be served now."""
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def load(self, seconds):
        """Loads the server for about that long; returns a Load."""
        raise NotImplementedError

    def verify(self):
        """What is wrong with the server's answers or data once it was loaded: a list of texts."""
        return []

    def log(self):
        """The text of the server's own log of the last session."""
        return ""

    # ---- for the servers themselves ----

    def path(self, name):
        return self.folder / name

    def write(self, name, text):
        self.path(name).write_text(text)
        return self.path(name)

    def as_user(self, argv, **how):
        """Runs a command as the server's user to its end; it must end well."""
        done = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=self.folder, preexec_fn=self.become_user, errors="replace",
                              timeout=how.pop("timeout", 10 * PATIENCE_S), **how)
        if done.returncode != 0:
            raise Broken(f"{argv[0]}: status {done.returncode}: {done.stderr[-1000:]}")
        return done

    def become_user(self):
        if self.user:
            os.setgroups([])
            os.setresgid(*3 * (self.user.pw_gid,))
            os.setresuid(*3 * (self.user.pw_uid,))


class Session:
    """A running server: `with Session(server, prefix) as session`. prefix: a command that takes the
    server's as its arguments, such as `kymo record ... --`. After the with, status, cpu_s (of all its
    processes), said (what it wrote on standard output and error) and complaints are there."""

    def __init__(self, server, prefix=()):
        self.server = server
        self.prefix = [str(a) for a in prefix]
        self.status = None
        self.cpu_s = 0.0
        self.said = ""
        self.complaints = set()

    def __enter__(self):
        command = self.prefix + [str(a) for a in self.server.command()]
        self.output = open(self.server.path("output"), "w+b")
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output,
            cwd=self.server.folder, preexec_fn=self.server.become_user, start_new_session=True)
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def wait_until_ready(self):
        end = time.monotonic() + PATIENCE_S
        while not self.server.ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise Broken(f"{self.server.name} does not start: {self.read_output()[-2000:]}"
                             f"{self.server.log()[-2000:]}")
            time.sleep(0.02)

    def read_output(self):
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def kill(self):
        """The end of what would not end: all of its session, whatever groups they have made."""
        for pid in session_members(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def __exit__(self, kind, *_):
        if kind is not None:
            self.kill()
            return
        self.process.send_signal(signal.SIGTERM)
        self.wait()
        left = session_members(self.process.pid)
        if left:
            self.kill()
            raise Broken(f"{self.server.name} left processes behind: {left}")
        self.said = self.read_output()
        self.output.close()
        self.complaints = {normal(line) for text in (self.said, self.server.log())
                           for line in text.splitlines()
                           if BAD.search(line) and not self.server.usual.search(line)}


    def wait(self):
        end = time.monotonic() + PATIENCE_S
        pid = 0
        while pid == 0:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid == 0 and time.monotonic() > end:
                self.kill()
                raise Broken(f"{self.server.name} does not end: {self.read_output()[-2000:]}")
            time.sleep(0.005)
        self.status = self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_s = usage.ru_utime + usage.ru_stime


def session_members(leader):
    """The processes whose session this one leads; postgres gives each backend a session of its own,
    so their descendants count as well."""
    parents, sessions = {}, {}
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            pid = int(entry.parent.name)
            parents[pid], sessions[pid] = int(fields[1]), int(fields[3])
    members = {pid for pid, session in sessions.items() if session == leader}
    while True:
        more = {pid for pid, parent in parents.items() if parent in members} - members
        if not more:
            return sorted(members)
        members |= more


def normal(line):
    """A line of a log without what differs from run to run."""
    return re.sub(r"0x[0-9a-f]+|\d+", "N", line).strip()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run_wrk(url, seconds, connections=16):
    """Load over HTTP by wrk."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", url]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=seconds + PATIENCE_S)
    rate = re.search(r"Requests/sec:\s*([\d.]+)", done.stdout)
    requests = re.search(r"(\d+) requests in", done.stdout)
    if done.returncode != 0 or not rate or not requests:
        raise Broken(f"wrk: status {done.returncode}: {done.stdout[-1000:]}")
    errors = re.findall(r"Socket errors:.*|Non-2xx.*", done.stdout)
    return Load(int(requests[1]), float(rate[1]), errors)
