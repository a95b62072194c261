import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { readPlainYaml, TOP } from "../../src/config/plain-yaml.ts";
import { readYaml } from "../../src/config/yaml-source.ts";

/** What the plain reader takes is taken as the library takes it, entries in their places. @returns whether it took it */
function agrees(text: string): boolean {
  const plain = readPlainYaml(text);
  if (plain === null) return false;
  // So short that it is read by the library.
  const whole = readYaml("a.yaml", text, {});
  expect([whole.readable, whole.faults]).toEqual([true, []]);
  expect(plain.value).toEqual(whole.value);
  for (const [name, places] of plain.entries) {
    places.forEach((place, i) => {
      expect({ file: "a.yaml", ...place }).toEqual(whole.position(name === TOP ? [i] : [name, i], false));
    });
  }
  const short = readYaml("a.yaml", text, {}, undefined, true);
  for (const path of pathsIn(plain.value).slice(0, 50))
    for (const onKey of [true, false]) expect(short.position(path, onKey)).toEqual(whole.position(path, onKey));
  return true;
}

/** The paths of all values below one. */
function pathsIn(value: unknown): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [[]];
  const below = Array.isArray(value) ? value.map((one, i) => [i, one] as const) : Object.entries(value);
  return [[], ...below.flatMap(([key, one]) => pathsIn(one).map((path) => [key, ...path]))];
}

