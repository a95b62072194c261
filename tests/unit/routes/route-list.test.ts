import { expect, test } from "bun:test";
import { routeList } from "../../../src/routes/route-list.ts";
import { configOf } from "../loading/any-config.ts";

interface Listed {
  readonly total: number;
  readonly routes: readonly Record<string, unknown>[];
}

function list(routes: string, config = ""): Listed {
  const shown = routeList(configOf(config, routes), (key) => ({
    status: key.endsWith(":1") ? "OPEN" : "CLOSED",
    drained: false,
  }));
  return JSON.parse(JSON.stringify(shown)) as Listed;
}

test("no routes are an empty list", () => {
  expect(list("[]\n")).toEqual({ total: 0, routes: [] });
});

test("an upstream route with its effective values", () => {
  const { routes } = list(`
- type: upstream
  prefix: /node/*
  methods: [GET, POST]
  host: A.test
  targets:
    - {url: "http://10.0.0.1:1/api", weight: 3}
    - {url: "http://10.0.0.1:2", backup: true}
  load_balancing: {policy: least_conn}
  max_body_bytes: 10
`);
  expect(routes).toEqual([
    expect.objectContaining({
      type: "upstream",
      prefix: "/node",
      methods: ["GET", "POST"],
      host: ["a.test"],
      targets: [
        { url: "http://10.0.0.1:1/api", weight: 3, backup: false, status: "OPEN", drained: false },
        { url: "http://10.0.0.1:2", weight: 1, backup: true, status: "CLOSED", drained: false },
      ],
      load_balancing: { policy: "least_conn", key: "" },
      inbound_chunked_mode: "normalize",
      max_body_bytes: 10,
      strip_prefix: true,
    }),
  ]);
});

test("values of secret headers are masked, in requests and in responses", () => {
  const { routes } = list(`
- type: upstream
  prefix: /
  target: http://10.0.0.1:2
  headers:
    request:
      set: {Authorization: Bearer abc, User-Agent: blue, X-Team: abc}
      add: {X-Api-Key: k3y}
      remove: [Cookie]
    response:
      set: {Set-Cookie: a=b, X-Frame-Options: DENY}
`);
  const text = JSON.stringify(routes[0]!.headers);
  for (const secret of ["abc", "k3y", "a=b"]) expect(text).not.toContain(secret);
  expect(routes[0]!.headers).toEqual({
    request: {
      set: [
        { name: "Authorization", value: "***" },
        { name: "User-Agent", value: "blue" },
        { name: "X-Team", value: "***" },
      ],
      add: [{ name: "X-Api-Key", value: "***" }],
      remove: ["cookie"],
      replace: [],
    },
    response: {
      set: [
        { name: "Set-Cookie", value: "***" },
        { name: "X-Frame-Options", value: "DENY" },
      ],
      add: [],
      remove: [],
      replace: [],
    },
  });
});

test("a static route says nothing of the file system", () => {
  const { routes } = list("- {type: static, prefix: /site, dir: ./site, spa: true}\n");
  expect(routes[0]).toMatchObject({
    type: "static",
    prefix: "/site",
    methods: ["GET", "HEAD"],
    targets: [],
    spa: true,
    fallback: "index.html",
  });
  expect(JSON.stringify(routes)).not.toContain("edge-admin-");
});

test("an exact route has a path and no prefix", () => {
  const { routes } = list("- {type: upstream, path: /one, target: http://10.0.0.1:2}\n");
  expect(routes[0]).toMatchObject({ path: "/one" });
  expect(routes[0]).not.toHaveProperty("prefix");
});

test("transcoded routes are there when the transcoder is on", () => {
  const config = (enabled: boolean) => `
transcoder:
  enabled: ${enabled}
  routes:
    - {http_method: GET, http_path: "/v1/users/:id", grpc_method: /a.B/Get, upstream_url: "http://10.0.0.1:1"}
`;
  expect(list("[]\n", config(false)).total).toBe(0);
  expect(list("[]\n", config(true)).routes[0]).toMatchObject({
    type: "transcoded",
    path: "/v1/users/:id",
    methods: ["GET"],
    targets: [{ status: "OPEN", weight: 1 }],
    grpc_method: "/a.B/Get",
  });
});
test("limits, time limits, breaker and health check with their units; no credentials of a health check's path", () => {
  const { routes } = list(`
- type: upstream
  prefix: /
  target: http://10.0.0.1:2
  rate_limit: {requests: 5, window: 2s}
  timeouts: {total: 1m}
  health_check: {path: /up?key=hush, timeout: 1s}
`);
  expect(routes[0]).toMatchObject({
    rate_limit: { enabled: true, requests: 5, window_ms: 2000, burst: 5, key: "client_ip", status: 429 },
    timeouts: { connect_ms: 5000, response_header_ms: 30_000, idle_ms: 300_000, total_ms: 60_000 },
    circuit_breaker: { enabled: true, failure_threshold: 5, open_duration_ms: 30_000, slow_start_ms: 0 },
    health_check: { enabled: true, path: "/up?***", interval_ms: 10_000, timeout_ms: 1000, healthy_threshold: 2 },
  });
});

test("routes that the gateway answers itself", () => {
  const { routes } = list(`
- {type: redirect, host: a.test, prefix: /old, to: "https://{host}/new{rest}", status: 301}
- {type: respond, path: /hi, body: "hi {client_ip}", methods: GET}
- {type: respond, path: /none, status: 204}
`);
  expect(routes).toEqual([
    expect.objectContaining({
      type: "redirect",
      prefix: "/old",
      host: ["a.test"],
      methods: [],
      targets: [],
      to: "https://{host}/new{rest}",
      status: 301,
    }),
    expect.objectContaining({
      type: "respond",
      path: "/hi",
      methods: ["GET"],
      targets: [],
      status: 200,
      content_type: "text/plain; charset=utf-8",
      body_bytes: 14,
    }),
    expect.objectContaining({ type: "respond", path: "/none", status: 204, content_type: "", body_bytes: 0 }),
  ]);
});
