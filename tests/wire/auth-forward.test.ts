// Another server decides who may come in. docs/authentication.md#authentication-services
import { afterAll, describe, expect, test } from "bun:test";
import { TestAuthority } from "../harness/certificate.ts";
import { type Echo, EchoOrigin, echo } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { type Field, H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { chunked, json, type Reply, request } from "../harness/raw-client.ts";
import { type OriginCall, type OriginScript, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const authority = await TestAuthority.make("trusted");
const server = await authority.issue({ subject: "server", names: [{ type: "dns", value: "localhost" }] });
const port = freePort();
const origin = EchoOrigin.start();
let reached = 0;
origin.otherwise((call) => {
  reached++;
  return echo(call);
});
origin.on("/mine", (call) => {
  const cacheControl = call.request.fields.get("x-cc") ?? "max-age=60";
  return call.reply("200 OK", [`Cache-Control: ${cacheControl}`], `page of ${call.request.fields.get("remote-user")}`);
});

const mirror = EchoOrigin.start();

/** A service that behaves like the usual ones: a cookie is a session, and what the test says in X-Do is done. */
const service = ScriptedOrigin.start();
service.on("/verify", verify);
function verify(call: OriginCall): ReturnType<OriginScript> {
  const { fields } = call.request;
  const script = SCRIPTS[fields.get("x-do") ?? ""];
  if (script !== undefined) return script(call);
  const user = /session=(\w+)/.exec(fields.get("cookie") ?? "")?.[1];
  if (user === undefined)
    return call.reply("401 Unauthorized", ['WWW-Authenticate: Bearer realm="s"', "X-Of: service"], "who?");
  if (user === "guest") return call.reply("403 Forbidden", ["Content-Type: text/html"], "<p>not you</p>");
  return call.reply("200 OK", [`Remote-User: ${user}`, "Remote-Groups: ops,dev", "X-Secret: no"], "");
}

const SCRIPTS: Readonly<Record<string, OriginScript>> = {
  redirect: (call) =>
    call.reply("302 Found", ["Location: https://login.test/?rd=1", "Set-Cookie: a=1", "Set-Cookie: b=2; HttpOnly"], ""),
  weird: (call) => call.reply("303 See Other", ["Location: javascript:alert(1)"], "x"),
  cookie: (call) => call.reply("200 OK", ["Remote-User: alice", "Set-Cookie: renewed=1; HttpOnly"], ""),
  500: (call) => call.reply("500 Internal Server Error", [], "oops"),
  404: (call) => call.reply("404 Not Found", [], "oops"),
  304: (call) => void call.send("HTTP/1.1 304 Not Modified\r\n\r\n"),
  101: (call) =>
    void call.takeOver().send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
  interim: (call) => {
    call.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    call.send("HTTP/1.1 100 Continue\r\n\r\n");
    return call.reply("200 OK", ["Remote-User: alice"], "");
  },
  interims: (call) => {
    for (let i = 0; i < 200; i++) call.send("HTTP/1.1 103 Early Hints\r\n\r\n");
    return call.reply("200 OK", ["Remote-User: alice"], "");
  },
  crlf: (call) => void call.send("HTTP/1.1 200 OK\r\nRemote-User: alice\rX-Admin: 1\r\nContent-Length: 0\r\n\r\n"),
  lf: (call) => void call.send("HTTP/1.1 200 OK\r\nRemote-User: alice\nX-Admin: 1\r\nContent-Length: 0\r\n\r\n"),
  nul: (call) => void call.send("HTTP/1.1 200 OK\r\nRemote-User: al\0ice\r\nContent-Length: 0\r\n\r\n"),
  garbage: (call) => void call.send("nonsense\r\n\r\n"),
  early: (call) => call.takeOver().close(),
  cut: (call) => {
    call.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 100\r\n\r\nwh");
    call.takeOver().close();
  },
  smuggle: (call) =>
    void call.send(
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\nRemote-User: alice\r\n\r\n0\r\n\r\n",
    ),
  huge: (call) =>
    call.reply(
      "200 OK",
      Array.from({ length: 40 }, (_, i) => `X-${i}: ${"v".repeat(4000)}`),
      "",
    ),
  hugeValue: (call) => call.reply("200 OK", [`Remote-User: ${"u".repeat(100_000)}`], ""),
  hugeBody: (call) => call.reply("403 Forbidden", [], "x".repeat(200_000)),
  chatty: (call) => call.reply("200 OK", ["Remote-User: alice"], "x".repeat(200_000)),
  silent: (call) => void call.takeOver(),
  slow: async (call) => {
    call.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 1000\r\n\r\n");
    const connection = call.takeOver();
    for (let i = 0; i < 30 && !connection.isClosed; i++) {
      connection.send("x");
      await Bun.sleep(100);
    }
  },
  late: async (call) => {
    await Bun.sleep(200);
    return call.reply("200 OK", ["Remote-User: alice"], "");
  },
};

const forward = { url: `${service.url}/verify`, timeout: "800ms", response_headers: ["Remote-User", "Remote-Groups"] };
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      cache: { enabled: true },
      http2: { extended_connect: true },
      access_log: { enabled: true },
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      auth: { forward },
    },
  },
  files: { "a.pem": server.cert, "a.key": server.key, "f/page.txt": "the page" },
  routes: [
    upstream("/node", origin),
    upstream("/open", origin, { auth: false }),
    upstream("/claims", origin, {
      headers: { request: { set: { "X-Groups": "{auth.claim.Remote-Groups}", "X-None": "{auth.claim.Other}-" } } },
    }),
    upstream("/header", origin, { auth: { forward: { ...forward, response_headers: ["X-Name", "Authorization"] } } }),
    upstream("/some", origin, {
      auth: { forward: { url: `${service.url}/verify`, request_headers: ["Cookie"], cache: "300ms" } },
    }),
    upstream("/named", origin, {
      auth: {
        forward: { url: `${service.url}/verify`, request_headers: ["Cookie", "X-Forwarded-Uri"], cache: "60s" },
      },
    }),
    upstream("/away", origin, { auth: { forward: { url: `http://127.0.0.1:${freePort()}/`, timeout: "500ms" } } }),
    upstream("/mirrored", origin, { mirror: { target: mirror.url } }),
    upstream("/patient", origin, { auth: { forward: { ...forward, timeout: "30s" } } }),
    upstream("/stream", origin, { inbound_chunked_mode: "passthrough" }),
    { type: "static", prefix: "/files", dir: "f" },
  ],
});
afterAll(() => stopAll(gateway, origin, service, mirror));

