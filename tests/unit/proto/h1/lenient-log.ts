import { LENIENCIES } from "../../../../src/core/leniency.ts";
import { MAX_RESPONSE_FIELDS } from "../../../../src/core/limits.ts";
import { HeaderBlock } from "../../../../src/message/header-block.ts";
import { methodFromName } from "../../../../src/message/request-head.ts";
import { LenientResponseParser } from "../../../../src/proto/h1/lenient-response-parser.ts";
import { NEED_MORE } from "../../../../src/proto/h1/outcome.ts";
import { ResponseParser } from "../../../../src/proto/h1/response-parser.ts";
import type { Carrier } from "../carriers.ts";
import { FRAMINGS, type FramingName } from "../spans.ts";
import { readVectors, type Vector } from "../vector-file.ts";

/** What the parser for old origins makes of an answer's head. */
export interface LenientVector extends Vector {
  /** Method of the request; GET where it is left out. */
  readonly method?: string;
  readonly head?: LenientRow;
  readonly fault?: "upstream_malformed";
  readonly needMore?: true;
}

/** An accepted head; what is left out has the value that stands in `expectedLenient`. */
export interface LenientRow {
  readonly status: number;
  readonly minor?: number;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly framing: FramingName;
  readonly length?: number;
  readonly hasLength?: boolean;
  readonly keepAlive?: boolean;
  /** Names of leniencies. */
  readonly needs?: readonly string[];
  readonly end: number;
}

/** Vectors of heads of old origins. */
export const LENIENT_FILE = "lenient-heads.jsonl";

/** All of them. */
export function lenientVectors(): LenientVector[] {
  return readVectors<LenientVector>(LENIENT_FILE);
}

/** What the lenient parser makes of the pieces, as text: a head, malformed, or that it wants more. */
export function lenientLog(pieces: readonly Uint8Array[], carrier: Carrier, methodText = "GET"): string {
  const needs: string[] = [];
  const parser = new LenientResponseParser(MAX_RESPONSE_FIELDS, (what) => void needs.push(LENIENCIES[what]!));
  return logOf(parser, needs, pieces, carrier, methodText);
}

/** What the strict one makes of them, in the same words. */
export function strictLog(pieces: readonly Uint8Array[], carrier: Carrier, methodText = "GET"): string {
  return logOf(new ResponseParser(), [], pieces, carrier, methodText);
}

/** The log that a vector asks for. */
export function expectedLenient(vector: LenientVector): string {
  if (vector.fault !== undefined) return MALFORMED;
  if (vector.head === undefined) return WANTS_MORE;
  const { status, minor = 1, fields, framing, length = 0, hasLength = false, end } = vector.head;
  const { keepAlive = false, needs = [] } = vector.head;
  return JSON.stringify({ status, minor, fields, framing, length, hasLength, end, keepAlive, needs });
}

function logOf(
  parser: ResponseParser,
  needs: readonly string[],
  pieces: readonly Uint8Array[],
  carrier: Carrier,
  methodText: string,
): string {
  const headers = new HeaderBlock();
  let log = WANTS_MORE;
  carrier.carry(pieces, ({ bytes, from, to, isMoved }) => {
    if (isMoved) {
      parser.begin(from);
      headers.reset(bytes);
    }
    const outcome = parser.parse(bytes, to, headers, methodFromName(methodText));
    if (outcome === NEED_MORE) return false;
    log = outcome < 0 ? MALFORMED : rowOf(parser, headers, outcome - from, needs);
    return true;
  });
  return log;
}

function rowOf(parser: ResponseParser, headers: HeaderBlock, end: number, needs: readonly string[]): string {
  const { status, minor, framing, contentLength, hasLength, keepAlive } = parser;
  const fields = Array.from({ length: headers.count }, (_, i) => [headers.nameText(i), headers.valueText(i)]);
  const framingName = FRAMINGS[framing];
  return JSON.stringify({
    status,
    minor,
    fields,
    framing: framingName,
    length: contentLength,
    hasLength,
    end,
    keepAlive,
    needs,
  });
}

const MALFORMED = JSON.stringify({ fault: "upstream_malformed" });
const WANTS_MORE = JSON.stringify({ needMore: true });
