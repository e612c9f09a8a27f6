# SPDX-License-Identifier: Apache-2.0
"""redis-server with redis-benchmark: an event loop on one thread, with helpers that mostly sleep."""
import subprocess
import time

from .server import PATIENCE_S, Broken, Load, Server


class Redis(Server):
    name = "redis"
    needs = ("redis-server", "redis-benchmark", "redis-cli")
    TESTS = ("set", "get", "incr", "lpush", "lrange_100")

    def prepare(self):
        self.requests = None  # of each test, for a second

    def command(self):
        self.path("redis.log").unlink(missing_ok=True)
        return ["redis-server", "--bind", "127.0.0.1", "--port", self.port, "--save", "",
                "--appendonly", "no", "--dir", self.folder, "--logfile", self.path("redis.log")]

    def ask(self, *words):
        return self.as_user(["redis-cli", "-p", self.port, *words]).stdout.strip()

    def ready(self):
        return super().ready() and self.ask("ping") == "PONG"

    def benchmark(self, requests):
        self.ask("flushall")
        command = ["redis-benchmark", "-p", self.port, "-t", ",".join(self.TESTS), "-n", requests,
                   "-c", "50", "--csv"]
        start = time.monotonic()
        done = subprocess.run([str(a) for a in command], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=10 * PATIENCE_S)
        took_s = time.monotonic() - start
        if done.returncode != 0:
            raise Broken(f"redis-benchmark: status {done.returncode}: {done.stderr[-1000:]}")
        self.last = requests
        # lrange brings a list of its own before it.
        total = (len(self.TESTS) + 1) * requests
        return Load(total, total / took_s, [line for line in done.stderr.splitlines() if line.strip()])

    def load(self, seconds):
        """redis-benchmark counts requests, not time: how many fit is found out once, so that all
        sessions are loaded alike."""
        if self.requests is None:
            self.requests = self.benchmark(2000).rate / (len(self.TESTS) + 1)
        return self.benchmark(max(1000, int(self.requests * seconds)))

    def verify(self):
        wrong = []
        counted = self.ask("get", "counter:__rand_int__")
        if counted != str(self.last):
            wrong.append(f"{self.last} increments made {counted}")
        length = self.ask("llen", "mylist")
        if length != str(2 * self.last):
            wrong.append(f"{2 * self.last} pushes made a list of {length}")
        return wrong

    def log(self):
        log = self.path("redis.log")
        return log.read_text() if log.exists() else ""