const ALICE = "Cookie: session=alice";
const get = (path: string, ...lines: readonly string[]): Promise<Reply> => gateway.once(request(`GET ${path}`, lines));
const asked = () => service.requestsFor("/verify");

describe("a verdict of the service", () => {
  test("lets in with the fields that are named, over the service's kept connection", async () => {
    const before = service.connections.length;
    const fields = json<Echo>(await get("/node/echo", ALICE, "Remote-User: root", "X-Own: 1")).headers;
    expect(fields).toMatchObject({
      "remote-user": "alice",
      "remote-groups": "ops,dev",
      "x-own": "1",
      cookie: "session=alice",
    });
    expect(fields).not.toHaveProperty("x-secret");
    for (let i = 0; i < 5; i++) expect((await get("/files/page.txt", ALICE)).text).toBe("the page");
    expect(service.connections.length).toBeLessThanOrEqual(before + 1);
  });

  test("a refusal is the client's, as the service made it", async () => {
    const reply = await get("/node/echo");
    expect([reply.status, reply.text, reply.fields.get("www-authenticate"), reply.fields.get("x-of")]).toEqual([
      401,
      "who?",
      'Bearer realm="s"',
      "service",
    ]);
    const guest = await get("/node/echo", "Cookie: session=guest", "Accept: text/html");
    expect([guest.status, guest.text, guest.fields.get("content-type")]).toEqual([403, "<p>not you</p>", "text/html"]);
    const headed = await gateway.once(request("HEAD /node/echo"));
    expect([headed.status, headed.body.length, headed.fields.get("content-length")]).toEqual([401, 0, "4"]);
  });

  test("a redirect goes to the client with its cookies, wherever it leads", async () => {
    const reply = await get("/node/echo", "X-Do: redirect");
    expect([reply.status, reply.fields.get("location")]).toEqual([302, "https://login.test/?rd=1"]);
    expect(reply.fields.all("set-cookie")).toEqual(["a=1", "b=2; HttpOnly"]);
    expect((await get("/node/echo", "X-Do: weird")).fields.get("location")).toBe("javascript:alert(1)");
  });

  test("is told of the request by the gateway alone", async () => {
    await gateway.once(
      request(
        "POST /node/%65cho?a=b&c",
        [
          ALICE,
          "X-Forwarded-Uri: /evil",
          "X-Forwarded-Method: HEAD",
          "X-Forwarded-For: 6.6.6.6",
          "X-Forwarded-Host: evil",
          "X_Forwarded_Uri: /evil",
          "Range: bytes=0-1",
          "If-None-Match: *",
        ],
        "body",
      ),
    );
    const { method, target, fields } = asked().at(-1)!;
    expect([method, target]).toEqual(["GET", "/verify"]);
    expect(fields.all("x-forwarded-uri")).toEqual(["/node/echo?a=b&c"]);
    expect(fields.all("x-forwarded-method")).toEqual(["POST"]);
    expect(fields.all("x-forwarded-for")).toEqual(["127.0.0.1"]);
    expect(fields.all("x-forwarded-host")).toEqual(["gw.test"]);
    expect(fields.all("x-forwarded-proto")).toEqual(["http"]);
    expect(fields.get("host")).toBe(`127.0.0.1:${service.port}`);
    expect(
      fields.list.map(([name]) => name.toLowerCase()).filter((name) => /content-|range|if-|x_/.test(name)),
    ).toEqual([]);
  });

  test("is told what is asked for by the gateway, not by a trusted proxy", async () => {
    const proxied = await startGateway({
      config: { server: { trusted_proxies: ["127.0.0.1/32"], auth: { forward } } },
      routes: [upstream("/node", origin)],
    });
    const lines = [
      "X-Forwarded-Uri: /evil",
      "x_forwarded_method: HEAD",
      "X-Original-URL: /evil",
      "X-Forwarded-For: 6.6.6.6",
    ];
    await proxied.once(request("GET /node/echo", [ALICE, "X-Forwarded-Proto: https", ...lines]));
    const { fields } = asked().at(-1)!;
    const told = fields.list
      .filter(([name]) => /^x.(forwarded|original)/i.test(name))
      .map(([name, value]) => `${name}: ${value}`);
    expect(told).toEqual([
      "X-Forwarded-For: 6.6.6.6, 127.0.0.1",
      "X-Forwarded-Proto: https",
      "X-Forwarded-Host: gw.test",
      "X-Forwarded-Method: GET",
      "X-Forwarded-Uri: /node/echo",
    ]);
    await stopAll(proxied);
  });

  test("a cookie of a verdict goes to the client that came", async () => {
    const reply = await get("/node/echo", "X-Do: cookie");
    expect([reply.status, reply.fields.get("set-cookie")]).toEqual([200, "renewed=1; HttpOnly"]);
    expect((await get("/files/page.txt", "X-Do: cookie")).fields.get("set-cookie")).toBe("renewed=1; HttpOnly");
  });

  test("its fields are claims, and the first of them is the user in the access log", async () => {
    const fields = json<Echo>(await get("/claims/echo", ALICE)).headers;
    expect([fields["x-groups"], fields["x-none"]]).toEqual(["ops,dev", "-"]);
    const line = await gateway.log(
      "an access line",
      ({ event, path }) => event === "access" && path === "/claims/echo",
    );
    expect(line.user).toBe("alice");
  });

  test("Authorization that it says takes the place of the client's, there alone", async () => {
    SCRIPTS_OF_HEADER.reply = ["Authorization: Bearer made", "X-Name: al"];
    const set = json<Echo>(await get("/header/echo", "X-Do: header", "Authorization: Bearer own")).fields;
    expect(set.filter(([name]) => /^authorization$/i.test(name))).toEqual([["Authorization", "Bearer made"]]);
    SCRIPTS_OF_HEADER.reply = [];
    const none = json<Echo>(await get("/header/echo", "X-Do: header", "Authorization: Bearer own")).headers;
    expect(none).not.toHaveProperty("authorization");
    expect(json<Echo>(await get("/node/echo", ALICE, "Authorization: Bearer own")).headers.authorization).toBe(
      "Bearer own",
    );
  });
});

