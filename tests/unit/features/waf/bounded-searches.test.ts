import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Glob } from "bun";

const FOLDER = `${import.meta.dir}/../../../../src/features/waf`;
/** Searches that go on to the end of what is searched, once a body or amortised over its parts. */
const WHOLE: readonly string[] = [
  "body/multipart-parts.ts",
  "body/part-head.ts",
  "header-inspector.ts",
  "signs/scanner-names.ts",
];

test("no native search runs beyond the part that is looked at: thousands of parts would each search the rest", () => {
  const found = [...new Glob("**/*.ts").scanSync(FOLDER)]
    .filter((file) => !WHOLE.includes(file))
    .filter((file) =>
      /\b(?:bytes|text|source|body)\.(?:indexOf|includes|lastIndexOf)\((?:Byte\.|quote)/.test(
        readFileSync(`${FOLDER}/${file}`, "utf8"),
      ),
    );
  expect(found).toEqual([]);
});
