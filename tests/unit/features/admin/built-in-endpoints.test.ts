import { expect, test } from "bun:test";
import { AccessGuard } from "../../../../src/features/admin/access-guard.ts";
import { builtInEndpoints } from "../../../../src/features/admin/built-in-endpoints.ts";
import { HealthHandler } from "../../../../src/features/admin/health-handler.ts";
import { StatusHandler } from "../../../../src/features/admin/status-handler.ts";
import { DashboardHandler } from "../../../../src/features/dashboard/dashboard-handler.ts";
import { StreamHandler, Watchers } from "../../../../src/features/dashboard/watchers.ts";
import { IDLE_PORTS } from "../../../../src/message/idle-ports.ts";
import { configOf } from "../../loading/any-config.ts";
import { fakeExchange } from "../telemetry/exchange-fake.ts";

test("every endpoint has a path of its own, and those that are internal ask their question behind the guard", () => {
  const asked: string[] = [];
  const port = { ask: (what: string) => asked.push(what) };
  const guard = new AccessGuard(configOf("").internalApi);
  const probes = { idle: IDLE_PORTS, maxResponseBytes: 0, isProbed: () => false, pipeline: () => IDLE_PORTS.pipeline };
  const status = new StatusHandler({ nowMs: 0 });
  const parts = { health: new HealthHandler(), status, guard, control: port, probes };
  const dashboard = {
    page: new DashboardHandler(guard),
    stream: new StreamHandler(guard, () => port.ask("watch"), new Watchers(() => {})),
  };
  const endpoints = builtInEndpoints({ ...parts, purge: null, onPurged: () => {}, dashboard });
  const paths = endpoints.map(({ path }) => path);
  expect(new Set(paths).size).toBe(paths.length);
  expect(endpoints.filter(({ internal }) => !internal).map(({ path }) => path)).toEqual(["/health", "/api/status"]);
  for (const { handler, internal, path } of endpoints) {
    expect(internal).toBe(path === "/metrics" || path.startsWith("/internal/"));
    const outsider = fakeExchange({ client: "192.0.2.1" });
    handler.handle(outsider.ex);
    expect(outsider.sink.calls).toEqual([internal ? "abort" : "fixed"]);
    if (!path.includes("{name}")) handler.handle(fakeExchange().ex);
  }
  const actions = ["drain", "undrain", "ban", "ban-lift", "maintenance", "reload", "rollback", "log-level"];
  expect(asked).toEqual([
    "watch",
    "config",
    "openapi",
    "exposition",
    "status",
    "metrics",
    "routes",
    "config-routes",
    "canaries",
    "canary",
    "nodes",
    "bans",
    "incidents",
    "upstreams",
    "explain",
    ...actions,
  ]);
});
