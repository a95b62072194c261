import type { Exchange, Handler } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { AccessGuard } from "./access-guard.ts";
import { ActionHandler } from "./action-handler.ts";
import { ControlHandler, type ControlPort } from "./control-handler.ts";
import type { HealthHandler } from "./health-handler.ts";
import { type ProbePorts, ProxyTestHandler } from "./proxy-test-handler.ts";
import { type Purge, type PurgeAudit, PurgeHandler } from "./purge-handler.ts";
import type { StatusHandler } from "./status-handler.ts";

/** Where a built-in endpoint is: an exact path. */
export interface BuiltInPlace {
  readonly path: string;
  /** HEAD goes with GET. */
  readonly methods: readonly string[];
  /** Whether it is guarded, and moves to the listener of `internal_api.listen` where there is one. */
  readonly internal: boolean;
}

/** A built-in endpoint with what answers there. */
export interface BuiltInEndpoint extends BuiltInPlace {
  readonly handler: Handler;
}

/** The built-in endpoints of a worker. docs/endpoints.md */
export function builtInEndpoints(parts: EndpointParts): readonly BuiltInEndpoint[] {
  return ENDPOINTS.map(({ make, ...place }) => ({ ...place, handler: make(parts) }));
}

/** What the endpoints are made of. */
export interface EndpointParts {
  readonly health: HealthHandler;
  readonly status: StatusHandler;
  readonly guard: AccessGuard;
  readonly control: ControlPort;
  readonly probes: ProbePorts;
  /** Null where the cache is off. */
  readonly purge: Purge | null;
  readonly onPurged: PurgeAudit;
  readonly dashboard: DashboardParts;
}

/** What answers for the dashboard, guarded already. */
export interface DashboardParts {
  readonly page: Handler;
  readonly stream: Handler;
}

interface EndpointRow extends BuiltInPlace {
  readonly make: (parts: EndpointParts) => Handler;
}

/** The control thread answers the question. */
function asked(path: string, question: string): EndpointRow {
  return {
    path,
    methods: READ,
    internal: true,
    make: ({ guard, control }) => new ControlHandler(question, guard, control),
  };
}

/** The control thread does what an operator asks for. */
function action(path: string, name: string): EndpointRow {
  return {
    path,
    methods: WRITE,
    internal: true,
    make: ({ guard, control }) => new ActionHandler(name, guard, control),
  };
}

/** Scrapers that read OpenMetrics say so. docs/tracing.md#exemplars */
function wantedFormat({ request: { headers } }: Exchange): string {
  return headers.valueOf(HeaderId.Accept).toLowerCase().includes("application/openmetrics-text") ? "openmetrics" : "";
}

const READ: readonly string[] = ["GET"];
const WRITE: readonly string[] = ["POST"];

/** What each takes and gives is in ENDPOINT_DOCS. docs/endpoints.md#built-in-endpoints */
const ENDPOINTS: readonly EndpointRow[] = [
  { path: "/health", methods: READ, internal: false, make: ({ health }) => health },
  { path: "/api/status", methods: READ, internal: false, make: ({ status }) => status },
  { path: "/internal/", methods: READ, internal: true, make: ({ dashboard }) => dashboard.page },
  { path: "/internal/api/stream", methods: READ, internal: true, make: ({ dashboard }) => dashboard.stream },
  asked("/internal/api/config", "config"),
  asked("/internal/api/openapi.json", "openapi"),
  {
    path: "/metrics",
    methods: READ,
    internal: true,
    make: ({ guard, control }) => new ControlHandler("exposition", guard, control, wantedFormat),
  },
  asked("/internal/api/status", "status"),
  asked("/internal/api/metrics", "metrics"),
  asked("/internal/api/routes", "routes"),
  asked("/internal/api/nodes", "nodes"),
  asked("/internal/api/security/incidents", "incidents"),
  asked("/internal/api/upstreams/health", "upstreams"),
  {
    path: "/internal/api/proxy-test",
    methods: WRITE,
    internal: true,
    make: ({ guard, probes }) => new ProxyTestHandler(guard, probes),
  },
  {
    path: "/internal/api/cache/purge",
    methods: WRITE,
    internal: true,
    make: ({ guard, purge, onPurged }) => new PurgeHandler(guard, purge, onPurged),
  },
  action("/internal/api/upstreams/drain", "drain"),
  action("/internal/api/upstreams/undrain", "undrain"),
  action("/internal/api/maintenance", "maintenance"),
  action("/internal/api/reload", "reload"),
  action("/internal/api/log-level", "log-level"),
];

/** Where the built-in endpoints are. */
export const BUILT_IN_PLACES: readonly BuiltInPlace[] = ENDPOINTS;
