// `edge convert` and `edge replay` as users run them. docs/migrate.md, docs/tools.md#replay
import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { makeCertificate } from "../harness/certificate.ts";
import { EXAMPLES } from "../harness/conversions.ts";
import { runEdge, startGateway } from "../harness/gateway.ts";
import { freePort } from "../harness/ports.ts";

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "edge-convert-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("edge convert", () => {
  test("writes two files that edge check takes, and never over a file", async () => {
    await inFolder(async (folder) => {
      const file = join(EXAMPLES, "nginx", "load-balanced.conf");
      const first = await runEdge(["convert", file, "--out", "new/edge"], {}, folder);
      expect(first).toMatchObject({ code: 0, stdout: "" });
      expect(first.stderr).toContain("Wrote new/edge/config.yaml and new/edge/routes.yaml. nginx: 32 directives");
      const check = await runEdge(["check", "--config", "new/edge/config.yaml"], {}, folder);
      expect(check.code).toBe(0);
      const before = readFileSync(join(folder, "new/edge/routes.yaml"), "utf8");
      const again = await runEdge(["convert", file, "--out", "new/edge"], {}, folder);
      expect(again).toMatchObject({ code: 1 });
      expect(again.stderr).toContain("already present");
      expect(readFileSync(join(folder, "new/edge/routes.yaml"), "utf8")).toBe(before);
    });
  });

  test("prints both to standard output without --out, from standard input too", async () => {
    await inFolder(async (folder) => {
      writeFileSync(join(folder, "Caddyfile"), ":8080\nrespond hello\n");
      const { code, stdout } = await runEdge(["convert", "Caddyfile"], {}, folder);
      expect(code).toBe(0);
      expect(stdout.match(/^\.\.\.$/gm)).toHaveLength(2);
      expect(stdout).toContain("body: hello");
    });
  });

  test("says what is wrong", async () => {
    await inFolder(async (folder) => {
      writeFileSync(join(folder, "empty.conf"), " \n");
      writeFileSync(join(folder, "text"), "dear reader\n");
      for (const [args, code, message] of [
        [["empty.conf"], 1, "is empty"],
        [["text"], 2, "name its program with --from"],
        [["text", "--from", "apache"], 2, "--from"],
        [["absent.conf"], 1, "absent.conf"],
        [[], 2, "missing FILE"],
      ] as const) {
        const done = await runEdge(["convert", ...args], {}, folder);
        expect(done.code).toBe(code);
        expect(done.stderr).toContain(message);
      }
      expect(existsSync(join(folder, "config.yaml"))).toBe(false);
    });
  });
});

