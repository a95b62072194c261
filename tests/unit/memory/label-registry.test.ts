import { describe, expect, test } from "bun:test";
import { LabelRegistry, OVERFLOW_ID, OVERFLOW_LABEL } from "../../../src/memory/label-registry.ts";

describe("label registry", () => {
  test("numbers are given once and stay", () => {
    const registry = new LabelRegistry(["unmatched"], 10);
    expect(registry.idOf("unmatched")).toBe(1);
    expect(registry.idOf("/a")).toBe(2);
    expect(registry.idOf("/b")).toBe(3);
    expect(registry.idOf("/a")).toBe(2);
    expect(registry.labelOf(3)).toBe("/b");
    expect(registry.all()).toEqual([OVERFLOW_LABEL, "unmatched", "/a", "/b"]);
  });

  test("what finds no number shares that of the overflow", () => {
    const registry = new LabelRegistry([], 2);
    expect(registry.idOf("/a")).toBe(1);
    expect(registry.idOf("/b")).toBe(OVERFLOW_ID);
    expect(registry.labelOf(99)).toBe(OVERFLOW_LABEL);
  });

  test("a worker's copy does not follow", () => {
    const registry = new LabelRegistry([], 10);
    const ids = structuredClone(registry.ids());
    registry.idOf("/late");
    expect(ids.has("/late")).toBe(false);
    expect(ids.get(OVERFLOW_LABEL)).toBe(OVERFLOW_ID);
  });
});
