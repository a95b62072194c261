// docs/cache.md#purge: `edge purge` takes responses out of a running gateway's cache.
import { afterAll, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { EDGE_BINARY } from "../harness/gateway.ts";

const cached = await CachedGateway.start();
afterAll(() => cached.stop());

async function purge(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const child = Bun.spawn([EDGE_BINARY, "purge", ...args, "--url", `http://127.0.0.1:${cached.gateway.port}`], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, out, err };
}

async function store(...paths: string[]): Promise<void> {
  for (const path of paths) {
    cached.answers(path, "Cache-Control: max-age=600", 'ETag: "e"', `Cache-Tag: tag${path.slice(1)}`);
    await cached.get(path);
  }
}

test("by URL, prefix, tag and all, softly too", async () => {
  await store("/a", "/b", "/c1", "/c2", "/d");
  expect(await purge("http://gw.test/a", "/b", "/none")).toEqual({
    code: 0,
    out: "1 purged: http://gw.test/a\n1 purged: /b\n0 purged: /none\n",
    err: "",
  });
  expect((await purge("--prefix", "/c", "--soft")).out).toBe("2 purged: /c*\n");
  expect((await cached.get("/c1")).fields.get("cache-status")).toStartWith("edge; fwd=stale");
  expect((await purge("--tag", "tagd, other")).out).toBe("1 purged: tag tagd, other\n");
  expect((await purge("--all")).out).toBe("2 purged: everything\n");
  expect((await cached.get("/c2")).fields.get("cache-status")).toStartWith("edge; fwd=uri-miss");
});

test("says what is wrong", async () => {
  expect(await purge()).toMatchObject({ code: 2, out: "" });
  expect(await purge("/a", "--all")).toMatchObject({ code: 2, out: "" });
  const refused = await purge("ftp://nothing");
  expect(refused.code).toBe(1);
  expect(refused.err).toContain("/internal/api/cache/purge: 400");
  const away = Bun.spawn([EDGE_BINARY, "purge", "/a", "--url", "http://127.0.0.1:1"], { stderr: "pipe" });
  expect(await away.stderr.text()).toContain("no gateway answers at http://127.0.0.1:1: connection refused");
  expect(await away.exited).toBe(1);
});
