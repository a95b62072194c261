import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { faultRow } from "../../../../src/core/fault-rows.ts";
import { RequestHead } from "../../../../src/message/request-head.ts";
import { RequestHeadReader } from "../../../../src/proto/h2/request-head-reader.ts";
import { HpackDecoder } from "../../../../src/proto/hpack/decoder.ts";
import { LineBuffer } from "../../../../src/proto/hpack/line-buffer.ts";
import { encode, type Field } from "../../../harness/h2-client.ts";

interface HeadVector {
  readonly name: string;
  readonly fields: readonly Field[];
  readonly hasBody?: boolean;
  readonly fault?: string;
  readonly head?: Record<string, unknown>;
}

const FILE = join(import.meta.dir, "../../../vectors/h2/requests.jsonl");
const VECTORS = readFileSync(FILE, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as HeadVector);

function read(vector: HeadVector, refusesUnknownPseudo = false): { fault: string; head: RequestHead } {
  const reader = new RequestHeadReader({
    maxListBytes: 65536,
    maxFields: 100,
    refusesUnknownPseudo,
    allowsConnectProtocol: false,
  });
  const decoder = new HpackDecoder(4096);
  const head = new RequestHead();
  const block = encode(vector.fields);
  decoder.begin(block, 0, block.length);
  const fault = reader.read(decoder, new LineBuffer(), head, vector.hasBody !== true);
  return { fault: faultRow(fault).label, head };
}

describe("heads of HTTP/2 requests", () => {
  test.each(VECTORS.map((vector) => [vector.name, vector] as const))("%s", (_name, vector) => {
    const { fault, head } = read(vector);
    expect(fault).toBe(vector.fault ?? "none");
    if (vector.head === undefined) return;
    const { headers } = head;
    const fields = Array.from({ length: headers.count }, (_, i) => `${headers.nameText(i)}: ${headers.valueText(i)}`);
    const [method, target, path] = [head.methodText(), head.target(), head.path()];
    expect({ method, target, path, authority: head.authority(), framing: head.framing, fields }).toEqual(
      vector.head as never,
    );
  });

  test("unknown pseudo-headers are refused where that is wanted", () => {
    const vector = VECTORS.find(({ name }) => name === "unknown pseudo-headers")!;
    expect(read(vector, true).fault).toBe("bad_pseudo_header");
  });
});