const SCRIPTS_OF_HEADER: { reply: string[] } = { reply: [] };
(SCRIPTS as Record<string, OriginScript>).header = (call) => call.reply("200 OK", SCRIPTS_OF_HEADER.reply, "");

describe("names that a method sets", () => {
  const SPOOFED = [
    "Remote-User: root",
    "remote_user: root",
    "REMOTE-GROUPS: admin",
    "Remote.User: root",
    "X-Name: root",
  ];

  test.each(["/open/echo", "/node/echo"])("reach %s from no client", async (path) => {
    const { fields } = json<Echo>(await get(path, ALICE, ...SPOOFED));
    const own = path === "/open/echo" ? [] : ["alice", "ops,dev"];
    expect(fields.filter(([name]) => /^(remote.(user|groups)|x-name)$/i.test(name)).map(([, value]) => value)).toEqual(
      own,
    );
  });

  test("Connection takes none of the gateway's away", async () => {
    const body = chunked("hello", 2, ["X-T: 1"]);
    const lines = [ALICE, "Connection: Remote-User, X-Other", "Transfer-Encoding: chunked"];
    const reply = await gateway.once(request("POST /node/echo", lines, body));
    expect(json<Echo>(reply).headers).toMatchObject({ "remote-user": "alice", "x-t": "1" });
  });

  test.each(["/open/echo", "/node/echo", "/stream/echo"])("come to %s in no trailer", async (path) => {
    const trailers = ["X-Name: root", "X_Name: root", "X-Other: yes"];
    const lines = [ALICE, "Transfer-Encoding: chunked"];
    // An identity header in trailers is refused.
    for (const name of ["Remote-User", "remote_groups"])
      expect((await gateway.once(request(`POST ${path}`, lines, chunked("a", 1, [`${name}: root`])))).status).toBe(400);
    const reply = json<Echo>(await gateway.once(request(`POST ${path}`, lines, chunked("hello", 2, trailers))));
    const all = [...reply.fields, ...Object.entries(reply.trailers)];
    expect(all.filter(([, value]) => value === "root" || value === "admin")).toEqual([]);
    expect({ ...reply.headers, ...reply.trailers }).toMatchObject({ "x-other": "yes" });
  });
});

