import { isInternalPath } from "../../core/internal-path.ts";
import { bytes, durationText, numberText, span } from "../../core/number-text.ts";
import type { LiveLabel, LiveModule, LiveState, LiveVerdict } from "../../features/dashboard/live-state.ts";
import { Trouble } from "../../features/dashboard/verdict.ts";
import { CLIENT_SECONDS, type LabelRate, type LiveRates, type SeenClient } from "./rates.ts";
import {
  STATE_WIDTH,
  shareOf,
  statePaint,
  threadless,
  type UpstreamRow,
  upstreamRows,
  verdictPaint,
} from "./status-view.ts";
import { type Column, fitted, Line, type Paint, type Paints, textTable } from "./text.ts";

/** What `edge top` lists. */
export const VIEWS = ["routes", "upstreams", "clients", "internal", "functions"] as const;
type View = (typeof VIEWS)[number];

/** The lists of a gateway: functions if there are any. */
export function viewsOf(state: LiveState | null): readonly View[] {
  return state !== null && state.modules.length > 0 ? VIEWS : VIEWS.slice(0, -1);
}

/** What it is sorted by: a key of the keyboard, and its name. */
export const SORTS = { r: "requests", e: "errors", l: "latency", b: "bytes", n: "name" } as const;
export type Sort = keyof typeof SORTS;

/** What the keys have chosen. */
export interface TopChoice {
  readonly view: View;
  readonly sort: Sort;
  /** Rows that are above the screen. */
  readonly from: number;
  readonly isPaused: boolean;
  /** Whether the keys are explained in place of the list. */
  readonly hasHelp?: boolean;
}

/** Size of the screen, and how it is painted. */
interface TopFrame {
  readonly width: number;
  readonly height: number;
  readonly paints: Paints;
}

/** Lines above the list. */
const HEAD_LINES = 6;
const FOOT_LINES = 1;

/** The lines of the screen, as many as it has. */
export function topLines(
  state: LiveState,
  rates: LiveRates,
  label: string,
  choice: TopChoice,
  frame: TopFrame,
): string[] {
  const { width, height, paints } = frame;
  const room = Math.max(1, height - HEAD_LINES - FOOT_LINES);
  const rows = listOf(state, rates, choice, width, paints);
  const [head = "", ...list] =
    choice.hasHelp === true ? helpLines(viewsOf(state)).map((line) => fitted(line, width)) : rows;
  const shown = list.slice(choice.from, choice.from + room - 1);
  const lines = [...headLines(state, rates, label, frame), "", head, ...shown];
  while (lines.length < height - FOOT_LINES) lines.push("");
  const foot = footLine(choice, viewsOf(state).length, list.length, room - 1, frame);
  return [...lines.slice(0, Math.max(0, height - FOOT_LINES)), foot];
}

/** The same once, for a pipe: all rows of all lists. */
export function topText(state: LiveState, rates: LiveRates, label: string, frame: TopFrame): string {
  const { width, paints } = frame;
  const lists = viewsOf(state).flatMap((view) => [
    "",
    ...listOf(state, rates, { view, sort: "r", from: 0, isPaused: false }, width, paints),
  ]);
  return `${[...headLines(state, rates, label, frame), ...lists].join("\n")}\n`;
}

/** How many rows a list has. */
export function rowCount(state: LiveState, rates: LiveRates, view: View): number {
  if (view === "routes" || view === "internal") return routesOf(state, view).length;
  if (view === "functions") return state.modules.length;
  return view === "upstreams" ? upstreamRows(state).length : rates.clients().length;
}

/** The keys, each in a line. */
function helpLines(views: readonly View[]): string[] {
  return [
    "KEYS",
    ...views.map((view, i) => `${i + 1}        ${VIEW_WORDS[view]}`),
    "Tab      the next list",
    ...Object.entries(SORTS).map(([key, name]) => `${key}        sort by ${name}`),
    "↑ ↓ j k  one row; PgUp PgDn Home End further",
    "p Space  pause",
    "?        these keys",
    "q        quit",
  ];
}

const VIEW_WORDS: Readonly<Record<View, string>> = {
  routes: "routes, without the endpoints of edge itself",
  upstreams: "targets: attempts, of which a request may need several",
  clients: "clients of the last seconds, and why they were refused",
  internal: "endpoints of edge for operators: /internal/ and /metrics",
  functions: "modules of functions and hooks",
};

