// docs/files.md#listings
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestAuthority } from "../harness/certificate.ts";
import { freePort, type Gateway, runEdge, startGateway } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

interface Listing {
  readonly path: string;
  readonly entries: readonly { readonly name: string; readonly type: string; readonly size: number | null }[];
  readonly omitted: number;
}

const HOSTILE = `<img src=x onerror=alert(1)>"'&.txt`;
const authority = await TestAuthority.make("trusted");
const server = await authority.issue({ subject: "server", names: [{ type: "dns", value: "localhost" }] });
const [tlsPort, quicPort] = [freePort(), freePort()];
const gateway: Gateway = await startGateway({
  config: {
    server: {
      tls: { enabled: true, port: tlsPort, cert_file: "cert.pem", key_file: "key.pem" },
      http3: { enabled: true, port: quicPort },
    },
  },
  routes: [
    { type: "static", prefix: "/files", dir: "./public", browse: true },
    { type: "static", prefix: "/files/guarded", dir: "./public/guarded", ip_rules: { deny: ["0.0.0.0/0"] } },
    { type: "respond", path: "/files/taken.txt", body: "another route" },
    { type: "static", prefix: "/plain", dir: "./public" },
    { type: "static", prefix: "/app", dir: "./public", browse: true, spa: true, fallback: "sub/index.html" },
  ],
  files: {
    "cert.pem": server.cert,
    "key.pem": server.key,
    "public/small.txt": "abc",
    "public/taken.txt": "not listed",
    "public/.hidden": "secret",
    "public/.well-known/x": "not listed",
    "public/guarded/secret.txt": "secret",
    "public/sub/index.html": "<p>index</p>",
    "public/empty/.keep": "",
    "public/javascript:alert(1)": "x",
    [`public/${HOSTILE}`]: "x",
    "outside/secret.txt": "secret",
  },
});
afterAll(() => stopAll(gateway));
const folder = join(gateway.folder, "public");
writeFileSync(join(folder, "large.bin"), "");
truncateSync(join(folder, "large.bin"), 3 * 1024 * 1024);
utimesSync(join(folder, "large.bin"), 1_000_000_000, 1_000_000_000);
writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.of(0x66, 0xff, 0xfe)]), "no utf-8");
symlinkSync("../outside", join(folder, "way-out"));
symlinkSync("../outside/secret.txt", join(folder, "leak.txt"));
symlinkSync("small.txt", join(folder, "link.txt"));
symlinkSync("nowhere", join(folder, "dangling"));

const get = (path: string, lines: readonly string[] = [], method = "GET") =>
  gateway.once(request(`${method} ${path}`, lines), method);
const listed = async (path: string): Promise<Listing> => json(await get(path, ["Accept: application/json"]));
const names = async (path: string): Promise<string[]> => (await listed(path)).entries.map(({ name }) => name);

const FOLDERS = ["empty", "sub"];
const BY_NAME = [...FOLDERS, HOSTILE, "f\ufffd\ufffd", "javascript:alert(1)", "large.bin", "link.txt", "small.txt"];

describe("a list of files", () => {
  test("has what a client may get, and nothing that is hidden, guarded, another route's or outside", async () => {
    const { path, entries, omitted } = await listed("/files/");
    expect([path, omitted, entries.map(({ name }) => name)]).toEqual(["/files/", 0, BY_NAME]);
    expect(entries.find(({ name }) => name === "large.bin")).toMatchObject({ type: "file", size: 3145728 });
    expect(entries.find(({ name }) => name === "sub")).toMatchObject({ type: "folder", size: null });
    expect(await names("/files/empty/")).toEqual([]);
  });

  test("is sorted by what the query names", async () => {
    const files = async (query: string) => (await names(`/files/?${query}`)).slice(FOLDERS.length);
    expect((await files("sort=size&order=desc"))[0]).toBe("large.bin");
    expect((await files("sort=time&order=asc"))[0]).toBe("large.bin");
    expect(await names("/files/?order=desc")).toEqual(["sub", "empty", ...BY_NAME.slice(2).reverse()]);
    expect(await names("/files/?sort=%00&sort=<x>&order")).toEqual(BY_NAME);
  });

  test("is a page for browsers, with every name escaped and each link to its file", async () => {
    const page = await get("/files/?sort=size&order=asc", ["Accept: text/html,*/*;q=0.8"]);
    expect(page.status).toBe(200);
    expect(page.fields.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.fields.get("cache-control")).toBe("no-store");
    expect(page.fields.get("content-security-policy")).toContain("default-src 'none'");
    expect(page.text).not.toContain("<img");
    expect(page.text).toContain('href="./javascript:alert(1)"');
    expect(page.text).toContain("3 MiB");
    expect(page.text).toContain('aria-sort="ascending"');
    expect(page.text).not.toMatch(/secret|hidden|well-known|way-out|dangling/);
    const hrefs = [...page.text.matchAll(/href="(\.\/[^"]+)"/g)].map(([, href]) =>
      href!.replaceAll("&#38;", "&").replaceAll("&#39;", "'"),
    );
    expect(hrefs.length).toBe(BY_NAME.length);
    for (const href of hrefs) expect((await get(`/files/${href.slice(2)}`)).status).toBeLessThan(300);
    expect((await get("/files/", ["Accept: */*"])).fields.get("content-type")).toContain("text/html");
  });

  test("answers HEAD with the same length, keeps its folder's index, and leaves other requests as they were", async () => {
    const [page, head] = [await get("/files/"), await get("/files/", [], "HEAD")];
    expect([head.status, head.text, head.fields.get("content-length")]).toEqual([
      200,
      "",
      page.fields.get("content-length"),
    ]);
    expect((await get("/files/sub/")).text).toBe("<p>index</p>");
    expect((await get("/files")).fields.get("location")).toBe("/files/");
    expect((await get("/files/", [], "POST")).status).toBe(405);
    for (const path of ["/files/none/", "/files/.well-known/", "/files/.git/", "/files/small.txt/", "/plain/"])
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    for (const path of ["/files/way-out/", "/files/guarded/"])
      expect([path, (await get(path)).status]).toEqual([path, 403]);
    expect((await get("/app/empty/")).text).toContain("0 folders, 0 files");
    expect((await get("/app/none")).text).toBe("<p>index</p>");
  });

  test("goes over HTTP/2 and HTTP/3", async () => {
    const url = `http://127.0.0.1:${gateway.port}/files/`;
    const h2 = await runProcess(["curl", "-s", "--http2-prior-knowledge", "-H", "Accept: application/json", url], {
      timeout: 10_000,
    });
    expect((JSON.parse(h2.stdout) as Listing).entries.length).toBe(BY_NAME.length);
    const h3 = await H3Client.connect(quicPort);
    const reply = await h3.ask("GET", "/files/");
    expect([reply.status, reply.body.toString()]).toEqual([200, expect.stringContaining("large.bin")]);
    h3.close();
  });

  test("is bounded, and says what it leaves out", async () => {
    mkdirSync(join(folder, "many"));
    for (let n = 0; n < 2005; n++) writeFileSync(join(folder, "many", `f${String(n).padStart(5, "0")}`), "");
    const { entries, omitted } = await listed("/files/many/");
    expect([entries.length, omitted]).toEqual([2000, 5]);
    expect((await get("/files/many/")).text).toContain("5 more names");
  });

  test("does not go with rewrite", async () => {
    const routes = [{ type: "static", prefix: "/x", dir: ".", browse: true, rewrite: { path: "/y{rest}" } }];
    expect((await runEdge(["check"], { routes })).stderr).toContain("remove browse or rewrite");
  });
});
