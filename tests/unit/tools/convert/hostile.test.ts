// Files that no one would write, and that must end with a word: bombs, depth, loops, other encodings. docs/migrate.md
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runConvert } from "../../../../src/cli/convert.ts";
import { type Product, planOf } from "../../../../src/tools/convert/convert.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "edge-hostile-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The exit code, and what standard error says. */
function run(product: Product, file: string): { readonly code: number; readonly err: string } {
  let err = "";
  const io = {
    out: () => {},
    err: (text: string) => {
      err += text;
    },
  };
  return { code: runConvert([file, "--from", product], io), err };
}

function refused(product: Product, name: string, text: string | Uint8Array): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  const { code, err } = run(product, file);
  expect(code).toBe(1);
  return err.replace(`edge convert: ${folder}/`, "").trimEnd();
}

const nested = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth);

describe("depth", () => {
  test.each([
    ["nginx", "a.conf", nested("a {\n", "}\n", 20_000), "a.conf:66: blocks and includes are nested too deep"],
    [
      "caddy",
      "Caddyfile",
      `:80 {\n${nested("a {\n", "}\n", 20_000)}}\n`,
      "Caddyfile:67: blocks and imports are nested too deep",
    ],
    ["traefik", "flow.yml", `http:\n  a: ${nested("[", "]", 10_000)}\n`, "flow.yml:2: nested too deep"],
    ["traefik", "map.yml", `http: ${nested("{a: ", "}", 20_000)}\n`, "map.yml:1: nested too deep"],
    ["traefik", "list.yml", `http:\n  a: 1\n  b:\n  ${"- ".repeat(20_000)}a\n`, "list.yml:4: nested too deep"],
    [
      "traefik",
      "block.yml",
      Array.from({ length: 100 }, (_, i) => `${" ".repeat(i)}k:\n`).join(""),
      "block.yml:66: nested too deep",
    ],
    ["traefik", "array.toml", `a = ${nested("[", "]", 50_000)}\n`, "array.toml: nested too deep"],
    ["traefik", "header.toml", `b = 1\n[${Array(500).fill("a").join(".")}]\nc = 1\n`, "header.toml:2: nested too deep"],
  ] as const)("%s %s", (product, name, text, message) => {
    expect(refused(product, name, text)).toBe(message);
  });
});

describe("what multiplies", () => {
  const levels = [..."bcdefghijk"];
  const above = (i: number): string => (i === 0 ? "a" : levels[i - 1]!);

  test("aliases of YAML", () => {
    const maps = levels.map(
      (name, i) => `x${name}: &${name} {${[..."pqrstuvw"].map((key) => `${key}: *${above(i)}`).join(", ")}}`,
    );
    expect(refused("traefik", "bomb.yml", `xa: &a {k: 1}\n${maps.join("\n")}\n`)).toMatch(
      /^bomb.yml:\d+: too many values$/,
    );
  });

  test("an alias within its anchor", () => {
    expect(refused("traefik", "self.yml", "http: &a\n  routers: *a\n")).toBe("self.yml:2: nested too deep");
  });

  test("snippets of a Caddyfile", () => {
    const snippets = Array.from({ length: 40 }, (_, i) => `(s${i}) {\n\timport s${i + 1}\n\timport s${i + 1}\n}`);
    const text = snippets.reverse().join("\n");
    expect(refused("caddy", "Caddyfile", `${text}\nimport s0\n`)).toMatch(/: too many imports$/);
    expect(refused("caddy", "Caddyfile", `${text}\n:80 {\n\timport s0\n}\n`)).toMatch(/: too many imports$/);
  });

  test("includes of themselves", () => {
    expect(refused("nginx", "loop.conf", "events {}\ninclude loop*.conf;\n")).toMatch(
      /loop.conf:\d: .*nested too deep$/,
    );
    expect(refused("caddy", "Caddyfile", ":80 {\n\timport Caddyfile\n}\n")).toMatch(/nested too deep$/);
  });
});

test("imports count from the folder of the file that they are in", () => {
  mkdirSync(join(folder, "sites", "parts"), { recursive: true });
  writeFileSync(join(folder, "sites", "a.caddy"), ":80 {\n\timport parts/b\n}\n");
  writeFileSync(join(folder, "sites", "parts", "b"), "import c\n");
  writeFileSync(join(folder, "sites", "parts", "c"), "respond /x 403\n");
  const { rules } = planOf("caddy", join(folder, "Caddyfile"), "import sites/*.caddy\n");
  expect(rules.map(({ path, keys }) => [path.value, keys])).toContainEqual(["/x", { type: "respond", status: 403 }]);
});

describe("what is no text", () => {
  test.each([
    ["nul.conf", "server { listen 80; \0 }", "nul.conf: it is no text"],
    [
      "latin.conf",
      Buffer.from("# a\n# caf\xe9\nserver { }\n", "latin1"),
      "latin.conf:2: no text in UTF-8: change its encoding first, as iconv does",
    ],
  ] as const)("%s", (name, text, message) => {
    expect(refused("nginx", name, text)).toBe(message);
  });

  test("a device without an end, a folder, a file that is not there", () => {
    expect(run("nginx", "/dev/zero")).toEqual({
      code: 1,
      err: "edge convert: /dev/zero: more than 64 MiB, which is no configuration\n",
    });
    expect(run("nginx", folder).err).toBe(`edge convert: ${folder}: it is a folder\n`);
    expect(run("nginx", "/nowhere/a").err).toBe("edge convert: /nowhere/a: no such file or folder\n");
  });

  test("a mark of its byte order, and line ends of Windows", () => {
    const plan = planOf("nginx", "x", "\uFEFFserver {\r\n  listen 80;\r\n  location / { return 200 ok; }\r\n}\r\n");
    expect(plan.rules.map(({ keys }) => keys)).toEqual([
      { type: "respond", status: 200, body: "ok", content_type: "text/plain" },
    ]);
  });
});

test("aliases and merges of YAML are what they name", () => {
  const text = `http:
  routers:
    a:
      rule: &r Host(\`a.test\`)
      service: &s
        s
    b: &b
      rule: *r
      service: *s
      middlewares: [inside]
    c:
      <<: *b
      rule: Host(\`c.test\`)
  middlewares:
    inside:
      ipAllowList:
        sourceRange: &inside [10.0.0.0/8]
  services:
    s:
      loadBalancer: &lb
        servers:
          - url: http://a:1
    t:
      loadBalancer: *lb
`;
  const plan = planOf("traefik", "dynamic.yml", text);
  expect(plan.rules.map(({ hosts, keys }) => [hosts, keys.target, keys.ip_rules])).toEqual([
    [["a.test"], "http://a:1", undefined],
    [["a.test"], "http://a:1", { allow: ["10.0.0.0/8"] }],
    [["c.test"], "http://a:1", { allow: ["10.0.0.0/8"] }],
  ]);
});
