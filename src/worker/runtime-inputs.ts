import type { ShownAddresses } from "../core/address-mask.ts";
import type { GatewayLog } from "../facts/events.ts";
import type { ChallengeAnswers } from "../features/acme/http01-phase.ts";
import type { ControlPort } from "../features/admin/control-handler.ts";
import type { HealthHandler } from "../features/admin/health-handler.ts";
import type { PurgeAudit } from "../features/admin/purge-handler.ts";
import type { BanJudge } from "../features/bans/ban-phase.ts";
import type { ReverseNames } from "../features/bots/crawler-check.ts";
import type { InvalidationNote } from "../features/cache/cache-tap.ts";
import type { CacheStore } from "../features/cache/store/cache-store.ts";
import type { Watchers } from "../features/dashboard/watchers.ts";
import type { RequestIds } from "../features/forward/forward-head.ts";
import type { AccessLines } from "../features/telemetry/access-outputs.ts";
import type { CountersTap } from "../features/telemetry/counters-tap.ts";
import type { LogBatch } from "../features/telemetry/log-batch.ts";
import type { LogThreshold } from "../features/telemetry/log-level.ts";
import type { TranscodePorts } from "../features/transcode/transcode-services.ts";
import type { BodyBudget } from "../memory/body-budget.ts";
import type { WorkerCounters } from "../memory/counter-table.ts";
import type { SpanWriter } from "../memory/span-ring.ts";
import type { RouteInit } from "../message/exchange.ts";
import type { PressurePorts } from "../routes/pressure-ports.ts";
import type { RouteTypePorts } from "../routes/route-type.ts";
import type { ClientPolicyPorts } from "./client-policy.ts";
import type { ConfiguredNodes } from "./node-set.ts";
import type { SidecarIdentity } from "./sidecar-identity.ts";
import type { TrafficReports } from "./traffic-reports.ts";
import type { WorkerServices } from "./worker-services.ts";

/** What a runtime is wired from, beside the configuration. */
export interface RuntimePorts {
  readonly services: WorkerServices;
  readonly counters: CountersTap;
  /** Takes the access lines. */
  readonly log: LogBatch;
  /** Lines of the access log, if they have outputs of their own. */
  readonly accessLines: AccessLines;
  /** How logs, traces and pages of operators show addresses. */
  readonly addresses: ShownAddresses;
  readonly events: GatewayLog;
  readonly reports: TrafficReports;
  readonly control: ControlPort;
  /** The level of the log. */
  readonly threshold: LogThreshold;
  readonly onPurged: PurgeAudit;
  /** Is told of what requests that change a resource have taken out of the cache. */
  readonly onInvalidated: InvalidationNote;
  readonly bans: BanJudge;
  readonly health: HealthHandler;
  /** The open streams of the dashboard. */
  readonly watchers: Watchers;
  readonly requestIds: RequestIds;
  readonly challenges: ChallengeAnswers;
  /** Counts the responses of upstreams that are no nodes. */
  readonly tally: TranscodePorts["tally"];
  /** The store of the response cache; null if it is off. */
  readonly cacheStore: CacheStore | null;
  /** What a sidecar shows to upstreams. */
  readonly sidecar: SidecarIdentity;
  readonly nodes: ConfiguredNodes;
  /** Loads what asks functions; null if they are not asked. */
  readonly functions: RouteTypePorts["functions"];
  /** What sticky cookies and passes are made with where the configuration has no secret. */
  readonly cookieKey: string;
  /** Whom to ask for the names of addresses. */
  readonly reverse: ReverseNames;
  /** The worker's own; it outlives configurations. */
  readonly budget: BodyBudget;
  readonly client: ClientPolicyPorts;
  /** The parts of docs/pressure.md. */
  readonly under: PressurePorts;
  /** Where spans go; null if no configuration has asked for them. */
  readonly spans: SpanWriter | null;
  readonly counterTable: WorkerCounters;
  /** Open connections by stream, of all workers. */
  readonly open: SharedArrayBuffer;
  /** The worker's number. */
  readonly worker: number;
  /** How many there are. */
  readonly workers: number;
  /** Endpoints beyond the built-in ones, for tests alone. */
  readonly extraRoutes: readonly RouteInit[];
}

/** What the way of the public listeners is made of, beside configuration and routes. */
export type WayPorts = Pick<
  RuntimePorts,
  | "services"
  | "counters"
  | "log"
  | "accessLines"
  | "addresses"
  | "control"
  | "onPurged"
  | "onInvalidated"
  | "bans"
  | "threshold"
  | "reports"
  | "requestIds"
  | "challenges"
  | "cacheStore"
  | "budget"
  | "client"
  | "under"
  | "cookieKey"
  | "reverse"
  | "functions"
  | "spans"
>;