function headLines(state: LiveState, rates: LiveRates, label: string, { width, paints }: TopFrame): string[] {
  const { gateway, totals, latency, workers, at, cache, verdict } = state;
  const first = new Line(width)
    .add(`edge ${gateway.version}`, paints.strong)
    .part(`● ${verdict.word}`, verdictPaint(verdict, paints))
    .part(`up ${span(at - gateway.startedAt)}`)
    .end(label, paints.faint);
  const second = reasonsLine(verdict.findings, width, paints);
  const perSecond = rates.total;
  const third = new Line(width).add(`${numberText(perSecond)} requests/s`.padEnd(17), paints.strong);
  for (const first of [2, 3, 4, 5]) {
    const own = rates.perSecond((one) => one.totals.classes[first]!);
    third.part(`${first}xx ${shareOf(own, perSecond)}`, first === 5 && own > 0 ? paints.bad : paints.plain, 2);
  }
  const times =
    latency === null ? "no requests" : latency.map((ms, i) => `${PERCENTILES[i]} ${durationText(ms)}`).join("  ");
  third.part(times, paints.plain);
  const looked = rates.perSecond(lookups);
  const hits = rates.perSecond((one) => one.cache?.results.hit ?? 0);
  const fourth = new Line(width)
    .add(`connections ${numberText(totals.connections)}`)
    .part(`${numberText(totals.inFlight)} under way`)
    .part(`out ${bytes(rates.perSecond((one) => one.totals.bytesOut))}/s`)
    .part(`firewall ${numberText(rates.perSecond((one) => one.totals.wafBlocked))}/s refused`)
    .part(cache === null || looked === 0 ? "" : `cache ${shareOf(hits, looked)}`);
  const loads = workers.map(({ load, moves }) => (moves ? (load < 0 ? "…" : `${Math.round(load * 100)}%`) : "✗"));
  const fifth = new Line(width)
    .add(`workers ${loads.join(" ")}`)
    .part(`memory ${bytes(gateway.rssBytes)}`)
    .end(sparkline(rates.past, Math.min(60, Math.max(0, Math.floor(width / 2) - 4))), paints.faint);
  return [first, second, third, fourth, fifth].map((line) => String(line).trimEnd());
}

/** The first reasons, as many as there is room for, and how many there are beside them. */
function reasonsLine(findings: LiveVerdict["findings"], width: number, paints: Paints): Line {
  let shown = findings.length;
  const rest = () => (shown < findings.length ? `and ${findings.length - shown} more` : "");
  const text = () => [...findings.slice(0, shown).map((one) => one.text), rest()].filter((part) => part !== "");
  while (shown > 1 && Bun.stringWidth(text().join("   ")) > width) shown--;
  const line = new Line(width);
  for (const one of findings.slice(0, shown)) line.part(one.text, one.isBad ? paints.bad : paints.warn);
  return line.part(rest(), paints.faint);
}

function lookups({ cache }: LiveState): number {
  return Object.values(cache?.results ?? {}).reduce((sum, value) => sum + value, 0);
}

/** The last values as bars, the largest of them full. */
function sparkline(values: readonly number[], columns: number): string {
  const shown = values.slice(-columns);
  const top = Math.max(1, ...shown);
  return shown.map((value) => BARS[Math.min(BARS.length - 1, Math.ceil((value / top) * (BARS.length - 1)))]).join("");
}

function footLine(
  { view, sort, from, isPaused }: TopChoice,
  views: number,
  rows: number,
  room: number,
  { width, paints }: TopFrame,
): string {
  const line = new Line(width).add(isPaused ? " paused " : ` ${view} by ${SORTS[sort]} `, paints.turned);
  const numbers = Array.from({ length: views }, (_, i) => i + 1);
  line
    .part("? keys", paints.faint, 2)
    .part("q quit", paints.faint, 2)
    .part(`${numbers.join(" ")} lists`, paints.faint, 2);
  line.part("sort: r e l b n", paints.faint, 2).part("p pause", paints.faint, 2);
  if (rows > room) line.end(`${from + 1}-${Math.min(rows, from + room)} of ${rows} ↑↓`, paints.faint);
  return String(line);
}

