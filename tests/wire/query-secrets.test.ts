import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const SECRET = "s3cr3t-value";
const ATTACK = encodeURIComponent("1' union select user,password from users-- ");

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { waf: { enabled: true }, access_log: { enabled: true } } },
  routes: [
    { type: "static", prefix: "/static", dir: "./site" },
    upstream("/node", origin),
    upstream("/slow", origin, { rate_limit: { requests: 1, window: "2h" } }),
  ],
  files: { "site/a.txt": "a" },
});
const unguarded = await startGateway({
  config: { server: { waf: { enabled: true, mode: "detection" }, access_log: { enabled: true } } },
  routes: [{ type: "static", prefix: "/static", dir: "./site" }, upstream("/node", origin)],
  files: { "site/a.txt": "a" },
});
afterAll(async () => {
  await unguarded.stop();
  await stopAll(gateway, origin);
});

interface Incidents {
  readonly incidents: readonly { readonly path: string; readonly payload_snippet: string }[];
}

/** Whether the secret is in no line and no incident; what was asked is done when its access lines are there. */
async function expectKept(from: typeof gateway, targets: readonly string[]): Promise<void> {
  for (const target of targets) await from.once(request(`GET ${target}`));
  // Refused before its path is known to be one, and behind it.
  await from.once(`GET /x?token=${SECRET}<\x01 HTTP/1.1\r\nHost: a\r\n\r\n`);
  await from.once(`GET /x?token=${SECRET} HTTP/1.1\r\nHost: a\r\nBad name: x\r\n\r\n`);
  await from.once(request("GET /node/last"));
  await from.log("the last access line", (line) => line.event === "access" && line.path === "/node/last");
  const lines = from.logs.json.map((line) => JSON.stringify(line));
  expect(lines.filter((line) => line.includes(SECRET))).toEqual([]);
  const reply = await from.once(request("GET /internal/api/security/incidents?limit=100"));
  expect(reply.text).not.toContain(SECRET);
  expect(json<Incidents>(reply).incidents.filter(({ path }) => /[?#]/.test(path))).toEqual([]);
}

test("no line and no incident holds a query's values, but for the matched parameter's", async () => {
  await expectKept(gateway, [
    `/node/echo?token=${SECRET}&id=${ATTACK}&other=${SECRET}`,
    `/node/..%2f..%2fetc?token=${SECRET}`,
    `/node/x#${SECRET}`,
    `/node/..%2f..%2fetc#${SECRET}`,
    `http://localhost/node/%2e%2e/%2e%2e/x?token=${SECRET}`,
    `/none?token=${SECRET}`,
    `/static/a.txt?token=${SECRET}`,
    `/slow/a?token=${SECRET}`,
    `/slow/b?token=${SECRET}`,
    `/slow/c?token=${SECRET}`,
    `/node/%00?token=${SECRET}`,
  ]);
  const blocks = gateway.logs.json.filter((line) => line.event === "waf_block");
  expect(blocks[0]).toMatchObject({ path: "/node/echo", location: "query id", category: "sqli" });
  expect(blocks[1]).toMatchObject({ path: "/node/..%2f..%2fetc", location: "url", category: "traversal" });
  expect(gateway.logs.json.some((line) => line.event === "rate_limited")).toBe(true);
});

test("what is only logged, and what the guard refuses, shows no more", async () => {
  await expectKept(unguarded, [
    `/node/echo?token=${SECRET}&id=${ATTACK}`,
    `/static/%2e%2e/%2e%2e/etc/passwd?token=${SECRET}`,
  ]);
  expect(unguarded.logs.json.find((line) => line.event === "waf_detect")).toMatchObject({ location: "query id" });
  expect(unguarded.logs.json.find((line) => line.event === "prefix_guard_block")).toMatchObject({
    path: "/static/%2e%2e/%2e%2e/etc/passwd",
  });
});
