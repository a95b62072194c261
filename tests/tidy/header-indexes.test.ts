import { expect, test } from "bun:test";
import { SOURCE_MODULES } from "./source-module.ts";

/** Calls that take fields out of a block, so that those after them have other indexes. */
const REMOVAL = /\.(?:removeWhere|removeAll|setValueOf|rewriteAll)\(/g;
/** An index that is kept for later. */
const KEPT_INDEX = /\b(?:const|let) (\w+) = [\w.]*[hH]eaders\??\.find(?:Named)?\(/g;
const INDEX_IN_FIELD = /\bthis\.\w+ = [\w.]*[hH]eaders\.find(?:Named)?\(/g;

/** The names of indexes in `body` that are used after a removal. */
function staleIndexes(body: string): string[] {
  const removals = [...body.matchAll(REMOVAL)].map((match) => endOfCall(body, match.index + match[0].length));
  return [...body.matchAll(KEPT_INDEX)].flatMap((match) => {
    const name = match[1]!;
    const removedTo = removals.find((to) => to > match.index);
    const isUsed = removedTo !== undefined && new RegExp(`\\b${name}\\b`).test(body.slice(removedTo));
    return isUsed ? [name] : [];
  });
}

/** Where the call ends whose parenthesis was opened right before `from`. */
function endOfCall(text: string, from: number): number {
  let depth = 1;
  let at = from;
  for (; at < text.length && depth > 0; at++) {
    if (text[at] === "(") depth++;
    else if (text[at] === ")") depth--;
  }
  return at;
}

test("no index of a header field is used after fields were taken out", () => {
  const found = SOURCE_MODULES.filter(({ path }) => path.startsWith("src/")).flatMap((module) =>
    module.functions.flatMap(({ name, body }) =>
      body === null
        ? []
        : staleIndexes(module.text.slice(body.from, body.to)).map((index) => `${module.path}: ${index} in ${name}`),
    ),
  );
  expect(found).toEqual([]);
});

test("no object keeps the index of a header field", () => {
  const found = SOURCE_MODULES.filter(({ path }) => path.startsWith("src/")).flatMap(({ path, text }) =>
    [...text.matchAll(INDEX_IN_FIELD)].map(([line]) => `${path}: ${line}`),
  );
  expect(found).toEqual([]);
});

test("where a field stands is said by HeaderBlock alone", () => {
  const found = SOURCE_MODULES.filter(({ path, text }) => path.startsWith("src/") && text.includes("spans["));
  expect(found.map(({ path }) => path)).toEqual(["src/message/header-block.ts"]);
});

test("what the check is for is found", () => {
  const faulty = "const at = reply.headers.find(HeaderId.ContentType); drop(1); headers.removeAll(id); use(at);";
  expect(staleIndexes(faulty)).toEqual(["at"]);
  expect(staleIndexes(faulty.replace("find(HeaderId.ContentType)", "findNamed(name)"))).toEqual(["at"]);
  expect(staleIndexes(faulty.replace("use(at)", "use(1)"))).toEqual([]);
});
