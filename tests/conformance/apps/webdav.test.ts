import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { Gateway } from "../../harness/gateway.ts";
import { longTest } from "../../harness/long-lane.ts";
import { startRecipe } from "../../harness/recipe.ts";
import { Application, PYTHON } from "./application.ts";
import { randomPieces } from "./random-pieces.ts";

if (PYTHON === null) console.log("skipped: a WebDAV server needs wsgidav (scripts/install-peers, from PyPI)");

const MIB = 1_048_576;

describe.skipIf(PYTHON === null)("a WebDAV server", () => {
  let server: Application;
  let gateway: Gateway;

  beforeAll(async () => {
    server = await Application.start({
      path: "/",
      command: (port, folder) => [
        ...[PYTHON!, "-m", "wsgidav.server.server_cli", "--host=127.0.0.1", `--port=${port}`],
        ...[`--root=${folder}`, "--auth=anonymous", "--server=cheroot", "--no-config"],
      ],
    });
    gateway = await startRecipe("recipes.md", "WebDAV", { "http://127.0.0.1:8081": server.url });
  }, 90_000);
  afterAll(async () => {
    await gateway?.stop();
    await server?.stop();
  }, 30_000);

  const at = (path: string) => `http://127.0.0.1:${gateway.port}${path}`;
  const call = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
    fetch(at(path), { method, headers, body });

  test("makes folders, lists, copies, moves, locks and removes", async () => {
    expect((await call("MKCOL", "/papers")).status).toBe(201);
    expect((await call("PUT", "/papers/a%20b.txt", {}, "first")).status).toBe(201);
    const asked = '<?xml version="1.0"?><propfind xmlns="DAV:"><prop><getcontentlength/><getetag/></prop></propfind>';
    const listed = await call("PROPFIND", "/papers/", { Depth: "1", "Content-Type": "application/xml" }, asked);
    expect([listed.status, await listed.text()]).toEqual([207, expect.stringContaining("/papers/a%20b.txt")]);
    expect((await call("COPY", "/papers/a%20b.txt", { Destination: at("/papers/c.txt") })).status).toBe(201);
    expect((await call("MOVE", "/papers/c.txt", { Destination: at("/papers/d.txt") })).status).toBe(201);
    expect(await (await call("GET", "/papers/d.txt")).text()).toBe("first");
    const info =
      '<?xml version="1.0"?><lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
    const lock = await call("LOCK", "/papers/d.txt", { Timeout: "Second-60", "Content-Type": "application/xml" }, info);
    const token = lock.headers.get("lock-token")!;
    expect([lock.status, token]).toEqual([200, expect.stringMatching(/^<opaquelocktoken:/)]);
    expect((await call("PUT", "/papers/d.txt", {}, "second")).status).toBe(423);
    expect((await call("PUT", "/papers/d.txt", { If: `(${token})` }, "second")).status).toBe(204);
    expect((await call("UNLOCK", "/papers/d.txt", { "Lock-Token": token })).status).toBe(204);
    expect((await call("DELETE", "/papers/")).status).toBe(204);
    expect((await call("PROPFIND", "/papers/", { Depth: "0" })).status).toBe(404);
  });

  const upload = async (mebibytes: number) => {
    const { stream, digest } = randomPieces(mebibytes);
    const put = await fetch(at("/large.bin"), { method: "PUT", body: stream });
    expect(put.status).toBeLessThan(300);
    const hash = createHash("sha256");
    for await (const piece of (await fetch(at("/large.bin"))).body!) hash.update(piece);
    expect(hash.digest("hex")).toBe(digest());
  };

  test("takes an upload in chunks", () => upload(16), 30_000);
  longTest(
    "takes an upload of 300 MB in chunks, with little memory",
    async () => {
      const before = gateway.memory()?.resident ?? 0;
      await upload(300);
      expect((gateway.memory()?.peak ?? 0) - before).toBeLessThan(128 * MIB);
    },
    300_000,
  );
});
