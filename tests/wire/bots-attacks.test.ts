// What programs try at tasks and passes, and what clients say of themselves. docs/bots.md#tasks-and-passes
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { sign, solve, taskOf } from "../harness/bot-solver.ts";
import { type Echo, EchoOrigin, echo } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { NameServer } from "../harness/name-server.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const SECRET = "a secret of the fleet";
const AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0";
const names = await NameServer.start();
const origin = EchoOrigin.start();
let reached = 0;
origin.otherwise((call) => {
  reached++;
  return echo(call);
});
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      trusted_proxies: ["127.0.0.1"],
      bots: { challenge: "all", difficulty: 10, ttl: "1h", secret: SECRET },
    },
    proxy: { transport: { nameservers: [names.address] } },
  },
  routes: [
    upstream("/", origin),
    { ...upstream("/harder", origin), bots: { difficulty: 12 } },
    { ...upstream("/shorter", origin), bots: { ttl: "60s" } },
    { ...upstream("/careful", origin), bots: { challenge: "suspicious" } },
    { ...upstream("/google-only", origin), bots: { challenge: "suspicious", allow: { crawlers: ["googlebot"] } } },
  ],
});
afterAll(async () => {
  names.stop();
  await stopAll(gateway, origin);
});
afterEach(() => {
  names.isBroken = false;
  names.isSilent = false;
});

interface Client {
  readonly from?: string;
  readonly agent?: string;
  readonly host?: string;
}

function ask(path: string, cookies: string | readonly string[], client: Client = {}): Promise<Reply> {
  const { from = "198.51.100.7", agent = AGENT, host = "gw.test" } = client;
  return gateway.once(
    request(`GET ${path}`, [
      `Host: ${host}`,
      `User-Agent: ${agent}`,
      "Accept: text/html",
      "Accept-Language: en",
      `X-Forwarded-For: ${from}`,
      ...[cookies]
        .flat()
        .filter((one) => one !== "")
        .map((one) => `Cookie: ${one}`),
    ]),
  );
}

async function statusOf(path: string, cookies: string | readonly string[], client?: Client): Promise<number> {
  return (await ask(path, cookies, client)).status;
}

const nowS = (): number => Math.floor(Date.now() / 1000);
const OWN = { network: "198.51.100", host: "gw.test", agent: AGENT, bits: 10 };
const pass = (more: object = {}): string =>
  `edge_pass=${sign(SECRET, { ...OWN, purpose: "pass", issuedS: nowS(), ...more })}`;
const task = (more: object = {}): string => sign(SECRET, { ...OWN, purpose: "task", issuedS: nowS(), ...more });
const solution = (more: object = {}): string => `edge_solution=${solve(task(more))}`;

