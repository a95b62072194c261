import { afterAll, expect, test } from "bun:test";
import type { HttpVersion } from "../../src/explain/dry-run.ts";
import { DryRun } from "../../src/explain/dry-run.ts";
import { type Explanation, explainRequest } from "../../src/explain/explanation.ts";
import { loadConfig } from "../../src/loading/load-config.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client } from "../harness/h2-client.ts";
import { request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

const SEED = 20261122;
const REQUESTS = 400;
const SEGMENTS = ["a", "b", "c-d", "api", "x.js"];
const HOSTS = ["one.test", "two.test", "sub.one.test", "*.one.test"];
const METHODS = ["GET", "POST", "DELETE", "HEAD", "OPTIONS"];
const random = new SeededRandom(SEED);
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      waf: { enabled: true },
      cors: { enabled: true, allowed_origins: ["https://page.test"] },
      security_headers: { enabled: true },
      max_body_bytes: 5000,
      trusted_proxies: ["127.0.0.1"],
    },
  },
  routes: randomTable(40),
  files: { "site/index.html": "home", "site/a/x.js": "1" },
});
const loaded = loadConfig({
  configPath: `${gateway.folder}/config.yaml`,
  routesPath: null,
  cwd: gateway.folder,
  env: {},
});
if (!loaded.ok) throw new Error(`the table of seed ${SEED} is faulty: ${loaded.faults.map((one) => one.message)}`);
const { config } = loaded;
const dry = new DryRun(config);
afterAll(() => stopAll(gateway, origin));

/** Routes that no other of the table is the same as; each names itself in its responses. */
function randomTable(count: number): Record<string, unknown>[] {
  const taken = new Set<string>();
  const routes: Record<string, unknown>[] = [{ type: "static", prefix: "/files", dir: "./site" }];
  while (routes.length < count) {
    const path = randomPath();
    const isExact = random.chance(0.3);
    const hosts = random.chance(0.5) ? [] : [random.pick(HOSTS)];
    const methods = random.chance(0.7) ? [] : [random.pick(METHODS.slice(0, 3))];
    const match = random.chance(0.3)
      ? { header: { "X-Canary": random.pick<string | boolean>(["1", "/^[23]$/", false]) } }
      : null;
    const place = `${isExact} ${path} ${hosts} ${JSON.stringify(match)}`;
    if (taken.has(place)) continue;
    taken.add(place);
    const index = routes.length;
    const { prefix: _, ...own } = upstream("/", origin);
    const isRedirect = random.chance(0.15);
    const route = isRedirect ? { type: "redirect", to: `https://elsewhere.test/${index}{uri}` } : own;
    routes.push({
      ...route,
      ...(isExact ? { path } : { prefix: path }),
      ...(hosts.length > 0 ? { host: hosts } : {}),
      ...(methods.length > 0 ? { methods } : {}),
      ...(random.chance(0.1) ? { ip_rules: { deny: ["198.51.100.0/24"] } } : {}),
      ...(match === null ? {} : { match }),
      ...(isRedirect ? {} : { strip_prefix: random.chance(0.5) }),
      headers: { response: { set: { "X-Route": String(index) } } },
    });
  }
  return routes;
}

function randomPath(): string {
  const depth = random.integer(1, 3);
  const path = Array.from({ length: depth }, () => random.pick(SEGMENTS)).join("/");
  return `/${path}`;
}

/** Spelt as clients do, and as attackers do. */
function randomTarget(): string {
  const path = random.chance(0.1) ? `/files${randomPath()}` : randomPath();
  const odd = random.integer(0, 9);
  if (odd === 0) return path.replace("a", "%61");
  if (odd === 1) return `${path}/../b`;
  if (odd === 2) return path.replace("/", "//");
  if (odd === 3) return `${path}%2Fb`;
  if (odd === 4) return `${path}?q=${random.pick(["1", "%3Cscript%3E", "1%27%20or%201=1", "%zz"])}`;
  if (odd === 5)
    return random.pick(["/health", "/metrics", "/api/status", "*", "/%00", "/files/../health", "/files/%2e%2e/b"]);
  return path;
}

