# SPDX-License-Identifier: Apache-2.0
"""Profiles that are asked of an agent over HTTP, while intervals end meanwhile: with the CPU time that the
kernel counted in just these seconds, and the heap that `kymo control heap` gives; and clients that may not,
come together, stall or go away.
"""
import gzip
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
import urllib.parse

from kymotest import (HZ, KYMO, PATIENCE_S, WORKLOADS, case, check, folder, main, perf_works, run, say, skip,
                      wait_until)

TOKEN = "a-token-of-a-test-0123456789"
OF_GO = {"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff"}


class OverUnix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()


class Agent:
    """An agent that records a program; its reporters' folder, if it has one, is where."""

    def __init__(self, program, *options, listen="0", interval="300ms", cwd=None):
        self.where = folder()
        self.errors = self.where / "errors"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [str(a) for a in (KYMO, "agent", f"--report={interval}", f"--listen={listen}", *options, "--",
                                  *program)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd=cwd, start_new_session=True)
        self.watchdog = threading.Timer(PATIENCE_S, lambda: os.killpg(self.process.pid, signal.SIGKILL))
        self.watchdog.daemon = True
        self.watchdog.start()
        wait_until("listening", lambda: self.process.poll() is not None or " at " in self.said())
        if "libmicrohttpd" in self.said():
            skip(self.said().strip())
        check(" at " in self.said(), f"it does not listen: {self.said()}")
        self.address = self.said().split(" at ")[1].split()[0]
        if cwd and self.address.startswith("unix:"):
            self.address = f"unix:{cwd}/{self.address[5:]}"
        # The server is there before the recorder.
        wait_until("a recorder", lambda: self.ask("/debug/kymo/status").status == 200)
        wait_until("a program", lambda: self.status()["program"]["pid"])
        self.pid = self.status()["program"]["pid"]

    def said(self):
        return self.errors.read_text()

    def connection(self):
        if self.address.startswith("unix:"):
            return OverUnix(self.address[5:])
        host, port = re.fullmatch(r"http://(.+):(\d+)", self.address).groups()
        return http.client.HTTPConnection(host.strip("[]"), int(port), timeout=PATIENCE_S)

    def ask(self, path, method="GET", **headers):
        connection = self.connection()
        connection.request(method, path, headers={"Authorization": f"Bearer {TOKEN}", **headers})
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def status(self):
        return json.loads(self.ask("/debug/kymo/status").body)

    def goes_on(self):
        """It serves and records after what it was put through."""
        before = self.status()["agent"]["intervals"]
        wait_until("another interval", lambda: self.status()["agent"]["intervals"] > before)

    def end(self, status=0):
        """Ends a program that reads its standard input, or waits for the end of another."""
        self.process.stdin.close()
        code = self.process.wait()
        self.watchdog.cancel()
        check(code == status, f"status {code}: {self.said()}")

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.end(128 + signal.SIGKILL)


def busy(*options, **how):
    """A program that uses all the time it can get."""
    return Agent([WORKLOADS / "busy", "1", "100000"], "--cpu=1ms", *options, **how)


def go():
    if not shutil.which("go"):
        skip("go is not installed")
    return {**os.environ, "PPROF_TMPDIR": str(folder())}


class Raw:
    """What `go tool pprof -raw` says."""

    def __init__(self, source):
        out = run(["go", "tool", "pprof", "-raw", str(source)], env=go())
        check(out.status == 0, f"pprof {source}: {out.stderr}")
        self.text = out.stdout
        self.types = re.search(r"^Samples:\n(.*)$", out.stdout, re.M)[1].split()
        names = dict(re.findall(r"^ +(\d+): 0x[0-9a-f]+ M=\d+ (\S+)", out.stdout, re.M))
        self.samples = []
        for line in out.stdout.splitlines():
            row = re.fullmatch(r" *((?:\d+ +)*\d+): ([\d ]*)", line)
            if row:
                self.samples.append(([int(v) for v in row[1].split()], row[2].split()))
        self.names = names

    def total(self, column):
        return sum(values[column] for values, _ in self.samples)

    def sites(self, column):
        """Sums by the functions called site_... in stacks."""
        sums = {}
        for values, stack in self.samples:
            for site in {self.names.get(n, "") for n in stack}:
                if site.startswith("site_"):
                    sums[site] = sums.get(site, 0) + values[column]
        return {site: value for site, value in sums.items() if value}


