# SPDX-License-Identifier: Apache-2.0
"""OpenSSH's server with its own client: logins one after the other. Before a login a process without
rights works behind a seccomp filter that allows no more than it needs. As root alone: another user's
server makes no such process."""
import os
import pathlib
import subprocess
import time

from .server import PATIENCE_S, Load, Server

CONFIGURATION = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin yes
PasswordAuthentication no
MaxStartups 100:30:200
"""


class Sshd(Server):
    name = "sshd"
    needs = ("/usr/sbin/sshd", "ssh", "ssh-keygen")
    user_name = "root"
    own_frames = False  # most of its processes live for a few milliseconds, some behind the filter

    @classmethod
    def missing(cls):
        return super().missing() + ([] if os.geteuid() == 0 else ["the rights of root"])

    def prepare(self):
        # Where the process without rights is locked in; Debian's init makes it.
        pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        for key in ("host_key", "user_key"):
            self.as_user(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(key)])
        self.write("configuration", CONFIGURATION.format(folder=self.folder, port=self.port))

    def command(self):
        return ["/usr/sbin/sshd", "-D", "-e", "-f", self.path("configuration")]

    def login(self, text):
        """What is wrong with one login; None: nothing."""
        done = subprocess.run(
            ["ssh", "-F", "none", "-p", str(self.port), "-i", str(self.path("user_key")),
             "-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=no",
             "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR",
             "root@127.0.0.1", f"echo {text}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", timeout=PATIENCE_S)
        if done.returncode == 0 and done.stdout == f"{text}\n":
            return None
        return f"status {done.returncode}: {done.stdout!r} {done.stderr!r}"

    def load(self, seconds):
        began = time.monotonic()
        errors = []
        n = 0
        while n < 5 or time.monotonic() < began + seconds:
            wrong = self.login(f"login-{n}")
            errors += [wrong] if wrong else []
            n += 1
        return Load(n, n / (time.monotonic() - began), errors)

    def verify(self):
        wrong = self.login("after")
        return [wrong] if wrong else []
