import { scgiHeadBound, writeScgiHead } from "../proto/cgi/scgi-head.ts";
import { packetBound, writePacket } from "../proto/cgi/uwsgi-packet.ts";
import { decodeOnce } from "../proto/target/percent-decoding.ts";
import type { ProbeQuestion } from "./probe-dialog.ts";
import { probeParams, ScriptProbeDialog } from "./script-probe-dialog.ts";

/** An application that a probe asks. */
export interface ProbedApplication {
  readonly protocol: "uwsgi" | "scgi";
  readonly modifiers: readonly [number, number];
}

/** A probe's request and response by uWSGI or SCGI. docs/uwsgi.md#health-checks */
export class ApplicationProbeDialog extends ScriptProbeDialog {
  readonly request: Buffer;

  /** @param path with its query */
  constructor(
    application: ProbedApplication,
    path: string,
    authority: string,
    question: ProbeQuestion,
    maxFields: number,
  ) {
    super(question, maxFields, true);
    this.request = requestFor(application, path, authority, question);
  }

  take(chunk: Buffer): number {
    return this.takeOutput(chunk, 0, chunk.length);
  }

  /** The body ends with the connection. */
  close(): number {
    return this.hasHead ? this.parser.status : 0;
  }
}

function requestFor(
  { protocol, modifiers }: ProbedApplication,
  path: string,
  authority: string,
  question: ProbeQuestion,
): Buffer {
  const params = probeParams(path, authority, question, [
    ["SCRIPT_NAME", ""],
    ["PATH_INFO", decodeOnce(path.split("?", 1)[0] ?? "/")],
  ]);
  const bound = protocol === "uwsgi" ? packetBound(params.length) : scgiHeadBound(params.length);
  const out = Buffer.alloc(bound);
  const end =
    protocol === "uwsgi"
      ? writePacket(params, params.length, modifiers, out, 0)
      : writeScgiHead(params, params.length, 0, out, 0);
  return out.subarray(0, end);
}