def save(body, name="file.pb.gz"):
    path = folder() / name
    path.write_bytes(body)
    return path


def time_of(body):
    """(time_nanos, duration_nanos) of a pprof file, by the format alone: fields 9 and 10."""
    data, at, found = gzip.decompress(body), 0, {}

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found[key >> 3] = varint()
        else:
            check(key & 7 == 2, f"wire type {key & 7}")
            length = varint()
            at += length
    return found[9], found[10]


class Clock(threading.Thread):
    """Reads the CPU clock of a process, with the time of the day, until stop()."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.clock, self.read, self.stopped = ~pid << 3 | 2, [], False
        self.start()

    def run(self):
        while not self.stopped:
            before = time.time_ns()
            cpu = time.clock_gettime_ns(self.clock)
            self.read.append((before, cpu, time.time_ns()))
            time.sleep(0.002)

    def stop(self):
        self.stopped = True
        self.join()

    def between(self, from_ns, to_ns):
        """The CPU time between these times is at least and at most that."""
        def least(at_ns):
            return max((cpu for _, cpu, after in self.read if after <= at_ns))

        def most(at_ns):
            return min((cpu for before, cpu, _ in self.read if before >= at_ns))
        return least(to_ns) - most(from_ns), most(to_ns) - least(from_ns)


# ---- profiles ----

@case
def cpu_time_of_just_these_seconds():
    """Many intervals end meanwhile, also of some that began before; with reporters that store names."""
    for options in ((), ("--reporter=local:profiles", "--format=jfr")):
        agent = busy(*options, cwd=folder())
        wait_until("some intervals", lambda: agent.status()["agent"]["intervals"] >= 2)
        clock = Clock(agent.pid)
        time.sleep(0.05)
        before = agent.status()["agent"]["intervals"]
        answer = agent.ask("/debug/pprof/profile?seconds=2")
        ended = agent.status()["agent"]["intervals"] - before
        time.sleep(0.05)
        clock.stop()
        check(answer.status == 200, f"{answer.status}: {answer.body[:200]}")
        for name, value in {**OF_GO, "Content-Disposition": 'attachment; filename="profile"'}.items():
            check(answer.headers[name] == value, f"{name}: {answer.headers[name]}")
        check(answer.body[:2] == b"\x1f\x8b" and "Content-Encoding" not in answer.headers, "not gzip as Go's is")
        start_ns, length_ns = time_of(answer.body)
        least, most = clock.between(start_ns, start_ns + length_ns)
        raw = Raw(save(answer.body))
        check(raw.types == ["samples/count", "cpu/nanoseconds[dflt]"], f"{raw.types}")
        cpu_ns = raw.total(1)
        say(f"{options}: {ended} intervals ended; {cpu_ns / 1e6:.1f} ms in {length_ns / 1e9:.3f} s, "
            f"in truth {least / 1e6:.1f} to {most / 1e6:.1f} ms")
        check(ended >= 4, "too few intervals for this test")
        check(abs(length_ns - 2e9) < 1e6, f"{length_ns} ns long")
        # What a sample at an end stands for; at the kernel tick it is the mean of 16 of them.
        slack = 20e6 if perf_works() else 20e6 + 16e9 / HZ
        check(least - slack <= cpu_ns <= most + slack, "CPU time was lost or counted twice")
        check("burn_busy" in raw.text, "no names")
        agent.kill()


@case
def pprof_fetches():
    """By URL, as people do it, and one profile after the other."""
    agent = busy()
    for seconds in (1, 2):
        out = run(["go", "tool", "pprof", "-top", f"-seconds={seconds}", agent.address], env=go())
        check(out.status == 0 and "burn_busy" in out.stdout, f"{out.stdout}{out.stderr}")
        say(next(line for line in out.stdout.splitlines() if "Duration" in line))
    agent.kill()


@case
def other_formats_and_kinds():
    agent = busy("--wall=10ms")
    jfr = agent.ask("/debug/kymo/jfr?seconds=0.5")
    check(jfr.status == 200 and jfr.body[:4] == b"FLR\0", f"{jfr.status} {jfr.body[:20]}")
    firefox = json.loads(gzip.decompress(agent.ask("/debug/kymo/firefox?seconds=0.5").body))
    check(firefox["threads"] and "burn_busy" in firefox["shared"]["stringArray"], "no function in it")
    wall = Raw(save(agent.ask("/debug/pprof/wall?seconds=1").body))
    say(f"{wall.types}: {wall.total(0) / 1e9:.3f} s of one thread in a second")
    check(wall.types == ["wall/nanoseconds[dflt]"], f"{wall.types}")
    check(0 < wall.total(0) <= 1.05e9, "elapsed time of one thread, in a second")
    cpu = Raw(save(agent.ask("/debug/pprof/profile?seconds=1").body))
    check(cpu.types == ["samples/count", "cpu/nanoseconds[dflt]"], f"{cpu.types}")
    agent.kill()


class Heap(Agent):
    def __init__(self, *options):
        super().__init__([WORKLOADS / "heap_steps"], *options)

    def do(self, *words):
        self.process.stdin.write((" ".join(str(w) for w in words) + "\n").encode())
        self.process.stdin.flush()
        check(self.process.stdout.readline().split()[1:] == [b"ok"], f"{words}: not done")


@case
def live_heap_and_allocations():
    agent = Heap("--alloc=1k")
    agent.do("give", "site_a", 1000, 3000)
    agent.goes_on()
    agent.do("give", "site_b", 500, 5000)
    agent.do("free", "site_a", 400)
    answer = agent.ask("/debug/pprof/heap")
    check(answer.status == 200, f"{answer.status}: {answer.body[:200]}")
    check(answer.headers["Content-Disposition"] == 'attachment; filename="heap"', f"{answer.headers}")
    path = agent.where / "control.pb.gz"
    by_control = run([KYMO, "control", "-p", str(agent.process.pid), "heap", "-o", path])
    check(by_control.status == 0, by_control.stderr)
    pulled, written = Raw(save(answer.body)), Raw(path)
    for column in range(len(pulled.types)):
        check(pulled.sites(column) == written.sites(column), f"{pulled.sites(column)}, {written.sites(column)}")
    say(f"{pulled.types}: {pulled.sites(1)}")
    check(set(pulled.sites(1)) == {"site_a", "site_b"}, "what lives")

    done = []

    def fetch():
        done.append(agent.ask("/debug/pprof/allocs?seconds=1"))
    fetching = threading.Thread(target=fetch)
    fetching.start()
    wait_until("a profile being made", lambda: agent.status()["agent"]["server"]["busy"])
    time.sleep(0.1)
    agent.do("give", "site_c", 2000, 1000)
    fetching.join()
    raw = Raw(save(done[0].body))
    column = next(i for i, kind in enumerate(raw.types) if kind.startswith("alloc_space"))
    say(f"allocated in a second: {raw.sites(column)}")
    check(set(raw.sites(column)) == {"site_c"}, "what was allocated before is in it, or nothing")
    asked = agent.ask("/debug/pprof/heap?seconds=3")
    check(asked.status == 400 and b"not supported" in asked.body, f"{asked.status} {asked.body}")
    agent.end()


@case
def what_is_not_recorded_is_said():
    agent = busy()
    for path, why in (("heap", "--alloc"), ("allocs?seconds=1", "--alloc"), ("wall?seconds=1", "--wall"),
                      ("goroutine", "Unknown profile")):
        answer = agent.ask("/debug/pprof/" + path)
        say(f"{path}: {answer.status} {answer.body.decode().strip()}")
        check(answer.status == 404 and answer.headers["X-Go-Pprof"] == "1" and why in answer.body.decode(), path)
    wrong = agent.ask("/debug/pprof/profile?seconds=soon")
    check(wrong.status == 400 and b"number of seconds" in wrong.body, f"{wrong.status} {wrong.body}")
    agent.goes_on()
    agent.kill()


@case
def the_programs_end_gives_what_there_is():
    agent = Agent([WORKLOADS / "busy", "1", "1"], "--cpu=1ms")
    answer = agent.ask("/debug/pprof/profile?seconds=60")
    raw = Raw(save(answer.body))
    say(f"{raw.total(1) / 1e9:.3f} s of CPU time until the end")
    check(answer.status == 200 and 0 < raw.total(1) < 1.5e9, f"{answer.status}")
    agent.end()
    check(not os.path.exists(f"/proc/{agent.process.pid}"), "the agent has not ended")


@case
def an_idle_program_has_an_empty_profile():
    agent = Heap()
    time.sleep(0.5)
    raw = Raw(save(agent.ask("/debug/pprof/profile?seconds=1").body))
    say(f"{len(raw.samples)} samples")
    check(raw.types == ["samples/count", "cpu/nanoseconds[dflt]"], f"{raw.types}")
    agent.end()


# ---- texts ----

@case
def texts():
    agent = busy("--reporter=local:" + str(folder()))
    wait_until("a delivery", lambda: agent.status()["agent"]["reporters"][0]["delivered"] >= 2)
    cmdline = agent.ask("/debug/pprof/cmdline")
    check(cmdline.body == b"\0".join([str(WORKLOADS / "busy").encode(), b"1", b"100000"]), f"{cmdline.body}")
    check(cmdline.headers["Content-Type"] == "text/plain; charset=utf-8", f"{cmdline.headers}")
    check(b"/debug/pprof/heap" in agent.ask("/debug/pprof/").body, "no list")
    status = agent.status()
    say(f"{status}")
    check(status["state"] == "recording" and status["recorder"]["pid"] == agent.process.pid, "state")
    check(status["agent"]["samples"] > 0 and status["agent"]["last_error"] is None, "figures")
    check(status["agent"]["server"]["starts"] == 1, "the server")
    wait_until("time in handlers of threads that run", lambda: agent.status()["agent"]["handler_ns"] > 0)
    by_control = json.loads(run([KYMO, "control", "-p", agent.process.pid, "status"]).stdout)
    check(sorted(by_control) == sorted(status) and sorted(by_control["agent"]) == sorted(status["agent"]),
          f"kymo control says something else: {by_control}")
    metrics = agent.ask("/metrics")
    check(metrics.headers["Content-Type"].startswith("text/plain; version=0.0.4"), f"{metrics.headers}")
    values = dict(re.findall(r"^([a-z_]+)(?:\{[^}]*\})? (\S+)$", metrics.body.decode(), re.M))
    check(float(values["kymo_agent_profiles_delivered_total"]) >= 2, "deliveries")
    check(float(values["process_resident_memory_bytes"]) > 0, "the program's memory")
    check(agent.ask("/metrics", method="POST").status == 405, "POST")
    agent.kill()
    if not shutil.which("promtool"):
        skip("promtool is not installed: what Prometheus says of the metrics is not tested")
    out = run(["promtool", "check", "metrics"], stdin=metrics.body)
    check(out.status == 0, f"promtool: {out.stdout}{out.stderr}")


PROMETHEUS = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: service
    authorization: {{credentials_file: {token}}}
    static_configs: [{{targets: ["{target}"]}}]
  - job_name: without-token
    static_configs: [{{targets: ["{target}"]}}]
"""


