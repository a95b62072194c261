import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { H3Client } from "../harness/h3-client.ts";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { chunked, exchangeOnce, json, request } from "../harness/raw-client.ts";
import { startSidecar } from "../harness/sidecar.ts";
import { stopAll } from "../harness/teardown.ts";

// Origins may merge trailers into the head that they belong to, so trailers must not say what only the gateway says.
// RFC 9110 §6.5.1, §7.6.1; docs/security.md#trailers
const origin = EchoOrigin.start();
const origin2 = await H2EchoOrigin.start();
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const routes = [
  upstream("/whole", origin, { inbound_chunked_mode: "normalize" }),
  upstream("/pieces", origin, { inbound_chunked_mode: "passthrough" }),
  ...(["normalize", "passthrough"] as const).map((mode) =>
    upstream(`/edited-${mode}`, origin, {
      inbound_chunked_mode: mode,
      headers: { request: { set: { "X-User": "gateway" }, remove: ["X-Secret"] } },
    }),
  ),
  { type: "upstream", prefix: "/two", target: `h2c://127.0.0.1:${origin2.port}` },
];
const gateway = await startGateway({
  config: { server: { tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" }, http3: { enabled: true } } },
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
  routes,
});
const dropping = await startGateway({ config: { server: { request_trailers: "drop" } }, routes });
afterAll(async () => {
  await dropping.stop();
  origin2.stop();
  await stopAll(gateway, origin);
});

/** The client's own library refuses to send them. */
const NOT_SENT = [
  "Transfer-Encoding",
  "Content-Length",
  "Connection",
  "Host",
  "Keep-Alive",
  "TE",
  "Upgrade",
  "Proxy-Connection",
];

/** Each alone makes a request malformed. */
const REFUSED = [
  ...[
    "Authorization",
    "Proxy-Authorization",
    "Proxy-Connection",
    "Cookie",
    "Set-Cookie",
    "Cookie2",
    "WWW-Authenticate",
  ],
  ...["Content-Type", "Content-Encoding", "Content-Range", "Content-Digest", "Content_Type", "Expect", "Range"],
  ...["If-Match", "If-None-Match", "If-Modified-Since", "If-Range", "If_Match", "Cache-Control", "Max-Forwards"],
  ...["Pragma", "Via", "Forwarded", "X-Forwarded-For", "X-Forwarded-Prefix", "X_Forwarded_For", "X.Forwarded.Proto"],
  ...["X-Real-IP", "X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "X-Original-URL", "X-Rewrite-URL"],
  ...["X-HTTP-Method-Override", "X-Method-Override", "X-Forwarded-Client-Cert", "Transfer_Encoding", "Keep_Alive"],
  ...[
    "Transfer-Encoding",
    "Content-Length",
    "Connection",
    "Host",
    "Keep-Alive",
    "TE",
    "Trailer",
    "Trailers",
    "Upgrade",
  ],
];
/** Left behind: the gateway has written them, has gone by them, or the head has them. */
const LEFT = [
  ...["X-Request-Id: claimed", "x_request_id: claimed", "HTTP2-Settings: claimed", "Accept-Encoding: claimed"],
  ...["Origin: claimed", "Access-Control-Request-Method: claimed", "X-Tenant: claimed", "x_tenant: claimed"],
];
const PREFIXES = ["/whole", "/pieces", "/two"];

function overHttp1(prefix: string, trailers: readonly string[], through = gateway) {
  const head = ["Transfer-Encoding: chunked", "X-Tenant: mine"];
  return through.once(request(`POST ${prefix}/echo`, head, chunked("hello", 5, [...trailers])));
}

type Pair = [string, string];
const pairs = (lines: readonly string[]): Pair[] => lines.map((line) => line.toLowerCase().split(": ") as Pair);

async function overHttp2(prefix: string, trailers: readonly string[], through = gateway) {
  const client = await H2Client.connect(through.port);
  const id = client.headers([...head("POST", `${prefix}/echo`), ["x-tenant", "mine"]], false);
  client.data(id, "hello");
  client.headers(pairs(trailers), true, id);
  const reply = await client.reply(id);
  client.close();
  return reply;
}

async function overHttp3(prefix: string, trailers: readonly string[]) {
  const client = await H3Client.connect(tlsPort);
  const sending = { pieces: [Buffer.from("hello")], trailers: Object.fromEntries(pairs(trailers)) };
  const reply = await client.ask("POST", `${prefix}/echo`, { "x-tenant": "mine" }, sending);
  client.close();
  return { status: reply.status, text: reply.body.toString() };
}

describe("trailers with names that do not belong there are 400", () => {
  test.each(PREFIXES)("over HTTP/1.1, on %s", async (prefix) => {
    for (const name of REFUSED) {
      for (const spelling of [name, name.toLowerCase()]) {
        expect([spelling, (await overHttp1(prefix, [`${spelling}: 1`, "X-Sum: 5"])).status]).toEqual([spelling, 400]);
      }
    }
  });

  test.each(PREFIXES)("over HTTP/2, on %s", async (prefix) => {
    for (const name of REFUSED) {
      expect([name, (await overHttp2(prefix, ["X-Sum: 5", `${name}: 1`])).status]).toEqual([name, 400]);
    }
  });

  test("over HTTP/3", async () => {
    for (const name of REFUSED.filter((one) => !NOT_SENT.includes(one))) {
      expect([name, (await overHttp3("/whole", [`${name}: 1`])).status]).toEqual([name, 400]);
    }
  });

  test("with one line in the log and one count each, and nothing of it reaches an origin", async () => {
    // The lines of framing refusals are bounded by the second, and the tests before have used this one's up.
    await Bun.sleep(1100);
    const reply = await gateway.once(
      request(
        "POST /whole/late",
        ["Transfer-Encoding: chunked", "X-Request-Id: late"],
        chunked("a", 1, ["Cookie: a=b"]),
      ),
    );
    expect(reply.status).toBe(400);
    expect(reply.fields.get("connection")).toBe("close");
    const line = await gateway.log("access", (each) => each.event === "access" && each.path === "/whole/late");
    expect(line).toMatchObject({ status: 400, fault: "forbidden_trailer", request_id: "late" });
    await gateway.log("framing_reject", (each) => each.event === "framing_reject" && each.request_id === "late");
    expect(origin.requestsFor("/late")).toEqual([]);
    const metrics = (await gateway.once(request("GET /metrics"))).text;
    expect(
      sumOf(parseMetrics(metrics), "gateway_framing_rejections_total", { reason: "forbidden_trailer" }),
    ).toBeGreaterThan(0);
  });
});

describe("trailers extend nothing that was settled before them", () => {
  test.each(PREFIXES)("over HTTP/1.1, on %s", async (prefix) => {
    expectLeft(JSON.parse((await overHttp1(prefix, [...LEFT, "X-Sum: 5"])).text) as Echo);
  });

  test.each(PREFIXES)("over HTTP/2, on %s", async (prefix) => {
    expectLeft(JSON.parse((await overHttp2(prefix, [...LEFT, "X-Sum: 5"])).text) as Echo);
  });

  test("over HTTP/3", async () => {
    const reply = await overHttp3("/whole", [...LEFT.filter((line) => !line.startsWith("HTTP2")), "X-Sum: 5"]);
    expect(reply).toMatchObject({ status: 200 });
    expectLeft(JSON.parse(reply.text) as Echo);
  });
});

test("server.request_trailers: drop leaves valid trailers behind, and refuses the others all the same", async () => {
  for (const prefix of PREFIXES) {
    for (const reply of [
      await overHttp1(prefix, ["X-Sum: 5"], dropping),
      await overHttp2(prefix, ["X-Sum: 5"], dropping),
    ]) {
      expect(reply.status).toBe(200);
      const { headers, trailers = {} } = JSON.parse(reply.text) as Echo;
      expect({ ...headers, ...trailers }).not.toHaveProperty("x-sum");
      expect(headers["x-tenant"]).toBe("mine");
    }
    expect((await overHttp1(prefix, ["Cookie: a"], dropping)).status).toBe(400);
    expect((await overHttp2(prefix, ["Cookie: a"], dropping)).status).toBe(400);
  }
});

test("a sidecar refuses the same names", async () => {
  const mesh = await startSidecar({ app_port: origin.port });
  const post = (line: string) => request("POST /echo", ["Transfer-Encoding: chunked"], chunked("a", 1, [line]));
  expect((await exchangeOnce(mesh.ingress, post("Authorization: a"))).status).toBe(400);
  expect(json<Echo>(await exchangeOnce(mesh.ingress, post("X-Sum: 5"))).headers["x-sum"]).toBe("5");
  await mesh.gateway.stop();
});

test("trailers of answers keep the names that only requests may not have", async () => {
  const lines = ["Content-Digest: sha-256=:a:", "Set-Cookie: a=b", "Cache-Control: x"];
  origin.on("/digest", (call) => {
    call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    call.send(chunked("hello", 5, lines));
  });
  const reply = await gateway.once(request("GET /whole/digest"));
  expect([reply.text, reply.trailers.get("content-digest")]).toEqual(["hello", "sha-256=:a:"]);
});

describe("in the trailers of a request, fields that the route sets or removes", () => {
  test.each(["normalize", "passthrough"])("stay behind with %s", async (mode) => {
    const body = chunked("hello", 5, ["X-USER: admin", "x-secret: 1", "X-Sum: 5"]);
    const reply = await gateway.once(request(`POST /edited-${mode}/echo`, ["Transfer-Encoding: chunked"], body));
    const { headers, trailers } = json<Echo>(reply);
    expect(headers["x-user"]).toBe("gateway");
    expect(JSON.stringify([headers, trailers])).not.toMatch(/admin|x-secret/i);
    expect({ ...headers, ...trailers }).toMatchObject({ "x-sum": "5" });
  });
});

test("in the trailers of an answer, fields that its Connection names stay behind", async () => {
  origin.on("/named", (call) => {
    call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: X-Hop, keep-alive\r\n\r\n");
    call.send(chunked("hello", 5, ["X-Hop: 1", "X-Sum: 5"]));
  });
  const reply = await gateway.once(request("GET /whole/named"));
  expect(reply.text).toBe("hello");
  expect(reply.trailers.get("x-hop")).toBeNull();
  expect(reply.trailers.get("x-sum")).toBe("5");
});

function expectLeft(echo: Echo): void {
  const all = { ...echo.headers, ...(echo.trailers ?? {}) };
  expect(JSON.stringify(all)).not.toContain("claimed");
  expect(echo.length).toBe(5);
  expect(all["x-tenant"]).toBe("mine");
}
