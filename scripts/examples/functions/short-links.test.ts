import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Gateway, startEdge } from "edge:test";

const program = Bun.which("redis-server");
if (program === null) console.log("skipped: short links need redis-server (Debian: apt install redis-server)");

describe.skipIf(program === null)("short links", () => {
  let redis: Bun.Subprocess;
  let edge: Gateway;

  beforeAll(async () => {
    const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { port } = probe;
    probe.stop(true);
    redis = Bun.spawn([program!, "--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", "/tmp"], {
      stdout: "ignore",
      stderr: "ignore",
    });
    await listens(port);
    edge = await startEdge({
      env: { REDIS_URL: `redis://127.0.0.1:${port}`, LINK_TOKEN: "secret", LINK_HOSTS: "example.com" },
    });
  });
  afterAll(() => redis?.kill("SIGKILL"));

  const make = (url: unknown, token = "secret") =>
    edge.fetch("/s", { method: "POST", headers: { Authorization: `Bearer ${token}` }, body: JSON.stringify({ url }) });

  test("a link is made with the token, and leads where it should", async () => {
    const made = await make("https://example.com/a?b=1");
    expect(made.status).toBe(201);
    const { path } = (await made.json()) as { path: string };
    const followed = await edge.fetch(path);
    expect(followed.status).toBe(302);
    expect(followed.headers.get("Location")).toBe("https://example.com/a?b=1");
  });

  test("without the token none is made", async () => {
    expect((await make("https://example.com/", "other")).status).toBe(401);
  });

  test.each([
    "https://evil.example/",
    "http://example.com/",
    "javascript:alert(1)",
    "https://example.com@evil.example/",
    "https://example.com:8443/",
    "//example.com/",
    7,
  ])("no link to %p", async (url) => {
    expect((await make(url)).status).toBe(400);
  });

  test("an unknown code is 404", async () => {
    expect((await edge.fetch("/s/00000000")).status).toBe(404);
    expect((await edge.fetch("/s/..%2f..%2flink")).status).toBeGreaterThanOrEqual(400);
  });
});

async function listens(port: number): Promise<void> {
  for (;;) {
    try {
      const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
      socket.end();
      return;
    } catch {
      await Bun.sleep(20);
    }
  }
}
