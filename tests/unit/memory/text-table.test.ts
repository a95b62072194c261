import { expect, test } from "bun:test";
import fc from "fast-check";
import { TextTable, TextTableBuilder } from "../../../src/memory/text-table.ts";

function tableOf(entries: readonly (readonly [string, string])[]): TextTable {
  const builder = new TextTableBuilder();
  for (const [i, [key, value]] of entries.entries()) builder.add(key, value, i);
  const steps = builder.finish();
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return new TextTable(value);
  }
}

const text = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) });

test("a table finds what was added first under a key, and nothing else", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text)), fc.array(text), (entries, others) => {
      const table = tableOf(entries);
      const wanted = new Map<string, readonly [string, number]>();
      for (const [i, [key, value]] of entries.entries()) if (!wanted.has(key)) wanted.set(key, [value, i]);
      expect(table.size).toBe(wanted.size);
      for (const key of [...wanted.keys(), ...others]) {
        const number = table.find(key);
        const found = number < 0 ? undefined : ([table.valueOf(number), table.markOf(number)] as const);
        expect(found).toEqual(wanted.get(key));
        if (number >= 0) expect(table.keyOf(number)).toBe(key);
      }
    }),
  );
});

test("a table of many entries finds each", () => {
  const table = tableOf(Array.from({ length: 50_000 }, (_, i) => [`/key/${i}`, `value ${i}`] as const));
  for (let i = 0; i < 50_000; i++) expect(table.valueOf(table.find(`/key/${i}`))).toBe(`value ${i}`);
  expect(table.find("/key/50000")).toBe(-1);
});