describe("a pass", () => {
  test("that the gateway gave is that of its secret, and lets in", async () => {
    const page = await ask("/x", "");
    expect(taskOf(page.text)).toMatch(/^[0-9a-z]{6}\.10\.[\w-]{22}$/);
    const reply = await ask("/x", `edge_solution=${solve(taskOf(page.text))}`);
    const [given] = reply.fields.all("set-cookie")[0]!.split(";");
    const issuedS = Number.parseInt(taskOf(page.text).split(".")[0]!, 36);
    expect(given).toBe(pass({ issuedS }));
    expect(await statusOf("/x", given!)).toBe(200);
    expect(await statusOf("/x", pass())).toBe(200);
  });

  test("counts at every gateway with the secret, and at no other", async () => {
    const own = async (bots: object) => {
      const one = await startGateway({
        config: { server: { trusted_proxies: ["127.0.0.1"], bots: { challenge: "all", difficulty: 10, ...bots } } },
        routes: [{ type: "respond", prefix: "/", body: "in" }],
      });
      const lines = [`User-Agent: ${AGENT}`, "X-Forwarded-For: 198.51.100.7", `Cookie: ${pass()}`];
      const { status } = await one.once(request("GET /x", lines));
      await one.stop();
      return status;
    };
    expect(await own({ secret: SECRET })).toBe(200);
    expect(await own({ secret: `${SECRET} ` + "x" })).toBe(403);
    expect(await own({})).toBe(403);
  });

  const GOOD: readonly (readonly [string, () => [string | string[], Client?]])[] = [
    ["from the same /24", () => [pass(), { from: "198.51.100.250" }]],
    ["mapped into IPv6", () => [pass(), { from: "::ffff:198.51.100.9" }]],
    ["from the same /64", () => [pass({ network: "20010db800010002" }), { from: "2001:db8:1:2:ffff::1" }]],
    ["for more work", () => [pass({ bits: 20 })]],
    ["nearly too old", () => [pass({ issuedS: nowS() - 3590 })]],
    ["of a clock that is a little ahead", () => [pass({ issuedS: nowS() + 20 })]],
    ["for the host in another spelling", () => [pass(), { host: "GW.test.:8080" }]],
    ["among other cookies", () => [`a=1; ${pass()}; b=2`]],
    ["after others of the name", () => [`edge_pass=x; edge_pass=; ${pass({ bits: 8 })}; ${pass()}`]],
    ["in a second field", () => [["edge_pass=x", pass()]]],
  ];
  test.each(GOOD)("%s lets in", async (_, make) => {
    const [cookies, client] = make();
    expect(await statusOf("/x", cookies, client)).toBe(200);
  });

  const good = pass().slice("edge_pass=".length);
  const BAD: readonly (readonly [string, () => [string | string[], Client?, string?]])[] = [
    ["from another /24", () => [pass(), { from: "198.51.101.7" }]],
    ["from another /64", () => [pass({ network: "20010db800010002" }), { from: "2001:db8:1:3::1" }]],
    ["of IPv4 from IPv6", () => [pass(), { from: "2001:db8::1" }]],
    ["from what is no address", () => [pass(), { from: "unknown" }]],
    ["of another user agent", () => [pass(), { agent: `${AGENT} ` + "x" }]],
    ["of no user agent", () => [pass(), { agent: "" }]],
    ["of another host", () => [pass(), { host: "other.test" }]],
    ["of a host below", () => [pass(), { host: "a.gw.test" }]],
    ["that is too old", () => [pass({ issuedS: nowS() - 3700 })]],
    ["that is too old for the route", () => [pass({ issuedS: nowS() - 70 }), {}, "/shorter/x"]],
    ["of the future", () => [pass({ issuedS: nowS() + 3600 })]],
    ["for less work", () => [pass({ bits: 9 })]],
    ["for less work than the route asks", () => [pass(), {}, "/harder/x"]],
    ["that is a task", () => [`edge_pass=${task()}`]],
    ["that is a solution", () => [`edge_pass=${solve(task())}`]],
    ["of another secret", () => [`edge_pass=${sign("another secret", { ...OWN, purpose: "pass", issuedS: nowS() })}`]],
    ["with more work written into it", () => [`edge_pass=${good.replace(".10.", ".20.")}`, {}, "/harder/x"]],
    ["that is cut", () => [`edge_pass=${good.slice(0, -1)}`]],
    ["that goes on", () => [`edge_pass=${good}A`]],
    ["with a changed bit", () => [`edge_pass=${good.slice(0, -1)}${good.endsWith("A") ? "B" : "A"}`]],
    ["in quotes", () => [`edge_pass="${good}"`]],
    ["in another case of its name", () => [`Edge_Pass=${good}`]],
    ["in a longer name", () => [`xedge_pass=${good}; edge_pass2=${good}`]],
    ["in the value of another", () => [`a=edge_pass=${good}`]],
    ["after too many others of the name", () => [`${"edge_pass=x; ".repeat(4)}${pass()}`]],
    ["of 8 KB", () => [`edge_pass=${good}${"A".repeat(8000)}`]],
    ["of bytes that are no text", () => ["edge_pass=\x80\xff\xfe"]],
    ["without a value", () => ["edge_pass="]],
    ["without anything", () => ["edge_pass"]],
    ["of dots", () => ["edge_pass=...."]],
    ["with a number that is none", () => [`edge_pass=zzzzzzzz.10.${"A".repeat(22)}`]],
    ["of zero bits", () => [pass({ bits: 0 })]],
    ["of negative bits", () => [pass({ bits: -1 })]],
  ];
  test.each(BAD)("%s does not", async (_, make) => {
    const before = reached;
    const [cookies, client, path = "/x"] = make();
    const reply = await ask(path, cookies, client);
    expect([reply.status, reply.fields.has("set-cookie")]).toEqual([403, false]);
    expect(reached).toBe(before);
  });

  test("likewise over HTTP/2, however its cookies are cut into fields", async () => {
    const h2 = await H2Client.connect(gateway.port);
    const get = async (cookies: readonly string[], from = "198.51.100.7") => {
      const fields = [
        ["user-agent", AGENT],
        ["accept", "text/html"],
        ["x-forwarded-for", from],
        ...cookies.map((one) => ["cookie", one] as const),
      ] as const;
      return Number((await h2.request(head("GET", "/x", fields))).status);
    };
    expect(await get(["a=1", pass(), "b=2"])).toBe(200);
    expect(await get([`a=1; ${pass()}`, "b=2"])).toBe(200);
    expect(await get([pass()], "198.51.101.7")).toBe(403);
    expect(await get([`${pass()}A`])).toBe(403);
    expect(await get([...Array.from({ length: 50 }, () => "edge_pass=x"), pass()])).toBe(403);
    const sending = head("POST", "/x", [
      ["user-agent", AGENT],
      ["accept", "text/html"],
    ]);
    const refused = await h2.request(sending, "a=b".repeat(5000));
    expect([Number(refused.status), refused.body.toString().includes('data-sends="true"')]).toEqual([403, true]);
    h2.close();
  });
});

