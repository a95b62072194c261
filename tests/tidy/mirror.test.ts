import { expect, test } from "bun:test";
import { dirname } from "node:path";
import { PROJECT_FILES } from "./project-files.ts";

test("tests/unit has the folders of src, and no others", () => {
  const sources = new Set(PROJECT_FILES.filter((path) => path.startsWith("src/")).flatMap(foldersOf));
  const found = PROJECT_FILES.filter((path) => path.startsWith("tests/unit/")).map((path) => dirname(path));
  expect([...new Set(found)].filter((folder) => !sources.has(folder.replace("tests/unit", "src")))).toEqual([]);
});

function foldersOf(path: string): string[] {
  const folder = dirname(path);
  return folder === "." ? [] : [folder, ...foldersOf(folder)];
}
