import { expect, test } from "bun:test";
import fc from "fast-check";
import { JsonLines } from "../../src/proto/grpc/json-lines.ts";
import { decodeText, FrameWalk, trailersFrame } from "../../src/proto/grpc/web-frames.ts";
import { FrameFound, WebSocketFrameReader } from "../../src/proto/websocket/frame-reader.ts";
import { encodeClose, encodeWebSocketFrame, Opcode } from "../../src/proto/websocket/frames.ts";

/** `bytes` cut at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

const places = fc.array(fc.nat(5000), { maxLength: 12 });

function linesOf(pieces: readonly Buffer[], maxBytes: number): string[] {
  const reader = new JsonLines(maxBytes);
  const found: string[] = [];
  const read = (): boolean => {
    for (let line = reader.next(); line !== null; line = reader.next()) {
      found.push(typeof line === "string" ? line : Buffer.from(line).toString("latin1"));
      if (typeof line === "string") return false;
    }
    return true;
  };
  for (const piece of pieces) {
    reader.push(piece, 0, piece.length);
    if (!read()) return found;
    expect(reader.isEmpty).toBe(true);
  }
  reader.end();
  read();
  return found;
}

test("lines come out as they went in, however they are cut, without the empty ones", () => {
  const line = fc.string({ unit: fc.constantFrom("a", '"', " ", "\t", "\x1e", "\r", "}"), maxLength: 30 });
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), places, fc.boolean(), (lines, at, isEnded) => {
      const bytes = Buffer.from(lines.join("\n") + (isEnded ? "\n" : ""), "latin1");
      const expected = lines.map((one) => one.replace(/^[ \t\r\x1e]+|[ \t\r\x1e]+$/g, "")).filter((one) => one !== "");
      expect(linesOf(cut(bytes, at), 100)).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

test("a line that is too long is found, however it is cut, and keeps no more than the bound", () => {
  fc.assert(
    fc.property(fc.nat(20), places, (more, at) => {
      const bytes = Buffer.from(`ok\n${"x".repeat(11 + more)}\nlater`);
      expect(linesOf(cut(bytes, at), 10)).toEqual(["ok", "too long"]);
    }),
  );
});

/** A frame of a client. */
function masked(first: number, payload: Uint8Array, mask: number): Buffer {
  const frame = encodeWebSocketFrame(0, payload);
  frame[0] = first;
  frame[1]! |= 0x80;
  const key = Buffer.alloc(4);
  key.writeUInt32BE(mask);
  const head = frame.length - payload.length;
  return Buffer.concat([frame.subarray(0, head), key, Buffer.from(payload.map((byte, i) => byte ^ key[i & 3]!))]);
}

function eventsOf(pieces: readonly Buffer[], maxBytes: number): string[] {
  const reader = new WebSocketFrameReader(maxBytes);
  const events: string[] = [];
  for (const piece of pieces) {
    reader.push(piece, 0, piece.length);
    for (let found = reader.next(); found !== FrameFound.Nothing; found = reader.next()) {
      if (found === FrameFound.Fault || found === FrameFound.Close) return [...events, `${found} ${reader.code}`];
      events.push(`${found} ${Buffer.from(reader.payload).toString("hex")}`);
    }
    expect(reader.isEmpty).toBe(true);
  }
  return events;
}

test("messages of a WebSocket come out as they went in, in fragments, with pings between, however they are cut", () => {
  const part = fc.uint8Array({ maxLength: 300 });
  const message = fc.array(fc.tuple(part, fc.option(fc.uint8Array({ maxLength: 125 }))), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 5 }), fc.nat(0xffffffff), places, (messages, mask, at) => {
      const frames: Buffer[] = [];
      const expected: string[] = [];
      for (const parts of messages) {
        for (const [i, [bytes, ping]] of parts.entries()) {
          if (ping !== null) {
            frames.push(masked(0x80 | Opcode.Ping, ping, mask));
            expected.push(`${FrameFound.Ping} ${Buffer.from(ping).toString("hex")}`);
          }
          const opcode = i === 0 ? Opcode.Text : Opcode.Continuation;
          frames.push(masked((i === parts.length - 1 ? 0x80 : 0) | opcode, bytes, mask));
        }
        expected.push(`${FrameFound.Text} ${Buffer.concat(parts.map(([bytes]) => bytes)).toString("hex")}`);
      }
      expect(eventsOf(cut(Buffer.concat(frames), at), 2000)).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});

test("any bytes give the same events, however they are cut", () => {
  const byte = fc.oneof(fc.constantFrom(0x81, 0x01, 0x80, 0x00, 0x88, 0x89, 0x8a, 0xfe, 0xff), fc.nat(255));
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 80 }), places, (bytes, at) => {
      const all = Buffer.from(bytes);
      expect(eventsOf(cut(all, at), 300)).toEqual(eventsOf([all], 300));
    }),
    { numRuns: 2000 },
  );
});

test("the reason of a close is cut between two characters", () => {
  for (const text of ["ok", "ü".repeat(100), `a${"€".repeat(60)}`, "x".repeat(200)]) {
    const frame = encodeClose(4003, text);
    expect(frame.length).toBeLessThanOrEqual(127);
    const reason = frame.subarray(4).toString("utf8");
    expect([text.startsWith(reason), reason.includes("\ufffd")]).toEqual([true, false]);
  }
});

test("texts of gRPC-Web are what their parts are, and nothing else is one", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 5 }), (parts) => {
      const text = parts.map((part) => Buffer.from(part).toString("base64")).join("");
      expect(decodeText(Buffer.from(text))).toEqual(Buffer.concat(parts));
    }),
  );
  for (const bad of ["A", "AA", "AAA", "AA=", "A===", "=", "AA==A", "AAAA AAAA", "AA-_", "AAA=\n"])
    expect([bad, decodeText(Buffer.from(bad))]).toEqual([bad, null]);
});

test("a walk knows whether messages are whole, however they are cut", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }), places, (messages, at) => {
      const frames = messages.map((message) => {
        const frame = trailersFrame([["x", Buffer.from(message).toString("hex")]]);
        return frame;
      });
      const all = Buffer.concat(frames);
      const ends = new Set(frames.map((_, i) => Buffer.concat(frames.slice(0, i + 1)).length).concat(0));
      const walk = new FrameWalk();
      let passed = 0;
      for (const piece of cut(all, at)) {
        walk.pass(piece, 0, piece.length);
        passed += piece.length;
        expect([passed, walk.isBetweenMessages]).toEqual([passed, ends.has(passed)]);
      }
    }),
  );
});
