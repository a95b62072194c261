"""Asks for answers by their number and prints what http.client makes of each: python3 python.py PORT FIRST COUNT"""

import hashlib
import http.client
import json
import sys

SPACES = " \t"
# The last two are what http.client makes of mad chunk sizes.
BROKEN = (http.client.HTTPException, OSError, ValueError, OverflowError, MemoryError)


class Response(http.client.HTTPResponse):
    """http.client takes 103 for a final answer; RFC 9110 §15.2 does not."""

    def _read_status(self):
        version, status, reason = super()._read_status()
        while 101 < status < 200:
            http.client.parse_headers(self.fp)
            version, status, reason = super()._read_status()
        return version, status, reason


class Client:
    def __init__(self, port):
        self.port = port
        self.connection = None

    def ask(self, method, path):
        # A kept connection that the gateway has closed in order is no news: once more, on a new one.
        for is_last in (False, True):
            is_fresh = self.connection is None
            if is_fresh:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                self.connection.response_class = Response
            try:
                self.connection.request(method, path)
                response = self.connection.getresponse()
                break
            except BROKEN as error:
                self.drop()
                is_stale = isinstance(error, (http.client.RemoteDisconnected, ConnectionError)) and not is_fresh
                if is_last or not is_stale:
                    return {"status": 0, "error": repr(error), "cut": False, "body": "", "fields": [], "text": ""}
        fields = [f"{name.lower()}: {value.strip(SPACES)}" for name, value in response.getheaders()]
        answer = {"status": response.status, "cut": False, "fields": fields, "error": "", "text": "", "body": ""}
        try:
            body = response.read()
        except BROKEN:
            self.drop()
            return {**answer, "cut": True}
        if response.will_close:
            self.drop()
        return {**answer, "body": hashlib.sha256(body).hexdigest(), "text": body.decode("latin1")}

    def drop(self):
        self.connection.close()
        self.connection = None


def main():
    port, first, count = (int(word) for word in sys.argv[1:4])
    client = Client(port)
    for n in range(first, first + count):
        answer = client.ask("HEAD" if n % 4 == 3 else "GET", f"/node/answer?n={n}")
        canary = client.ask("GET", f"/node/canary?n={n}")
        print(json.dumps({"n": n, **answer, "canary": canary["text"] == f"canary {n}"}))


if __name__ == "__main__":
    main()
