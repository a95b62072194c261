import { describe, expect, test } from "bun:test";
import { ProxyHeader, ProxyHeaderParser } from "../../../../src/proto/proxy-protocol/proxy-header-parser.ts";
import { binaryHeader, LOCAL, PROXY, TCP4, TCP6, tlv, v4Block, v6Block } from "./proxy-headers.ts";

const V6 = "20010db8000000000000000000000007";
const NOTHING = new Uint8Array(0);

/** Fills the checksum at the header's end in. */
function summed(header: Buffer): Buffer {
  // CRC32C bit by bit. RFC 3720, B.4
  let sum = 0xffff_ffff;
  for (const byte of header) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0x82f6_3b78 : sum >>> 1;
  }
  header.writeUInt32BE((sum ^ 0xffff_ffff) >>> 0, header.length - 4);
  return header;
}

/** One bit of the client's address is another. */
function corrupted(header: Buffer): Buffer {
  header[17]! ^= 1;
  return header;
}

/** Reads a header with a request behind it, whole and byte by byte; both must come to the same. */
function read(header: Uint8Array | string): string {
  const bytes = Buffer.concat([Buffer.from(header as string, "latin1"), Buffer.from("GET / HTTP/1.1\r\n")]);
  const whole = outcomeOf(bytes, bytes.length);
  expect(outcomeOf(bytes, 1)).toBe(whole);
  return whole;
}

function outcomeOf(bytes: Buffer, pieceBytes: number): string {
  const parser = new ProxyHeaderParser();
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const to = Math.min(bytes.length, at + pieceBytes);
    const outcome = parser.push(bytes, at, to);
    if (outcome === ProxyHeader.Malformed) return "malformed";
    if (outcome === ProxyHeader.Complete) {
      return `${parser.sourceAddress} ${parser.sourcePort} then ${bytes.toString("latin1", parser.consumed).slice(0, 3)}`;
    }
  }
  return "incomplete";
}

describe("version 1", () => {
  test.each([
    ["PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n", "192.168.0.1 56324 then GET"],
    ["PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255 65535 then GET"],
    ["PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n", "0.0.0.0 0 then GET"],
    ["PROXY TCP6 2001:DB8::7 2001:db8::1 4711 443\r\n", "2001:db8::7 4711 then GET"],
    [
      `PROXY TCP6 ${"ffff:".repeat(7)}ffff ${"ffff:".repeat(7)}ffff 65535 65535\r\n`,
      `${"ffff:".repeat(7)}ffff 65535 then GET`,
    ],
    ["PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n", "192.0.2.1 1 then GET"],
    ["PROXY UNKNOWN\r\n", " 0 then GET"],
    ["PROXY UNKNOWN what ever\t\x80 this is\r\n", " 0 then GET"],
    [`PROXY UNKNOWN ${"x".repeat(91)}\r\n`, " 0 then GET"],
  ])("%j tells %s", (line, expected) => {
    expect(read(line)).toBe(expected);
  });

  test.each([
    ["another word", "PROXI TCP4 1.2.3.4 1.2.3.4 1 2\r\n"],
    ["lower case", "proxy TCP4 1.2.3.4 1.2.3.4 1 2\r\n"],
    ["an unknown family", "PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n"],
    ["UDP", "PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n"],
    ["a word that begins with UNKNOWN", "PROXY UNKNOWNS\r\n"],
    ["two spaces", "PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n"],
    ["a space at the end", "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n"],
    ["a tab", "PROXY TCP4\t1.2.3.4 1.2.3.4 1 2\r\n"],
    ["a missing port", "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n"],
    ["one word too many", "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n"],
    ["an IPv6 address under TCP4", "PROXY TCP4 ::1 ::1 1 2\r\n"],
    ["an IPv4 address under TCP6", "PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n"],
    ["a bad destination", "PROXY TCP4 1.2.3.4 1.2.3 1 2\r\n"],
    ["a leading zero in an address", "PROXY TCP4 01.2.3.4 1.2.3.4 1 2\r\n"],
    ["a zone", "PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n"],
    ["a port of 65536", "PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n"],
    ["a leading zero in a port", "PROXY TCP4 1.2.3.4 1.2.3.4 080 2\r\n"],
    ["a signed port", "PROXY TCP4 1.2.3.4 1.2.3.4 +80 2\r\n"],
    ["a bare LF", "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n"],
    ["a bare CR", "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\r\n"],
    ["a CR within", "PROXY UNKNOWN \rx\r\n"],
    ["108 bytes", `PROXY UNKNOWN ${"x".repeat(92)}\r\n`],
    ["no header at all", ""],
    ["TLS", "\x16\x03\x01\x02\x00"],
  ])("%s is malformed", (_name, line) => {
    expect(read(line)).toBe("malformed");
  });
});

