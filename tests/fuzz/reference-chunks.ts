import { type Doubt, Incomplete, type ReferenceField, Refused, readReferenceFields } from "./reference-fields.ts";

/** A decoded chunked body. */
export interface ReferenceChunks {
  readonly body: string;
  readonly trailers: readonly ReferenceField[];
  /** Offset behind the body. */
  readonly end: number;
}

/** Trailers with these names are refused in requests; of responses the documentation says nothing. */
const FORBIDDEN_TRAILERS = new Set(
  "transfer-encoding content-length connection host keep-alive te trailer trailers upgrade".split(" "),
);
const MAX_TRAILER_BYTES = 4096;
/** Whether CRLF and the semicolon count is not documented: within this distance both outcomes are right. */
const SLACK_BYTES = 200;

/** Reads a chunked body at `at`. docs/bodies.md#chunk-syntax */
export function readReferenceChunks(text: string, at: number, maxBodyBytes: number, doubt: Doubt): ReferenceChunks {
  let body = "";
  for (;;) {
    const end = text.indexOf("\r\n", at);
    if (end < 0) throw new Incomplete("a chunk-size line");
    const size = sizeOf(text.slice(at, end), doubt);
    at = end + 2;
    if (size === 0) break;
    if (body.length + size > maxBodyBytes) throw new Refused("over the body limit");
    if (text.length < at + size + 2) {
      const delimiter = text.slice(at + size);
      if (!"\r\n".startsWith(delimiter)) throw new Refused("a bad delimiter");
      throw new Incomplete("chunk data");
    }
    if (text.slice(at + size, at + size + 2) !== "\r\n") throw new Refused("a bad delimiter");
    body += text.slice(at, at + size);
    at += size + 2;
  }
  return { body, ...trailersAt(text, at, doubt) };
}

function sizeOf(line: string, doubt: Doubt): number {
  const match = /^([0-9a-fA-F]+)(?:;([^\r\n]*))?$/.exec(line);
  if (match === null) throw new Refused(`chunk-size line ${JSON.stringify(line)}`);
  const [, digits = "", extension] = match;
  if (digits.length > 16) {
    if (digits.replace(/^0+/, "").length > 16) throw new Refused("a chunk size beyond 64 bits");
    doubt.isOpen = true;
  }
  if (extension !== undefined) {
    if (/[\x00-\x08\x0a-\x1f\x7f]/.test(extension)) throw new Refused("a control character in an extension");
    if (extension.length > 257) throw new Refused("an extension over 256 bytes");
    const isPlain = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+(=([!#$%&'*+\-.^_`|~0-9A-Za-z]+|"[^"\\]*"))?$/.test(extension);
    if (extension.length > 254 || !isPlain) doubt.isOpen = true;
  }
  return Number.parseInt(digits, 16);
}

function trailersAt(text: string, at: number, doubt: Doubt): Omit<ReferenceChunks, "body"> {
  const start = at;
  const lines: string[] = [];
  for (;;) {
    const end = text.indexOf("\r\n", at);
    if (end < 0) {
      if (text.length - start > MAX_TRAILER_BYTES + SLACK_BYTES) throw new Refused("trailers over 4096 bytes");
      throw new Incomplete("trailers");
    }
    const line = text.slice(at, end);
    at = end + 2;
    if (line === "") break;
    lines.push(line);
  }
  const size = at - start;
  if (size > MAX_TRAILER_BYTES + SLACK_BYTES) throw new Refused("trailers over 4096 bytes");
  if (size > MAX_TRAILER_BYTES - SLACK_BYTES) doubt.isOpen = true;
  if (lines.some((line) => /[\r\n]/.test(line))) throw new Refused("a bare line break in the trailers");
  const trailers = readReferenceFields(lines);
  for (const { name } of trailers) {
    if (!FORBIDDEN_TRAILERS.has(name)) continue;
    if (doubt.isAnswer !== true) throw new Refused(`the trailer ${name}`);
    doubt.isOpen = true;
  }
  return { trailers, end: at };
}
