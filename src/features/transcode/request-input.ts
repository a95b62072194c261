import type { JsonValue } from "@bufbuild/protobuf";
import { latin1, sliceText } from "../../core/bytes.ts";
import type { Fault } from "../../core/fault.ts";
import type { PathPattern } from "../../core/path-pattern.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { timeoutMsOf } from "../../proto/grpc/call-deadline.ts";
import { mergeSlashes } from "../../proto/target/dot-segments.ts";

/** A value that path or query give to a field, which may lie deeper: `filter.author`. */
export type FieldText = readonly [field: string, value: string];

/** What a REST request says to a method. */
export interface RequestInput {
  readonly path: readonly FieldText[];
  readonly query: readonly FieldText[];
  /** The parsed body; undefined if there is none. */
  readonly body: JsonValue | undefined;
  /** In its place, a large body that is not parsed yet; null if there is none. */
  readonly large: Uint8Array | null;
  /** Whether the body has numbers that must be examined with their fields. */
  readonly hasOddNumbers: boolean;
}

/** The request cannot become a message; the text says why, for the client, and repeats only so much of the request. */
export class BadInput extends Error {
  constructor(reason: string) {
    super(reason.length > MAX_REASON_CHARS ? `${reason.slice(0, MAX_REASON_CHARS)}…` : reason);
  }
}

/** A message of a stream is longer than is taken. */
export class LongMessage extends Error {
  constructor(maxBytes: number) {
    super(`a message is longer than ${maxBytes} bytes`);
  }
}

/** The firewall lets a message not pass. */
export class RefusedMessage extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super("refused by the firewall");
    this.fault = fault;
  }
}

const MAX_REASON_CHARS = 300;

/**
 * The parts of the path that the pattern names: one segment, percent-decoded once. docs/transcoder.md#request-fields
 * @param fields the request field of each variable
 * @throws BadInput for what is no UTF-8 when it is decoded
 */
export function pathFields(ex: Exchange, pattern: PathPattern, fields: ReadonlyMap<string, string>): FieldText[] {
  if (pattern.variables.length === 0) return [];
  const path = mergeSlashes(ex.forwardPath === "" ? ex.request.path() : ex.forwardPath);
  const bare = pattern.verb === "" ? path : path.slice(0, path.length - pattern.verb.length - 1);
  const segments = bare.slice(1).split("/");
  return pattern.variables.map(({ name, from, to }): FieldText => {
    const parts = segments.slice(from, to < 0 ? undefined : to);
    // A slash that was encoded must not look like one that was not. google/api/http.proto, "Path template syntax".
    const isOne = to === from + 1;
    const decoded = parts.map((part) => (isOne ? decode(part, name) : decodeAllButSlashes(part, name)));
    return [fields.get(name) ?? name, decoded.join("/")];
  });
}

/** The fields of the query, in their order. @throws BadInput for what cannot be decoded */
export function queryFields(ex: Exchange): FieldText[] {
  const { request } = ex;
  if (request.queryTo - request.pathTo < 2) return [];
  const query = sliceText(request.bytes, request.pathTo + 1, request.queryTo);
  return query
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair): FieldText => {
      const equals = pair.indexOf("=");
      const name = equals < 0 ? pair : pair.slice(0, equals);
      const value = equals < 0 ? "" : pair.slice(equals + 1);
      return [decode(name.replaceAll("+", " "), "the query"), decode(value.replaceAll("+", " "), "the query")];
    });
}

/**
 * What the client allows for the call: its `Grpc-Timeout`, as gRPC over HTTP/2 has it (`250m`, `10S`). Infinity where it says nothing.
 * @throws BadInput for what is none
 */
export function clientTimeoutMs(headers: HeaderBlock): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = headers.findNamed(GRPC_TIMEOUT); i >= 0; i = headers.findNamed(GRPC_TIMEOUT, i + 1)) {
    const timeoutMs = timeoutMsOf(headers.valueText(i));
    if (Number.isNaN(timeoutMs)) throw new BadInput("Grpc-Timeout: expected a time such as 500m (milliseconds) or 10S");
    least = Math.min(least, timeoutMs);
  }
  return least;
}

const GRPC_TIMEOUT: Uint8Array = latin1("grpc-timeout");

function decodeAllButSlashes(text: string, what: string): string {
  return text
    .split(/(%2f)/i)
    .map((part) => (part.toLowerCase() === "%2f" ? part : decode(part, what)))
    .join("");
}

/** @param text one character a byte */
function decode(text: string, what: string): string {
  try {
    // Bytes that came without an escape are UTF-8 too, or wrong.
    return decodeURIComponent(text.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`));
  } catch {
    throw new BadInput(`${what}: malformed percent-encoding or not UTF-8`);
  }
}
