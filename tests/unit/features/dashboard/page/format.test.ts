import { expect, test } from "bun:test";
import { plain } from "../../../../../src/features/dashboard/page/format.ts";

test("nothing in a client's text turns the line round or hides a part of it", () => {
  expect(plain("/a\u202egpj.exe\u200b\u0000\u0007\u2066\ufeff")).toBe("/a\ufffdgpj.exe\ufffd\ufffd\ufffd\ufffd\ufffd");
  expect(plain("/größe/日本?ж")).toBe("/größe/日本?ж");
});
