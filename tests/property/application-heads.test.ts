// What an application of uWSGI or SCGI reads is what its gateway was given: every name and value, in order, of any length.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { scgiHeadBound, writeScgiHead } from "../../src/proto/cgi/scgi-head.ts";
import { packetBound, packetBytes, writePacket } from "../../src/proto/cgi/uwsgi-packet.ts";
import { encodedParams } from "../../src/proto/fastcgi/params.ts";

type Param = readonly [name: string, value: string];

/** Lengths around 127, from which on FastCGI writes four bytes. */
const text = (first: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(1, 7, 126, 127, 128, 300), fc.integer({ min: first, max: 255 }))
    .map(([length, char]) => String.fromCharCode(char).repeat(length));
const value = fc.oneof(fc.constant(""), text(1));
const params: fc.Arbitrary<Param[]> = fc.array(fc.tuple(text(0x41), value), { maxLength: 8 });
/** Bytes behind the parameters, which are not theirs. */
const REST = Buffer.alloc(64, 0x55);

/** The variables of a packet, as an application reads them. https://uwsgi-docs.readthedocs.io/en/latest/Protocol.html */
function variablesOf(packet: Buffer): Param[] {
  const found: Param[] = [];
  let at = 4;
  const next = (): string => {
    const length = packet.readUInt16LE(at);
    at += 2 + length;
    return packet.latin1Slice(at - length, at);
  };
  while (at < packet.length) found.push([next(), next()]);
  return found;
}

/** The names and values of the netstring that begins a request of SCGI. */
function scgiParamsOf(head: Buffer): Param[] {
  const colon = head.indexOf(":");
  const from = colon + 1;
  const to = from + Number(head.latin1Slice(0, colon));
  expect(head.latin1Slice(to)).toBe(",");
  const words = head.latin1Slice(from, to).split("\0");
  expect(words.pop()).toBe("");
  return words.flatMap((word, i) => (i % 2 === 0 ? [[word, words[i + 1]!] as const] : []));
}

test("a packet of uWSGI holds its parameters and no more", () => {
  const modifiers = fc.tuple(fc.nat(255), fc.nat(255));
  fc.assert(
    fc.property(params, modifiers, fc.nat(9), (all, [one, two], start) => {
      const encoded = encodedParams(all);
      const given = Buffer.concat([encoded, REST]);
      const out = Buffer.alloc(start + packetBound(encoded.length));
      const end = writePacket(given, encoded.length, [one, two], out, start);
      const packet = out.subarray(start, end);
      expect([packet[0], packet.readUInt16LE(1), packet[3]]).toEqual([one, packet.length - 4, two]);
      expect(packetBytes(given, encoded.length)).toBe(packet.length - 4);
      expect(variablesOf(packet)).toEqual(all);
    }),
  );
});

test("a head of SCGI holds the length first, the version, and its parameters but for another length", () => {
  fc.assert(
    fc.property(params, fc.nat(1_000_000), fc.boolean(), fc.nat(9), (all, length, names, start) => {
      const encoded = encodedParams(names ? [["CONTENT_LENGTH", "7"], ...all] : all);
      const out = Buffer.alloc(start + scgiHeadBound(encoded.length));
      const end = writeScgiHead(Buffer.concat([encoded, REST]), encoded.length, length, out, start);
      const head = out.subarray(start, end);
      expect(scgiParamsOf(head)).toEqual([["CONTENT_LENGTH", String(length)], ["SCGI", "1"], ...all]);
    }),
  );
});
