import { utf8AsLatin1 } from "../core/bytes.ts";
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
import type { ProbeDialog } from "./probe-dialog.ts";

/**
 * A probe's request and response by FastCGI: a script below the root, or what php-fpm answers itself (`ping.path`,
 * `pm.status_path`). docs/php.md#health-checks
 */
export class FastCgiProbeDialog implements ProbeDialog {
  readonly request: Buffer;
  private readonly reader = new RecordReader();
  private readonly parser: CgiResponseParser;
  private readonly headers = new HeaderBlock();
  private output: Buffer = Buffer.alloc(0);

  /** @param root the folder of the scripts @param path with its query */
  constructor(root: string, path: string, authority: string, maxFields: number) {
    this.request = requestFor(root, path, authority);
    this.parser = new CgiResponseParser(maxFields);
    this.parser.begin(0);
  }

  take(chunk: Buffer): number {
    for (let at = 0; at < chunk.length; at = this.reader.consumed) {
      const event = this.reader.next(chunk, at, chunk.length);
      if (event === RecordEvent.Failed || event === RecordEvent.End) return -1;
      if (event !== RecordEvent.Output) continue;
      const { from, to } = this.reader;
      this.output = Buffer.concat([this.output, chunk.subarray(from, to)]);
      const outcome = this.parser.parse(this.output, this.output.length, this.headers, Method.Get);
      if (outcome >= 0) return this.parser.status;
      if (outcome !== NEED_MORE) return -1;
    }
    return 0;
  }
}

function requestFor(root: string, path: string, authority: string): Buffer {
  const [script = "/", ...query] = path.split("?");
  const params = encodedParams([
    ["GATEWAY_INTERFACE", "CGI/1.1"],
    ["SERVER_SOFTWARE", "edge"],
    ["SERVER_PROTOCOL", "HTTP/1.1"],
    ["SERVER_NAME", authority.replace(/:\d+$/, "")],
    ["REDIRECT_STATUS", "200"],
    ["REQUEST_METHOD", "GET"],
    ["REQUEST_URI", path],
    ["QUERY_STRING", query.join("?")],
    ["CONTENT_TYPE", ""],
    ["CONTENT_LENGTH", ""],
    ["DOCUMENT_ROOT", utf8AsLatin1(root)],
    ["SCRIPT_NAME", script],
    ["SCRIPT_FILENAME", utf8AsLatin1(root.replace(/\/$/, "")) + script],
    ["REMOTE_ADDR", "127.0.0.1"],
    ["HTTP_HOST", authority],
    ["HTTP_USER_AGENT", "edge-health-check"],
  ]);
  const out = Buffer.alloc(
    BEGIN_RECORD_BYTES + params.length + paramsFramingBound(params.length) + END_OF_STDIN.length,
  );
  const from = writeBegin(out, 0, false) + HEADER_BYTES;
  const end = frameParams(out, from, from + params.copy(out, from));
  return out.subarray(0, end + END_OF_STDIN.copy(out, end));
}
