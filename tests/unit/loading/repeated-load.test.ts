import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RepeatedLoad } from "../../../src/loading/repeated-load.ts";
import { inFolder, lines } from "./config-case.ts";

/** Writes both files, loads, and gives the faults. */
function loader(dir: string) {
  const files = new RepeatedLoad({
    configPath: null,
    routesPath: null,
    cwd: dir,
    env: {},
  });
  return (config: string | null, routes: string | null): string[] => {
    put(join(dir, "config.yaml"), config);
    put(join(dir, "routes.yaml"), routes);
    const result = files.load();
    return result.ok ? [] : lines([...result.faults]);
  };
}

function put(path: string, text: string | null): void {
  if (text === null) rmSync(path, { force: true });
  else writeFileSync(path, text);
}

const CONFIG = "server:\n  port: 9000\n  waf: {enabled: true}\n...\n";
const ROUTES = "- {type: upstream, prefix: /, target: http://10.0.0.1}\n...\n";

test("a file that was there must be there again", () => {
  inFolder((dir) => {
    const load = loader(dir);
    expect(load(CONFIG, null)).toEqual([]);
    expect(load(CONFIG, ROUTES)).toEqual([]);
    expect(load(null, ROUTES).join()).toMatch(/^config\.yaml: no such file/);
    expect(load(CONFIG, null).join()).toMatch(/^routes\.yaml: no such file/);
    expect(load(CONFIG, ROUTES)).toEqual([]);
  });
});

test("once a file has ended with three dots, every shorter text of it is refused", () => {
  inFolder((dir) => {
    const load = loader(dir);
    expect(load(CONFIG, ROUTES)).toEqual([]);
    for (let length = 0; length < CONFIG.length - 1; length++)
      expect(load(CONFIG.slice(0, length), ROUTES)).not.toEqual([]);
    for (let length = 0; length < ROUTES.length - 1; length++)
      expect(load(CONFIG, ROUTES.slice(0, length))).not.toEqual([]);
    expect(load("server:\n", ROUTES)).toEqual([
      'config.yaml:2:1: truncated: the file ended with "..." before, and does not now',
    ]);
    expect(load(`${CONFIG}\n\n`, ROUTES.replace("...", "... # the end"))).toEqual([]);
    expect(load(CONFIG.trimEnd(), ROUTES)).toEqual([]);
  });
});

test("a file that has never ended so need not", () => {
  inFolder((dir) => {
    const load = loader(dir);
    expect(load("{}", "[]")).toEqual([]);
    expect(load("server: {port: 1}\n", "[]")).toEqual([]);
    expect(load("", "[]")).not.toEqual([]);
  });
});
