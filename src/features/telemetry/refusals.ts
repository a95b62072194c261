import { Fault, FaultKind } from "../../core/fault.ts";
import { faultRow } from "../../core/fault-rows.ts";
import type { WorkerCounters } from "../../memory/counter-table.ts";
import type { Exchange, RequestNamer } from "../../message/exchange.ts";
import type { EventLog } from "./event-log.ts";
import type { REFUSAL_EVENTS } from "./events.ts";
import { UNMATCHED_LABEL } from "./route-labels.ts";

/** Counts and logs what is refused for its bytes or by a limit. docs/security.md#resources-of-one-client */
export class Refusals {
  private readonly counters: WorkerCounters;
  private readonly log: EventLog<typeof REFUSAL_EVENTS>;
  private readonly names: RequestNamer;

  constructor(counters: WorkerCounters, log: EventLog<typeof REFUSAL_EVENTS>, names: RequestNamer) {
    this.counters = counters;
    this.log = log;
    this.names = names;
  }

  /**
   * A request was refused for its framing, or a TLS handshake failed: once each, by the counters for an exchange that ended
   * so, and by an engine for a connection that it refuses without one.
   * @param clientIp address of the TCP peer
   * @param ex null if there is no request
   */
  framing(fault: Fault, clientIp: string, ex: Exchange | null = null): void {
    this.counters.refused(fault);
    const row = faultRow(fault);
    const event = row.kind === FaultKind.Tls ? "tls_reject" : "framing_reject";
    if (!this.log.takes(event)) return;
    const fields = { client_ip: clientIp, reason: row.label, status: row.status };
    this.log.write(event, ex === null ? fields : { request_id: this.names.idOf(ex), ...fields });
  }

  /** A limit ended a request (408, 413, 503); the line names the setting that did it as `key`. */
  limit(ex: Exchange): void {
    this.counters.refused(ex.fault);
    if (!this.log.takes("limit_reject")) return;
    const row = faultRow(ex.fault);
    this.log.write("limit_reject", {
      request_id: this.names.idOf(ex),
      client_ip: ex.clientIp,
      route: ex.route === null ? UNMATCHED_LABEL : ex.route.label,
      reason: row.label,
      key: keyOf(ex),
      ...(ex.fault === Fault.BodyTooLarge ? { limit: ex.maxBodyBytes } : {}),
      body_bytes: ex.bodyBytes,
      status: row.status,
    });
  }
}

/** The setting that ended the request; null if there is none. */
function keyOf(ex: Exchange): string | null {
  switch (ex.fault) {
    case Fault.BodyTooLarge:
      return ex.route?.init.bodyLimitKey ?? "server.max_body_bytes";
    case Fault.HeaderTimeout:
      return "server.header_timeout";
    case Fault.BodyTimeout:
      return "server.read_timeout";
    case Fault.BodyTooSlow:
      return "server.min_body_rate";
    case Fault.OutOfDescriptors:
      return "RLIMIT_NOFILE";
    case Fault.BuffersFull:
    case Fault.BodyEvicted:
      return ex.detail === "" ? null : ex.detail;
    default:
      return null;
  }
}