class Prometheus:
    """A server that scrapes the agent, with what it says over its API."""

    def __init__(self, agent, token):
        where = folder()
        target = agent.address.removeprefix("http://").replace("0.0.0.0", "127.0.0.1")
        (where / "config").write_text(PROMETHEUS.format(token=token, target=target))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % free.getsockname()[1]
        with open(where / "said", "wb") as said:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={where}/config", f"--web.listen-address={self.address}",
                 f"--storage.tsdb.path={where}/data"], stdout=said, stderr=said, start_new_session=True)
        self.said = where / "said"

    def ask(self, what):
        check(self.process.poll() is None, f"prometheus has ended: {self.said.read_text()[-500:]}")
        try:
            connection = http.client.HTTPConnection(self.address, timeout=PATIENCE_S)
            connection.request("GET", "/api/v1/" + what)
            return json.loads(connection.getresponse().read())["data"]
        except (OSError, ValueError, KeyError):
            return None  # it has not begun yet

    def values(self, query):
        """What an instant query gives: the labels of a sample and its value."""
        found = self.ask("query?query=" + urllib.parse.quote(query))
        return [(s["metric"], float(s["value"][1])) for s in found["result"]] if found else []

    def value(self, query):
        """Of the one sample that there is; waits for it, since one scrape may be late on a busy machine."""
        found = []

        def is_there():
            found[:] = self.values(query)
            return len(found) == 1
        wait_until(query, is_there)
        return found[0][1]

    def last_error(self, job):
        targets = self.ask("targets") or {"activeTargets": []}
        return "".join(t["lastError"] for t in targets["activeTargets"] if t["labels"]["job"] == job)

    def end(self):
        self.process.kill()
        self.process.wait()


