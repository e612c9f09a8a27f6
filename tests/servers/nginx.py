# SPDX-License-Identifier: Apache-2.0
"""nginx with wrk: a master and two workers, each an event loop; files by sendfile."""
import re
import urllib.request

from .server import Server, run_wrk

CONFIGURATION = """
daemon off;
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{ worker_connections 256; }}
http {{
    access_log off;
    sendfile on;
    keepalive_requests 1000000;
    client_body_temp_path {folder}/temp;
    proxy_temp_path {folder}/temp;
    fastcgi_temp_path {folder}/temp;
    uwsgi_temp_path {folder}/temp;
    scgi_temp_path {folder}/temp;
    types {{ text/plain txt; }}
    gzip_types text/plain;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/files;
        location /packed/ {{ alias {folder}/files/; gzip on; }}
    }}
}}
"""


class Nginx(Server):
    name = "nginx"
    needs = ("nginx", "wrk")
    # Its workers tell the master that they are done; wrk goes away in the middle of an answer. Its
    # own alarm rings where a worker takes 50 ms to end.
    usual = re.compile(r"\((SIGIO|SIGCHLD|SIGALRM)\)|\[info\](?!.*Interrupted system call)")

    def prepare(self):
        self.path("files").mkdir()
        self.text = "".join(f"line {i}: {i * 7919 % 100003}\n" for i in range(1000))
        self.write("files/text.txt", self.text)
        self.write("nginx.conf", CONFIGURATION.format(folder=self.folder, port=self.port))

    def command(self):
        self.path("error.log").unlink(missing_ok=True)
        return ["nginx", "-e", self.path("error.log"), "-c", self.path("nginx.conf")]

    def url(self, place):
        return f"http://127.0.0.1:{self.port}{place}/text.txt"

    def load(self, seconds):
        return run_wrk(self.url(""), seconds)

    def verify(self):
        with urllib.request.urlopen(self.url(""), timeout=10) as answer:
            got = answer.read().decode()
        return [] if got == self.text else [f"another text came back, of {len(got)} bytes"]

    def log(self):
        log = self.path("error.log")
        return log.read_text() if log.exists() else ""
