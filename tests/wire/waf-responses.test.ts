// docs/waf.md#responses
import { afterAll, expect, test } from "bun:test";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";

const BODIES: Readonly<Record<string, string>> = {
  "/trace": `<p>${"x".repeat(20_000 - 12_000)}</p>Traceback (most recent call last):\n  File "a.py"`,
  "/sql": "You have an error in your SQL syntax near ''",
  "/key": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
  "/listing": "<html><title>Index of /files</title>",
  "/fine": "<p>A page about errors in SQL</p>",
};
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: ({ url }) => {
    const path = new URL(url).pathname;
    const type = path === "/binary" ? "application/octet-stream" : "text/html";
    return new Response(BODIES[path] ?? BODIES["/sql"]!, { headers: { "Content-Type": type } });
  },
});
const routes = [upstream("/", { url: `http://127.0.0.1:${server.port}` })];
const watching = await startGateway({ config: { server: { waf: { enabled: true, responses: "detection" } } }, routes });
const off = await startGateway({ config: { server: { waf: { enabled: true } } }, routes });
afterAll(async () => {
  await watching.stop();
  await off.stop();
  await server.stop(true);
});

test.each([
  ["/trace", "LEAK-001"],
  ["/sql", "LEAK-002"],
  ["/key", "LEAK-003"],
  ["/listing", "LEAK-004"],
])("%s is logged as %s, and passes whole", async (path, rule) => {
  const reply = await watching.once(request(`GET ${path}`));
  expect([reply.status, reply.text]).toEqual([200, BODIES[path]!]);
  const line = await watching.log("waf_detect", (one) => one.event === "waf_detect" && one.rule_id === rule);
  expect(line).toMatchObject({ category: "leak", location: "response", action: "logged", path });
});

test("what leaks nothing, is no text, or is not looked at, is not logged", async () => {
  for (const path of ["/fine", "/binary"]) expect((await watching.once(request(`GET ${path}`))).status).toBe(200);
  expect((await off.once(request("GET /sql"))).status).toBe(200);
  const lines = [...watching.logs.json, ...off.logs.json].filter((one) => one.event === "waf_detect");
  expect(lines.map(({ path }) => path).filter((path) => path === "/fine" || path === "/binary")).toEqual([]);
  expect(off.logs.json.some((one) => one.event === "waf_detect")).toBe(false);
});
