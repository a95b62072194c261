import type { JsonValue } from "@bufbuild/protobuf";
import { Fault } from "../../core/fault.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import type { GrpcUpstream } from "../../message/grpc-upstream.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { streamsLines } from "../../message/line-stream.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Method } from "../../message/request-head.ts";
import { GrpcCode } from "../../proto/grpc/grpc-status.ts";
import { readBody } from "../../proto/grpc/json-text.ts";
import { isKey } from "../../proto/websocket/handshake.ts";
import type { CodecSource } from "./codec-source.ts";
import { errorJson, give, refuseCall } from "./json-response.ts";
import { BodyLines, LARGE_MESSAGE_BYTES } from "./message-sources.ts";
import { BadInput, clientTimeoutMs, pathFields, queryFields, type RequestInput } from "./request-input.ts";
import { SocketExchange } from "./socket-exchange.ts";
import type { TranscodedMethod, TranscodePorts, TranscodeSettings } from "./transcode-services.ts";
import { TranscodedExchange } from "./transcoded-exchange.ts";
import { WholeBody, type WholeBodyTaker } from "./whole-body.ts";

/** Makes gRPC calls of REST requests. docs/transcoder.md */
export class TranscodeHandler implements Handler, TranscodedMethod, WholeBodyTaker {
  readonly name = "transcode";
  readonly settings: TranscodeSettings;
  readonly upstream: GrpcUpstream;
  readonly codecs: CodecSource;
  readonly services: TranscodePorts;

  constructor(settings: TranscodeSettings, upstream: GrpcUpstream, codecs: CodecSource, services: TranscodePorts) {
    this.settings = settings;
    this.upstream = upstream;
    this.codecs = codecs;
    this.services = services;
  }

  handle(ex: Exchange): Verdict {
    this.services.requestIds.assign(ex);
    const { request } = ex;
    const isSocket = asksSocket(ex);
    // GET may be there for WebSockets alone.
    if (!isSocket && request.method === Method.Get && this.settings.httpMethod !== "GET") {
      ex.detail = this.settings.httpMethod;
      ex.sink.abort(ex, Fault.MethodNotAllowed);
    } else if (isSocket) this.openSocket(ex);
    else if (!ex.request.hasBody()) this.begin(ex, NO_BODY);
    else if (streamsLines(ex)) {
      const lines = new BodyLines(ex, this.settings.maxMessageBytes);
      ex.body = lines;
      this.begin(ex, NO_BODY, lines);
    } else if (!this.settings.takesBytes && !isJson(ex)) refuseCall(ex, 415, "the body must be application/json");
    else {
      ex.body = new WholeBody(this, this.services.bodies);
      ex.sink.wantBody(ex);
    }
    return Verdict.Done;
  }

  /** RFC 6455 §4.2.1; a page of another site may not open one with what its visitor's browser sends along. */
  private openSocket(ex: Exchange): void {
    const { headers } = ex.request;
    const key = fieldOf(headers, "sec-websocket-key");
    if (fieldOf(headers, "sec-websocket-version") !== "13") {
      return ex.sink.fixed(ex, OTHER_SOCKET_VERSION);
    }
    if (!isKey(key)) return refuseCall(ex, 400, "Sec-WebSocket-Key: expected 16 bytes in base64");
    if (!this.services.mayOpenSocket(ex)) {
      const status = { code: GrpcCode.PermissionDenied, message: "not allowed from this origin", details: null };
      return give(ex, 403, "application/json", Buffer.from(errorJson(status, [])), []);
    }
    this.beginWith(ex, NO_BODY, (input, allowedMs) => new SocketExchange(ex, this, input, allowedMs, key).start());
  }

  onWholeBody(ex: Exchange, bytes: Buffer): void {
    if (this.settings.takesBytes) return this.begin(ex, { ...NO_BODY, body: httpBody(ex, bytes) });
    if (bytes.length === 0) return this.begin(ex, NO_BODY);
    if (bytes.length > LARGE_MESSAGE_BYTES) return this.begin(ex, { ...NO_BODY, large: bytes });
    const read = readBody(bytes);
    if (read instanceof Error) refuseCall(ex, 400, read.message);
    else this.begin(ex, { ...NO_BODY, body: read.value, hasOddNumbers: read.hasOddNumbers });
  }

  private begin(ex: Exchange, body: GivenBody, lines: BodyLines | null = null): void {
    this.beginWith(ex, body, (input, allowedMs) => new TranscodedExchange(ex, this, input, allowedMs, lines).start());
  }

  private beginWith(ex: Exchange, body: GivenBody, start: (input: RequestInput, allowedMs: number) => void): void {
    try {
      const { pattern, fields, timeoutMs } = this.settings;
      const input = { path: pathFields(ex, pattern, fields), query: queryFields(ex), ...body };
      start(input, Math.min(timeoutMs, clientTimeoutMs(ex.request.headers)));
    } catch (error) {
      if (!(error instanceof BadInput)) throw error;
      refuseCall(ex, 400, error.message);
    }
  }
}

/** What a request says by its body. */
type GivenBody = Pick<RequestInput, "body" | "large" | "hasOddNumbers">;

/** RFC 6455 §4.4; RFC 9110 §15.5.22 asks for Upgrade, too. Other protocols than HTTP/1.1 leave both fields of the connection out. */
const OTHER_SOCKET_VERSION: PrebuiltResponse = new PrebuiltResponse(
  426,
  [
    ["Sec-WebSocket-Version", "13"],
    ["Upgrade", "websocket"],
    ["Connection", "Upgrade"],
  ],
  "",
);
const NO_BODY: GivenBody = { body: undefined, large: null, hasOddNumbers: false };

function asksSocket({ request }: Exchange): boolean {
  return request.upgrade && request.headers.valueOf(HeaderId.Upgrade).trim().toLowerCase() === "websocket";
}

/** The value of the one field with a name; "" if there is none, or more than one. */
function fieldOf(headers: HeaderBlock, name: string): string {
  let value = "";
  for (let i = headers.find(HeaderId.Other); i >= 0; i = headers.find(HeaderId.Other, i + 1)) {
    if (headers.nameText(i).toLowerCase() !== name) continue;
    if (value !== "") return "";
    value = headers.valueText(i);
  }
  return value;
}

/** A body as it came, as the JSON of google.api.HttpBody. */
function httpBody(ex: Exchange, bytes: Buffer): JsonValue {
  return { contentType: utf8Of(ex.request.headers.valueOf(HeaderId.ContentType)), data: bytes.toString("base64") };
}

function utf8Of(latin1: string): string {
  return Buffer.from(latin1, "latin1").toString("utf8");
}

/** A body without a type counts as what it must be. */
function isJson(ex: Exchange): boolean {
  const { headers } = ex.request;
  const coding = headers.valueOf(HeaderId.ContentEncoding).toLowerCase();
  const type = headers.valueOf(HeaderId.ContentType).split(";", 1)[0]!.trim().toLowerCase();
  return (
    (coding === "" || coding === "identity") && (type === "" || type === "application/json" || type.endsWith("+json"))
  );
}
