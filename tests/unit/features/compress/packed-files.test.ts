import { expect, test } from "bun:test";
import { PackedFiles } from "../../../../src/features/compress/packed-files.ts";

test("keeps so many bytes, those that were asked for last", () => {
  const files = new PackedFiles(100);
  for (const name of ["a", "b", "c"]) files.put(name, Buffer.alloc(30, name));
  expect(files.find("a")).toEqual(Buffer.alloc(30, "a"));
  files.put("d", Buffer.alloc(40, "d"));
  expect(["a", "b", "c", "d"].map((name) => files.find(name)?.length ?? 0)).toEqual([30, 0, 30, 40]);
});

test("counts what is put in anew once, and keeps nothing that is too large", () => {
  const files = new PackedFiles(100);
  for (let i = 0; i < 20; i++) files.put("a", Buffer.alloc(60, i));
  files.put("b", Buffer.alloc(40));
  expect([files.find("a")?.[0], files.find("b")?.length]).toEqual([19, 40]);
  files.put("c", Buffer.alloc(101));
  expect(files.find("c")).toBeNull();
});
