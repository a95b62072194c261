import type { NameResolver } from "../net/name-resolver.ts";
import { GrpcCode, httpStatusOf } from "../proto/grpc/grpc-status.ts";
import { CHECK_HEALTH, type HealthCheckResponse, SERVING } from "../proto/grpc/health-messages.ts";
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
    for await (const { status } of connection.call<HealthCheckResponse>(CHECK_HEALTH, {}, { firstMessageMs }))
      return { statusCode: status === SERVING ? 200 : 503, latencyMs: tookMs(), error: "" };
    return { statusCode: 0, latencyMs: tookMs(), error: "a malformed response" };
  } catch (error) {
    const { status, reason, isOurs } = error instanceof GrpcFailure ? error : new GrpcFailure(0, String(error));
    const isAlive = status === GrpcCode.Unimplemented && !mustTell;
    if (status > 0) return { statusCode: isAlive ? 200 : httpStatusOf(status), latencyMs: tookMs(), error: "" };
    const outcome = { statusCode: 0, latencyMs: tookMs(), error: connectFailure({ code: reason }) };
    return isOurs ? { ...outcome, isOurs } : outcome;
  } finally {
    connection?.close();
  }
}

/** A response is one number. */
const MAX_MESSAGE_BYTES = 1024;
