import { isInternalPath } from "../../../shared/internal-path.ts";
import type { LiveState } from "../live-state.ts";
import { count, duration, number, percent, plain, span } from "./format.ts";
import { type BusyLabel, errorShare, type Model, requestsOf, total } from "./model.ts";

/** How bad something is. */
export type Grade = "good" | "warn" | "bad" | "none";

/** Something that an operator should know, and where more of it is. */
export interface Finding {
  readonly grade: Grade;
  readonly text: string;
  /** More of it, for where there is room. */
  readonly detail?: string;
  readonly href: string;
}

const MINUTE = 60_000;
const DAY = 86_400_000;
/** What counts as now for responses. */
const ERRORS_MS = 30_000;
/** Shares of 5xx in that time. */
const [FEW_ERRORS, MANY_ERRORS] = [0.01, 0.05];
/** Refusals a second that are more than the noise of the internet. */
const ATTACK_RATE = 2;
const CERTIFICATE_DAYS = 7;

/** What is not as it should be, the worst first. */
export function findings(model: Model, state: LiveState): Finding[] {
  const found = [
    ...ofTargets(state),
    ...ofErrors(model),
    ...ofWorkers(state),
    ...ofModules(state),
    ...ofCertificates(state),
    ...ofOperation(state),
  ];
  return found.sort((a, b) => RANK[b.grade] - RANK[a.grade]);
}

/** Refusals a second of all kinds. */
export function refusalRate(model: Model): number {
  return model.rateOf(({ totals }) => totals.wafBlocked + total(Object.values(totals.refusals)));
}

/** Whether what is refused is more than usual. */
export function isUnderAttack(model: Model): boolean {
  return refusalRate(model) >= ATTACK_RATE;
}

/** The label whose hundredth slowest request took longest. */
export function slowest(labels: readonly BusyLabel[]): BusyLabel | null {
  const asked = labels.filter(({ latency, label }) => latency !== null && !isInternalPath(label));
  return asked.sort((a, b) => b.latency![2] - a.latency![2])[0] ?? null;
}

/** The requests of the last minute in words. */
export function trafficWords(model: Model): string {
  const moments = model.since(MINUTE);
  if (moments.length === 0) return "No requests seen yet";
  const now = moments.slice(-5);
  const rate = total(now.map(requestsOf)) / now.length;
  if (rate === 0) return "No requests at the moment";
  const latency = moments.at(-1)!.latency;
  return `${number(rate)} requests/s${latency === null ? "" : `, p99 ${duration(latency[2])}`}`;
}

function ofTargets({ targets, targetCount }: LiveState): Finding[] {
  const down = targets.filter(({ breaker, healthy }) => breaker !== "closed" || !healthy);
  const drained = targets.filter((target) => target.drained);
  const found: Finding[] = [];
  if (down.length > 0) {
    const names = [...new Set(down.map(({ upstream }) => plain(upstream)))];
    const all = down.length === targetCount;
    const text = all ? "All targets are down" : `${down.length} of ${count(targetCount, "target")} down`;
    found.push({ grade: "bad", text, detail: names.slice(0, 3).join(", "), href: "#upstreams" });
  }
  if (drained.length > 0)
    found.push({ grade: "warn", text: `${count(drained.length, "target")} drained`, href: "#upstreams" });
  return found;
}

function ofErrors(model: Model): Finding[] {
  const moments = model.since(ERRORS_MS);
  const share = errorShare(moments);
  if (!(share >= FEW_ERRORS)) return [];
  const grade = share >= MANY_ERRORS ? "bad" : "warn";
  return [{ grade, text: `${percent(share)} of responses are 5xx`, href: "#slow" }];
}

function ofWorkers({ workers, totals }: LiveState): Finding[] {
  const found: Finding[] = [];
  workers.forEach(({ moves, load }, worker) => {
    if (!moves) found.push({ grade: "bad", text: `Worker ${worker} does not respond`, href: "#system" });
    else if (load > 0.9)
      found.push({ grade: "warn", text: `Worker ${worker} uses ${percent(load)} of a processor`, href: "#system" });
  });
  if (totals.logDropped > 0)
    found.push({ grade: "warn", text: `${count(totals.logDropped, "line")} of the log dropped`, href: "#log" });
  return found;
}

/** One whose thread is being started again has none for a moment. */
function ofModules({ modules }: LiveState): Finding[] {
  const away = modules.filter(({ threads }) => threads === 0);
  if (away.length === 0) return [];
  const names = away.slice(0, 3).map(({ name }) => plain(name));
  const text = `${count(away.length, "module")} without a thread`;
  return [{ grade: "bad", text, detail: names.join(", "), href: "#functions" }];
}

function ofCertificates({ certificates, at }: LiveState): Finding[] {
  return certificates.flatMap(({ domain, notAfterS }): Finding[] => {
    const left = notAfterS * 1000 - at;
    if (left > CERTIFICATE_DAYS * DAY) return [];
    if (left <= 0) return [{ grade: "bad", text: `Certificate of ${plain(domain)} has expired`, href: "#system" }];
    return [{ grade: "warn", text: `Certificate of ${plain(domain)} ends in ${span(left)}`, href: "#system" }];
  });
}

function ofOperation({ gateway }: LiveState): Finding[] {
  const found: Finding[] = [];
  if (gateway.status === "draining") found.push({ grade: "warn", text: "The gateway is ending", href: "#changes" });
  if (!gateway.lastReloadOk)
    found.push({
      grade: "warn",
      text: "The last reload failed: the configuration before it goes on",
      href: "#changes",
    });
  const { maintenance } = gateway;
  if (maintenance.length > 0)
    found.push({ grade: "warn", text: `Maintenance: ${plain(maintenance.slice(0, 3).join(", "))}`, href: "#changes" });
  return found;
}

const RANK: Readonly<Record<Grade, number>> = { bad: 2, warn: 1, good: 0, none: 0 };
