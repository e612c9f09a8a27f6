# SPDX-License-Identifier: Apache-2.0
"""Servers of Debian and clients that load them: for the integration tests, which ask whether they
still work under `kymo record`, and for the benchmarks, which ask how quick they are then.

One file a server; server.py says what each of them offers. All listen on the loopback or on a socket
in their own folder, as a user who may do nothing special, and are gone when their session ends.
"""
from .jvm import Jvm
from .nginx import Nginx
from .node import Node
from .postgres import Postgres
from .redis import Redis
from .sshd import Sshd

KNOWN = {server.name: server for server in (Redis, Nginx, Postgres, Node, Jvm)}
# Too slow by itself for a benchmark.
TESTED = {**KNOWN, Sshd.name: Sshd}
