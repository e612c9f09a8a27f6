# SPDX-License-Identifier: Apache-2.0
"""node serving HTTP, with wrk: an event loop, code of a JIT, and threads that compile and collect."""
import json
import pathlib
import urllib.request

from .server import Server, run_wrk

SCRIPT = pathlib.Path(__file__).with_name("server.js")


class Node(Server):
    name = "node"
    needs = ("/usr/bin/node", "wrk")

    def prepare(self):
        self.write("server.js", SCRIPT.read_text())

    def command(self):
        return ["/usr/bin/node", self.path("server.js"), self.port]

    def load(self, seconds):
        return run_wrk(f"http://127.0.0.1:{self.port}/words?n=40", seconds)

    def verify(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/words?n=3", timeout=10) as got:
            said = json.load(got)
        return [] if said == {"words": ["drum 0", "drum 1", "drum 2"], "sum": 3} else [f"{said}"]
