# SPDX-License-Identifier: Apache-2.0
"""Servers that take profiles as Pyroscope and the OpenTelemetry collector do, with the code of these
(tests/servers/receivers_go, in Go), behind a server that can fail.

Their modules come from Go's module proxy, as go.sum has them. Without it, or without a Go that is
new enough, tests are skipped.
"""
import functools
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import threading

from kymotest import BUILD, Failed, skip
from servers.http_stub import Stub

SOURCE = pathlib.Path(__file__).resolve().parent / "receivers_go"
LIMIT_S = 600


@functools.lru_cache
def build():
    """The program, or a skipped test."""
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if not go:
        skip("there is no go")
    # Its packages without optimization, in two thirds of the time; the standard library as `go tool pprof` has it,
    # and has compiled it.
    env = dict(os.environ, GOFLAGS="-mod=readonly -buildvcs=false", GOTOOLCHAIN="local", GOWORK="off", GOGC="800")
    quick = [f"-gcflags={origin}/...=-N -l" for origin in
             ("github.com", "go.opentelemetry.io", "go.uber.org", "golang.org", "google.golang.org")]
    program = BUILD / "tests" / "receivers_go"

    def works(*arguments):
        try:
            return subprocess.run([go, *arguments], cwd=SOURCE, env=env, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return skip(f"go {arguments[0]} takes more than {LIMIT_S} s")
    got = works("mod", "download")
    if got.returncode != 0:
        said = got.stderr.strip() or "no reason"
        if "mismatch" in said:
            raise Failed(f"a module is not that of go.sum: {said}")
        skip(f"no modules of Go: {said.splitlines()[-1]}")
    built = works("build", *quick, "-ldflags=-s -w", "-o", str(program), ".")
    if built.returncode != 0:
        raise Failed(f"go build: {built.stderr}")
    return program


class Receivers:
    """`port` of a server that passes requests on. fault(request): see http_stub. After finish(),
    `received` has what the programs made of them."""

    def __init__(self, which):
        self.program = subprocess.Popen([build()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.behind = json.loads(self.program.stdout.readline())[which]
        self.received = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.stub = Stub(self.serve)
        self.port = self.stub.port

    def read(self):
        self.received += [json.loads(line) for line in self.program.stdout]

    def serve(self, request):
        connection = http.client.HTTPConnection(self.behind, timeout=60)
        headers = {name: value for name, value in request.headers.items() if name != "Host"}
        connection.request(request.method, request.target, request.body, headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, {"Content-Type": answer.headers.get("Content-Type", "")}, body

    def finish(self):
        self.program.stdin.close()
        self.reader.join()
        return self.received

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stub.__exit__()
        if self.reader.is_alive():
            self.program.kill()
        self.program.wait()
