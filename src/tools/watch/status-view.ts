import type { CanaryStanding } from "../../core/canary-standing.ts";
import { isInternalPath } from "../../core/internal-path.ts";
import { bytes, durationText, numberText, percentText, span } from "../../core/number-text.ts";
import type { UnservedObject } from "../../core/unserved-object.ts";
import type {
  LiveLabel,
  LiveModule,
  LiveObjective,
  LivePoint,
  LiveRoom,
  LiveState,
  LiveVerdict,
} from "../../features/dashboard/live-state.ts";
import {
  endsSoon,
  gradeOfBurn,
  objectiveText,
  Trouble,
  targetState,
  targetTitle,
  troubleOf,
} from "../../features/dashboard/verdict.ts";
import { type Column, Line, type Paint, type Paints, textTable } from "./text.ts";

/** What `edge status` shows: one screen. */
export function statusText(state: LiveState, label: string, width: number, paints: Paints): string {
  const lines = [
    ...heading(state, label, width, paints),
    "",
    ...traffic(state, width, paints),
    ...listeners(state, width, paints),
    ...workers(state, width, paints),
    ...routes(state, width, paints),
    ...upstreams(state, width, paints),
    ...modules(state, width, paints),
    ...canaries(state, width, paints),
    ...rooms(state, width, paints),
    ...unserved(state, width, paints),
    ...objectives(state, width, paints),
    ...rest(state, width, paints),
    ...changes(state, width, paints),
  ];
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n`;
}

/** What `edge status --json` prints. */
export function statusJson(state: LiveState): string {
  const { isWell, findings } = state.verdict;
  const found = findings.map(({ isBad, text }) => ({ bad: isBad, text }));
  return `${JSON.stringify({ well: isWell, findings: found, ...state }, null, 2)}\n`;
}

/** How a verdict stands out. */
export function verdictPaint({ isWell, findings }: LiveVerdict, paints: Paints): Paint {
  if (!isWell) return paints.bad;
  return findings.length > 0 ? paints.warn : paints.good;
}

function heading(state: LiveState, label: string, width: number, paints: Paints): string[] {
  const { gateway, at, verdict } = state;
  const reload = state.changes.find(({ event }) => event === "config_reload");
  const when = reload === undefined ? "" : `, reload ${span(at - reload.at)} ago ${reload.bad ? "failed" : "ok"}`;
  return [
    new Line(width)
      .add(`edge ${gateway.version}`, paints.strong)
      .part(`● ${verdict.word}`, verdictPaint(verdict, paints))
      .end(label, paints.faint),
    new Line(width)
      .add(`up ${span(at - gateway.startedAt)}`)
      .part(`${gateway.host}, pid ${gateway.pid}`)
      .part(`configuration ${gateway.generation}${when}`)
      .part(`firewall ${gateway.waf}`),
    ...verdict.findings.map(({ isBad, text }) =>
      new Line(width).add(`  ${isBad ? "✗" : "!"} ${text}`, isBad ? paints.bad : paints.warn),
    ),
  ].map(String);
}

function traffic({ totals, history = [], latency, at }: LiveState, width: number, paints: Paints): string[] {
  const recent = history.filter(([when]) => at - when <= RECENT_MS);
  const [first, last] = [recent[0], recent.at(-1)];
  const line = labelled("requests", width, paints);
  if (first !== undefined && last !== undefined && last[0] > first[0]) {
    const perSecond = sum(classes(first, last)) / ((last[0] - first[0]) / 1000);
    line.add(`${numberText(perSecond)}/s`.padEnd(9));
    addClasses(line, classes(first, last), paints);
    line.part("in the last minute", paints.faint);
  } else {
    line.add(numberText(totals.requests).padEnd(9));
    addClasses(line, totals.classes, paints);
    line.part("since the start", paints.faint);
  }
  const times = labelled("latency", width, paints);
  const shown = latency ?? recent.findLast(([, , found]) => found !== null)?.[2] ?? null;
  if (shown === null) times.add("no requests of late", paints.faint);
  else {
    const [p50, p90, p99] = shown;
    times
      .add(`p50 ${durationText(p50)}`)
      .part(`p90 ${durationText(p90)}`)
      .part(`p99 ${durationText(p99)}`);
  }
  const open = labelled("open", width, paints)
    .add(`connections ${numberText(totals.connections)}`)
    .part(`${numberText(totals.inFlight)} under way`)
    .part(`${bytes(totals.bytesIn)} in, ${bytes(totals.bytesOut)} out`);
  return [line, times, open].map(String);
}

function addClasses(line: Line, counts: readonly number[], paints: Paints): void {
  const all = sum(counts);
  for (const first of [2, 3, 4, 5]) {
    const paint = first === 5 && counts[5]! > 0 ? paints.bad : paints.plain;
    line.part(`${first}xx ${shareOf(counts[first]!, all)}`, paint, 2);
  }
}

/** The first of them, and how many more there are. */
function listeners({ gateway: { listeners: all = [] } }: LiveState, width: number, paints: Paints): string[] {
  const lines = all.slice(0, MAX_LISTENERS_SHOWN).map(({ name, address, protocols, open }, i) => {
    const line = labelled(i === 0 ? "listens" : "", width, paints).add(address);
    if (name !== address) line.part(name);
    return line.part(protocols.join(", ")).part(`${numberText(open)} open`);
  });
  const more = all.length - lines.length;
  if (more > 0) lines.push(labelled("", width, paints).add(`and ${numberText(more)} more`, paints.faint));
  return lines.map(String);
}

function workers({ workers: all, gateway }: LiveState, width: number, paints: Paints): string[] {
  const moving = all.filter(({ moves }) => moves).length;
  const line = labelled("workers", width, paints)
    .add(`${moving} of ${all.length} serve`, moving < all.length ? paints.bad : paints.plain)
    .part(`memory ${bytes(gateway.rssBytes)}`);
  const loads = all.filter(({ load }) => load >= 0).map(({ load }) => `${Math.round(load * 100)} %`);
  if (loads.length > 0) line.part(`load ${loads.join(" ")}`);
  return [String(line)];
}

function routes({ routes: all, routeCount }: LiveState, width: number, paints: Paints): string[] {
  const own = all.filter(({ label }) => !isInternalPath(label));
  const shown = own.slice(0, MAX_ROWS);
  if (shown.length === 0) return [];
  const columns: Column<LiveLabel>[] = [
    { title: `ROUTES (${routeCount - (all.length - own.length)})`, width: 0, rank: 0, cell: ({ label }) => label },
    { title: "REQUESTS", width: 9, rank: 0, cell: ({ requests }) => numberText(requests) },
    { title: "4XX", width: 7, rank: 2, cell: (one) => shareOf(one.classes[4]!, one.requests) },
    { title: "5XX", width: 7, rank: 0, cell: (one) => shareOf(one.classes[5]!, one.requests), paint: failing },
  ];
  return [
    "",
    ...textTable(columns, shown, width, paints),
    ...more(routeCount - (all.length - own.length) - shown.length, paints),
  ];
}

function failing({ classes: counts }: LiveLabel, paints: Paints): Paint {
  return counts[5]! > 0 ? paints.bad : paints.plain;
}

/** A target of all its routes: what is worst of them. */
export interface UpstreamRow {
  readonly name: string;
  readonly state: string;
  readonly trouble: Trouble;
  readonly failures: number;
  readonly traffic: LiveLabel | null;
}

/** The upstreams with what is known of them; those in trouble come first. */
export function upstreamRows({ targets, upstreams: seen }: LiveState): UpstreamRow[] {
  const traffic = new Map(seen.map((one) => [one.label, one]));
  const byName = Map.groupBy(targets, ({ upstream }) => upstream);
  const named = [...byName].map(([upstream, own]) => {
    const name = targetTitle(own.find((target) => target.name !== undefined) ?? own[0]!);
    const worst = own.reduce((one, other) => (troubleOf(other) > troubleOf(one) ? other : one));
    const failures = Math.max(...own.map((target) => target.failures));
    return {
      name,
      state: targetState(worst),
      trouble: troubleOf(worst),
      failures,
      traffic: traffic.get(upstream) ?? null,
    };
  });
  const others = seen
    .filter(({ label }) => !byName.has(label))
    .map((one) => ({ name: one.label, state: "", trouble: Trouble.None, failures: 0, traffic: one }));
  return [...named, ...others];
}

/** How a state stands out. */
export function statePaint({ trouble, state }: UpstreamRow, paints: Paints): Paint {
  if (trouble === Trouble.Out) return paints.bad;
  if (trouble !== Trouble.None) return paints.warn;
  return state === "in use" ? paints.good : paints.plain;
}

function upstreams(state: LiveState, width: number, paints: Paints): string[] {
  const rows = upstreamRows(state);
  if (rows.length === 0) return [];
  const columns: Column<UpstreamRow>[] = [
    { title: `UPSTREAMS (${rows.length})`, width: 0, rank: 0, cell: ({ name }) => name },
    { title: "STATE", width: STATE_WIDTH, rank: 0, cell: (row) => row.state, paint: statePaint, isText: true },
    { title: "FAILURES", width: 8, rank: 3, cell: ({ failures }) => numberText(failures) },
    { title: "ATTEMPTS", width: 9, rank: 1, cell: ({ traffic: one }) => numberText(one?.requests ?? 0) },
    { title: "5XX", width: 7, rank: 2, cell: ({ traffic: one }) => shareOf(one?.classes[5] ?? 0, one?.requests ?? 0) },
  ];
  const shown = rows.slice(0, MAX_ROWS);
  return ["", ...textTable(columns, shown, width, paints), ...more(rows.length - shown.length, paints)];
}

function modules({ modules: all }: LiveState, width: number, paints: Paints): string[] {
  if (all.length === 0) return [];
  const columns: Column<LiveModule>[] = [
    { title: `FUNCTIONS (${all.length})`, width: 0, rank: 0, cell: ({ name }) => name },
    { title: "CALLS", width: 9, rank: 0, cell: ({ calls }) => numberText(calls) },
    { title: "FAILED", width: 7, rank: 0, cell: (one) => shareOf(one.failed, one.calls), paint: failedCalls },
    { title: "WAITING", width: 7, rank: 2, cell: ({ queued }) => numberText(queued) },
    { title: "THREADS", width: 7, rank: 1, cell: ({ threads }) => numberText(threads), paint: threadless },
    { title: "RESTARTS", width: 8, rank: 3, cell: ({ ends }) => numberText(ends) },
    { title: "HEAP", width: 9, rank: 4, cell: ({ heap }) => bytes(heap) },
  ];
  const shown = all.slice(0, MAX_ROWS);
  return ["", ...textTable(columns, shown, width, paints), ...more(all.length - shown.length, paints)];
}

function canaries({ canaries: all = [] }: LiveState, width: number, paints: Paints): string[] {
  if (all.length === 0) return [];
  const columns: Column<CanaryStanding>[] = [
    { title: `CANARIES (${all.length})`, width: 0, rank: 0, cell: ({ route }) => route },
    {
      title: "STATE",
      width: 9,
      rank: 0,
      cell: ({ state }) => state,
      paint: ({ state }) => (state === "aborted" ? paints.bad : paints.plain),
    },
    { title: "SHARE", width: 7, rank: 0, cell: ({ share }) => `${share} %` },
    { title: "ERRORS", width: 7, rank: 0, cell: (one) => shareOf(one.errors, one.requests) },
    { title: "OLD", width: 7, rank: 1, cell: (one) => shareOf(one.old_errors, one.old_requests) },
    { title: "P99", width: 8, rank: 1, cell: (one) => durationText(one.p99_ms ?? undefined) },
    { title: "OLD", width: 8, rank: 2, cell: (one) => durationText(one.old_p99_ms ?? undefined) },
  ];
  const shown = all.slice(0, MAX_ROWS);
  return ["", ...textTable(columns, shown, width, paints), ...more(all.length - shown.length, paints)];
}

function rooms({ rooms: all = [] }: LiveState, width: number, paints: Paints): string[] {
  if (all.length === 0) return [];
  const columns: Column<LiveRoom>[] = [
    { title: `WAITING ROOMS (${all.length})`, width: 0, rank: 0, cell: ({ route }) => route },
    { title: "IN", width: 9, rank: 0, cell: ({ active }) => numberText(active) },
    { title: "OF", width: 9, rank: 0, cell: ({ limit }) => numberText(limit) },
    { title: "WAITING", width: 9, rank: 0, cell: ({ waiting }) => numberText(waiting) },
    { title: "IN/MIN", width: 8, rank: 1, cell: ({ rate }) => numberText(Math.round(rate * 60)) },
  ];
  const shown = all.slice(0, MAX_ROWS);
  return ["", ...textTable(columns, shown, width, paints), ...more(all.length - shown.length, paints)];
}

function unserved({ unserved: all = [] }: LiveState, width: number, paints: Paints): string[] {
  if (all.length === 0) return [];
  const columns: Column<UnservedObject>[] = [
    { title: `NOT SERVED (${all.length})`, width: 0, rank: 0, cell: ({ object }) => object },
    { title: "REASON", width: 22, rank: 0, cell: ({ reason }) => reason },
  ];
  const shown = all.slice(0, MAX_ROWS);
  // The message has a line of its own: it names what is to be done.
  const rows = textTable(columns, shown, width, paints);
  const lines = rows.flatMap((row, i) => {
    const message = i === 0 ? "" : (shown[i - 1]?.message ?? "");
    return message === "" ? [row] : [row, new Line(width).add(`  ${message}`, paints.faint).toString()];
  });
  return ["", ...lines, ...more(all.length - shown.length, paints)];
}

function objectives({ objectives: all = [] }: LiveState, width: number, paints: Paints): string[] {
  if (all.length === 0) return [];
  const burn = (place: number, title: string, rank: number): Column<LiveObjective> => ({
    title,
    width: 7,
    rank,
    cell: (one) => numberText(one.burn[place]!),
    paint: (one) =>
      gradeOfBurn(one) === "none" ? paints.plain : gradeOfBurn(one) === "bad" ? paints.bad : paints.warn,
  });
  const columns: Column<LiveObjective>[] = [
    { title: `OBJECTIVES (${all.length})`, width: 0, rank: 0, cell: ({ route }) => route },
    { title: "", width: 24, rank: 0, cell: objectiveText },
    burn(0, "5M", 0),
    burn(1, "1H", 0),
    burn(2, "6H", 1),
  ];
  const shown = all.slice(0, MAX_ROWS);
  return ["", ...textTable(columns, shown, width, paints), ...more(all.length - shown.length, paints)];
}

/** How a module whose calls fail stands out. */
function failedCalls({ failed }: LiveModule, paints: Paints): Paint {
  return failed > 0 ? paints.bad : paints.plain;
}

/** How a module that nothing serves stands out. */
export function threadless({ threads }: LiveModule, paints: Paints): Paint {
  return threads === 0 ? paints.bad : paints.plain;
}

function rest({ cache, certificates, totals, attackers, at }: LiveState, width: number, paints: Paints): string[] {
  const lines: Line[] = [];
  if (cache !== null) {
    const { hit = 0 } = cache.results;
    const lookups = sum(Object.values(cache.results));
    lines.push(
      labelled("cache", width, paints)
        .add(lookups === 0 ? "no lookups yet" : `${shareOf(hit, lookups)} hits`)
        .part(`${numberText(cache.entries)} entries`)
        .part(`${bytes(cache.bytes)} of ${bytes(cache.maxBytes)}`),
    );
  }
  if (certificates.length > 0) {
    const line = labelled("certificates", width, paints);
    const soonest = [...certificates].sort((a, b) => a.notAfterS - b.notAfterS);
    for (const { domain, notAfterS } of soonest.slice(0, MAX_CERTIFICATES)) {
      const left = notAfterS * 1000 - at;
      line.part(`${domain} ${left > 0 ? span(left) : "expired"}`, endsSoon(left) ? paints.bad : paints.plain);
    }
    if (soonest.length > MAX_CERTIFICATES) line.part(`and ${soonest.length - MAX_CERTIFICATES} more`, paints.faint);
    lines.push(line);
  }
  const refused = Object.entries({ ...totals.refusals, firewall: totals.wafBlocked }).filter(([, value]) => value > 0);
  const line = labelled("refused", width, paints);
  if (refused.length === 0) line.add("nothing since the start", paints.faint);
  else for (const [name, value] of refused.sort((a, b) => b[1] - a[1])) line.part(`${name} ${numberText(value)}`);
  lines.push(line);
  for (const { address, refusals, reasons, lastAt } of attackers.slice(0, MAX_ATTACKERS)) {
    const why = reasons.map(([reason, value]) => `${reason} ${numberText(value)}`).join(", ");
    lines.push(
      labelled("", width, paints)
        .add(address)
        .part(`${numberText(refusals)} in 15 minutes, ${span(at - lastAt)} ago`)
        .part(why, paints.faint),
    );
  }
  return ["", ...lines.map(String)];
}

function changes({ changes: all, at }: LiveState, width: number, paints: Paints): string[] {
  const shown = all.filter(({ event }) => event !== "listening").slice(0, MAX_CHANGES);
  if (shown.length === 0) return [];
  return [
    "",
    ...shown.map(({ at: when, event, text, bad }, i) =>
      String(
        labelled(i === 0 ? "changes" : "", width, paints)
          .add(`${span(at - when)} ago`.padEnd(12), paints.faint)
          .add(event, bad ? paints.bad : paints.plain)
          .add(`  ${text}`, paints.faint),
      ),
    ),
  ];
}

/** A part of a whole in percent. */
export function shareOf(part: number, whole: number): string {
  return percentText(part / whole);
}

function labelled(label: string, width: number, paints: Paints): Line {
  return new Line(width).label(label, LABEL_WIDTH, paints.strong);
}

function more(left: number, paints: Paints): string[] {
  return left > 0 ? [paints.faint(`and ${numberText(left)} more`)] : [];
}

function classes(first: LivePoint, last: LivePoint): number[] {
  return last[1].map((value, i) => value - (first[1][i] ?? 0));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, value) => total + value, 0);
}

/** That of `breaker half-open`. */
export const STATE_WIDTH = 17;
const LABEL_WIDTH = 13;
const MAX_LISTENERS_SHOWN = 4;
const MAX_ROWS = 8;
const MAX_CERTIFICATES = 4;
const MAX_ATTACKERS = 3;
const MAX_CHANGES = 4;
const RECENT_MS = 60_000;
