import { utf8AsLatin1 } from "../core/bytes.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { HeaderBlock } from "../message/header-block.ts";
import { Method } from "../message/request-head.ts";
import { CgiResponseParser } from "../proto/fastcgi/cgi-response-parser.ts";
import { encodedParams } from "../proto/fastcgi/params.ts";
import { RecordEvent, RecordReader } from "../proto/fastcgi/record-reader.ts";
import {
  BEGIN_RECORD_BYTES,
  END_OF_STDIN,
  frameParams,
  HEADER_BYTES,
  paramsFramingBound,
  writeBegin,
} from "../proto/fastcgi/records.ts";
import { NEED_MORE } from "../proto/h1/outcome.ts";
import { latenessDetail } from "./failure-detail.ts";
import { ProbeBody } from "./probe-body.ts";
import { type ProbeDialog, ProbeFailure, type ProbeQuestion, questionFields } from "./probe-dialog.ts";

/**
 * A probe's request and response by FastCGI: a script below the root, or what php-fpm answers itself (`ping.path`,
 * `pm.status_path`). docs/php.md#health-checks
 */
export class FastCgiProbeDialog implements ProbeDialog {
  readonly request: Buffer;
  private readonly reader = new RecordReader();
  private readonly parser: CgiResponseParser;
  private readonly headers = new HeaderBlock();
  private readonly wanted: ProbeBody | null;
  private output: Buffer = Buffer.alloc(0);
  private hasHead = false;

  /** @param root the folder of the scripts @param path with its query */
  constructor(root: string, path: string, authority: string, question: ProbeQuestion, maxFields: number) {
    this.request = requestFor(root, path, authority, question);
    this.wanted = question.body === null ? null : new ProbeBody();
    this.parser = new CgiResponseParser(maxFields);
    this.parser.begin(0);
  }

  body(): string {
    return this.wanted?.text() ?? "";
  }

  take(chunk: Buffer): number {
    for (let at = 0; at < chunk.length; at = this.reader.consumed) {
      const event = this.reader.next(chunk, at, chunk.length);
      if (event === RecordEvent.End && this.hasHead) return this.parser.status;
      if (event === RecordEvent.Failed || event === RecordEvent.End) return -1;
      if (event !== RecordEvent.Output) continue;
      const status = this.takeOutput(chunk, this.reader.from, this.reader.to);
      if (status !== 0) return status;
    }
    return 0;
  }

  close(): number {
    return 0;
  }

  causeOf(failure: ProbeFailure): FaultDetail {
    const hasBegun = this.output.length > 0;
    if (failure === ProbeFailure.Late) return latenessDetail(this.hasHead, hasBegun);
    if (failure === ProbeFailure.Malformed) return this.parser.detail;
    const isReset = failure === ProbeFailure.Reset;
    if (this.hasHead) return isReset ? FaultDetail.ResetInBody : FaultDetail.ClosedInBody;
    if (isReset) return FaultDetail.ResetBeforeHead;
    return hasBegun ? FaultDetail.ClosedInHead : FaultDetail.ClosedBeforeHead;
  }

  private takeOutput(bytes: Buffer, from: number, to: number): number {
    const { parser, wanted } = this;
    if (this.hasHead) return wanted!.take(bytes, from, to) ? parser.status : 0;
    this.output = Buffer.concat([this.output, bytes.subarray(from, to)]);
    const outcome = parser.parse(this.output, this.output.length, this.headers, Method.Get);
    if (outcome === NEED_MORE) return 0;
    if (outcome < 0) return -1;
    if (wanted === null) return parser.status;
    this.hasHead = true;
    return wanted.take(this.output, outcome, this.output.length) ? parser.status : 0;
  }
}

/** The variable that a script finds a field in. */
function variableOf([name, value]: readonly [string, string]): [string, string] {
  return [`HTTP_${name.toUpperCase().replaceAll("-", "_")}`, utf8AsLatin1(value)];
}

function requestFor(root: string, path: string, authority: string, question: ProbeQuestion): Buffer {
  const [script = "/", ...query] = path.split("?");
  const params = encodedParams([
    ["GATEWAY_INTERFACE", "CGI/1.1"],
    ["SERVER_SOFTWARE", "edge"],
    ["SERVER_PROTOCOL", "HTTP/1.1"],
    ["SERVER_NAME", authority.replace(/:\d+$/, "")],
    ["REDIRECT_STATUS", "200"],
    ["REQUEST_METHOD", question.method],
    ["REQUEST_URI", path],
    ["QUERY_STRING", query.join("?")],
    ["CONTENT_TYPE", ""],
    ["CONTENT_LENGTH", ""],
    ["DOCUMENT_ROOT", utf8AsLatin1(root)],
    ["SCRIPT_NAME", script],
    ["SCRIPT_FILENAME", utf8AsLatin1(root.replace(/\/$/, "")) + script],
    ["REMOTE_ADDR", "127.0.0.1"],
    ["HTTP_HOST", authority],
    ...questionFields(question)
      .filter(([name]) => name !== "Content-Length")
      .map(variableOf),
  ]);
  const out = Buffer.alloc(
    BEGIN_RECORD_BYTES + params.length + paramsFramingBound(params.length) + END_OF_STDIN.length,
  );
  const from = writeBegin(out, 0, false) + HEADER_BYTES;
  const end = frameParams(out, from, from + params.copy(out, from));
  return out.subarray(0, end + END_OF_STDIN.copy(out, end));
}
