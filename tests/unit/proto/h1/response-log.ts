import { Fault } from "../../../../src/core/fault.ts";
import { HeaderBlock, HeaderId } from "../../../../src/message/header-block.ts";
import { methodFromName } from "../../../../src/message/request-head.ts";
import { faultOf, NEED_MORE } from "../../../../src/proto/h1/outcome.ts";
import { ResponseParser } from "../../../../src/proto/h1/response-parser.ts";
import type { Carrier } from "../carriers.ts";
import { FRAMINGS, type FramingName, placesOf } from "../spans.ts";
import { readVectors, type Vector } from "../vector-file.ts";

/** A response vector: what the parser makes of the input. Offsets count from the start of the input. */
export interface ResponseVector extends Vector {
  /** Method of the request; GET where it is left out. */
  readonly method?: string;
  readonly head?: ResponseRow;
  readonly fault?: "upstream_malformed";
  readonly needMore?: true;
}

/** An accepted head; what is left out has the value that stands in `expectedResponse`. */
export interface ResponseRow {
  readonly status: number;
  readonly minor?: number;
  readonly fields: readonly (readonly [number, number, number, number])[];
  readonly named?: readonly number[];
  readonly framing: FramingName;
  readonly length?: number;
  readonly hasLength?: boolean;
  readonly keepAlive?: boolean;
  readonly end: number;
}

/** Files of response vectors. */
export const RESPONSE_FILES: readonly string[] = [
  "response-status-lines.jsonl",
  "response-framing.jsonl",
  "response-fields.jsonl",
  "response-limits.jsonl",
];

const parser = new ResponseParser();
const headers = new HeaderBlock();

/** All response vectors, in the order of the files. */
export function responseVectors(): ResponseVector[] {
  return RESPONSE_FILES.flatMap((file) => readVectors<ResponseVector>(file));
}

/** What the parser makes of the pieces, as text: a head, malformed, or that it wants more. */
export function responseLog(pieces: readonly Uint8Array[], carrier: Carrier, methodText = "GET"): string {
  const method = methodFromName(methodText);
  let log = JSON.stringify({ needMore: true });
  carrier.carry(pieces, ({ bytes, from, to, isMoved }) => {
    if (isMoved) {
      parser.begin(from);
      headers.reset(bytes);
    }
    const outcome = parser.parse(bytes, to, headers, method);
    if (outcome === NEED_MORE) return false;
    if (outcome >= 0) log = JSON.stringify(rowOf(from, outcome));
    else log = JSON.stringify({ fault: faultOf(outcome) === Fault.UpstreamMalformed ? "upstream_malformed" : "?" });
    return true;
  });
  return log;
}

/** The log that a vector asks for. */
export function expectedResponse(vector: ResponseVector): string {
  if (vector.fault !== undefined) return JSON.stringify({ fault: vector.fault });
  if (vector.head === undefined) return JSON.stringify({ needMore: true });
  const row = vector.head;
  return JSON.stringify({
    status: row.status,
    minor: row.minor ?? 1,
    fields: row.fields,
    named: row.named ?? [],
    framing: row.framing,
    length: row.length ?? 0,
    hasLength: row.hasLength ?? false,
    keepAlive: row.keepAlive ?? true,
    end: row.end,
  });
}

function rowOf(base: number, end: number): object {
  const indices = Array.from({ length: headers.count }, (_, i) => i);
  return {
    status: parser.status,
    minor: parser.minor,
    fields: indices.map((i) => placesOf(headers, i, base)),
    named: indices.filter((i) => headers.ids[i] === HeaderId.NamedByConnection),
    framing: FRAMINGS[parser.framing],
    length: parser.contentLength,
    hasLength: parser.hasLength,
    keepAlive: parser.keepAlive,
    end: end - base,
  };
}
