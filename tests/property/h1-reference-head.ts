import { isIPv6 } from "node:net";
// A second reading of request heads: by lines and regular expressions, slow and plain, made from RFC 9110, RFC 9112 and
// docs/wire.md without a look at the parser. It knows whole heads only.
import { HeaderId, headerIdFromName } from "../../src/message/header-block.ts";
import { type HeadRow, MAX_HEAD_BYTES } from "../unit/proto/h1/request-log.ts";
import type { Span } from "../unit/proto/spans.ts";

/** What the reference makes of a text. */
export type Reading =
  | { readonly kind: "incomplete" }
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "head"; readonly head: HeadRow };

interface Field {
  readonly name: string;
  readonly value: string;
  /** The blanks before and behind the value. */
  readonly around: string;
  readonly span: readonly [number, number, number, number];
}

class Refused extends Error {}

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const REQUEST_LINE = new RegExp(`^(${TOKEN}) ([\\x21-\\x7e]+) HTTP/([0-9])\\.([0-9])$`);
const FIELD_LINE = new RegExp(`^(${TOKEN}):([ \\t]*)([\\t\\x20-\\x7e\\x80-\\xff]*?)([ \\t]*)$`);
const LABEL = "[A-Za-z0-9\\-_~!$&'()*+,;=]+";
const AUTHORITY = `(?:\\[[0-9A-Fa-f:.]+\\]|${LABEL}(?:\\.${LABEL})*\\.?)(?::[0-9]{0,5})?`;
const WHOLE_AUTHORITY = new RegExp(`^${AUTHORITY}$`);
const ABSOLUTE_FORM = new RegExp(`^(https?://)(${AUTHORITY})(?=[/?#]|$)`, "i");
const MAX_LINE_BYTES = 8192;
const MAX_FIELDS = 100;
const MAX_OPTIONS = 100;

/** Reads the head at the start of a text, one character a byte. */
export function readReferenceHead(text: string): Reading {
  // RFC 9112 §2.2: one empty line before the request line is let pass.
  const from = text.startsWith("\r\n") ? 2 : 0;
  const end = text.indexOf("\r\n\r\n", from);
  if (end < 0) return { kind: "incomplete" };
  try {
    return { kind: "head", head: readHead(text.slice(0, end), from, end + 4) };
  } catch (error) {
    if (error instanceof Refused) return { kind: "refused", why: error.message };
    throw error;
  }
}

function readHead(text: string, from: number, end: number): HeadRow {
  const lines = text.slice(from).split("\r\n");
  for (const line of lines) {
    refuseIf(/[\r\n]/.test(line), "a lone CR or LF");
    refuseIf(line.length > MAX_LINE_BYTES, "a long line");
  }
  refuseIf(end > MAX_HEAD_BYTES, "a large head");
  const line = REQUEST_LINE.exec(lines[0]!);
  if (line === null) throw new Refused("a bad request line");
  const [, method = "", target = "", major = "", minorText = ""] = line;
  refuseIf(major !== "1" || minorText > "1", "a foreign version");
  const minor = Number(minorText);
  const fields = readFields(lines.slice(1), from + lines[0]!.length + 2);
  refuseIf(fields.length > MAX_FIELDS, "too many fields");
  const targetFrom = from + method.length + 1;
  const framing = readFraming(fields, minor);
  const expectContinue = readExpectation(fields, minor);
  const parts = readTarget(method, target, targetFrom);
  checkHost(fields, minor, parts.authorityText);
  return {
    method,
    target: [targetFrom, targetFrom + target.length],
    path: parts.path,
    queryTo: parts.queryTo,
    ...(parts.authority === null ? {} : { authority: trimmed(parts.authority, parts.authorityText) }),
    minor,
    fields: fields.map(({ name, value, span }) => {
      const [nameFrom, nameTo, ...valueSpan] = span;
      return name === "host" ? ([nameFrom, nameTo, ...trimmed(valueSpan, value)] as const) : span;
    }),
    ...framing,
    ...readConnection(fields, minor),
    expectContinue,
    end,
  };
}

function readFields(lines: readonly string[], from: number): Field[] {
  let at = from;
  return lines.map((line) => {
    const match = FIELD_LINE.exec(line);
    if (match === null) throw new Refused("a bad field line");
    const [, name = "", blanks = "", value = "", behind = ""] = match;
    const valueFrom = at + name.length + 1 + blanks.length;
    const span = [at, at + name.length, valueFrom, valueFrom + value.length] as const;
    at += line.length + 2;
    return { name: name.toLowerCase(), value, around: blanks + behind, span };
  });
}

function readTarget(method: string, target: string, from: number) {
  const absolute = ABSOLUTE_FORM.exec(target);
  let authority: Span | null = null;
  let pathFrom = 0;
  if (method === "CONNECT" && !target.startsWith("/")) {
    refuseIf(!isAuthority(target), "CONNECT without an authority");
    authority = [from, from + target.length];
    pathFrom = target.length;
  } else if (absolute !== null && isAuthority(absolute[2]!)) {
    pathFrom = absolute[0].length;
    authority = [from + absolute[1]!.length, from + pathFrom];
  } else {
    refuseIf(!target.startsWith("/") && !(target === "*" && method === "OPTIONS"), "a target of no form");
  }
  const queryTo = target.includes("#") ? target.indexOf("#") : target.length;
  const question = target.slice(0, queryTo).indexOf("?");
  const path: Span = [from + pathFrom, from + (question < 0 ? queryTo : question)];
  const authorityText = authority === null ? "" : target.slice(authority[0] - from, authority[1] - from);
  return { path, queryTo: from + queryTo, authority, authorityText };
}

