import { utf8AsLatin1 } from "../core/bytes.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { HeaderBlock } from "../message/header-block.ts";
import { Method } from "../message/request-head.ts";
import { CgiResponseParser } from "../proto/fastcgi/cgi-response-parser.ts";
import { encodedParams } from "../proto/fastcgi/params.ts";
import { NEED_MORE } from "../proto/h1/outcome.ts";
import { latenessDetail } from "./failure-detail.ts";
import { ProbeBody } from "./probe-body.ts";
import { type ProbeDialog, ProbeFailure, type ProbeQuestion, questionFields } from "./probe-dialog.ts";

/** A probe's request to what gets variables in place of a request of HTTP, and its response, which is as that of a script. */
export abstract class ScriptProbeDialog implements ProbeDialog {
  abstract readonly request: Buffer;
  protected readonly parser: CgiResponseParser;
  protected hasHead = false;
  private readonly headers = new HeaderBlock();
  private readonly wanted: ProbeBody | null;
  private output: Buffer = Buffer.alloc(0);

  constructor(question: ProbeQuestion, maxFields: number, takesLine: boolean) {
    this.wanted = question.body === null ? null : new ProbeBody();
    this.parser = new CgiResponseParser(maxFields, takesLine);
    this.parser.begin(0);
  }

  abstract take(chunk: Buffer): number;

  abstract close(): number;

  body(): string {
    return this.wanted?.text() ?? "";
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

  /** Takes further bytes of the response. @returns as `take` */
  protected takeOutput(bytes: Buffer, from: number, to: number): number {
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

/** The demands on a script, and on an application, by a probe. @param own what only one of both is told */
export function probeParams(
  path: string,
  authority: string,
  question: ProbeQuestion,
  own: readonly (readonly [name: string, value: string])[],
): Buffer {
  return encodedParams([
    ["GATEWAY_INTERFACE", "CGI/1.1"],
    ["SERVER_SOFTWARE", "edge"],
    ["SERVER_PROTOCOL", "HTTP/1.1"],
    ["SERVER_NAME", authority.replace(/:\d+$/, "")],
    ["REQUEST_METHOD", question.method],
    ["REQUEST_URI", path],
    ["QUERY_STRING", path.split("?").slice(1).join("?")],
    ["CONTENT_TYPE", ""],
    ["CONTENT_LENGTH", ""],
    ["REMOTE_ADDR", "127.0.0.1"],
    ["HTTP_HOST", authority],
    ...own,
    ...questionFields(question)
      .filter(([name]) => name !== "Content-Length")
      .map(variableOf),
  ]);
}

/** The variable that a script finds a field in. */
function variableOf([name, value]: readonly [string, string]): [string, string] {
  return [`HTTP_${name.toUpperCase().replaceAll("-", "_")}`, utf8AsLatin1(value)];
}
