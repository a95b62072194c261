import { describe, expect, test } from "bun:test";
import { EVENTS, fieldTexts, type WriteEvent } from "../../../src/facts/events.ts";

describe("the events", () => {
  test("a call that gives other fields than the row has does not compile", () => {
    const write: WriteEvent = () => {};
    write("drain_cut", { connections: 1 });
    // @ts-expect-error: there is no such event
    write("drain_cuts", { connections: 1 });
    // @ts-expect-error: a field is missing
    write("drain_cut", {});
    // @ts-expect-error: its name is another
    write("drain_cut", { connection: 1 });
    // @ts-expect-error: its kind is another
    write("drain_cut", { connections: "1" });
    // @ts-expect-error: one is too many
    write("drain_cut", { connections: 1, workers: 2 });
    // @ts-expect-error: a field of another event is too many as well
    write("cluster_store_back", { nodes: 1, error: "" });
    write("schema_learned", { upstream: "", routes: 1 });
    write("schema_learned", { upstream: "", routes: 1, skipped: [""] });
    // @ts-expect-error: what may be left out has its kind as well
    write("schema_learned", { upstream: "", routes: 1, skipped: "" });
    write("function_log", { module: "", level: "", others: "are the function's" });
  });

  test("people are told of each field", () => {
    expect(fieldTexts(EVENTS.schema_learned)).toEqual([
      "`upstream`: the origin",
      "`routes`: routes that were made of it",
      "`skipped` (optional): methods that edge leaves out, and why",
    ]);
    expect(fieldTexts(EVENTS.function_log).at(-1)).toBe("others, which the writer chooses");
  });
});
