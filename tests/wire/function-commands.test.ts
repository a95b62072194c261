// The commands for those who write functions. docs/functions.md
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, freePort } from "../harness/gateway.ts";
import { longTest, samples } from "../harness/long-lane.ts";
import { runProcess } from "../harness/run-process.ts";

const PROJECT = join(import.meta.dir, "../..");
const EXAMPLES = join(PROJECT, "scripts/examples/functions");
const PATIENCE_MS = 120_000;
const EXAMPLES_TRIED = samples(10, 3);
const folders: string[] = [];
let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "edge-functions-"));
  folders.push(folder);
});
afterAll(() => {
  for (const one of folders) rmSync(one, { recursive: true, force: true });
});

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

const edge = (...args: string[]) =>
  runProcess([EDGE_BINARY, ...args], { cwd: folder, timeout: PATIENCE_MS, env: { ...process.env, NO_COLOR: "1" } });

const routeOf = (name: string, key = "module") =>
  `- type: function\n  prefix: /${name}\n  ${key}: ./functions/${name}.ts\n`;
const CONFIG = "server:\n  host: 127.0.0.1\n  port: 0\n";
const HELLO = 'export default { fetch: () => new Response("hello") };\n';

describe("edge types", () => {
  test("writes the file, again where it is its own, and not over an edited one", async () => {
    expect(await edge("types")).toEqual({ code: 0, stdout: "Wrote edge.d.ts.\n", stderr: "" });
    expect((await edge("types")).stdout).toBe("edge.d.ts is up to date.\n");
    const file = join(folder, "edge.d.ts");
    const written = readFileSync(file, "utf8");
    writeFileSync(file, `${written}// mine\n`);
    const refused = await edge("types");
    expect([refused.code, refused.stderr]).toEqual([
      1,
      "edge types: edge.d.ts has been edited, nothing written; --force replaces it.\n",
    ]);
    expect((await edge("types", "--force")).code).toBe(0);
    expect(readFileSync(file, "utf8")).toBe(written);
    expect((await edge("types", "--print")).stdout).toBe(written);
  });

  test("the examples have the file, and compile with it, strictly", async () => {
    expect((await edge("types", "--print")).stdout).toBe(readFileSync(join(EXAMPLES, "edge.d.ts"), "utf8"));
    const tsc = join(PROJECT, "node_modules/typescript/bin/tsc");
    const done = await runProcess([process.execPath, tsc, "-p", EXAMPLES], { timeout: PATIENCE_MS });
    expect([done.stdout, done.code]).toEqual(["", 0]);
  });

  test("an editor knows them without any package", async () => {
    await edge("types");
    await edge("new", "function", "hello");
    rmSync(join(folder, "functions/hello.test.ts"));
    const options = {
      strict: true,
      noEmit: true,
      module: "Preserve",
      lib: ["ESNext", "DOM", "DOM.Iterable"],
      types: [],
    };
    write({
      "tsconfig.json": JSON.stringify({ compilerOptions: options }),
      "wrong.ts":
        'import type { FunctionModule } from "edge";\nexport default { fetch: (_, ctx) => ctx.nothing } satisfies FunctionModule;\n',
    });
    const tsc = join(PROJECT, "node_modules/typescript/bin/tsc");
    const done = await runProcess([process.execPath, tsc, "-p", folder], { timeout: PATIENCE_MS });
    expect(done.stdout).toContain("wrong.ts(2,");
    expect(done.stdout).toContain("'nothing' does not exist on type 'Context'");
    expect(done.stdout).not.toContain("hello.ts");
  });
});

describe("edge new function", () => {
  test("writes a module that is in order, and a test that passes; never over a file", async () => {
    const made = await edge("new", "function", "hello");
    expect([made.code, made.stderr]).toEqual([0, ""]);
    expect(made.stdout).toContain(routeOf("hello"));
    write({ "config.yaml": CONFIG, "routes.yaml": routeOf("hello") });
    expect((await edge("check")).stdout).toContain("1 module loaded.");
    const tested = await edge("test");
    expect([tested.code, tested.stderr]).toEqual([0, expect.stringContaining("1 pass")]);
    const again = await edge("new", "function", "hello");
    expect([again.code, again.stderr]).toEqual([
      1,
      "edge new: functions/hello.ts and functions/hello.test.ts already present, nothing written.\n",
    ]);
  });
});

