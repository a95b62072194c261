import { describe, expect, test } from "bun:test";
import { dirname, join } from "node:path/posix";
import { PROJECT_FILES, projectText } from "./project-files.ts";

const CITATION = /\bdocs\/(?:[a-z0-9-]+\/)*[a-z0-9-]+\.md(#[a-z0-9_-]+)?/g;
/** A file of the project that a page names as code. */
const NAMED_FILE = /`((?:bin|src|tests|scripts|docs)\/[\w./-]*\w)`/g;
/** A file of ours that a comment names, from the top, from src, or by the end of its path: `wire.ts`. */
const MENTIONED_FILE = /(?<![\w./@$-])((?:[\w-]+\/)*[\w-][\w.-]*\.(?:ts|md))(?![\w-])/g;
/** A file or folder that a page of ours about the source names as code. */
const NAMED_PLACE = /`([a-z][\w-]*(?:\/[\w-][\w.-]*)+\/?)`/g;
const ABOUT_THE_SOURCE = /^(?:ARCHITECTURE\.md$|CONTRIBUTING\.md$|docs\/internals\/)/;
/** No place: a protocol's name in a handshake. */
const NO_PLACE = ["acme-tls/1"];
/** A documentation comment that is followed by another one: what it was about is gone. */
const LOST_COMMENT = /\*\/\n[ \t]*\/\*\*/g;
/** RFCs are cited as `RFC 9112 §7.1`, `RFC 7541 Appendix B`, or as a whole. */
const RFC_IN_OTHER_FORM = /\bRFC \d+,? (?:[Ss]ection|[Cc]hapter|appendix)\b|\bRFC-?\d|\bRFC \d+, (?:§|Appendix)/;
/** A heading of a page that is cited by its words, which nothing follows when it changes. */
const HEADING_IN_WORDS = /\.md[,:]? "/;
/** A section of something that the line does not name. */
const NAMELESS_SECTION = /^(?:(?!(?:RFC \d+|Standard|Fetch|YAML [\d.]+|XML [\d.]+|XInclude) §).)*§\d/;
/** A document that the repository does not hold; `spec: {` is a member of objects of Kubernetes. */
const FOREIGN =
  /\b[Ss]pec(?:[,:.] ?"|: (?!\{)|, (?:table|VECTOR))|\b[Dd]ecisions(?: §|,? "| on the| on framing)|\bthe (?:contract|specification)\b/;
const CITING = /^(?:bin|src|tests|scripts|docs)\//;
/** Values that are sent, recorded results, and the rules themselves. */
const DATA = /^tests\/(?:tidy|vectors\/(?!files\/)|conformance\/.*\.(?:md|json)$|bench\/.*\.(?:md|json)$)/;
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

/** Files and folders of the project, and the ends of their paths. */
const PLACES: ReadonlySet<string> = new Set(
  PROJECT_FILES.flatMap((path) => {
    const parts = path.split("/");
    return parts.flatMap((_, from) => parts.slice(from).map((_, i) => parts.slice(from, from + i + 1).join("/")));
  }),
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

function namedFileFaults(path: string, text: string): string[] {
  return linesOf(text).flatMap(([line, number]) =>
    [...line.matchAll(NAMED_FILE)].flatMap(([, file]) =>
      isFound(file!, undefined) ? [] : [`${path}:${number}: ${file} is not there`],
    ),
  );
}

/** Comments that name a file which is not there. */
function mentionFaults(path: string, text: string): string[] {
  return linesOf(commentsOf(text)).flatMap(([line, number]) =>
    [...line.matchAll(MENTIONED_FILE)].flatMap(([, file]) =>
      isPlace(file!) || /NAME/.test(file!) ? [] : [`${path}:${number}: ${file} is not there`],
    ),
  );
}

/** Places of the source that a page names as code, from the top or from src, and that are not there. */
function placeFaults(path: string, text: string): string[] {
  return linesOf(text).flatMap(([line, number]) =>
    [...line.matchAll(NAMED_PLACE)].flatMap(([, place]) =>
      isPlace(place!.replace(/\/$/, "")) || NO_PLACE.includes(place!)
        ? []
        : [`${path}:${number}: ${place} is not there`],
    ),
  );
}

function lostComments(path: string, text: string): string[] {
  return [...text.matchAll(LOST_COMMENT)].map(({ index }) => `${path}:${text.slice(0, index).split("\n").length}`);
}

/** A text without what is no comment; its lines stay where they are. */
function commentsOf(text: string): string {
  let comments = "";
  let end = 0;
  for (const { 0: comment, index } of text.matchAll(/\/\*[\s\S]*?\*\/|(?<=^|[\s;{(,])\/\/[^\n]*/gm)) {
    comments += text.slice(end, index).replace(/[^\n]+/g, "") + comment;
    end = index + comment.length;
  }
  return comments;
}

/** Whether a path, or the end of one, is a file or a folder of the project. */
function isPlace(path: string): boolean {
  return PLACES.has(path);
}

/** What a line cites in another form than the one, or that a reader of the repository does not have. */
function formFaults(path: string, text: string): string[] {
  return linesOf(text).flatMap(([line, number]) => {
    const at = `${path}:${number}: ${line.trim()}`;
    if (FOREIGN.test(line)) return [`${at} (cite a heading of docs/)`];
    if (RFC_IN_OTHER_FORM.test(line)) return [`${at} (write RFC 9112 §7.1)`];
    if (HEADING_IN_WORDS.test(line)) return [`${at} (write docs/page.md#heading)`];
    return line.includes("§") && NAMELESS_SECTION.test(line) ? [`${at} (a section of what?)`] : [];
  });
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

  test("every file that a page names is there", () => {
    const current = [...pages.keys()].filter((path) => path !== "CHANGELOG.md");
    expect(current.flatMap((path) => namedFileFaults(path, projectText(path)!))).toEqual([]);
  });

  test("every file that a comment names is there", () => {
    const code = PROJECT_FILES.filter((path) => /^(?:bin|src|tests|scripts)\/.*\.ts$/.test(path) && !DATA.test(path));
    expect(code.flatMap((path) => mentionFaults(path, projectText(path) ?? ""))).toEqual([]);
  });

  test("every place that a page about the source names is there", () => {
    const about = [...pages.keys()].filter((path) => ABOUT_THE_SOURCE.test(path));
    expect(about.length).toBeGreaterThan(5);
    expect(about.flatMap((path) => placeFaults(path, projectText(path)!))).toEqual([]);
  });

  test("no documentation comment has lost what it is about", () => {
    const code = PROJECT_FILES.filter((path) => /^(?:bin|src|tests|scripts)\/.*\.ts$/.test(path));
    expect(code.flatMap((path) => lostComments(path, projectText(path) ?? ""))).toEqual([]);
  });

  test("RFCs are cited in one form, and nothing that the repository does not hold", () => {
    const files = PROJECT_FILES.filter((path) => CITING.test(path) && !DATA.test(path));
    expect(files.flatMap((path) => formFaults(path, projectText(path) ?? ""))).toEqual([]);
  }, 60_000);

  test("the index of the documentation names every page", () => {
    const index = projectText("docs/README.md")!;
    const names = [...pages.keys()].filter((path) => /^docs\/[^/]+\.md$/.test(path)).map((path) => path.slice(5));
    expect(names.filter((name) => name !== "README.md" && !index.includes(`](${name})`))).toEqual([]);
  });

  test("other forms are found", () => {
    const foreign = ['/** Spec, "Limits". */', "/** Decisions §9. */", "// as the contract says"];
    const forms = ["// RFC 9110 section 5.6", "// RFC9110 §5.6", "// RFC 7541, Appendix B", "// see §4.2"];
    const inWords = ['// ARCHITECTURE.md, "Functions"'];
    for (const line of [...foreign, ...forms, ...inWords]) expect(formFaults("src/a.ts", line)).toHaveLength(1);
    const good = [
      "// RFC 9110 §5.6.1, §5.6.2 and §6",
      "// RFC 7541 Appendix B. RFC 9113.",
      "// Fetch Standard §3.2, docs/wire.md",
    ];
    for (const line of good) expect(formFaults("src/a.ts", line)).toEqual([]);
  });

  test("one that leads nowhere is found", () => {
    expect(citationFaults("src/a.ts", "// docs/security.md#no-such-heading")).toHaveLength(1);
    expect(citationFaults("src/a.ts", "// docs/no-such-page.md")).toHaveLength(1);
    expect(citationFaults("src/a.ts", "// docs/security.md#identity-headers")).toEqual([]);
    expect(citationFaults("src/a.ts", "// docs/internals/no-such-page.md")).toHaveLength(1);
    const comments = ["// as in no-such-file.ts", "/** src/core/no-such.ts */", "x; // core/fault.md"];
    for (const comment of comments) expect(mentionFaults("src/a.ts", comment)).toHaveLength(1);
    const sound = [
      "// as in limits.ts",
      "/** core/limits.ts and src/core/limits.ts */",
      'import "./no-such.ts";',
      "/* NAME.ts */",
    ];
    for (const line of sound) expect(mentionFaults("src/a.ts", line)).toEqual([]);
    expect(mentionFaults("src/a.ts", "x\n/*\n no-such.ts */")).toEqual(["src/a.ts:3: no-such.ts is not there"]);
    expect(
      placeFaults("docs/internals/a.md", "`core/no-such/` `no-such/x.ts` `core/limits.ts` `features/acme/`"),
    ).toHaveLength(2);
    expect(lostComments("src/a.ts", "/** One. */\n/** Another. */\nx")).toEqual(["src/a.ts:1"]);
    expect(lostComments("src/a.ts", "/** The file. */\n\n/** Another. */\nx")).toEqual([]);
    expect(linkFaults("docs/a.md", "[x](wire.md#no-such-heading) [y](no-such-page.md)")).toHaveLength(2);
    expect(linkFaults("docs/wire.md", "[x](#host) [y](bodies.md#trailers) [z](../README.md)")).toEqual([]);
  });
});
