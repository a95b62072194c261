import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { anchorOf } from "../../src/cli/help/anchor.ts";
import { chartPage } from "./charts.ts";

/** The top of the repository. */
export const ROOT: string = join(import.meta.dir, "../..");

/** One page of the site. */
export interface Page {
  /** Its file, from the top of the repository. */
  readonly source: string;
  /** Its place in the site. */
  readonly place: string;
  readonly title: string;
  readonly html: string;
}

/** Pages with a heading over them, in the order of docs/README.md. */
export interface Group {
  readonly title: string;
  readonly places: readonly string[];
}

/** All pages: those of docs, those that they link to, and the sources that they show. */
export class PageSet {
  readonly pages: Map<string, Page> = new Map();
  readonly groups: readonly Group[];
  /** Links that lead nowhere, as `page: link`. */
  readonly broken: string[] = [];

  constructor() {
    const waiting = readdirSync(join(ROOT, "docs"))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `docs/${name}`);
    for (let source = waiting.pop(); source !== undefined; source = waiting.pop()) {
      if (this.pages.has(source)) continue;
      const page = source.endsWith(".md") ? written(source) : shown(source);
      this.pages.set(source, page);
      for (const link of linksOf(page.html)) {
        const target = sourceOf(source, link);
        // What pages of docs show is shown; of other pages, those alone that are pages themselves.
        const isWanted = target?.endsWith(".md") || (source.startsWith("docs/") && !IMAGE.test(target ?? ""));
        if (target !== null && isWanted && isFile(target)) waiting.push(target);
      }
    }
    this.pages.set(CHARTS.source, { ...CHARTS, html: chartPage(ROOT) });
    this.groups = groupsOf(this.pages.get("docs/README.md")!).map((group) => {
      const at = group.places.indexOf("compare.html");
      return at < 0 ? group : { ...group, places: group.places.toSpliced(at, 0, CHARTS.place) };
    });
    const titles = new Map([...this.pages.values()].map((page) => [page.source.replace(/.*\//, ""), page.title]));
    for (const [source, page] of this.pages) {
      // On the site a page goes by its title, and not by the name of its file.
      const html = this.linked(page).replace(/>([\w.-]+\.md)<\/a>/g, (whole, name: string) => {
        const title = titles.get(name);
        return title === undefined ? whole : `>${title}</a>`;
      });
      this.pages.set(source, { ...page, html });
    }
  }

  /** The page with its links as those of the site; `broken` has those that lead nowhere. */
  private linked(page: Page): string {
    return page.html.replace(LINK, (whole, before: string, link: string) => {
      const target = sourceOf(page.source, link);
      if (target === null) return whole;
      const anchor = link.includes("#") ? link.slice(link.indexOf("#")) : "";
      if (IMAGE.test(target)) return `${before}"${target.slice("docs/".length)}"`;
      const found = this.pages.get(target);
      if (found === undefined && existsSync(join(ROOT, target))) return `data-source="${target}"`;
      if (found === undefined || (anchor !== "" && !found.html.includes(`id="${anchor.slice(1)}"`))) {
        this.broken.push(`${page.source}: ${link}`);
        return whole;
      }
      return `${before}"${found === page ? "" : found.place}${anchor}"`;
    });
  }
}

function isFile(path: string): boolean {
  return existsSync(join(ROOT, path)) && statSync(join(ROOT, path)).isFile();
}

function written(source: string): Page {
  const text = readFileSync(join(ROOT, source), "utf8");
  const html = withAnchors(Bun.markdown.html(text)).replaceAll(/<table>[\s\S]*?<\/table>/g, (table) => {
    return `<div class="wide" tabindex="0" role="region" aria-label="Table">${table}</div>`;
  });
  return { source, place: placeOf(source), title: titleOf(html, source), html };
}

/** Headings with the anchors that the usual readers of Markdown give them, which links in these pages go by. */
function withAnchors(html: string): string {
  const seen = new Map<string, number>();
  return html.replace(/<(h[1-6])>([\s\S]*?)<\/\1>/g, (_, tag: string, heading: string) => {
    const anchor = anchorOf(plain(heading));
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return `<${tag} id="${anchor}${count === 0 ? "" : `-${count}`}">${heading}</${tag}>`;
  });
}

/** A file of source or data as it is. */
function shown(source: string): Page {
  const text = Bun.escapeHTML(readFileSync(join(ROOT, source), "utf8"));
  const title = source.slice(source.lastIndexOf("/") + 1);
  return { source, place: placeOf(source), title, html: `<h1>${title}</h1>\n<pre><code>${text}</code></pre>` };
}

/** docs/cache.md is cache.html, docs/README.md the first page, other files are named by their whole path. */
function placeOf(source: string): string {
  if (source === "docs/README.md") return "index.html";
  const isOfDocs = source.startsWith("docs/");
  const name = (isOfDocs ? source.slice("docs/".length) : source)
    .replaceAll("/", "-")
    .replace(/\.md$/, "")
    .toLowerCase();
  // A file at the top whose name a page of docs has: SECURITY.md.
  const isTaken = !isOfDocs && existsSync(join(ROOT, "docs", `${name}.md`));
  return `${isTaken ? "project-" : ""}${name}.html`;
}

function titleOf(html: string, source: string): string {
  return plain(/<h1[^>]*>([\s\S]*?)<\/h1>/.exec(html)?.[1] ?? source);
}

function linksOf(html: string): string[] {
  return [...html.matchAll(LINK)].map(([, , link]) => link!);
}

/** The file that a link means, from the top of the repository; null if it leads out of it. */
function sourceOf(from: string, link: string): string | null {
  if (/^[a-z]+:/.test(link)) return null;
  const path = decodeURIComponent(link.replace(/#.*/, ""));
  return path === "" ? from : relative(".", normalize(join(dirname(from), path)));
}

function groupsOf({ html }: Page): readonly Group[] {
  return html
    .split(/<h2[^>]*>/)
    .slice(1)
    .map((part) => ({
      title: plain(part.slice(0, part.indexOf("</h2>"))),
      places: linksOf(part)
        .map((link) => sourceOf("docs/README.md", link))
        .filter((source) => source !== null)
        .map(placeOf),
    }));
}

/** The text of a piece of a page; cells, items and paragraphs are words apart. */
export function plain(html: string): string {
  return html
    .replace(/<\/(?:t[dhr]|li|p|pre)>/g, " ")
    .replace(/<[^>]+>/g, "")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&#39;|&#x27;/g, "'")
    .replace(/&amp;/g, "&")
    .replace(/\s+/g, " ")
    .trim();
}

/** The page of charts, which no file holds. */
const CHARTS = { source: "docs/benchmarks", place: "benchmarks.html", title: "Benchmarks and proof" };
const LINK = /((?:href|src)=)"([^"]*)"/g;
const IMAGE = /\.(webp|png|svg)$/;
