import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { FAULTS, faultRow } from "../core/fault-rows.ts";
import { errorBody } from "../core/status.ts";
import type { Exchange } from "../message/exchange.ts";
import { INVALID_TOKEN, PrebuiltResponse } from "../message/prebuilt-response.ts";
import { isLateFault, overdueResponse } from "../proto/grpc/call-deadline.ts";
import { isChallenge } from "../proto/h1/request-rules.ts";
import { encodePrebuilt, Persistence, prebuiltBound } from "../proto/h1/response-encoder.ts";

const JSON_TYPE = ["Content-Type", "application/json"] as const;
const TEXT_TYPE = ["Content-Type", "text/plain; charset=utf-8"] as const;
/** Seconds that a client is asked to wait if nothing better is known. */
const RETRY_AFTER = ["Retry-After", "5"] as const;
/** What passes by itself within a moment. */
const SOON = ["Retry-After", "1"] as const;

/** The responses that are the same every time, one a fault; null if the body carries a detail. */
const FIXED: readonly (PrebuiltResponse | null)[] = FAULTS.map((row, fault) =>
  fixedFor(fault, row.status, row.message),
);

/**
 * The response to a refusal. docs/wire.md#refusals
 * @param ex gives the detail that some bodies carry: a path, the allowed methods, a prepared body
 */
export function responseForFault(ex: Exchange, fault: Fault): PrebuiltResponse {
  // A token with a space, or with bytes that no path has, does not get as far as the responder of challenges.
  if ((fault === Fault.BadTarget || fault === Fault.BadVersion) && isChallenge(ex.request)) return INVALID_TOKEN;
  // A client of gRPC knows a time-out as its deadline.
  const overdue = isLateFault(fault) ? overdueResponse(ex.request) : null;
  if (overdue !== null) {
    // The status of HTTP may be 200, and the call has failed.
    ex.attempt.grpcFailed = true;
    return overdue;
  }
  const fixed = FIXED[fault];
  if (fixed !== null && fixed !== undefined) return fixed;
  const row = faultRow(fault);
  switch (fault) {
    case Fault.WafBlocked:
      return refusal(row.status, [JSON_TYPE], ex.detail);
    case Fault.RuleRefused:
      return ruleRefusal(ex.detail);
    case Fault.MethodNotAllowed:
      return refusal(
        row.status,
        [JSON_TYPE, ["Allow", ex.detail]],
        jsonError(row.status, `allowed methods: ${ex.detail}`),
      );
    case Fault.Maintenance:
      return refusal(
        row.status,
        [JSON_TYPE, ["Retry-After", ex.detail]],
        jsonError(row.status, "down for maintenance, try again later"),
      );
    case Fault.Unauthenticated:
      return refusal(
        row.status,
        [JSON_TYPE, ...challengesOf(ex.detail)],
        jsonError(row.status, "credentials are needed"),
      );
    case Fault.ProxyAuthRequired:
      return refusal(
        row.status,
        [JSON_TYPE, ["Proxy-Authenticate", ex.detail]],
        jsonError(row.status, "the proxy needs credentials"),
      );
    case Fault.IdentityDenied:
      return refusal(row.status, [JSON_TYPE, ...challengesOf(ex.detail)], jsonError(row.status, row.message));
    case Fault.TooManyGuesses:
      return refusal(
        row.status,
        [JSON_TYPE, ["Retry-After", ex.detail]],
        jsonError(row.status, "too many wrong credentials, try again later"),
      );
    case Fault.BodyTooLarge:
      return json(row.status, `request body exceeds ${ex.maxBodyBytes} bytes`);
    case Fault.NotFound:
      return json(row.status, `no route matches ${ex.request.path()}`);
    default:
      return json(row.status, ex.detail);
  }
}

/** The whole HTTP/1.1 response of a refusal that needs no exchange: the connection closes after it. */
export function plainRefusal(fault: Fault, clock: Clock): Uint8Array {
  const response = FIXED[fault]!;
  response.date(clock.dateBytes, clock.second);
  const out = Buffer.alloc(prebuiltBound(response, null));
  return out.subarray(0, encodePrebuilt(out, 0, response, null, true, Persistence.Close));
}

/**
 * Whether no further request is accepted after this refusal where many share a connection, which then closes.
 * docs/wire.md#http2
 */
export function endsConnection(fault: Fault): boolean {
  return (
    fault === Fault.WafBlocked ||
    fault === Fault.RuleRefused ||
    fault === Fault.PrefixEscape ||
    fault === Fault.SymlinkEscape ||
    fault === Fault.Banned
  );
}

/** A rule has said what is answered: a status, where a redirect leads, and a body, each behind a line break. docs/waf.md#rules-of-your-own */
function ruleRefusal(detail: string): PrebuiltResponse {
  const [status = "", location = "", ...body] = detail.split("\n");
  const fields = location === "" ? [JSON_TYPE] : [JSON_TYPE, ["Location", location] as const];
  return refusal(Number(status), fields, body.join("\n"));
}

/** One field for each challenge, which are on lines of their own. RFC 9110 §11.6.1 */
function challengesOf(detail: string): (readonly [string, string])[] {
  return detail.split("\n").flatMap((one) => (one === "" ? [] : [["WWW-Authenticate", one] as const]));
}

/** The body of a JSON error. */
function jsonError(status: number, message: string): string {
  return JSON.stringify(errorBody(status, message));
}

function fixedFor(fault: Fault, status: number, message: string): PrebuiltResponse | null {
  switch (fault) {
    // A method may say which scheme asks for more. RFC 6750 §3.1
    case Fault.IdentityDenied:
      return null;
    case Fault.PrefixEscape:
      return refusal(status, [JSON_TYPE], '{"error":"403 Forbidden: Path Traversal Disallowed"}');
    case Fault.SymlinkEscape:
      return refusal(status, [TEXT_TYPE], "Symlink Path Traversal Disallowed");
    case Fault.ChunkedDisabled:
      return refusal(status, [TEXT_TYPE], "Inbound chunked transfer encoding is disabled");
    case Fault.BotChallenge:
      return refusal(status, [JSON_TYPE, ["Cache-Control", "no-store"]], jsonError(status, message));
    case Fault.BuffersFull:
    case Fault.SpoolFailed:
    case Fault.OutOfDescriptors:
    case Fault.OutOfSockets:
    case Fault.OriginQueueFull:
    case Fault.AuthUnavailable:
    case Fault.TooManyConnections:
    case Fault.NoHealthyTarget:
      return refusal(status, [JSON_TYPE, RETRY_AFTER], jsonError(status, message));
    case Fault.TooManyTunnels:
    case Fault.ConcurrencyLimit:
    case Fault.WaitingRoom:
    case Fault.Overloaded:
      return refusal(status, [JSON_TYPE, SOON], jsonError(status, message));
    default:
      return message === "" ? null : json(status, message);
  }
}

function json(status: number, message: string): PrebuiltResponse {
  return refusal(status, [JSON_TYPE], jsonError(status, message));
}

function refusal(status: number, fields: readonly (readonly [string, string])[], body: string): PrebuiltResponse {
  return new PrebuiltResponse(status, fields, body, true);
}
