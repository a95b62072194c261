// Values of the request in header fields. docs/upstreams.md#header-edits
import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const echo = EchoOrigin.start();
const second = await H2EchoOrigin.start();
const stored = ScriptedOrigin.start();
const sent = {
  set: {
    "X-Client": "{client_ip}",
    "X-Query": "{query.q}",
    "X-Literal": "{{x}}",
    "X-Many": ["1", "{method}", "{header.X-None}"],
    "X-Tls": "{tls.version}",
  },
  add: { "X-Seen": "{scheme}://{host}:{port}{uri} {cookie.c}", Cookie: "team={query.team}" },
};
const answered = {
  remove: ["X-Gone"],
  set: { "X-Query": "{query.q}", "X-Plain": "plain", "Cache-Control": "max-age=60", "X-Both": ["a", "{method}"] },
  add: { "X-Who": "{header.X-Who}", "X-Route": "{route} {rest}" },
};
const headers = { request: sent, response: answered };
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      cache: { enabled: true },
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [
    upstream("/h1", echo, { headers, cache: false }),
    upstream("/h2", second, { headers, cache: false }),
    upstream("/renamed", echo, {
      cache: false,
      headers: { response: { remove: ["X-Request-Id"], set: { "X-Trace": "{request_id}" } } },
    }),
    upstream("/stored", stored, { headers: { response: answered } }),
    { type: "static", prefix: "/files", dir: "public", headers: { response: answered } },
    { type: "respond", prefix: "/respond", body: "x", headers: { response: answered } },
    { type: "redirect", prefix: "/redirect", to: "/x{rest}", headers: { response: answered } },
    {
      type: "respond",
      prefix: "/id",
      body: "{request_id}",
      headers: { response: { set: { "X-Id": "{request_id}", "Set-Cookie": "last={query.last}; HttpOnly" } } },
    },
  ],
  files: { "a.pem": certificate.cert, "a.key": certificate.key, "public/a.txt": "hello" },
});
afterAll(() => stopAll(gateway, echo, second, stored));

const EVIL = "%0d%0aX-Evil:%20yes%00%7f%0d%0a%0d%0abody";

describe("of requests", () => {
  test.each(["/h1", "/h2"])("%s", async (prefix) => {
    const lines = ["X-Client: me", "X-Query: mine", "Cookie: c=1; d=2", "X-Seen: own"];
    const reply = await gateway.once(request(`GET ${prefix}/echo?q=a%20b`, lines));
    expect(json<Echo>(reply).headers).toMatchObject({
      "x-client": "127.0.0.1",
      "x-query": "a b",
      "x-literal": "{x}",
      "x-many": prefix === "/h1" ? ["1", "GET"] : "1, GET",
      "x-seen":
        prefix === "/h1"
          ? ["own", `http://gw.test:80${prefix}/echo?q=a%20b 1`]
          : `own, http://gw.test:80${prefix}/echo?q=a%20b 1`,
    });
    // An empty value: the field is left out, and the client's own with it.
    const empty = json<Echo>(await gateway.once(request(`GET ${prefix}/echo`, lines))).headers;
    expect([empty["x-query"], empty["x-tls"]]).toEqual([undefined, undefined]);
  });

  test.each(["/h1", "/h2"])("cannot add a line: %s", async (prefix) => {
    for (const version of [1, 2, 3]) {
      const { headers } = await echoOver(version, `${prefix}/echo?q=${EVIL}`);
      expect(headers["x-evil"]).toBeUndefined();
      expect(headers["x-query"]).toBe("X-Evil: yesbody");
    }
  });

  test("cannot add a cookie", async () => {
    const { headers } = await echoOver(1, "/h1/echo?team=a;%20role=admin");
    expect(headers.cookie).toBe("team=arole=admin");
  });

  test("of any length leave a head that the origin reads", async () => {
    const reply = await gateway.once(request(`POST /h1/echo?q=${"%41".repeat(2500)}`, [], "body"));
    const { headers, length } = json<Echo>(reply);
    expect([headers["x-query"], length]).toEqual(["A".repeat(2500), 4]);
  });

  test("the version of TLS", async () => {
    const client = await H3Client.connect(port);
    const { body } = await client.ask("GET", "/h1/echo");
    expect((JSON.parse(body.toString()) as Echo).headers["x-tls"]).toBe("TLSv1.3");
    client.close();
    const h2 = await H2Client.connectTls(port);
    const tls = JSON.parse((await h2.reply(h2.headers(head("GET", "/h1/echo")))).text) as Echo;
    expect(tls.headers["x-tls"]).toMatch(/^TLSv1\.[23]$/);
    h2.close();
  });
});

async function echoOver(version: number, target: string): Promise<Echo> {
  if (version === 1) return json<Echo>(await gateway.once(request(`GET ${target}`)));
  if (version === 2) {
    const client = await H2Client.connect(gateway.port);
    const reply = await client.reply(client.headers(head("GET", target)));
    client.close();
    return JSON.parse(reply.text) as Echo;
  }
  const client = await H3Client.connect(port);
  const reply = await client.ask("GET", target);
  client.close();
  return JSON.parse(reply.body.toString()) as Echo;
}

const shownOf = (reply: Reply) =>
  ["x-query", "x-plain", "cache-control", "x-who", "x-route"].map((name) => reply.fields.get(name));

