import { describe, expect, test } from "bun:test";
import { PROJECT_FILES, projectText } from "./project-files.ts";
import { SOURCE_MODULES } from "./source-module.ts";

/** Exports of src that only unit tests or benchmarks name. */
const MAX_EXPORTS_FOR_TESTS = 90;

/** With the scripts. */
const ALL_FILES = [
  ...SOURCE_MODULES,
  ...PROJECT_FILES.filter((path) => /^scripts\/.*\.ts$/.test(path)).map((path) => ({
    path,
    text: projectText(path) ?? "",
    exports: [],
  })),
];

/** Exports of src whose name no other file has among its words. @param counts whether a file is one that may name them */
function unnamedExports(
  modules: readonly {
    readonly path: string;
    readonly text: string;
    readonly exports: readonly { readonly name: string }[];
  }[],
  counts: (path: string) => boolean,
): string[] {
  const files = new Map<string, number>();
  const wordsOf = (text: string) => new Set(text.split(/[^\w$]+/));
  for (const { path, text } of modules)
    if (counts(path)) for (const word of wordsOf(text)) files.set(word, (files.get(word) ?? 0) + 1);
  return modules
    .filter(({ path }) => path.startsWith("src/"))
    .flatMap(({ path, exports }) =>
      exports.filter(({ name }) => (files.get(name) ?? 0) <= 1).map(({ name }) => `${path}: ${name}`),
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

  test("another file names each export", () => {
    expect(unnamedExports(ALL_FILES, () => true)).toEqual([]);
  }, 60_000);

  // Towards fewer: what is the same seen from outside is tested from outside.
  test(`at most ${MAX_EXPORTS_FOR_TESTS} exports are for unit tests and benchmarks alone`, () => {
    const found = unnamedExports(ALL_FILES, (path) => !/^tests\/(unit|bench)\//.test(path));
    expect(found.length, found.join("\n")).toBeLessThanOrEqual(MAX_EXPORTS_FOR_TESTS);
  }, 60_000);

  test("an export that none names is found", () => {
    const files = [
      { path: "src/a.ts", text: "export const one = 1; const two = one;", exports: [{ name: "one" }] },
      { path: "tests/unit/a.test.ts", text: "one", exports: [] },
    ];
    expect(unnamedExports(files, () => true)).toEqual([]);
    expect(unnamedExports(files, (path) => path.startsWith("src/"))).toEqual(["src/a.ts: one"]);
  });

  test("the top of the repository holds nothing else", () => {
    const found = new Set(PROJECT_FILES.map((path) => path.split("/")[0]!));
    expect([...found].filter((name) => !TOP_LEVEL.includes(name))).toEqual([]);
  });
});
