/** Thrown where the bytes must be refused. docs/wire.md */
export class Refused extends Error {}

/** Thrown where the bytes end before the message does. */
export class Incomplete extends Error {}

/** Collects whether anything in a message is left open by the documentation: then both outcomes are right. */
export interface Doubt {
  isOpen: boolean;
  /** Responses: the rule on a tab before a transfer coding holds for requests only. */
  readonly isAnswer?: boolean;
}

/** A field as the reference reads it; `lead` is what stands between the colon and the value. */
export interface ReferenceField {
  readonly name: string;
  readonly value: string;
  readonly lead: string;
}

export interface ReferenceHead {
  readonly startLine: string;
  readonly fields: readonly ReferenceField[];
  /** Offset behind the empty line. */
  readonly end: number;
}

/** Reads a head at `at` by regular expressions: slow, plain, and made without a look at the gateway's own parsers. */
export function readReferenceHead(text: string, at: number): ReferenceHead {
  const end = text.indexOf("\r\n\r\n", at);
  if (end < 0) throw new Incomplete("head");
  const lines = text.slice(at, end).split("\r\n");
  for (const line of lines) {
    if (/[\r\n\0]/.test(line)) throw new Refused("a lone CR, a bare LF or a NUL");
  }
  const [startLine = "", ...rest] = lines;
  return { startLine, fields: readReferenceFields(rest), end: end + 4 };
}

/** Reads field lines. */
export function readReferenceFields(lines: readonly string[]): ReferenceField[] {
  return lines.map((line) => {
    const match = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([ \t]*)([\s\S]*?)[ \t]*$/.exec(line);
    if (match === null) throw new Refused(`field line ${JSON.stringify(line)}`);
    const [, name = "", lead = "", value = ""] = match;
    if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value)) throw new Refused(`value ${JSON.stringify(value)}`);
    return { name: name.toLowerCase(), value, lead };
  });
}

/** The values of a field, in order. */
export function valuesOf(fields: readonly ReferenceField[], name: string): string[] {
  return fields.filter((field) => field.name === name).map((field) => field.value);
}

/** Tokens of the Connection fields, lower case. */
export function connectionTokens(fields: readonly ReferenceField[]): string[] {
  return valuesOf(fields, "connection")
    .flatMap((value) => value.split(","))
    .map((token) => token.replace(/^[ \t]+|[ \t]+$/g, "").toLowerCase());
}

/** The framing of a message: a number of bytes, chunked, or neither. */
export type ReferenceFraming = number | "chunked" | "none";

/** Decides the framing; both and malformed framing are refused. */
export function framingOf(fields: readonly ReferenceField[], isHttp10: boolean, doubt: Doubt): ReferenceFraming {
  const lengths = valuesOf(fields, "content-length");
  const codings = fields.filter((field) => field.name === "transfer-encoding");
  if (codings.length > 0) {
    if (lengths.length > 0) throw new Refused("both framings");
    if (isHttp10) throw new Refused("a transfer coding in HTTP/1.0");
    if (codings.length > 1) throw new Refused("two transfer codings");
    if (codings[0]!.lead.startsWith("\t")) {
      if (doubt.isAnswer !== true) throw new Refused("a tab before the transfer coding");
      doubt.isOpen = true;
    }
    if (codings[0]!.value.toLowerCase() !== "chunked") throw new Refused("another coding than chunked");
    return "chunked";
  }
  if (lengths.length === 0) return "none";
  if (lengths.length > 1) throw new Refused("two lengths");
  if (!/^\d+$/.test(lengths[0]!)) throw new Refused("a length that is none");
  if (fields.some((field) => field.name === "content-length" && field.lead.includes("\t"))) doubt.isOpen = true;
  const length = Number(lengths[0]);
  if (!Number.isSafeInteger(length)) throw new Refused("a length beyond 2^53");
  if (lengths[0]!.length > 16) doubt.isOpen = true;
  return length;
}
