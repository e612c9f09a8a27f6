# SPDX-License-Identifier: Apache-2.0
"""An HTTP server of Python's library that answers as a test says, and can fail in many ways.

A fault is one of: a status (int); "reset" (the connection, in the middle of the body); "lose" (the
request is served, and its answer is a reset); "stall" (no answer while the server runs).
"""
import http.server
import socket
import struct
import threading


class Request:
    def __init__(self, method, target, headers, body):
        self.method = method
        self.target = target  # as it was sent: path and query
        self.headers = headers
        self.body = body


class Stub(http.server.ThreadingHTTPServer):
    """serve(request) gives status, headers and body. fault(request) gives a fault or None."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, serve, port=0, context=None):
        super().__init__(("127.0.0.1", port), Handler)
        self.serve = serve
        self.fault = lambda request: None
        self.requests = []
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.port = self.server_address[1]
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.shutdown()
        self.thread.join()
        self.server_close()

    def handle_error(self, request, client_address):
        """A client that goes away is what some tests want."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def handle_any(self):
        length = int(self.headers.get("Content-Length", 0))
        request = Request(self.command, self.path, self.headers, b"")
        with self.server.lock:
            self.server.requests.append(request)
            fault = self.server.fault(request)
        if fault == "reset":
            self.rfile.read(length // 2)
            return self.reset()
        request.body = self.rfile.read(length)
        if fault == "stall":
            self.server.ended.wait()
            return self.reset()
        if isinstance(fault, int):
            return self.answer(fault, {}, b"")
        with self.server.lock:
            status, headers, body = self.server.serve(request)
        if fault == "lose":
            return self.reset()
        return self.answer(status, headers, body)

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def date_time_string(self, timestamp=None):
        return self.server.date() if hasattr(self.server, "date") else super().date_time_string(timestamp)

    do_GET = do_PUT = do_POST = handle_any
