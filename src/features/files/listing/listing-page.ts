import { createHash } from "node:crypto";
import { bytes, counted } from "../../../core/number-text.ts";
import { escapeHtml, printable } from "../../../core/printable.ts";
import { encodedPath } from "../percent-escape.ts";
import type { FolderListing, ListedEntry } from "./folder-listing.ts";
import { type ListingOrder, utf8 } from "./listing-order.ts";

/**
 * The list as a page: whole in itself, without a script, and with every name escaped. docs/files.md#listings
 * @param path of the folder with a slash at both ends, one character a byte
 * @param isTop whether it is the mount's own folder
 */
export function listingPage(path: string, listing: FolderListing, order: ListingOrder, isTop: boolean): string {
  const { entries, omitted } = listing;
  const title = shownName(path);
  const up = isTop ? "" : '<tr><td class="name"><a href="../">../</a></td><td></td><td></td></tr>\n';
  const rows = entries.map(rowOf).join("");
  const more =
    omitted === 0
      ? ""
      : `<p class="note">This folder has ${counted(omitted, "more name")}, which this list leaves out.</p>\n`;
  const folders = entries.filter(({ isFolder }) => isFolder).length;
  const count = `${counted(folders, "folder")}, ${counted(entries.length - folders, "file")}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p class="count">${count}</p>
<table>
<thead><tr>${COLUMNS.map((column) => headOf(column, order)).join("")}</tr></thead>
<tbody>
${up}${rows}</tbody>
</table>
${more}</main>
</body>
</html>
`;
}

const COLUMNS = [
  { by: "name", text: "Name" },
  { by: "size", text: "Size" },
  { by: "time", text: "Modified" },
] as const;

function headOf({ by, text }: (typeof COLUMNS)[number], order: ListingOrder): string {
  const isCurrent = order.by === by;
  const turns = isCurrent && !order.isDescending;
  const direction = isCurrent ? ` aria-sort="${order.isDescending ? "descending" : "ascending"}"` : "";
  const arrow = isCurrent ? (order.isDescending ? " ↓" : " ↑") : "";
  return `<th scope="col" class="${by}"${direction}><a href="?sort=${by}&amp;order=${turns ? "desc" : "asc"}">${text}${arrow}</a></th>`;
}

function rowOf({ name, isFolder, size, modifiedMs }: ListedEntry): string {
  const slash = isFolder ? "/" : "";
  // With the dot before it, a name such as `javascript:` is a path and no scheme.
  const href = escapeHtml(`./${encodedPath(name)}${slash}`);
  const time = new Date(modifiedMs).toISOString();
  return (
    `<tr><td class="name"><a href="${href}">${shownName(name)}${slash}</a></td>` +
    `<td class="size">${isFolder ? "" : bytes(size)}</td>` +
    `<td class="time"><time datetime="${time}"><span>${time.slice(0, 10)}</span> <span>${time.slice(11, 16)}</span></time></td></tr>\n`
  );
}

/** A name in which no character turns the direction of the text, or is none that one can see. */
function shownName(name: string): string {
  return escapeHtml(printable(utf8(name)));
}

const STYLE = `
:root{color-scheme:light dark;--back:#f6f7f9;--card:#fff;--text:#1d2430;--soft:#5a6577;--line:#dde2ea;--link:#1a56b0}
@media (prefers-color-scheme:dark){:root{--back:#12161d;--card:#1b212b;--text:#e8ecf2;--soft:#a3aebf;--line:#313a48;--link:#8ab8ff}}
*{box-sizing:border-box}
body{margin:0;padding:1rem;background:var(--back);color:var(--text);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
main{max-width:60rem;margin:0 auto;padding:clamp(1rem,4vw,2rem);background:var(--card);border:1px solid var(--line);border-radius:.75rem}
h1{margin:0;font-size:clamp(1.2rem,5vw,1.6rem);line-height:1.25;overflow-wrap:anywhere}
.count,.note{margin:.25rem 0 1rem;color:var(--soft);font-size:.875rem}
.note{margin:1rem 0 0}
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.4rem .5rem;text-align:left;vertical-align:top;border-top:1px solid var(--line)}
th{border-top:0;font-size:.875rem;white-space:nowrap}
th a{color:var(--soft)}
.size,th.size{text-align:right;white-space:nowrap}
.time{white-space:nowrap;color:var(--soft)}
.name{width:100%;overflow-wrap:anywhere}
a{color:var(--link);text-decoration:none}
a:hover{text-decoration:underline}
a:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.time span{white-space:nowrap}
@media (max-width:34rem){td.time{font-size:.75rem;white-space:normal}td.size{font-size:.875rem}}
`;

/** Allows the page its own style and nothing else. */
export const LISTING_POLICY: string = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