describe("no verdict", () => {
  const NONE: readonly string[] = [
    ...["500", "404", "304", "101", "crlf", "lf", "nul", "garbage", "early", "cut", "smuggle"],
    ...["hugeValue", "hugeBody", "silent", "slow"],
  ];

  test.each(NONE)("%s: 503, and the request goes nowhere", async (what) => {
    const before = reached;
    const reply = await get("/node/echo", `X-Do: ${what}`);
    expect(reply.status).toBe(503);
    expect(json<{ error: string }>(reply).error).toBe("503 Service Unavailable");
    expect(reached).toBe(before);
    // So that the service is asked again at once.
    expect((await get("/node/echo", ALICE)).status).toBe(200);
  });

  test.each(["interim", "interims", "chatty", "late"])("%s is one all the same", async (what) => {
    expect((await get("/node/echo", `X-Do: ${what}`)).status).toBe(200);
  });

  test("a service that is away lets in no request, and is not asked each time", async () => {
    for (let i = 0; i < 8; i++) expect((await get("/away/echo", ALICE)).status).toBe(503);
    const line = await gateway.log("a failure", ({ event }) => event === "auth_service_failed");
    expect(line.reason).toBeString();
    expect((await get("/open/echo")).status).toBe(200);
  });

  test("kept connections that the service has closed are no failure", async () => {
    expect((await get("/node/echo", ALICE)).status).toBe(200);
    for (const connection of service.connections) connection.close();
    expect((await get("/node/echo", ALICE)).status).toBe(200);
  });

  test("a client that leaves takes the question back", async () => {
    const open = service.openConnections;
    const clients = await Promise.all(Array.from({ length: 20 }, () => gateway.connect()));
    for (const client of clients) client.send(request("GET /patient/echo", ["X-Do: silent"]));
    await eventually(() => expect(service.openConnections).toBeGreaterThanOrEqual(open + 15));
    for (const client of clients) client.reset();
    await eventually(() => expect(service.openConnections).toBeLessThanOrEqual(open + 1));
    expect((await get("/node/echo", ALICE)).status).toBe(200);
  });
});

