import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type BareItem,
  type InnerList,
  type Item,
  type Member,
  type Parameters,
  parseDictionary,
  parseItem,
  parseList,
} from "../../../../src/proto/semantics/structured-fields.ts";

/** The kind of a field, its text, and its canonical form: true for the text itself, null for what is malformed. */
type Case = readonly [
  kind: "item" | "list" | "dictionary",
  text: string,
  canonical: string | true | null,
  may?: string,
];

const CASES: readonly Case[] = readFileSync(
  join(import.meta.dir, "../../../vectors/structured-fields/cases.jsonl"),
  "utf8",
)
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Case);

/** What is read, written in the canonical form, of which there is one for each value. RFC 9651 §4.1; null where it is malformed. */
function canonical(kind: Case[0], text: string): string | null {
  if (kind === "item") {
    const item = parseItem(text);
    return item === null ? null : itemText(item);
  }
  if (kind === "list") return parseList(text)?.map(memberText).join(", ") ?? null;
  const members = parseDictionary(text);
  if (members === null) return null;
  return [...members]
    .map(([key, member]) => {
      const isTrue = "item" in member && member.item.value === true;
      return isTrue ? key + parametersText(member.parameters) : `${key}=${memberText(member)}`;
    })
    .join(", ");
}

function memberText(member: Member): string {
  return "item" in member ? itemText(member) : innerText(member);
}

function innerText({ items, parameters }: InnerList): string {
  return `(${items.map(itemText).join(" ")})${parametersText(parameters)}`;
}

function itemText({ item, parameters }: Item): string {
  return bareText(item) + parametersText(parameters);
}

function parametersText(parameters: Parameters): string {
  return [...parameters].map(([key, value]) => `;${key}${value.value === true ? "" : `=${bareText(value)}`}`).join("");
}

function bareText(item: BareItem): string {
  switch (item.kind) {
    case "integer":
      return String(item.value);
    case "decimal":
      return Number.isInteger(item.value) ? item.value.toFixed(1) : String(item.value);
    case "date":
      return `@${item.value}`;
    case "string":
      return `"${item.value.replace(/["\\]/g, "\\$&")}"`;
    case "token":
      return item.value;
    case "bytes":
      return `:${Buffer.from(item.value).toString("base64")}:`;
    case "boolean":
      return item.value ? "?1" : "?0";
    case "display":
      return `%"${Buffer.from(item.value, "utf8")
        .toString("latin1")
        .replace(/[^ !#$&-~]/g, escaped)}"`;
  }
}

function escaped(char: string): string {
  return `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

describe("the public cases", () => {
  test("are all there", () => {
    expect(CASES.length).toBe(1591);
  });

  test.each(["item", "list", "dictionary"] as const)("are read as they are meant: %s", (kind) => {
    for (const [, text, wanted, may] of CASES.filter((one) => one[0] === kind)) {
      const got = canonical(kind, text);
      const allowed = wanted === true ? text : wanted;
      if (may !== undefined && got === null) continue;
      expect([text, got]).toEqual([text, allowed]);
    }
  });
});

describe("what has several spellings or none", () => {
  test.each([
    [":aGk=:", "hi"],
    [":aGk:", "hi"],
    [":aGkh:", "hi!"],
    ["::", ""],
  ])("bytes: %s", (text, value) => {
    const read = parseItem(text)?.item;
    expect(Buffer.from(read?.value as Uint8Array).toString()).toBe(value);
  });

  test.each([
    ":a=k=:",
    ":=aGk:",
    ":aGk==:",
    ":aGkh=:",
    ":aGk===:",
    ":a:",
    ":aGk=a:",
    ":====:",
    ":aGk=",
    ": aGk=:",
    '%"%c3"',
    '%"%ff"',
    '%"%C3%BC"',
    '%"%ed%a0%80"',
    '%"%c0%af"',
    '%"%e2%82"',
    '%"%f5%80%80%80"',
    '%"%"',
    '%"%2"',
    '%"\xfc"',
    '%"a',
    '% "a"',
    "@1.0",
    "@",
    "--1",
    "1.",
    "1234567890123456",
    "1234567890123.1",
    "1.2345",
  ])("malformed: %s", (text) => {
    expect([parseItem(text), parseList(text), parseDictionary(`a=${text}`)]).toEqual([null, null, null]);
  });

  test("the last value of a key counts", () => {
    expect(canonical("dictionary", "a=1, b=2, a=3;x;y;x=2")).toBe("a=3;x=2;y, b=2");
  });
});

test("the cost is linear", () => {
  for (const unit of ["a=(1 ", 'a="\\"', ":aGk=:", '%"%c3%bc', "a;", "a,", " ", "(", "a=1;b=2, ", "1.", "\t,"]) {
    const cost = (count: number): number => {
      const text = unit.repeat(count);
      const began = process.cpuUsage().user;
      for (let i = 0; i < 20; i++) for (const read of [parseItem, parseList, parseDictionary]) read(text);
      return process.cpuUsage().user - began;
    };
    cost(2_000);
    expect(cost(40_000)).toBeLessThan(Math.max(20_000, cost(4_000)) * 60);
  }
});
