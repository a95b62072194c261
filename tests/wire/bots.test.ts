// Tasks for browsers: who is asked, who is let in, and what goes on to origins. docs/bots.md
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { solve, taskOf } from "../harness/bot-solver.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin, echo } from "../harness/echo-origin.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import browsers from "../vectors/bots/browsers.json";

const AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0";
const BROWSER = [
  `User-Agent: ${AGENT}`,
  "Accept: text/html,application/xhtml+xml,*/*;q=0.8",
  "Accept-Language: en",
  "Accept-Encoding: gzip",
];
const PROGRAM = ["User-Agent: app/1.0", "Accept: application/json"];
const tlsPort = freePort();
const { cert, key } = await makeCertificate();
const origin = EchoOrigin.start();
let reached = 0;
origin.otherwise((call) => {
  reached++;
  return echo(call);
});
origin.on("/cached", (call) => {
  reached++;
  call.send("HTTP/1.1 200 OK\r\nCache-Control: public, max-age=600\r\nContent-Length: 6\r\n\r\nsecret");
});
const gateway = await startGateway({
  config: {
    server: {
      workers: 2,
      trusted_proxies: ["127.0.0.1"],
      cache: { enabled: true },
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      bots: {
        challenge: "all",
        difficulty: 8,
        allow: { cidr: ["192.0.2.0/24"], user_agents: ["UptimeRobot/"], paths: ["/robots.txt", "/feed/*", "/open"] },
        scrapers_file: "scrapers.txt",
        robots: { ai: "disallow", rules_file: "robots.txt" },
      },
    },
  },
  files: {
    "a.pem": cert,
    "a.key": key,
    "robots.txt": "User-agent: *\nDisallow: /admin\n",
    "scrapers.txt": "# ours\nBadCopier\n",
    "f/page.html": "<p>the page</p>",
  },
  routes: [
    upstream("/", origin),
    { ...upstream("/node", origin), strip_prefix: true },
    { ...upstream("/api", origin), bots: false },
    { ...upstream("/careful", origin), bots: { challenge: "suspicious" } },
    { type: "static", prefix: "/files", dir: "f" },
    { type: "respond", prefix: "/said", body: "said" },
  ],
});
afterAll(() => stopAll(gateway, origin));

function ask(start: string, lines: readonly string[], body?: string): Promise<Reply> {
  return gateway.once(request(start, lines, body));
}

async function statusOf(path: string, ...lines: readonly string[]): Promise<number> {
  return (await ask(`GET ${path}`, lines)).status;
}

/** The cookie pair that a solved task gives. */
async function earn(path = "/x", lines: readonly string[] = BROWSER): Promise<string> {
  const page = await ask(`GET ${path}`, lines);
  const let_in = await ask(`GET ${path}`, [...lines, `Cookie: edge_solution=${solve(taskOf(page.text))}`]);
  return let_in.fields.all("set-cookie")[0]!.split(";")[0]!;
}