describe("a client that leaves while its body waits for the verdict", () => {
  const heads = (length: number) => request("POST /patient/echo", ["X-Do: silent", `Content-Length: ${length}`]);
  test.each([
    ["resets", 10, 1000],
    ["closes", 10, 1000],
    ["resets", 0, 1000],
    ["closes", 1000, 1000],
    ["resets", 2_000_000, 4_000_000],
  ])("%s after %d of %d bytes: the question is taken back", async (how, sent, length) => {
    const before = service.requests.length;
    const clients = await Promise.all(Array.from({ length: 4 }, () => gateway.connect()));
    for (const client of clients) client.send(Buffer.concat([heads(length), Buffer.alloc(sent, "x")]));
    await eventually(() => expect(service.requests.length).toBe(before + 4));
    for (const client of clients) how === "resets" ? client.reset() : client.close();
    const calls = service.requests.slice(before).map(({ connection }) => service.connections[connection]!);
    await eventually(() => expect(calls.every(({ ending, isClosed }) => isClosed || ending !== "open")).toBe(true));
  });
});

describe("a verdict that is remembered", () => {
  test("holds for requests that show the same, and is asked for again", async () => {
    const before = asked().length;
    for (let i = 0; i < 3; i++)
      expect((await get("/some/echo", "Cookie: session=carol", `X-A: ${i}`)).status).toBe(200);
    expect(asked().length).toBe(before + 1);
    const { fields } = asked().at(-1)!;
    const names = fields.list.map(([name]) => name.toLowerCase()).filter((name) => name.startsWith("x-"));
    expect(names.sort()).toEqual(["x-forwarded-host", "x-forwarded-proto"]);
    expect((await get("/some/echo", "Cookie: session=bob")).status).toBe(200);
    expect(asked().length).toBe(before + 2);
    await Bun.sleep(350);
    expect((await get("/some/echo", "Cookie: session=carol")).status).toBe(200);
    expect(asked().length).toBe(before + 3);
  });

  test("a refusal is not remembered, and another path is another question where paths are shown", async () => {
    const before = asked().length;
    for (let i = 0; i < 2; i++) expect((await get("/named/a")).status).toBe(401);
    for (const path of ["/named/a", "/named/a", "/named/b"]) expect((await get(path, ALICE)).status).toBe(200);
    expect(asked().length).toBe(before + 4);
  });
});

