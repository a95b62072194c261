import type { PathPattern } from "../../core/path-pattern.ts";
import type { TimerWheel } from "../../core/timer-wheel.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import type { GrpcUpstream } from "../../message/grpc-upstream.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { NowMs } from "../../message/ports.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { GrpcCode } from "../../proto/grpc/grpc-status.ts";
import { readJson } from "../../proto/grpc/json-text.ts";
import type { BodyBudget } from "../../shared/body-budget.ts";
import type { CodecSource } from "./codec-source.ts";
import { JsonBody, type WholeBodyTaker } from "./json-body.ts";
import { errorJson } from "./json-reply.ts";
import { BadInput, pathFields, queryFields } from "./request-input.ts";
import { TranscodedExchange } from "./transcoded-exchange.ts";

/** One transcoded route. */
export interface TranscodeSettings {
  readonly grpcMethod: string;
  readonly pattern: PathPattern;
  /** The request field of each path variable, where it is not the variable's own name. */
  readonly fields: ReadonlyMap<string, string>;
  /** From the whole request to the end of the response. */
  readonly timeoutMs: number;
}

/** What transcoding asks of its worker. */
export interface TranscodeServices {
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  readonly bodies: BodyBudget;
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
    if (!ex.request.hasBody()) this.begin(ex, "");
    else if (!isJson(ex)) refuse(ex, 415, "the body must be application/json");
    else {
      ex.body = new JsonBody(this, this.services.bodies);
      ex.sink.wantBody(ex);
    }
    return Verdict.Done;
  }

  onWholeBody(ex: Exchange, text: string | null): void {
    if (text === null) refuse(ex, 400, "the body is not UTF-8");
    else this.begin(ex, text);
  }

  /** @param text of the body, "" where there is none */
  private begin(ex: Exchange, text: string): void {
    try {
      const body = text === "" ? undefined : readJson(text);
      if (body instanceof Error) throw new BadInput(body.message);
      const { pattern, fields } = this.settings;
      const input = { path: pathFields(ex, pattern, fields), query: queryFields(ex), body };
      new TranscodedExchange(ex, this, input).start();
    } catch (error) {
      if (!(error instanceof BadInput)) throw error;
      refuse(ex, 400, error.message);
    }
  }
}

/** A body without a type is taken for what it must be. */
function isJson(ex: Exchange): boolean {
  const { headers } = ex.request;
  const coding = headers.valueOf(HeaderId.ContentEncoding).toLowerCase();
  const type = headers.valueOf(HeaderId.ContentType).split(";", 1)[0]!.trim().toLowerCase();
  return (
    (coding === "" || coding === "identity") && (type === "" || type === "application/json" || type.endsWith("+json"))
  );
}

function refuse(ex: Exchange, status: number, message: string): void {
  const body = errorJson({ code: GrpcCode.InvalidArgument, message, details: null }, []);
  ex.sink.fixed(ex, new PrebuiltResponse(status, [["Content-Type", "application/json"]], body));
}
