import { describe, expect, test } from "bun:test";
import { decodeAllButSlashes, decodeFully, decodeOnce } from "../../../../src/proto/target/percent-decoding.ts";
import vectors from "../../../vectors/target/decodings.json";

describe("percent-decoding", () => {
  for (const { text, once, fully, butSlashes, tooDeep } of vectors) {
    test(JSON.stringify(text), () => {
      expect(decodeOnce(text)).toBe(once);
      expect(decodeFully(text)).toEqual({ text: fully, tooDeep: tooDeep === true });
      expect(decodeAllButSlashes(text)).toBe(butSlashes);
    });
  }

  test("takes linear time for long and deep texts", () => {
    const text = `/${"%25".repeat(20_000)}`;
    expect(decodeFully(text).text).toBe(`/${"%".repeat(20_000)}`);
    expect(decodeFully(`/%${"25".repeat(30_000)}`).tooDeep).toBe(true);
  });
});
