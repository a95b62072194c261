import { counted, listed, numberText, percentText, span } from "../../core/number-text.ts";
import type {
  FindingTopic,
  LiveFinding,
  LiveGateway,
  LiveObjective,
  LivePoint,
  LiveState,
  LiveTarget,
  LiveVerdict,
} from "./live-state.ts";
import { THRESHOLDS } from "./thresholds.ts";

/** What the verdict goes by: all targets, modules and certificates, not only those that an event has room for. */
type JudgedState = Pick<
  LiveState,
  "at" | "gateway" | "totals" | "workers" | "targets" | "modules" | "objectives" | "certificates" | "sources"
>;

/**
 * Whether the gateway is well, and why not: the one place that says so. The control thread makes it of each event, and the dashboard,
 * `edge status` and `edge top` print it. docs/tools.md#status
 * @param past the points of the last minutes, the newest last
 */
export function verdict(state: JudgedState, past: readonly LivePoint[]): LiveVerdict {
  // What requests suffer from now comes before what they will.
  const [share, errors] = ofErrors(state, past);
  const found = [
    ...ofWorkers(state),
    ...ofTargets(state.targets),
    ...ofModules(state),
    ...errors,
    ...ofObjectives(state),
    ...ofCertificates(state),
    ...ofSources(state),
    ...ofOperation(state),
  ];
  const findings = [...found.filter(({ isBad }) => isBad), ...found.filter(({ isBad }) => !isBad)];
  const isWell = findings[0]?.isBad !== true;
  const word = isWell ? (findings.length > 0 ? "well, with notes" : "well") : "not well";
  return { word, isWell, errorShare: share, findings };
}

/** How bad the standing of a target is. */
export enum Trouble {
  None,
  Drained,
  /** It is tried with single requests. */
  OnTrial,
  Out,
}

/** Of a target as one route sees it. */
export function troubleOf({ breaker, healthy, drained }: LiveTarget): Trouble {
  if (breaker === "open" || !healthy) return Trouble.Out;
  if (breaker === "half-open") return Trouble.OnTrial;
  return drained ? Trouble.Drained : Trouble.None;
}

/** Whether a certificate should have been renewed by now. */
export function endsSoon(leftMs: number): boolean {
  return leftMs < THRESHOLDS.certificateEnds.value * DAY_MS;
}

/** A target as it is listed: its name beside its address. */
export function targetTitle({ name, upstream }: Pick<LiveTarget, "name" | "upstream">): string {
  return name === undefined ? upstream : `${name} (${upstream})`;
}

/** The state of a target, in the words of the dashboard, of `edge status` and of `edge top`. */
export function targetState({ breaker, healthy, drained }: LiveTarget): string {
  if (drained) return "drained";
  if (!healthy) return "unhealthy";
  return breaker === "closed" ? "in use" : `breaker ${breaker}`;
}

/** Whether a worker uses so much of a processor that it has little left. */
export function isBusy(load: number): boolean {
  return load > THRESHOLDS.workerLoad.value;
}

/** How a share of 5xx stands out, if there are enough requests for one. */
export function gradeOfErrors(share: number): "none" | "warn" | "bad" {
  if (share >= THRESHOLDS.manyErrors.value) return "bad";
  return share >= THRESHOLDS.someErrors.value ? "warn" : "none";
}

