import { createHash } from "node:crypto";
import { escapeHtml } from "../../core/printable.ts";
import { reasonOf } from "../../core/status.ts";
import type { PageFacts } from "./page-text.ts";

/**
 * The page of the gateway's own: whole in itself, readable without its style, and without anything that a client has sent but
 * a request id. docs/pages.md#the-built-in-page
 * @param retryAfter the value of Retry-After; "" if the response has none
 */
export function builtInPage({ status, requestId }: PageFacts, retryAfter: string): string {
  const title = reasonOf(status);
  const link = null;
  return pageOf({ status, title, sentence: sentenceOf(status, retryAfter), link }, requestId);
}

/** What a page tells that is not about its status alone. */
interface Notice {
  readonly status: number;
  readonly title: string;
  readonly sentence: string;
  /** Where to go from there, a path of the same origin; null for nowhere. */
  readonly link: { readonly href: string; readonly text: string } | null;
}

/** A page of the same look with a text of its own, and the fields that it needs. */
export function noticePage(
  notice: Notice,
  requestId: string,
): { readonly fields: readonly (readonly [string, string])[]; readonly body: string } {
  return { fields: NOTICE_FIELDS, body: pageOf(notice, requestId) };
}

function pageOf({ status, title, sentence, link }: Notice, requestId: string): string {
  const isError = status >= 400;
  const name = escapeHtml(title);
  const number = isError ? `<p class="status">${status}</p>\n` : "";
  const way =
    link === null ? "" : `\n<p class="way"><a href="${escapeHtml(link.href)}">${escapeHtml(link.text)}</a></p>`;
  const help = `\n<p class="id">If you need help, tell the support of this site the request ID:<br><code>${escapeHtml(requestId)}</code></p>`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${isError ? `${status} ` : ""}${name}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${number}<h1>${name}</h1>
<p>${escapeHtml(sentence)}</p>${way}${isError ? help : ""}
</main>
</body>
</html>
`;
}

function sentenceOf(status: number, retryAfter: string): string {
  const sentence = SENTENCES[status] ?? (status < 500 ? CLIENT_SIDE : SERVER_SIDE);
  if (!WAITS.has(status) || !/^\d{1,9}$/.test(retryAfter)) return sentence;
  return `${sentence} ${againIn(Number(retryAfter))}`;
}

function againIn(seconds: number): string {
  if (seconds < 2) return "Please try again in a second.";
  if (seconds <= 120) return `Please try again in ${seconds} seconds.`;
  return `Please try again in ${Math.ceil(seconds / 60)} minutes.`;
}

const CLIENT_SIDE = "The server could not work with this request. Please check the address and try again.";
const SERVER_SIDE = "The server could not complete this request. Please try again in a moment.";

/** Statuses whose sentence goes on with when to come again. */
const WAITS: ReadonlySet<number> = new Set([429, 503]);

/** One sentence a status that says what the reader can do. */
const SENTENCES: Readonly<Record<number, string>> = {
  400: "The server could not understand this request. Please check the address for typing errors.",
  401: "You need to sign in to see this page.",
  403: "You do not have permission to see this page.",
  404: "There is no page at this address. It may have moved, or the address may be mistyped.",
  405: "This page cannot be used in this way. Please go back and try another way.",
  408: "The request took too long to arrive. Please check your connection and try again.",
  412: "The page has changed since you last saw it. Please reload it and try again.",
  413: "What you sent is larger than this site accepts. Please try a smaller file.",
  414: "The address is too long for this site.",
  416: "This part of the file does not exist. Please start the download again.",
  429: "You have sent too many requests in a short time.",
  431: "Your browser sent too much data with this request. Deleting the cookies of this site may help.",
  500: "Something went wrong on the server. Please try again in a moment.",
  501: "The server does not support this kind of request.",
  502: "The server that runs this site did not respond properly. Please try again in a moment.",
  503: "This site is not available at the moment.",
  504: "The server that runs this site did not respond in time. Please try again in a moment.",
  508: "The request went in circles between servers. Please tell the support of this site.",
};

const STYLE = `
:root{color-scheme:light dark;--back:#f6f7f9;--card:#fff;--text:#1d2430;--soft:#5a6577;--line:#dde2ea}
@media (prefers-color-scheme:dark){:root{--back:#12161d;--card:#1b212b;--text:#e8ecf2;--soft:#a3aebf;--line:#313a48}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:flex;padding:1rem;background:var(--back);color:var(--text);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
main{width:100%;max-width:34rem;margin:auto;padding:clamp(1.25rem,5vw,2.5rem);background:var(--card);
border:1px solid var(--line);border-radius:.75rem}
.status{margin:0;color:var(--soft);font-size:1rem;font-weight:600;letter-spacing:.06em}
h1{margin:.15rem 0 1rem;font-size:clamp(1.5rem,6vw,2.1rem);line-height:1.2;overflow-wrap:anywhere}
p{margin:0}
.way{margin-top:1.25rem}
a{color:inherit;font-weight:600}
.id{margin-top:1.75rem;padding-top:1.25rem;border-top:1px solid var(--line);color:var(--soft);font-size:.875rem}
code{display:inline-block;margin-top:.35rem;color:var(--text);font:.875rem/1.5 ui-monospace,Menlo,Consolas,monospace;
overflow-wrap:anywhere;user-select:all}
`;

/** Allows the page its own style and nothing else. docs/pages.md#the-built-in-page */
export const BUILT_IN_POLICY: string = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const NOTICE_FIELDS = [
  ["Content-Type", "text/html; charset=utf-8"],
  ["Cache-Control", "no-store"],
  ["Vary", "Accept"],
  ["Content-Security-Policy", BUILT_IN_POLICY],
  ["Referrer-Policy", "no-referrer"],
] as const;
