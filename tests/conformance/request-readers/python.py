# Reads recorded connections as h11 does: python.py FILE. One line of JSON for each connection.
import hashlib
import json
import sys

import h11

LEFT_OUT = {"host", "connection", "content-length", "transfer-encoding", "trailer"}


def fields_of(headers):
    pairs = [(name.decode("latin1"), value.decode("latin1")) for name, value in headers]
    return sorted(f"{name}: {value}" for name, value in pairs if name not in LEFT_OUT)


def read(data):
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    messages = []
    connection.receive_data(data)
    connection.receive_data(b"")
    try:
        while True:
            message, digest = None, hashlib.sha256()
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA or isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
                    return {"messages": messages, "isRefused": event is h11.PAUSED or message is not None}
                if isinstance(event, h11.Request):
                    hosts = [value.decode("latin1") for name, value in event.headers if name == b"host"]
                    message = {
                        "method": event.method.decode("latin1"),
                        "target": event.target.decode("latin1"),
                        "host": hosts[0] if hosts else "",
                        "fields": fields_of(event.headers),
                    }
                elif isinstance(event, h11.Data):
                    digest.update(event.data)
                elif isinstance(event, h11.EndOfMessage):
                    message["body"] = digest.hexdigest()
                    message["trailers"] = fields_of(event.headers)
                    messages.append(message)
                    break
            connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
            connection.send(h11.EndOfMessage())
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return {"messages": messages, "isRefused": False}
            connection.start_next_cycle()
    except h11.RemoteProtocolError:
        return {"messages": messages, "isRefused": True}


with open(sys.argv[1], "rb") as source:
    while head := source.read(4):
        print(json.dumps(read(source.read(int.from_bytes(head, "big")))))