function ofOperation({ gateway, totals, at }: JudgedState): LiveFinding[] {
  const found: LiveFinding[] = [];
  const { maintenance, logLevel, failedLogs, connectionLimit = Number.POSITIVE_INFINITY } = gateway;
  if (gateway.status === "draining") found.push(bad("changes", "the gateway is draining"));
  if (!gateway.lastReloadOk)
    found.push(bad("changes", "the last reload failed: still serving the previous configuration"));
  if (failedLogs.length > 0) found.push(bad("log", `the access log cannot be written: ${listed(failedLogs)}`));
  if (gateway.lacksDescriptors === true)
    found.push(bad("system", "hardly a descriptor is left (RLIMIT_NOFILE): requests get 503, connections wait"));
  if (totals.connections >= connectionLimit)
    found.push(
      bad(
        "system",
        `${counted(connectionLimit, "connection")} of ${numberText(connectionLimit)} (server.max_connections): others wait`,
      ),
    );
  if (maintenance.length > 0) found.push(note("changes", `under maintenance: ${listed(maintenance)}`));
  if (totals.logDropped > 0) found.push(note("log", `${counted(totals.logDropped, "line")} of the log dropped`));
  if (logLevel !== "info") found.push(note("changes", `the log level is ${logLevel}`));
  const { set = [], rolledBack = null } = gateway;
  if (set.length > 0) found.push(note("changes", `set by hand: ${listed(set.map((one) => setText(one, at)))}`));
  if (rolledBack !== null) {
    const { since, to } = rolledBack;
    const ago = span(at - Date.parse(since));
    found.push(
      note("changes", `rolled back ${ago} ago to the configuration of ${to}: the files are not in use until a reload`),
    );
  }
  return found;
}

function setText({ what, name, on, since }: NonNullable<LiveGateway["set"]>[number], at: number): string {
  const texts: Readonly<Record<string, string>> = {
    drain: `drained ${name}`,
    maintenance: `maintenance ${on ? "on" : "off"}${name === "" ? "" : ` for ${name}`}`,
    log_level: `log level ${name}`,
  };
  return `${texts[what] ?? what} (${span(at - Date.parse(since))} ago)`;
}

function ofWorkers({ workers }: JudgedState): LiveFinding[] {
  const all = workers.map((worker, i) => ({ ...worker, i }));
  const still = all.filter(({ moves }) => !moves);
  const busy = all.filter(({ moves, load }) => moves && isBusy(load));
  const found: LiveFinding[] = [];
  if (still.length > 0)
    found.push(
      bad("system", `${counted(still.length, "worker")} of ${all.length} stalled or starting: ${numbers(still)}`),
    );
  if (busy.length > 0) {
    const most = percentText(THRESHOLDS.workerLoad.value);
    const does = busy.length === 1 ? "uses" : "use";
    found.push(
      note(
        "system",
        `${counted(busy.length, "worker")} of ${all.length} ${does} over ${most} of a CPU: ${numbers(busy)}`,
      ),
    );
  }
  return found;
}

function numbers(workers: readonly { readonly i: number }[]): string {
  return listed(workers.map(({ i }) => String(i)));
}

/** A route without any target that may be used is worse than one that has lost some. */
function ofTargets(targets: readonly LiveTarget[]): LiveFinding[] {
  const found: LiveFinding[] = [];
  const empty = [...Map.groupBy(targets, ({ route }) => route)]
    .filter(([, own]) => own.every((one) => !one.hasStandIn && (one.drained || troubleOf(one) === Trouble.Out)))
    .map(([route]) => route);
  if (empty.length === 1) found.push(bad("upstreams", `${empty[0]} has no target left`));
  if (empty.length > 1) found.push(bad("upstreams", `${empty.length} routes have no target left: ${listed(empty)}`));
  const named = (of: (target: LiveTarget) => boolean) => [...new Set(targets.filter(of).map(targetTitle))];
  const all = named(() => true).length;
  const out = named((target) => troubleOf(target) === Trouble.Out);
  const onTrial = named((target) => troubleOf(target) === Trouble.OnTrial).filter((name) => !out.includes(name));
  const drained = named((target) => target.drained);
  if (out.length > 0) found.push(bad("upstreams", `${out.length} of ${counted(all, "target")} out: ${listed(out)}`));
  if (onTrial.length > 0) found.push(note("upstreams", `on trial after failures: ${listed(onTrial)}`));
  if (drained.length > 0) found.push(note("upstreams", `drained: ${listed(drained)}`));
  return found;
}

