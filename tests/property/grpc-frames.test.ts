import { expect, test } from "bun:test";
import fc from "fast-check";
import { FrameFault, frameMessage, MessageReader } from "../../src/proto/grpc/message-frames.ts";

function read(pieces: readonly Buffer[], maxBytes: number) {
  const reader = new MessageReader(maxBytes);
  const messages: string[] = [];
  let fault = FrameFault.None;
  for (const piece of pieces) {
    fault = reader.push(piece, (message) => {
      messages.push(Buffer.from(message).toString("hex"));
      return true;
    });
    if (fault !== FrameFault.None) break;
  }
  return { messages, fault, isWhole: reader.isBetweenMessages };
}

/** `bytes` cut at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

const places = fc.array(fc.nat(20_000), { maxLength: 12 });

test("messages come out as they went in, however the stream is cut", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 9000 }), { maxLength: 5 }), places, (messages, at) => {
      const stream = Buffer.concat(messages.map(frameMessage));
      const expected = messages.map((message) => Buffer.from(message).toString("hex"));
      expect(read(cut(stream, at), 9000)).toEqual({ messages: expected, fault: FrameFault.None, isWhole: true });
    }),
    { numRuns: 200 },
  );
});

test("any bytes give the same messages and the same fault, however they are cut", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60, max: 9 }), places, (bytes, at) => {
      const all = Buffer.from(bytes);
      expect(read(cut(all, at), 40)).toEqual(read([all], 40));
    }),
    { numRuns: 500 },
  );
});

test("a length that is only claimed takes no room, and one beyond the limit is refused", () => {
  const reader = new MessageReader(1 << 30);
  expect(reader.push(Buffer.from([0, 0x3f, 0xff, 0xff, 0xff, 1, 2]), () => true)).toBe(FrameFault.None);
  expect(reader.isBetweenMessages).toBe(false);
  expect(read([Buffer.from([0, 0, 0, 0, 9])], 8).fault).toBe(FrameFault.TooLong);
  expect(read([Buffer.from([1, 0, 0, 0, 0])], 8).fault).toBe(FrameFault.BadFlag);
});