function listOf(
  state: LiveState,
  rates: LiveRates,
  { view, sort }: TopChoice,
  width: number,
  paints: Paints,
): string[] {
  if (view === "routes" || view === "internal") {
    const rows = routesOf(state, view).map((one) => ({ ...one, rate: rates.ofLabel(one, "routes") }));
    const others = state.routes.length - rows.length;
    const title = view === "routes" ? `ROUTES (${state.routeCount - others})` : `ENDPOINTS OF EDGE (${rows.length})`;
    return textTable(routeColumns(title), sorted(rows, routeKeys, sort), width, paints);
  }
  if (view === "upstreams") {
    const rows = upstreamRows(state).map((row) => ({
      ...row,
      rate: row.traffic === null ? NO_RATE : rates.ofLabel(row.traffic, "upstreams"),
    }));
    return textTable(upstreamColumns(rows.length), sorted(rows, upstreamKeys, sort), width, paints);
  }
  if (view === "functions") {
    const rows = state.modules.map((one) => ({ ...one, rate: rates.ofModule(one) }));
    return textTable(moduleColumns(rows.length), sorted(rows, moduleKeys, sort), width, paints);
  }
  const clients = rates.clients();
  return textTable(clientColumns(rates.isSampled), sorted(clients, clientKeys, sort), width, paints);
}

interface Rated {
  readonly rate: LabelRate;
}
type RouteRow = LiveLabel & Rated;
type RatedUpstream = UpstreamRow & Rated;
type ModuleRow = LiveModule & Rated;

/** What rows are sorted by: numbers with the largest first, then by name. */
type Keys<T> = Readonly<Record<Exclude<Sort, "n">, (row: T) => number>> & { readonly n: (row: T) => string };

function sorted<T>(rows: readonly T[], keys: Keys<T>, sort: Sort): T[] {
  const byName = (a: T, b: T): number => keys.n(a).localeCompare(keys.n(b));
  if (sort === "n") return [...rows].sort(byName);
  return [...rows].sort((a, b) => keys[sort](b) - keys[sort](a) || keys.r(b) - keys.r(a) || byName(a, b));
}

const routeKeys: Keys<RouteRow> = {
  r: (row) => row.rate.perSecond,
  e: (row) => row.rate.failedPerSecond + row.rate.refusedPerSecond,
  l: ({ latency }) => latency?.[2] ?? -1,
  b: ({ bytesPerSecond: [into, out] }) => into + out,
  n: ({ label }) => label,
};
const upstreamKeys: Keys<RatedUpstream> = {
  r: (row) => row.rate.perSecond,
  e: (row) => (row.trouble === Trouble.Out ? 1e9 : 0) + row.rate.failedPerSecond,
  l: ({ traffic }) => traffic?.latency?.[2] ?? -1,
  b: () => 0,
  n: ({ name }) => name,
};
const moduleKeys: Keys<ModuleRow> = {
  r: (row) => row.rate.perSecond,
  e: (row) => (row.threads === 0 ? 1e9 : 0) + row.rate.failedPerSecond,
  l: ({ latency }) => latency?.[2] ?? -1,
  b: ({ heap }) => heap,
  n: ({ name }) => name,
};
const clientKeys: Keys<SeenClient> = {
  r: ({ requests }) => requests,
  e: ({ failed, refusals }) => failed + refusals,
  l: () => 0,
  b: ({ bytesOut }) => bytesOut,
  n: ({ address }) => address,
};

/** Routes, or the endpoints of the gateway itself. */
function routesOf({ routes }: LiveState, view: "routes" | "internal"): readonly LiveLabel[] {
  return routes.filter(({ label }) => isInternalPath(label) === (view === "internal"));
}

function routeColumns(title: string): Column<RouteRow>[] {
  return [
    { title, width: 0, rank: 0, cell: ({ label }) => label },
    { title: "REQ/S", width: 7, rank: 0, cell: (row) => numberText(row.rate.perSecond) },
    { title: "4XX/S", width: 6, rank: 3, cell: (row) => numberText(row.rate.refusedPerSecond) },
    { title: "5XX/S", width: 6, rank: 0, cell: (row) => numberText(row.rate.failedPerSecond), paint: failing },
    { title: "P50", width: 8, rank: 2, cell: ({ latency }) => durationText(latency?.[0]) },
    { title: "P90", width: 8, rank: 5, cell: ({ latency }) => durationText(latency?.[1]) },
    { title: "P99", width: 8, rank: 1, cell: ({ latency }) => durationText(latency?.[2]) },
    { title: "IN/S", width: 9, rank: 7, cell: ({ bytesPerSecond: [into] }) => bytes(into) },
    { title: "OUT/S", width: 9, rank: 4, cell: ({ bytesPerSecond: [, out] }) => bytes(out) },
    { title: "TOTAL", width: 8, rank: 6, cell: ({ requests }) => numberText(requests) },
  ];
}

