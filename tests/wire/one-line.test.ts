// docs/one-line.md: gateways without configuration files, and edge fmt.
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { EDGE_BINARY, freePort, runEdge } from "../harness/gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-one-line-"));
mkdirSync(join(folder, "site"));
writeFileSync(join(folder, "index.html"), "first page");
writeFileSync(join(folder, "site/listed.txt"), "");
const origin = EchoOrigin.start();
afterAll(() => {
  origin.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs such a command, and ends it after `use`. @returns its exit code */
async function serving(args: readonly string[], port: number, use: (base: string) => Promise<void>): Promise<number> {
  const child = Bun.spawn([EDGE_BINARY, ...args], { cwd: folder, stdout: "pipe", stderr: "inherit" });
  try {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) if (text.includes('"listening"')) break;
    await use(`http://127.0.0.1:${port}`);
  } finally {
    child.kill("SIGTERM");
    await child.exited;
  }
  return child.exitCode!;
}

const textOf = async (url: string, init?: RequestInit) => (await fetch(url, init)).text();

describe.concurrent("one line", () => {
  test("file-server serves the folder that it is started in", async () => {
    const port = freePort();
    const code = await serving(["file-server", "--spa", `--listen=:${port}`], port, async (base) => {
      expect(await textOf(base)).toBe("first page");
      expect(await textOf(`${base}/deep/link`)).toBe("first page");
      expect((await fetch(`${base}/.env`)).status).toBe(403);
    });
    expect(code).toBe(0);
  });

  test("reverse-proxy forwards to several origins, and only what the host of --from has", async () => {
    const port = freePort();
    const to = ["--to", `:${origin.port}`, `-t=127.0.0.1:${origin.port}`];
    const code = await serving(["reverse-proxy", `--from=shop.example:${port}`, ...to], port, async (base) => {
      const seen = await fetch(`${base}/a?b`, { headers: { Host: "shop.example" } });
      expect(seen.status).toBe(200);
      expect(await seen.text()).toContain("/a?b");
      expect((await fetch(base, { headers: { Host: "other.example" } })).status).toBe(404);
    });
    expect(code).toBe(0);
  });

  test("file-server --browse lists a folder", async () => {
    const port = freePort();
    await serving(["file-server", "--browse", "site", `--listen=:${port}`], port, async (base) => {
      expect(await textOf(base, { headers: { Accept: "text/html" } })).toContain("listed.txt");
    });
  });

  test("reverse-proxy --tls internal is verified by a client that trusts the root", async () => {
    const port = freePort();
    const args = ["reverse-proxy", `--from=localhost:${port}`, `--to=:${origin.port}`, "--tls=internal"];
    await serving(args, port, async () => {
      const { stdout: ca } = await runEdge(["trust", "--print"], {}, folder);
      const reply = await fetch(`https://localhost:${port}/a?b`, { tls: { ca } });
      expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining("/a?b")]);
      await expect(fetch(`https://localhost:${port}/`)).rejects.toThrow();
    });
  });

  test("respond sends its body as it is typed", async () => {
    const port = freePort();
    const body = "a ${HOME} {host} {{x}} $${y}";
    await serving(["respond", "-s", "418", "--listen", `127.0.0.1:${port}`, body], port, async (base) => {
      const seen = await fetch(base, { method: "POST" });
      expect([seen.status, await seen.text(), seen.headers.get("content-type")]).toEqual([
        418,
        body,
        "text/plain; charset=utf-8",
      ]);
    });
  });

  test("--print writes files that edge check takes", async () => {
    for (const args of [
      ["file-server", "site", "--browse"],
      ["reverse-proxy", "--from", "app.localhost", "--to", ":3000", "--tls", "internal"],
      ["reverse-proxy", "--from", "example.com", "--to", ":3000", "--to", "h2c://h:1", "--tls", "acme"],
      ["respond", "a ${b} {c}"],
    ]) {
      const { stdout } = await runEdge([...args, "--print"], {}, folder);
      const [config, routes] = stdout.split("# routes.yaml\n");
      mkdirSync(join(folder, "etc"), { recursive: true });
      writeFileSync(join(folder, "etc/c.yaml"), config!);
      writeFileSync(join(folder, "etc/r.yaml"), routes!);
      const { code: exit, stderr } = await runEdge(["check", "-c", "etc/c.yaml", "-r", "etc/r.yaml"], {}, folder);
      expect([exit, stderr]).toEqual([0, ""]);
    }
  });

  test.each([
    [["reverse-proxy"], 2, "--to is missing"],
    [["reverse-proxy", "--to", "htp://x"], 1, '--to: expected a URL with http, https, h2c or h2, found "htp://x"'],
    [["reverse-proxy", "--from", ":99999", "--to", ":1"], 2, "--from: expected an address such as :8080"],
    [["reverse-proxy", "--from", ":8080", "--to", ":1", "--tls", "acme"], 2, "--tls acme needs a host name"],
    [["reverse-proxy", "--from", "a..b", "--to", ":1"], 1, "--from: "],
    [["file-server", "nowhere"], 1, "DIR: expected an existing folder"],
    [["file-server", "--listen", "example.com"], 2, "--listen: expected an address"],
    [["respond", "--status", "99"], 2, "--status: expected a whole number from 200 to 599"],
    [["respond", "--type", "a\r\nb: c", "x"], 1, "--type: "],
    [["fil-server"], 2, 'no command "fil-server"; did you mean file-server, '],
  ] as const)("%p is wrong in its own words", async (args, code, text) => {
    const { code: exit, stderr } = await runEdge(args, {}, folder);
    expect([exit, stderr]).toEqual([code, expect.stringContaining(text)]);
    expect(stderr).not.toMatch(/routes\[0\]|\n\s+at /);
  });
});