/** Where a host ends without the dot behind its name, an empty port, and zeros before a port. */
function trimmed([from]: Span, authority: string): Span {
  const withoutZeros = authority.replace(/:$/, "").replace(/:0+(?=[0-9]+$)/, ":");
  return [from, from + withoutZeros.replace(/\.(?=(?::[0-9]+)?$)/, "").length];
}

function isAuthority(text: string): boolean {
  const literal = /^\[(.*)\]/.exec(text)?.[1];
  if (text.length > 260 || (literal !== undefined && !isIPv6(literal))) return false;
  return WHOLE_AUTHORITY.test(text) && Number(/:([0-9]*)$/.exec(text)?.[1] ?? 0) <= 65535;
}

function checkHost(fields: readonly Field[], minor: number, authority: string): void {
  const hosts = valuesOf(fields, "host");
  refuseIf(hosts.length > 1, "two Hosts");
  refuseIf(hosts.length === 0 && minor === 1, "no Host");
  if (hosts.length === 0) return;
  refuseIf(!isAuthority(hosts[0]!), "a bad Host");
  refuseIf(authority !== "" && authority.toLowerCase() !== hosts[0]!.toLowerCase(), "target and Host disagree");
}

function readFraming(fields: readonly Field[], minor: number): Pick<HeadRow, "framing" | "length"> {
  const lengths = valuesOf(fields, "content-length");
  const codings = fields.filter((field) => field.name === "transfer-encoding");
  refuseIf(lengths.length > 1, "two lengths");
  refuseIf(lengths.length > 0 && codings.length > 0, "length and coding");
  if (codings.length > 0) {
    refuseIf(minor === 0, "a coding in HTTP/1.0");
    refuseIf(codings.length > 1 || codings[0]!.value.toLowerCase() !== "chunked", "another coding than chunked");
    refuseIf(codings[0]!.around.includes("\t"), "a tab beside the coding");
    return { framing: "chunked" };
  }
  if (lengths.length === 0) return {};
  refuseIf(!/^[0-9]+$/.test(lengths[0]!) || BigInt(lengths[0]!) > BigInt(Number.MAX_SAFE_INTEGER), "a bad length");
  const length = Number(lengths[0]);
  return length === 0 ? {} : { framing: "length", length };
}

function readExpectation(fields: readonly Field[], minor: number): boolean {
  const expectations = minor === 0 ? [] : valuesOf(fields, "expect");
  refuseIf(
    expectations.some((value) => value.toLowerCase() !== "100-continue"),
    "an unknown expectation",
  );
  return expectations.length > 0;
}

function readConnection(fields: readonly Field[], minor: number): Pick<HeadRow, "named" | "keepAlive" | "upgrade"> {
  const tokens = valuesOf(fields, "connection")
    .flatMap((value) => value.split(","))
    .map((token) => token.replace(/^[ \t]+|[ \t]+$/g, "").toLowerCase());
  refuseIf(tokens.filter((token) => token !== "").length > MAX_OPTIONS, "too many options");
  return {
    named: fields.flatMap((field, i) => (isTakenAway(field.name, tokens) ? [i] : [])),
    keepAlive: !tokens.includes("close") && (minor === 1 || tokens.includes("keep-alive")),
    upgrade: minor === 1 && tokens.includes("upgrade") && valuesOf(fields, "upgrade").length > 0,
  };
}

/** Fields that mean nothing to the gateway and that Connection names, and those of `isLookAlike`. */
function isTakenAway(name: string, tokens: readonly string[]): boolean {
  return headerIdFromName(name) === HeaderId.Other && (tokens.includes(name.toLowerCase()) || isLookAlike(name));
}

/** Whether a name, in any case and with any separators, is one that only the gateway or a proxy before it may say. */
export function isLookAlike(name: string): boolean {
  const folded = name.toLowerCase().replace(/[^a-z0-9]/g, "-");
  const isKnown = headerIdFromName(name) !== HeaderId.Other;
  return !isKnown && (ONLY_OURS.includes(folded) || IDENTITY.test(folded));
}

const IDENTITY =
  /^(forwarded(-for)?|x-forwarded(-.*)?|(x-(cluster-)?|true-|fastly-)?client-ip|cf-connecting-ip.*|x-(original|rewrite)-.*|x-http-method.*|x-method-override)$/;

const ONLY_OURS = [
  ...["content-length", "transfer-encoding", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"],
  ...["x-forwarded-client-cert", "x-real-ip", "x-request-id"],
];

function valuesOf(fields: readonly Field[], name: string): string[] {
  return fields.filter((field) => field.name === name).map((field) => field.value);
}

function refuseIf(condition: boolean, why: string): void {
  if (condition) throw new Refused(why);
}