describe("of responses", () => {
  test.each(["/h1/echo", "/h2/echo", "/files/a.txt", "/respond/a", "/redirect/a"])("%s", async (target) => {
    const reply = await gateway.once(request(`GET ${target}?q=1%20%e2%82%ac${EVIL}`, ["X-Who: me"]));
    const route = target.slice(0, target.lastIndexOf("/"));
    expect(shownOf(reply)).toEqual([
      "1 \xe2\x82\xacX-Evil: yesbody",
      "plain",
      "max-age=60",
      "me",
      `${route} ${target.slice(route.length)}`,
    ]);
    expect(reply.fields.all("x-both")).toEqual(["a", "GET"]);
    expect([reply.fields.get("x-evil"), reply.fields.get("x-gone")]).toEqual([null, null]);
    const empty = await gateway.once(request(`GET ${target}`));
    expect([empty.fields.get("x-query"), empty.fields.get("x-who")]).toEqual([null, null]);
  });

  test("over HTTP/2 and HTTP/3", async () => {
    const h2 = await H2Client.connect(gateway.port);
    const h3 = await H3Client.connect(port);
    for (const target of ["/h1/echo", "/files/a.txt", "/respond/a", "/redirect/a"]) {
      const of2 = (await h2.reply(h2.headers(head("GET", `${target}?q=a${EVIL}`, [["x-who", "me"]])))).fields;
      const of3 = (await h3.ask("GET", `${target}?q=a${EVIL}`, { "x-who": "me" })).fields;
      expect([of2.get("x-query"), of2.get("x-who"), of2.get("x-evil")]).toEqual(["aX-Evil: yesbody", "me", undefined]);
      expect([of3["x-query"], of3["x-who"], of3["x-evil"]]).toEqual(["aX-Evil: yesbody", "me", undefined]);
    }
    h2.close();
    h3.close();
  });

  test("refusals have none", async () => {
    const reply = await gateway.once("GET /respond/%zz?q=1 HTTP/1.1\r\nHost: gw.test\r\nX-Who: me\r\n\r\n");
    expect([reply.status, reply.fields.get("x-who")]).toEqual([400, null]);
  });

  test("a response may name its request", async () => {
    const lines = ["X-Request-Id: mine-1"];
    const reply = await gateway.once(request("GET /id", lines));
    expect([reply.text, reply.fields.get("x-id")]).toEqual(["mine-1", "mine-1"]);
    const { text, fields } = await gateway.once(request("GET /id"));
    expect(text).toMatch(/^[\da-f-]{36}$/);
    expect(fields.get("x-id")).toBe(text);
    await gateway.log("the same id", ({ event, request_id }) => event === "access" && request_id === text);
  });
});

test("the id of a request under another name", async () => {
  const { fields } = await gateway.once(request("GET /renamed/echo", ["X-Request-Id: mine-2"]));
  expect([fields.get("x-trace"), fields.get("x-request-id")]).toEqual(["mine-2", null]);
  const own = await gateway.once(request("GET /renamed/echo"));
  expect(own.fields.get("x-trace")).toBe(String(json<Echo>(own).headers["x-request-id"]));
});

test("a cookie gets no further attributes", async () => {
  const { fields } = await gateway.once(request("GET /id?last=a;%20Domain=b.test;%0d%0aX-Evil:%20yes"));
  expect(fields.all("set-cookie")).toEqual(["last=aDomain=b.testX-Evil:yes; HttpOnly"]);
});

describe("beside the cache", () => {
  const ask = (target: string, who: string, more: readonly string[] = []) =>
    gateway.once(request(`GET ${target}`, [`X-Who: ${who}`, ...more]));

  test("a stored response has the values of the request that it answers", async () => {
    stored.on("/one", (call) => call.reply("200 OK", ['ETag: "v"', "X-Gone: yes", "X-Query: origin's"], "one"));
    const first = await ask("/stored/one?q=1", "alice");
    expect([first.fields.get("x-cache"), ...shownOf(first)]).toEqual([
      "MISS",
      "1",
      "plain",
      "max-age=60",
      "alice",
      "/stored /one",
    ]);
    const hit = await ask("/stored/one?q=1", "bob");
    expect([hit.fields.get("x-cache"), ...shownOf(hit)]).toEqual([
      "HIT",
      "1",
      "plain",
      "max-age=60",
      "bob",
      "/stored /one",
    ]);
    expect(hit.fields.all("x-who")).toEqual(["bob"]);
    const none = await gateway.once(request("GET /stored/one?q=1"));
    expect([none.fields.get("x-cache"), none.fields.get("x-who"), none.fields.get("x-gone")]).toEqual([
      "HIT",
      null,
      null,
    ]);
    const fresh = await ask("/stored/one?q=1", "carol", ['If-None-Match: "v"']);
    expect([fresh.status, fresh.fields.get("x-who")]).toEqual([304, "carol"]);
    const h2 = await H2Client.connect(gateway.port);
    const fields = (await h2.reply(h2.headers(head("GET", "/stored/one?q=1", [["x-who", "dave"]])))).fields;
    expect([fields.get("x-cache"), fields.get("x-who")]).toEqual(["HIT", "dave"]);
    h2.close();
    expect(stored.requests).toHaveLength(1);
  });

  test("those that wait for one fetch have their own", async () => {
    const held = Promise.withResolvers<void>();
    stored.on("/slow", (call) => void held.promise.then(() => call.reply("200 OK", [], "slow")));
    const names = ["a", "b", "c", "d"];
    const replies = names.map((name) => ask("/stored/slow", name));
    await eventually(async () => expect(stored.requests.filter(({ target }) => target === "/slow")).toHaveLength(1));
    await Bun.sleep(100);
    held.resolve();
    expect((await Promise.all(replies)).map(({ fields }) => fields.get("x-who"))).toEqual(names);
    expect(stored.requests.filter(({ target }) => target === "/slow")).toHaveLength(1);
  });

  test("files too", async () => {
    for (const name of ["a", "b"]) {
      const reply = await ask("/files/a.txt?cached", name);
      expect([reply.fields.all("x-who"), reply.text]).toEqual([[name], "hello"]);
    }
  });
});
