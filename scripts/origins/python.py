"""A real origin on http.server: python3 scripts/origins/python.py [port]

GET /health, GET /canary, and an echo of every other request as JSON; ./start says more. http.server reads no bodies:
that is done here, strictly.
"""

import base64
import hashlib
import http.client
import io
import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAME = "python"
# Larger contents do not go into the head of the response to a HEAD.
MAX_IN_HEAD = 16 * 1024
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})(;[^\r\n]*)?\r\n")

# No limit of its own on the number of fields: what is refused here has been refused for its syntax.
http.client._MAXHEADERS = 10000

lock = threading.Lock()
counts = {"requests": 0, "sequence": 0}


class BadBody(Exception):
    """The body breaks its framing, or ends too early."""


class Origin(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def __getattr__(self, name):
        # Every method is answered alike.
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def answer(self):
        try:
            body, trailers = self.read_body()
        except (BadBody, OSError):
            # Only what came whole is counted and answered.
            self.close_connection = True
            return
        with lock:
            counts["requests"] += 1
            number = counts["requests"]
            content = json.dumps(self.content_for(body, trailers)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Origin", NAME)
        self.send_header("X-Origin-Request", str(number))
        if self.command == "HEAD" and len(content) < MAX_IN_HEAD:
            self.send_header("X-Origin-Head", base64.b64encode(content).decode())
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def content_for(self, body, trailers):
        # self.path has lost repeated slashes.
        target = self.requestline.split()[1]
        path = target.split("?", 1)[0]
        if path == "/health":
            return {"status": "ok"}
        canary = {}
        if path == "/canary":
            counts["sequence"] += 1
            canary = {"status": "canary_ok", "sequence": counts["sequence"]}
        return {
            **canary,
            "method": self.command,
            "target": target,
            "headers": fields_of(self.headers.items()),
            "trailers": fields_of(trailers),
            "length": len(body),
            "sha256": hashlib.sha256(body).hexdigest(),
        }

    def read_body(self):
        lengths = self.headers.get_all("Content-Length", [])
        codings = self.headers.get_all("Transfer-Encoding", [])
        if codings:
            if lengths or len(codings) > 1 or codings[0].strip().lower() != "chunked":
                raise BadBody(codings)
            return self.read_chunks()
        if not lengths:
            return b"", []
        if len(lengths) > 1 or not lengths[0].strip().isdecimal():
            raise BadBody(lengths)
        return self.read_exactly(int(lengths[0])), []

    def read_chunks(self):
        parts = []
        while True:
            line = CHUNK_SIZE.fullmatch(self.rfile.readline(65537))
            if line is None:
                raise BadBody("chunk size")
            size = int(line[1], 16)
            if size == 0:
                return b"".join(parts), self.read_trailers()
            parts.append(self.read_exactly(size))
            if self.rfile.read(2) != b"\r\n":
                raise BadBody("chunk delimiter")

    def read_trailers(self):
        lines = []
        while True:
            line = self.rfile.readline(65537)
            lines.append(line)
            if line == b"\r\n":
                return http.client.parse_headers(io.BytesIO(b"".join(lines))).items()
            # http.client takes the end of the connection for the end of the fields.
            if not line.endswith(b"\r\n"):
                raise BadBody("trailers")

    def read_exactly(self, size):
        data = self.rfile.read(size)
        if len(data) != size:
            raise BadBody("too short")
        return data

    def log_message(self, *args):
        """Says nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def handle_error(self, request, client_address):
        """A gateway that gives a request up is no news."""


def fields_of(pairs):
    """Lower-case names; a list where a name came several times."""
    fields = {}
    for name, value in pairs:
        fields.setdefault(name.lower(), []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9002
    try:
        server = Server(("127.0.0.1", port), Origin)
    except OSError as error:
        print(f"{NAME}: {error}", flush=True)
        sys.exit(1)
    print(f"{NAME}: http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