@case
def scraped_by_prometheus():
    """Debian's Prometheus with a token; what it stores is what the agent says, and grows with it."""
    if not shutil.which("prometheus"):
        skip("prometheus is not installed")
    where = folder()
    (where / "token").write_text(TOKEN + "\n")
    agent = busy("--listen-token=token", f"--reporter=local:{where}/profiles", listen="0.0.0.0:0", cwd=where)
    prometheus = Prometheus(agent, where / "token")
    try:
        wait_until("scraped", lambda: prometheus.value('up{job="service"}') == 1)
        wait_until("refused", lambda: "401" in prometheus.last_error("without-token"))
        wait_until("deliveries", lambda: prometheus.value("kymo_agent_profiles_delivered_total") >= 2)
        delivered = prometheus.values("kymo_agent_profiles_delivered_total")
        say(f"{delivered}")
        wait_until("a rate of CPU time", lambda: prometheus.value("rate(process_cpu_seconds_total[10s])") > 0)
        first = prometheus.value("kymo_agent_samples_total")
        wait_until("more samples", lambda: prometheus.value("kymo_agent_samples_total") > first)
        check(prometheus.value("process_resident_memory_bytes") > 0, "the program's memory")
        check(prometheus.value("kymo_agent_profiles_dropped_total") == 0, "profiles dropped")
        # Types and texts of help are what Prometheus shows beside a query.
        metadata = prometheus.ask("metadata")
        check(metadata["kymo_agent_samples_total"][0]["type"] == "counter" and
              metadata["process_resident_memory_bytes"][0]["type"] == "gauge", "the types")
    finally:
        prometheus.end()
    agent.kill()


