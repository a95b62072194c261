// docs/upstreams.md#interim-responses: 1xx of origins over every protocol, and the phrases of their statuses.
import { afterAll, describe, expect, test } from "bun:test";
import { MAX_INTERIM_BYTES } from "../../src/upstream/limits.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H2Origin } from "../harness/h2-origin.ts";
import { H3Client } from "../harness/h3-client.ts";
import { request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";
const origin = ScriptedOrigin.start();
const h2Origin = await H2Origin.start();
const port = freePort();
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const timeouts = { response_header: "2s", total: "12s" };
const breaker = { circuit_breaker: { failure_threshold: 1, open_duration: "60s" } };
const gateway = await startGateway({
  config: { server: { tls: { port, cert_file: "a.pem", key_file: "a.key" }, http3: { enabled: true } } },
  routes: [upstream("/h1", origin, { timeouts, ...breaker }), upstream("/h2", h2Origin, { timeouts, ...breaker })],
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
});
const storms = await startGateway({
  routes: [upstream("/h1", origin, { timeouts }), upstream("/h2", h2Origin, { timeouts })],
});
afterAll(() => stopAll(gateway, storms, origin, h2Origin));

const interim = (status: number, phrase = "x", field = "X-A: b") => `HTTP/1.1 ${status} ${phrase}\r\n${field}\r\n\r\n`;

describe("interim responses of an origin of HTTP/1.1", () => {
  test.each([102, 103, 104, 110, 199])("%i goes on over HTTP/1.1, 2 and 3", async (status) => {
    origin.on("/one", (call) => call.send(interim(status) + OK));
    const reply = await gateway.once(request("GET /h1/one"));
    expect(reply.interim.map((one) => [one.status, one.fields.get("x-a")])).toEqual([[status, "b"]]);
    const h2 = await H2Client.connect(gateway.port);
    expect((await h2.request(head("GET", "/h1/one"))).interim).toEqual([status]);
    h2.close();
    const h3 = await H3Client.connect(port);
    const last = await h3.ask("GET", "/h1/one");
    expect([last.status, last.body.toString()]).toEqual([200, "done"]);
    h3.close();
  });

  test("100 stays here, HTTP/1.0 clients get none, and the phrase is the origin's", async () => {
    origin.on("/hundred", (call) => call.send(interim(100) + interim(104, "Upload Resumption Supported") + OK));
    const client = await gateway.connect();
    client.send(request("GET /h1/hundred"));
    expect((await client.takeUntil("done", 4096)).toString("latin1")).toStartWith(
      "HTTP/1.1 104 Upload Resumption Supported\r\nX-A: b\r\n\r\nHTTP/1.1 200 OK\r\n",
    );
    client.close();
    expect((await gateway.once(request("GET /h1/hundred HTTP/1.0"))).interim).toEqual([]);
  });

  test("a hundred go on, and more are no fault of the origin", async () => {
    for (const count of [9, 100, 101, 500]) {
      origin.on(`/many-${count}`, (call) => call.send(interim(103).repeat(count) + OK));
      const reply = await gateway.once(request(`GET /h1/many-${count}`));
      expect([reply.status, reply.interim.length]).toEqual([200, Math.min(count, 100)]);
    }
    expect((await gateway.once(request("GET /h1/many-9"))).status).toBe(200);
  });

  test.each([102, 103])("%i gives the origin its time anew, within the total", async (status) => {
    origin.on("/slow", async (call) => {
      for (let i = 0; i < 3; i++) {
        await Bun.sleep(900);
        call.send(interim(status));
      }
      call.send(OK);
    });
    expect((await gateway.once(request("GET /h1/slow"))).text).toBe("done");
    expect((await gateway.once(request("POST /h1/slow", [], "body"))).text).toBe("done");
  });
});

describe("interim responses of an origin of HTTP/2", () => {
  test("go on, are no fault, and give it its time anew", async () => {
    await h2Origin.play({
      async onEnd(stream) {
        for (let i = 0; i < 3; i++) {
          await Bun.sleep(900);
          for (let k = 0; k < 20; k++)
            stream.head([
              [":status", "104"],
              ["x-a", "b"],
            ]);
        }
        stream.answer("done");
      },
    });
    const reply = await gateway.once(request("GET /h2/many"));
    expect([reply.status, reply.text, reply.interim.length]).toEqual([200, "done", 60]);
  });
});

describe("interim responses without end", () => {
  test.each([100, 102, 104, 199])("of %i over HTTP/1.1 end with 502, whatever their size", async (status) => {
    for (const [path, one] of [
      ["short", `HTTP/1.1 ${status} \r\n\r\n`],
      ["long", interim(status, "x", `X-A: ${"b".repeat(30_000)}`)],
    ] as const) {
      const heads = Math.ceil(MAX_INTERIM_BYTES / one.length);
      origin.on(`/within-${path}`, (call) => call.send(one.repeat(heads - 1) + OK));
      expect((await storms.once(request(`GET /h1/within-${path}`))).text).toBe("done");
      origin.on(`/storm-${path}`, (call) => call.send(one.repeat(heads + 1) + OK));
      expect((await storms.once(request(`GET /h1/storm-${path}`))).status).toBe(502);
    }
  });

  test("over HTTP/2 end with 502, and the connection is kept", async () => {
    const field = 300;
    // RFC 9113 §6.5.2 counts 32 bytes a field beside its text, which stands in two more.
    const bytes = ":status".length + 3 + 34 + "x-a".length + field + 34;
    const heads = Math.floor(MAX_INTERIM_BYTES / bytes);
    let count = heads;
    await h2Origin.play({
      onEnd(stream) {
        for (let i = 0; i < count; i++)
          stream.head([
            [":status", "103"],
            ["x-a", "b".repeat(field)],
          ]);
        stream.answer("done");
      },
    });
    expect((await storms.once(request("GET /h2/within"))).text).toBe("done");
    count = heads + 1;
    expect((await storms.once(request("GET /h2/storm"))).status).toBe(502);
    count = 1;
    expect((await storms.once(request("GET /h2/again"))).text).toBe("done");
    expect(h2Origin.connections.length).toBe(1);
  });
});

describe("the phrase of a status", () => {
  test.each([
    ["407 Proxy Authentication Required"],
    ["423 Locked"],
    ["424 Failed Dependency"],
    ["506 Variant Also Negotiates"],
    ["507 Insufficient Storage"],
    ["510 Not Extended"],
    ["511 Network Authentication Required"],
    ["200 Alles gut"],
    ["404 Nichts \xe4hnliches"],
    ["299 Miscellaneous"],
    ["599 Network Connect Timeout"],
    ["413 Request Entity Too Large"],
  ])("%s stays", async (line) => {
    origin.on("/phrase", (call) => call.send(`HTTP/1.1 ${line}\r\nContent-Length: 0\r\n\r\n`));
    const client = await gateway.connect();
    client.send(request("GET /h1/phrase"));
    expect((await client.takeUntil("\r\n", 4096)).toString("latin1")).toBe(`HTTP/1.1 ${line}\r\n`);
    client.close();
  });

  test.each([
    ["423", "423 Locked"],
    ["507 ", "507 Insufficient Storage"],
    [`200 ${"x".repeat(200)}`, "200 OK"],
  ])("is the registered one in the place of %p", async (sent, got) => {
    origin.on("/phrase", (call) => call.send(`HTTP/1.1 ${sent}\r\nContent-Length: 0\r\n\r\n`));
    const client = await gateway.connect();
    client.send(request("GET /h1/phrase"));
    expect((await client.takeUntil("\r\n", 4096)).toString("latin1")).toBe(`HTTP/1.1 ${got}\r\n`);
    client.close();
  });
});

describe("426", () => {
  const UPGRADE =
    "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n";

  test("says what to upgrade to, over HTTP/1.1 alone", async () => {
    origin.on("/upgrade", (call) => call.send(UPGRADE));
    const client = await gateway.connect();
    for (const lines of [[], ["Connection: close"]]) {
      const reply = await client.exchange(request("GET /h1/upgrade", lines));
      expect([reply.status, reply.fields.get("upgrade")]).toEqual([426, "websocket"]);
      expect(reply.fields.all("connection")).toEqual(lines.length === 0 ? ["Upgrade"] : ["close", "Upgrade"]);
    }
    client.close();
    const h2 = await H2Client.connect(gateway.port);
    const reply = await h2.request(head("GET", "/h1/upgrade"));
    expect([reply.status, reply.fields.has("upgrade"), reply.fields.has("connection")]).toEqual([426, false, false]);
    h2.close();
  });

  test("other responses do not", async () => {
    origin.on("/offer", (call) => call.send(OK.replace("\r\n", "\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n")));
    const reply = await gateway.once(request("GET /h1/offer"));
    expect([reply.status, reply.fields.get("upgrade"), reply.fields.get("connection")]).toEqual([200, null, null]);
  });
});
