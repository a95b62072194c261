import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { HeaderBlock } from "../../../../src/message/header-block.ts";
import { bodyReading } from "../../../harness/waf-bodies.ts";

const SOURCE = join(import.meta.dir, "../../../../src/features");

function packed(...codings: readonly string[]): HeaderBlock {
  const headers = new HeaderBlock();
  headers.resetOwn();
  for (const coding of codings) headers.add("Content-Encoding", coding);
  return headers;
}

test("a body is unpacked once, for the firewall's rules and for those of waf.rules", () => {
  const reading = bodyReading(packed("gzip"), gzipSync("a=1"));
  expect(Buffer.from(reading.text()).toString()).toBe("a=1");
  expect(reading.unpack()).toBe(reading.unpack());
  expect(reading.text().buffer).toBe(reading.unpack().bytes.buffer);
});

test("a body with a label that is wrong, or without one, is what it is", () => {
  const plain = Buffer.from("a=1");
  expect(Buffer.from(bodyReading(packed("gzip"), plain).text())).toEqual(plain);
  expect(Buffer.from(bodyReading(packed(), plain).text())).toEqual(plain);
});

test("one reader undoes the codings of requests, and one takes multipart bodies apart", () => {
  const files = [...new Bun.Glob("**/*.ts").scanSync(SOURCE)];
  const holding = (text: string): string[] =>
    files.filter((file) => readFileSync(join(SOURCE, file), "utf8").includes(text)).sort();
  expect(holding("contentOf(codings,").concat(holding("contentOf(this.codings,"))).toEqual([
    "waf/responses/leak-sink.ts",
    "waf/body/body-reading.ts",
  ]);
  expect(holding("nextDelimiter(")).toEqual(["waf/body/multipart-parts.ts"]);
});