describe("a solution", () => {
  test("that is sent again gives the same pass, which does not last longer", async () => {
    const cookie = solution({ issuedS: nowS() - 200 });
    const first = (await ask("/x", cookie)).fields.all("set-cookie")[0]!;
    await Bun.sleep(1100);
    expect((await ask("/x", cookie)).fields.all("set-cookie")[0]).toBe(first);
    expect(Number.parseInt(/edge_pass=(\w+)\./.exec(first)![1]!, 36)).toBeLessThan(nowS() - 199);
  });

  const unsolved = (): string => {
    const text = task();
    for (let i = 0; ; i++)
      if (solve(text) !== `${text}.${i.toString(36)}`) return `edge_solution=${text}.${i.toString(36)}`;
  };
  const BAD: readonly (readonly [string, string, () => [string, Client?, string?]])[] = [
    ["that does not solve the task", "unsolved", () => [unsolved()]],
    ["of an old task", "expired", () => [solution({ issuedS: nowS() - 310 })]],
    ["of a task of the future", "expired", () => [solution({ issuedS: nowS() + 120 })]],
    ["of an easier task", "weak", () => [solution({ bits: 8 })]],
    ["of another route's easier task", "weak", () => [solution(), {}, "/harder/x"]],
    ["from another network", "forged", () => [solution(), { from: "203.0.113.1" }]],
    ["of another user agent", "forged", () => [solution(), { agent: "other" }]],
    ["of another host", "forged", () => [solution(), { host: "other.test" }]],
    ["of a task of its own", "forged", () => [`edge_solution=${solve(`${nowS().toString(36)}.10.${"A".repeat(22)}`)}`]],
    [
      "that is a pass",
      "forged",
      () => [`edge_solution=${sign(SECRET, { ...OWN, purpose: "pass", issuedS: nowS() })}.0`],
    ],
    ["that is a task", "malformed", () => [`edge_solution=${task()}`]],
    ["that goes on", "malformed", () => [`${solution()}.1`]],
    ["of 8 KB", "malformed", () => [`${solution()}${"a".repeat(8000)}`]],
    ["of nothing", "malformed", () => ["edge_solution="]],
  ];
  test.each(BAD)("%s is refused", async (_, why, make) => {
    const before = await gateway.metric("gateway_bot_solutions_total", { result: why });
    const reached_before = reached;
    const [cookies, client, path = "/x"] = make();
    const reply = await ask(path, cookies, client);
    expect([reply.status, reply.fields.has("set-cookie")]).toEqual([403, false]);
    // It is asked to begin anew by the reader, so that no browser goes in circles.
    expect(reply.text).toContain('data-again="true"');
    expect(await gateway.metric("gateway_bot_solutions_total", { result: why })).toBe(before + 1);
    expect(reached).toBe(reached_before);
  });

  const TARGETS = [
    "//evil.test/x",
    "/\\evil.test/x",
    "/%2f%2fevil.test",
    "/%5cevil.test",
    "http://evil.test/x",
    "http://gw.test@evil.test/x",
    "/x?next=https://evil.test",
    "/x?return=//evil.test#//evil.test",
    "/%0d%0aLocation:%20https://evil.test",
    "/x%09//evil.test",
    '/"><script>alert(1)</script>',
    "/x?'-alert(1)-'",
    "/javascript:alert(1)",
  ];
  test.each(TARGETS)("of %s leads nowhere else", async (target) => {
    for (const cookies of ["", solution(), pass()]) {
      const reply = await ask(target, cookies);
      expect(reply.fields.has("location")).toBe(false);
      expect(reply.fields.get("refresh")).toBe(null);
      if (reply.status === 403) expect(reply.text).not.toMatch(/evil|alert\(1\)/);
    }
  });

  test("in a flood costs each the same, and no more than a request", async () => {
    const forged = `edge_solution=${solve(`${nowS().toString(36)}.10.${"A".repeat(22)}`)}`;
    const lines = (cookies: string) =>
      request("GET /x", [`User-Agent: ${"x".repeat(4000)}`, "X-Forwarded-For: 203.0.113.9", `Cookie: ${cookies}`]);
    const many = Array.from({ length: 90 }, () => forged).join("; ");
    const connection = await gateway.connect();
    const time = async (bytes: Uint8Array) => {
      const began = performance.now();
      for (let i = 0; i < 200; i++) expect((await connection.exchange(bytes)).status).toBe(403);
      return performance.now() - began;
    };
    await time(lines(forged));
    const one = await time(lines(forged));
    const ninety = await time(lines(many));
    console.log(
      `200 refusals: ${one.toFixed(0)} ms with one forged solution each, ${ninety.toFixed(0)} ms with ninety`,
    );
    expect(ninety).toBeLessThan(one * 4 + 200);
    connection.close();
  });
});

