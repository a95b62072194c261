import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENCE_MS } from "../harness/byte-socket.ts";
import { EDGE_BINARY, runEdge } from "../harness/gateway.ts";
import { runProcess } from "../harness/run-process.ts";

/** What a mistake of ours would print. */
const TRACE = /\n\s+at .*:\d+:\d+|\bTypeError\b|\bENOTDIR\b|bunfs/;

async function run(args: readonly string[], folder: string) {
  const done = await runEdge(args, {}, folder);
  expect(done.stdout + done.stderr).not.toMatch(TRACE);
  return done;
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "edge-line-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("every command that help shows has its row in docs/tools.md, and every row its command", async () => {
  const { stdout } = await inFolder((folder) => run(["help"], folder));
  const shown = [...stdout.matchAll(/^ {2}([\w-]+) {2}/gm)].map(([, name]) => name!);
  const page = readFileSync(join(import.meta.dir, "../../docs/tools.md"), "utf8");
  const rows = page.split("\n").filter((line) => /^\| \[?`edge /.test(line));
  const named = rows.flatMap((row) => [...row.split(" | ")[0]!.matchAll(/`edge ([\w-]+)/g)].map(([, name]) => name!));
  expect(shown.length).toBeGreaterThan(10);
  expect([...new Set(named)].sort()).toEqual(shown.sort());
});

describe("wrong words", () => {
  test.each<[string, string]>([
    ["constructor", 'edge: no command "constructor"'],
    ["help hasOwnProperty", 'nothing has the name "hasOwnProperty"'],
    ["help compresion", 'nothing has the name "compresion" (did you mean "compression"?)'],
    ["help xyzzy plugh", 'nothing has the name "xyzzy plugh"'],
    ["help --zzz", "unknown flag --zzz"],
    ["help __proto__", 'nothing has the name "__proto__"'],
    ["help nothing", 'nothing has the name "nothing"'],
    ["help config xyzzy", 'unexpected argument "xyzzy"'],
    ["help waf tset", 'unexpected argument "tset"'],
    ["version extra", 'unexpected argument "extra"'],
    ["version --zzz", "unknown flag --zzz"],
    ["waf --zzz", 'no command "--zzz"'],
    ["waf tset", 'no command "tset"'],
    ["waf test", "missing 'METHOD TARGET'"],
    ["schema", "missing config|routes"],
    ["new", "missing function NAME"],
    ["new route x", 'expected function, found "route"'],
    ["new function ../x", "expected a name of small letters, digits and dashes"],
    ["types extra", 'unexpected argument "extra"'],
    ["dev --port 70000", "--port: expected a whole number from -1 to 65535"],
    ["schema server", 'expected config, routes or crd, found "server"'],
    ["completion", "missing bash|zsh|fish"],
    ["completion tcsh", 'expected bash, zsh or fish, found "tcsh"'],
    ["man nothing", 'expected edge, config or routes, found "nothing"'],
    ["certs nothing", 'expected list, renew, revoke, rollover, copy or export, found "nothing"'],
    ["certs renew", "expected [list | renew NAME"],
    ["waf learn all log", 'expected access or incidents, found "all"'],
    ["check extra", 'unexpected argument "extra"'],
    ["check --config", "--config needs a value"],
    ["certs -dir", "-dir needs a value"],
    ["init extra", 'unexpected argument "extra"'],
  ])("edge %s leaves with 2 and says why", async (line, message) => {
    const { code, stdout, stderr } = await inFolder((folder) => run(line.split(" "), folder));
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });

  test.each<[string, string]>([
    ["", "Usage: edge COMMAND"],
    ["--help", "Usage: edge COMMAND"],
    ["help --help", "Usage: edge help"],
    ["help version", "Usage: edge version"],
    ["version --help", "Usage: edge version"],
    ["help waf test", "Usage: edge waf test"],
    ["waf", "Usage: edge waf test"],
    ["help validate", "Usage: edge check"],
    ["help log", "One"],
    ["help port-in-use", "More: docs/errors.md#port-in-use"],
    ["help docs/tls.md#redirect", "## Redirect"],
    ["help letsencrypt", "edge help acme "],
    ["help basic auth", "edge help authentication#passwords "],
    ["help 502", "connect_refused: The origin's host refused the connection"],
    ["help rate limit", "edge help guards#rate-limits "],
    ["help migrate from nginx", "edge help migrate-nginx "],
    ["help --json docker", '{"words":"docker","found":[{"name":"docker","kind":"a page"'],
  ])("edge %s helps", async (line, text) => {
    const { code, stdout, stderr } = await inFolder((folder) => run(line === "" ? [] : line.split(" "), folder));
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.toLowerCase()).toContain(text.toLowerCase());
  });
});

describe("files that cannot be used", () => {
  test.each<[string, number, string]>([
    ["check --config missing.yaml", 1, "missing.yaml: no such file"],
    ["check --config folder", 1, "folder: this is a folder"],
    ["check --routes missing.yaml", 1, "missing.yaml: no such file"],
    ["certs --dir missing", 1, "edge certs: missing: no such folder"],
    ["certs --dir file", 1, "edge certs: file: a part of its path is not a folder"],
    ["certs --config missing.yaml", 1, "missing.yaml: no such file"],
    ["init --dir file/sub", 1, "edge init: cannot write to file/sub: a part of its path is not a folder"],
    ["init --dir linked", 1, "edge init: routes.yaml already present, nothing written"],
    ["waf test /x --config missing.yaml", 2, "missing.yaml: no such file"],
    ["serve --config missing.yaml", 1, "missing.yaml: no such file"],
  ])("edge %s leaves with %d", async (line, code, message) => {
    await inFolder(async (folder) => {
      writeFileSync(join(folder, "file"), "");
      mkdirSync(join(folder, "folder"));
      mkdirSync(join(folder, "linked"));
      symlinkSync("nowhere", join(folder, "linked", "routes.yaml"));
      const done = await run(line.split(" "), folder);
      expect([done.code, done.stderr]).toEqual([code, expect.stringContaining(message)]);
      expect(readdirSync(join(folder, "linked"))).toEqual(["routes.yaml"]);
    });
  });
});

describe("an output that", () => {
  const shell = async (script: string) => {
    const env = { EDGE: EDGE_BINARY, PATH: process.env.PATH };
    const { code, stderr } = await runProcess(["sh", "-c", script], { env, timeout: PATIENCE_MS });
    return { code, said: stderr };
  };

  test.each(["help config", "check --print", "version", "help log"])("nobody reads is no failure: %s", async (line) => {
    for (const tail of ["| true", "| head -1 >/dev/null", ">&-"]) {
      const { code, said } = await shell(`cd / && "$EDGE" ${line} ${tail}`);
      expect([tail, code, said]).toEqual([tail, 0, ""]);
    }
  });

  test("cannot be written is one", async () => {
    const { code, said } = await shell('cd / && "$EDGE" check --print >/dev/full');
    expect([code, said]).toEqual([1, "edge: cannot write the output: no space left\n"]);
  });
});

test.each(["config", "routes"])("edge schema %s is a JSON Schema with the keys of the file", async (file) => {
  const { stdout, stderr, code } = await runEdge(["schema", file]);
  expect([stderr, code]).toEqual(["", 0]);
  expect(JSON.parse(stdout)).toMatchObject({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: `edge ${file}.yaml`,
  });
});
