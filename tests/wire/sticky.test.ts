// Clients that stay at their target by a cookie of the gateway's own: docs/upstreams.md#sticky-clients
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { makeCertificate } from "../harness/certificate.ts";
import { echoUpgrade } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import { type Field, H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import type { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";
import { balanced, namedOrigins, tally } from "./named-origins.ts";

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const origins = namedOrigins("a", "b", "c", "d");
const [a, b, c, d] = origins as [ScriptedOrigin, ScriptedOrigin, ScriptedOrigin, ScriptedOrigin];
const three = [a, b, c].map(({ url }) => ({ url }));
const sticky = { load_balancing: { policy: "sticky" } };
const files = { "a.pem": certificate.cert, "a.key": certificate.key };
for (const origin of origins) {
  origin.on("/socket", echoUpgrade);
  origin.on("/cached", (call) => call.reply("200 OK", ["Cache-Control: public, max-age=60"], "kept"));
  origin.on("/busy", (call) => call.reply("503 Service Unavailable", [], "busy"));
}
const routes = [
  balanced("/n", three, sticky),
  balanced("/same", [...three].reverse(), sticky),
  balanced("/named", three, {
    load_balancing: { policy: "sticky", cookie: { name: "node", ttl: "90s", secret: "0123456789abcdef" } },
  }),
  balanced("/weighted", [{ url: a.url, weight: 0 }, { url: b.url }, { url: c.url, backup: true }], sticky),
  balanced("/one", [{ url: a.url }], sticky),
  balanced("/retried", [{ url: d.url }, { url: a.url }], {
    ...sticky,
    circuit_breaker: { failure_threshold: 1, failure_statuses: [503] },
  }),
  balanced("/keep", three, sticky),
];
const server = {
  workers: 2,
  cache: { enabled: true, default_ttl: "0s" },
  tls: { enabled: true, port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
  http3: { enabled: true },
};
const config = { server };
const gateway = await startGateway({ config, routes, files });
afterAll(() => stopAll(gateway, ...origins));

const PATTERN = /^edge_node=([\w-]{22}); Path=\/; HttpOnly; SameSite=Lax$/;

async function ask(path: string, cookie = "", on: Gateway = gateway): Promise<Reply> {
  return on.once(request(`GET ${path}`, cookie === "" ? [] : [`Cookie: ${cookie}`]));
}

/** The pair that a reply gives; "" where it gives none. */
function givenBy(reply: Reply): string {
  return reply.fields.all("set-cookie").at(-1)?.split(";")[0] ?? "";
}

/** The cookie of each target, by the name of its origin. */
async function cookiesOf(path: string, on: Gateway = gateway): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let i = 0; i < 12; i++) {
    const reply = await ask(path, "", on);
    found.set(reply.text, givenBy(reply));
  }
  return found;
}

async function bodies(path: string, cookie: string, count = 8): Promise<Record<string, number>> {
  const texts: string[] = [];
  for (let i = 0; i < count; i++) texts.push((await ask(path, cookie)).text);
  return tally(texts);
}

describe("a client without a cookie", () => {
  test("gets one that tells nothing, once, marked as its own for caches on the way", async () => {
    const reply = await ask("/n/x");
    const given = reply.fields.get("set-cookie")!;
    expect(given).toMatch(PATTERN);
    expect(reply.fields.get("cache-control")).toBe("private");
    for (const { port } of origins) expect(given).not.toContain(String(port));
    const again = await ask("/n/x", givenBy(reply));
    expect([again.text, again.fields.has("set-cookie"), again.fields.has("cache-control")]).toEqual([
      reply.text,
      false,
      false,
    ]);
  });

  test("takes its turn among the targets", async () => {
    expect([...(await cookiesOf("/n/x")).keys()].sort()).toEqual(["a", "b", "c"]);
  });
});

describe("a client with a cookie", () => {
  test("stays at its target, in every worker and at every route with the same origins", async () => {
    for (const [name, cookie] of await cookiesOf("/n/x")) {
      expect(await bodies("/n/x", `x=1; ${cookie}; y=2`)).toEqual({ [name]: 8 });
      expect(await bodies("/same/x", cookie, 3)).toEqual({ [name]: 3 });
    }
  });

  test("by the name, for the time and by the secret of the configuration", async () => {
    const reply = await ask("/named/x");
    expect(reply.fields.get("set-cookie")).toMatch(/^node=[\w-]{22}; Path=\/; Max-Age=90; HttpOnly; SameSite=Lax$/);
    expect(await bodies("/named/x", givenBy(reply), 4)).toEqual({ [reply.text]: 4 });
    // Another secret makes other values.
    const others = [...(await cookiesOf("/n/x")).values()].map((cookie) => cookie.split("=")[1]);
    expect(others).not.toContain(givenBy(reply).split("=")[1]);
  });

  test("of a target with weight 0, or of a backup that is not needed, gets another one", async () => {
    const cookies = await cookiesOf("/n/x");
    for (const name of ["a", "c"]) {
      const reply = await ask("/weighted/x", cookies.get(name)!);
      expect([reply.text, givenBy(reply)]).toEqual(["b", cookies.get("b")!]);
    }
  });

  test("of a single target has it for when there are more", async () => {
    const cookies = await cookiesOf("/n/x");
    expect(givenBy(await ask("/one/x"))).toBe(cookies.get("a")!);
    expect(givenBy(await ask("/one/x", cookies.get("a")))).toBe("");
  });
});

describe("what counts as no cookie:", () => {
  test.each([
    ["a forged one", (own: string) => `edge_node=${own.startsWith("A") ? "B" : "A"}${own.slice(1)}`],
    ["a shorter one", (own: string) => `edge_node=${own.slice(1)}`],
    ["a longer one", (own: string) => `edge_node=${own}A`],
    ["one in quotes", (own: string) => `edge_node="${own}"`],
    ["a name in other case", (own: string) => `EDGE_NODE=${own}`],
    ["an empty one", () => "edge_node="],
    ["the address of a target", () => `edge_node=${a.url}`],
    ["one that comes twice", (own: string) => `edge_node=${own}; edge_node=${own}`],
    ["one without a name", (own: string) => own],
  ])("%s", async (_, forge) => {
    const own = givenBy(await ask("/n/x")).split("=")[1]!;
    const seen = new Set<string>();
    for (let i = 0; i < 6; i++) {
      const reply = await ask("/n/x", forge(own));
      expect(reply.fields.get("set-cookie")).toMatch(PATTERN);
      seen.add(reply.text);
    }
    expect(seen.size).toBeGreaterThan(1);
  });

  test("two of different targets, in one field or two", async () => {
    const [one, two] = [...(await cookiesOf("/n/x")).values()];
    expect(givenBy(await ask("/n/x", `${one}; ${two}`))).not.toBe("");
    expect(givenBy(await gateway.once(request("GET /n/x", [`Cookie: ${one}`, `Cookie: ${two}`])))).not.toBe("");
  });

  test("what is no value of the gateway's does not take a good one's place", async () => {
    const [[name, cookie]] = [...(await cookiesOf("/n/x"))] as [[string, string]];
    expect(await bodies("/n/x", `edge_node=x; ${cookie}`, 4)).toEqual({ [name]: 4 });
  });
});

test("a client whose target fails gets another one and its cookie; failures do not give one", async () => {
  const cookies = await cookiesOf("/retried/x");
  const cookie = cookies.get("d")!;
  const { port } = d;
  d.stop();
  const reply = await ask("/retried/x", cookie);
  expect([reply.text, givenBy(reply)]).toEqual(["a", cookies.get("a")!]);
  d.listen(port);
  await eventually(async () => expect((await ask("/retried/x", cookie)).text).toBe("d"));
  // An answer that counts as a failure: the one that the client gets is the other's.
  a.on("/busy", (call) => call.reply("200 OK", [], "fine"));
  const elsewhere = await ask("/retried/busy", cookie);
  expect([elsewhere.text, elsewhere.fields.all("set-cookie").map((line) => line.split(";")[0])]).toEqual([
    "fine",
    [cookies.get("a")!],
  ]);
});

describe("every protocol", () => {
  test("HTTP/2", async () => {
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request(head("GET", "/n/x"));
    const given = reply.fields.get("set-cookie")!;
    expect(given).toMatch(PATTERN);
    const cookies: Field[] = [
      ["cookie", "x=1"],
      ["cookie", given.split(";")[0]!],
    ];
    const again = await client.request(head("GET", "/n/x", cookies));
    expect([again.body.toString(), again.fields.has("set-cookie")]).toEqual([reply.body.toString(), false]);
    client.close();
  });

  test("HTTP/3, where the cookie is Secure", async () => {
    const client = await H3Client.connect(tlsPort);
    const reply = await client.ask("GET", "/n/x");
    const given = String(reply.fields["set-cookie"]);
    expect(given).toMatch(/^edge_node=[\w-]{22}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
    const again = await client.ask("GET", "/n/x", { cookie: given.split(";")[0]! });
    expect([again.body.toString(), again.fields["set-cookie"]]).toEqual([reply.body.toString(), undefined]);
    client.close();
  });

  test("a WebSocket, whose 101 has the cookie", async () => {
    const client = await gateway.connect();
    const lines = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];
    const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    const reply = await client.exchange(request("GET /n/socket", [...lines, key]));
    expect([reply.status, reply.fields.get("set-cookie")]).toEqual([101, expect.stringMatching(PATTERN)]);
    client.close();
  });
});

test("the cookie is Secure where a trusted proxy says that its client uses TLS", async () => {
  const behind = await startGateway({
    config: { server: { trusted_proxies: ["127.0.0.1"] } },
    routes: [balanced("/n", three, sticky)],
  });
  const given = async (proto: string, on: Gateway): Promise<string> =>
    (await on.once(request("GET /n/x", ["X-Forwarded-For: 10.0.0.1", `X-Forwarded-Proto: ${proto}`]))).fields.get(
      "set-cookie",
    )!;
  expect(await given("https", behind)).toEndWith("; Secure");
  expect(await given("http", behind)).toEndWith("; SameSite=Lax");
  // Of any other client it is hearsay.
  expect(await given("https", gateway)).toEndWith("; SameSite=Lax");
  await behind.stop();
});

test("a stored response has no cookie, and the cache keeps none", async () => {
  const first = await ask("/keep/cached");
  expect([first.fields.get("x-cache"), givenBy(first)]).toEqual(["MISS", expect.stringMatching(/^edge_node=/)]);
  const hit = await ask("/keep/cached");
  expect([hit.fields.get("x-cache"), hit.fields.has("set-cookie"), hit.fields.get("cache-control")]).toEqual([
    "HIT",
    false,
    "public, max-age=60",
  ]);
});

test("cookies outlive reloads and restarts of the gateway", async () => {
  const cookies = await cookiesOf("/n/x");
  writeFileSync(join(gateway.folder, "routes.yaml"), stringify([...routes].reverse()));
  expect((await gateway.reload()).ok).toBe(true);
  for (const [name, cookie] of cookies) expect((await ask("/n/x", cookie)).text).toBe(name);
  const other = await startGateway({ routes: [balanced("/n", three, sticky)] });
  for (const [name, cookie] of cookies) expect((await ask("/n/x", cookie, other)).text).toBe(name);
  await other.stop();
});
