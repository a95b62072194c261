import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inFolder, load } from "./config-case.ts";

test("routes of two sources shadow each other by all that tells routes apart, listeners too", () => {
  const listeners = "[{name: a, address: ':1'}, {name: b, address: ':2'}]";
  const config = `server: {listeners: ${listeners}}\nproviders: {directory: {path: d}}\n`;
  const one = (more: string): string => `- {type: respond, prefix: /x${more}}\n`;
  const rows: [file: string, beside: string, isShadowed: boolean][] = [
    ["", "", true],
    [", listeners: [a]", ", listeners: [a]", true],
    [", listeners: [a]", ", listeners: [b]", false],
    [", methods: [GET]", ", methods: [POST]", false],
    [", methods: [GET, PUT]", ", methods: [POST, PUT]", true],
    [", host: a.test", ", host: [b.test, a.test]", true],
    [", match: {header: {X-A: b}}", "", false],
  ];
  for (const [file, beside, isShadowed] of rows)
    inFolder((dir) => {
      mkdirSync(join(dir, "d"));
      writeFileSync(join(dir, "config.yaml"), config);
      writeFileSync(join(dir, "routes.yaml"), one(file));
      writeFileSync(join(dir, "d", "one.yaml"), one(beside));
      const result = load(dir, {});
      const found = result.ok ? result.beside.shadowed.length : result.faults;
      expect([file, beside, found]).toEqual([file, beside, isShadowed ? 1 : 0]);
    });
});
