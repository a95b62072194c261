import { METHODS } from "node:http";
import type { Answer, OriginView, Outcome } from "./lane.ts";

/** What one origin's lane gave. */
export interface LaneOutcome {
  readonly lane: string;
  readonly outcome: Outcome;
}

/** What an origin refuses by a rule of its own that is not one of framing. */
interface KnownRefusal {
  readonly lane: string;
  readonly why: string;
  /** Judged by what the other origins saw. */
  readonly applies: (view: OriginView) => boolean;
}

/**
 * Each of these is one request, one answer and the end of that origin's connection: nothing gets out of step. Whatever
 * is refused and is not in this table is a difference.
 */
const KNOWN_REFUSALS: readonly KnownRefusal[] = [
  {
    lane: "node",
    why: "it knows the registered methods only",
    applies: ({ method }) => !METHODS.includes(method),
  },
  {
    lane: "nginx",
    why: "a method is upper-case letters, hyphens and underscores",
    applies: ({ method }) => !/^[A-Z_-]+$/.test(method),
  },
  {
    lane: "nginx",
    why: "a host has no empty label, and a host is there",
    applies: ({ headers }) => /^$|\.\./.test(String(headers.host)),
  },
  ...["nginx", "go"].map((lane) => ({
    lane,
    why: "a percent sign in a path begins two hexadecimal digits",
    applies: ({ target }: OriginView) => /^[^?]*%(?![0-9A-Fa-f]{2})/.test(target),
  })),
  {
    lane: "nginx",
    why: "a path has no NUL",
    applies: ({ target }) => /^[^?]*%00/.test(target),
  },
];

/** What is different between the lanes; null when all origins have understood the same. */
export function differenceOf(lanes: readonly LaneOutcome[]): string | null {
  const longest = Math.max(...lanes.map(({ outcome }) => outcome.answers.length));
  for (let i = 0; i < longest; i++) {
    const row = lanes.flatMap(({ lane, outcome }) => cellAt(lane, outcome, i));
    const difference = differenceOfRow(row);
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
  /** Null where the lane gave no such answer. */
  readonly answer: Answer | null;
}

/** The answer of a lane; none after a refusal, with which the connection may have been closed. */
function cellAt(lane: string, { answers }: Outcome, index: number): Cell[] {
  const answer = answers[index] ?? null;
  return answer === null && answers.at(-1)?.from === "refusal" ? [] : [{ lane, answer }];
}

function differenceOfRow(row: readonly Cell[]): string | null {
  const view = row.find(({ answer }) => answer !== null && answer.view !== null)?.answer?.view ?? null;
  const taken: Cell[] = [];
  for (const cell of row) {
    if (cell.answer?.from !== "refusal") taken.push(cell);
    else if (!isKnown(cell.lane, cell.answer.status, view) && !isRefusedByAll(row)) {
      return `${cell.lane} refused with ${cell.answer.status} what was forwarded: ${canonical(view, true)}`;
    }
  }
  const [first, ...others] = taken;
  for (const other of others) {
    const [a, b] = [first!, other].map(({ lane, answer }) => ({ lane, said: saidIn(answer) }));
    if (a!.said !== b!.said) return `${a!.lane} gave ${a!.said}, ${b!.lane} gave ${b!.said}`;
    const difference = differenceOfViews(first!, other);
    if (difference !== null) return difference;
  }
  return null;
}

/** A passthrough origin may refuse a head before the gateway meets the fault in the body behind it. */
function isRefusedByAll(row: readonly Cell[]): boolean {
  return row.every(({ answer }) => answer !== null && answer.from !== "origin" && answer.status >= 400);
}

function saidIn(answer: Answer | null): string {
  return answer === null ? "no answer" : `${answer.status} from the ${answer.from}`;
}

function isKnown(lane: string, status: number, view: OriginView | null): boolean {
  if (view === null || status < 400 || status > 499) return false;
  return KNOWN_REFUSALS.some((known) => known.lane === lane && known.applies(view));
}

function differenceOfViews(a: Cell, b: Cell): string | null {
  for (const { lane, answer } of [a, b]) {
    if (answer !== null && answer.view !== null && !isFramedOnce(answer.view)) {
      return `${lane} got a body of ${answer.view.length} bytes framed by ${JSON.stringify(answer.view.headers)}`;
    }
  }
  // nginx takes trailers and throws them away.
  const hasTrailers = a.lane !== "nginx" && b.lane !== "nginx";
  const [first, second] = [a, b].map(({ answer }) => canonical(answer?.view ?? null, hasTrailers));
  return first === second ? null : `${a.lane} and ${b.lane} saw different requests:\n  ${first}\n  ${second}`;
}

/** By its exact length, by chunks or, without a body, by nothing. */
function isFramedOnce({ headers, length }: OriginView): boolean {
  const declared = headers["content-length"];
  if (declared !== undefined) return declared === String(length) && headers["transfer-encoding"] === undefined;
  return length === 0 || headers["transfer-encoding"] === "chunked";
}

function canonical(view: OriginView | null, hasTrailers: boolean): string {
  if (view === null) return "(unknown)";
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

/** nginx frames bodies and manages its connections in its own way. What a body is stands in length and sha256. */
const PER_HOP = ["connection", "content-length", "transfer-encoding", "te"];
const ORIGIN_HOST = /^127\.0\.0\.1:\d+$/;
const MADE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
