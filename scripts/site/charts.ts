// The page of benchmarks: charts of the tables in docs/compare.md and docs/proof.md, so that a chart says what its table says.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { anchorOf } from "../../src/cli/help/anchor.ts";

/** A chart of some rows of a table. */
interface ChartPlan {
  readonly page: "compare" | "proof";
  /** The heading over the table. */
  readonly heading: string;
  readonly rows: RegExp;
  readonly title: string;
  readonly isLessBetter: boolean;
}

const PLANS: readonly ChartPlan[] = [
  {
    page: "proof",
    heading: "Proof by the tests of others",
    rows: /^(framing attacks|HTTP cache tests: required|GoTestWAF|requests on which|broken origins)/,
    title: "Test suites of others",
    isLessBetter: false,
  },
  {
    page: "compare",
    heading: "What is lost while origins fail",
    rows: /./,
    title: "Requests lost while origins fail",
    isLessBetter: true,
  },
  {
    page: "compare",
    heading: "What it costs",
    rows: /^[^,]*(response|POST|file|cache|handshake|HTTP\/2)/,
    title: "CPU µs per request",
    isLessBetter: true,
  },
  { page: "compare", heading: "Streams", rows: /./, title: "CPU time of TCP streams", isLessBetter: true },
  { page: "compare", heading: "PHP", rows: /./, title: "CPU time in front of PHP", isLessBetter: true },
  {
    page: "compare",
    heading: "The cache",
    rows: /^(required|`CDN)/,
    title: "Public suite of HTTP cache tests",
    isLessBetter: false,
  },
];

interface Bar {
  readonly name: string;
  readonly label: string;
  readonly value: number;
}

/** What a cell is worth: `0 of 4,313` is a share, `15.3 %`, `19.8` and `83 µs` are numbers; null if it is none. */
export function worthOf(cell: string): number | null {
  const [, whole, of] = /^([\d.,]+)(?: of ([\d.,]+)| ?%| ?µs| ?ms)?$/.exec(cell.trim()) ?? [];
  if (whole === undefined) return null;
  const number = Number(whole.replaceAll(",", ""));
  return of === undefined ? number : number / Number(of.replaceAll(",", ""));
}

/** `nginx 24, HAProxy 18` as bars; names without a number of their own belong to the next one. */
export function namedBars(cell: string): Bar[] {
  const bars: Bar[] = [];
  let before = "";
  for (const part of cell.split(", ")) {
    const [, name, label] = /^(\D+) (\d.*)$/.exec(part) ?? [];
    const value = label === undefined ? null : worthOf(label);
    if (value === null) {
      before += `${part}, `;
      continue;
    }
    bars.push({ name: before + name!, label: label!, value });
    before = "";
  }
  return bars;
}

function cellsOf(line: string): string[] {
  return line
    .slice(1, -1)
    .split("|")
    .map((cell) =>
      cell
        .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .replaceAll("`", "")
        .trim(),
    );
}

/** The tables below a heading, each a list of rows of cells. */
function tablesOf(text: string, heading: string): string[][][] {
  const start = text.search(new RegExp(`^#+ ${heading.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`, "m"));
  if (start < 0) throw new Error(`no heading ${heading}`);
  const section = text.slice(start).split(/\n##? /)[0]!;
  return section
    .split(/\n(?!\|)/)
    .map((block) => block.split("\n").filter((line) => line.startsWith("|")))
    .filter((lines) => lines.length > 2)
    .map((lines) => lines.filter((_, i) => i !== 1).map(cellsOf));
}

function barsOf(header: readonly string[], row: readonly string[]): Bar[] {
  const [, own, others] = row;
  if (header[2]?.startsWith("others")) {
    // Of two levels the first counts, at edge and at its peers.
    const label = own!.split(",")[0]!;
    const value = worthOf(label);
    return value === null ? [] : [{ name: "edge", label, value }, ...namedBars(others!)];
  }
  return header.flatMap((name, i) => {
    const value = i === 0 ? null : worthOf(row[i] ?? "");
    return value === null ? [] : [{ name, label: row[i]!, value }];
  });
}

function figure(label: string, bars: readonly Bar[]): string {
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  const rows = bars.map(({ name, label: text, value }) => {
    const width = Math.max((100 * value) / most, 0.5).toFixed(1);
    const kind = name.startsWith("edge") ? "own" : "peer";
    return (
      `<span>${Bun.escapeHTML(name)}</span>` +
      `<svg width="100%" height="14" aria-hidden="true"><rect class="${kind}" width="${width}%" height="14" rx="2"/></svg>` +
      `<span>${Bun.escapeHTML(text)}</span>\n`
    );
  });
  return `<figure class="chart"><figcaption>${Bun.escapeHTML(label)}</figcaption>\n<div class="bars">\n${rows.join("")}</div></figure>\n`;
}

/** The page of charts. @param root the top of the repository */
export function chartPage(root: string): string {
  const parts = PLANS.map(({ page, heading, rows, title, isLessBetter }) => {
    const text = readFileSync(join(root, "docs", `${page}.md`), "utf8");
    const [header, ...lines] = tablesOf(text, heading)[0]!;
    const figures = lines
      .filter(([label = ""]) => rows.test(label))
      .map((row) => ({ label: row[0]!.replace("level 1 and 2", "level 1"), bars: barsOf(header!, row) }))
      .filter(({ bars }) => bars.length > 1)
      .map(({ label, bars }) => figure(label, bars));
    if (figures.length === 0) throw new Error(`no chart of ${page}.md, ${heading}`);
    const source = `<a href="${page}.md#${anchorOf(heading)}">The table, with its command</a>`;
    return `<h2 id="${anchorOf(title)}">${title}</h2>\n<p>${isLessBetter ? "Less is better." : "More is better."} ${source}.</p>\n${figures.join("")}`;
  });
  return `<h1 id="benchmarks-and-proof">Benchmarks and proof</h1>
<p>See at a glance how edge compares with nginx, HAProxy, Caddy and others. Each chart shows a table of <a href="compare.md">Comparison</a> or
<a href="proof.md">Proof</a>, and each table names the command that measures it on your machine.</p>
${parts.join("")}`;
}
