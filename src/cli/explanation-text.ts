import { formatDuration } from "../config/duration.ts";
import { formatSize } from "../config/size.ts";
import { visible } from "../core/printable.ts";
import type {
  AuthSummary,
  CacheSummary,
  Explanation,
  KeyedSummary,
  LimitSummary,
  MirrorSummary,
  RouteSummary,
} from "../explain/explanation.ts";

/** How parts of the text stand out. */
interface ExplanationPaint {
  /** The words of the first column. */
  label(text: string): string;
  /** What is beside the point. */
  faint(text: string): string;
  good(text: string): string;
  bad(text: string): string;
}

function same(text: string): string {
  return text;
}

/** In a pipe. */
export const NO_PAINT: ExplanationPaint = { label: same, faint: same, good: same, bad: same };

/** On a terminal, with colours that are readable on light and dark grounds. */
export const TERMINAL: ExplanationPaint = {
  label: (text) => `\u001b[1m${text}\u001b[22m`,
  faint: (text) => `\u001b[2m${text}\u001b[22m`,
  good: (text) => `\u001b[32m${text}\u001b[39m`,
  bad: (text) => `\u001b[31m${text}\u001b[39m`,
};

/** What `edge explain` prints: a label and what belongs to it on each line, in the order in which a request meets it. */
export function explanationText(explanation: Explanation, paint: ExplanationPaint): string {
  const { request } = explanation;
  const scheme = request.tls ? "https" : "http";
  const over = request.http === 1 ? "" : `over HTTP/${request.http} `;
  const first = `${request.method} ${scheme}://${request.host}${request.target}`;
  const page = new Page(paint);
  page.line(`${paint.label(visible(first))}  ${paint.faint(`${over}from ${request.client_ip}`)}`);
  page.line("");
  if (request.canonical_path !== request.target.split("?")[0]) page.add("path", visible(request.canonical_path));
  addRoutes(page, explanation, paint);
  addPhases(page, explanation, paint);
  addUpstream(page, explanation, paint);
  addResponse(page, explanation, paint);
  addRest(page, explanation, paint);
  return page.text();
}

function addRoutes(page: Page, { route, lost }: Explanation, paint: ExplanationPaint): void {
  const rows: [string, string, string][] = [];
  if (route !== null)
    rows.push(["route", route.route, `${place(route)}${route.reached ? "" : ", which it does not reach"}`]);
  for (const one of lost.slice(0, MAX_LOST))
    rows.push(["  not", one.route, `${one.why}${one.at === "" ? "" : `, ${one.at}`}`]);
  const width = Math.max(0, ...rows.map(([, name]) => name.length));
  if (route === null) page.add("route", paint.bad("none"));
  rows.forEach(([label, name, what]) => {
    page.add(label, `${visible(name).padEnd(width)}  ${paint.faint(what)}`);
  });
  if (lost.length > MAX_LOST) page.add("", paint.faint(`and ${lost.length - MAX_LOST} more`));
}

function place({ type, at }: RouteSummary): string {
  return at === "" ? type : `${type}, ${at}`;
}

/** Those that have nothing to tell share their lines. */
function addPhases(page: Page, { phases }: Explanation, paint: ExplanationPaint): void {
  const told = phases.filter((phase) => !isSilent(phase));
  const width = Math.max(0, ...told.map(({ name }) => name.length));
  let silent: string[] = [];
  const flush = () => {
    if (silent.length > 0)
      page.add(
        "phases",
        wrapped(silent).map((line) => paint.faint(line)),
      );
    silent = [];
  };
  for (const { name, verdict, note } of phases) {
    if (isSilent({ name, note })) silent.push(name);
    else {
      flush();
      const isEnd = verdict === "ended";
      const mark = isEnd ? paint.bad(name.padEnd(width)) : name.padEnd(width);
      page.add("phases", `${mark}  ${isEnd ? "ends here: " : ""}${visible(note)}`);
    }
  }
  flush();
}

function isSilent({ name, note }: Pick<Explanation["phases"][number], "name" | "note">): boolean {
  return note === "" || name === "dispatch";
}

function addUpstream(page: Page, { upstream, file }: Explanation, paint: ExplanationPaint): void {
  if (file !== null) page.add("file", visible(file));
  if (upstream === null) return;
  const { targets, policy, origin } = upstream;
  const width = Math.max(...targets.map(({ url }) => url.length));
  for (const { url, weight, backup } of targets) {
    const facts = [
      ...(targets.length > 1 && !backup ? [`weight ${weight}`] : []),
      ...(backup ? ["only while all others are down"] : []),
      ...(targets.length > 1 && url.startsWith(origin) ? [`this one by ${policy}`] : []),
    ];
    page.add("target", `${url.padEnd(width)}  ${paint.faint(facts.join(", "))}`.trimEnd());
  }
  const mirrors = upstream.mirrors ?? (upstream.mirror === null ? [] : [upstream.mirror]);
  for (const one of mirrors) page.add("mirror", mirrorText(one, paint));
  page.add("sends", `${upstream.method} ${visible(upstream.path)}`);
  for (const [name, value] of upstream.headers_removed) page.add("sends", paint.bad(`- ${name}: ${visible(value)}`));
  for (const [name, value] of upstream.headers_added) page.add("sends", paint.good(`+ ${name}: ${visible(value)}`));
}

