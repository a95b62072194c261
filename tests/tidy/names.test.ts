import { describe, expect, test } from "bun:test";
import { dirname, join, normalize } from "node:path";
import { PROJECT_FILES, projectText } from "./project-files.ts";
import { place, SOURCE_MODULES, type SourceModule } from "./source-module.ts";

/** Exports of src that only tests and benchmarks beside them import. */
const MAX_EXPORTS_FOR_TESTS = 89;

/** What is asked of a file: its text, its exports, and the files that it imports. */
type Importing = Pick<SourceModule, "path" | "text" | "exports" | "imports">;

/** With the scripts. */
const ALL_FILES: readonly Importing[] = [
  ...SOURCE_MODULES,
  ...PROJECT_FILES.filter((path) => /^scripts\/.*\.ts$/.test(path)).map(readScript),
];

function readScript(path: string): Importing {
  const text = projectText(path) ?? "";
  const targets = [...text.matchAll(/from "(\.[^"]+)"/g)].map(([, to]) => normalize(join(dirname(path), to!)));
  const imports = targets.map((target) => ({ target, isOurs: true, isTypeOnly: false, line: 0 }));
  return { path, text, exports: [], imports };
}

/**
 * Exports of src that no file uses: none that imports the file has the name among its words.
 * @param counts whether a file is one that may use them
 */
function unusedExports(files: readonly Importing[], counts: (path: string) => boolean): string[] {
  const importers = new Map<string, Set<string>[]>();
  for (const { path, text, imports } of files) {
    if (!counts(path) || imports.length === 0) continue;
    const words = new Set(text.split(/[^\w$]+/));
    for (const { target } of imports) importers.set(target, [...(importers.get(target) ?? []), words]);
  }
  return files
    .filter(({ path }) => path.startsWith("src/"))
    .flatMap(({ path, exports }) =>
      exports
        .filter(({ name }) => importers.get(path)?.some((words) => words.has(name)) !== true)
        .map(({ name }) => `${path}: ${name}`),
    );
}

/** Names that say nothing about what is inside. */
const EMPTY_WORDS = ["util", "utils", "helper", "helpers", "common", "manager", "managers", "misc"];
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*$/;
const OUR_FOLDERS = /^(bin|scripts|src|tests)\//;
const TOP_LEVEL = [
  ...[
    ".bun",
    ".ci",
    ".git",
    ".github",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "bin",
  ],
  ...[
    "biome.json",
    "bun.lock",
    "bunfig.toml",
    "config.yaml",
    "docs",
    "edge",
    "node_modules",
    "package.json",
    "routes.yaml",
  ],
  ...["scripts", "src", "tests", "tsconfig.json"],
];

/** Names with such an end that mean something else: texts that a configuration is read from, the context that a function gets. */
const OTHER_MEANINGS: readonly string[] = [
  ...[
    "ConfigSources",
    "Context",
    "MultipartParts",
    "OperatorNeeds",
    "ScriptContext",
    "ScriptSite",
    "SharedParts",
    "Site",
  ],
  "TlsContext",
];

function nameFaults(path: string): string[] {
  const parts = path.split("/");
  const faults = parts.filter((part) => !KEBAB_CASE.test(part)).map((part) => `${path}: ${part} is not kebab-case`);
  const words = parts.flatMap((part) => part.split(/[-.]/));
  faults.push(...words.filter((word) => EMPTY_WORDS.includes(word)).map((word) => `${path}: "${word}" says nothing`));
  if (/(^|\/)index\.[jt]s$/.test(path)) faults.push(`${path}: name it by what it holds`);
  return faults;
}

describe("names", () => {
  test("files and folders are kebab-case and say what they hold", () => {
    expect(PROJECT_FILES.filter((path) => OUR_FOLDERS.test(path)).flatMap(nameFaults)).toEqual([]);
  });

  test("a bad name is found", () => {
    expect(nameFaults("src/core/headerBlock.ts")).toHaveLength(1);
    expect(nameFaults("src/core/string-utils.ts")).toHaveLength(1);
    expect(nameFaults("src/Core/index.ts")).toHaveLength(2);
    expect(nameFaults("tests/unit/core/header-block.test.ts")).toEqual([]);
  });

  test("an exported name has one meaning in src", () => {
    const homes = new Map<string, Set<string>>();
    for (const { path, exports } of SOURCE_MODULES.filter((module) => module.path.startsWith("src/")))
      for (const { name } of exports) if (name !== "") homes.set(name, (homes.get(name) ?? new Set()).add(path));
    expect(
      [...homes].filter(([, paths]) => paths.size > 1).map(([name, paths]) => `${name}: ${[...paths].join(", ")}`),
    ).toEqual([]);
  });

  test("what a class is given by those that make it is its Ports", () => {
    const others = /^(?:[A-Z]\w*)?(?:Parts|Site|Inputs|Surroundings|Sources|Context|Needs)$/;
    const named = SOURCE_MODULES.filter((module) => module.path.startsWith("src/")).flatMap(({ path, exports }) =>
      exports.filter(({ name }) => others.test(name)).map(({ name }) => `${path}: ${name}`),
    );
    expect(named.filter((each) => !OTHER_MEANINGS.some((name) => each.endsWith(`: ${name}`)))).toEqual([]);
  });

  test("no file only passes on what others export", () => {
    expect(SOURCE_MODULES.filter((module) => module.isBarrel).map((module) => module.path)).toEqual([]);
  });

  test("no file passes on one of them", () => {
    const passed = SOURCE_MODULES.filter(({ path }) => path.startsWith("src/")).flatMap((module) =>
      module.exports.filter(({ name }) => name === "").map(({ line }) => place(module, line)),
    );
    expect(passed).toEqual([]);
  });

  test("another file imports each export", () => {
    expect(unusedExports(ALL_FILES, () => true)).toEqual([]);
  }, 60_000);

  // Towards fewer: what is the same seen from outside is tested from outside.
  test(`at most ${MAX_EXPORTS_FOR_TESTS} exports are for unit tests and benchmarks alone`, () => {
    const found = unusedExports(ALL_FILES, (path) => !/^tests\/(unit|bench)\//.test(path));
    expect(found.length, found.join("\n")).toBeLessThanOrEqual(MAX_EXPORTS_FOR_TESTS);
  }, 60_000);

  test("an export that none imports is found, whatever else has its name", () => {
    const one = { path: "src/a.ts", text: "", exports: [{ name: "one" }], imports: [] };
    const imports = [{ target: "src/a.ts" }];
    const files = [one, { path: "tests/unit/a.test.ts", text: "one", exports: [], imports }] as unknown as Importing[];
    expect(unusedExports(files, () => true)).toEqual([]);
    expect(unusedExports(files, (path) => path.startsWith("src/"))).toEqual(["src/a.ts: one"]);
    const namesake = [one, { path: "src/b.ts", text: "const one = 1;", exports: [], imports: [] }];
    expect(unusedExports(namesake as unknown as Importing[], () => true)).toEqual(["src/a.ts: one"]);
  });

  test("the top of the repository holds nothing else", () => {
    const found = new Set(PROJECT_FILES.map((path) => path.split("/")[0]!));
    expect([...found].filter((name) => !TOP_LEVEL.includes(name))).toEqual([]);
  });
});