describe("every protocol", () => {
  test("HTTP/2 and HTTP/3", async () => {
    const h2 = await H2Client.connect(gateway.port);
    const h2Fields = async (...more: Field[]) => h2.reply(h2.headers(head("GET", "/node/echo", more), true));
    const over2 = await h2Fields(["cookie", "session=alice"], ["remote-user", "root"], ["remote_user", "root"]);
    expect((JSON.parse(over2.text) as Echo).fields.filter(([, value]) => value === "root")).toEqual([]);
    expect((JSON.parse(over2.text) as Echo).headers["remote-user"]).toBe("alice");
    expect([(await h2Fields()).status, (await h2Fields(["x-do", "redirect"])).fields.get("location")]).toEqual([
      401,
      "https://login.test/?rd=1",
    ]);
    h2.close();
    const h3 = await H3Client.connect(port);
    const over3 = await h3.ask("GET", "/node/echo", { cookie: "session=alice", "remote-user": "root" });
    expect((JSON.parse(over3.body.toString()) as Echo).headers["remote-user"]).toBe("alice");
    expect(asked().at(-1)!.fields.get("x-forwarded-proto")).toBe("https");
    expect((await h3.ask("GET", "/node/echo")).status).toBe(401);
    h3.close();
  });

  test("an upgrade waits for the verdict", async () => {
    const UPGRADE = [
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    const client = await gateway.connect();
    client.send(request("GET /node/socket", [...UPGRADE, "X-Do: late", "Remote-User: root"]));
    client.send("early");
    expect((await client.reply()).status).toBe(101);
    expect((await client.take(5)).toString()).toBe("early");
    const { fields } = origin.requestsFor("/socket").at(-1)!;
    expect(fields.all("remote-user")).toEqual(["alice"]);
    expect(asked().at(-1)!.fields.has("upgrade")).toBe(false);
    client.close();
    const before = origin.requestsFor("/socket").length;
    expect((await get("/node/socket", ...UPGRADE)).status).toBe(401);
    expect(origin.requestsFor("/socket").length).toBe(before);
  });
});

test("a WebSocket over HTTP/2 waits for the verdict, too", async () => {
  const h2 = await H2Client.connect(gateway.port);
  const connect = (...more: Field[]): number =>
    h2.headers(
      [
        [":method", "CONNECT"],
        [":protocol", "websocket"],
        [":scheme", "http"],
        [":path", "/node/socket"],
        [":authority", "gw.test"],
        ["sec-websocket-version", "13"],
        ...more,
      ],
      false,
    );
  const before = origin.requestsFor("/socket").length;
  expect((await h2.reply(connect())).status).toBe(401);
  expect(origin.requestsFor("/socket").length).toBe(before);
  connect(["cookie", "session=alice"], ["remote-user", "root"]);
  await eventually(() => expect(origin.requestsFor("/socket").length).toBe(before + 1));
  expect(origin.requestsFor("/socket").at(-1)!.fields.all("remote-user")).toEqual(["alice"]);
  h2.close();
});

test("a mirror is told the same as the origin, and nothing of who may not come in", async () => {
  expect((await get("/mirrored/echo", ALICE, "Remote-User: root")).status).toBe(200);
  await eventually(() => expect(mirror.requestsFor("/echo").length).toBe(1));
  expect(mirror.requestsFor("/echo")[0]!.fields.all("remote-user")).toEqual(["alice"]);
  expect((await get("/mirrored/echo", "Remote-User: root")).status).toBe(401);
  expect((await get("/mirrored/echo", ALICE)).status).toBe(200);
  await eventually(() => expect(mirror.requestsFor("/echo").length).toBe(2));
});

describe("the cache", () => {
  test("one user's page is never another's", async () => {
    expect((await get("/node/mine", ALICE)).text).toBe("page of alice");
    expect((await get("/node/mine", "Cookie: session=bob")).text).toBe("page of bob");
    expect((await get("/node/mine", ALICE)).fields.get("x-cache")).not.toBe("HIT");
  });

  test("what says public is for all who may come in", async () => {
    const lines = ["X-CC: public, max-age=60"];
    expect((await get("/node/mine?public", ALICE, ...lines)).text).toBe("page of alice");
    const hit = await get("/node/mine?public", "Cookie: session=bob", ...lines);
    expect([hit.text, hit.fields.get("x-cache")]).toEqual(["page of alice", "HIT"]);
    expect((await get("/node/mine?public", ...lines)).status).toBe(401);
  });
});
