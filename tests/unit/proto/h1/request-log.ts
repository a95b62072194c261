import { faultRow } from "../../../../src/core/fault-rows.ts";
import { HeaderId } from "../../../../src/message/header-block.ts";
import { methodName, RequestHead } from "../../../../src/message/request-head.ts";
import { faultOf, NEED_MORE } from "../../../../src/proto/h1/outcome.ts";
import { RequestParser } from "../../../../src/proto/h1/request-parser.ts";
import type { Carrier } from "../carriers.ts";
import { FRAMINGS, type FramingName, placesOf, type Span } from "../spans.ts";
import { readVectors, type Vector } from "../vector-file.ts";

/** A request vector: what the parser makes of the input. Offsets count from the start of the input. */
export interface RequestVector extends Vector {
  readonly head?: HeadRow;
  /** Label of the fault that the input is refused with. */
  readonly fault?: string;
  /** The input is the start of a head; `begun` says whether its sender has to finish it. */
  readonly needMore?: true;
  readonly begun?: boolean;
}

/** An accepted head; what is left out has the value that stands in `expectedLog`. */
export interface HeadRow {
  readonly method: string;
  readonly target: Span;
  readonly path: Span;
  readonly queryTo?: number;
  readonly authority?: Span;
  readonly minor?: number;
  /** Name from and to, value from and to. */
  readonly fields: readonly (readonly [number, number, number, number])[];
  /** Indices of the fields that Connection makes hop-by-hop. */
  readonly named?: readonly number[];
  readonly framing?: FramingName;
  readonly length?: number;
  readonly keepAlive?: boolean;
  readonly expectContinue?: boolean;
  readonly upgrade?: boolean;
  readonly end: number;
}

/** Bytes that the parser under test takes for a head at most. */
export const MAX_HEAD_BYTES = 65536;

/** Files of request vectors. */
export const REQUEST_FILES: readonly string[] = [
  "request-lines.jsonl",
  "request-targets.jsonl",
  "request-hosts.jsonl",
  "request-fields.jsonl",
  "request-framing.jsonl",
  "request-connections.jsonl",
  "request-limits.jsonl",
];

/** All request vectors, in the order of the files. */
export function requestVectors(): RequestVector[] {
  return REQUEST_FILES.flatMap((file) => readVectors<RequestVector>(file));
}

const KNOWN_METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE"];
const parser = new RequestParser(MAX_HEAD_BYTES);
const head = new RequestHead();

/** What the parser makes of the pieces, as text: a head, a fault, or that it wants more. */
export function requestLog(pieces: readonly Uint8Array[], carrier: Carrier): string {
  let log = JSON.stringify({ needMore: true, begun: false });
  carrier.carry(pieces, ({ bytes, from, to, isMoved }) => {
    if (isMoved) {
      parser.begin(from);
      head.reset(bytes);
    }
    const outcome = parser.parse(bytes, to, head);
    if (outcome === NEED_MORE) log = JSON.stringify({ needMore: true, begun: parser.hasBegun(to) });
    else if (outcome < 0) log = JSON.stringify({ fault: faultRow(faultOf(outcome)).label });
    else log = JSON.stringify(headLog(head, from, outcome));
    return outcome !== NEED_MORE;
  });
  return log;
}

/** The log that a vector asks for. */
export function expectedLog(vector: RequestVector): string {
  if (vector.fault !== undefined) return JSON.stringify({ fault: vector.fault });
  if (vector.head === undefined) return JSON.stringify({ needMore: true, begun: vector.begun ?? true });
  const row = vector.head;
  return JSON.stringify({
    method: row.method,
    methodName: KNOWN_METHODS.includes(row.method) ? row.method : "OTHER",
    target: row.target,
    path: row.path,
    queryTo: row.queryTo ?? row.target[1],
    authority: row.authority ?? null,
    minor: row.minor ?? 1,
    fields: row.fields,
    named: row.named ?? [],
    framing: row.framing ?? "none",
    length: row.length ?? 0,
    keepAlive: row.keepAlive ?? true,
    expectContinue: row.expectContinue ?? false,
    upgrade: row.upgrade ?? false,
    end: row.end,
  });
}

function headLog(found: RequestHead, base: number, end: number): object {
  const { headers } = found;
  const indices = Array.from({ length: headers.count }, (_, i) => i);
  const hasAuthority = found.authorityTo > found.authorityFrom;
  return {
    method: found.methodText(),
    methodName: methodName(found.method),
    target: [found.targetFrom - base, found.targetTo - base],
    path: [found.pathFrom - base, found.pathTo - base],
    queryTo: found.queryTo - base,
    authority: hasAuthority ? [found.authorityFrom - base, found.authorityTo - base] : null,
    minor: found.minor,
    fields: indices.map((i) => placesOf(headers, i, base)),
    named: indices.filter((i) => headers.ids[i] === HeaderId.NamedByConnection),
    framing: FRAMINGS[found.framing],
    length: found.contentLength,
    keepAlive: found.keepAlive,
    expectContinue: found.expectContinue,
    upgrade: found.upgrade,
    end: end - base,
  };
}
