import { describe, expect, test } from "bun:test";
import { PROJECT_FILES, projectText } from "./project-files.ts";

const CITATION = /\bdocs\/[a-z0-9-]+\.md(#[a-z0-9-]+)?/g;

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = page.split("\n").flatMap((line) => /^#{1,6} (.+)$/.exec(line)?.[1] ?? []);
  return new Set(
    headings.map((text) =>
      text
        .toLowerCase()
        .replace(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
}

const pages = new Map(
  PROJECT_FILES.filter((path) => /^docs\/.*\.md$/.test(path)).map((path) => [path, anchorsOf(projectText(path)!)]),
);

function citationFaults(path: string, text: string): string[] {
  return text.split("\n").flatMap((line, index) =>
    [...line.matchAll(CITATION)].flatMap(([citation]) => {
      const [page, anchor] = citation.split("#");
      const anchors = pages.get(page!);
      const isFound = anchors !== undefined && (anchor === undefined || anchors.has(anchor));
      return isFound ? [] : [`${path}:${index + 1}: ${citation} leads nowhere`];
    }),
  );
}

describe("citations", () => {
  test("every docs/page.md#heading that a file names is there", () => {
    const files = PROJECT_FILES.filter((path) => !/^tests\/(tidy|vectors)\//.test(path));
    expect(files.flatMap((path) => citationFaults(path, projectText(path) ?? ""))).toEqual([]);
  });

  test("one that leads nowhere is found", () => {
    expect(citationFaults("src/a.ts", "// docs/security.md#no-such-heading")).toHaveLength(1);
    expect(citationFaults("src/a.ts", "// docs/no-such-page.md")).toHaveLength(1);
    expect(citationFaults("src/a.ts", "// docs/security.md#identity-headers")).toEqual([]);
  });
});