function randomRequest(): Buffer {
  const method = random.pick(METHODS);
  const lines: string[] = [
    `Host: ${random.pick(["one.test", "TWO.test:80", "sub.one.test", "other.test", "deep.sub.one.test"])}`,
  ];
  if (random.chance(0.2)) lines.push(`X-Forwarded-For: ${random.pick(["198.51.100.7", "203.0.113.1", "junk"])}`);
  if (random.chance(0.1)) lines.push("Origin: https://page.test", "Access-Control-Request-Method: PUT");
  if (random.chance(0.1)) lines.push("Cookie: a=b");
  if (random.chance(0.4)) lines.push(`X-Canary: ${random.pick(["1", "2", "4"])}`);
  if (random.chance(0.05)) lines.push("Content-Length: 9000");
  const hasBody = method === "POST" && random.chance(0.5) && !lines.includes("Content-Length: 9000");
  return request(
    `${method} ${randomTarget()}`,
    lines,
    hasBody ? random.pick(["a=1", '{"a":"<script>x()"}']) : undefined,
  );
}

function explain(bytes: Buffer, http: HttpVersion = 1): Explanation {
  const end = bytes.indexOf("\r\n\r\n") + 4;
  const head = bytes.subarray(0, end);
  return explainRequest(config, dry, { head, body: bytes.subarray(end), clientIp: "127.0.0.1", tls: false, http });
}

test(`of ${REQUESTS} random requests to a random table it says what the gateway does (seed ${SEED})`, async () => {
  const seen = new Map<string, number>();
  for (let i = 0; i < REQUESTS; i++) {
    const bytes = randomRequest();
    const what = bytes.toString("latin1");
    const said = explain(bytes);
    const reply = await gateway.once(bytes);
    const { by, status } = said.response;
    const kind = by === "gateway" ? `${status}` : by;
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
    if (by === "origin") {
      expect([what, reply.status, reply.fields.get("x-route")]).toEqual([what, 200, indexOf(said)]);
      if (reply.text !== "") expect((JSON.parse(reply.text) as Echo).target).toBe(said.upstream!.path);
    } else if (by === "file") {
      expect([what, [200, 301, 404].includes(reply.status)]).toEqual([what, true]);
    } else if (by === "gateway") {
      const names = ["allow", "location"];
      const found = names.map((name) => reply.fields.get(name));
      expect([what, reply.status, ...found]).toEqual([what, status!, ...names.map((name) => fieldOf(said, name))]);
    } else expect([what, reply.status]).toEqual([what, 200]);
  }
  // The table is worth its time: it is answered in many ways.
  for (const kind of ["origin", "file", "308", "403", "404", "405"])
    expect([kind, (seen.get(kind) ?? 0) > 0]).toEqual([kind, true]);
});

