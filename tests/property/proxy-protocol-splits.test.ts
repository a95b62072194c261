import { expect, test } from "bun:test";
import fc from "fast-check";
import { formatAddress } from "../../src/core/ip-address.ts";
import { ProxyHeader, ProxyHeaderParser } from "../../src/proto/proxy-protocol/proxy-header-parser.ts";
import {
  binaryHeader,
  LOCAL,
  PROXY,
  TCP4,
  TCP6,
  tlv,
  v4Block,
  v6Block,
} from "../unit/proto/proxy-protocol/proxy-headers.ts";

/** The type of the TLV that has a checksum of the header. */
const CHECKSUM = 3;
const port = fc.integer({ min: 0, max: 65535 });
const type = fc.integer({ min: 0, max: 255 }).filter((one) => one !== CHECKSUM);
const tlvs = fc
  .array(fc.tuple(type, fc.uint8Array({ maxLength: 20 })), { maxLength: 3 })
  .map((all) => Buffer.concat(all.map(([kind, value]) => tlv(kind, value))));
const hex16 = fc.uint8Array({ minLength: 16, maxLength: 16 });

/** Well-formed headers with what they tell. */
const good = fc.oneof(
  fc.tuple(fc.ipV4(), port, fc.ipV4()).map(([source, from, to]) => ({
    header: Buffer.from(`PROXY TCP4 ${source} ${to} ${from} 443\r\n`),
    tells: [source, from] as const,
  })),
  fc.tuple(hex16, port).map(([octets, from]) => ({
    header: Buffer.from(`PROXY TCP6 ${groups(octets)} ::1 ${from} 443\r\n`),
    tells: [formatAddress(octets), from] as const,
  })),
  fc.tuple(fc.ipV4(), port, tlvs).map(([source, from, more]) => ({
    header: binaryHeader(PROXY, TCP4, v4Block(source, from, more)),
    tells: [source, from] as const,
  })),
  fc.tuple(hex16, port, tlvs).map(([octets, from, more]) => ({
    header: binaryHeader(PROXY, TCP6, v6Block(Buffer.from(octets).toString("hex"), from, more)),
    tells: [formatAddress(octets), from] as const,
  })),
  fc.tuple(fc.integer({ min: 0, max: 255 }), tlvs).map(([family, more]) => ({
    header: binaryHeader(LOCAL, family, more),
    tells: ["", 0] as const,
  })),
);
const cuts = fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 6 });

function groups(octets: Uint8Array): string {
  return Array.from({ length: 8 }, (_, i) => ((octets[i * 2]! << 8) | octets[i * 2 + 1]!).toString(16)).join(":");
}

interface Read {
  readonly outcome: ProxyHeader;
  readonly tells: readonly (string | number)[];
  /** Where the bytes of the header end; -1 where it is not complete. */
  readonly end: number;
}

/** What a parser makes of bytes that come in these pieces. */
function read(bytes: Buffer, at: readonly number[]): Read {
  const parser = new ProxyHeaderParser();
  const edges = [...new Set([...at.filter((one) => one < bytes.length), bytes.length])].sort((a, b) => a - b);
  let from = 0;
  for (const to of edges) {
    const outcome = parser.push(bytes, from, to);
    if (outcome === ProxyHeader.Complete) {
      expect(parser.consumed).toBeGreaterThanOrEqual(from);
      expect(parser.consumed).toBeLessThanOrEqual(to);
      return { outcome, tells: [parser.sourceAddress, parser.sourcePort], end: parser.consumed };
    }
    if (outcome === ProxyHeader.Malformed) return { outcome, tells: [], end: -1 };
    from = to;
  }
  return { outcome: ProxyHeader.NeedMore, tells: [], end: -1 };
}

test("a header tells the same however it is cut, and nothing behind it is touched", () => {
  fc.assert(
    fc.property(good, fc.uint8Array({ maxLength: 20 }), cuts, ({ header, tells }, behind, at) => {
      const expected = { outcome: ProxyHeader.Complete, tells: [...tells], end: header.length };
      expect(read(Buffer.concat([header, behind]), at)).toEqual(expected);
    }),
    { numRuns: 1000 },
  );
});

test("a header that is not there whole is waited for", () => {
  fc.assert(
    fc.property(good, cuts, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), ({ header }, at, share) => {
      const part = header.subarray(0, Math.floor(header.length * share));
      expect(read(part, at).outcome).toBe(ProxyHeader.NeedMore);
    }),
  );
});

test("whatever else comes, every split comes to the same, within bounds", () => {
  const broken = fc.tuple(good, fc.nat(), fc.integer({ min: 0, max: 255 })).map(([{ header }, place, byte]) => {
    const bytes = Buffer.from(header);
    bytes[place % bytes.length] = byte;
    return bytes;
  });
  const any = fc.oneof(
    broken,
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  );
  fc.assert(
    fc.property(any, cuts, (bytes, at) => {
      expect(read(bytes, at)).toEqual(read(bytes, []));
    }),
    { numRuns: 1000 },
  );
});
