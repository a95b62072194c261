import { describe, expect, test } from "bun:test";
import { ClientOpening } from "../../../../src/proto/h2/opening.ts";
import { ja4 } from "../../../../src/proto/tls/ja4.ts";

const u16 = (...codes: number[]): number[] => codes.flatMap((code) => [code >> 8, code & 0xff]);
const sized = (bytes: number[]): number[] => [...u16(bytes.length), ...bytes];
const extension = (type: number, data: number[] = []): number[] => [...u16(type), ...sized(data)];
const ascii = (text: string): number[] => [...Buffer.from(text)];

function hello(ciphers: number[], extensions: number[][] | null, legacy = 0x0303): Uint8Array {
  const body = [...u16(legacy), ...new Array<number>(32).fill(7), 0, ...sized(u16(...ciphers)), 1, 0];
  if (extensions !== null) body.push(...sized(extensions.flat()));
  return Uint8Array.from([1, 0, ...u16(body.length), ...body]);
}

const CHROME = [
  0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc013, 0xc014, 0x9c, 0x9d, 0x2f, 0x35,
];
const SIGNATURES = extension(13, sized(u16(0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601)));
const OF_CHROME = [
  extension(0x1a1a),
  extension(0, sized([0, ...sized(ascii("a.test"))])),
  ...[0x17, 0xff01, 0x0a, 0x0b, 0x23].map((type) => extension(type)),
  extension(16, sized([2, ...ascii("h2"), 8, ...ascii("http/1.1")])),
  extension(5),
  SIGNATURES,
  extension(0x12),
  extension(0x33),
  extension(0x2d),
  extension(43, [7, ...u16(0x0a0a, 0x0304, 0x0303)].slice(0, 7)),
  extension(0x1b),
  extension(0x4469),
  extension(0x2a2a, [0]),
  extension(0x15),
];

describe("JA4", () => {
  test("is the published one of Chrome, in whatever order its extensions come", () => {
    const published = "t13d1516h2_8daaf6152771_e5627efa2ab1";
    expect(ja4(hello([0x3a3a, ...CHROME], OF_CHROME))).toBe(published);
    expect(ja4(hello([0x8a8a, ...CHROME.toReversed()], OF_CHROME.toReversed()))).toBe(published);
  });

  test("has an end without an underscore if there are no signature algorithms, and zeros if there is nothing", () => {
    expect(ja4(hello([0x2f], null))).toBe("t12i010000_c7d0b4ca8fa9_000000000000".replace("c7d0b4ca8fa9", sha("002f")));
    expect(ja4(hello([0x2f], [extension(0x17)], 0x0301))).toBe(`t10i010100_${sha("002f")}_${sha("0017")}`);
    expect(ja4(hello([0x0a0a], []))).toBe("t12i000000_000000000000_000000000000");
  });

  test("tells protocols apart by the ends of their names, or by those of their digits", () => {
    const alpn = (...name: number[]) => ja4(hello([0x2f], [extension(16, sized([name.length, ...name]))])).slice(8, 10);
    expect(alpn(...ascii("http/1.1"))).toBe("h1");
    expect(alpn(...ascii("h"))).toBe("hh");
    expect(alpn(0xab)).toBe("ab");
    expect(alpn(0x20, 0x61)).toBe("21");
  });
});

describe("ClientOpening", () => {
  test("has the published form, with marks for absent parts", () => {
    const opening = new ClientOpening();
    opening.onSettings(Uint8Array.from([...u16(1), 0, 1, 0, 0, ...u16(3), 0, 0, 3, 232]), 0, 12);
    opening.onPriority(3, Uint8Array.from([0x80, 0, 0, 0, 200]), 0);
    opening.onPriority(5, Uint8Array.from([0, 0, 0, 3, 0]), 0);
    opening.onWindow(15_663_105);
    opening.onRequest([1, 9, 5, 20]);
    opening.onPriority(7, Uint8Array.from([0, 0, 0, 3, 0]), 0);
    expect(opening.text).toBe("1:65536;3:1000|15663105|3:1:0:201,5:0:3:1|m,s,a,p");
    const bare = new ClientOpening();
    bare.onSettings(new Uint8Array(0), 0, 0);
    bare.onRequest([0, 0, 0, 0]);
    expect(bare.text).toBe("|00|0|0");
  });
});

function sha(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 12);
}
