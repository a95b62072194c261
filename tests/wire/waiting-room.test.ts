// docs/waiting-room.md
import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const HTML = "Accept: text/html,*/*;q=0.8";
const tlsPort = freePort();
const { cert, key } = await makeCertificate();
const origin = EchoOrigin.start();
const room = (prefix: string, waiting_room: object, more: object = {}) =>
  upstream(prefix, origin, { waiting_room, ...more });
const routes = (active: number) => [
  room("/shop", { active, session: "1h", queue: 3, patience: "1h" }),
  room("/small", { active: 2, session: "1h", exempt: ["/small/assets/*", "/small/health"] }),
  room("/other", { active: 1, session: "1h", queue: 1000, per_address: 3 }),
  room("/quick", { active: 1, session: "1s", patience: "1s" }),
  room("/crowd", { active: 40, session: "1h", queue: 30, per_address: 1000 }),
  upstream("/plain", origin),
];
const gateway = await startGateway({
  config: {
    server: {
      workers: 3,
      trusted_proxies: ["127.0.0.1"],
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      access_log: { fields: ["path", "status", "fault", "waiting_room"] },
    },
  },
  files: { "a.pem": cert, "a.key": key },
  routes: routes(2),
});
afterAll(() => stopAll(gateway, origin));

const cookieIn = (reply: { fields: { get(name: string): string | null | undefined } }): string => {
  return (reply.fields.get("set-cookie") ?? "").split(";")[0]!;
};

/** A visitor with a cookie jar, at an address of its own. */
class Visitor {
  cookie = "";
  constructor(
    readonly path: string,
    readonly address: string,
    readonly lines: readonly string[] = ["Accept: application/json"],
  ) {}

  async ask(path = this.path, start = "GET"): Promise<Reply> {
    const cookies = this.cookie === "" ? [] : [`Cookie: mine=1; ${this.cookie}`];
    const from = [`X-Forwarded-For: ${this.address}`, ...cookies, ...this.lines];
    const reply = await gateway.once(request(`${start} ${path}`, from), start);
    const given = cookieIn(reply);
    if (given !== "") this.cookie = given;
    return reply;
  }

  /** Its turn; 0 if it is in. */
  async turn(): Promise<number> {
    const reply = await this.ask();
    return reply.status === 200 ? 0 : json<{ place: number }>(reply).place;
  }
}

const waiting = (route: string) => gateway.metric("gateway_waiting_room_waiting", { route });
const results = (route: string, result: string) =>
  gateway.metric("gateway_waiting_room_visitors_total", { route, result });

test("so many visitors are in, the others wait in the order in which they came, whatever the configuration that follows", async () => {
  const [a, b, c, d, e, f] = ["1", "2", "3", "4", "5", "6"].map((n) => new Visitor("/shop/", `10.0.0.${n}`)) as [
    Visitor,
    Visitor,
    Visitor,
    Visitor,
    Visitor,
    Visitor,
  ];
  const first = await a.ask();
  expect(first.status).toBe(200);
  expect(first.fields.get("set-cookie")).toMatch(
    /^edge_room_[0-9a-f]{8}=i\.[^;]+; Path=\/; Max-Age=7200; HttpOnly; SameSite=Lax$/,
  );
  expect(first.fields.get("cache-control")).toBe("private");
  expect([await b.turn(), await c.turn(), await d.turn(), await e.turn()]).toEqual([0, 1, 2, 3]);
  const full = await f.ask();
  expect([full.status, json(full)]).toEqual([
    503,
    {
      error: "503 Service Unavailable",
      message: "this site and its queue are full, try again later",
      retry_after: 5,
    },
  ]);
  expect(full.fields.get("set-cookie")).toBeNull();

  const page = await new Visitor("/shop/", "10.0.0.3", [HTML]).ask();
  expect([page.status, page.fields.get("content-type")]).toEqual([503, "text/html; charset=utf-8"]);
  const mine = Object.assign(new Visitor("/shop/", "10.0.0.4", [HTML]), { cookie: d.cookie });
  const waits = await mine.ask();
  expect(waits.fields.get("retry-after")).toBe(waits.fields.get("refresh"));
  expect(waits.fields.get("cache-control")).toBe("no-store");
  expect(waits.text).toContain("Your place in the queue: <strong>2</strong>");
  expect(waits.text).toMatch(/Estimated wait: <strong>(less than a minute|about \d+ (minutes?|hours))</);
  expect((await mine.ask("/shop/", "HEAD")).body.length).toBe(0);
  const posted = await mine.ask("/shop/", "POST");
  expect([posted.fields.get("refresh"), posted.text.includes("reload this page")]).toEqual([null, true]);

  // Room for one more: the first of the queue comes in, and the others move up. Then the table itself becomes larger.
  for (const [active, turns] of [
    [3, [0, 0, 0, 1, 2]],
    [200, [0, 0, 0, 0, 0]],
  ] as const) {
    writeFileSync(join(gateway.folder, "routes.yaml"), stringify({ routes: routes(active) }));
    expect((await gateway.reload()).ok).toBe(true);
    await eventually(async () => {
      expect([await a.turn(), await b.turn(), await c.turn(), await d.turn(), await e.turn()]).toEqual([...turns]);
    });
  }
  expect([await waiting("/shop"), await results("/shop", "admitted"), await results("/shop", "queued")]).toEqual([
    0, 5, 3,
  ]);
  await gateway.log("a waiting visitor", (line) => line.fault === "waiting_room" && line.waiting_room === 3);
});