const word = fc.constantFrom(
  ..."a b-c /api/* http://10.0.0.1:80/x 10s 4MiB 5 0 007 1.5 1e5 0x1f true False null Null ~ yes 1_0 12e a:b a: 10.0.0.1".split(
    " ",
  ),
  "a b",
  "public, max-age=60",
  "1 2",
  "a # b",
  "a: b",
  "- a",
  "",
  ..."[a] [] {} [a,b] [a:b,http://x:1] {a:b} {a:,b} [a,] [,] [[a],{}] {} [5,0x1f,007] [true,Null,~] [a]b [a] {".split(
    " ",
  ),
  ...'{a: b}|[a, \'b: c\', "d, e"]|{a: b, a: c}|{ a: [b, {c: 5}], "404": d }|[a b]|[a #b]|[a: b]|{__proto__: a}|[a ,b ]|{a}'.split(
    "|",
  ),
  "{a: 'it''s'}",
  "[a] # b",
  "'a' # b",
  "a #",
  "a# b",
  "[*a]",
  "[&a b]",
  "{<<: a}",
  "[a, b: c]",
  '{"a": b}',
  '{"a":b}',
  "['a'b]",
  "[${A}]",
  "{a: }",
  "[http://]",
  ..."./a ../a/b . .. ./ .5 .inf .../a [./a,../b,.5]".split(" "),
  "{a: b }",
  "&a b",
  "*a",
  "!t a",
  "|",
  ">-",
  "'it''s'",
  "'a # b: c'",
  '"x y"',
  '"\\n"',
  '"',
  "@a",
  "é",
  "a\t",
  "a ",
  "a:b: c",
  "/^a\\.(b|c)[d]?$/i",
  "/a $b",
  "${A}",
  "a[",
  "a ]|?",
  "'a\\b'",
  '"a é"',
  "a\\",
);
const key = fc.constantFrom(
  "a",
  "b",
  "type",
  "x-y",
  "_z",
  "__proto__",
  "a b",
  '"q"',
  "5",
  "<<",
  "true",
  '"404"',
  '"x y"',
);
const spaces = fc.constantFrom(0, 0, 2, 2, 4, 4, 6, 1, 3).map((count) => " ".repeat(count));
const line = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(spaces, fc.constantFrom("", "", "- ", "-   "), key, word)
      .map(([s, d, k, w]) => `${s}${d}${k}: ${w}`.trimEnd()),
  },
  { weight: 3, arbitrary: fc.tuple(spaces, fc.constantFrom("", "- "), key).map(([s, d, k]) => `${s}${d}${k}:`) },
  { weight: 2, arbitrary: fc.tuple(spaces, word).map(([s, w]) => `${s}- ${w}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "",
      "# note",
      "  # é $x ${A} note: a\t",
      "  # é: 'a",
      "---",
      "...",
      "-",
      "- - a",
      "text",
      "  text",
    ),
  },
);

test("whatever the plain reader takes, it takes as the library does: lines at random", () => {
  let taken = 0;
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
      if (agrees(lines.join("\n"))) taken++;
    }),
    { numRuns: 6000 },
  );
  expect(taken).toBeGreaterThan(300);
});

const plainWord = fc.constantFrom(
  "a",
  "/api/*",
  "http://10.0.0.1:80",
  "10s",
  "5",
  "0",
  "true",
  "'a: b'",
  '"c # d"',
  "two words",
  "[a, http://10.0.0.1:80, '/a b']",
  "{ a: 5, b: [true, {}] }",
  "word # note",
);
const plainKey = fc.constantFrom("a", "b", "c-d", "_e");
type Tree = string | readonly Tree[] | { readonly [key: string]: Tree };
const { tree } = fc.letrec<{ tree: Tree; map: Tree; list: Tree }>((tie) => ({
  tree: fc.oneof({ maxDepth: 4 }, plainWord, tie("map"), tie("list")),
  map: fc.dictionary(plainKey, tie("tree"), { minKeys: 1, maxKeys: 4 }),
  list: fc.array(fc.oneof({ maxDepth: 4 }, plainWord, tie("map")), { minLength: 1, maxLength: 4 }),
}));

/** Writes a tree as block YAML. */
function written(node: Tree, indent: string, isDeepList: boolean): string[] {
  if (typeof node === "string") return [`${indent}${node}`];
  if (Array.isArray(node)) {
    return (node as readonly Tree[]).flatMap((item) => {
      const [first, ...rest] = written(item, `${indent}  `, isDeepList);
      return [`${indent}- ${first!.trimStart()}`, ...rest];
    });
  }
  return Object.entries(node).flatMap(([name, value]) => {
    if (typeof value === "string") return [`${indent}${name}: ${value}`];
    const deeper = Array.isArray(value) && !isDeepList ? indent : `${indent}  `;
    return [`${indent}${name}:`, ...written(value, deeper, isDeepList)];
  });
}

test("plain trees are taken, and as the library takes them", () => {
  const isBlock = (node: Tree) => typeof node !== "string";
  fc.assert(
    fc.property(tree.filter(isBlock), fc.boolean(), (node, isDeepList) => {
      expect(agrees(written(node, "", isDeepList).join("\n"))).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

test("lists and maps in brackets, comments behind values and relative paths are plain", () => {
  const text =
    "a:\n  - {type: redirect, list: ./r.csv} # note\n  - listeners: [l0, l1]\n    dir: ../site # note\n    b: { c: [] }\n";
  expect(agrees(text)).toBe(true);
});

test("the shipped files and the vectors", () => {
  for (const file of ["config.yaml", "routes.yaml"]) agrees(readFileSync(join(import.meta.dir, "../..", file), "utf8"));
});

test("a large file reads the same either way, with every fault in its place", () => {
  const lines = ["routes:"];
  for (let i = 0; i < 3000; i++)
    lines.push("- type: upstream", `  prefix: /s${i}`, "  targets:", `  - url: http://a${i}:80`);
  const text = lines.join("\n");
  expect(text.length).toBeGreaterThan(65_536);
  expect(readPlainYaml(`# é ${"${A}"}\n${text}\n\n# end\n...\n`)?.value).toEqual(readPlainYaml(text)!.value);
  const large = readYaml("a.yaml", text, {});
  const marked = readYaml("a.yaml", `${text} # not plain`, {});
  expect(large.value).toEqual(marked.value);
  const paths = [
    ["routes", 7, "none"],
    ["routes", 7, "targets"],
    ["routes", 2998, "targets", 0],
    ["routes", 3000],
    ["x"],
  ];
  for (const path of [
    ...paths,
    ["routes", 7],
    ["routes", 7, "prefix"],
    ["routes", 2999, "targets", 0, "url"],
    ["routes"],
    [],
  ]) {
    for (const onKey of [false, true]) expect(large.position(path, onKey)).toEqual(marked.position(path, onKey));
  }
});
