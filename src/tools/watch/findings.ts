import type { LiveModule, LiveState, LiveTarget } from "../../features/dashboard/live-state.ts";
import { share, span } from "./text.ts";

/** Something that is not as it should be. */
export interface Finding {
  /** Whether requests suffer from it, or will soon. */
  readonly isBad: boolean;
  readonly text: string;
}

/** Whether a gateway is well, as `edge status` and `edge top` say it. docs/tools.md#status */
export function findings(state: LiveState): readonly Finding[] {
  return [
    ...ofProcess(state),
    ...ofTargets(state.targets),
    ...ofModules(state.modules),
    ...ofCertificates(state),
    ...ofTraffic(state),
  ];
}

function ofProcess({ gateway, workers, totals }: LiveState): Finding[] {
  const found: Finding[] = [];
  const still = workers.flatMap(({ moves }, i) => (moves ? [] : [i]));
  if (gateway.status === "draining") found.push(bad("the gateway is draining"));
  if (still.length > 0)
    found.push(bad(`${plural(still.length, "worker")} of ${workers.length} stalled or starting: ${still.join(", ")}`));
  if (!gateway.lastReloadOk) found.push(bad("the last reload failed: the files are not what serves"));
  // One of an older version does not say.
  const { failedLogs = [] } = gateway as Partial<typeof gateway>;
  if (failedLogs.length > 0) found.push(bad(`the access log cannot be written: ${listed(failedLogs)}`));
  if (gateway.maintenance.length > 0) found.push(note(`under maintenance: ${listed(gateway.maintenance)}`));
  if (totals.logDropped > 0) found.push(note(`${plural(totals.logDropped, "line")} of the log dropped`));
  if (gateway.logLevel !== "info") found.push(note(`the log level is ${gateway.logLevel}`));
  return found;
}

/** A route without any target that may be used is worse than one that has lost some. */
function ofTargets(targets: readonly LiveTarget[]): Finding[] {
  const found: Finding[] = [];
  const isOut = ({ breaker, healthy }: LiveTarget): boolean => breaker === "open" || !healthy;
  for (const [route, own] of Map.groupBy(targets, (target) => target.route)) {
    if (own.every((target) => isOut(target) || target.drained)) found.push(bad(`${route} has no target left`));
  }
  const out = [...new Set(targets.filter(isOut).map(({ upstream }) => upstream))];
  const drained = [...new Set(targets.filter((target) => target.drained).map(({ upstream }) => upstream))];
  if (out.length > 0) found.push(bad(`${plural(out.length, "target")} out: ${listed(out)}`));
  if (drained.length > 0) found.push(note(`drained: ${listed(drained)}`));
  return found;
}

/** It cannot be loaded, or is being started again. */
function ofModules(modules: readonly LiveModule[]): Finding[] {
  const away = modules.filter(({ threads }) => threads === 0).map(({ name }) => name);
  return away.length === 0 ? [] : [bad(`${plural(away.length, "module")} without a thread: ${listed(away)}`)];
}

function ofCertificates({ at, certificates }: LiveState): Finding[] {
  return certificates.flatMap(({ domain, notAfterS }) => {
    const left = notAfterS * 1000 - at;
    if (left <= 0) return [bad(`the certificate of ${domain} has expired`)];
    return left < SOON_MS ? [bad(`the certificate of ${domain} expires in ${span(left)}`)] : [];
  });
}

/** Of the last minute, where the history is there. */
function ofTraffic({ at, history = [] }: LiveState): Finding[] {
  const last = history.at(-1);
  const first = history.find(([when]) => at - when <= RECENT_MS);
  if (last === undefined || first === undefined) return [];
  const requests = last[1].reduce((sum, value, i) => sum + value - (first[1][i] ?? 0), 0);
  const failed = (last[1][5] ?? 0) - (first[1][5] ?? 0);
  if (requests < ENOUGH_REQUESTS || failed / requests < FAILED_SHARE) return [];
  return [bad(`${share(failed, requests)} of the requests of the last minute were answered with 5xx`)];
}

function bad(text: string): Finding {
  return { isBad: true, text };
}

function note(text: string): Finding {
  return { isBad: false, text };
}

function plural(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(", ");
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown;
}

const MAX_NAMES = 3;
/** Certificates are renewed long before. */
const SOON_MS = 7 * 86_400_000;
const RECENT_MS = 60_000;
const ENOUGH_REQUESTS = 20;
const FAILED_SHARE = 0.05;
