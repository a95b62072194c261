import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HpackDecoder } from "../../../../src/proto/hpack/decoder.ts";
import { decodeBlock } from "./hpack-log.ts";

interface Story {
  readonly name: string;
  readonly table: number;
  readonly blocks: readonly (readonly [hex: string, fields: readonly string[] | null])[];
}

// The appendix of the standard, and what node's http2, nghttp and curl have sent for requests that were known.
const STORIES = ["rfc7541-c.jsonl", "stories.jsonl"].flatMap((file) =>
  readFileSync(join(import.meta.dir, "../../../vectors/hpack", file), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Story),
);

describe("HPACK decoder", () => {
  test.each(STORIES.map((story) => [story.name, story] as const))("%s", (_name, { table, blocks }) => {
    const decoder = new HpackDecoder(table);
    for (const [hex, fields] of blocks) expect(decodeBlock(decoder, Buffer.from(hex, "hex"))).toEqual(fields as never);
  });

  test("an entry larger than the table empties it", () => {
    const decoder = new HpackDecoder(64);
    expect(decodeBlock(decoder, Buffer.from(`400161016240016328${"64".repeat(40)}`, "hex"))).toHaveLength(2);
    expect(decodeBlock(decoder, Buffer.from("be", "hex"))).toBeNull();
  });

  test("names of entries that go out by their own use stay readable", () => {
    const decoder = new HpackDecoder(64);
    const name = "n".repeat(20);
    const first = Buffer.concat([Buffer.from([0x40, 20]), Buffer.from(name), Buffer.from([1, 0x61])]);
    expect(decodeBlock(decoder, first)).toEqual([`${name}: a`]);
    for (const value of ["b", "c", "d", "e", "f", "g"]) {
      const block = Buffer.concat([Buffer.from([0x7e, 1]), Buffer.from(value)]);
      expect(decodeBlock(decoder, block)).toEqual([`${name}: ${value}`]);
    }
  });
});