/** It cannot be loaded, or is being started again. */
function ofModules({ modules }: JudgedState): LiveFinding[] {
  const away = modules.filter(({ threads }) => threads === 0).map(({ name }) => name);
  return away.length === 0
    ? []
    : [bad("functions", `${counted(away.length, "module")} without a thread: ${listed(away)}`)];
}

/** An objective that uses its budget up fast, now and for an hour, or for six. */
function ofObjectives({ objectives = [] }: JudgedState): LiveFinding[] {
  return objectives.flatMap((one) => {
    const grade = gradeOfBurn(one);
    if (grade === "none") return [];
    const text = `${one.route} misses its objective of ${objectiveText(one)}: burn rate ${numberText(one.burn[1]!)} over an hour`;
    return [grade === "bad" ? bad("pressure", text) : note("pressure", text)];
  });
}

/** An objective in words, such as `99.9 % without 5xx`. */
export function objectiveText({ slo, objective }: Pick<LiveObjective, "slo" | "objective">): string {
  const share = `${Number((objective * 100).toFixed(4))} %`;
  return slo === "availability" ? `${share} without 5xx` : `${share} in time`;
}

/** How an objective stands out, by its burn rates: the shares of the budget that an hour and six hours may use are thresholds. */
export function gradeOfBurn({ burn, windowMs }: Pick<LiveObjective, "burn" | "windowMs">): "none" | "warn" | "bad" {
  const [now = 0, hour = 0, long = 0] = burn;
  const fast = (THRESHOLDS.budgetOfHour.value * windowMs) / HOUR_MS;
  const slow = (THRESHOLDS.budgetOfSixHours.value * windowMs) / (6 * HOUR_MS);
  if (now > fast && hour > fast) return "bad";
  return hour > slow && long > slow ? "warn" : "none";
}

/** Routes that may be older than their source. */
function ofSources({ sources }: JudgedState): LiveFinding[] {
  return (sources?.away ?? []).map(({ source, name, error }) =>
    note("changes", `${source} (${name}) is away, its last good routes serve: ${error}`),
  );
}

function ofCertificates({ at, certificates }: JudgedState): LiveFinding[] {
  const ending = certificates
    .map(({ domain, notAfterS }) => ({ domain, left: notAfterS * 1000 - at }))
    .filter(({ left }) => endsSoon(left))
    .sort((a, b) => a.left - b.left);
  const expired = ending.filter(({ left }) => left <= 0).map(({ domain }) => domain);
  const soon = ending.filter(({ left }) => left > 0).map(({ domain, left }) => `${domain} in ${span(left)}`);
  const found: LiveFinding[] = [];
  if (expired.length > 0)
    found.push(bad("system", `${counted(expired.length, "certificate")} expired: ${listed(expired)}`));
  if (soon.length > 0)
    found.push(bad("system", `${counted(soon.length, "certificate")} near the end: ${listed(soon)}`));
  return found;
}

/** Of the last minute, as far as it has been examined. */
function ofErrors(
  { at, totals }: JudgedState,
  past: readonly LivePoint[],
): [share: number | null, found: LiveFinding[]] {
  const first = past.find(([when]) => at - when <= THRESHOLDS.manyErrors.liveS * 1000);
  if (first === undefined) return [null, []];
  const grown = totals.classes.map((value, i) => Math.max(0, value - (first[1][i] ?? 0)));
  const requests = grown.reduce((sum, value) => sum + value, 0);
  if (requests === 0) return [null, []];
  const share = grown[5]! / requests;
  const grade = gradeOfErrors(share);
  if (grade === "none" || requests < THRESHOLDS.enoughRequests.value) return [share, []];
  const text = `${percentText(share)} of the requests of the last minute got 5xx`;
  return [share, [grade === "bad" ? bad("slow", text) : note("slow", text)]];
}

function bad(about: FindingTopic, text: string): LiveFinding {
  return { isBad: true, about, text };
}

function note(about: FindingTopic, text: string): LiveFinding {
  return { isBad: false, about, text };
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
