import { describe, expect, test } from "bun:test";
import { dirname, join } from "node:path/posix";
import { PROJECT_FILES, projectText } from "./project-files.ts";

const CITATION = /\bdocs\/[a-z0-9-]+\.md(#[a-z0-9-]+)?/g;
/** A link of Markdown to a file, not to an address of the web. */
const LINK = /\]\(([^)\s:]*)\)/g;

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
  PROJECT_FILES.filter((path) => path.endsWith(".md")).map((path) => [path, anchorsOf(projectText(path)!)]),
);

function citationFaults(path: string, text: string): string[] {
  return linesOf(text).flatMap(([line, number]) =>
    [...line.matchAll(CITATION)].flatMap(([citation]) => {
      const [page, anchor] = citation.split("#");
      return isFound(page!, anchor) ? [] : [`${path}:${number}: ${citation} leads nowhere`];
    }),
  );
}

/** Links of a page, seen from the folder that it is in. */
function linkFaults(path: string, text: string): string[] {
  return linesOf(withoutCode(text)).flatMap(([line, number]) =>
    [...line.matchAll(LINK)].flatMap(([, link]) => {
      const [file, anchor] = link!.split("#");
      const target = file === "" ? path : join(dirname(path), file!);
      return isFound(target, anchor) ? [] : [`${path}:${number}: ${link} leads nowhere`];
    }),
  );
}

function isFound(path: string, anchor: string | undefined): boolean {
  if (anchor === undefined) return PROJECT_FILES.some((file) => file === path || file.startsWith(`${path}/`));
  return pages.get(path)?.has(anchor) === true;
}

/** Blocks and spans of code hold examples, which may look like links. */
function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, "")).replace(/`[^`\n]*`/g, "");
}

function linesOf(text: string): [line: string, number: number][] {
  return text.split("\n").map((line, index) => [line, index + 1]);
}

describe("citations", () => {
  test("every docs/page.md#heading that a file names is there", () => {
    const files = PROJECT_FILES.filter((path) => !/^tests\/(tidy|vectors)\//.test(path));
    expect(files.flatMap((path) => citationFaults(path, projectText(path) ?? ""))).toEqual([]);
  });

  test("every link of a page leads to a file or a heading", () => {
    expect([...pages.keys()].flatMap((path) => linkFaults(path, projectText(path)!))).toEqual([]);
  });

  test("the index of the documentation names every page", () => {
    const index = projectText("docs/README.md")!;
    const names = [...pages.keys()].filter((path) => /^docs\/[^/]+\.md$/.test(path)).map((path) => path.slice(5));
    expect(names.filter((name) => name !== "README.md" && !index.includes(`](${name})`))).toEqual([]);
  });

  test("one that leads nowhere is found", () => {
    expect(citationFaults("src/a.ts", "// docs/security.md#no-such-heading")).toHaveLength(1);
    expect(citationFaults("src/a.ts", "// docs/no-such-page.md")).toHaveLength(1);
    expect(citationFaults("src/a.ts", "// docs/security.md#identity-headers")).toEqual([]);
    expect(linkFaults("docs/a.md", "[x](wire.md#no-such-heading) [y](no-such-page.md)")).toHaveLength(2);
    expect(linkFaults("docs/wire.md", "[x](#host) [y](bodies.md#trailers) [z](../README.md)")).toEqual([]);
  });
});
