import type { ShownAddresses } from "../core/address-mask.ts";
import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { detailLabel } from "../core/fault-detail-rows.ts";
import type { Leniency } from "../core/leniency.ts";
import { printable } from "../core/printable.ts";
import type { GateObserver } from "../edge/connection-gate.ts";
import type { FieldsOfEvent, GatewayLog } from "../facts/events.ts";
import type { SignatureFault, SignatureListener } from "../features/agents/agent-verifier.ts";
import type { AuthListener } from "../features/auth/auth-phase.ts";
import type { ServiceListener } from "../features/auth/forward-method.ts";
import type { OidcStep } from "../features/auth/oidc/oidc-method.ts";
import type { SignInListener } from "../features/auth/oidc/sign-in.ts";
import type { BanWatch } from "../features/bans/ban-watch.ts";
import type { BotListener, ChallengeCause } from "../features/bots/bot-phase.ts";
import type { HedgeListener } from "../features/hedge/hedge.ts";
import type { SpoolListener } from "../features/ingest/buffered-body.ts";
import { spoolFolder } from "../features/ingest/spool-file.ts";
import type { RateLimitListener } from "../features/limit/rate-limit-phase.ts";
import type { MirrorDifference } from "../features/mirror/comparison.ts";
import type { MirrorListener, MirrorSettings } from "../features/mirror/mirror.ts";
import type { MaintenanceListener } from "../features/pages/maintenance-phase.ts";
import type { GuardListener } from "../features/route/routing-phases.ts";
import { type Denial, spiffeId } from "../features/sidecar/ingress-access.ts";
import type { DenialListener } from "../features/sidecar/ingress-phase.ts";
import type { PeerTally } from "../features/telemetry/peer-tap.ts";
import type { IncidentListener, IncidentRule, OverLimit, WafIncident } from "../features/waf/incident.ts";
import { type ConnectionCounts, LimitKind } from "../memory/connection-counts.ts";
import { COUNTERS, type CounterRow, type HedgeCount, type MirrorCount } from "../memory/counter-rows.ts";
import type { PeerRole, WorkerCounters } from "../memory/counter-table.ts";
import type { IncidentWriter } from "../memory/incident-ring.ts";
import type { Exchange, RequestNamer } from "../message/exchange.ts";
import { HeaderId } from "../message/header-block.ts";
import type { NowMs } from "../message/ports.ts";

/** Where a worker reports to. */
interface ReportPorts {
  readonly counters: WorkerCounters;
  readonly log: GatewayLog;
  readonly names: RequestNamer;
  readonly ring: IncidentWriter;
  readonly connections: ConnectionCounts;
  /** Milliseconds since the epoch. */
  readonly clock: NowMs;
  /** How addresses are shown. */
  readonly addresses: ShownAddresses;
}

