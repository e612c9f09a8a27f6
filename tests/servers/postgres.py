# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL with pgbench: a process for each client, which wake one another by SIGURG read from a
signalfd. On few rows, so that clients wait for each other's locks: a wake-up that is lost shows as a
transaction of a minute (deadlock_timeout), which no load on the machine makes of one."""
import glob
import re

from .server import Broken, Load, Server

SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
port = {port}
fsync = off
shared_buffers = 32MB
max_connections = 30
log_min_messages = warning
autovacuum_naptime = 1s
max_parallel_workers_per_gather = 2
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
deadlock_timeout = 60s
"""
CLIENTS = 6
LATE_MS = 50000  # below deadlock_timeout
# Whatever this release calls the setting.
PARALLEL = """
select set_config(name, 'on', false) from pg_settings
where name in ('force_parallel_mode', 'debug_parallel_query')
"""
BALANCES = """
select (select sum(abalance) from pgbench_accounts) = (select sum(bbalance) from pgbench_branches)
   and (select sum(tbalance) from pgbench_tellers) = (select sum(bbalance) from pgbench_branches)
   and (select coalesce(sum(delta), 0) from pgbench_history)
       = (select sum(bbalance) from pgbench_branches)
"""


class Postgres(Server):
    name = "postgres"
    needs = ("pgbench", "psql")
    user_name = "postgres"
    # The last one: on a busy machine.
    usual = re.compile("the database system is starting up|due to administrator command"
                       "|autovacuum worker (took too long to start|started without a worker entry)")

    @classmethod
    def binary(cls, name):
        found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
        return found[-1] if found else None

    @classmethod
    def missing(cls):
        return super().missing() + [name for name in ("initdb", "postgres")
                                    if not cls.binary(name)]

    def prepare(self):
        data = self.path("data")
        self.as_user([self.binary("initdb"), "-D", data, "-A", "trust", "-U", "kymo",
                      "--no-sync", "--locale=C", "-E", "UTF8"])
        with open(data / "postgresql.conf", "a") as conf:
            conf.write(SETTINGS.format(folder=self.folder, port=self.port))
        self.filled = False

    def command(self):
        return [self.binary("postgres"), "-D", self.path("data")]

    def where(self):
        return ["-h", self.folder, "-p", self.port, "-U", "kymo"]

    def ready(self):
        if not self.path(f".s.PGSQL.{self.port}").exists():
            return False
        try:
            return self.ask("select 1") == "1"
        except Exception:  # it says that it is starting up
            return False

    def ask(self, sql):
        return self.as_user(["psql", *self.where(), "-XAtq", "-c", sql, "postgres"]).stdout.strip()

    def load(self, seconds):
        if not self.filled:
            self.as_user(["pgbench", *self.where(), "-i", "-q", "-s", "1", "postgres"])
            self.filled = True
        done = self.as_user(["pgbench", *self.where(), "-n", "-M", "prepared", "-c", CLIENTS, "-T",
                             seconds, "-L", LATE_MS, "postgres"])
        errors = [line for line in done.stderr.splitlines() if re.search("error|abort", line)]
        failed = re.search(r"failed transactions: (\d+)", done.stdout)
        late = re.search(r"latency limit: (\d+)", done.stdout)
        if not failed or failed[1] != "0":
            errors.append(f"failed transactions: {failed and failed[1]}")
        if not late or late[1] != "0":
            errors.append(f"transactions of more than {LATE_MS} ms: {late and late[1]}")
        requests = re.search(r"actually processed: (\d+)", done.stdout)
        rate = re.search(r"tps = ([\d.]+)", done.stdout)
        if not requests or not rate:
            raise Broken(f"pgbench says {done.stdout!r}")
        return Load(int(requests[1]), float(rate[1]), errors)

    def verify(self):
        wrong = []
        if self.ask(BALANCES) != "t":
            wrong.append("the balances do not agree")
        # Workers of a parallel query, and a sleep that ends by time.
        counts = self.ask(f"{PARALLEL}; select count(*), sum(aid) from pgbench_accounts; "
                          "select pg_sleep(0.2) is null").split()
        if counts[:2] != ["on", "100000|5000050000"]:
            wrong.append(f"a parallel query counts {counts}")
        notified = self.ask("listen kymo; notify kymo, 'drum'; select 1")
        if "drum" not in notified:
            wrong.append(f"a notification says {notified!r}")
        return wrong
