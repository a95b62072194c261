import { describe, expect, test } from "bun:test";
import { blockOf } from "../../../../src/message/extra-fields.ts";
import { prefersHtml } from "../../../../src/proto/semantics/accept.ts";

const asked = (...values: string[]): boolean => prefersHtml(blockOf(values.map((value) => ["Accept", value])));

const BROWSERS = [
  "text/html",
  "text/*",
  "TEXT/HTML;Q=0.1",
  "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
  "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
  "text/html;charset=utf-8, application/json;q=0.9",
  "application/json;q=0.5 , text/html ; q=0.6",
  "*/*;q=0.1, text/html;q=0.2",
  // The more specific range decides.
  "application/*;q=0.9, application/json;q=0, text/*;q=0.2",
];

const PROGRAMS = [
  "",
  "*/*",
  "*/*;q=0.5",
  "application/json",
  "application/json, text/plain, */*",
  "image/avif,image/webp,*/*;q=0.8",
  "text/html, application/json",
  "text/html;q=0.5, application/json",
  "text/html;q=0",
  "text/html;q=0, */*",
  "text/*, text/html;q=0",
  "text/plain",
  "application/xhtml+xml",
  "*/html",
  // Malformed elements count as not sent.
  "text/html;q=2",
  "text/html;q=abc",
  "text/html;q=0.1234",
  "text/html;q",
  "text html",
  "text/html/x",
  // A variant that is not the one there is.
  "text/html;level=1",
  ",;,=,/",
];

describe("who prefers HTML", () => {
  test.each(BROWSERS)("a browser: %s", (value) => {
    expect(asked(value)).toBe(true);
  });

  test.each(PROGRAMS)("a program: %s", (value) => {
    expect(asked(value)).toBe(false);
  });

  test("a client without Accept is a program", () => {
    expect(asked()).toBe(false);
  });

  test("several fields are one list", () => {
    expect(asked("application/json;q=0.5", "text/html")).toBe(true);
    expect(asked("text/html", "application/json")).toBe(false);
  });

  test("a long field is read in linear time", () => {
    const started = performance.now();
    for (let i = 0; i < 50; i++) asked(`${";q=".repeat(2000)}, ${"text/html;".repeat(700)},${"/".repeat(8000)}`);
    expect(performance.now() - started).toBeLessThan(1000);
  });
});
