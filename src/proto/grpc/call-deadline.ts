import { latin1 } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { GrpcCode } from "./grpc-status.ts";
import { trailersFrame } from "./web-frames.ts";

/**
 * Reads a `Grpc-Timeout`: `250m`, `10S`. gRPC over HTTP/2, "Requests".
 * @returns whole milliseconds, 1 at least, since timers count no less; NaN for any other text
 */
export function timeoutMsOf(text: string): number {
  const perUnit = UNIT_MS[text[text.length - 1] ?? ""];
  const digits = text.slice(0, -1);
  if (perUnit === undefined || !isNumber(digits, MAX_GRPC_DIGITS)) return Number.NaN;
  return Math.max(1, Math.ceil(Number(digits) * perUnit));
}

/**
 * Whether the time is over that a client of gRPC, gRPC-Web or Connect has given its call. A server that keeps to it ends the call then, by a
 * reset if it has nothing else to say. docs/transcoder.md#time-and-connections
 * @param elapsedMs since the request came
 */
export function isOverdue(headers: HeaderBlock, elapsedMs: number): boolean {
  const grpc = headers.findNamed(GRPC_TIMEOUT);
  if (grpc >= 0) return elapsedMs >= timeoutMsOf(headers.valueText(grpc));
  const connect = headers.findNamed(CONNECT_TIMEOUT);
  if (connect < 0) return false;
  const text = headers.valueText(connect);
  return isNumber(text, MAX_CONNECT_DIGITS) && elapsedMs >= Number(text);
}

/** Whether a fault is DEADLINE_EXCEEDED to a client of gRPC, gRPC-Web or Connect. docs/transcoder.md#time-and-connections */
export function isLateFault(fault: Fault): boolean {
  return fault === Fault.UpstreamTimeout || fault === Fault.CallOverdue;
}

/**
 * DEADLINE_EXCEEDED in the protocol of the call, since the status 504 of HTTP means UNAVAILABLE to clients of all three.
 * @returns null if the request is none of gRPC, gRPC-Web or Connect
 */
export function overdueResponse(request: RequestHead): PrebuiltResponse | null {
  const { headers } = request;
  const at = headers.find(HeaderId.ContentType);
  const type = at < 0 ? "" : headers.valueText(at).toLowerCase();
  if (type.startsWith("application/grpc-web-text")) return OVERDUE.webText;
  if (type.startsWith("application/grpc-web")) return OVERDUE.web;
  if (type.startsWith("application/grpc")) return OVERDUE.grpc;
  if (type.startsWith("application/connect+")) return type.endsWith("json") ? CONNECT_JSON : CONNECT_PROTO;
  const isUnary = headers.findNamed(CONNECT_VERSION) >= 0 || request.target().includes("connect=v1");
  return isUnary ? CONNECT_UNARY : null;
}

function isNumber(text: string, maxDigits: number): boolean {
  return text.length <= maxDigits && /^\d+$/.test(text);
}

function typed(status: number, type: string, body: string | Uint8Array): PrebuiltResponse {
  return new PrebuiltResponse(status, [["Content-Type", type]], body, true);
}

/** The message that ends a stream of Connect. Connect, "Streaming RPCs". */
function endOfStream(error: string): Buffer {
  const text = Buffer.from(`{"error":${error}}`);
  const prefix = Buffer.from([END_OF_STREAM_FLAG, 0, 0, 0, text.length]);
  return Buffer.concat([prefix, text]);
}

const GRPC_TIMEOUT: Uint8Array = latin1("grpc-timeout");
const CONNECT_TIMEOUT: Uint8Array = latin1("connect-timeout-ms");
const CONNECT_VERSION: Uint8Array = latin1("connect-protocol-version");
const MAX_GRPC_DIGITS = 8;
const MAX_CONNECT_DIGITS = 10;
/** gRPC over HTTP/2, "TimeoutUnit". */
const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000_001 };

const END_OF_STREAM_FLAG = 2;
const STATUS_FIELDS = [
  ["Grpc-Status", String(GrpcCode.DeadlineExceeded)],
  ["Grpc-Message", "deadline exceeded"],
] as const;
const TRAILERS = trailersFrame(STATUS_FIELDS);
const CONNECT_ERROR = '{"code":"deadline_exceeded","message":"deadline exceeded"}';

/** DEADLINE_EXCEEDED before any message, for calls of gRPC and of the two forms of gRPC-Web. */
export const OVERDUE = {
  grpc: new PrebuiltResponse(200, [["Content-Type", "application/grpc"], ...STATUS_FIELDS], "", true),
  web: typed(200, "application/grpc-web+proto", TRAILERS),
  webText: typed(200, "application/grpc-web-text+proto", TRAILERS.toString("base64")),
} as const;
const CONNECT_UNARY = typed(504, "application/json", CONNECT_ERROR);
const CONNECT_PROTO = typed(200, "application/connect+proto", endOfStream(CONNECT_ERROR));
const CONNECT_JSON = typed(200, "application/connect+json", endOfStream(CONNECT_ERROR));
