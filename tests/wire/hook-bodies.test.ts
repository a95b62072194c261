// docs/functions.md#hooks: bodies of requests, for onRequest
import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { crowdFrom } from "../harness/crowd.ts";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { chunked, json, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const MAX_BYTES = 1 << 20;
/** The header X-Do says what the hook does. */
const HOOK = `let seen = 0;
export default { async onRequest(request) {
  const what = request.headers.get("x-do") ?? "pass";
  if (what === "seen") return new Response(String(seen));
  if (what === "unread") return new Response("unread", { status: 418 });
  if (what === "throw") throw new Error("secret");
  if (what === "exit") process.exit(1);
  if (what === "slow") await Bun.sleep(3000);
  if (what === "new") return new Request(request.url, { method: "POST", body: "a body of its own", headers: { "x-mine": "1" } });
  if (what === "copy") return new Request(request, { headers: { "x-mine": "1" } });
  if (what === "none") return new Request(request.url, { method: "POST" });
  if (what === "get") return new Request(request.url);
  if (what === "stream") return new Request(request.url, { method: "POST", body: new ReadableStream({ async start(out) {
    for (let i = 0; i < 20; i++) { await Bun.sleep(1); out.enqueue(new Uint8Array(40_000).fill(65)); } out.close(); } }) });
  if (what === "endless") return new Request(request.url, { method: "POST", body: new ReadableStream({ pull(out) { out.enqueue(new Uint8Array(65_536)); } }) });
  if (what === "breaks") return new Request(request.url, { method: "POST", body: new ReadableStream({ async pull(out) { await Bun.sleep(5); out.error(new Error("secret")); } }) });
  if (what === "used") { const used = new Request(request.url, { method: "POST", body: "x" }); await used.text(); return used; }
  const body = await request.text();
  seen++;
  if (what === "read") return new Response(String(body.length) + " " + Bun.SHA256.hash(body, "hex"));
  if (what === "field") request.headers.set("x-length", String(body.length));
  if (what === "upper") return new Request(request.url, { method: request.method, body: body.toUpperCase(), headers: request.headers });
} };\n`;
const origin = EchoOrigin.start();
const bad = EchoOrigin.start();
bad.otherwise((call) => call.takeOver().reset());
const { cert, key } = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const hooks = { module: "./hook.ts", bodies: true, max_body_bytes: MAX_BYTES, timeout: "1s" };
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      waf: { enabled: true },
      min_body_rate: 2000,
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
    proxy: { transport: { max_idle_conns: 0 } },
  },
  routes: [
    upstream("/h", origin, { hooks, max_body_bytes: "64MiB" }),
    upstream("/plain", origin, { hooks, max_body_bytes: "64MiB", waf: "off", inbound_chunked_mode: "passthrough" }),
    upstream("/small", origin, { hooks, max_body_bytes: "1KiB" }),
    upstream("/heads", origin, { hooks: "./hook.ts" }),
    {
      type: "upstream",
      prefix: "/retried",
      targets: [{ url: bad.url }, { url: origin.url, backup: true }],
      circuit_breaker: { enabled: false },
      hooks,
    },
  ],
  files: { "hook.ts": HOOK, "a.pem": cert, "a.key": key },
});
afterAll(() => stopAll(gateway, origin, bad));

const digest = (text: string): string => sha256(Buffer.from(text));
const CHUNKED = "Transfer-Encoding: chunked";
const post = (path: string, body: string, what = "pass", more: readonly string[] = []): Promise<Reply> =>
  gateway.once(request(`POST ${path}`, [`X-Do: ${what}`, ...more], body));
const postChunked = (path: string, body: string, size: number, what = "pass"): Promise<Reply> =>
  gateway.once(Buffer.concat([request(`POST ${path}`, [`X-Do: ${what}`, CHUNKED]), chunked(body, size)]));
const bodies = ["x", "y".repeat(5000), "z".repeat(300_000), "w".repeat(MAX_BYTES)];

