import type { Exchange, Handler } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { AccessGuard } from "./access-guard.ts";
import { ActionHandler } from "./action-handler.ts";
import { ControlHandler, type ControlPort } from "./control-handler.ts";
import type { Answerer } from "./control-rpc.ts";
import {
  among,
  BAN,
  COUNT,
  call,
  type EndpointSchema,
  FLAG,
  HEALTH,
  INCIDENT,
  LEVEL,
  listOf,
  object,
  openObject,
  PROBE,
  RELOAD,
  ROUTE_CHANGE,
  ROUTE_SCHEMA,
  ROUTES_BY_SOURCE,
  STATUS_SCHEMA,
  TEXT_SCHEMA,
  TIME,
  TRAFFIC,
} from "./endpoint-schemas.ts";
import type { HealthHandler } from "./health-handler.ts";
import { type ProbePorts, ProxyTestHandler } from "./proxy-test-handler.ts";
import { type Purge, type PurgeAudit, PurgeHandler } from "./purge-handler.ts";
import { RouteCallHandler } from "./route-call-handler.ts";
import type { StatusHandler } from "./status-handler.ts";

/** The place of a built-in endpoint: an exact path, or the paths below one, with a name in braces. */
interface BuiltInPlace {
  readonly path: string;
  /** HEAD goes with GET. */
  readonly methods: readonly string[];
  /** Whether it is guarded, and moves to the listener of `internal_api.listen` if there is one. */
  readonly internal: boolean;
}

/** What an endpoint takes and gives: the OpenAPI document and the table of docs/endpoints.md are made of it. */
export interface EndpointDoc {
  readonly summary: string;
  /** The response, as docs/endpoints.md shows it. */
  readonly shown: string;
  /** The page of docs/ that says more, with its heading. */
  readonly page: string;
  /** What a query may say. */
  readonly query?: Readonly<Record<string, EndpointSchema>>;
  /** The JSON of the body; none takes no body. */
  readonly request?: EndpointSchema;
  /** Whether the body may be left out. */
  readonly isBodyOptional?: boolean;
  /** What the response with 200 is: JSON of a schema, or another media type. */
  readonly response: EndpointSchema | string;
  /** Further statuses whose body is JSON of another schema than that of an error. */
  readonly others?: Readonly<Record<string, EndpointSchema>>;
  /** Statuses of refusals, beside those of who may come. */
  readonly refusals: readonly number[];
}

/** A built-in endpoint with what answers there. */
export interface BuiltInEndpoint extends BuiltInPlace {
  readonly handler: Handler;
}

/** The built-in endpoints of a worker. docs/endpoints.md */
export function builtInEndpoints(parts: EndpointPorts): readonly BuiltInEndpoint[] {
  return ENDPOINTS.map(({ path, methods, internal, make }) => ({ path, methods, internal, handler: make(parts) }));
}

/** What the endpoints are made of. */
interface EndpointPorts {
  readonly health: HealthHandler;
  readonly status: StatusHandler;
  readonly guard: AccessGuard;
  readonly control: ControlPort;
  readonly probes: ProbePorts;
  /** Null if the cache is off. */
  readonly purge: Purge | null;
  readonly onPurged: PurgeAudit;
  readonly dashboard: DashboardEndpointPorts;
}

/** What answers for the dashboard, guarded already. */
interface DashboardEndpointPorts {
  readonly page: Handler;
  readonly stream: Handler;
}

/** All of an endpoint: who may come, what answers, what it takes and gives. */
export interface EndpointRow<Question extends string | null = string | null> extends BuiltInPlace {
  /** What the control thread is asked; null if it is not. */
  readonly question: Question;
  readonly make: (parts: EndpointPorts) => Handler;
  readonly doc: EndpointDoc;
}

type Make = EndpointRow["make"];

const READ: readonly string[] = ["GET"];
const WRITE: readonly string[] = ["POST"];