# ---- clients ----

@case
def who_may():
    where = folder()
    (where / "token").write_text(TOKEN + "\n")
    agent = busy("--listen-token=token", listen="0.0.0.0:0", cwd=where)
    refused = run([KYMO, "agent", "--listen=0.0.0.0:0", "--", WORKLOADS / "busy", "1", "1"])
    check(refused.status == 2 and "--listen-token" in refused.stderr, f"{refused.status} {refused.stderr}")
    for headers in ({"Authorization": "Bearer " + TOKEN[:-1]}, {"Authorization": "Bearer " + TOKEN + "x"},
                    {"Authorization": "Basic " + TOKEN}, {"Authorization": ""}):
        for path in ("/debug/kymo/status", "/debug/pprof/profile?seconds=100", "/metrics", "/nothing"):
            answer = agent.ask(path, **headers)
            check(answer.status == 401 and answer.headers["WWW-Authenticate"] == "Bearer",
                  f"{headers} {path}: {answer.status}")
    check(agent.ask("/metrics").status == 200, "the right token")
    check(TOKEN not in agent.said() and TOKEN not in pathlib.Path(
        f"/proc/{agent.process.pid}/cmdline").read_text(), "the token can be read")
    agent.kill()
    agent = busy()
    check(agent.ask("/metrics", Host="evil.example:80").status == 403, "a name of another site")
    check(agent.ask("/metrics", Host="localhost").status == 200, "localhost")
    agent.kill()


@case
def two_at_once():
    agent = busy()
    first = []
    fetching = threading.Thread(target=lambda: first.append(agent.ask("/debug/pprof/profile?seconds=3")))
    fetching.start()
    wait_until("a profile being made", lambda: agent.status()["agent"]["server"]["busy"])
    again = agent.ask("/debug/pprof/profile?seconds=1")
    check(again.status == 500 and b"profiling already in use" in again.body, f"{again.status} {again.body}")
    other = agent.ask("/debug/kymo/jfr?seconds=1")
    check(other.status == 503 and 1 <= int(other.headers["Retry-After"]) <= 4, f"{other.status}")
    check(agent.ask("/metrics").status == 200, "texts are served meanwhile")
    fetching.join()
    check(first[0].status == 200, "the first one")
    check(agent.ask("/debug/pprof/profile?seconds=0.2").status == 200, "the next one")
    agent.kill()


