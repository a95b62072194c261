import { expect, test } from "bun:test";
import {
  ChallengeReader,
  ChallengeWriter,
  createChallengeTable,
} from "../../../../src/features/acme/challenge-table.ts";

test("what is published is seen by every reader, and what is taken back is not", () => {
  const table = createChallengeTable();
  const writer = new ChallengeWriter(table);
  const readers = [new ChallengeReader(table), new ChallengeReader(table)];
  expect(readers.map((reader) => reader.answerTo("a"))).toEqual([null, null]);
  writer.publish(["a.thumb", "b-_.thumb"]);
  expect(readers.map((reader) => reader.answerTo("a"))).toEqual(["a.thumb", "a.thumb"]);
  expect(readers.map((reader) => reader.answerTo("b-_"))).toEqual(["b-_.thumb", "b-_.thumb"]);
  expect(readers[0]!.answerTo("a.thumb")).toBeNull();
  writer.publish([]);
  expect(readers.map((reader) => reader.answerTo("a"))).toEqual([null, null]);
  expect(readers[0]!.answerTo("")).toBeNull();
});

test("more answers than the table holds are refused, and those that are there stay", () => {
  const table = createChallengeTable();
  const writer = new ChallengeWriter(table);
  writer.publish(["a.thumb"]);
  expect(() => writer.publish(Array.from({ length: 1000 }, (_, i) => `${i}.${"x".repeat(100)}`))).toThrow("too many");
  expect(new ChallengeReader(table).answerTo("a")).toBe("a.thumb");
});

test("a reader that meets the writer at work keeps what it knows", () => {
  const table = createChallengeTable();
  const reader = new ChallengeReader(table);
  new ChallengeWriter(table).publish(["a.thumb"]);
  expect(reader.answerTo("a")).toBe("a.thumb");
  Atomics.add(new Int32Array(table, 0, 2), 0, 1);
  expect(reader.answerTo("a")).toBe("a.thumb");
});
