// scripts/docs. docs/internals/tools.md#documentation
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { LIST_PAGES } from "../../src/cli/help/search/help-entries.ts";
import type { SearchEntry } from "../../src/cli/help/search/search-index.ts";
import { sentenceOf } from "../../src/cli/help/search/sections.ts";
import { SUBJECTS } from "../../src/cli/help/search/subjects.ts";
import { VERSION } from "../../src/core/version.ts";
import { type Page, PageSet, plain, ROOT } from "./page-set.ts";
import { joinVersions } from "./versions.ts";

async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { out: { type: "string", default: "dist/site" }, versions: { type: "boolean", default: false } },
  });
  const set = new PageSet();
  for (const one of set.broken) process.stderr.write(`docs: a link leads nowhere: ${one}\n`);
  if (set.broken.length > 0) return 1;
  const top = resolve(values.out);
  const out = values.versions ? join(top, VERSION) : top;
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const pages = [...set.pages.values()];
  for (const page of pages) writeFileSync(join(out, page.place), pageOf(page, set, values.versions));
  const order = set.groups.flatMap(({ places }) => places);
  const entries = pages
    .filter(({ source }) => source.endsWith(".md"))
    .sort((a, b) => orderOf(order, a) - orderOf(order, b) || (a.source < b.source ? -1 : 1))
    .flatMap(entriesOf);
  const index = JSON.stringify({ entries, subjects: SUBJECTS });
  writeFileSync(join(out, "search-index.js"), `globalThis.SEARCH_INDEX = ${index};\n`);
  cpSync(join(import.meta.dir, "site.css"), join(out, "site.css"));
  // One script that may be loaded from a folder of files as well, where modules may not.
  const bundle = await Bun.build({
    entrypoints: [join(import.meta.dir, "site.js")],
    target: "browser",
    format: "iife",
  });
  writeFileSync(join(out, "site.js"), await bundle.outputs[0]!.text());
  for (const entry of readdirSync(join(ROOT, "docs"), { withFileTypes: true })) {
    if (entry.isFile() && !entry.name.endsWith(".md")) cpSync(join(ROOT, "docs", entry.name), join(out, entry.name));
  }
  if (values.versions) joinVersions(top);
  process.stdout.write(`${pages.length} pages in ${out}\n`);
  return 0;
}

function pageOf(page: Page, { groups, pages }: PageSet, isVersioned: boolean): string {
  const titles = new Map([...pages.values()].map(({ place, title }) => [place, title]));
  const order = groups.flatMap(({ places }) => places);
  const at = order.indexOf(page.place);
  const next = at < 0 ? [] : [order[at - 1], order[at + 1]];
  const link = (place: string, rel = "") => {
    const current = place === page.place ? ' aria-current="page"' : "";
    return `<a href="${place}"${rel}${current}>${Bun.escapeHTML(titles.get(place) ?? place)}</a>`;
  };
  const menu = groups.map(
    ({ title, places }) =>
      `<h2>${Bun.escapeHTML(title)}</h2>\n<ul>\n${places.map((place) => `<li>${link(place)}</li>\n`).join("")}</ul>\n`,
  );
  const headings = [...page.html.matchAll(/<h2 id="([^"]*)">([\s\S]*?)<\/h2>/g)];
  const contents = headings.map(
    ([, id, text]) => `<li><a href="#${id}">${text!.replace(/<\/?a[^>]*>/g, "")}</a></li>\n`,
  );
  const ways = next.map((place, i) =>
    place === undefined ? "<span></span>" : link(place, i === 0 ? ' rel="prev"' : ' rel="next"'),
  );
  return `<!doctype html>
<html lang="en"${isVersioned ? ` data-version="${VERSION}"` : ""}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${Bun.escapeHTML(page.title)} · edge</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="site.css">
<script src="site.js" defer></script>
</head>
<body>
<a class="skip" href="#page">To the page</a>
<header>
<a class="mark" href="index.html">edge <small>${VERSION}</small></a>
<select id="versions" aria-label="Version" hidden></select>
<form role="search"><input id="search" type="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off" hidden></form>
<ol id="found" aria-label="Found" hidden></ol>
</header>
<div class="columns">
<nav aria-label="Pages"><details id="menu"><summary>All pages</summary>
${menu.join("")}</details></nav>
<main id="page">
${breakable(page.html)}
<p class="ways">${ways.join("\n")}</p>
</main>
<aside aria-label="On this page">${contents.length < 2 ? "" : `<h2>On this page</h2>\n<ul>\n${contents.join("")}</ul>`}</aside>
</div>
</body>
</html>
`;
}

/** Lets a narrow window break the name in a heading after an underscore or a dot, and not within a word. */
function breakable(html: string): string {
  return html.replace(
    /(<h[2-6] id="[^"]*">)([^<]*)/g,
    (_, tag: string, heading: string) => tag + heading.replaceAll("_", "_<wbr>").replaceAll(".", ".<wbr>"),
  );
}

/** What is found, with the place that it leads to. */
interface SiteEntry extends SearchEntry {
  readonly place: string;
}

/** A page and its sections, as `edge help WORDS` knows them; files that are no pages of docs count less. */
function entriesOf({ source, place, title, html }: Page): readonly SiteEntry[] {
  const [, page = ""] = /^docs\/([\w-]+)\.md$/.exec(source) ?? [];
  const kind = page === "" || page === "README" ? "aside" : "page";
  return html.split(/(?=<h[1-6] id=)/).flatMap((part): SiteEntry[] => {
    const [, level, id, heading] = /^<h([1-6]) id="([^"]*)">([\s\S]*?)<\/h[1-6]>/.exec(part) ?? [];
    if (id === undefined) return [];
    const isTop = level === "1";
    const text = plain(part.slice(part.indexOf("</h"))).slice(0, MAX_TEXT);
    const [, paragraph = ""] = /<p>([\s\S]*?)<\/p>/.exec(part) ?? [];
    return [
      {
        name: isTop ? page || source : `${page || source}#${id}`,
        kind: !isTop && LIST_PAGES.has(page) ? "name" : kind,
        title,
        heading: plain(heading!),
        first: sentenceOf(plain(paragraph)),
        text,
        place: isTop ? place : `${place}#${id}`,
      },
    ];
  });
}

/** Pages in the order of the menu, others after them. */
function orderOf(order: readonly string[], { place }: Page): number {
  const at = order.indexOf(place);
  return at < 0 ? order.length : at;
}

/** Characters of a section that are examined. */
const MAX_TEXT = 4000;

process.exitCode = await main(process.argv.slice(2));
