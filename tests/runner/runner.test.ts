import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProcess, untilGone } from "../harness/run-process.ts";
import { runFiles } from "./bun-run.ts";
import { planSuite, readArguments } from "./suite-plan.ts";
import { SuiteTally } from "./suite-tally.ts";
import { TestConsole } from "./test-console.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-runner-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const HEAD = 'import { expect, test } from "bun:test";\n';

/** Files of this name and text in a run of their own. */
async function tallyOf(files: Readonly<Record<string, string>>, flags: readonly string[] = []) {
  const notes: string[] = [];
  const paths = Object.entries(files).map(([name, text]) => {
    const path = join(folder, `${name}.test.ts`);
    writeFileSync(path, HEAD + text);
    return path;
  });
  const heard = new TestConsole({ onTest() {}, onNote: (line) => notes.push(line) });
  const settings = { flags, env: process.env, stop: new AbortController().signal };
  const tally = new SuiteTally();
  tally.add(await runFiles(paths, settings, heard), false);
  return { tally, notes, paths };
}

describe("a run", () => {
  test("counts what passed, failed and was skipped, and keeps a failure whole", async () => {
    const { tally, notes } = await tallyOf({
      mixed: `test("fine,\\nin two lines", () => console.log("a note"));
        test("bad", () => { console.log("before"); expect(1).toBe(2); });
        test.skip("left out", () => {});`,
    });
    expect(tally.lastLine).toBe("1 passed, 1 failed, 1 skipped");
    expect(notes).toEqual(["a note"]);
    expect(tally.failureTexts).toHaveLength(1);
    for (const part of ["mixed.test.ts:\nbefore", "Expected: 2", "(fail) bad"]) {
      expect(tally.failureTexts[0]).toContain(part);
    }
  });

  test("counts a file that does not load as a failure, for which there is no second chance", async () => {
    const { tally } = await tallyOf({
      broken: 'import { x } from "./nothing.ts"; test("a", () => x);',
      good: 'test("a", () => {});',
    });
    expect(tally.lastLine).toBe("1 passed, 1 failed");
    expect(tally.failureTexts.join()).toContain("Cannot find module");
    expect(tally.secondChances(6)).toEqual([]);
  });

  test("that is the only one, and does not load, is one failure as well", async () => {
    const { tally } = await tallyOf({ broken: 'import { x } from "./nothing.ts"; test("a", () => x);' });
    expect(tally.lastLine).toBe("0 passed, 1 failed");
  });

  test("counts a crash as a failure beside what has passed, and tells where it was", async () => {
    const { tally } = await tallyOf({
      crash: 'test("a", () => {}); test("b", () => { process.kill(process.pid, "SIGKILL"); });',
    });
    expect(tally.lastLine).toBe("1 passed, 1 failed");
    expect(tally.failureTexts.join()).toMatch(/bun test ended with 137 at \S+crash\.test\.ts/);
    expect(tally.secondChances(6)).toEqual([]);
  });

  test("of which no test is asked for is no failure", async () => {
    const { tally } = await tallyOf({ other: 'test("a", () => {});' }, ["-t", "zzz"]);
    expect(tally.lastLine).toBe("0 passed, 0 failed, 1 skipped");
  });

  test("that fails has a second chance, unless too many failed", async () => {
    const bad = 'test("a", () => expect(1).toBe(2));';
    const { tally, paths } = await tallyOf({ one: bad, two: bad });
    expect(tally.secondChances(2)).toEqual(paths);
    expect(tally.secondChances(1)).toEqual([]);
    tally.forgive(paths[0]!);
    expect(tally.lastLine).toBe("1 passed, 1 failed");
  });

  test("leaves no process of its tests", async () => {
    const { notes } = await tallyOf({ leak: 'test("a", () => console.log(Bun.spawn(["sleep", "60"]).pid));' });
    const pid = Number(notes[0]);
    expect(pid).toBeGreaterThan(0);
    await untilGone(pid);
  });
});

describe("the suite", () => {
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const path = join(import.meta.dir, "run-suite.ts");
    return runProcess([process.execPath, path, ...args], { env: { ...process.env, ...env }, timeout: 60_000 });
  };

  test("ends with the numbers, and with 0 where nothing has failed", async () => {
    const { code, stdout } = await run(["", "--slowest", "tests/bench/figures.test.ts"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/ s {2}tests\/bench\/figures\.test\.ts\n\d+ passed, 0 failed\n$/);
  });

  test("counts steps that failed before it", async () => {
    const { code, stdout } = await run([" types lint", "tests/bench/figures.test.ts"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/failed: types\n\nfailed: lint\n\d+ passed, 2 failed\n$/);
  });

  test("fails where no test ran", async () => {
    const { code, stdout } = await run(["", "tests/no-such-folder"]);
    expect([code, stdout.split("\n").at(-2)]).toEqual([1, "0 passed, 1 failed"]);
  });

  test("ends when its time is over", async () => {
    const slow = "tests/unit/tools/multihop/flawed-gateways.test.ts";
    const { code, stdout } = await run(["", slow], { TEST_LIMIT_S: "1" });
    expect(code).toBe(1);
    expect(stdout).toMatch(/failed: the tests took more than 1 s\n\d+ passed, 1 failed\n$/);
  });
});

describe("the plan", () => {
  test("has every file once, slow folders first", () => {
    const files = ["tests/unit/a.test.ts", "tests/wire/b.test.ts", "tests/unit/c.test.ts", "tests/tidy/d.test.ts"];
    const { together, alone } = planSuite(files);
    expect([...together, ...alone].flat().sort()).toEqual(files.sort());
    expect(together[0]?.[0]).toBe("tests/wire/b.test.ts");
  });

  test("tells paths, Bun's flags and our own apart", () => {
    expect(readArguments(["--peers", "--long", "./tests/wire", "-t", "a name", "--bail", "tests/unit"])).toEqual({
      isLong: true,
      showsSlowest: false,
      paths: ["tests/wire", "tests/unit"],
      flags: ["-t", "a name", "--bail"],
    });
  });
});
