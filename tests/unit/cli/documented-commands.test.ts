import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseFlags, takeRepeated } from "../../../src/cli/flags.ts";
import type { ListedSpec } from "../../../src/cli/listed-command.ts";
import { listing } from "../../../src/cli/main.ts";

// The commands that the documentation shows are commands: their names, flags, values and operands are taken. What they print is with the
// tests of each.

const TOP = join(import.meta.dir, "../../..");
const PAGES = ["README.md", "docs/*.md", "scripts/**/*.md"].flatMap((pattern) => [
  ...new Bun.Glob(pattern).scanSync(TOP),
]);
const BLOCK = /^```(sh|console)\n([\s\S]*?)^```/gm;
const SPECS = (await listing()).flatMap(({ specs }) => specs);

/** The calls of edge in a page, without what is before and behind each. */
function callsIn(page: string): string[][] {
  return [...readFileSync(join(TOP, page), "utf8").matchAll(BLOCK)]
    .flatMap(([, kind, text]) => linesOf(text!, kind === "console"))
    .flatMap(callsOf);
}

/** Lines that are typed; in a console those behind the prompt. */
function linesOf(text: string, isConsole: boolean): string[] {
  const lines = text.replaceAll("\\\n", " ").split("\n");
  return isConsole ? lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2)) : lines;
}

/** Words, quoted or not, and signs of a shell. */
const WORDS = /'[^']*'|"[^"]*"|\|\||&&|\d?[<>]+(?:&\d)?|[|;&()]|#|(?:[^\s|;&<>()'"]|'[^']*'|"[^"]*")+/g;

/** Words of each program on a line, as a shell would read them; only those of edge. */
function callsOf(line: string): string[][] {
  const words = line.match(WORDS) ?? [];
  const calls: string[][] = [[]];
  let isPlace = false;
  for (const word of words) {
    if (word === "#") break;
    if (isPlace) isPlace = false;
    else if (/^\d?[<>]+(&\d)?$/.test(word)) isPlace = !word.includes("&");
    else if (/^(\|\||&&|[|;&()])$/.test(word)) calls.push([]);
    else if (!(calls.at(-1)!.length === 0 && /^(\w+=|sudo$)/.test(word)))
      calls.at(-1)!.push(word.replace(/^(['"])([\s\S]*)\1$/, "$2"));
  }
  return calls.filter(([first]) => first === "edge" || first === "./edge").map(([, ...rest]) => rest);
}

/** What is wrong with a call; "" for nothing. */
function faultOf(words: readonly string[]): string {
  const [name = ""] = words;
  if (name === "help" || name === "version" || name.startsWith("-")) return "";
  const fits = ({ name: whole }: ListedSpec) =>
    whole
      .split(" ")
      .slice(1)
      .every((word, i) => words[i] === word);
  const spec = SPECS.filter(fits).sort((a, b) => b.name.length - a.name.length)[0];
  if (spec === undefined) return `there is no command ${name}`;
  // Fields of a request may be given several times; the commands take them out first.
  const { others } = takeRepeated(words.slice(spec.name.split(" ").length - 1), "header", "H");
  const parsed = parseFlags(spec, others);
  return parsed.kind === "usage" ? parsed.message : "";
}

describe("commands in", () => {
  for (const page of PAGES) {
    const calls = callsIn(page);
    if (calls.length === 0) continue;
    test(`${page}: ${calls.length}`, () => {
      const faults = calls.map((words) => [words.join(" "), faultOf(words)]).filter(([, fault]) => fault !== "");
      expect(faults).toEqual([]);
    });
  }

  test("a page with a mistake would be seen", () => {
    expect(callsOf("A=b edge serve --prot 80 > x 2>&1 | jq . # edge none")).toEqual([["serve", "--prot", "80"]]);
    expect(faultOf(["serve", "--prot", "80"])).toContain("--prot");
    expect(faultOf(["surf"])).toBe("there is no command surf");
    expect(faultOf(["waf", "test", "GET /"])).toBe("");
  });
});