describe("edge check", () => {
  test("says of each module what is wrong, and where", async () => {
    const names = ["good", "syntax", "import", "export", "throws", "exits", "rejects"];
    write({
      "config.yaml": "functions:\n  env: {TOKEN: t0p}\n",
      "routes.yaml": names.map((name) => routeOf(name)).join(""),
      "functions/good.ts":
        'if (process.env.TOKEN !== "t0p" || "PATH" in process.env) throw new Error("env");\n' + HELLO,
      "functions/syntax.ts": 'export default {\n  fetch() {\n    return new Response("a" "b");\n  },\n};\n',
      "functions/import.ts": 'import link from "redis-link";\nexport default { fetch: link };\n',
      "functions/export.ts": "const fecth = () => new Response();\n\nexport default { fecth };\n",
      "functions/throws.ts": "const a: number = 1;\nthrow new Error(`no ${a}`);\n",
      "functions/exits.ts": "process.exit(3);\n",
      "functions/rejects.ts": 'void Promise.reject(new Error("late"));\nawait new Promise(() => {});\n',
    });
    const done = await edge("check");
    expect(done.code).toBe(1);
    expect(done.stderr).toContain(
      'functions/syntax.ts:3:29: Expected ")" but found ""b""\n' +
        '    3 |     return new Response("a" "b");\n' +
        "      |                             ^\n",
    );
    expect(done.stderr).toContain('functions/import.ts:1:18: imports "redis-link", which is not there; install it');
    expect(done.stderr).toContain(
      "functions/export.ts:3:1: its default export has no fetch, but fecth; write export default {",
    );
    expect(done.stderr).toContain("functions/throws.ts:2:11: Error: no 1");
    expect(done.stderr).toContain("functions/exits.ts: ends its thread while it is loaded, with the exit code 3");
    expect(done.stderr).toContain("functions/rejects.ts:1:25: Error: late");
    expect(done.stderr).not.toContain("good");
  });

  longTest("a module that does not come to an end is told after the time for it", async () => {
    write({ "routes.yaml": routeOf("loop"), "functions/loop.ts": "for (;;);\n" });
    const done = await edge("check");
    expect([done.code, done.stderr]).toEqual([
      1,
      "functions/loop.ts: is not loaded after 5 s: it loops, or awaits what does not come\n1 fault in modules\n",
    ]);
  });
});

describe("edge check, of what belongs to the process", () => {
  const native =
    'let found = false;\ntry {\n  process.dlopen({ exports: {} }, "/nowhere.node");\n} catch (error) {\n  found = !/belongs to/.test(error.message);\n}\n';
  const checked = async (allow: string): Promise<string> => {
    write({
      "config.yaml": `${CONFIG}functions:\n  allow: [${allow}]\n`,
      "routes.yaml": routeOf("native"),
      "functions/native.ts": `${native}if (!found) throw new Error("no native binding");\n${HELLO}`,
    });
    return (await edge("check")).stdout + (await edge("check")).stderr;
  };

  test("a package of native code is refused with the reason, and loaded where functions.allow has process", async () => {
    expect(await checked("")).toContain(
      'no native binding (native code was refused: functions.allow needs "process" for it)',
    );
    expect(await checked("process")).toContain("1 module loaded.");
  });
});

