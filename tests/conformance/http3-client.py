"""An independent HTTP/3 client (aioquic): sends the requests that it is told, as they are, and says what came back.

usage: http3-client.py PORT < requests.json > answers.json

A request: {"fields": [[name, value]...], "raw": bytes of the stream in place of all else, "body": bytes to send,
            "pieces": in how many, "trailers": [[name, value]...], "end": whether the stream is ended,
            "abandon": whether it is reset behind the body,
            "frames": the stream in place of all else, which is then ended: [type, payload, bytes that are cut off its end]...,
            a payload being a text or fields, or [number...] for bytes as they are,
            "together": whether the frames leave in one packet with the end}
An answer: {"status", "fields": [[name, value]...], "interim": [status...], "length", "sha256", "text": its beginning,
            "trailers", "reset": error code or null, "closed": error code of the connection or null}
"""

import asyncio
import hashlib
import json
import ssl
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection, encode_frame
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StopSendingReceived, StreamReset

PATIENCE_S = 15
SHOWN_BYTES = 4000


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.answers = {}
        self.closed = None

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            self.closed = event.error_code
            for answer in self.answers.values():
                answer["done"].set()
        elif isinstance(event, StreamReset) and event.stream_id in self.answers:
            answer = self.answers[event.stream_id]
            answer["reset"] = event.error_code
            answer["done"].set()
        elif isinstance(event, StopSendingReceived) and event.stream_id in self.answers:
            self.answers[event.stream_id]["stopped"] = event.error_code
        for found in self.http.handle_event(event):
            self.take(found)

    def take(self, found):
        answer = self.answers.get(getattr(found, "stream_id", None))
        if answer is None:
            return
        if isinstance(found, HeadersReceived):
            fields = [[name.decode("latin1"), value.decode("latin1")] for name, value in found.headers]
            status = dict(fields).get(":status")
            if status is None:
                answer["trailers"] = fields
            elif status.startswith("1"):
                answer["interim"].append(int(status))
            else:
                answer["status"] = int(status)
                answer["fields"] = fields
        elif isinstance(found, DataReceived):
            answer["body"] += found.data
        if found.stream_ended:
            answer["done"].set()

    async def ask(self, request):
        stream_id = self._quic.get_next_available_stream_id()
        answer = {"interim": [], "status": 0, "fields": [], "trailers": [], "body": bytearray(), "reset": None,
                  "stopped": None, "done": asyncio.Event()}
        self.answers[stream_id] = answer
        if "raw" in request:
            self._quic.send_stream_data(stream_id, bytes(request["raw"]), False)
            self.transmit()
            return await self.answer_to(answer)
        if "frames" in request:
            await self.send_frames(stream_id, request)
            return await self.answer_to(answer)
        fields = [(name.encode("latin1"), value.encode("latin1")) for name, value in request["fields"]]
        length = request.get("body", 0)
        pieces = request.get("pieces", 1)
        trailers = [(n.encode("latin1"), v.encode("latin1")) for n, v in request.get("trailers", [])]
        end = request.get("end", True) and not request.get("abandon", False)
        self.http.send_headers(stream_id, fields, end_stream=end and length == 0 and not trailers)
        self.transmit()
        try:
            for i in range(pieces if length else 0):
                size = length // pieces
                last = i == pieces - 1
                self.http.send_data(stream_id, b"a" * size, end_stream=end and last and not trailers)
                self.transmit()
                await asyncio.sleep(0)
            if trailers:
                self.http.send_headers(stream_id, trailers, end_stream=end)
            if request.get("abandon", False):
                self._quic.reset_stream(stream_id, 0x10C)
                answer["done"].set()
            self.transmit()
        except AssertionError:
            pass  # the gateway has stopped the stream meanwhile
        return await self.answer_to(answer)

    async def send_frames(self, stream_id, request):
        for frame in request["frames"]:
            self._quic.send_stream_data(stream_id, self.bytes_of(stream_id, frame), False)
            if not request.get("together", False):
                self.transmit()
                await asyncio.sleep(0.02)
        self._quic.send_stream_data(stream_id, b"", True)
        self.transmit()

    def bytes_of(self, stream_id, frame):
        if frame and isinstance(frame[0], int) and (len(frame) < 2 or isinstance(frame[1], int)):
            return bytes(frame)
        kind, payload, cut = frame
        if isinstance(payload, list):
            fields = [(name.encode("latin1"), value.encode("latin1")) for name, value in payload]
            instructions, block = self.http._encoder.encode(stream_id, fields)
            self._quic.send_stream_data(self.http._local_encoder_stream_id, instructions)
        else:
            block = payload.encode("latin1")
        whole = encode_frame(kind, block)
        return whole[: len(whole) - cut]

    async def answer_to(self, answer):
        try:
            await asyncio.wait_for(answer["done"].wait(), PATIENCE_S)
            timed_out = False
        except asyncio.TimeoutError:
            timed_out = True
        body = bytes(answer["body"])
        return {
            "status": answer["status"], "fields": answer["fields"], "interim": answer["interim"],
            "length": len(body), "sha256": hashlib.sha256(body).hexdigest(),
            "text": body[:SHOWN_BYTES].decode("latin1"), "trailers": answer["trailers"], "reset": answer["reset"],
            "stopped": answer["stopped"], "closed": self.closed, "timed_out": timed_out,
        }


async def run(port, requests):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE)
    configuration.server_name = "localhost"
    answers = []
    for request in requests:
        # Each on a connection of its own, so that none suffers from another.
        async with connect("127.0.0.1", port, configuration=configuration, create_protocol=Client) as client:
            answers.append(await client.ask(request))
    return answers


print(json.dumps(asyncio.run(run(int(sys.argv[1]), json.load(sys.stdin)))))