/** Counts and logs what features and connections report of a worker's traffic: one method for each thing that they report. */
export class TrafficReports
  implements
    IncidentListener,
    GuardListener,
    RateLimitListener,
    MaintenanceListener,
    AuthListener,
    BotListener,
    SignatureListener,
    ServiceListener,
    SignInListener,
    SpoolListener,
    GateObserver,
    MirrorListener,
    HedgeListener,
    DenialListener,
    PeerTally
{
  /** Counts refusals by client; null without bans. */
  bans: BanWatch | null = null;
  private readonly to: ReportPorts;

  constructor(to: ReportPorts) {
    this.to = to;
  }

  // ── origins ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** An attempt at this origin has failed. docs/troubleshooting.md#debug-a-502 */
  onUpstreamFailed(upstream: string, reason: string, detail: FaultDetail, requestId: string): void {
    this.to.log.eventOf(`${upstream} ${reason}`, "upstream_failed", {
      upstream,
      reason,
      ...(detail === FaultDetail.None ? {} : { fault_detail: detailLabel(detail) }),
      ...(requestId === "" ? {} : { request_id: requestId }),
    });
  }

  /** A response of this origin was accepted although it departs from HTTP/1.1. docs/upstreams.md#old-origins */
  onLeniency(upstream: string, what: Leniency): void {
    const row = LENIENT_ROWS[what]!;
    this.to.counters.add(row);
    const { leniency } = row.labels;
    this.to.log.eventOf(`${upstream} ${leniency}`, "lenient_answer", { upstream, reason: leniency! });
  }

  /** What a script has written of errors. docs/php.md#errors */
  onScriptErrors(upstream: string, requestId: string, script: string, text: string): void {
    const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
    this.to.log.event("script_errors", { upstream, request_id: requestId, script: printable(script), text: line });
  }

  onMirrored(route: string, what: MirrorCount): void {
    this.to.counters.mirrored(route, what);
  }

  onHedge(route: string, what: HedgeCount): void {
    this.to.counters.hedged(route, what);
  }

  onMirrorDiffers({ route, upstream }: MirrorSettings, requestId: string, difference: MirrorDifference): void {
    this.to.log.eventOf(`${route} ${upstream}`, "mirror_difference", {
      route,
      upstream,
      request_id: requestId,
      status: difference.status,
      mirror_status: difference.mirrorStatus,
      same_body: difference.isBodySame,
    });
  }

  // ── the firewall ──────────────────────────────────────────────────────────────────────────────────────────────

  onInspected(): void {
    this.to.counters.add(COUNTERS.wafInspected);
  }

  onBudgetExhausted(): void {
    this.to.counters.add(COUNTERS.wafBudgetExhausted);
  }

  onIncident(incident: WafIncident, ex: Exchange): void {
    const { counters, log, names, ring, addresses } = this.to;
    const isBlocked = incident.action === "blocked";
    if (isBlocked) counters.wafBlocked(incident.category);
    else counters.wafDetected(incident.category);
    ring.record({ ...incident, clientIp: addresses.of(incident.clientIp) });
    log.event(isBlocked ? "waf_block" : "waf_detect", {
      request_id: names.idOf(ex),
      client_ip: incident.clientIp,
      method: incident.method,
      path: incident.path,
      category: incident.category,
      rule_id: incident.ruleId,
      ...(incident.crs === undefined ? {} : { crs: incident.crs }),
      anomaly_score: incident.anomalyScore,
      action: incident.action,
      location: incident.location,
      ...(incident.text === undefined ? {} : said(incident.text)),
      ...(incident.hiddenRules === undefined ? {} : { triggered_rules: incident.hiddenRules }),
    });
  }

  onOverLimit({ clientIp, method, path, maxBytes }: OverLimit, ex: Exchange): void {
    const { counters, log, names } = this.to;
    counters.wafBlocked("over_limit");
    log.event("waf_over_limit", {
      request_id: names.idOf(ex),
      client_ip: clientIp,
      method,
      path,
      key: "server.waf.over_limit",
      max_inspect_body_size: maxBytes,
    });
  }

  // ── routes and limits ─────────────────────────────────────────────────────────────────────────────────────────

  /** `path` is the raw target up to its query, as in `waf_block`. */
  onPathEscape(ex: Exchange): void {
    const { log, names } = this.to;
    if (!log.takes("prefix_guard_block")) return;
    const { request } = ex;
    log.write("prefix_guard_block", {
      request_id: names.idOf(ex),
      client_ip: ex.clientIp,
      method: request.methodText(),
      path: request.targetBeforeQuery(),
      action: "blocked",
      status: 403,
    });
  }

  onLimited(ex: Exchange, status: number, retryAfterSeconds: number): void {
    const { counters, log, names } = this.to;
    const route = ex.route!.label;
    counters.rateLimited(route);
    this.bans?.blocked(ex.clientIp);
    // The access line names it too.
    const requestId = names.idOf(ex);
    if (!log.takes("rate_limited")) return;
    const { request } = ex;
    log.write("rate_limited", {
      request_id: requestId,
      client_ip: ex.clientIp,
      method: request.methodText(),
      path: request.path(),
      route,
      status,
      retry_after: retryAfterSeconds,
    });
  }

  onSidecarDenied(ex: Exchange, denial: Denial): void {
    const { counters, log, names } = this.to;
    if (denial !== "") counters.add(DENIAL_ROWS[denial]);
    const requestId = names.idOf(ex);
    if (!log.takes("sidecar_denied")) return;
    log.write("sidecar_denied", {
      request_id: requestId,
      client_ip: ex.clientIp,
      identity: spiffeId(ex.client.identity),
      host: ex.request.authority(),
      method: ex.request.methodText(),
      path: ex.request.path(),
      reason: denial,
    });
  }

  onPeerEnded(peer: string, status: number, role: PeerRole): void {
    this.to.counters.peerEnded(peer, status, role);
  }

  onMaintenance(ex: Exchange): void {
    const { counters, log, names } = this.to;
    counters.add(COUNTERS.maintenance);
    const requestId = names.idOf(ex);
    if (!log.takes("maintenance_reject")) return;
    const { request } = ex;
    log.write("maintenance_reject", {
      request_id: requestId,
      client_ip: ex.clientIp,
      method: request.methodText(),
      path: request.path(),
      route: ex.route!.label,
      status: 503,
    });
  }

  onUnauthenticated(ex: Exchange, method: string, status: number, reason: string): void {
    const { counters, log, names } = this.to;
    counters.add(refusalRow(status));
    const requestId = names.idOf(ex);
    if (!log.takes("auth_refused")) return;
    const { request } = ex;
    log.write("auth_refused", {
      request_id: requestId,
      client_ip: ex.clientIp,
      method: request.methodText(),
      path: request.path(),
      route: ex.route!.label,
      auth: method,
      status,
      ...(reason === "" ? {} : { reason }),
    });
  }

  onFieldDropped(ex: Exchange, method: string, field: string): void {
    const { log, names } = this.to;
    if (!log.takes("auth_field_dropped")) return;
    log.write("auth_field_dropped", { request_id: names.idOf(ex), route: ex.route!.label, auth: method, field });
  }

  onAgentVerified(): void {
    this.to.counters.add(COUNTERS.agentsVerified);
  }

  onAgentRefused(ex: Exchange, reason: SignatureFault): void {
    const { counters, log, names } = this.to;
    counters.add(COUNTERS.agentsRefused);
    if (!log.takes("agent_signature_refused")) return;
    log.write("agent_signature_refused", { request_id: names.idOf(ex), client_ip: ex.clientIp, reason });
  }

  onBotChallenged(ex: Exchange, { reason, solution, isPage }: ChallengeCause): void {
    const { counters, log, names } = this.to;
    counters.add(isPage ? COUNTERS.botPages : COUNTERS.botJson);
    if (solution !== "none") counters.add(SOLUTION_ROWS[solution]);
    const requestId = names.idOf(ex);
    if (!log.takes("bot_challenge")) return;
    const { request } = ex;
    log.write("bot_challenge", {
      request_id: requestId,
      client_ip: ex.clientIp,
      method: request.methodText(),
      path: request.path(),
      route: ex.route!.label,
      reason,
      solution,
      form: isPage ? "page" : "json",
      user_agent: request.headers.valueOf(HeaderId.UserAgent),
      status: 403,
    });
  }

  onImpostor(ex: Exchange, action: "off" | keyof typeof IMPOSTOR_ROWS, ja4: string): void {
    if (action === "off") return;
    const { counters, log, names } = this.to;
    counters.add(IMPOSTOR_ROWS[action]);
    const requestId = names.idOf(ex);
    if (!log.takes("bot_impostor")) return;
    const { request } = ex;
    log.write("bot_impostor", {
      request_id: requestId,
      client_ip: ex.clientIp,
      method: request.methodText(),
      path: request.path(),
      route: ex.route!.label,
      action,
      ja4,
      user_agent: request.headers.valueOf(HeaderId.UserAgent),
    });
  }

  onBotSolved(ex: Exchange): void {
    const { counters, log, names } = this.to;
    counters.add(COUNTERS.botSolved);
    const requestId = names.idOf(ex);
    log.event("bot_solved", { request_id: requestId, client_ip: ex.clientIp, route: ex.route!.label });
  }

  /** An address that named itself a crawler was looked up. */
  onCrawler(isVerified: boolean): void {
    this.to.counters.add(isVerified ? COUNTERS.crawlersVerified : COUNTERS.crawlersRefused);
  }

  onSignInFailed(fields: FieldsOfEvent<"sign_in_failed"> & { readonly step: OidcStep }): void {
    this.to.counters.add(SIGN_IN_ROWS[fields.step]);
    this.to.log.event("sign_in_failed", fields);
  }

  onSessionCut(fields: FieldsOfEvent<"session_cut">): void {
    this.to.log.event("session_cut", fields);
  }

  onServiceFailed(service: string, reason: string): void {
    this.to.log.eventOf(service, "auth_service_failed", { service, reason });
  }

  /** Why a large body could not be kept in a file: the client's 503 does not tell. */
  onSpoolFailed(reason: string): void {
    this.to.log.event("spool_failed", { folder: spoolFolder(), reason });
  }

  // ── connections ───────────────────────────────────────────────────────────────────────────────────────────────

  onPaused(isShortOfDescriptors: boolean): void {
    const { counters } = this.to;
    counters.add(isShortOfDescriptors ? COUNTERS.acceptPausedDescriptors : COUNTERS.acceptPausedFull);
    if (isShortOfDescriptors) this.tooMany(LimitKind.Descriptors, { key: "RLIMIT_NOFILE" });
    else this.tooMany(LimitKind.Connections, { key: "server.max_connections" });
  }

  onIdleClosed(): void {
    this.to.counters.add(COUNTERS.idleClosed);
  }

  onBanned(): void {
    this.to.counters.add(COUNTERS.bannedConnections);
  }

  onTooMany(address: string): void {
    this.to.counters.refused(Fault.TooManyConnections);
    this.tooMany(LimitKind.Address, { key: "server.max_connections_per_ip", client_ip: address });
  }

  onBeyond(count: number): void {
    for (let i = 0; i < count; i++) this.to.counters.refused(Fault.TooManyConnections);
    this.tooMany(LimitKind.Connections, { key: "server.max_connections" });
  }

  /** A line a minute for each reason, all workers together. docs/security.md#resources-of-one-client */
  private tooMany(kind: LimitKind, fields: Pick<FieldsOfEvent<"connection_limit">, "key" | "client_ip">): void {
    const { connections, log, clock } = this.to;
    if (!connections.takesLine(kind, clock.nowMs)) return;
    log.event("connection_limit", { reason: LIMIT_REASONS[kind]!, ...fields, open: connections.total() });
  }
}