describe("who is asked", () => {
  test("a browser gets the page, whole in itself, that no cache keeps", async () => {
    const before = reached;
    const reply = await ask("GET /x?a=1", BROWSER);
    expect(reply.status).toBe(403);
    expect(reply.fields.toObject()).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "x-robots-tag": "noindex",
      "x-content-type-options": "nosniff",
    });
    const policy = reply.fields.get("content-security-policy")!;
    expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'; /);
    expect(policy).not.toContain("unsafe");
    expect(reply.text).not.toMatch(/\b(src|href|action)=|url\(|https?:\/\//);
    expect(reply.text).toContain(reply.fields.get("x-request-id")!);
    expect(reply.fields.has("set-cookie")).toBe(false);
    expect(reached).toBe(before);
  });

  test("HEAD gets the head of it, and a program JSON", async () => {
    const whole = await ask("GET /x", BROWSER);
    const reply = await ask("HEAD /x", BROWSER);
    expect([reply.status, reply.body.length]).toEqual([403, 0]);
    expect(reply.fields.get("content-type")).toBe(whole.fields.get("content-type"));
    for (const lines of [PROGRAM, ["User-Agent: app/1.0"], ["User-Agent: app/1.0", "Accept: */*"]]) {
      const refused = await ask("GET /x", lines);
      expect([refused.status, refused.fields.get("content-type")]).toEqual([403, "application/json"]);
      expect(refused.fields.get("cache-control")).toBe("no-store");
      expect(json(refused).error).toBe("403 Forbidden");
    }
  });

  test("a WebSocket gets JSON, and goes through with a pass", async () => {
    const lines = ["Connection: Upgrade", "Upgrade: websocket", `User-Agent: ${AGENT}`, "Accept: */*"];
    expect((await ask("GET /socket", lines)).fields.get("content-type")).toBe("application/json");
    expect((await ask("GET /socket", [...lines, `Cookie: ${await earn()}`])).status).toBe(101);
  });

  test("what is sent without a pass is not kept: the page says to reload, and the connection goes on", async () => {
    const before = reached;
    const connection = await gateway.connect();
    const reply = await connection.exchange(request("POST /x", BROWSER, "a=b"));
    expect([reply.status, reply.text.includes('data-sends="true"')]).toEqual([403, true]);
    expect(reached).toBe(before);
    const pass = await earn();
    const next = await connection.exchange(request("POST /x", [...BROWSER, `Cookie: ${pass}`], "a=b"));
    expect([next.status, json<Echo>(next).length]).toEqual([200, 3]);
    connection.close();
  });

  test.each(["/health", "/api/x", "/feed/a", "/feed/", "/open", "/robots.txt", "/%6fpen", "//open", "/x/../open"])(
    "%s is open",
    async (path) => {
      expect(await statusOf(path, ...BROWSER)).toBe(200);
    },
  );

  test.each([
    "/feed",
    "/feeds",
    "/open/",
    "/open/x",
    "/opened",
    "/OPEN",
    "/feed/../x",
    "/feed/%2e%2e/x",
    "/feed/..%2fx",
    "/feed/..;/x",
    "/feed/..%252fx",
    "/feed/%252e%252e/x",
    "/feed/..%5cx",
    "/open%3f",
    "/open;x",
    "/x?/feed/",
    "/x#/feed/",
    "/api/../x",
    "/files/page.html",
    "/said",
    "/node/x",
  ])("%s is not", async (path) => {
    expect([400, 403]).toContain(await statusOf(path, ...BROWSER));
  });

  test("networks and user agents that are named are let in", async () => {
    expect(await statusOf("/x", ...PROGRAM, "X-Forwarded-For: 192.0.2.200")).toBe(200);
    expect(await statusOf("/x", ...PROGRAM, "X-Forwarded-For: 192.0.3.1")).toBe(403);
    expect(await statusOf("/x", "User-Agent: Mozilla/5.0 (compatible; uptimerobot/2.0)")).toBe(200);
    expect(await statusOf("/x", "User-Agent: app", "X-Agent: UptimeRobot/2.0")).toBe(403);
  });
});

