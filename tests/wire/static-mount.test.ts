import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const gateway = await startGateway({
  routes: [{ type: "static", prefix: "/static", dir: "site" }],
  files: {
    "site/index.html": "<h1>home</h1>",
    "site/app.js": "console.log(1)",
    "site/app.mjs": "export {}",
    "site/style.css": "body{}",
    "site/data.json": "{}",
    "site/note.txt": "plain",
    "site/picture.png": "\x89PNG",
    "site/unknown.blob": "?",
    "site/empty.txt": "",
    "site/with space.txt": "spaced",
    "site/100%.txt": "percent",
    "site/folder/index.html": "<h1>folder</h1>",
    "site/bare/file.txt": "x",
    "site/.env": "SECRET=1",
    "site/.git/config": "secret",
    "site/.well-known/security.txt": "Contact: x",
    "outside/secret.txt": "secret",
    "site-2/secret.txt": "sibling",
  },
});
afterAll(() => stopAll(gateway));

beforeAll(() => {
  const at = (path: string) => join(gateway.folder, path);
  symlinkSync(at("outside/secret.txt"), at("site/link.txt"));
  symlinkSync(at("outside"), at("site/linked"));
  symlinkSync("../site-2", at("site/sibling"));
  symlinkSync("note.txt", at("site/inside.txt"));
});

const get = (path: string, lines: readonly string[] = []) => gateway.once(request(`GET ${path}`, lines));

describe("a file", () => {
  test.each([
    ["index.html", "text/html; charset=utf-8", "<h1>home</h1>"],
    ["app.js", "application/javascript", "console.log(1)"],
    ["app.mjs", "application/javascript", "export {}"],
    ["style.css", "text/css; charset=utf-8", "body{}"],
    ["data.json", "application/json", "{}"],
    ["note.txt", "text/plain; charset=utf-8", "plain"],
    ["unknown.blob", "application/octet-stream", "?"],
    ["empty.txt", "text/plain; charset=utf-8", ""],
    ["with%20space.txt", "text/plain; charset=utf-8", "spaced"],
    ["100%25.txt", "text/plain; charset=utf-8", "percent"],
    ["inside.txt", "text/plain; charset=utf-8", "plain"],
    [".well-known/security.txt", "text/plain; charset=utf-8", "Contact: x"],
  ])("%s is served as %s", async (path, type, body) => {
    const reply = await get(`/static/${path}`);
    expect([reply.status, reply.fields.get("content-type"), reply.text]).toEqual([200, type, body]);
    expect(reply.fields.get("x-content-type-options")).toBe("nosniff");
    expect(reply.framing).toBe("length");
  });

  test("is served on a connection that goes on, whatever the query", async () => {
    const client = await gateway.connect();
    for (const path of ["note.txt", "app.js?v=1", "picture.png", "note.txt?../../x"]) {
      expect((await client.exchange(request(`GET /static/${path}`))).status).toBe(200);
    }
    client.close();
  });

  test("is what it is now", async () => {
    const path = join(gateway.folder, "site/changing.txt");
    for (const text of ["one", "two and more", ""]) {
      writeFileSync(path, text);
      // What a mount remembers of a file it may remember for a moment.
      await eventually(async () => expect((await get("/static/changing.txt")).text).toBe(text));
    }
    unlinkSync(path);
    await eventually(async () => expect((await get("/static/changing.txt")).status).toBe(404));
  });

  test("large comes whole", async () => {
    const bytes = Buffer.alloc(5_000_003, "0123456789");
    writeFileSync(join(gateway.folder, "site/large.bin"), bytes);
    const reply = await get("/static/large.bin");
    expect(reply.body.equals(bytes)).toBe(true);
  });
});

describe("HEAD and other methods", () => {
  test("HEAD is GET without the body", async () => {
    const client = await gateway.connect();
    const head = await client.exchange(request("HEAD /static/note.txt"));
    expect([head.status, head.fields.get("content-length")]).toEqual([200, "5"]);
    expect((await client.exchange(request("HEAD /static/absent"))).status).toBe(404);
    expect((await client.exchange(request("GET /static/note.txt"))).text).toBe("plain");
    client.close();
  });

  test.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])("%s is 405 with Allow", async (method) => {
    const reply = await gateway.once(request(`${method} /static/note.txt`, [], "x"), method);
    expect([reply.status, reply.fields.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});

describe("a folder", () => {
  test("is its index.html", async () => {
    expect((await get("/static/")).text).toBe("<h1>home</h1>");
    expect((await get("/static/folder/")).text).toBe("<h1>folder</h1>");
  });

  test("without its slash redirects, with the query kept", async () => {
    const reply = await get("/static/folder?a=1&b");
    expect([reply.status, reply.fields.get("location")]).toEqual([301, "/static/folder/?a=1&b"]);
  });

  test("is never redirected to another host", async () => {
    for (const path of ["//evil.test/..", "/static//evil.test", "/static/%2f%2fevil.test"]) {
      expect((await get(path)).fields.get("location") ?? "/").toMatch(/^\/(?!\/)/);
    }
  });

  test("without an index is 404, with no listing", async () => {
    const reply = await get("/static/bare/");
    expect([reply.status, reply.text.includes("file.txt")]).toEqual([404, false]);
  });
});

describe("404 is", () => {
  test.each([
    "absent.txt",
    "folder/absent",
    "note.txt/",
    "note.txt/more",
    ".env",
    ".git/config",
    "%2eenv",
    "bare/.hidden",
  ])("%s", async (path) => {
    expect((await get(`/static/${path}`)).status).toBe(404);
  });
});

describe("a link out of the folder", () => {
  test.each(["link.txt", "linked/secret.txt", "sibling/secret.txt"])("(%s) is 403 and closes", async (path) => {
    const client = await gateway.connect();
    const reply = await client.exchange(request(`GET /static/${path}`));
    expect([reply.status, reply.text]).toEqual([403, "Symlink Path Traversal Disallowed"]);
    expect(reply.fields.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(reply.fields.get("connection")?.toLowerCase()).toBe("close");
    expect((await client.takeRest()).byteLength).toBe(0);
    client.close();
  });
});

test("a NUL or broken percent-encoding in the path is 400", async () => {
  for (const path of ["a%00.txt", "note.txt%00", "%zz", "%", "%4"]) {
    expect((await get(`/static/${path}`)).status).toBe(400);
  }
});
