import { utf8AsLatin1 } from "../core/bytes.ts";
import { RecordEvent, RecordReader } from "../proto/fastcgi/record-reader.ts";
import {
  BEGIN_RECORD_BYTES,
  END_OF_STDIN,
  frameParams,
  HEADER_BYTES,
  paramsFramingBound,
  writeBegin,
} from "../proto/fastcgi/records.ts";
import type { ProbeQuestion } from "./probe-dialog.ts";
import { probeParams, ScriptProbeDialog } from "./script-probe-dialog.ts";

/**
 * A probe's request and response by FastCGI: a script below the root, or what php-fpm answers itself (`ping.path`,
 * `pm.status_path`). docs/php.md#health-checks
 */
export class FastCgiProbeDialog extends ScriptProbeDialog {
  readonly request: Buffer;
  private readonly reader = new RecordReader();

  /** @param root the folder of the scripts @param path with its query */
  constructor(root: string, path: string, authority: string, question: ProbeQuestion, maxFields: number) {
    super(question, maxFields, false);
    this.request = requestFor(root, path, authority, question);
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
}

function requestFor(root: string, path: string, authority: string, question: ProbeQuestion): Buffer {
  const script = path.split("?", 1)[0] ?? "/";
  const params = probeParams(path, authority, question, [
    ["REDIRECT_STATUS", "200"],
    ["DOCUMENT_ROOT", utf8AsLatin1(root)],
    ["SCRIPT_NAME", script],
    ["SCRIPT_FILENAME", utf8AsLatin1(root.replace(/\/$/, "")) + script],
  ]);
  const out = Buffer.alloc(
    BEGIN_RECORD_BYTES + params.length + paramsFramingBound(params.length) + END_OF_STDIN.length,
  );
  const from = writeBegin(out, 0, false) + HEADER_BYTES;
  const end = frameParams(out, from, from + params.copy(out, from));
  return out.subarray(0, end + END_OF_STDIN.copy(out, end));
}