describe("a solved task", () => {
  test("lets in at once, gives a cookie, and loads what was wanted", async () => {
    const page = await ask("GET /wanted?a=b", BROWSER);
    const reply = await ask("GET /wanted?a=b", [
      ...BROWSER,
      `Cookie: a=1; edge_solution=${solve(taskOf(page.text))}; b=2`,
    ]);
    expect([reply.status, json<Echo>(reply).target, reply.fields.has("location")]).toEqual([200, "/wanted?a=b", false]);
    expect(json<Echo>(reply).headers.cookie).toBe("a=1; b=2");
    const [pass, solution] = reply.fields.all("set-cookie");
    expect(pass).toMatch(/^edge_pass=[\w.-]+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/);
    expect(solution).toBe("edge_solution=; Path=/; Max-Age=0; SameSite=Lax");
    expect(reply.fields.get("cache-control")).toContain("private");
  });

  test("gives a Secure cookie over TLS", async () => {
    const lines = [...BROWSER, "X-Forwarded-Proto: https"];
    const page = await ask("GET /x", lines);
    const reply = await ask("GET /x", [...lines, `Cookie: edge_solution=${solve(taskOf(page.text))}`]);
    expect(reply.fields.all("set-cookie")[0]).toEndWith("; Secure");
  });

  test("the cookies do not go on, wherever they are among others, and on routes without a task neither", async () => {
    const pass = await earn();
    const rows: readonly (readonly [readonly string[], string | undefined])[] = [
      [[`Cookie: ${pass}`], undefined],
      [[`Cookie: a=1; ${pass}`], "a=1"],
      [[`Cookie: ${pass};a=1`], "a=1"],
      [[`Cookie: edge_pass=x; ${pass}; edge_solution=y; a=1; my_edge_pass=2`], "a=1; my_edge_pass=2"],
      [[`Cookie:   ${pass} ; edge_passes=3`], "edge_passes=3"],
    ];
    // Each is answered by the origin, and not out of the cache.
    let n = 0;
    for (const [lines, kept] of rows) {
      for (const path of ["/x", "/node/x", "/api/x", "/careful/x", "/open"]) {
        const reply = await ask(`GET ${path}?${n++}`, [...BROWSER, ...lines]);
        expect([path, reply.status, json<Echo>(reply).headers.cookie]).toEqual([path, 200, kept]);
      }
    }
    const both = await ask(`GET /x?${n}`, [...BROWSER, "Cookie: a=1", `Cookie: ${pass}`, "Cookie: b=2"]);
    expect([json<Echo>(both).headers.cookie].flat().join("; ")).toBe("a=1; b=2");
  });

  test("counts in all workers, for files and fixed responses too, and after a reload", async () => {
    const pass = await earn();
    for (const path of ["/said", "/files/page.html"]) expect(await earn(path)).toMatch(/^edge_pass=\w/);
    const get = (path: string) => statusOf(path, ...BROWSER, `Cookie: ${pass}`);
    for (let i = 0; i < 10; i++) expect(await get("/x")).toBe(200);
    expect([await get("/files/page.html"), await get("/said")]).toEqual([200, 200]);
    const path = join(gateway.folder, "config.yaml");
    const before = readFileSync(path, "utf8");
    const reload = async (difficulty: number) => {
      const config = parse(before) as { server: { bots: object } };
      config.server.bots = { ...config.server.bots, difficulty };
      writeFileSync(path, stringify(config));
      await gateway.reload();
    };
    await reload(9);
    expect(await get("/x")).toBe(403);
    await reload(8);
    expect(await get("/x")).toBe(200);
  });

  test("is neither stored nor asked for by the cache", async () => {
    const pass = await earn();
    const cached = (...lines: string[]) => ask("GET /node/cached", [...BROWSER, ...lines]);
    expect((await cached()).status).toBe(403);
    const page = await ask("GET /node/cached", BROWSER);
    const first = await cached(`Cookie: edge_solution=${solve(taskOf(page.text))}`);
    expect([first.text, first.fields.get("x-cache"), first.fields.all("set-cookie").length]).toEqual([
      "secret",
      "MISS",
      2,
    ]);
    const again = await cached(`Cookie: ${pass}`);
    expect([again.text, again.fields.get("x-cache"), again.fields.all("set-cookie").length]).toEqual([
      "secret",
      "HIT",
      0,
    ]);
    for (const lines of [[], ["Accept: */*"], ["Cookie: edge_pass=x"], ["Range: bytes=0-1"], ["If-None-Match: *"]]) {
      const refused = await cached(...lines);
      expect([refused.status, refused.text.includes("secret")]).toEqual([403, false]);
    }
  });

  test("over HTTP/2 and HTTP/3 as well", async () => {
    const fields = [
      ["user-agent", AGENT],
      ["accept", "text/html"],
      ["accept-language", "en"],
    ] as const;
    const h2 = await H2Client.connect(gateway.port);
    const page = await h2.request(head("GET", "/x", fields));
    expect(Number(page.status)).toBe(403);
    const cookies = [
      ["cookie", "a=1"],
      ["cookie", `edge_solution=${solve(taskOf(page.body.toString()))}`],
    ] as const;
    const over2 = await h2.request(head("GET", "/x?h2", [...fields, ...cookies]));
    h2.close();
    expect(Number(over2.status)).toBe(200);
    expect((JSON.parse(over2.body.toString()) as Echo).headers.cookie).toBe("a=1");
    const h3 = await H3Client.connect(tlsPort);
    const ask3 = (more: Record<string, string> = {}) =>
      h3.ask("GET", "/x?h3", { "user-agent": AGENT, accept: "text/html", "sec-fetch-mode": "navigate", ...more });
    const task = taskOf((await ask3()).body.toString());
    const over3 = await ask3({ cookie: `edge_solution=${solve(task)}` });
    h3.close();
    expect(over3.status).toBe(200);
    expect(String(over3.fields["set-cookie"])).toContain("Secure");
  });
});