test("who is in stays in, no origin sees the cookie, and some requests need no place", async () => {
  const [a, b, c] = ["1", "2", "3"].map((n) => new Visitor("/small/", `10.4.0.${n}`)) as [Visitor, Visitor, Visitor];
  expect([await a.turn(), await b.turn(), await c.turn()]).toEqual([0, 0, 1]);
  const echoed = json<Echo>(await a.ask());
  expect(echoed.fields.filter(([name]) => name.toLowerCase() === "cookie")).toEqual([["Cookie", "mine=1"]]);
  expect(await gateway.metric("gateway_waiting_room_active", { route: "/small" })).toBe(2);
  // These need no place.
  for (const path of ["/small/assets/a.css", "/small/health"])
    expect((await new Visitor("", "10.4.0.9").ask(path)).status).toBe(200);
  for (const path of ["/small/assets/../x", "/small/assets/%252e%252e/x", "/small/healthy"])
    expect((await new Visitor("", "10.4.0.9").ask(path)).status).toBe(503);
  const preflight = request("OPTIONS /small/", ["Origin: https://a.example", "Access-Control-Request-Method: GET"]);
  expect((await gateway.once(preflight)).status).toBe(200);
});

test("cookies count where they were given, and one address has its share", async () => {
  const guest = new Visitor("/other/", "192.0.2.1");
  expect(await guest.turn()).toBe(0);
  const [name = "", value = ""] = guest.cookie.split("=");
  const [kind, tag, number, issued, mac = ""] = value.split(".");
  const forged = [
    `w.${tag}.${number}.${issued}.${mac}`,
    `${kind}.1.${number}.${issued}.${mac}`,
    `${kind}.${tag}.1.${issued}.${mac}`,
    `${kind}.${tag}.${number}.zzzzzz.${mac}`,
    `${kind}.${tag}.${number}.${issued}.${mac.slice(0, -1)}${mac.endsWith("A") ? "B" : "A"}`,
    `${kind}.${tag}.${number}.${issued}.`,
    "i.1.0.1.AAAAAAAAAAAAAAAAAAAAAA",
    "x".repeat(4000),
  ];
  for (const [i, text] of forged.entries()) {
    const thief = new Visitor("/other/", `198.51.${i}.1`);
    thief.cookie = `${name}=${text}`;
    expect(await thief.turn()).toBe(i + 1);
  }
  // From another network, and of another room.
  expect(await Object.assign(new Visitor("/other/", "203.0.113.7"), { cookie: guest.cookie }).turn()).toBe(9);
  const elsewhere = await Object.assign(new Visitor("/shop/", "192.0.2.1"), {
    cookie: `${(await gateway.once(request("GET /crowd", ["X-Forwarded-For: 192.0.2.9"]))).fields.get("set-cookie")!.split("=")[0]}=${value}`,
  }).ask();
  expect(elsewhere.fields.get("set-cookie")).not.toBeNull();
  // The valid one of four cookies of one name counts.
  const among = `${name}=a; ${name}=b; ${name}=${value}`;
  expect(await Object.assign(new Visitor("/other/", "192.0.2.200"), { cookie: among }).turn()).toBe(0);
  // A ticket that is shown again is the same ticket.
  const waiter = new Visitor("/other/", "203.0.113.8");
  expect([await waiter.turn(), await waiter.turn()]).toEqual([10, 10]);

  // Without cookies each request is a visitor: three of them have a place, of IPv6 in all of a /64.
  for (const addresses of [
    ["10.9.9.9", "10.9.9.9", "10.9.9.9", "10.9.9.9"],
    ["2001:db8::1", "2001:db8::2", "2001:db8::3:3", "2001:db8::4:4:4"],
  ]) {
    const replies = [];
    for (const address of addresses) replies.push(await new Visitor("/other/", address).ask());
    expect(replies.map((reply) => json<{ place?: number }>(reply).place !== undefined)).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(json(replies[3]!)).toMatchObject({ message: "too many visitors from your network" });
    expect(replies[3]!.fields.get("set-cookie")).toBeNull();
  }
  expect(await results("/other", "address")).toBe(2);
});