describe("version 2", () => {
  const alpn = tlv(0x01, Buffer.from("h2"));
  const bigTlv = tlv(0xe0, Buffer.alloc(60_000, 0x47));
  const longTlv = tlv(0xe0, Buffer.alloc(300)).subarray(0, 302);
  const others = Array.from({ length: 256 }, (_, type) => type).filter((type) => type !== 3);
  const allTypes = Buffer.concat(others.map((type) => tlv(type, Buffer.alloc(type, type))));
  const sumTlv = tlv(3, Buffer.alloc(4));
  const alpnAndSum = Buffer.concat([alpn, sumTlv]);
  const UNIX = Buffer.alloc(216, 0x2f);

  test.each([
    ["TCP over IPv4", binaryHeader(PROXY, TCP4, v4Block("203.0.113.9", 4711)), "203.0.113.9 4711 then GET"],
    ["TCP over IPv6", binaryHeader(PROXY, TCP6, v6Block(V6, 65535)), "2001:db8::7 65535 then GET"],
    [
      "a mapped address",
      binaryHeader(PROXY, TCP6, v6Block(`${"0".repeat(20)}ffffc0000201`, 1)),
      "192.0.2.1 1 then GET",
    ],
    ["TLVs behind", binaryHeader(PROXY, TCP4, v4Block("203.0.113.9", 4711, alpn)), "203.0.113.9 4711 then GET"],
    ["a large TLV", binaryHeader(PROXY, TCP6, v6Block(V6, 1, bigTlv)), "2001:db8::7 1 then GET"],
    ["an empty TLV", binaryHeader(PROXY, TCP4, v4Block("10.0.0.1", 1, tlv(4, NOTHING))), "10.0.0.1 1 then GET"],
    ["each type of TLV", binaryHeader(PROXY, TCP4, v4Block("10.0.0.1", 1, allTypes)), "10.0.0.1 1 then GET"],
    ["its checksum", summed(binaryHeader(PROXY, TCP4, v4Block("10.0.0.1", 1, alpnAndSum))), "10.0.0.1 1 then GET"],
    ["a checksum of UNIX", summed(binaryHeader(PROXY, 0x31, Buffer.concat([UNIX, sumTlv]))), " 0 then GET"],
    ["LOCAL", binaryHeader(LOCAL, 0, NOTHING), " 0 then GET"],
    ["LOCAL with addresses", binaryHeader(LOCAL, TCP4, v4Block("203.0.113.9", 1)), " 0 then GET"],
    ["LOCAL with a family of no meaning", binaryHeader(LOCAL, 0xff, Buffer.alloc(3)), " 0 then GET"],
    ["no family", binaryHeader(PROXY, 0x00, NOTHING), " 0 then GET"],
    ["no family, with bytes", binaryHeader(PROXY, 0x00, bigTlv), " 0 then GET"],
    ["a UNIX socket", binaryHeader(PROXY, 0x31, Buffer.alloc(216, 0x2f)), " 0 then GET"],
    ["datagrams", binaryHeader(PROXY, 0x12, v4Block("203.0.113.9", 1)), " 0 then GET"],
    [
      "the longest there is",
      binaryHeader(PROXY, TCP4, v4Block("10.0.0.1", 1, tlv(4, Buffer.alloc(65520)))),
      "10.0.0.1 1 then GET",
    ],
  ])("%s", (_name, header, expected) => {
    expect(read(header)).toBe(expected);
  });

  test.each([
    ["version 1 in the binary form", binaryHeader(0x11, TCP4, v4Block("1.2.3.4", 1))],
    ["version 3", binaryHeader(0x31, TCP4, v4Block("1.2.3.4", 1))],
    ["an unknown command", binaryHeader(0x22, TCP4, v4Block("1.2.3.4", 1))],
    ["an unknown family", binaryHeader(PROXY, 0x41, v4Block("1.2.3.4", 1))],
    ["an unknown transport", binaryHeader(PROXY, 0x13, v4Block("1.2.3.4", 1))],
    ["IPv4 without a transport", binaryHeader(PROXY, 0x10, v4Block("203.0.113.9", 1))],
    ["a transport without a family", binaryHeader(PROXY, 0x01, NOTHING)],
    ["a TLV without a length", binaryHeader(PROXY, TCP4, v4Block("1.2.3.4", 1, Buffer.from("zz")))],
    ["a TLV that is longer than the block", binaryHeader(PROXY, TCP4, v4Block("1.2.3.4", 1, longTlv))],
    ["a checksum of another header", corrupted(summed(binaryHeader(PROXY, TCP4, v4Block("1.2.3.4", 1, alpnAndSum))))],
    ["a checksum of two bytes", binaryHeader(PROXY, TCP4, v4Block("1.2.3.4", 1, tlv(3, Buffer.alloc(2))))],
    ["two checksums", binaryHeader(PROXY, TCP4, v4Block("1.2.3.4", 1, Buffer.concat([sumTlv, sumTlv])))],
    ["a UNIX socket without room for it", binaryHeader(PROXY, 0x31, Buffer.alloc(215))],
    ["IPv4 without room for it", binaryHeader(PROXY, TCP4, Buffer.alloc(11))],
    ["IPv6 without room for it", binaryHeader(PROXY, TCP6, Buffer.alloc(35))],
    ["IPv4 without anything", binaryHeader(PROXY, TCP4, NOTHING)],
    ["a signature with one byte changed", "\r\n\r\n\0\r\nQUIT\r"],
    ["the signature in text", "\r\n\r\n0\r\nQUIT\n"],
    ["an empty line before a request", "\r\n"],
  ])("%s is malformed", (_name, header) => {
    expect(read(header)).toBe("malformed");
  });
});
