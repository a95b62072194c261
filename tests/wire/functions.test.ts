// docs/functions.md#modules
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { chunked, json, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const MODULES = join(import.meta.dir, "../vectors/functions");
const source = (name: string): string => readFileSync(join(MODULES, name), "utf8");
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const origin = EchoOrigin.start();
const tlsPort = freePort();
const module = "./answers.ts";
const gateway = await startGateway({
  config: {
    server: {
      workers: 2,
      max_body_bytes: "1MiB",
      waf: { enabled: true },
      cache: { enabled: true, cookies: "bypass" },
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
    functions: { env: { NAME: "value" }, memory: "64MiB" },
  },
  routes: [
    { type: "function", prefix: "/f", module, target: origin.url, timeout: "10s", cache: false },
    { type: "function", prefix: "/quick", module: "./quick.ts", timeout: "300ms", cache: false },
    { type: "function", prefix: "/missing", module: "./missing.ts", cache: false },
    { type: "function", prefix: "/wrong", module: "./wrong.ts", cache: false },
    { type: "function", prefix: "/stored", module: "./stored.ts", cache: { default_ttl: "1h" } },
    {
      type: "function",
      prefix: "/auth",
      module,
      auth: { basic: { users: { alice: await Bun.password.hash("pw", "bcrypt") } } },
    },
  ],
  files: {
    "answers.ts": source("answers.ts"),
    "quick.ts": source("answers.ts"),
    "greeting.ts": source("greeting.ts"),
    "missing.ts": 'import "./not-there.ts";\nexport default { fetch: () => new Response("x") };\n',
    "wrong.ts": "export default {\n  fetch() {\n    return new Response(;\n  }\n};\n",
    "stored.ts": "let n = 0;\nexport default { fetch: () => new Response(String(++n)) };\n",
    "a.pem": certificate.cert,
    "a.key": certificate.key,
  },
});
afterAll(() => stopAll(gateway, origin));

const ask = (path: string, lines: readonly string[] = [], body?: string): Promise<Reply> =>
  gateway.once(request(`${body === undefined ? "GET" : "POST"} ${path}`, lines, body));

/** Fields of a line of the log about a request. */
const failure = (id: string) => gateway.log("function_failed", (line) => line.request_id === id);

describe("a function", () => {
  test("gives the response; modules import what is beside them", async () => {
    const reply = await ask("/f/hello");
    expect([reply.status, reply.text, reply.fields.get("content-length")]).toEqual([200, "hello", "5"]);
    expect(reply.fields.get("content-type")).toBe("text/plain;charset=UTF-8");
  });

  test("sees the request, its own variables, and none of the process", async () => {
    const reply = await ask("/f/facts?a=%20b", ["X-Request-Id: id-1", "X-Mine: 1", "X-Forwarded-For: 6.6.6.6"]);
    const { url, fields, ...facts } = json<{ url: string; fields: Record<string, string> }>(reply);
    expect(new URL(url).pathname + new URL(url).search).toBe("/f/facts?a=%20b");
    expect(fields["x-mine"]).toBe("1");
    expect(fields["x-forwarded-for"]).toBeUndefined();
    expect(facts as object).toEqual({
      method: "GET",
      env: "value",
      inherited: "value",
      process: { NAME: "value" },
      route: "/f",
      clientIp: "127.0.0.1",
      requestId: "id-1",
      auth: null,
    });
  });

  test("knows who has signed in, and not with what", async () => {
    const reply = await ask("/auth/facts", [`Authorization: Basic ${btoa("alice:pw")}`]);
    const { auth, fields } = json<{ auth: object; fields: Record<string, string> }>(reply);
    expect(auth).toEqual({ user: "alice", claims: {} });
    expect(fields.authorization).toBeUndefined();
    expect((await ask("/auth/facts")).status).toBe(401);
  });

  test("takes bodies whole and in chunks, and gives them back", async () => {
    const whole = await ask("/f/echo", ["Content-Type: text/x"], "abc");
    expect([whole.status, whole.text, whole.fields.get("x-type")]).toEqual([201, "abc", "text/x"]);
    const body = "x".repeat(300_000);
    const pieces = await gateway.once(
      Buffer.concat([request("POST /f/text", ["Transfer-Encoding: chunked"]), chunked(body, 5000)]),
    );
    expect(pieces.text).toBe(body.toUpperCase());
  });

  test.each([
    ["/f/cookies", 200],
    ["/f/empty", 204],
    ["/f/length?5", 200],
    ["/f/hops", 200],
  ])("%s is %d", async (path, status) => {
    const reply = await ask(path);
    expect(reply.status).toBe(status);
    expect(reply.fields.get("keep-alive") ?? "").toBe("");
    expect(reply.fields.get("x-evil") ?? "").toBe("");
  });

  test("HEAD has no body", async () => {
    const reply = await gateway.once(request("HEAD /f/hello"), "HEAD");
    expect([reply.status, reply.text]).toEqual([200, ""]);
  });

  test("a method that the runtime would take for GET is refused", async () => {
    expect((await gateway.once(request("FOO /f/facts"))).status).toBe(501);
  });

  test("the firewall comes before it, and the cache", async () => {
    expect((await ask("/f/hello?q=1%27%20OR%20%271%27=%271%27--")).status).toBe(403);
    expect((await ask("/stored/x")).text).toBe("1");
    expect((await ask("/stored/x")).text).toBe("1");
  });

  test("writes lines of the log", async () => {
    await ask("/f/log", ["X-Request-Id: id-log"]);
    const line = await gateway.log("function_log", ({ message }) => message === "by log");
    expect(line).toMatchObject({ level: "info", fields: { n: 2 }, request_id: "id-log", route: "/f" });
    expect(await gateway.log("function_log", ({ message }) => message === "by console")).toMatchObject({
      fields: { n: 1 },
    });
    await gateway.log("function_log", ({ message }) => message === "by stdout");
  });

  test("what waitUntil is given goes on", async () => {
    expect((await ask("/f/waits")).text).toBe("later");
    await eventually(async () => expect((await ask("/f/waited")).text).toBe("1"));
  });

  test("serves HTTP/2 and HTTP/3", async () => {
    const tls = { tls: { rejectUnauthorized: false } };
    const h2 = await fetch(`https://localhost:${tlsPort}/f/echo`, {
      ...tls,
      method: "POST",
      body: "by 2",
      protocol: "http2",
    } as RequestInit);
    expect([h2.status, await h2.text()]).toEqual([201, "by 2"]);
    const h3 = await H3Client.connect(tlsPort);
    const reply = await h3.ask("POST", "/f/echo", {}, { pieces: [Buffer.from("by 3")] });
    expect([reply.status, reply.body.toString()]).toEqual([201, "by 3"]);
    h3.close();
  });
});

test("calls are counted by how they end", async () => {
  await ask("/f/hello");
  await ask("/f/throw");
  for (const outcome of ["ok", "error"])
    await eventually(async () =>
      expect(await gateway.metric("gateway_function_calls_total", { module: "answers.ts", outcome })).toBeGreaterThan(
        0,
      ),
    );
  expect(await gateway.metric("gateway_function_threads", { module: "answers.ts" })).toBe(1);
});

describe("ctx.upstream()", () => {
  test("sends the client's request on", async () => {
    const echo = json<Echo>(await ask("/f/upstream?q=2", ["X-Mine: 1"]));
    expect([echo.method, echo.target]).toEqual(["GET", "/upstream?q=2"]);
    expect(echo.headers["x-mine"]).toEqual("1");
  });

  test("sends another one, which says no more of the client than the gateway knows", async () => {
    const echo = json<Echo>(await ask("/f/other", ["Host: shop.test"]));
    expect([echo.method, echo.target]).toEqual(["POST", "/elsewhere?q=1"]);
    expect(echo.headers.host).toBe("shop.test");
    expect(echo.headers["x-forwarded-for"]).toBe("127.0.0.1");
    expect(echo.headers["x-mine"]).toBe("1");
    expect(echo.headers["transfer-encoding"]).toBeUndefined();
  });
});

describe("what goes wrong", () => {
  test.each(["throw", "reject", "nonsense", "nothing", "error", "used", "switching", "breaks", "length?7"])(
    "%s is 500 with one line of the log, and tells the client nothing",
    async (name) => {
      const id = `wrong-${name.replace("?", "-")}`;
      const reply = await ask(`/f/${name}`, [`X-Request-Id: ${id}`]);
      expect(reply.status).toBe(500);
      expect(reply.text).toContain("the function failed");
      expect(reply.text).not.toContain("secret");
      const line = await failure(id);
      expect(String(line.at)).toMatch(/answers\.ts(:\d+)/);
      expect(line.route).toBe("/f");
    },
  );

  test("no response in time is 504", async () => {
    const reply = await ask("/quick/never", ["X-Request-Id: id-never"]);
    expect(reply.status).toBe(504);
    await failure("id-never");
    expect((await ask("/quick/hello")).text).toBe("hello");
  });

  test("a body that breaks off is never complete", async () => {
    const client = await gateway.connect();
    client.send(request("GET /f/breaksOff", ["X-Request-Id: id-off"]));
    await expect(client.reply()).rejects.toThrow();
    expect(String((await failure("id-off")).at)).toContain("answers.ts:");
  });

  test("modules that cannot be loaded are 500, and the log says where", async () => {
    expect((await ask("/missing/x")).status).toBe(500);
    expect((await ask("/wrong/x")).status).toBe(500);
    const missing = await gateway.log("function_load_failed", (line) => String(line.module).endsWith("missing.ts"));
    expect(String(missing.error)).toContain("not-there");
    const wrong = await gateway.log("function_load_failed", (line) => String(line.module).endsWith("wrong.ts"));
    expect(String(wrong.at)).toMatch(/wrong\.ts:3:/);
  });

  test("a rejection that is not awaited is logged with the request's id", async () => {
    expect((await ask("/f/stray", ["X-Request-Id: id-stray"])).status).toBe(200);
    const line = await gateway.log("function_failed", ({ error }) => String(error).includes("nobody awaits this"));
    expect([line.request_id, ...((line.request_ids as string[] | undefined) ?? [])]).toContain("id-stray");
  });

  test("what belongs to the whole process is refused", async () => {
    expect((await ask("/f/chdir", ["X-Request-Id: id-chdir"])).status).toBe(500);
    expect(String((await failure("id-chdir")).error)).toContain("process.chdir");
  });
});
