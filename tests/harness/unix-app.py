"""An application that serves HTTP on a UNIX socket, with Python's own server."""
import http.server
import socketserver
import sys


class App(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(0)

    def do_POST(self):
        self.answer(len(self.rfile.read(int(self.headers["Content-Length"]))))

    def answer(self, length):
        body = f"python {self.command} {self.path} {length}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    # The peer of a UNIX socket has no address.
    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


Server(sys.argv[1], App).serve_forever()