function mirrorText({ target, share, compare, why_not }: MirrorSummary, paint: ExplanationPaint): string {
  const part = share < 1 ? `gets a copy of ${Math.round(share * 10_000) / 100} % of the requests` : "gets a copy";
  const facts = why_not === "" ? `${part}${compare ? ", responses are compared" : ""}` : `gets no copy: ${why_not}`;
  return `${target}  ${paint.faint(facts)}`;
}

function addResponse(page: Page, { response }: Explanation, paint: ExplanationPaint): void {
  const { by, status, status_text: text, headers, headers_removed: removed, reason, body, asked } = response;
  const reasonText = reason === "" ? "" : `  ${paint.faint(`(${reason})`)}`;
  if (by === "gateway" && status === null) page.add("response", "not known here");
  else if (by === "gateway") {
    const line = status === 0 ? "the connection is closed" : `${status} ${text}`;
    page.add("response", `${status! < 400 ? paint.good(line) : paint.bad(line)}${reasonText}`);
  } else if (by === "file") page.add("response", "the file's, or 404 without it");
  else if (by === "origin")
    page.add("response", removed.length + headers.length > 0 ? "the origin's, changed so:" : "the origin's");
  else page.add("response", `from ${asked}`);
  for (const name of removed) page.add("response", paint.bad(`- ${name}`));
  for (const [name, value] of headers) {
    const line = `${name}: ${visible(value)}`;
    page.add("response", by === "gateway" ? line : paint.good(`+ ${line}`));
  }
  if (body !== "") page.add("response", visible(body).slice(0, MAX_BODY_CHARS));
}

function addRest(page: Page, { auth, cache, limits }: Explanation, paint: ExplanationPaint): void {
  if (auth !== null) page.add("auth", authText(auth));
  if (cache !== null) {
    page.add("cache", visible(cache.key));
    if (cache.keyed !== null) for (const line of keyedLines(cache.keyed)) page.add("cache", visible(line));
    page.add("cache", paint.faint(storedText(cache)));
    if (cache.disk !== null) page.add("cache", paint.faint(`in memory and in ${cache.disk.path}`));
  }
  if (limits !== null) page.add("limits", limitText(limits));
}

function storedText({ stored, needs, default_ttl_ms: ttl, result }: CacheSummary): string {
  if (stored === null) return result;
  if (stored) return `a 200 that says nothing of itself is stored for ${formatDuration(ttl)}`;
  const cure = needs.length === 0 ? ` (${result})` : `, only one that says ${needs.join(" or ")}`;
  return `a 200 that says nothing of itself is not stored${cure}`;
}

/** What the rules for the key make of the request. */
function keyedLines({ place, query, dropped, headers, cookies }: KeyedSummary): string[] {
  const lines: string[] = [...place];
  if (query !== "" || dropped.length > 0) {
    const gone = dropped.length === 0 ? "" : `; dropped: ${dropped.join(", ")}`;
    lines.push(`query that counts: ${query === "" ? "none" : query}${gone}`);
  }
  for (const [name, value] of headers) lines.push(`${name}: ${value ?? "(not there)"}`);
  for (const [name, value] of cookies) lines.push(`cookie ${name}: ${value ?? "(not there)"}`);
  return lines;
}

function authText({ methods, of, sets, keep_authorization: keeps }: AuthSummary): string {
  const facts = [`${methods.length > 1 ? "any of " : ""}${methods.join(", ")} (the ${of}'s)`];
  if (sets.length > 0) facts.push(`sets ${sets.join(", ")}`);
  if (keeps) facts.push("Authorization goes on");
  return facts.join("; ");
}

function limitText({ max_body_bytes: bytes, max_body_key: key, rate_limit: rate }: LimitSummary): string {
  const body = bytes === 0 ? "body unlimited" : `body ${formatSize(bytes)} (${key})`;
  if (rate === null) return body;
  const more = rate.more === 0 ? "" : `, and ${rate.more} more`;
  return `${body}; rate ${rate.requests} in ${formatDuration(rate.window_ms)}, ${rate.burst} at once, by ${rate.key}${more}`;
}

/** Lines of text after a column of labels, each label where it changes. */
class Page {
  private readonly paint: ExplanationPaint;
  private readonly lines: string[] = [];
  private last = "";

  constructor(paint: ExplanationPaint) {
    this.paint = paint;
  }

  line(text: string): void {
    this.lines.push(text);
  }

  add(label: string, text: string | readonly string[]): void {
    for (const one of typeof text === "string" ? [text] : text) {
      const isNew = label !== this.last;
      this.last = label;
      const column = (isNew ? label : "").padEnd(LABEL_WIDTH);
      this.lines.push(`${isNew && !label.startsWith(" ") ? this.paint.label(column) : column}${one}`.trimEnd());
    }
  }

  text(): string {
    return `${this.lines.join("\n")}\n`;
  }
}

function wrapped(words: readonly string[]): string[] {
  const lines: string[] = [];
  words.forEach((word, i) => {
    const last = lines.at(-1);
    const text = i + 1 < words.length ? `${word},` : word;
    if (last !== undefined && last.length + text.length < LINE_WIDTH) lines[lines.length - 1] = `${last} ${text}`;
    else lines.push(text);
  });
  return lines;
}

const LABEL_WIDTH = 11;
const LINE_WIDTH = 68;
const MAX_LOST = 6;
const MAX_BODY_CHARS = 400;
