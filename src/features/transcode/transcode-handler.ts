import type { JsonValue } from "@bufbuild/protobuf";
import type { PathPattern } from "../../core/path-pattern.ts";
import type { TimerWheel } from "../../core/timer-wheel.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import type { GrpcUpstream } from "../../message/grpc-upstream.ts";
import { HeaderId } from "../../message/header-block.ts";
import { streamsLines } from "../../message/line-stream.ts";
import type { NowMs } from "../../message/ports.ts";
import { readJson } from "../../proto/grpc/json-text.ts";
import type { BodyBudget } from "../../shared/body-budget.ts";
import type { CodecSource } from "./codec-source.ts";
import { refuse } from "./json-reply.ts";
import { BodyLines } from "./message-sources.ts";
import { BadInput, clientTimeoutMs, pathFields, queryFields } from "./request-input.ts";
import { TranscodedExchange } from "./transcoded-exchange.ts";
import { WholeBody, type WholeBodyTaker } from "./whole-body.ts";

/** One transcoded route. */
export interface TranscodeSettings {
  readonly grpcMethod: string;
  readonly pattern: PathPattern;
  /** The request field of each path variable, where it is not the variable's own name. */
  readonly fields: ReadonlyMap<string, string>;
  /** From the whole request to the end of the response. */
  readonly timeoutMs: number;
  /** Whether the method takes the body as it is, whatever its type. */
  readonly takesBytes: boolean;
  /** Bytes that one message of a stream may have. */
  readonly maxMessageBytes: number;
}

/** What transcoding asks of its worker. */
export interface TranscodeServices {
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  readonly bodies: BodyBudget;
  /** Calls back in a later turn of the event loop. */
  readonly defer: (resume: () => void) => void;
  readonly requestIds: { assign(ex: Exchange): void };
  /** Counts what upstreams answer. */
  readonly tally: { upstreamAnswered(label: string, status: number, durationMs: number): void };
}

/** Makes gRPC calls of REST requests. docs/transcoder.md */
export class TranscodeHandler implements Handler, WholeBodyTaker {
  readonly name = "transcode";
  readonly settings: TranscodeSettings;
  readonly upstream: GrpcUpstream;
  readonly codecs: CodecSource;
  readonly services: TranscodeServices;

  constructor(settings: TranscodeSettings, upstream: GrpcUpstream, codecs: CodecSource, services: TranscodeServices) {
    this.settings = settings;
    this.upstream = upstream;
    this.codecs = codecs;
    this.services = services;
  }

  handle(ex: Exchange): Verdict {
    this.services.requestIds.assign(ex);
    if (!ex.request.hasBody()) this.begin(ex, undefined, false);
    else if (streamsLines(ex)) {
      const lines = new BodyLines(ex, this.settings.maxMessageBytes);
      ex.body = lines;
      this.begin(ex, undefined, false, lines);
    } else if (!this.settings.takesBytes && !isJson(ex)) refuse(ex, 415, "the body must be application/json");
    else {
      ex.body = new WholeBody(this, this.services.bodies);
      ex.sink.wantBody(ex);
    }
    return Verdict.Done;
  }

  onWholeBody(ex: Exchange, bytes: Buffer): void {
    if (this.settings.takesBytes) return this.begin(ex, httpBody(ex, bytes), false);
    const text = textOf(bytes);
    if (text === null) return refuse(ex, 400, "the body is not UTF-8");
    if (text === "") return this.begin(ex, undefined, false);
    const read = readJson(text);
    if (read instanceof Error) refuse(ex, 400, read.message);
    else this.begin(ex, read.value, read.hasOddNumbers);
  }

  private begin(
    ex: Exchange,
    body: JsonValue | undefined,
    hasOddNumbers: boolean,
    lines: BodyLines | null = null,
  ): void {
    try {
      const { pattern, fields, timeoutMs } = this.settings;
      const input = { path: pathFields(ex, pattern, fields), query: queryFields(ex), body, hasOddNumbers };
      const allowedMs = Math.min(timeoutMs, clientTimeoutMs(ex.request.headers));
      new TranscodedExchange(ex, this, input, allowedMs, lines).start();
    } catch (error) {
      if (!(error instanceof BadInput)) throw error;
      refuse(ex, 400, error.message);
    }
  }
}

/** A body as it came, as the JSON of google.api.HttpBody. */
function httpBody(ex: Exchange, bytes: Buffer): JsonValue {
  return { contentType: utf8Of(ex.request.headers.valueOf(HeaderId.ContentType)), data: bytes.toString("base64") };
}

function utf8Of(latin1: string): string {
  return Buffer.from(latin1, "latin1").toString("utf8");
}

function textOf(bytes: Buffer): string | null {
  try {
    return UTF8.decode(bytes);
  } catch {
    return null;
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A body without a type is taken for what it must be. */
function isJson(ex: Exchange): boolean {
  const { headers } = ex.request;
  const coding = headers.valueOf(HeaderId.ContentEncoding).toLowerCase();
  const type = headers.valueOf(HeaderId.ContentType).split(";", 1)[0]!.trim().toLowerCase();
  return (
    (coding === "" || coding === "identity") && (type === "" || type === "application/json" || type.endsWith("+json"))
  );
}
