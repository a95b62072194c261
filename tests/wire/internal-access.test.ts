import { afterAll, describe, expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { openApi } from "../../src/features/admin/openapi.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, RawClient, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const PATHS = [
  "/metrics",
  "/internal/api/status",
  "/internal/api/metrics",
  "/internal/api/routes",
  "/internal/api/config",
  "/internal/api/security/incidents",
  "/internal/api/upstreams/health",
];
/** An address of this machine by which its peers are not loopback. */
const OUTER = Object.values(networkInterfaces())
  .flat()
  .find((one) => one !== undefined && one.family === "IPv4" && !one.internal)?.address;
if (OUTER === undefined) console.error("skipped: this machine has no address but loopback");

const origin = EchoOrigin.start();
const routes = [upstream("/node", origin)];
const closed = await startGateway({ config: { server: { host: "0.0.0.0" } }, routes });
const opened = await startGateway({
  config: { server: { host: "0.0.0.0" }, internal_api: { allow: [`${OUTER ?? "192.0.2.1"}/32`] } },
  routes,
});
const locked = await startGateway({ config: { internal_api: { token: "open-sesame-17" } }, routes });
afterAll(async () => {
  await opened.stop();
  await locked.stop();
  await stopAll(closed, origin);
});

async function fromOutside(port: number, bytes: Uint8Array): Promise<Reply> {
  const client = await RawClient.connect(port, OUTER!);
  try {
    return await client.exchange(bytes);
  } finally {
    client.close();
  }
}

const FORBIDDEN = [403, { error: "403 Forbidden", message: "not allowed from this address" }];
const CLAIMS = ["X-Forwarded-For: 127.0.0.1", "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1", "Host: localhost"];

describe("by default", () => {
  test.skipIf(OUTER === undefined)("peers that are not loopback get 403, whatever their headers say", async () => {
    for (const path of PATHS) {
      const reply = await fromOutside(closed.port, request(`GET ${path}`, CLAIMS));
      expect([reply.status, json(reply)]).toEqual(FORBIDDEN as never);
    }
    const probe = request("POST /internal/api/proxy-test", CLAIMS, '{"path":"/health"}');
    const reply = await fromOutside(closed.port, probe);
    expect([reply.status, json(reply)]).toEqual(FORBIDDEN as never);
    for (const path of ["/internal/", "/internal/api/stream"]) {
      expect((await fromOutside(closed.port, request(`GET ${path}`, CLAIMS))).status).toBe(403);
    }
    expect((await fromOutside(closed.port, request("GET /health"))).status).toBe(200);
  });

  test("loopback may come", async () => {
    for (const path of PATHS) expect((await closed.once(request(`GET ${path}`))).status).toBe(200);
  });
});

test("a page of the web whose name resolves to 127.0.0.1 reads nothing and makes nothing happen", async () => {
  const named = ["Host: rebound.attacker.dev:8080"];
  const refused = [403, { error: "403 Forbidden", message: expect.stringContaining("not under this host name") }];
  for (const path of PATHS) {
    const reply = await closed.once(request(`GET ${path}`, named));
    expect([reply.status, json(reply)]).toEqual(refused as never);
  }
  const own = [...named, "Origin: http://rebound.attacker.dev:8080"];
  const probe = await closed.once(request("POST /internal/api/proxy-test", own, '{"path":"/node/echo"}'));
  expect([probe.status, json(probe)]).toEqual(refused as never);
  const absolute = request("GET http://rebound.attacker.dev/internal/api/status", ["Host: rebound.attacker.dev"]);
  expect((await closed.once(absolute)).status).toBe(403);
  expect((await closed.once(request("GET /health", named))).status).toBe(200);
  for (const host of ["localhost", "127.0.0.1:8080", "[::1]", "gateway"]) {
    expect((await closed.once(request("GET /internal/api/status", [`Host: ${host}`]))).status).toBe(200);
  }
});

test.skipIf(OUTER === undefined)("networks of internal_api.allow may come", async () => {
  for (const path of PATHS) expect((await fromOutside(opened.port, request(`GET ${path}`))).status).toBe(200);
});

describe("with a token", () => {
  const wrong = [
    [],
    ["Authorization: Bearer open-sesame-18"],
    ["Authorization: Bearer open-sesame-1"],
    ["Authorization: Bearer open-sesame-177"],
    ["Authorization: Bearer OPEN-SESAME-17"],
    ["Authorization: Basic open-sesame-17"],
    ["Authorization: open-sesame-17"],
    ["Authorization: Bearer"],
    ["Authorization: Bearer open-sesame-17 x"],
    ["Authorization: Bearer open-sesame-17", "Authorization: Bearer open-sesame-17"],
    ["X-Token: open-sesame-17"],
    ["Cookie: token=open-sesame-17"],
  ];

  test.each(wrong.map((lines) => [lines.join(" | ") || "nothing", lines] as const))(
    "%s is 401",
    async (_name, lines) => {
      for (const path of PATHS) {
        const reply = await locked.once(request(`GET ${path}`, lines));
        const body = { error: "401 Unauthorized", message: "a bearer token is needed" };
        expect([reply.status, json(reply)]).toEqual([401, body]);
        expect(reply.fields.get("www-authenticate")).toBe('Bearer realm="edge"');
      }
    },
  );

  test.each(["Bearer open-sesame-17", "bearer open-sesame-17", "BEARER  open-sesame-17"])(
    "%s is right",
    async (value) => {
      for (const path of PATHS) {
        expect((await locked.once(request(`GET ${path}`, [`Authorization: ${value}`]))).status).toBe(200);
      }
    },
  );

  test("the public endpoints ask for none, and a probe carries it nowhere", async () => {
    expect((await locked.once(request("GET /health"))).status).toBe(200);
    const call = request(
      "POST /internal/api/proxy-test",
      ["Authorization: Bearer open-sesame-17"],
      JSON.stringify({ path: "/node/echo", headers: { Authorization: "Bearer open-sesame-17" } }),
    );
    const result = json<{ status_code: number; body: string }>(await locked.once(call));
    expect([result.status_code, result.body.includes("open-sesame")]).toEqual([200, false]);
  });
});

describe("actions", () => {
  const drain = ["Content-Type: application/json", "Content-Length: 2"];
  const { paths } = openApi() as { readonly paths: Readonly<Record<string, object>> };
  const actions = Object.entries(paths).flatMap(([path, methods]) => ("post" in methods ? [path] : []));
  test.skipIf(OUTER === undefined)("are not for peers that are merely allowed to look", async () => {
    expect(actions.length).toBeGreaterThan(5);
    for (const path of actions) {
      const reply = await fromOutside(opened.port, Buffer.concat([request(`POST ${path}`, drain), Buffer.from("{}")]));
      expect([path, reply.status, json(reply).message]).toEqual([path, 403, expect.stringContaining("actions need")]);
    }
  });

  test.skipIf(OUTER === undefined)("a name that a page of the web may have lets no allowed peer look", async () => {
    for (const path of PATHS) {
      const reply = await fromOutside(opened.port, request(`GET ${path}`, ["Host: rebound.attacker.dev"]));
      expect([path, reply.status]).toEqual([path, 403]);
    }
  });

  test("are not for whom a proxy on this machine speaks for", async () => {
    const lines = [...drain, "X-Forwarded-For: 192.0.2.7"];
    expect(
      (await closed.once(Buffer.concat([request("POST /internal/api/reload", lines), Buffer.from("{}")]))).status,
    ).toBe(403);
  });
});
