// docs/configuration.md#online
import { expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, runEdge, upstream } from "../harness/gateway.ts";

test("edge check --online says of each name, target, folder and log what it found", async () => {
  const origin = EchoOrigin.start();
  const closed = freePort();
  const options = {
    config: { server: { access_log: { outputs: [{ file: "logs/access.log" }] } } },
    routes: [
      upstream("/up", origin),
      upstream(
        "/checked",
        { url: origin.url.replace("127.0.0.1", "localhost") },
        { health_check: { path: "/health" } },
      ),
      upstream("/down", { url: `http://127.0.0.1:${closed}` }),
      upstream("/nowhere", { url: "http://no-such-name.invalid:80" }),
      { type: "static", prefix: "/files", dir: "./public" },
    ],
    files: { "public/a.txt": "a" },
  };
  const text = await runEdge(["check", "--online"], options);
  expect(text.code).toBe(1);
  expect(text.stdout).toMatch(/^ok {5}name localhost: /m);
  expect(text.stdout).toContain(`ok     target ${origin.url}: connected in `);
  expect(text.stdout).toMatch(/^ok {5}target http:\/\/localhost:\d+: health check \/health: 200 in /m);
  expect(text.stdout).toMatch(/^ok {5}file .*public: readable$/m);
  expect(text.stdout).toMatch(/^ok {5}log .*logs\/access\.log: writable$/m);
  expect(text.stderr).toContain(`failed target http://127.0.0.1:${closed}: connection refused`);
  expect(text.stderr).toContain("failed name no-such-name.invalid: ENOTFOUND");
  expect(text.stderr).toContain("edge help failed-try");
  const { ok, online } = JSON.parse((await runEdge(["check", "--online", "--json"], options)).stdout);
  expect([ok, online.length, online.filter((one: { ok: boolean }) => !one.ok).length]).toEqual([false, 8, 3]);
  const plain = await runEdge(["check"], options);
  expect([plain.code, plain.stdout.includes("target")]).toEqual([0, false]);
  origin.stop();
}, 30_000);
