// What is known once is written once: a function of a file that another file has as well, letter for letter, gets one home.
import { describe, expect, test } from "bun:test";
import { SOURCE_MODULES, type SourceModule } from "./source-module.ts";

/** Below this, two functions are alike because there is little else that they could be. */
const MIN_CHARS = 45;
/** What two grammars have in common by chance, by the code of both. */
const ALIKE_BY_CHANCE: ReadonlySet<string> = new Set([
  // White space between the words of a command line, and between the parts of JSON.
  "isShellSpace, isBlank",
]);

type Module = Pick<SourceModule, "path" | "text" | "functions">;

/** Functions of files, not methods, whose code is the same in two of them: `a.ts:3 one, b.ts:7 other`. */
function writtenTwice(modules: readonly Module[]): { readonly names: string; readonly places: string }[] {
  const all = modules.flatMap(({ path, text, functions }) =>
    functions.flatMap(({ name, line, body }) => {
      const head = text.split("\n", line)[line - 1]!;
      if (body === null || !/^(?:export )?(?:async )?function\b/.test(head)) return [];
      const code = text
        .slice(body.from, body.to)
        .replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "")
        .replace(/\s+/g, " ");
      return code.length < MIN_CHARS ? [] : [{ name, code, place: `${path}:${line} ${name}` }];
    }),
  );
  return [...Map.groupBy(all, ({ code }) => code).values()]
    .filter((alike) => alike.length > 1)
    .map((alike) => ({
      names: alike.map(({ name }) => name).join(", "),
      places: alike.map(({ place }) => place).join(", "),
    }));
}

describe("written once", () => {
  test("no two functions of src are the same", () => {
    const found = writtenTwice(SOURCE_MODULES.filter(({ path }) => path.startsWith("src/")));
    expect(found.filter(({ names }) => !ALIKE_BY_CHANCE.has(names)).map(({ places }) => places)).toEqual([]);
    expect(found.map(({ names }) => names).sort()).toEqual([...ALIKE_BY_CHANCE].sort());
  });

  test("two of another name and layout are found, methods and small ones are not", () => {
    const body = "{ return value.split(separator).map((part) => part.trim()); }";
    const module = (path: string, text: string): Module => {
      const from = text.indexOf("{ return");
      const functions = [
        { name: "f", line: 1, lines: 1, parameters: 1, body: { from, to: text.lastIndexOf("}") + 1, isBlock: true } },
      ];
      return { path, text, functions };
    };
    const one = module("a.ts", `function f(value: string) ${body}`);
    const other = module("b.ts", `export function g(text: string) ${body.replace("; }", "; // parts\n}")}`);
    expect(writtenTwice([one, other])).toEqual([{ names: "f, f", places: "a.ts:1 f, b.ts:1 f" }]);
    expect(writtenTwice([one, module("c.ts", `  f(value: string) ${body}`)])).toEqual([]);
    const small = (path: string) => module(path, "function f() { return 1; }");
    expect(writtenTwice([small("a.ts"), small("b.ts")])).toEqual([]);
  });
});