test("visitors that leave free their places by time, and those that no longer ask lose their turn", async () => {
  const [one, gone, stays] = ["1", "2", "3"].map((n) => new Visitor("/quick/", `10.1.0.${n}`)) as [
    Visitor,
    Visitor,
    Visitor,
  ];
  expect([await one.turn(), await gone.turn()]).toEqual([0, 1]);
  const replay = gone.cookie;
  expect(await stays.turn()).toBe(2);
  // The first one stays in while it asks; the second one does not ask.
  await eventually(async () => {
    expect(await one.turn()).toBe(0);
    expect(await stays.turn()).toBe(1);
  });
  expect(await results("/quick", "left")).toBe(1);
  // The first one leaves: the third one comes in.
  await eventually(async () => expect(await stays.turn()).toBe(0));
  // An old ticket, and the cookie of a place that was freed, begin anew.
  expect(await Object.assign(new Visitor("/quick/", "10.1.0.2"), { cookie: replay }).turn()).toBeGreaterThan(0);
  expect(await one.turn()).toBeGreaterThan(0);
}, 30_000);

test("three workers let in no visitor too many", async () => {
  const all = await Promise.all(
    Array.from({ length: 90 }, (_, i) =>
      new Visitor("/crowd/", `10.2.${i}.1`).ask().then(({ status, text }) => [status, text]),
    ),
  );
  // One visitor was there before.
  expect(all.filter(([status]) => status === 200).length).toBe(39);
  const places = all.flatMap(([status, text]) => (status === 503 ? [JSON.parse(String(text)).place] : []));
  expect(places.filter((place) => place !== undefined).length).toBe(30);
  expect(await waiting("/crowd")).toBe(30);
});

test("HTTP/2 and TLS: the same room, and cookies are secure", async () => {
  const client = await H2Client.connectTls(tlsPort);
  const ask = (more: [string, string][] = []) =>
    client.request(head("GET", "/crowd/", [["x-forwarded-for", "10.3.0.1"], ["accept", "text/html"], ...more]));
  const page = await ask();
  expect([page.status, page.fields.get("retry-after")]).toEqual([503, "5"]);
  const shop = await client.request(head("GET", "/shop/", [["x-forwarded-for", "10.3.0.2"]]));
  expect(shop.fields.get("set-cookie")).toEndWith("; HttpOnly; SameSite=Lax; Secure");
  const again = head("GET", "/shop/", [
    ["x-forwarded-for", "10.3.0.2"],
    ["cookie", "mine=1"],
    ["cookie", cookieIn({ fields: shop.fields })],
  ]);
  const echoed = await client.request(again);
  expect(echoed.fields.get("set-cookie")).toBeUndefined();
  expect((JSON.parse(echoed.text) as Echo).fields.filter(([name]) => name.toLowerCase() === "cookie")).toEqual([
    ["cookie", "mine=1"],
  ]);
  client.close();
  // Another route takes the cookies off only if rooms are on; the plain one has none of them.
  const plain = await gateway.once(request("GET /plain", ["Cookie: edge_room_00000000=x; a=b"]));
  expect(json<Echo>(plain).fields.filter(([name]) => name.toLowerCase() === "cookie")).toEqual([["Cookie", "a=b"]]);
});

test("status and explain name the rooms; bad keys are faults with their place", async () => {
  const status = await runEdge(["status", "--json"], {}, gateway.folder);
  expect(JSON.parse(status.stdout).rooms.map(({ route }: { route: string }) => route)).toEqual([
    "/shop",
    "/small",
    "/other",
    "/quick",
    "/crowd",
  ]);
  const explained = await runEdge(["explain", "GET /shop/"], {}, gateway.folder);
  expect(explained.stdout).toContain("waitingRoom");
  writeFileSync(
    join(gateway.folder, "bad.yaml"),
    stringify({
      routes: [
        room("/a", { active: 0 }),
        room("/b", { session: "1ms", active: 1, exempt: ["x"] }),
        room("/c", { active: 1, secret: "short" }),
      ],
    }),
  );
  const checked = await runEdge(["check", "--routes", "bad.yaml"], {}, gateway.folder);
  for (const part of ["active", "session", "exempt[0]", "secret"])
    expect(checked.stdout + checked.stderr).toContain(part);
  expect(checked.code).not.toBe(0);
});