describe("where only the suspicious are asked", () => {
  const rows = browsers.flatMap(({ name, tls, fields, ...more }) =>
    (["http1" in more ? "" : "HTTP/2", "HTTP/1.1"] as const)
      .filter((version) => version !== "")
      .map((version) => [name, version, tls, fields as [string, string][]] as const),
  );

  test.each(rows)("%s is not, over %s", async (_, version, tls, fields) => {
    const all = [
      ...fields,
      ["x-forwarded-proto", tls ? "https" : "http"],
      ["x-forwarded-for", "198.51.100.7"],
    ] as const;
    if (version === "HTTP/1.1") {
      const lines = all.map(([name, value]) => `${name}: ${value}`);
      const upgrades = fields.some(([name]) => name === "upgrade");
      const reply = await ask(upgrades ? "GET /careful/socket" : "GET /careful/x", lines);
      expect(reply.status).toBe(upgrades ? 101 : 200);
      return;
    }
    const h2 = await H2Client.connect(gateway.port);
    const reply = await h2.request(head("GET", "/careful/x", all));
    h2.close();
    expect(Number(reply.status)).toBe(200);
  });

  const without = (name: string) => BROWSER.filter((line) => !line.startsWith(`${name}:`));
  const SUSPICIOUS: readonly (readonly [string, readonly string[], string?])[] = [
    ["no_user_agent", without("User-Agent")],
    ["no_user_agent", [...without("User-Agent"), "User-Agent:"]],
    ["repeated_user_agent", [...BROWSER, "User-Agent: app"]],
    ["scraper", [...without("User-Agent"), "User-Agent: Mozilla/5.0 (compatible; badCOPIER/1.0) Gecko/1"]],
    ["no_engine", [...without("User-Agent"), "User-Agent: Mozilla/5.0"]],
    ["no_engine", [...without("User-Agent"), "User-Agent: Mozilla/5.0 (compatible; Thing/1.0; +http://thing.test)"]],
    ["no_accept", without("Accept")],
    ["no_accept_language", without("Accept-Language")],
    ["no_fetch_metadata", [...BROWSER, "X-Forwarded-Proto: https"]],
    ["crawler", ["User-Agent: Mozilla/5.0 AppleWebKit/537.36 (compatible; bingbot/2.0)", "Accept: */*"], "POST"],
  ];

  // Of a flood of refusals the log has twenty a second.
  beforeAll(() => Bun.sleep(1100));

  test.each(SUSPICIOUS)("%s is", async (reason, lines, method = "GET") => {
    const seen = gateway.logs.json.length;
    expect((await ask(`${method} /careful/x`, lines, method === "POST" ? "x" : undefined)).status).toBe(403);
    const line = await gateway.log(
      reason,
      (one) => one.event === "bot_challenge" && gateway.logs.json.indexOf(one) >= seen,
    );
    expect([line.reason, line.status, line.route]).toEqual([reason, 403, "/careful"]);
    expect(typeof line.request_id).toBe("string");
  });

  test.each(["x", "websocket", "h2c", "websocket, x"])("an upgrade takes no suspicion away: %s", async (protocol) => {
    for (const [reason, lines, method = "GET"] of SUSPICIOUS) {
      const seen = gateway.logs.json.length;
      const upgrade = [
        "Connection: Upgrade",
        `Upgrade: ${protocol}`,
        "Sec-WebSocket-Key: x",
        "Origin: https://gw.test",
      ];
      expect((await ask(`${method} /careful/x`, [...upgrade, ...lines])).status).toBe(403);
      const line = await gateway.log(
        reason,
        (one) => one.event === "bot_challenge" && gateway.logs.json.indexOf(one) >= seen,
      );
      expect(line.reason).toBe(reason);
      await Bun.sleep(60);
    }
  });

  test("HTTP/1.0 is, where a browser says so and no trusted proxy speaks it", async () => {
    expect(await statusOf("/careful/x HTTP/1.0", ...BROWSER)).toBe(200);
    expect(await gateway.once(request("GET /careful/x HTTP/1.0", ["User-Agent: ApacheBench/2.3"]))).toMatchObject({
      status: 200,
    });
  });

  test.each(["curl/8.5.0", "python-requests/2.31", "okhttp/4.12", "Go-http-client/2.0"])("%s is not", async (agent) => {
    expect(await statusOf("/careful/x", `User-Agent: ${agent}`)).toBe(200);
  });

  test("a pass lets in those who are, too", async () => {
    const lines = without("Accept-Language");
    expect(await statusOf("/careful/x", ...lines, `Cookie: ${await earn("/careful/x", lines)}`)).toBe(200);
  });
});