describe("a search engine", () => {
  const GOOGLE =
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
  const BING = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0)";
  const crawl = (from: string, path = "/careful/x", agent = GOOGLE) => statusOf(path, "", { from, agent });

  function place(address: string, name: string, ...addresses: string[]): void {
    names.pointers.set(`${address.split(".").reverse().join(".")}.in-addr.arpa`, [name]);
    names.zones.set(name.toLowerCase(), { addresses, ttl: 60 });
  }

  test("is let in from an address whose name leads back to it, and asked about once", async () => {
    place("192.0.2.1", "Crawl-1.Googlebot.com", "192.0.2.1");
    for (let i = 0; i < 3; i++) expect(await crawl("192.0.2.1")).toBe(200);
    expect(await crawl("192.0.2.1", "/x")).toBe(200);
    expect(names.reversed.filter((name) => name.startsWith("1.2.0.192."))).toHaveLength(1);
    expect(await gateway.metric("gateway_bot_crawlers_total", { result: "verified" })).toBe(1);
  });

  test("is let in from an IPv6 address likewise", async () => {
    const name = "crawl-6.googlebot.com";
    names.pointers.set(`1.${"0.".repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`, [name]);
    names.zones.set(name, { addresses: ["2001:0db8:0000:0000:0000:0000:0000:0001"], ttl: 60 });
    expect(await crawl("2001:db8::1")).toBe(200);
    expect(await crawl("2001:db8::2")).toBe(403);
  });

  test("is let in many at a time with one question", async () => {
    place("192.0.2.2", "crawl-2.googlebot.com", "192.0.2.2");
    const found = await Promise.all(Array.from({ length: 20 }, () => crawl("192.0.2.2")));
    expect(new Set(found)).toEqual(new Set([200]));
    expect(names.reversed.filter((name) => name.startsWith("2.2.0.192."))).toHaveLength(1);
  });

  const FALSE: readonly (readonly [string, string, string, readonly string[]])[] = [
    ["no name", "192.0.2.10", "", []],
    ["a name of another domain", "192.0.2.11", "crawl.evil.test", ["192.0.2.11"]],
    ["a name that only ends so", "192.0.2.12", "crawl.evilgooglebot.com", ["192.0.2.12"]],
    ["a name that begins so", "192.0.2.13", "crawl.googlebot.com.evil.test", ["192.0.2.13"]],
    ["the domain itself", "192.0.2.14", "googlebot.com", ["192.0.2.14"]],
    ["a name of Google's customers", "192.0.2.15", "15.2.0.192.bc.googleusercontent.com", ["192.0.2.15"]],
    ["a name that leads elsewhere", "192.0.2.16", "crawl-16.googlebot.com", ["192.0.2.1"]],
    ["a name that leads nowhere", "192.0.2.17", "crawl-17.googlebot.com", []],
    ["another search engine's name", "192.0.2.18", "msnbot-18.search.msn.com", ["192.0.2.18"]],
  ];
  test.each(FALSE)("is not one with %s", async (_, address, name, addresses) => {
    if (name !== "") place(address, name, ...addresses);
    expect(await crawl(address)).toBe(403);
    expect(await crawl(address)).toBe(403);
    expect(names.reversed.filter((one) => one.startsWith(address.split(".").reverse().join(".")))).toHaveLength(1);
    // A name outside the domains is never asked for.
    if (/evil|customers|usercontent/.test(name)) expect(names.asked).not.toContain(name);
  });

  test("that the route does not name is asked like all who say so", async () => {
    place("192.0.2.20", "msnbot-20.search.msn.com", "192.0.2.20");
    expect(await crawl("192.0.2.20", "/careful/x", BING)).toBe(200);
    expect(await crawl("192.0.2.20", "/google-only/x", BING)).toBe(403);
    expect(await crawl("192.0.2.1", "/google-only/x")).toBe(200);
  });

  test("may solve the task, as any client", async () => {
    const agent = GOOGLE;
    const cookie = pass({ agent, network: "192.0.2" });
    expect(await statusOf("/careful/x", cookie, { from: "192.0.2.10", agent })).toBe(200);
  });

  test("is asked for the task while name servers fail, and let in a little later", async () => {
    place("192.0.2.30", "crawl-30.googlebot.com", "192.0.2.30");
    names.isBroken = true;
    expect(await crawl("192.0.2.30")).toBe(403);
    names.isBroken = false;
    await eventually(async () => expect(await crawl("192.0.2.30")).toBe(200), 10_000);
  }, 20_000);

  test("waits for slow name servers without holding others up, and not for long", async () => {
    names.isSilent = true;
    const began = performance.now();
    const waiting = Array.from({ length: 200 }, (_, i) => crawl(`203.0.${i % 100}.${i}`));
    await Bun.sleep(50);
    const quick = performance.now();
    expect(await statusOf("/x", pass())).toBe(200);
    expect(performance.now() - quick).toBeLessThan(1000);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([403]));
    expect(performance.now() - began).toBeLessThan(8000);
  }, 20_000);

  test("that leaves while it waits harms no other", async () => {
    names.isSilent = true;
    for (let i = 0; i < 20; i++) {
      const connection = await gateway.connect();
      const lines = [`User-Agent: ${GOOGLE}`, `X-Forwarded-For: 203.1.${i}.1`];
      connection.send(Buffer.concat([request("GET /careful/x", lines), request("GET /careful/y", lines)]));
      await Bun.sleep(1);
      connection.close();
    }
    await Bun.sleep(2500);
    expect(await statusOf("/x", pass())).toBe(200);
  }, 20_000);

  test("that sends something is not verified", async () => {
    const before = names.reversed.length;
    const lines = [`User-Agent: ${GOOGLE}`, "X-Forwarded-For: 192.0.2.77"];
    expect((await gateway.once(request("POST /careful/x", lines, "a=b"))).status).toBe(403);
    expect(names.reversed.length).toBe(before);
  });
});

test("what it lets in is what came", async () => {
  const reply = await ask("/x?a=%2F", [pass(), "a=1"]);
  expect(json<Echo>(reply)).toMatchObject({ target: "/x?a=%2F", headers: { cookie: "a=1", "user-agent": AGENT } });
});
