# SPDX-License-Identifier: Apache-2.0
"""A JVM serving HTTP, with wrk: many threads, code of a JIT without unwind tables, and signals of its
own (SIGSEGV for null checks and safepoints)."""
import pathlib
import urllib.request

from .server import Server, run_wrk

SOURCE = pathlib.Path(__file__).with_name("WordServer.java")


class Jvm(Server):
    name = "jvm"
    needs = ("java", "javac", "wrk")
    own_frames = False
    end_status = 143

    def prepare(self):
        self.write(SOURCE.name, SOURCE.read_text())
        self.as_user(["javac", SOURCE.name])

    def command(self):
        return ["java", "-Xmx128m", "-Dsun.net.httpserver.nodelay=true", "-cp", self.folder, SOURCE.stem, self.port]

    def load(self, seconds):
        return run_wrk(f"http://127.0.0.1:{self.port}/words?40", seconds)

    def verify(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/words?3", timeout=10) as answer:
            said = answer.read().decode()
        return [] if said == "drum 0\ndrum 1\ndrum 2\nsum 3\n" else [f"it says {said!r}"]
