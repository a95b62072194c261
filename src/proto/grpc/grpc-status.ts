import type { GrpcStatus } from "../../message/grpc-upstream.ts";
import type { HeaderBlock } from "../../message/header-block.ts";

/** Status codes of gRPC as the gateway uses them. */
export const enum GrpcCode {
  Ok = 0,
  Cancelled,
  Unknown,
  InvalidArgument,
  DeadlineExceeded,
  NotFound,
  AlreadyExists,
  PermissionDenied,
  ResourceExhausted,
  FailedPrecondition,
  Aborted,
  OutOfRange,
  Unimplemented,
  Internal,
  Unavailable,
  DataLoss,
  Unauthenticated,
}

/** HTTP statuses by gRPC status. docs/transcoder.md#errors */
const HTTP_STATUSES: readonly number[] = [
  200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401,
];

/** The HTTP status for a gRPC status; 500 for an unknown one. */
export function httpStatusOf(code: number): number {
  return HTTP_STATUSES[code] ?? 500;
}

/** The name of a gRPC status, as its documentation has it; UNKNOWN for an unknown one. */
export function nameOfStatus(code: number): string {
  return NAMES[code] ?? NAMES[GrpcCode.Unknown]!;
}

const NAMES: readonly string[] = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
];

/** The gRPC status that an HTTP status other than 200 stands for if no grpc-status came. */
export function codeOfHttpStatus(status: number): GrpcCode {
  switch (status) {
    case 400:
      return GrpcCode.Internal;
    case 401:
      return GrpcCode.Unauthenticated;
    case 403:
      return GrpcCode.PermissionDenied;
    case 404:
      return GrpcCode.Unimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return GrpcCode.Unavailable;
    default:
      return GrpcCode.Unknown;
  }
}

/** Whether headers or trailers say that a call has failed as 5xx of HTTP do: by its server, not by its client. */
export function tellsFailure(fields: HeaderBlock): boolean {
  const at = fields.findNamed(STATUS);
  if (at < 0) return false;
  const code = Number(fields.valueText(at));
  return httpStatusOf(code) >= 500;
}

const STATUS = Buffer.from("grpc-status");

/** Reads one field of a header or trailer section; undefined if it is not there. */
type FieldReader = (name: string) => string | undefined;

/** The status that headers or trailers tell; null if they hold no grpc-status. */
export function readStatus(field: FieldReader): GrpcStatus | null {
  const text = field("grpc-status");
  if (text === undefined) return null;
  // A text that is no number is no status either. gRPC over HTTP/2, "Responses".
  const code = /^\d{1,9}$/.test(text.trim()) ? Number(text) : GrpcCode.Unknown;
  return {
    code,
    message: decodeMessage(field("grpc-message") ?? ""),
    details: decodeBinary(field("grpc-status-details-bin")),
  };
}

/**
 * Decodes `grpc-message`: percent-encoded UTF-8. What is not well encoded stays as it is, since a message must never be
 * lost over its spelling (gRPC over HTTP/2, "Percent-Encoded").
 */
export function decodeMessage(text: string): string {
  if (!text.includes("%")) return Buffer.from(text, "latin1").toString("utf8");
  const bytes = Buffer.alloc(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const hex = text[at] === "%" ? text.slice(at + 1, at + 3) : "";
    const isEscape = /^[0-9A-Fa-f]{2}$/.test(hex);
    bytes[length++] = isEscape ? Number.parseInt(hex, 16) : text.charCodeAt(at);
    if (isEscape) at += 2;
  }
  return bytes.toString("utf8", 0, length);
}

/** `grpc-timeout` for a number of milliseconds: at most eight digits and a unit. */
export function timeoutText(milliseconds: number): string {
  const whole = Math.max(1, Math.ceil(milliseconds));
  return whole <= 99_999_999 ? `${whole}m` : `${Math.min(99_999_999, Math.ceil(whole / 1000))}S`;
}

/** Base64, with or without padding; null for anything else, and if there is none. */
function decodeBinary(text: string | undefined): Uint8Array | null {
  if (text === undefined || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return null;
  return Buffer.from(text, "base64");
}