describe("edge test", () => {
  test("runs tests beside modules, says which fail, and leaves nothing behind", async () => {
    write({
      "config.yaml": `${CONFIG}functions:\n  env: {NAME: "\${NAME:-world}"}\n`,
      "routes.yaml": routeOf("hello"),
      "functions/hello.ts": "export default { fetch: (_, ctx) => new Response(`hello ${ctx.env.NAME}`) };\n",
      "functions/hello.test.ts": `import { expect, test } from "bun:test";
import { edge, startEdge } from "edge:test";
test("greets", async () => {
  const response = await edge.fetch("https://shop.example.com/hello");
  expect(await response.text()).toBe("hello world");
  await edge.logged((line) => line.event === "access" && line.host === "shop.example.com");
});
test("greets by name", async () => {
  const own = await startEdge({ env: { NAME: "you" } });
  expect(await (await own.fetch("/hello")).text()).toBe("hello you");
  console.log("pid", own.log.find((line) => line.event === "listening").pid);
});
test("fails", () => expect(1).toBe(2));
`,
    });
    const done = await edge("test");
    expect(done.code).toBe(1);
    expect(done.stderr).toContain("(pass) greets [");
    expect(done.stderr).toContain("(pass) greets by name");
    expect(done.stderr).toContain("(fail) fails");
    const pid = Number(/pid (\d+)/.exec(done.stdout)![1]);
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow());
    expect((await edge("test", "--filter", "greets$")).code).toBe(0);
  });

  test("says why there is nothing to run", async () => {
    write({ "config.yaml": CONFIG, "routes.yaml": routeOf("hello"), "functions/hello.ts": HELLO });
    expect((await edge("test")).stderr).toBe("edge test: no tests: no *.test.ts in functions\n");
    expect((await edge("test", "gone.test.ts")).stderr).toBe("edge test: gone.test.ts is not there\n");
    writeFileSync(join(folder, "routes.yaml"), "- type: functoin\n  prefix: /\n");
    expect((await edge("test")).stderr).toContain("routes.yaml:1:9");
  });

  test(`${EXAMPLES_TRIED} of the ten examples pass`, async () => {
    const copy = join(folder, "examples");
    await runProcess(["cp", "-r", EXAMPLES, copy], { timeout: PATIENCE_MS });
    const tests = readdirSync(copy).filter((name) => name.endsWith(".test.ts"));
    expect(tests.length).toBe(10);
    for (const name of tests.slice(EXAMPLES_TRIED)) rmSync(join(copy, name));
    symlinkSync(join(PROJECT, "node_modules"), join(folder, "node_modules"));
    const done = await runProcess([EDGE_BINARY, "test"], { cwd: copy, timeout: PATIENCE_MS });
    expect([done.stderr.split("\n").filter((line) => line.includes("(fail)")), done.code]).toEqual([[], 0]);
    expect(done.stderr).toContain("Ran ");
  });
});

describe("edge dev", () => {
  test("takes up each save, of a module, of what it imports, of the routes; keeps the version before a mistake", async () => {
    const port = freePort();
    write({
      "config.yaml": CONFIG,
      "routes.yaml": routeOf("hello"),
      "functions/word.ts": 'export const word: string = "one";\n',
      "functions/hello.ts":
        'import { word } from "./word.ts";\nexport default {\n  fetch(request: Request): Response {\n' +
        '    if (request.url.endsWith("boom")) throw new Error("no such thing");\n    return new Response(word);\n  },\n};\n',
    });
    const out = join(folder, "out");
    const child = Bun.spawn([EDGE_BINARY, "dev", "--port", String(port)], {
      cwd: folder,
      stdin: "ignore",
      stdout: Bun.file(out),
      stderr: Bun.file(`${out}.err`),
    });
    const get = async (path = "/hello") => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    const untilIs = (text: string, path?: string) =>
      eventually(async () => expect(await get(path)).toBe(text), PATIENCE_MS);
    try {
      await untilIs("one");
      write({ "functions/word.ts": 'export const word: string = "two";\n' });
      await untilIs("two");
      write({ "functions/word.ts": 'export const word: string = "two" 3;\n' });
      await eventually(() => {
        const said = readFileSync(`${out}.err`, "utf8");
        expect(said).toContain("functions/word.ts:1:35: ");
        expect(said).toContain('    1 | export const word: string = "two" 3;\n');
        expect(said).toContain("the version before goes on");
      }, PATIENCE_MS);
      expect(await get()).toBe("two");
      write({
        "functions/word.ts": 'export const word: string = "three";\n',
        "routes.yaml": routeOf("hello") + routeOf("hello").replace("/hello\n", "/again\n"),
      });
      await untilIs("three", "/again");
      await get("/hello/boom");
      await eventually(() => {
        const said = readFileSync(out, "utf8");
        expect(said).toContain("functions/hello.ts:4:");
        expect(said).toContain('throw new Error("no such thing");');
      }, PATIENCE_MS);
    } finally {
      child.kill("SIGTERM");
      expect(await child.exited).toBe(0);
    }
    await eventually(() => expect(get()).rejects.toThrow());
  });
});
