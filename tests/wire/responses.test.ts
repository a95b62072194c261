// docs/answers.md#responses
import { afterAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const respond = (prefix: string, more: object) => ({ type: "respond", prefix, ...more });
// As large as a response may be.
const LARGE = "0123456789abcdef".repeat(16_384);
const gateway = await startGateway({
  config: {
    server: {
      cache: { enabled: true },
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [
    respond("/text", { body: "hello {{you}}\n" }),
    respond("/json", { body: '{"client":{"ip":"{client_ip}","q":"{query.q}"}}', content_type: "application/json" }),
    respond("/page", { body: "<h1>{query.q}</h1>", content_type: "text/html; charset=utf-8" }),
    respond("/plain", { body: "{query.q}|{host}|{rest}" }),
    respond("/robots.txt", { file: "robots.txt" }),
    respond("/large", { file: "large.bin", content_type: "application/x-large" }),
    respond("/teapot", { status: 418, body: "short and stout", methods: ["GET"] }),
    respond("/none", { status: 204 }),
    respond("/empty", {}),
    respond("/files", { status: 404, body: "withheld", regex: "(?i)\\.(bak|sql)$" }),
    respond("/files", { body: "sent" }),
    respond("/files/own", { body: "sent by a longer prefix" }),
    respond("/gone", {
      status: 410,
      headers: { response: { set: { "Cache-Control": "no-store", "X-Why": "moved" } } },
    }),
  ],
  files: {
    "a.pem": certificate.cert,
    "a.key": certificate.key,
    "robots.txt": "User-agent: *\n{path}\n",
    "large.bin": LARGE,
  },
});
afterAll(() => stopAll(gateway));

async function ask(start: string, lines: readonly string[] = []) {
  const reply = await gateway.once(request(start, lines), start.split(" ")[0]);
  return { ...reply, type: reply.fields.get("content-type") };
}

test.each([
  ["/files/a.txt", 200, "sent"],
  ["/files/a.bak", 404, "withheld"],
  ["/files/a.bak?x", 404, "withheld"],
  ["/files/x/..//b.SQL", 404, "withheld"],
  ["/files/b%2Esql", 404, "withheld"],
  ["/files/b.sql%0a", 200, "sent"],
  ["/files/own/a.bak", 200, "sent by a longer prefix"],
])("%s is taken by the route whose expression it fits: %i", async (path, status, body) => {
  expect(await ask(`GET ${path}`)).toMatchObject({ status, text: body });
});

describe("a response", () => {
  test.each([
    ["/text", 200, "text/plain; charset=utf-8", "hello {you}\n"],
    ["/robots.txt", 200, "text/plain; charset=utf-8", "User-agent: *\n{path}\n"],
    ["/teapot", 418, "text/plain; charset=utf-8", "short and stout"],
    ["/empty", 200, null, ""],
    ["/none", 204, null, ""],
    ["/gone/x", 410, null, ""],
  ])("of %s", async (target, status, type, body) => {
    const reply = await ask(`GET ${target}`);
    expect([reply.status, reply.type, reply.text]).toEqual([status, type, body]);
    expect(reply.fields.get("x-cache")).toBeNull();
    const without = await ask(`HEAD ${target}`);
    expect([without.status, without.text]).toEqual([status, ""]);
    expect(without.fields.get("content-length")).toBe(reply.fields.get("content-length"));
  });

  test("has no length where its status allows no content", async () => {
    expect((await ask("GET /none")).fields.get("content-length")).toBeNull();
  });

  test("takes every method and drops bodies", async () => {
    const client = await gateway.connect();
    for (const method of ["POST", "PUT", "DELETE", "PROPFIND"]) {
      const reply = await client.exchange(request(`${method} /text`, [], "x".repeat(10_000)));
      expect([method, reply.status, reply.text]).toEqual([method, 200, "hello {you}\n"]);
    }
    client.close();
    expect((await ask("POST /teapot")).status).toBe(405);
  });

  test("has the fields of the route", async () => {
    const { fields } = await ask("GET /gone");
    expect([fields.get("cache-control"), fields.get("x-why")]).toEqual(["no-store", "moved"]);
  });
});

describe("values in a body", () => {
  const evil = encodeURIComponent('"},<script>alert(1)</script>\r\n\\${x}');

  test("cannot add members to JSON", async () => {
    const reply = await ask(`GET /json?q=${evil}`);
    expect(reply.type).toBe("application/json");
    expect(json(reply)).toEqual({ client: { ip: "127.0.0.1", q: '"},<script>alert(1)</script>\\${x}' } });
  });

  test("cannot add markup to HTML", async () => {
    const reply = await ask(`GET /page?q=${evil}`);
    expect(reply.text).toBe("<h1>&quot;},&lt;script&gt;alert(1)&lt;/script&gt;\\${x}</h1>");
  });

  test("stay text, which browsers do not take for more", async () => {
    const reply = await ask("GET /plain/a/b?q=%3Cb%3E%0d%0a%e2%82%ac", ["Host: Gw.Test.:1"]);
    expect(reply.text).toBe("<b>€|gw.test|/a/b");
    expect(reply.fields.get("x-content-type-options")).toBe("nosniff");
    expect(reply.fields.get("etag")).toBeNull();
  });
});

describe("conditions", () => {
  test("are met by the entity tag of a constant response", async () => {
    const etag = (await ask("GET /text")).fields.get("etag")!;
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    for (const start of ["GET /text", "HEAD /text"]) {
      const reply = await ask(start, [`If-None-Match: "x", W/${etag}`]);
      expect([reply.status, reply.text, reply.fields.get("etag")]).toEqual([304, "", etag]);
      expect(reply.fields.get("content-length")).toBeNull();
    }
    expect((await ask("GET /text", ['If-None-Match: "x"'])).status).toBe(200);
    expect((await ask("GET /text", ['If-Match: "x"'])).status).toBe(412);
    expect((await ask("POST /text", [`If-None-Match: ${etag}`, "Content-Length: 0"])).status).toBe(200);
    expect((await ask("GET /teapot", ["If-None-Match: *"])).status).toBe(418);
  });
});

test("a file is what it was when the configuration was read, until a reload", async () => {
  const path = join(gateway.folder, "robots.txt");
  const reloaded = (ok: boolean) => {
    gateway.signal("SIGHUP");
    return gateway.log(`a reload: ${ok}`, (line) => line.event === "config_reload" && line.ok === ok);
  };
  rmSync(path);
  expect((await ask("GET /robots.txt")).text).toBe("User-agent: *\n{path}\n");
  expect(JSON.stringify(await reloaded(false))).toContain("routes.yaml:");
  expect((await ask("GET /robots.txt")).text).toBe("User-agent: *\n{path}\n");
  writeFileSync(path, "new");
  await reloaded(true);
  expect((await ask("GET /robots.txt")).text).toBe("new");
});

test("HTTP/2 and HTTP/3 give the same", async () => {
  const h2 = await H2Client.connect(gateway.port);
  const h3 = await H3Client.connect(port);
  for (const target of ["/text", "/large", "/teapot", "/none", "/gone", "/plain/%0d%0aX:?q=%0d%0aX:y"]) {
    const first = await ask(`GET ${target}`);
    const second = await h2.reply(h2.headers(head("GET", target)));
    const third = await h3.ask("GET", target);
    expect([target, second.status, third.status]).toEqual([target, first.status, first.status]);
    expect([second.fields.get("x"), third.fields.x]).toEqual([undefined, undefined]);
    expect(second.body.equals(first.body)).toBe(true);
    if (!target.startsWith("/plain")) expect(third.body.equals(first.body)).toBe(true);
    const etag = first.fields.get("etag");
    if (etag === null) continue;
    expect((await h2.reply(h2.headers(head("GET", target, [["if-none-match", etag]])))).status).toBe(304);
    expect((await h3.ask("GET", target, { "if-none-match": etag })).status).toBe(304);
    expect((await h3.ask("HEAD", target)).body.length).toBe(0);
  }
  h2.close();
  h3.close();
});
