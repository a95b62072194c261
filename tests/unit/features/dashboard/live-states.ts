import type { LiveState } from "../../../../src/features/dashboard/live-state.ts";
import { verdict } from "../../../../src/features/dashboard/verdict.ts";

const AT = Date.UTC(2026, 10, 22, 12);

/** An event of the stream of a gateway that is well, with its verdict; `change` replaces parts of it. */
export function liveState(change: Partial<LiveState> = {}): LiveState {
  const state = { ...wellState(), ...change };
  return { verdict: verdict(state, state.history ?? []), ...state };
}

function wellState(): Omit<LiveState, "verdict"> {
  return {
    at: AT,
    gateway: {
      version: "1.2.3",
      host: "machine",
      pid: 7,
      startedAt: AT - 93_784_000,
      status: "ok",
      generation: 1,
      lastReloadOk: true,
      failedLogs: [],
      waf: "enforce",
      maintenance: [],
      logLevel: "info",
      rssBytes: 104_857_600,
    },
    totals: {
      requests: 1000,
      classes: [0, 0, 960, 10, 20, 10],
      bytesIn: 2048,
      bytesOut: 4_000_000,
      inFlight: 2,
      connections: 12,
      accepted: 40,
      wafInspected: 1000,
      wafBlocked: 3,
      wafDetected: 0,
      refusals: { malformed: 4, tls: 0 },
      breakerTrips: 0,
      logDropped: 0,
    },
    latency: [0.4, 2, 30],
    routes: [
      { label: "/api", requests: 900, classes: [0, 0, 880, 0, 10, 10], latency: [1, 2, 3], bytesPerSecond: [0, 9000] },
    ],
    routeCount: 1,
    upstreams: [
      {
        label: "http://10.0.0.1:80",
        requests: 900,
        classes: [0, 0, 890, 0, 0, 10],
        latency: [1, 2, 3],
        bytesPerSecond: [0, 0],
      },
    ],
    targets: [target()],
    targetCount: 1,
    hits: [],
    attackers: [],
    cache: null,
    certificates: [],
    workers: [{ requests: 1000, connections: 12, load: 0.25, lagMs: 0, heap: 1, moves: true }],
    modules: [],
    changes: [],
    rows: [],
    rowsLeftOut: 0,
  };
}

/** A target that is well. */
export function target(change: Partial<LiveState["targets"][number]> = {}): LiveState["targets"][number] {
  return {
    route: "/api",
    upstream: "http://10.0.0.1:80",
    breaker: "closed",
    healthy: true,
    checked: false,
    failures: 0,
    drained: false,
    hasStandIn: false,
    ...change,
  };
}

/** A module that is well. */
export function module(change: Partial<LiveState["modules"][number]> = {}): LiveState["modules"][number] {
  return {
    name: "fn/hello.ts",
    calls: 100,
    failed: 1,
    latency: [1, 2, 3],
    queued: 4,
    threads: 2,
    ends: 1,
    heap: 1 << 20,
    ...change,
  };
}
