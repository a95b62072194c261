import type { Answer, OriginView, Outcome } from "./lane.ts";

/** What one origin's lane gave. */
export interface LaneOutcome {
  readonly lane: string;
  readonly outcome: Outcome;
}

/** What an origin refuses by a rule of its own that is not one of framing; found by looking at the bytes. */
interface KnownRefusal {
  readonly lane: string;
  readonly why: string;
  readonly isIn: (text: string) => boolean;
}

/**
 * Each of these is one request, one answer and the end of that origin's connection: nothing gets out of step. Whatever
 * is refused and is not in this table is a difference.
 */
const KNOWN_REFUSALS: readonly KnownRefusal[] = [];

/** What is different between the lanes; null when all origins have understood the same. */
export function differenceOf(text: string, lanes: readonly LaneOutcome[]): string | null {
  for (const { lane, outcome } of lanes) {
    if (outcome.fault !== null) return `${lane}: ${outcome.fault}, after ${statuses(outcome)}`;
  }
  const [first, ...others] = lanes;
  if (first === undefined) return null;
  for (const other of others) {
    const [a, b] = [first.outcome.answers, other.outcome.answers];
    if (a.length !== b.length) {
      return `${first.lane} gave ${statuses(first.outcome)}, ${other.lane} gave ${statuses(other.outcome)}`;
    }
  }
  for (let i = 0; i < first.outcome.answers.length; i++) {
    const row = lanes.map(({ lane, outcome }) => ({ lane, answer: outcome.answers[i]! }));
    const difference = differenceOfRow(text, row);
    if (difference !== null) return `answer ${i + 1}: ${difference}`;
  }
  return null;
}

/** Whether an origin refused anything that was forwarded. */
export function refusalsIn(lanes: readonly LaneOutcome[]): number {
  return lanes.filter(({ outcome }) => outcome.answers.some((answer) => answer.from === "refusal")).length;
}

interface Cell {
  readonly lane: string;
  readonly answer: Answer;
}

function differenceOfRow(text: string, row: readonly Cell[]): string | null {
  const taken: Cell[] = [];
  for (const cell of row) {
    if (cell.answer.from !== "refusal") taken.push(cell);
    else if (!isKnown(text, cell)) return `${cell.lane} refused with ${cell.answer.status} what was forwarded`;
  }
  const [first, ...others] = taken;
  if (first === undefined) return null;
  for (const other of others) {
    const said = [first, other].map(({ lane, answer }) => `${lane}: ${answer.status} from the ${answer.from}`);
    if (first.answer.status !== other.answer.status || first.answer.from !== other.answer.from) return said.join(", ");
    const difference = differenceOfViews(first, other);
    if (difference !== null) return difference;
  }
  return null;
}

function isKnown(text: string, { lane, answer }: Cell): boolean {
  if (answer.status < 400 || answer.status > 499) return false;
  return KNOWN_REFUSALS.some((known) => known.lane === lane && known.isIn(text));
}

function differenceOfViews(a: Cell, b: Cell): string | null {
  // nginx takes trailers and throws them away.
  const hasTrailers = a.lane !== "nginx" && b.lane !== "nginx";
  const [first, second] = [a, b].map(({ answer }) => canonical(answer.view, hasTrailers));
  return first === second ? null : `${a.lane} and ${b.lane} saw different requests:\n  ${first}\n  ${second}`;
}

function canonical(view: OriginView | null, hasTrailers: boolean): string {
  if (view === null) return "";
  const { method, target, length, sha256 } = view;
  const headers = canonicalFields(view.headers);
  const trailers = hasTrailers ? canonicalFields(view.trailers) : [];
  return JSON.stringify({ method, target, length, sha256, headers, trailers });
}

/** Names in order, values without the white space around them, and without what is not the request's own. */
function canonicalFields(fields: OriginView["headers"]): readonly (readonly [string, string[]])[] {
  return Object.entries(fields)
    .filter(([name]) => !PER_HOP.includes(name))
    .map(([name, values]) => [name, [values].flat().map((value) => trimmed(name, value))] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function trimmed(name: string, value: string): string {
  if (name === "x-request-id" && MADE_ID.test(value)) return "(made by the gateway)";
  // What a request without Host gets.
  if (name === "host" && ORIGIN_HOST.test(value)) return "(the origin's own)";
  return value.replace(/^[ \t]+|[ \t]+$/g, "");
}

function statuses(outcome: Outcome): string {
  return outcome.answers.map((answer) => `${answer.status} from the ${answer.from}`).join(", ") || "nothing";
}

/** nginx frames bodies and manages its connections in its own way; what a body is stands in length and sha256. */
const PER_HOP = ["connection", "content-length", "transfer-encoding"];
const ORIGIN_HOST = /^127\.0\.0\.1:\d+$/;
const MADE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
