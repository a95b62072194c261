import { quotedText } from "./quoted-text.ts";

/** One response as it came. */
export interface H1Answer {
  readonly status: number;
  /** Lower-case name and value, in the order of the wire. */
  readonly fields: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

/** What a connection has brought so far. */
interface H1Responses {
  readonly answers: readonly H1Answer[];
  /** True when every byte belongs to a whole response. */
  readonly isWhole: boolean;
  /** Why the rest is no response; "" while it may become one. */
  readonly fault: string;
}

/**
 * Reads the responses in `bytes`, interim ones left out. No request of this tool is a HEAD.
 * @param hasEnded whether nothing more will come: the end of a body without framing
 */
export function readResponses(bytes: Buffer, hasEnded: boolean): H1Responses {
  const responses: H1Answer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const found = readAnswer(bytes, at, hasEnded);
    if (typeof found === "string") return { answers: responses, isWhole: false, fault: found };
    if (found.answer.status >= 200) responses.push(found.answer);
    at = found.end;
  }
  return { answers: responses, isWhole: true, fault: "" };
}

/** The value of a field; "" when it is absent. */
export function answerField(response: H1Answer, name: string): string {
  return response.fields.find(([each]) => each === name)?.[1] ?? "";
}

/** The JSON object in the body; null when there is none. */
export function jsonBody(body: Buffer): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

type ReadResult = { readonly answer: H1Answer; readonly end: number };

function readAnswer(bytes: Buffer, at: number, hasEnded: boolean): ReadResult | string {
  const headEnd = bytes.indexOf("\r\n\r\n", at, "latin1");
  const start = bytes.toString("latin1", at, at + STATUS_LINE_CHARS);
  if (!"HTTP/1.".startsWith(start.slice(0, 7))) return `no response: ${quotedText(start)}`;
  if (headEnd < 0) return "";
  const [line = "", ...rest] = bytes.toString("latin1", at, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(line)?.[1] ?? 0);
  if (status === 0) return `no status line: ${quotedText(line)}`;
  const fields = rest.map((each): [string, string] => {
    const colon = each.indexOf(":");
    return [each.slice(0, colon).toLowerCase(), each.slice(colon + 1).trim()];
  });
  const bodyAt = headEnd + 4;
  const body = readBody(bytes, bodyAt, status, fields, hasEnded);
  if (typeof body === "string") return body;
  return { answer: { status, fields, body: body.content }, end: body.end };
}

type Body = { readonly content: Buffer; readonly end: number };

function readBody(
  bytes: Buffer,
  at: number,
  status: number,
  fields: readonly (readonly [string, string])[],
  hasEnded: boolean,
): Body | string {
  if (status < 200 || status === 204 || status === 304) return { content: Buffer.alloc(0), end: at };
  const value = (name: string) => fields.find(([each]) => each === name)?.[1];
  if (/chunked/i.test(value("transfer-encoding") ?? "")) return readChunks(bytes, at);
  const length = value("content-length");
  if (length !== undefined) {
    const end = at + Number(length);
    if (!/^\d+$/.test(length)) return `Content-Length ${quotedText(length)}`;
    return end <= bytes.length ? { content: bytes.subarray(at, end), end } : "";
  }
  return hasEnded ? { content: bytes.subarray(at), end: bytes.length } : "";
}

function readChunks(bytes: Buffer, start: number): Body | string {
  const parts: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at, "latin1");
    if (lineEnd < 0) return "";
    const line = bytes.toString("latin1", at, lineEnd);
    const size = /^[0-9a-fA-F]{1,8}(?=$|[;\s])/.exec(line)?.[0];
    if (size === undefined) return `chunk size ${quotedText(line)}`;
    at = lineEnd + 2;
    const length = Number.parseInt(size, 16);
    if (length === 0) break;
    if (at + length + 2 > bytes.length) return "";
    parts.push(bytes.subarray(at, at + length));
    at += length + 2;
  }
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at, "latin1");
    if (lineEnd < 0) return "";
    const isLast = lineEnd === at;
    at = lineEnd + 2;
    if (isLast) return { content: Buffer.concat(parts), end: at };
  }
}

const STATUS_LINE_CHARS = 40;