describe("robots.txt", () => {
  test("names crawlers for AI, then the rules of the site", async () => {
    const reply = await ask("GET /robots.txt", ["User-Agent: GPTBot"]);
    expect(reply.status).toBe(200);
    expect(reply.fields.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(reply.text).toMatch(/^(User-agent: [\w\- ]+\n)+Disallow: \/\n\nUser-agent: \*\nDisallow: \/admin\n$/);
    expect(reply.text).toContain("User-agent: GPTBot\n");
  });

  test("is a route's own where one has that path, and the site's where the gateway is not told to", async () => {
    const mine = await startGateway({
      config: { server: { workers: 1, bots: { challenge: "off", robots: { agents_file: "ai.txt" } } } },
      files: { "ai.txt": "OnlyThis  # one\n\n" },
      routes: [{ type: "respond", prefix: "/", body: "site" }],
    });
    expect((await mine.once(request("GET /robots.txt"))).text).toBe(
      "User-agent: OnlyThis\nDisallow: /\n\nUser-agent: *\nDisallow:\n",
    );
    expect((await mine.once(request("GET /x"))).text).toBe("site");
    const routes = join(mine.folder, "routes.yaml");
    writeFileSync(routes, stringify([{ type: "respond", path: "/robots.txt", body: "own" }]));
    expect((await mine.reload()).ok).toBe(true);
    expect((await mine.once(request("GET /robots.txt"))).text).toBe("own");
    await mine.stop();
  });
});

describe("what is seen of it", () => {
  test("counts", async () => {
    expect(await gateway.metric("gateway_bot_challenges_total", { form: "page" })).toBeGreaterThan(5);
    expect(await gateway.metric("gateway_bot_challenges_total", { form: "json" })).toBeGreaterThan(5);
    expect(await gateway.metric("gateway_bot_solutions_total", { result: "accepted" })).toBeGreaterThan(5);
    expect(await gateway.metric("gateway_requests_total", { code: "403" })).toBeGreaterThan(5);
  });

  test("edge explain names the reason, and asks no name server", async () => {
    const explain = async (...args: string[]) => (await runEdge(["explain", ...args], {}, gateway.folder)).stdout;
    expect(await explain("GET http://gw.test/careful/x", "-H", "User-Agent: Mozilla/5.0")).toMatch(
      /bots +ends here: 403 bot_challenge: no_engine/,
    );
    expect(await explain("GET http://gw.test/x")).toContain("403 bot_challenge: all");
    expect(await explain("GET http://gw.test/careful/x", "-H", "User-Agent: Googlebot/2.1")).toContain("bots");
    expect(await explain("GET http://gw.test/careful/x")).not.toContain("ends here");
  });
});
