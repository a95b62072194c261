import type { Handler } from "../../message/pipeline.ts";
import type { AccessGuard } from "./access-guard.ts";
import { ControlHandler, type ControlPort } from "./control-handler.ts";
import type { HealthHandler } from "./health-handler.ts";
import { type ProbePorts, ProxyTestHandler } from "./proxy-test-handler.ts";
import { type Purge, PurgeHandler } from "./purge-handler.ts";
import type { StatusHandler } from "./status-handler.ts";

/** A built-in endpoint: an exact path. */
export interface BuiltInEndpoint {
  readonly path: string;
  /** HEAD goes with GET. */
  readonly methods: readonly string[];
  /** Whether it is guarded, and moves to the listener of `internal_api.listen` where there is one. */
  readonly internal: boolean;
  readonly handler: Handler;
}

/** The built-in endpoints of a worker. docs/endpoints.md */
export function builtInEndpoints(
  health: HealthHandler,
  status: StatusHandler,
  guard: AccessGuard,
  port: ControlPort,
  probes: ProbePorts,
  purge: Purge | null,
): readonly BuiltInEndpoint[] {
  const internal = (path: string, what: string): BuiltInEndpoint => ({
    path,
    methods: READ,
    internal: true,
    handler: new ControlHandler(what, guard, port),
  });
  return [
    { path: "/health", methods: READ, internal: false, handler: health },
    { path: "/api/status", methods: READ, internal: false, handler: status },
    internal("/metrics", "exposition"),
    internal("/internal/api/status", "status"),
    internal("/internal/api/metrics", "metrics"),
    internal("/internal/api/routes", "routes"),
    internal("/internal/api/security/incidents", "incidents"),
    internal("/internal/api/upstreams/health", "upstreams"),
    {
      path: "/internal/api/proxy-test",
      methods: ["POST"],
      internal: true,
      handler: new ProxyTestHandler(guard, probes),
    },
    {
      path: "/internal/api/cache/purge",
      methods: ["POST"],
      internal: true,
      handler: new PurgeHandler(guard, purge),
    },
  ];
}

const READ: readonly string[] = ["GET"];
