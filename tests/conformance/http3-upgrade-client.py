"""An independent HTTP/3 client (aioquic) that asks all the time, and does with a closed connection what RFC 9114 §5.2 says.

usage: http3-upgrade-client.py PORT CONNECTIONS LANES SECONDS PATH [PAUSE_MS]

Each connection has as many lanes, each with one request at a time, and PAUSE_MS between two (0 by default). A request that GOAWAY
leaves out, or that is reset with H3_REQUEST_REJECTED, was not looked at: it is sent again on a new connection. So is one on a connection
that is refused when its handshake is done (RFC 9000 §20.1). One that ends in any other way without a complete answer is lost.
Prints: {"requests": sent for the first time, "answered", "rejected": sent again, one way or the other, "goaway": of them, those
that GOAWAY left out, "refused": sent again since the connection was refused, "lost": {reason: count}, "connections": made,
"failed": attempts to connect that failed,
"longest_ms": the longest time of a request, with its second attempts}
"""

import asyncio
import collections
import json
import ssl
import sys
import time

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.buffer import Buffer, BufferReadError
from aioquic.h3.connection import H3_ALPN, FrameType, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamDataReceived, StreamReset

REQUEST_REJECTED = 0x10B
CONNECTION_REFUSED = 0x2
PATIENCE_S = 15
RETRY_S = 0.02
FAR = 1 << 62


class ControlStreams:
    """Finds GOAWAY on the server's control stream: aioquic drops what it says. RFC 9114 §7.2.6."""

    def __init__(self):
        self.pieces = collections.defaultdict(bytes)
        self.goaway = FAR

    def take(self, stream_id, data):
        piece = self.pieces[stream_id] + data
        if stream_id % 4 == 3 and (piece[:1] or b"\x00") == b"\x00":
            self.pieces[stream_id] = piece[:1] + self.frames(piece[1:])

    def frames(self, piece):
        """Takes the complete frames. @returns the rest"""
        buffer = Buffer(data=piece)
        read = 0
        try:
            while True:
                frame_type, size = buffer.pull_uint_var(), buffer.pull_uint_var()
                payload = buffer.pull_bytes(size)
                read = buffer.tell()
                if frame_type == FrameType.GOAWAY:
                    self.goaway = min(self.goaway, Buffer(data=payload).pull_uint_var())
        except BufferReadError:
            return piece[read:]


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.control = ControlStreams()
        self.open = {}
        self.closed = None

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self.control.take(event.stream_id, event.data)
        found = self.http.handle_event(event)
        for one in found:
            stream_id = getattr(one, "stream_id", None)
            if isinstance(one, HeadersReceived) and stream_id in self.open:
                self.open[stream_id]["status"] = int(dict(one.headers).get(b":status", b"0"))
            if isinstance(one, (HeadersReceived, DataReceived)) and one.stream_ended and stream_id in self.open:
                self.finish(stream_id, "answered")
        if isinstance(event, ConnectionTerminated):
            self.closed = event.error_code
            # Transport errors have the type of a frame, errors of HTTP/3 have none.
            refused = event.error_code == CONNECTION_REFUSED and event.frame_type is not None
            for stream_id in list(self.open):
                left_out = "goaway" if stream_id >= self.control.goaway else f"closed {event.error_code:#x}"
                self.finish(stream_id, "refused" if refused else left_out)
        elif isinstance(event, StreamReset) and event.stream_id in self.open:
            rejected = event.error_code == REQUEST_REJECTED
            self.finish(event.stream_id, "rejected" if rejected else f"reset {event.error_code:#x}")
        if self.control.goaway < FAR:
            for stream_id in list(self.open):
                if stream_id >= self.control.goaway:
                    self.finish(stream_id, "goaway")

    def finish(self, stream_id, how):
        request = self.open.pop(stream_id)
        if not request["done"].done():
            request["done"].set_result((how, request["status"]))

    @property
    def takes_requests(self):
        return self.closed is None and self.control.goaway == FAR

    async def ask(self, path):
        stream_id = self._quic.get_next_available_stream_id()
        request = {"status": 0, "done": asyncio.get_running_loop().create_future()}
        self.open[stream_id] = request
        fields = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"localhost"), (b":path", path)]
        self.http.send_headers(stream_id, fields, end_stream=True)
        self.transmit()
        try:
            return await asyncio.wait_for(request["done"], PATIENCE_S)
        except asyncio.TimeoutError:
            self.open.pop(stream_id, None)
            return "no answer", 0


class Load:
    # whole: answers after which it says on standard error that it is on its way
    def __init__(self, port, path, until, pause_s, whole):
        self.whole = whole
        self.port, self.path, self.until, self.pause_s = port, path, until, pause_s
        self.counts = collections.Counter()
        self.lost = collections.Counter()
        self.longest = 0.0

    async def connection(self, lanes):
        state = {"client": None, "stack": [], "lock": asyncio.Lock()}
        await asyncio.gather(*(self.lane(state) for _ in range(lanes)))
        for context in state["stack"]:
            await context.__aexit__(None, None, None)

    async def client(self, state):
        async with state["lock"]:
            while state["client"] is None or not state["client"].takes_requests:
                configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE)
                configuration.server_name = "localhost"
                context = connect("127.0.0.1", self.port, configuration=configuration, create_protocol=Client)
                try:
                    state["client"] = await asyncio.wait_for(context.__aenter__(), PATIENCE_S)
                    state["stack"].append(context)
                    self.counts["connections"] += 1
                except (ConnectionError, asyncio.TimeoutError):
                    self.counts["failed"] += 1
                    await asyncio.sleep(RETRY_S)
            return state["client"]

    async def lane(self, state):
        while time.monotonic() < self.until:
            self.counts["requests"] += 1
            started = time.monotonic()
            while True:
                how, status = await (await self.client(state)).ask(self.path)
                if how == "refused":
                    self.counts["refused"] += 1
                    await asyncio.sleep(RETRY_S)
                elif how in ("rejected", "goaway"):
                    self.counts["rejected"] += 1
                    self.counts["goaway"] += how == "goaway"
                else:
                    break
            self.longest = max(self.longest, time.monotonic() - started)
            if how == "answered" and status == 200:
                self.counts["answered"] += 1
                if self.counts["answered"] == self.whole:
                    print("asking", file=sys.stderr, flush=True)
            else:
                self.lost[how if how != "answered" else f"status {status}"] += 1
            if self.pause_s > 0:
                await asyncio.sleep(self.pause_s)


async def run(port, connections, lanes, seconds, path, pause_ms="0"):
    load = Load(int(port), path.encode(), time.monotonic() + float(seconds), float(pause_ms) / 1000, int(connections) * int(lanes) * 2)
    await asyncio.gather(*(load.connection(int(lanes)) for _ in range(int(connections))))
    keys = ("requests", "answered", "rejected", "goaway", "refused", "connections", "failed")
    print(json.dumps({**{key: load.counts[key] for key in keys}, "lost": load.lost, "longest_ms": round(load.longest * 1000)}))


asyncio.run(run(*sys.argv[1:]))
