import { createHash } from "node:crypto";
import { escapeHtml } from "../../core/printable.ts";
import { errorBody } from "../../core/status.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";

/** Facts for a visitor who waits. */
interface WaitingFacts {
  readonly cause: "waiting" | "full" | "address";
  /** Its turn in the queue, from 1 on; 0 without one. */
  readonly turn: number;
  /** Until its turn may come. */
  readonly waitSeconds: number;
  /** After which it asks again. */
  readonly refreshSeconds: number;
  /** Of printable ASCII, as the log has it. */
  readonly requestId: string;
  /** The value of Set-Cookie; "" for none. */
  readonly cookie: string;
  /** Whether the request was to send something, which the browser has to send again. */
  readonly sends: boolean;
}

const STATUS = 503;

/** The response that asks a visitor to wait: a page that loads itself again, or JSON for a program. docs/waiting-room.md#what-visitors-get */
export function waitingResponse(facts: WaitingFacts, isPage: boolean): PrebuiltResponse {
  const fields: (readonly [string, string])[] = [
    ["Content-Type", isPage ? "text/html; charset=utf-8" : "application/json"],
    ["Cache-Control", "no-store"],
    ["Vary", "Accept, Cookie"],
    ["Retry-After", String(facts.refreshSeconds)],
    ["X-Robots-Tag", "noindex"],
    ["X-Request-Id", facts.requestId],
  ];
  if (facts.cookie !== "") fields.push(["Set-Cookie", facts.cookie]);
  if (!isPage) return new PrebuiltResponse(STATUS, fields, json(facts));
  // A request that sends is not repeated by a page that loads itself again as GET.
  if (!facts.sends) fields.push(["Refresh", String(facts.refreshSeconds)]);
  fields.push(["Content-Security-Policy", POLICY], ["X-Content-Type-Options", "nosniff"]);
  return new PrebuiltResponse(STATUS, fields, page(facts));
}

function json({ cause, turn, waitSeconds, refreshSeconds }: WaitingFacts): string {
  const place = turn > 0 ? { place: turn, estimated_wait_seconds: waitSeconds } : {};
  return JSON.stringify({ ...errorBody(STATUS, MESSAGES[cause]), ...place, retry_after: refreshSeconds });
}

const MESSAGES = {
  waiting: "this site is full, and you are in its queue",
  full: "this site and its queue are full, try again later",
  address: "too many visitors from your network",
};

function page({ cause, turn, waitSeconds, refreshSeconds, requestId, sends }: WaitingFacts): string {
  const place = `<p class="place">Your place in the queue: <strong>${turn}</strong></p>\n<p>Estimated wait: <strong>${waitText(waitSeconds)}</strong></p>`;
  const how = sends
    ? "Nothing you entered was sent. Please reload this page in a moment to send it again."
    : `This page asks again by itself every ${refreshSeconds} seconds. Keep it open so that you keep your place.`;
  const says = {
    waiting: `<p>Many people are here right now. You are in the queue, and everyone comes in turn.</p>\n${place}`,
    full: "<p>Many people are here right now, and the queue is full as well.</p>",
    address: "<p>Too many visitors come from your network right now. You can come in when one of them leaves.</p>",
  }[cause];
  return `${PAGE_START}${says}\n<p>${how}</p>\n<p class="id">If you need help, tell the support of this site the request ID:<br><code>${escapeHtml(requestId)}</code></p>\n</main>\n</body>\n</html>\n`;
}

function waitText(seconds: number): string {
  if (seconds < 60) return "less than a minute";
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `about ${minutes} ${minutes === 1 ? "minute" : "minutes"}`;
  return `about ${Math.round(minutes / 60)} hours`;
}

const STYLE = `
:root{color-scheme:light dark;--back:#f6f7f9;--card:#fff;--text:#1d2430;--soft:#5a6577;--line:#dde2ea}
@media (prefers-color-scheme:dark){:root{--back:#12161d;--card:#1b212b;--text:#e8ecf2;--soft:#a3aebf;--line:#313a48}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:flex;padding:1rem;background:var(--back);color:var(--text);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
main{width:100%;max-width:34rem;margin:auto;padding:clamp(1.25rem,5vw,2.5rem);background:var(--card);
border:1px solid var(--line);border-radius:.75rem}
h1{margin:0 0 1rem;font-size:clamp(1.5rem,6vw,2.1rem);line-height:1.2}
.place{font-size:1.25rem}
.id{margin-top:1.75rem;padding-top:1.25rem;border-top:1px solid var(--line);color:var(--soft);font-size:.875rem}
code{overflow-wrap:anywhere;user-select:all}
`;

const PAGE_START = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>Waiting room</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>You are in line</h1>
`;

/** Allows the page its own style, and nothing else. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
