import { expect, test } from "bun:test";
import { Glob } from "bun";
import { looseYaml, strictYaml } from "../../../src/config/yaml-document.ts";

test("a key that occurs twice in a map is found at any depth, in blocks, flows and JSON", () => {
  const errors = (text: string) => strictYaml(text).errors.map(({ code, pos }) => `${code} ${pos[0]}`);
  expect(errors("a: 1\nb: {c: 1, d: 2, 'c': 3}\na: 2\n")).toEqual(["DUPLICATE_KEY 29", "DUPLICATE_KEY 21"]);
  expect(errors('[{"x": {"y": 1, "y": 2}}]')).toEqual(["DUPLICATE_KEY 16"]);
  expect(errors("1: a\n'1': b\nnull: c\n~: d\n")).toEqual(["DUPLICATE_KEY 20"]);
  expect(looseYaml("a: 1\na: 2\n").errors).toEqual([]);
});

test("no other file has the library compare each key with all before it", async () => {
  const users: string[] = [];
  for await (const file of new Glob("src/**/*.ts").scan())
    if (/\bparseDocument\b/.test(await Bun.file(file).text())) users.push(file);
  expect(users).toEqual(["src/config/yaml-document.ts"]);
});
