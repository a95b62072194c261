import { describe, expect, test } from "bun:test";
import zlib from "node:zlib";
import { codingsOf, contentOf, inflate, Packing } from "../../../../src/features/waf/body/content-codings.ts";
import { fakeExchange } from "../telemetry/exchange-fake.ts";

const TEXT = Buffer.from("a=1&q=<script>alert(1)</script>&b=two words");
const PACKERS: readonly (readonly [string, Packing, (body: Buffer) => Buffer])[] = [
  ["gzip", Packing.Gzip, (body) => zlib.gzipSync(body)],
  ["zlib", Packing.Deflate, (body) => zlib.deflateSync(body)],
  ["raw deflate", Packing.Deflate, (body) => zlib.deflateRawSync(body)],
  ["stored blocks", Packing.Deflate, (body) => zlib.deflateRawSync(body, { level: 0 })],
  ["brotli", Packing.Brotli, (body) => zlib.brotliCompressSync(body)],
  ["zstd", Packing.Zstd, (body) => zlib.zstdCompressSync(body)],
];

function codings(...values: string[]): readonly Packing[] {
  const headers = values.map((value): [string, string] => ["Content-Encoding", value]);
  return codingsOf(fakeExchange({ headers }).ex.request.headers);
}

describe("inflating", () => {
  test.each(PACKERS)("%s: all, or as much as was asked for", (_name, packing, pack) => {
    const packed = pack(TEXT);
    expect(inflate(packing, packed, 65_536)).toEqual({ bytes: TEXT, isCut: false, isBroken: false });
    expect(inflate(packing, packed, TEXT.length)).toEqual({ bytes: TEXT, isCut: false, isBroken: false });
    expect(inflate(packing, packed, 10)).toEqual({ bytes: TEXT.subarray(0, 10), isCut: true, isBroken: false });
  });

  test.each(PACKERS)("%s: the beginning of a bomb", (_name, packing, pack) => {
    const { bytes, isCut } = inflate(packing, pack(Buffer.alloc(4 * 1024 * 1024, "a")), 100_000);
    expect([bytes.length, isCut, bytes.every((byte) => byte === 0x61)]).toEqual([100_000, true, true]);
  });

  test.each(PACKERS)("%s: what follows, what is cut off and what is none do no harm", (_name, packing, pack) => {
    const packed = pack(TEXT);
    const behind = inflate(packing, Buffer.concat([packed, Buffer.from("<more>")]), 65_536);
    expect(behind.bytes.subarray(0, TEXT.length)).toEqual(TEXT);
    for (let length = 0; length < packed.length; length++) {
      const { bytes } = inflate(packing, packed.subarray(0, length), 65_536);
      expect(TEXT.subarray(0, bytes.length)).toEqual(Buffer.from(bytes));
    }
    expect(inflate(packing, Buffer.from("q=<script>alert(1)</script>"), 65_536).bytes.length).toBeLessThan(64);
  });

  test("the window of brotli, whatever it is, changes nothing of what comes out, and costs nothing", () => {
    const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(30_000))).toString("hex");
    const text = Buffer.from(noise.repeat(20));
    for (let bits = 10; bits <= 24; bits++) {
      const params = { [zlib.constants.BROTLI_PARAM_LGWIN]: bits, [zlib.constants.BROTLI_PARAM_QUALITY]: 5 };
      const packed = zlib.brotliCompressSync(text, { params });
      for (const length of [10, 65_536, 262_144, 300_000, 1_048_576, text.length, text.length + 1]) {
        const expected = text.subarray(0, length);
        const { bytes } = inflate(Packing.Brotli, packed, length);
        expect([bits, length, Buffer.compare(bytes, expected)]).toEqual([bits, length, 0]);
      }
    }
  });

  test("members of gzip, one behind the other", () => {
    const { bytes } = inflate(Packing.Gzip, Buffer.concat([zlib.gzipSync(TEXT), zlib.gzipSync(TEXT)]), 65_536);
    expect(bytes).toEqual(Buffer.concat([TEXT, TEXT]));
  });
});