/** A worker answers every client. */
function open(path: string, doc: EndpointDoc, make: Make): EndpointRow<null> {
  return { path, methods: READ, internal: false, question: null, make, doc };
}

/** A worker answers those whom the guard lets in. */
function guarded(path: string, doc: EndpointDoc, make: Make): EndpointRow<null> {
  return { path, methods: READ, internal: true, question: null, make, doc };
}

/** A worker does what an operator asks for. */
function changing(path: string, doc: EndpointDoc, make: Make): EndpointRow<null> {
  return { path, methods: WRITE, internal: true, question: null, make, doc };
}

/** The control thread answers the question. @param bodyOf what goes with it; the query without it */
function asked<const Question extends string>(
  path: string,
  question: Question,
  doc: EndpointDoc,
  bodyOf?: (ex: Exchange) => string,
): EndpointRow<Question> {
  const make: Make = ({ guard, control }) => new ControlHandler(question, guard, control, bodyOf);
  return { path, methods: READ, internal: true, question, make, doc };
}

/** The same for a response that says whether the caller may act: the question's body is `operator` if so. */
function askedByOperators<const Question extends string>(
  path: string,
  question: Question,
  doc: EndpointDoc,
): EndpointRow<Question> {
  const make: Make = ({ guard, control }) =>
    new ControlHandler(question, guard, control, (ex) => (guard.mayAct(ex) ? "operator" : ""));
  return { path, methods: READ, internal: true, question, make, doc };
}

/** The control thread does what an operator asks for. */
function action<const Question extends string>(
  path: string,
  question: Question,
  doc: EndpointDoc,
): EndpointRow<Question> {
  const make: Make = ({ guard, control }) => new ActionHandler(question, guard, control);
  return { path, methods: WRITE, internal: true, question, make, doc };
}

/** The control thread changes a route of its own for an operator. */
function routeCall(path: string, methods: readonly string[], doc: EndpointDoc): EndpointRow<"config-route"> {
  const make: Make = ({ guard, control }) => new RouteCallHandler(path, guard, control);
  return { path, methods, internal: true, question: "config-route", make, doc };
}

/** Scrapers that read OpenMetrics say so. docs/tracing.md#exemplars */
function wantedFormat({ request: { headers } }: Exchange): string {
  return headers.valueOf(HeaderId.Accept).toLowerCase().includes("application/openmetrics-text") ? "openmetrics" : "";
}

const DRAINED: Omit<EndpointDoc, "summary" | "shown"> = {
  page: "endpoints.md#actions",
  request: call({ target: TEXT_SCHEMA }),
  response: object(
    { target: TEXT_SCHEMA, drained: listOf(TEXT_SCHEMA) },
    { targets: listOf(TEXT_SCHEMA), without_target: listOf(TEXT_SCHEMA) },
  ),
  refusals: [400, 404, 413, 415, 503],
};

const CANARIES = object({
  canaries: listOf(
    object({
      route: TEXT_SCHEMA,
      targets: listOf(TEXT_SCHEMA),
      state: among("running", "promoted", "aborted"),
      share: { type: "number" },
      steps: listOf({ type: "number" }),
      next_ms: { type: ["integer", "null"] },
      requests: COUNT,
      errors: COUNT,
      old_requests: COUNT,
      old_errors: COUNT,
      p99_ms: { type: ["number", "null"] },
      old_p99_ms: { type: ["number", "null"] },
      errors_evidence: { type: "number" },
      latency_evidence: { type: "number" },
      reason: among("", "errors", "latency", "few_requests", "evidence", "operator"),
    }),
  ),
});