describe("edge replay", () => {
  const line = (method: string, path: string, status: number): string =>
    `192.0.2.1 - - [x] "${method} ${path} HTTP/1.1" ${status} 1 "-" "-"`;
  const LINES = [
    line("GET", "/same", 200),
    line("GET", "/other?token=abc", 200),
    line("HEAD", "/same", 200),
    line("POST", "/same", 200),
    line("GET", "/same", 200),
  ];
  const routes = (body: string): Record<string, unknown>[] => [
    { type: "respond", path: "/same", body: "same" },
    { type: "respond", path: "/other", body },
  ];

  test("shows what differs between two servers, sends nothing that may change something, and tells by its exit code", async () => {
    await inFolder(async (folder) => {
      const one = await startGateway({ routes: routes("one") });
      const two = await startGateway({ routes: routes("two") });
      try {
        writeFileSync(join(folder, "a.log.gz"), gzipSync(`${LINES[0]}\n${LINES[1]}\n`));
        writeFileSync(join(folder, "b.log.zst"), zstdCompressSync(`${LINES.slice(2).join("\n")}\n`));
        const urls = [`http://127.0.0.1:${one.port}`, `http://127.0.0.1:${two.port}`] as const;
        const done = await runEdge(
          ["replay", "a.log.gz", "b.log.zst", "--against", urls[0], "--compare", urls[1]],
          {},
          folder,
        );
        expect(done.code).toBe(1);
        expect(done.stdout).toContain("GET /other?token=***\n  body: 3 bytes, sha256 ");
        expect(done.stdout).toContain(
          "3 requests sent (left out: 1 with a method that may change something, 1 repeated); 1 differs.",
        );
        expect(done.stderr).toContain("at most 50 a second and 8 at once");
        expect(await one.metric("gateway_http_requests_total", { method: "POST" })).toBe(0);
        const same = await runEdge(
          ["replay", "b.log.zst", "--against", urls[0], "--compare", urls[1], "--json"],
          {},
          folder,
        );
        expect(same.code).toBe(0);
        expect(JSON.parse(same.stdout)).toMatchObject({ sent: 2, differ: 0, findings: [] });
        const alone = await runEdge(["replay", "a.log.gz", "--against", urls[0]], {}, folder);
        expect(alone.code).toBe(0);
      } finally {
        await one.stop();
        await two.stop();
      }
    });
  });

  test("sends nothing to a host that a line names", async () => {
    const asked: string[] = [];
    const serve = (name: string): Bun.Server<undefined> =>
      Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch({ url, headers }) {
          asked.push(`${name} ${headers.get("Host")} ${new URL(url).pathname}`);
          return new Response("ok");
        },
      });
    const [own, other] = [serve("own"), serve("other")];
    const folder = mkdtempSync(join(tmpdir(), "edge-replay-"));
    try {
      const log = join(folder, "access.log");
      const host = `127.0.0.1:${other.port}`;
      const common = (target: string): string => `192.0.2.1 - - [x] "GET ${target} HTTP/1.1" 200 2`;
      const json = (line: object): string => JSON.stringify({ method: "GET", status: 200, ...line });
      const lines = [
        ...[`http://${host}/a`, `//${host}/b`, `@${host}/c`, `:${other.port}/d`, `\\${host}/e`].map(common),
        json({ host, path: "/f" }),
        json({ host, path: `http://${host}/g` }),
        json({ host: "h.test\r\nX: y", path: "/h" }),
      ];
      writeFileSync(log, lines.join("\n"));
      const { code } = await runEdge(["replay", log, "--against", `http://127.0.0.1:${own.port}`], {}, folder);
      expect(code).toBe(0);
      expect(asked.sort()).toEqual(
        [`own 127.0.0.1:${own.port} //${host}/b`, ...["/a", "/f", "/g"].map((path) => `own ${host} ${path}`)].sort(),
      );
    } finally {
      own.stop(true);
      other.stop(true);
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("asks over TLS, by an address too", async () => {
    await inFolder(async (folder) => {
      const { cert, key } = await makeCertificate();
      const port = freePort();
      const gateway = await startGateway({
        routes: routes("tls"),
        config: { server: { tls: { cert_file: "c.pem", key_file: "k.pem", port } } },
        files: { "c.pem": cert, "k.pem": key },
      });
      try {
        writeFileSync(
          join(folder, "a.log"),
          `${LINES[0]}\n{"method":"GET","host":"named.test","path":"/same","status":200}\n`,
        );
        const url = `https://127.0.0.1:${port}`;
        expect((await runEdge(["replay", "a.log", "--against", url, "--insecure"], {}, folder)).stdout).toBe(
          "2 requests sent; none differs.\n",
        );
        const verified = await runEdge(["replay", "a.log", "--against", url], {}, folder);
        expect(verified.code).toBe(1);
        expect(verified.stdout).toContain("failure:");
      } finally {
        await gateway.stop();
      }
    });
  });

  test("of a server that is away is a difference; wrong words are wrong usage", async () => {
    await inFolder(async (folder) => {
      writeFileSync(join(folder, "a.log"), `${LINES.join("\n")}\n`);
      writeFileSync(join(folder, "none.log"), "nothing\n");
      const away = `http://127.0.0.1:${freePort()}`;
      const done = await runEdge(["replay", "a.log", "--against", away], {}, folder);
      expect(done.code).toBe(1);
      expect(done.stdout).toContain("ECONNREFUSED");
      for (const [args, code] of [
        [["a.log"], 2],
        [["a.log", "--against", "ftp://x"], 2],
        [["a.log", "--against", away, "--rate", "0"], 2],
        [["none.log", "--against", away], 1],
        [["absent.log", "--against", away], 1],
      ] as const)
        expect((await runEdge(["replay", ...args], {}, folder)).code).toBe(code);
    });
  });
});