@case
def who_goes_away_is_forgotten():
    agent = busy()
    connection = agent.connection()
    connection.request("GET", "/debug/pprof/profile?seconds=3000")
    wait_until("a profile being made", lambda: agent.status()["agent"]["server"]["busy"])
    connection.close()
    wait_until("forgotten", lambda: not agent.status()["agent"]["server"]["busy"])
    check(agent.ask("/debug/pprof/profile?seconds=0.2").status == 200, "the next one")
    descriptors = f"/proc/{agent.process.pid}/fd"
    agent.goes_on()
    before = len(os.listdir(descriptors))
    agent.goes_on()
    say(f"{before} descriptors of the recorder")
    check(len(os.listdir(descriptors)) <= before + 4, "intervals are kept without a reader")
    agent.kill()


@case
def clients_that_stall():
    """They take places, which end by and by, and nothing else; also when the program ends."""
    agent = busy()
    address = re.fullmatch(r"http://(.+):(\d+)", agent.address).groups()
    stalled = []
    for text in (b"", b"GET /metrics HT", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: "):
        for _ in range(4):
            client = socket.create_connection(address)
            client.sendall(text)
            stalled.append(client)
    check(agent.ask("/debug/pprof/profile?seconds=0.2").status == 200, "others are served")
    agent.goes_on()
    client = socket.create_connection(address)
    client.sendall(b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 1000)
    check(b" 405 " in client.recv(4096), "an upload")
    client = socket.create_connection(address)
    client.sendall(b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n")
    check(re.match(rb"HTTP/1.. 4\d\d ", client.recv(4096) or b"HTTP/1.1 400 "), "a path too long")
    agent.goes_on()
    os.kill(agent.pid, signal.SIGTERM)
    agent.end(128 + signal.SIGTERM)


def give_up(agent, path):
    try:
        agent.ask(path)
    except (OSError, http.client.HTTPException):
        pass


@case
def a_server_that_dies_is_started_again():
    agent = busy()

    def server():
        children = pathlib.Path(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children").read_text()
        found = [int(pid) for pid in children.split()
                 if pathlib.Path(f"/proc/{pid}/comm").read_text() == "kymo-http\n"]
        return found[0] if found else 0

    for starts in (2, 3):
        wait_until("a server", server)
        first = server()
        # The first one ends while it makes a profile.
        if starts == 2:
            client = threading.Thread(target=lambda: give_up(agent, "/debug/pprof/profile?seconds=600"))
            client.start()
            wait_until("a profile being made", lambda: agent.status()["agent"]["server"]["busy"])
        os.kill(first, signal.SIGKILL)
        client.join()
        wait_until("another server", lambda: server() not in (0, first))
        wait_until("counted", lambda: agent.status()["agent"]["server"]["starts"] == starts)
    check(agent.ask("/debug/pprof/profile?seconds=0.3").status == 200, "a profile")
    last = server()
    os.kill(agent.process.pid, signal.SIGKILL)
    wait_until("the server's end", lambda: not os.path.exists(f"/proc/{last}"))
    os.kill(agent.pid, signal.SIGKILL)
    agent.process.wait()
    agent.watchdog.cancel()


@case
def a_unix_socket():
    where = folder()
    agent = busy(listen="unix:socket", cwd=where)
    path = where / "socket"
    mode = os.lstat(path).st_mode
    check(stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600, f"mode {mode:o}")
    check(agent.ask("/debug/pprof/profile?seconds=0.2").status == 200, "a profile")
    taken = run([KYMO, "agent", f"--listen=unix:{path}", "--", WORKLOADS / "busy", "1", "1"])
    check(taken.status != 0 and "another process listens" in taken.stderr, taken.stderr)
    agent.kill()
    check(not path.exists(), "the file of the socket is left")


main()