/** One row an endpoint, in the order of docs/endpoints.md#built-in-endpoints. */
export const ENDPOINTS = [
  open(
    "/health",
    {
      summary: "Whether the process serves. 503 while it is ending.",
      shown: "[health](#health)",
      page: "endpoints.md#health",
      response: object({ status: among("ok") }),
      others: { 503: object({ status: among("draining") }) },
      refusals: [],
    },
    ({ health }) => health,
  ),
  open(
    "/api/status",
    {
      summary: "What serves, and for how long.",
      shown: "`server`, `version`, `uptime`, `engine`, all texts",
      page: "endpoints.md#built-in-endpoints",
      response: object({ server: TEXT_SCHEMA, version: TEXT_SCHEMA, uptime: TEXT_SCHEMA, engine: TEXT_SCHEMA }),
      refusals: [],
    },
    ({ status }) => status,
  ),
  guarded(
    "/internal/",
    {
      summary: "The dashboard, a page for browsers.",
      shown: "[the dashboard](dashboard.md)",
      page: "dashboard.md#dashboard",
      response: "text/html",
      refusals: [],
    },
    ({ dashboard }) => dashboard.page,
  ),
  guarded(
    "/internal/api/stream",
    {
      summary: "Live numbers: one event a second.",
      shown: "[live events](dashboard.md#the-stream)",
      page: "dashboard.md#the-stream",
      response: "text/event-stream",
      refusals: [503],
    },
    ({ dashboard }) => dashboard.stream,
  ),
  asked("/internal/api/config", "config", {
    summary: "The configuration in use as YAML, secrets masked.",
    shown: "[the configuration in use](dashboard.md#the-stream)",
    page: "dashboard.md#the-stream",
    response: "application/yaml",
    refusals: [503],
  }),
  asked("/internal/api/openapi.json", "openapi", {
    summary: "This document.",
    shown: "[all of these, as OpenAPI](#openapi)",
    page: "endpoints.md#openapi",
    response: openObject({ openapi: TEXT_SCHEMA, info: openObject({}), paths: openObject({}) }),
    refusals: [503],
  }),
  asked(
    "/metrics",
    "exposition",
    {
      summary: "All metrics, in the text format of Prometheus or OpenMetrics.",
      shown: "[metrics](#metrics)",
      page: "endpoints.md#metrics",
      response: "text/plain",
      refusals: [503],
    },
    wantedFormat,
  ),
  asked("/internal/api/status", "status", {
    summary: "The process, its counters, and its features.",
    shown: "[status](#status)",
    page: "endpoints.md#status",
    response: STATUS_SCHEMA,
    refusals: [503],
  }),
  asked("/internal/api/metrics", "metrics", {
    summary: "Counts of the traffic since the start.",
    shown: "[traffic](#traffic)",
    page: "endpoints.md#traffic",
    response: TRAFFIC,
    refusals: [503],
  }),
  asked("/internal/api/routes", "routes", {
    summary: "Every active route with the values in force.",
    shown: "[routes](#routes)",
    page: "endpoints.md#routes",
    response: object({ total: COUNT, routes: listOf(ROUTE_SCHEMA) }),
    refusals: [503],
  }),
  askedByOperators("/internal/api/config/routes", "config-routes", {
    summary: "Every route with its source, and the routes that do not serve.",
    shown: "[routes by source](providers.md#api)",
    page: "providers.md#api",
    response: ROUTES_BY_SOURCE,
    refusals: [503],
  }),
  routeCall("/internal/api/config/routes/{name}", ["GET", "PUT", "DELETE"], {
    summary: "One route of the API: shows, puts or removes it.",
    shown: "[a route of the API](providers.md#api)",
    page: "providers.md#api",
    query: { dry_run: among("0", "1") },
    request: openObject({}),
    isBodyOptional: true,
    response: ROUTE_CHANGE,
    others: { 422: ROUTE_CHANGE },
    refusals: [400, 404, 409, 412, 413, 415, 503],
  }),
  routeCall("/internal/api/config/routes/{name}/weights", ["PATCH"], {
    summary: "Changes the weights of a route's targets, by their URLs.",
    shown: "[weights of its targets](providers.md#blue-and-green)",
    page: "providers.md#blue-and-green",
    query: { dry_run: among("0", "1") },
    request: { type: "object", additionalProperties: COUNT },
    response: ROUTE_CHANGE,
    others: { 422: ROUTE_CHANGE },
    refusals: [400, 404, 409, 412, 413, 415, 503],
  }),
  asked("/internal/api/canaries", "canaries", {
    summary: "The rollouts of new versions, with the numbers of both.",
    shown: "[canaries](#canaries)",
    page: "endpoints.md#canaries",
    response: CANARIES,
    refusals: [503],
  }),
  action("/internal/api/canary", "canary", {
    summary: "Ends a rollout: the new version gets all requests, or none.",
    shown: "[a canary promoted or aborted](#actions)",
    page: "endpoints.md#canaries",
    request: call({ route: TEXT_SCHEMA, action: among("promote", "abort") }),
    response: CANARIES,
    refusals: [400, 404, 413, 415, 503],
  }),
  asked("/internal/api/nodes", "nodes", {
    summary: "The gateways of the fleet.",
    shown: "[nodes](#nodes)",
    page: "endpoints.md#nodes",
    response: object({
      total: COUNT,
      nodes: listOf(
        object({
          id: TEXT_SCHEMA,
          name: TEXT_SCHEMA,
          version: TEXT_SCHEMA,
          generation: COUNT,
          state: among("serving", "draining"),
          config: TEXT_SCHEMA,
          trial: among("", "canary", "waiting"),
          pid: COUNT,
          started_at: TIME,
          seen_at: TIME,
          own: FLAG,
        }),
      ),
    }),
    refusals: [404, 503],
  }),
  asked("/internal/api/bans", "bans", {
    summary: "Banned clients and networks, the newest first, and the feeds.",
    shown: "[bans](bans.md#by-hand)",
    page: "bans.md#by-hand",
    response: object({
      total: COUNT,
      bans: listOf(BAN),
      feeds: listOf(
        object({
          feed: TEXT_SCHEMA,
          networks: COUNT,
          skipped: COUNT,
          taken_at: { type: ["string", "null"] },
          error: { type: ["string", "null"] },
        }),
      ),
    }),
    refusals: [404, 503],
  }),
  asked("/internal/api/security/incidents", "incidents", {
    summary: "Finds of the firewall and the guards, the newest first.",
    shown: "[incidents](#incidents)",
    page: "endpoints.md#incidents",
    query: {
      limit: { type: "integer", minimum: 1, maximum: 1000, default: 100 },
      since: { type: "string", description: "ISO 8601, or milliseconds since 1970" },
    },
    response: object({ total_incidents: COUNT, incidents: listOf(INCIDENT) }),
    refusals: [400, 503],
  }),
  asked("/internal/api/upstreams/health", "upstreams", {
    summary: "Asks every target once and says how it is.",
    shown: "[upstreams](#upstreams)",
    page: "endpoints.md#upstreams",
    response: HEALTH,
    refusals: [503],
  }),
  changing(
    "/internal/api/proxy-test",
    {
      summary: "Sends a request through the gateway itself and returns the result.",
      shown: "[a probe](#proxy-test)",
      page: "endpoints.md#proxy-test",
      request: openObject(
        { path: TEXT_SCHEMA },
        { method: among("GET", "HEAD", "POST"), headers: { type: "object", additionalProperties: TEXT_SCHEMA } },
      ),
      response: PROBE,
      refusals: [400],
    },
    ({ guard, probes }) => new ProxyTestHandler(guard, probes),
  ),
  changing(
    "/internal/api/cache/purge",
    {
      summary: "Takes responses out of the cache.",
      shown: "[a purge](cache.md#purge)",
      page: "cache.md#purge",
      request: {
        ...call(
          {},
          {
            url: TEXT_SCHEMA,
            prefix: TEXT_SCHEMA,
            tag: TEXT_SCHEMA,
            tags: { ...listOf(TEXT_SCHEMA), minItems: 1 },
            all: { const: true },
            soft: FLAG,
          },
        ),
        minProperties: 1,
      },
      response: object({ purged: COUNT }),
      refusals: [400, 404, 413],
    },
    ({ guard, purge, onPurged }) => new PurgeHandler(guard, purge, onPurged),
  ),
  action("/internal/api/explain", "explain", {
    summary: "Says how the gateway would treat a request, by the routes of all sources.",
    shown: "[what would become of a request](explain.md#a-running-gateway)",
    page: "explain.md#a-running-gateway",
    request: call(
      { request: TEXT_SCHEMA },
      {
        headers: listOf(TEXT_SCHEMA),
        body: TEXT_SCHEMA,
        client_ip: TEXT_SCHEMA,
        http: { type: "integer", minimum: 1, maximum: 3 },
        listener: TEXT_SCHEMA,
      },
    ),
    response: object({
      explanation: openObject({ response: { type: "object" } }),
      sources: { type: "object", additionalProperties: COUNT },
    }),
    refusals: [400, 413, 415, 503],
  }),
  action("/internal/api/upstreams/drain", "drain", {
    summary: "Takes a target out of service.",
    shown: "[a target out of service](#actions)",
    ...DRAINED,
  }),
  action("/internal/api/upstreams/undrain", "undrain", {
    summary: "Takes a target back into service.",
    shown: "[and back into it](#actions)",
    ...DRAINED,
  }),
  action("/internal/api/bans/add", "ban", {
    summary: "Bans an address or a network for a while.",
    shown: "[a ban](bans.md#by-hand)",
    page: "bans.md#by-hand",
    request: call({ address: TEXT_SCHEMA }, { for: TEXT_SCHEMA }),
    response: BAN,
    refusals: [400, 404, 409, 413, 415, 503],
  }),
  action("/internal/api/bans/rm", "ban-lift", {
    summary: "Lifts a ban.",
    shown: "[a lifted ban](bans.md#by-hand)",
    page: "bans.md#by-hand",
    request: call({ address: TEXT_SCHEMA }),
    response: object({ address: TEXT_SCHEMA }),
    refusals: [400, 404, 413, 415, 503],
  }),
  action("/internal/api/maintenance", "maintenance", {
    summary: "Switches maintenance of all routes, or of one, on or off.",
    shown: "[maintenance on and off](#actions)",
    page: "endpoints.md#actions",
    request: call({ on: FLAG }, { route: { type: ["string", "null"] } }),
    response: object({ on: FLAG, route: { type: ["string", "null"] }, generation: COUNT, routes: listOf(TEXT_SCHEMA) }),
    refusals: [400, 404, 413, 415, 500, 503],
  }),
  action("/internal/api/reload", "reload", {
    summary: "Reads the configuration again, or shows what that would change.",
    shown: "[a reload](#actions)",
    page: "endpoints.md#actions",
    request: call({}, { dry_run: FLAG }),
    isBodyOptional: true,
    response: RELOAD,
    others: { 422: RELOAD },
    refusals: [400, 409, 413, 415, 503],
  }),
  action("/internal/api/rollback", "rollback", {
    summary: "Goes back to a configuration that served before.",
    shown: "[an earlier configuration](#actions)",
    page: "endpoints.md#actions",
    request: call({}, { steps: COUNT }),
    isBodyOptional: true,
    response: RELOAD,
    others: { 422: RELOAD },
    refusals: [400, 404, 409, 413, 415, 503],
  }),
  action("/internal/api/log-level", "log-level", {
    summary: "Changes how much is logged.",
    shown: "[how much is logged](#actions)",
    page: "endpoints.md#actions",
    request: call({ level: LEVEL }),
    response: object({ level: LEVEL, before: LEVEL }),
    refusals: [400, 413, 415, 503],
  }),
] as const;

/** What the control thread may be asked by an endpoint. */
type EndpointQuestion = Exclude<(typeof ENDPOINTS)[number]["question"], null>;

/** Who answers in the control thread: a question without its answerer does not compile. */
export type EndpointResponses = Readonly<Record<EndpointQuestion, Answerer>>;

/** Where the built-in endpoints are. */
export const BUILT_IN_PLACES: readonly BuiltInPlace[] = ENDPOINTS;
