import { copyBytes, equalsLower, latin1, writeCrlf } from "../../core/bytes.ts";
import { MAX_CLIENT_CERT_CHARS } from "../../core/limits.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { requestScheme } from "../../message/request-scheme.ts";
import { CLAIMS, isFolded } from "../../proto/h1/claimed-fields.ts";
import { copyFields, dropTable } from "../../proto/h1/response-encoder.ts";
import { queryWithMark, shownPath } from "../../proto/target/routed-path.ts";

/** What every server behind the gateway learns of a request, wherever it is sent. */
export interface ForwardedLines {
  /** Writes the lines that say who the client is, X-Forwarded-Host last. @returns the offset after them */
  writeForwarded(ex: Exchange, out: Buffer, at: number): number;
  /** Copies the authority that the client named. @returns the offset after it */
  copyClientHost(head: RequestHead, out: Buffer, at: number): number;
  /** Whether the request has come through this gateway too often. */
  isLoop(headers: HeaderBlock): boolean;
}

/** What an authentication service is asked, and what it is shown. */
interface ServiceQuestion {
  readonly method: "GET" | "HEAD" | "POST";
  /** Path and query. */
  readonly target: string;
  /** For Host. */
  readonly authority: string;
  /** Names of the client's fields that it is shown; null shows all but those of bodies and of the connection. */
  readonly names: readonly string[] | null;
  /** Whether the service is shown nothing beside them but scheme and host, so that equal questions get equal verdicts. */
  readonly isKey: boolean;
}

/** Writes the requests to an authentication service. docs/authentication.md#authentication-services */
export class ServiceRequest {
  private readonly question: ServiceQuestion;
  private readonly start: Buffer;
  private readonly names: readonly Uint8Array[] | null;
  private readonly shown: ReadonlySet<string>;
  private readonly lines: ForwardedLines;

  constructor(question: ServiceQuestion, lines: ForwardedLines) {
    this.lines = lines;
    const { method, target, authority, names } = question;
    this.question = question;
    const length = method === "POST" ? "Content-Length: 0\r\n" : "";
    this.start = Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: ${authority}\r\n${length}`, "latin1");
    this.shown = new Set((names ?? []).map((name) => name.toLowerCase()));
    this.names = names === null ? null : [...this.shown, "via"].map(latin1);
  }

  /** Bytes that `write` may write at most. */
  bound(ex: Exchange): number {
    const { request } = ex;
    const target = request.targetTo - request.targetFrom + ex.pipeline.nameOf(ex).length;
    const host = request.authorityTo - request.authorityFrom;
    return (
      OWN_BOUND +
      this.start.length +
      request.headers.lineBytes * 3 +
      target * ESCAPED_CHARS +
      host * 2 +
      MAX_CLIENT_CERT_CHARS
    );
  }

  /** Writes a head that asks for an exchange. @returns the offset after it */
  write(ex: Exchange, out: Buffer, from: number): number {
    let at = copyBytes(out, from, this.start, 0, this.start.length);
    // A trusted proxy is believed to say who asks, not for what.
    const isPlain = this.names === null && !ex.fromTrustedProxy;
    at = isPlain ? copyFields(out, at, ex.request.headers, DROP) : this.copyShown(ex, out, at);
    at = this.question.isKey ? this.writeKey(ex, out, at) : this.writeContext(ex, out, at);
    return copyBytes(out, at, END, 0, END.length);
  }

  private copyShown(ex: Exchange, out: Buffer, start: number): number {
    const { names } = this;
    const { headers } = ex.request;
    const { bytes, count, ids } = headers;
    let at = start;
    for (let i = 0; i < count; i++) {
      if (DROP[ids[i]!] === 1) continue;
      const from = headers.nameFrom(i);
      const to = headers.nameTo(i);
      if (ASKED.some((name) => isFolded(bytes, from, to, name))) continue;
      if (names !== null && !names.some((name) => isSame(bytes, from, to, name))) continue;
      at = headers.copyName(i, out, at);
      at = copyBytes(out, at, COLON, 0, COLON.length);
      at = writeCrlf(out, headers.copyValue(i, out, at));
    }
    return at;
  }

  /** What verdicts may go by, beside the named fields: what is not named is not shown. */
  private writeKey(ex: Exchange, out: Buffer, start: number): number {
    const lines = [`X-Forwarded-Proto: ${requestScheme(ex)}`];
    if (this.shown.has("x-forwarded-for")) lines.push(`X-Forwarded-For: ${ex.clientIp}`);
    if (this.shown.has("x-forwarded-method")) lines.push(`X-Forwarded-Method: ${ex.request.methodText()}`);
    if (this.shown.has("x-forwarded-uri")) lines.push(`X-Forwarded-Uri: ${uriOf(ex)}`);
    const at = start + out.latin1Write(`${lines.join("\r\n")}\r\nX-Forwarded-Host: `, start);
    return writeCrlf(out, this.lines.copyClientHost(ex.request, out, at));
  }

  private writeContext(ex: Exchange, out: Buffer, start: number): number {
    const at = this.lines.writeForwarded(ex, out, start);
    const id = ex.pipeline.nameOf(ex);
    const text = `X-Forwarded-Method: ${ex.request.methodText()}\r\nX-Forwarded-Uri: ${uriOf(ex)}\r\nX-Request-Id: ${id}\r\n`;
    return at + out.latin1Write(text, at);
  }
}

/** What the client asked for, as the routes have read it: what they have found a path to be, the service is to judge. */
function uriOf({ request }: Exchange): string {
  return shownPath(request) + queryWithMark(request);
}

function isSame(bytes: Uint8Array, from: number, to: number, name: Uint8Array): boolean {
  return name.length === to - from && equalsLower(bytes, from, to, name);
}

/** What was asked for is the gateway's to say. */
const ASKED: readonly Uint8Array[] = ["x-forwarded-uri", "x-forwarded-method", "x-original-", "x-rewrite-"].map(latin1);
const OWN_BOUND = 1024;
/** Characters that one of a path may become: three of an escape. */
const ESCAPED_CHARS = 3;
const COLON: Buffer = Buffer.from(": ");
const END: Buffer = Buffer.from("Via: 1.1 edge\r\n\r\n");
/** Of the connection, of a body, and what would make the response something else than a verdict. */
const DROP: Uint8Array = dropTable([
  ...HOP_BY_HOP,
  ...CLAIMS,
  HeaderId.Host,
  HeaderId.Trailers,
  HeaderId.ContentType,
  HeaderId.ContentEncoding,
  HeaderId.ContentRange,
  HeaderId.AcceptEncoding,
  HeaderId.IfMatch,
  HeaderId.IfNoneMatch,
  HeaderId.IfModifiedSince,
  HeaderId.IfUnmodifiedSince,
  HeaderId.IfRange,
  HeaderId.Range,
]);