describe("a hook reads the body of the request", () => {
  test.each(bodies.map((body) => [body.length, body] as const))("of %d bytes", async (length, body) => {
    const read = `${length} ${digest(body)}`;
    for (const path of ["/h/x", "/plain/x"]) {
      expect((await post(path, body, "read")).text).toBe(read);
      expect((await postChunked(path, body, 7000, "read")).text).toBe(read);
      // What it has read goes on as it came, with its length.
      for (const reply of [await post(path, body), await postChunked(path, body, 9000)])
        expect(json<Echo>(reply)).toMatchObject({ length, sha256: digest(body), framing: "length" });
    }
  });

  test("in chunks of a byte", async () => {
    expect((await postChunked("/h/x", "q".repeat(3000), 1, "read")).text).toStartWith("3000 ");
  });

  test("over HTTP/2 and HTTP/3", async () => {
    const body = "b".repeat(200_000);
    const ask = (what: string) =>
      fetch(`https://localhost:${tlsPort}/h/x`, {
        method: "POST",
        body,
        headers: { "X-Do": what },
        tls: { rejectUnauthorized: false },
        protocol: "http2",
      } as RequestInit);
    expect(await (await ask("read")).text()).toBe(`200000 ${digest(body)}`);
    expect(await (await ask("pass")).json()).toMatchObject({ length: 200_000, sha256: digest(body) });
    const h3 = await H3Client.connect(tlsPort);
    const pieces = [Buffer.from(body.slice(0, 1000)), Buffer.from(body.slice(1000))];
    const read = await h3.ask("POST", "/h/x", { "x-do": "read" }, { pieces });
    expect(read.body.toString()).toBe(`200000 ${digest(body)}`);
    const passed = await h3.ask("POST", "/h/x", {}, { pieces });
    expect(JSON.parse(passed.body.toString())).toMatchObject({ length: 200_000, sha256: digest(body) });
    h3.close();
  });

  test("after 100 Continue", async () => {
    const client = await gateway.connect();
    client.send(request("POST /h/x", ["Expect: 100-continue", "X-Do: read", "Content-Length: 5"]));
    await client.takeUntil("100 Continue\r\n\r\n", 4096);
    client.send("hello");
    expect((await client.reply()).text).toBe(`5 ${digest("hello")}`);
  });

  test("a request without one has none", async () => {
    expect((await gateway.once(request("GET /h/x", ["X-Do: read"]))).text).toStartWith("0 ");
    expect((await gateway.once(request("POST /h/x", ["X-Do: read", "Content-Length: 0"]))).text).toStartWith("0 ");
  });

  test("only where bodies are asked for", async () => {
    expect((await post("/heads/x", "abc", "read")).text).toStartWith("0 ");
    expect(json<Echo>(await post("/heads/x", "abc"))).toMatchObject({ length: 3 });
  });
});

describe("what goes on", () => {
  const body = "the client's";

  test.each([
    ["pass", body],
    ["field", body],
    ["upper", body.toUpperCase()],
    ["new", "a body of its own"],
    ["copy", body],
    ["none", ""],
    ["get", ""],
    ["stream", "A".repeat(800_000)],
  ])("%s", async (what, sent) => {
    for (const reply of [await post("/h/x", body, what), await postChunked("/plain/x", body, 3, what)]) {
      const { method, length, framing, ...echo } = json<Echo>(reply);
      expect([length, echo.sha256]).toEqual([sent.length, digest(sent)]);
      expect(method).toBe(what === "get" ? "GET" : "POST");
      if (sent !== "") expect(framing).toBe("length");
      expect(echo.headers["content-length"] ?? "0").toBe(String(sent.length));
      expect(echo.headers["transfer-encoding"]).toBeUndefined();
      if (what === "field") expect(echo.headers["x-length"]).toBe(String(body.length));
      if (what === "new" || what === "copy") expect(echo.headers["x-mine"]).toBe("1");
    }
  });

  test("a request that came without a body gets one", async () => {
    const echo = json<Echo>(await gateway.once(request("GET /h/x", ["X-Do: stream"])));
    expect([echo.method, echo.length]).toEqual(["POST", 800_000]);
  });

  test("to the next target, where one fails", async () => {
    const put = Buffer.concat([request("PUT /retried/x", ["X-Do: pass", CHUNKED]), chunked(body.repeat(1000), 500)]);
    expect(json<Echo>(await gateway.once(put))).toMatchObject({ length: 12_000, sha256: digest(body.repeat(1000)) });
    const upper = request("PUT /retried/x", ["X-Do: upper"], body);
    expect(json<Echo>(await gateway.once(upper))).toMatchObject({ sha256: digest(body.toUpperCase()) });
  });

  test.each(["endless", "breaks", "used", "throw"])("%s is 500, and one line", async (what) => {
    const reply = await post("/h/x", body, what, [`X-Request-Id: id-${what}`]);
    expect([reply.status, reply.text]).toEqual([500, expect.not.stringContaining("secret")]);
    const isIt = (line: Readonly<Record<string, unknown>>) =>
      line.event === "function_failed" && line.request_id === `id-${what}`;
    await gateway.log("function_failed", isIt);
    expect(gateway.logs.json.filter(isIt)).toHaveLength(1);
  });
});