const IMPOSTOR_ROWS = {
  detection: COUNTERS.impostorsSeen,
  challenge: COUNTERS.impostorsAsked,
  block: COUNTERS.impostorsBlocked,
} as const;

const DENIAL_ROWS: Readonly<Record<Exclude<Denial, "">, CounterRow>> = {
  allowed_ids: COUNTERS.sidecarDeniedId,
  authorization: COUNTERS.sidecarDeniedRule,
  outbound: COUNTERS.sidecarDeniedOutbound,
};

const SIGN_IN_ROWS: Readonly<Record<OidcStep, CounterRow>> = {
  login: COUNTERS.signInLogin,
  callback: COUNTERS.signInCallback,
  renewal: COUNTERS.signInRenewal,
  logout: COUNTERS.signInLogout,
};

function refusalRow(status: number): CounterRow {
  if (status >= 300 && status < 400) return COUNTERS.authRedirected;
  if (status === 401) return COUNTERS.authRefused;
  if (status === 429) return COUNTERS.authGuessed;
  return status >= 500 ? COUNTERS.authUnavailable : COUNTERS.authForbidden;
}

const SOLUTION_ROWS: Readonly<Record<Exclude<ChallengeCause["solution"], "none">, CounterRow>> = {
  malformed: COUNTERS.botMalformed,
  expired: COUNTERS.botExpired,
  weak: COUNTERS.botWeak,
  forged: COUNTERS.botForged,
  unsolved: COUNTERS.botUnsolved,
};

/** By LimitKind. */
const LIMIT_REASONS: readonly string[] = ["too_many_connections", "too_many_of_one_address", "out_of_descriptors"];

/** What a rule says of itself, without what it does not say. */
function said({ msg, data, severity, tags }: IncidentRule) {
  const fields = {
    ...(msg === "" ? {} : { msg }),
    ...(data === "" ? {} : { data }),
    ...(severity === "" ? {} : { severity }),
  };
  return tags.length === 0 ? fields : { ...fields, tags };
}

/** In the order of Leniency. */
const LENIENT_ROWS: readonly CounterRow[] = [
  COUNTERS.lenientBareLf,
  COUNTERS.lenientFolding,
  COUNTERS.lenientLength,
  COUNTERS.lenientBody,
  COUNTERS.lenientCoding,
];
