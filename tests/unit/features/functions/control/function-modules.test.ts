import { expect, test } from "bun:test";
import { moduleNames } from "../../../../../src/features/functions/control/function-modules.ts";

test.each([
  [["/a/shop.ts"], ["shop.ts"]],
  [
    ["/a/shop.ts", "/b/shop.ts", "/b/hello.ts"],
    ["a/shop.ts", "b/shop.ts", "hello.ts"],
  ],
  [
    ["/x/a/shop.ts", "/y/a/shop.ts", "/shop.ts"],
    ["x/a/shop.ts", "y/a/shop.ts", "/shop.ts"],
  ],
  [
    ["/a/shop.ts", "/a/shop.ts"],
    ["shop.ts", "shop.ts"],
  ],
])("modules at %j are called %j", (paths, names) => {
  const all = moduleNames(paths);
  expect(paths.map((path) => all.get(path))).toEqual(names);
});
