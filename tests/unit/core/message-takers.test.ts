import { expect, test } from "bun:test";
import { type Takers, takeMessage, takersOf } from "../../../src/core/message-takers.ts";

interface Word<Kind extends string> {
  readonly kind: Kind;
  readonly text: string;
}

test("a message goes to the service that takes its kind, with the worker whose it is and a way to respond", () => {
  const taken: unknown[] = [];
  const one: Takers<Word<"a">, string> = { a: ({ text }, worker, reply) => reply(`${text} of ${worker}`) };
  const other: Takers<Word<"b">> = { b: ({ text }, worker) => taken.push(text, worker) };
  const takers = takersOf({ one: { onMessage: one }, silent: {}, other: { onMessage: other } });
  const all: Takers<Word<"a"> | Word<"b">, string> = takers;
  takeMessage(all, { kind: "a", text: "x" }, 3, (reply) => taken.push(reply));
  takeMessage(all, { kind: "b", text: "y" }, 4, (reply) => taken.push(reply));
  expect(taken).toEqual(["x of 3", "y", 4]);
});

test("no two services take one kind", () => {
  const one: Takers<Word<"a">> = { a: () => {} };
  expect(() => takersOf({ one: { onMessage: one }, other: { onMessage: one } })).toThrow(
    "two services take messages of kind a",
  );
});
