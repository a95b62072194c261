import { expect, test } from "bun:test";
import { plain, sentence } from "../../../../../src/features/dashboard/page/format.ts";

test("nothing in a client's text turns the line round or hides a part of it", () => {
  expect(plain("/a\u202egpj.exe\u200b\u0000\u0007\u2066\ufeff")).toBe("/a\ufffdgpj.exe\ufffd\ufffd\ufffd\ufffd\ufffd");
  expect(plain("/größe/日本?ж")).toBe("/größe/日本?ж");
});

test("a sentence begins with a capital letter, a path or an address stays as it is", () => {
  expect(["no worker serves", "well", "/api misses it", "http://a is out", "é x"].map(sentence)).toEqual([
    ...["No worker serves", "Well", "/api misses it", "http://a is out", "é x"],
  ]);
});
