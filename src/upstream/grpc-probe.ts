import { FaultDetail } from "../core/fault-detail.ts";
import { isNoName, type NameResolver } from "../net/name-resolver.ts";
import { GrpcCode, httpStatusOf } from "../proto/grpc/grpc-status.ts";
import { CHECK_HEALTH, type HealthCheckResponse, SERVING } from "../proto/grpc/health-messages.ts";
import { connectDetail, handshakeDetail, nameDetail } from "./failure-detail.ts";
import { connectFailure, type GrpcProbe, type ProbeOrigin, type ProbeOutcome } from "./http-probe.ts";
import { GrpcFailure, OutboundGrpc } from "./outbound-grpc.ts";

/**
 * Asks a gRPC server for its health, on a connection of its own. A server that serves has status 200, and one that does not 503; one that
 * responds with a status of gRPC has the status of HTTP that clients of the transcoder get for it. docs/upstreams.md#health-checks
 */
export async function probeGrpc(
  origin: ProbeOrigin,
  { basePath, mustTell }: GrpcProbe,
  timeoutMs: number,
  names: NameResolver,
): Promise<ProbeOutcome> {
  const startedMs = performance.now();
  const tookMs = () => performance.now() - startedMs;
  let connection: OutboundGrpc | null = null;
  try {
    const bounds = { connectTimeoutMs: timeoutMs, maxMessageBytes: MAX_MESSAGE_BYTES };
    connection = await OutboundGrpc.open({ ...origin, basePath }, bounds, names);
    const firstMessageMs = Math.max(1, timeoutMs - tookMs());
    const headers = Object.fromEntries(origin.question?.headers ?? []);
    for await (const { status } of connection.call<HealthCheckResponse>(CHECK_HEALTH, {}, { firstMessageMs, headers }))
      return { statusCode: status === SERVING ? 200 : 503, latencyMs: tookMs(), error: "" };
    return { statusCode: 0, latencyMs: tookMs(), error: "a malformed response" };
  } catch (error) {
    const { status, reason, isOurs } = error instanceof GrpcFailure ? error : new GrpcFailure(0, String(error));
    const isAlive = status === GrpcCode.Unimplemented && !mustTell;
    if (status > 0) return { statusCode: isAlive ? 200 : httpStatusOf(status), latencyMs: tookMs(), error: "" };
    const outcome = { statusCode: 0, latencyMs: tookMs(), error: connectFailure({ code: reason }) };
    const detail = detailOf(reason);
    const known = detail === FaultDetail.None ? outcome : { ...outcome, detail };
    return isOurs ? { ...known, isOurs } : known;
  } finally {
    connection?.close();
  }
}

/** The cause of a call without a response, by the code of the system, of the resolver or of TLS, else by the words of the call. */
function detailOf(reason: string): FaultDetail {
  if (isNoName(reason) || reason.startsWith("DNS_")) return nameDetail(reason);
  if (CONNECT_CODES.has(reason)) return connectDetail(reason);
  if (reason === "EPROTO" || TLS_CODE.test(reason)) return handshakeDetail({ code: reason, message: "" });
  return CAUSES.find(([words]) => reason.includes(words))?.[1] ?? FaultDetail.None;
}

/** Words of failures of connections and streams. */
const CAUSES: readonly (readonly [words: string, detail: FaultDetail])[] = [
  ["ECONNRESET", FaultDetail.ResetBeforeHead],
  ["EPIPE", FaultDetail.ResetBeforeHead],
  ["the connection was closed", FaultDetail.ClosedBeforeHead],
  ["no connection in time", FaultDetail.ConnectTimeout],
  ["no message within", FaultDetail.FirstByteTimeout],
  ["reset", FaultDetail.H2Reset],
  ["ERR_HTTP2", FaultDetail.H2Protocol],
];

const TLS_CODE = /CERT|^UNABLE_TO|^ERR_TLS_/;

const CONNECT_CODES: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOENT", "ETIMEDOUT"]);
/** A response is one number. */
const MAX_MESSAGE_BYTES = 1024;