describe("edge fmt", () => {
  const odd =
    '# top\nserver:   # all\n    port:   8080\n    # off\n    waf:   {enabled:    true}   # on\n\n\n    errors:\n        404:  "./x.html"\n        body: |2\n              a\n               # b\n    tests:\n    -   a: 1\n        # c\n        b: [1,\n          2]\n...\n';
  const even =
    '# top\nserver:   # all\n  port: 8080\n  # off\n  waf: {enabled:    true}   # on\n\n  errors:\n    404: "./x.html"\n    body: |2\n          a\n           # b\n  tests:\n    - a: 1\n      # c\n      b: [1,\n        2]\n...\n';

  test("prints, checks and writes one form, and keeps comments, mode and the end", async () => {
    const file = join(folder, "config.yaml");
    writeFileSync(file, odd);
    chmodSync(file, 0o640);
    expect(await runEdge(["fmt"], {}, folder)).toMatchObject({ code: 0, stdout: even });
    expect(await runEdge(["fmt", "--check"], {}, folder)).toMatchObject({ code: 1, stdout: "config.yaml\n" });
    expect(await runEdge(["fmt", "-w"], {}, folder)).toMatchObject({ code: 0, stdout: "config.yaml\n" });
    expect(readFileSync(file, "utf8")).toBe(even);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(await runEdge(["fmt", "--check"], {}, folder)).toMatchObject({ code: 0, stdout: "" });
  });

  test.each([
    ["a: [", "bad.yaml:1:5: "],
    ["a: 1\na: 2\n", "bad.yaml:2:1: "],
    ["a: 1\n---\nb: 2\n", "bad.yaml:2:1: "],
  ])("%p stays as it is", async (text, fault) => {
    writeFileSync(join(folder, "bad.yaml"), text);
    const { code, stdout, stderr } = await runEdge(["fmt", "-w", "bad.yaml", "none.yaml"], {}, folder);
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining(fault)]);
    expect(stderr).toContain("none.yaml: no such file");
    expect(readFileSync(join(folder, "bad.yaml"), "utf8")).toBe(text);
  });
});
