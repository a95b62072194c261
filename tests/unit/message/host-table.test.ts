import { expect, test } from "bun:test";
import { HostTable } from "../../../src/message/host-table.ts";

test("the most exact of what is written for a name counts", () => {
  const table = new HostTable<string>();
  for (const host of ["a.test", "*.a.test", "*.b.a.test", "x.b.a.test", "*.test"]) table.add(host, host);
  table.add("a.test", "a second one");
  const found = [
    "a.test",
    "c.a.test",
    "d.c.a.test",
    "y.b.a.test",
    "x.b.a.test",
    "b.a.test",
    "z.test",
    "test",
    "",
    "other",
  ];
  expect(found.map((host) => table.get(host))).toEqual([
    "a.test",
    "*.a.test",
    "*.a.test",
    "*.b.a.test",
    "x.b.a.test",
    "*.a.test",
    "*.test",
    undefined,
    undefined,
    undefined,
  ]);
});
