// The tables of ARCHITECTURE.md that say what each folder is and may import, held to the folders and to the import law.
import { expect, test } from "bun:test";
import { ALLOWED } from "./import-law.ts";
import { PROJECT_FILES, projectText } from "./project-files.ts";

const SECTION = projectText("ARCHITECTURE.md")!
  .split(/^## /m)
  .find((each) => each.startsWith("Folders and who may import whom"))!;

/** The rows of the table with this word in its head, as cells. */
function rowsOf(head: string): string[][] {
  const lines = SECTION.split("\n");
  const first = lines.findIndex((line) => line.startsWith(`| ${head}`)) + 2;
  const end = lines.findIndex((line, i) => i >= first && !line.startsWith("|"));
  return lines.slice(first, end).map((line) => line.split("|").map((cell) => cell.trim()));
}

/** What stands in the first cells, as code. */
function namesOf(head: string): string[] {
  return rowsOf(head).flatMap(([, cell]) => [...cell!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!));
}

/** The names of what lies in a folder of the project; of files, those that are TypeScript where `isFiles`. */
function within(folder: string, isFiles = false): string[] {
  const below = PROJECT_FILES.flatMap((path) => (path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : []));
  const names = below.filter((path) => path.includes("/") !== isFiles).map((path) => path.split("/")[0]!);
  return [...new Set(names)].toSorted();
}

test.each([
  ["In `src/proto`", within("src/proto")],
  ["In `src/features`", within("src/features")],
  ["In `bin`", within("bin", true)],
  ["Folder of `src`", [...within("src"), "features/*/control"].toSorted()],
])("the table '%s' names each of them once", (head, names) => {
  expect(namesOf(head).toSorted()).toEqual(names);
});

test("the table says what the import law allows", () => {
  const rows = rowsOf("Folder of `src`").map(([, name, imports]) => [name!.replaceAll("`", ""), imports!] as const);
  const said = rows.map(([name, imports], i) => {
    if (imports === "nothing") return [name, []];
    const list = imports
      .replace(/^all above( but )?/, "")
      .split(", ")
      .filter(Boolean);
    const above = rows.slice(0, i).map(([other]) => other);
    return [name, (imports.startsWith("all above") ? above.filter((other) => !list.includes(other)) : list).toSorted()];
  });
  const { bin, ...folders } = ALLOWED;
  expect(Object.fromEntries(said)).toEqual(
    Object.fromEntries(Object.entries(folders).map(([name, imports]) => [name, imports.toSorted()])),
  );
  expect(SECTION.replaceAll(" and ", ", ")).toContain(`\`bin\` imports ${bin!.join(", ")}:`);
});

/** The scripts that a person runs: files of `scripts` that git lists as programs, by the name after the last folder. */
function scriptsOfPeople(): string[] {
  return within("scripts", true).filter((name) => !name.includes("."));
}

test("the table of CONTRIBUTING.md names each script, and no other", () => {
  const cells = (projectText("CONTRIBUTING.md") ?? "")
    .match(/^\| `scripts\/.* \|/gm)!
    .map((row) => row.split(" | ")[0]!);
  const named = cells.flatMap((cell) => {
    const [first, ...rest] = [...cell.matchAll(/`(?:scripts\/)?([a-z0-9-]+)[^`]*`/g)].map(([, name]) => name!);
    // `-load` behind `compare-framing` is `compare-load`.
    return [first!, ...rest.map((name) => (name.startsWith("-") ? first!.replace(/-.*$/, name) : name))];
  });
  expect(named.toSorted()).toEqual(scriptsOfPeople());
});