describe("a body that is too long is 413, and the hook is not asked", () => {
  test("as it declares, and as it comes", async () => {
    const seen = async (): Promise<string> => (await gateway.once(request("GET /h/x", ["X-Do: seen"]))).text;
    const before = await seen();
    const long = "l".repeat(MAX_BYTES + 1);
    for (const path of ["/h/x", "/plain/x"]) {
      expect((await post(path, long)).status).toBe(413);
      expect((await postChunked(path, long, 60_000)).status).toBe(413);
    }
    expect((await post("/small/x", "l".repeat(1025))).status).toBe(413);
    expect((await postChunked("/small/x", "l".repeat(1025), 100)).status).toBe(413);
    expect(await seen()).toBe(before);
  });
});

describe("a client", () => {
  test("gets a hook's own response, and its connection goes on, whether the body was read or not", async () => {
    const client = await gateway.connect();
    for (const path of ["/h/x", "/plain/x", "/heads/x"]) {
      for (const what of ["unread", "throw"]) {
        client.send(request(`POST ${path}`, [`X-Do: ${what}`], "b".repeat(50_000)));
        expect((await client.reply()).status).toBe(what === "unread" ? 418 : 500);
      }
    }
    client.send(request("POST /h/x", ["X-Do: read"], "again"));
    expect((await client.reply()).text).toBe(`5 ${digest("again")}`);
  });

  test("that does not finish its body is 408, and the hook is not asked", async () => {
    const [member] = await crowdFrom("127.0.0.2", gateway.port, 1, request("POST /h/x", ["Content-Length: 100000"]));
    await eventually(() => expect(member!.statuses).toContain(408), 30_000);
  }, 60_000);

  test("that leaves in the middle of its body, or while the hook is asked, leaves nothing behind", async () => {
    const half = await gateway.connect();
    half.send(request("POST /h/x", ["Content-Length: 100000", "X-Request-Id: id-half"]));
    half.send("b".repeat(50_000));
    await Bun.sleep(50);
    half.close();
    await gateway.log("access", ({ request_id }) => request_id === "id-half");
    const slow = await gateway.connect();
    slow.send(request("POST /h/x", ["X-Do: slow", "X-Request-Id: id-slow"], "b".repeat(50_000)));
    await Bun.sleep(100);
    slow.close();
    await gateway.log("access", ({ request_id }) => request_id === "id-slow");
    await eventually(async () => expect(await gateway.metric("gateway_requests_in_flight")).toBe(1));
    expect((await post("/h/x", "after", "read")).text).toBe(`5 ${digest("after")}`);
  });

  test("whose hook takes too long is 504, whose thread ends 502", async () => {
    expect((await post("/h/x", "x".repeat(50_000), "slow")).status).toBe(504);
    expect((await post("/h/x", "x".repeat(50_000), "exit")).status).toBe(502);
    await eventually(async () => expect((await post("/h/x", "after", "read")).status).toBe(200));
  });
});

test("bodies that are held for hooks count against the room for bodies", async () => {
  const narrow = await startGateway({
    config: {
      server: { workers: 1, access_log: { enabled: false } },
      proxy: { transport: { max_buffered_bytes: MAX_BYTES, max_buffered_share: "100%" } },
    },
    routes: [upstream("/h", origin, { hooks: { ...hooks, timeout: "5s" } })],
    files: { "hook.ts": HOOK },
  });
  try {
    const slow = Array.from({ length: 6 }, () =>
      narrow.once(request("POST /h/x", ["X-Do: slow"], "s".repeat(300_000))),
    );
    const statuses = (await Promise.all(slow)).map(({ status }) => status).sort();
    expect(statuses).toContain(200);
    expect(statuses.some((status) => status === 503 || status === 408)).toBe(true);
    // All of it has been given back.
    expect((await narrow.once(request("POST /h/x", ["X-Do: pass"], "s".repeat(900_000)))).status).toBe(200);
  } finally {
    await narrow.stop();
  }
}, 30_000);
