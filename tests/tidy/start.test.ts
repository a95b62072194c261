import { expect, test } from "bun:test";
import { SOURCE_MODULES } from "./source-module.ts";

/** What `edge serve` and its workers run before a configuration asks for more. */
const ENTRIES = ["bin/edge.ts", "bin/main.ts", "src/cli/serve.ts", "src/control/control.ts", "bin/worker.ts"];

/** What these entries load at once: modules, and the packages with one that imports them. */
function loadedBy(entries: readonly string[]): { readonly seen: Set<string>; readonly from: Map<string, string> } {
  const modules = new Map(SOURCE_MODULES.map((module) => [module.path, module]));
  const from = new Map<string, string>();
  const seen = new Set<string>();
  const walk = (path: string): void => {
    const module = modules.get(path);
    if (module === undefined || seen.has(path)) return;
    seen.add(path);
    const lines = module.text.split("\n");
    for (const { target, isOurs, isTypeOnly, line } of module.imports) {
      if (isTypeOnly || lines[line - 1]!.includes("import(")) continue;
      if (isOurs) walk(target);
      else if (!/^(bun|node:(?!https?$|http2$))/.test(target)) from.set(target, path);
    }
  };
  for (const entry of entries) {
    expect(modules.has(entry)).toBe(true);
    walk(entry);
  }
  return { seen, from };
}

test("a start loads two packages: all others, and clients of HTTP, wait for a configuration that needs them", () => {
  const { seen, from } = loadedBy(ENTRIES);
  expect(seen.size).toBeGreaterThan(300);
  expect([...from.keys()].sort()).toEqual(["valibot", "yaml"]);
});

test("the control thread loads nothing that only serves requests, nothing of clusters and of probes; a worker reads no YAML", () => {
  const control = loadedBy(ENTRIES.filter((entry) => entry !== "bin/worker.ts")).seen;
  const lazy = ["src/worker/worker-runtime.ts", "src/worker/pipeline.ts", "src/features/kubernetes/control/cluster.ts"];
  expect([...lazy, "src/upstream/http-probe.ts"].filter((path) => control.has(path))).toEqual([]);
  expect(loadedBy(["bin/worker.ts"]).from.has("yaml")).toBe(false);
});