test("of requests by HTTP/2 too", async () => {
  for (let i = 0; i < REQUESTS / 4; i++) {
    const bytes = randomRequest();
    const end = bytes.indexOf("\r\n\r\n");
    const [line = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
    const [method = "", path = ""] = line.split(" ");
    const fields = lines.map((one): [string, string] => {
      const [name = "", value = ""] = one.split(": ");
      return [name === "Host" ? ":authority" : name.toLowerCase(), value];
    });
    if (fields.some(([, value]) => value === "9000")) continue;
    const body = bytes.subarray(end + 4);
    const said = explain(bytes, 2);
    const client = await H2Client.connect(gateway.port);
    const start: [string, string][] = [
      [":method", method],
      [":scheme", "http"],
      [":path", path],
    ];
    const reply = await client.request([...start, ...fields], body.length > 0 ? body : undefined);
    client.close();
    const { by, status } = said.response;
    const what = bytes.toString("latin1");
    if (by === "gateway") expect([what, reply.status]).toEqual([what, status!]);
    else if (by === "origin")
      expect([what, reply.status, reply.fields.get("x-route")]).toEqual([what, 200, indexOf(said)]);
  }
});

function indexOf({ route }: Explanation): string {
  const line = Number(route!.at.split(":").at(-1));
  return String(config.routes.findIndex(({ position }) => position.line === line));
}

function fieldOf({ response }: Explanation, name: string): string | null {
  return response.headers.find(([one]) => one.toLowerCase() === name)?.[1] ?? null;
}

const ROUTES = [
  {
    type: "upstream",
    prefix: "/a",
    host: "shop.example.com",
    targets: [
      { url: "http://10.0.0.5:8000/v2", weight: 3 },
      { url: "http://10.0.0.7:8000", backup: true },
    ],
    headers: { request: { set: { Authorization: "Bearer sesame" } }, response: { remove: ["Server"] } },
  },
  { type: "upstream", prefix: "/a", methods: ["POST"], target: "http://10.0.0.8:8000" },
  { type: "upstream", path: "/admin", target: "http://10.0.0.9:8000", ip_rules: { allow: ["10.0.0.0/8"] } },
];

async function edgeExplain(...args: string[]) {
  return runEdge(["explain", ...args], { config: { server: { waf: { enabled: true } } }, routes: ROUTES });
}

test("it prints one screen of plain text, without secrets of the file", async () => {
  const { code, stdout, stderr } = await edgeExplain("GET http://shop.example.com/a/b?x=1", "-H", "Cookie: a=b");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toBe(`GET http://shop.example.com/a/b?x=1  from 127.0.0.1

route      /a  upstream, routes.yaml:1
  not      /a  takes POST only, routes.yaml:16
phases     counters, http01, waf, routeExact, prefixGuard, pathEscapes,
           routePrefix, routeAddressRules, dispatch
target     http://10.0.0.5:8000/v2  weight 3, this one by round_robin
           http://10.0.0.7:8000     only while all others are down
sends      GET /v2/b?x=1
           + X-Forwarded-For: 127.0.0.1
           + X-Real-IP: 127.0.0.1
           + X-Forwarded-Proto: http
           + X-Forwarded-Host: shop.example.com
           + X-Request-Id: (a new one)
           + Via: 1.1 edge
           + Authorization: ***
response   the origin's, changed so:
           - server
           + X-Request-Id: (a new one)
limits     body 4MiB (server.max_body_bytes)
`);
});

test("it names the source of a route, and the sources whose routes it does not know", async () => {
  const { stdout, stderr } = await runEdge(["explain", "/dir/x"], {
    config: { providers: { directory: { path: "routes.d" }, docker: {}, kubernetes: {} } },
    routes: ROUTES,
    files: { "routes.d/team.yaml": "- {type: respond, prefix: /dir, body: dir}\n" },
  });
  expect(stdout).toMatch(/^route {6}\/dir {2}respond, directory \S*routes\.d\/team\.yaml:1$/m);
  expect(stderr).toContain(
    "routes of docker and kubernetes are not in the files: --live asks the running gateway, which has them",
  );
});

test("by another version of HTTP it says what differs", async () => {
  const second = await edgeExplain("--http", "2", "GET http://shop.example.com/a/b");
  expect([second.code, second.stderr]).toEqual([0, ""]);
  expect(second.stdout).toStartWith("GET http://shop.example.com/a/b  over HTTP/2 from 127.0.0.1\n");
  expect(second.stdout).toContain("+ Via: 2 edge\n");
  expect(second.stdout).not.toContain("+ Host");
  const refused = await edgeExplain("--http", "2", "GET /a", "-H", "Connection: close");
  expect(refused.stdout).toContain("400 Bad Request  (connection_field)");
  const third = await edgeExplain("--http", "3", "GET https://shop.example.com/a/b", "--json");
  expect(JSON.parse(third.stdout)).toMatchObject({ request: { http: 3, tls: true }, upstream: { path: "/v2/b" } });
  expect(third.stderr).toContain("server.http3 is off");
  expect((await edgeExplain("--http", "3", "GET http://a/b")).stderr).toContain("write https://");
  expect((await edgeExplain("--http", "4", "GET /a")).code).toBe(2);
});

test("it names the mirror, and says which requests it gets no copy of", async () => {
  const mirror = { target: "http://10.0.0.6:8000", share: "25%", compare: true };
  const routes = [{ type: "upstream", prefix: "/m", target: "http://10.0.0.5:8000", mirror }];
  const said = await runEdge(["explain", "GET /m/a"], { routes });
  expect(said.stdout).toContain(
    "mirror     http://10.0.0.6:8000  gets a copy of 25 % of the requests, responses are compared\n",
  );
  const long = await runEdge(["explain", "POST /m/a", "-H", "Content-Length: 70000", "--json"], { routes });
  expect((JSON.parse(long.stdout) as Explanation).upstream!.mirror).toEqual({
    target: "http://10.0.0.6:8000",
    share: 0.25,
    compare: true,
    why_not: "its body is longer than 65536 bytes",
  });
});

test("a route's own firewall names its own rules", async () => {
  const waf = (more: object) => ({ waf: { mode: "detection", ...more } });
  const routes = [
    { type: "upstream", prefix: "/a", target: "http://10.0.0.5:8000", ...waf({ disabled_rules: ["XSS-001"] }) },
    { type: "upstream", prefix: "/b", target: "http://10.0.0.5:8000", ...waf({ anomaly_threshold: 50 }) },
    { type: "upstream", prefix: "/c", target: "http://10.0.0.5:8000", waf: "off" },
  ];
  const config = { server: { waf: { enabled: true } } };
  const rulesOf = async (path: string) => {
    const { stdout } = await runEdge(["explain", "--json", `GET ${path}?q=<script>alert(1)</script>`], {
      config,
      routes,
    });
    const { waf_rules, phases } = JSON.parse(stdout) as Explanation;
    return { rules: waf_rules, note: phases.find(({ name }) => name === "waf")!.note };
  };
  const [a, b, c] = [await rulesOf("/a"), await rulesOf("/b"), await rulesOf("/c")];
  expect(a.rules).not.toContain("XSS-001");
  expect(b.rules).toContain("XSS-001");
  expect(b.note).toContain(" of 50: ");
  expect(c).toEqual({ rules: [], note: "" });
});

test("it says which phase ends a request and what the client gets", async () => {
  const { code, stdout } = await edgeExplain("--client-ip", "192.0.2.1", "/admin");
  expect(code).toBe(0);
  expect(stdout).toContain(
    "routeAddressRules  ends here: 403 access_denied\nresponse   403 Forbidden  (access_denied)\n",
  );
  const json = await edgeExplain("--json", "GET /a?q=<script>alert(1)</script>");
  const said = JSON.parse(json.stdout) as Explanation;
  expect(said.waf_rules).toContain("XSS-001");
  expect(said.response).toMatchObject({ by: "gateway", status: 403, reason: "waf_blocked" });
  expect(said.phases.at(-1)).toMatchObject({ name: "waf", verdict: "ended" });
});

test.each([
  [["GET /"], 0],
  [[], 2],
  [["GET nowhere"], 2],
  [["GET /a b"], 2],
  [["GET", "/a", "b"], 2],
  [["--client-ip", "me", "/a"], 2],
  [["-H", "no colon", "/a"], 2],
  [["--config", "missing.yaml", "/a"], 1],
] as const)("edge explain %p leaves with %d", async (args, code) => {
  expect((await edgeExplain(...args)).code).toBe(code);
});

test("bytes that are refused before the first phase are explained too", async () => {
  const { code, stdout } = await edgeExplain("GET /a", "-H", "Host: a", "-H", "Host: b");
  expect(code).toBe(0);
  expect(stdout).toContain("400 Bad Request  (duplicate_host)");
});

test("a request that waits for what is not done here is said to wait", async () => {
  const auth = {
    basic: {
      users: {
        alice: "$argon2id$v=19$m=65536,t=2,p=1$G1vG1vG1vG1vG1vG1vG1vA$G1vG1vG1vG1vG1vG1vG1vG1vG1vG1vG1vG1vG1vG1vA",
      },
    },
  };
  const routes = [{ type: "upstream", prefix: "/p", target: "http://10.0.0.5:8000", auth }];
  const none = await runEdge(["explain", "/p"], { routes });
  expect(none.stdout).toContain("auth  ends here: 401 ");
  const given = await runEdge(["explain", "/p", "-H", `Authorization: Basic ${btoa("alice:secret")}`], { routes });
  expect([given.code, given.stderr]).toEqual([0, ""]);
  expect(given.stdout).toContain("auth  ends here: it waits");
  expect(given.stdout).toContain("response   not known here\n");
});
