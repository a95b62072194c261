import { isInternalPath } from "../../../core/internal-path.ts";
import { durationText, numberText } from "../../../core/number-text.ts";
import type { LiveVerdict } from "../live-state.ts";
import { THRESHOLDS } from "../thresholds.ts";
import { plain } from "./format.ts";
import { type BusyLabel, type Model, requestsOf, total } from "./model.ts";

/** How bad something is. */
export type Grade = "good" | "warn" | "bad" | "none";

const MINUTE = 60_000;
/** Reasons that there is room for. */
const MAX_REASONS = 5;

/** What stands in the card of a question. */
interface Card {
  readonly grade: Grade;
  readonly headline: string;
  readonly lines: readonly string[];
  readonly href: string;
}

/** Whether it is well, in the words of the control thread. */
export function wellCard({ word, isWell, findings }: LiveVerdict): Card {
  const left = findings.length - MAX_REASONS;
  const lines = findings.slice(0, MAX_REASONS).map(({ text }) => plain(text));
  if (left > 0) lines.push(`and ${left} more`);
  const grade = isWell ? (findings.length > 0 ? "warn" : "good") : "bad";
  return { grade, headline: word, lines, href: `#${findings[0]?.about ?? "overview"}` };
}

/** Refusals a second of all kinds. */
export function refusalRate(model: Model): number {
  return model.rateOf(({ totals }) => totals.wafBlocked + total(Object.values(totals.refusals)));
}

/** Whether what is refused is more than usual. */
export function isUnderAttack(model: Model): boolean {
  return refusalRate(model) >= THRESHOLDS.refusals.value;
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
  return `${numberText(rate)} requests/s${latency === null ? "" : `, p99 ${durationText(latency[2])}`}`;
}