describe("codings", () => {
  test("are those that are known, in order, over all fields", () => {
    expect(codings("gzip")).toEqual([Packing.Gzip]);
    expect(codings(" X-Gzip ,identity,, BR")).toEqual([Packing.Gzip, Packing.Brotli]);
    expect(codings("deflate", "zstd, rot13")).toEqual([Packing.Deflate, Packing.Zstd]);
    expect([codings(), codings(""), codings("identity"), codings("rot13, brx")]).toEqual([[], [], [], []]);
    // Some applications look for the word.
    expect([codings("gzip2"), codings('"gzip";q=1, x-deflate')]).toEqual([
      [Packing.Gzip],
      [Packing.Gzip, Packing.Deflate],
    ]);
  });

  test("are undone last first, three at most", () => {
    const gzip = (body: Buffer) => Buffer.from(zlib.gzipSync(body));
    const three = gzip(gzip(gzip(TEXT)));
    const labels = [Packing.Gzip, Packing.Gzip, Packing.Gzip];
    expect(contentOf(labels, three, 65_536)).toEqual({ bytes: TEXT, isCut: false, isBroken: false });
    expect(contentOf([...labels, Packing.Gzip], gzip(three), 65_536).bytes).toEqual(gzip(TEXT));
    expect(contentOf([Packing.Brotli, Packing.Gzip], gzip(TEXT), 65_536).bytes.length).toBeGreaterThan(0);
    expect(contentOf(labels, TEXT, 65_536)).toEqual({ bytes: Buffer.alloc(0), isCut: false, isBroken: true });
    // One of two labels that is wrong does not hide what the other one says.
    expect(contentOf([Packing.Gzip, Packing.Zstd], gzip(TEXT), 65_536)).toMatchObject({ bytes: TEXT, isBroken: true });
  });

  test("what grows beyond all measure is over the limit, and inspected as far as it would be", () => {
    const packed = zlib.gzipSync(Buffer.alloc(60_000, "a"));
    expect(contentOf([Packing.Gzip], packed, 65_536)).toMatchObject({ bytes: { length: 60_000 }, isCut: true });
    expect(contentOf([Packing.Gzip], packed, 16_777_216)).toMatchObject({ bytes: { length: 60_000 }, isCut: true });
    const bomb = zlib.gzipSync(Buffer.alloc(8_000_000, "a"));
    const { bytes, isCut } = contentOf([Packing.Gzip], bomb, 16_777_216);
    expect([bytes.length <= Math.max(65_536, bomb.length * 100), isCut]).toEqual([true, true]);
  });
});

describe("a stream that another reader may read on", () => {
  const raw = (text: string | Buffer) => Buffer.from(zlib.deflateRawSync(text));
  /** A member with flags in its head, and two bytes that they may announce. */
  const member = (text: string, flags: number, extra: string) =>
    Buffer.concat([Buffer.from([0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3]), Buffer.from(extra, "latin1"), raw(text)]);
  const good = Buffer.from(zlib.gzipSync("a=1&"));
  // As zlib's format a block of 65,534 bytes, without its head one of a single byte, and the content behind it.
  const both = Buffer.concat([
    Buffer.from("7801 00feff 0100 0000ffff".replaceAll(" ", ""), "hex"),
    raw(TEXT),
    Buffer.alloc(400, "x"),
  ]);
  const wide = Buffer.from(zlib.zstdCompressSync(TEXT, { params: { [zlib.constants.ZSTD_c_contentSizeFlag]: 0 } }));
  // Bit 5 of the descriptor says that there is no window; 16 MiB otherwise.
  wide[4] = wide[4]! & ~0x20;
  wide[5] = 0x70;

  test.each([
    ["a check of the head", Packing.Gzip, member("x", 2, "zz")],
    ["a flag that means nothing yet", Packing.Gzip, member("x", 0x20, "")],
    ["the same in a second member", Packing.Gzip, Buffer.concat([good, member("x", 2, "zz")])],
    ["zeros between two members", Packing.Gzip, Buffer.concat([good, Buffer.alloc(7), good])],
    ["two formats at once", Packing.Deflate, both],
    ["a window that is too large", Packing.Zstd, wide],
    ["bytes behind the end", Packing.Brotli, Buffer.concat([zlib.brotliCompressSync(TEXT), Buffer.from("x")])],
  ] as const)("%s", (_what, packing, packed) => {
    expect(inflate(packing, packed, 65_536).isBroken).toBe(true);
  });

  test("is none that is cut off, is longer than asked for, or is filled up with zeros", () => {
    for (const [, packing, pack] of PACKERS) {
      const packed = pack(TEXT);
      expect(inflate(packing, packed, 65_536).isBroken).toBe(false);
      expect(inflate(packing, packed.subarray(0, packed.length - 2), 65_536).isBroken).toBe(false);
      expect(inflate(packing, packed, 10).isBroken).toBe(false);
    }
    expect(inflate(Packing.Gzip, Buffer.concat([good, Buffer.alloc(9)]), 65_536).isBroken).toBe(false);
  });
});