function upstreamColumns(total: number): Column<RatedUpstream>[] {
  return [
    { title: `UPSTREAMS (${total})`, width: 0, rank: 0, cell: ({ name }) => name },
    { title: "STATE", width: STATE_WIDTH, rank: 0, cell: ({ state }) => state, paint: statePaint, isText: true },
    { title: "ATTEMPTS/S", width: 10, rank: 0, cell: (row) => numberText(row.rate.perSecond) },
    { title: "5XX/S", width: 6, rank: 1, cell: (row) => numberText(row.rate.failedPerSecond), paint: failing },
    { title: "P50", width: 8, rank: 3, cell: ({ traffic }) => durationText(traffic?.latency?.[0]) },
    { title: "P99", width: 8, rank: 2, cell: ({ traffic }) => durationText(traffic?.latency?.[2]) },
    { title: "FAILURES", width: 8, rank: 4, cell: ({ failures }) => numberText(failures) },
    { title: "TOTAL", width: 8, rank: 5, cell: ({ traffic }) => numberText(traffic?.requests ?? 0) },
  ];
}

function moduleColumns(total: number): Column<ModuleRow>[] {
  return [
    { title: `FUNCTIONS (${total})`, width: 0, rank: 0, cell: ({ name }) => name },
    { title: "CALLS/S", width: 7, rank: 0, cell: (row) => numberText(row.rate.perSecond) },
    { title: "FAIL/S", width: 6, rank: 0, cell: (row) => numberText(row.rate.failedPerSecond), paint: failing },
    { title: "P50", width: 8, rank: 3, cell: ({ latency }) => durationText(latency?.[0]) },
    { title: "P90", width: 8, rank: 6, cell: ({ latency }) => durationText(latency?.[1]) },
    { title: "P99", width: 8, rank: 1, cell: ({ latency }) => durationText(latency?.[2]) },
    { title: "WAITING", width: 7, rank: 2, cell: ({ queued }) => numberText(queued) },
    { title: "THREADS", width: 7, rank: 5, cell: ({ threads }) => numberText(threads), paint: threadless },
    { title: "RESTARTS", width: 8, rank: 4, cell: ({ ends }) => numberText(ends) },
    { title: "HEAP", width: 9, rank: 7, cell: ({ heap }) => bytes(heap) },
    { title: "TOTAL", width: 8, rank: 8, cell: ({ calls }) => numberText(calls) },
  ];
}

function failing(row: Rated, paints: Paints): Paint {
  return row.rate.failedPerSecond > 0 ? paints.bad : paints.plain;
}

function clientColumns(isSampled: boolean): Column<SeenClient>[] {
  const name = `CLIENTS, last ${CLIENT_SECONDS} s${isSampled ? " (sampled)" : ""}`;
  return [
    { title: name, width: 0, rank: 0, cell: ({ address }) => address },
    { title: "REQUESTS", width: 8, rank: 0, cell: ({ requests }) => numberText(requests) },
    { title: "ERRORS", width: 6, rank: 0, cell: ({ failed }) => numberText(failed) },
    { title: "OUT", width: 9, rank: 3, cell: ({ bytesOut }) => bytes(bytesOut) },
    { title: "REFUSED", width: 7, rank: 1, cell: ({ refusals }) => numberText(refusals), paint: refusing },
    {
      title: "WHY, LAST PATH",
      width: 16,
      rank: 2,
      cell: ({ why, path }) => [why, path].filter((text) => text !== "").join("  "),
      isText: true,
    },
  ];
}

function refusing({ refusals }: SeenClient, paints: Paints): Paint {
  return refusals > 0 ? paints.warn : paints.plain;
}

const NO_RATE: LabelRate = { perSecond: 0, failedPerSecond: 0, refusedPerSecond: 0 };
const PERCENTILES = ["p50", "p90", "p99"];
const BARS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
