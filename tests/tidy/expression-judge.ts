// A thread that judges expressions: each message is one, and its answer says what a match of it may cost.
import type { AttackPattern } from "recheck";
import { checkSync } from "recheck/lib/browser.js";
import type { Judged, Verdict } from "./expression-verdicts.ts";

declare const self: Worker;

/** How long a search by trial goes on, for each of its parts. */
const SEARCH_MS = 3000;
/** Below it nothing is compared. */
const SHOWN_MS = 30;
const LONGEST = 262_144;

self.onmessage = ({ data }: MessageEvent<Judged>) => {
  self.postMessage(verdictOn(data));
};

function verdictOn({ text, timeoutMs }: Judged): Verdict {
  const startMs = performance.now();
  const end = text.lastIndexOf("/");
  const [source, flags] = [text.slice(1, end), text.slice(end + 1)];
  const found = checkSync(source, flags, {
    timeout: timeoutMs,
    incubationTimeout: SEARCH_MS,
    attackTimeout: SEARCH_MS,
  });
  const tookMs = performance.now() - startMs;
  if (found.status === "safe") return { cost: "linear", attack: "", tookMs };
  if (found.status === "unknown") return { cost: "unknown", attack: found.error.kind, tookMs };
  const { attack, complexity, checker } = found;
  if (complexity.type === "exponential") return { cost: "exponential", attack: attack.pattern, tookMs };
  // A search by trial takes steps that are many, and bounded, for more: then the texts themselves tell.
  const isShown = checker === "automaton" || isSuperlinear(new RegExp(source, flags), attack);
  return { cost: isShown ? "polynomial" : "linear", attack: attack.pattern, tookMs };
}

/** Whether twice the text takes much more than twice the time, at the first length at which it takes long. */
function isSuperlinear(expression: RegExp, attack: AttackPattern): boolean {
  for (let length = 1024; length <= LONGEST; length *= 2) {
    const ms = msOf(expression, pumped(attack, length));
    if (ms > SHOWN_MS) return msOf(expression, pumped(attack, length * 2)) > 2.8 * ms;
  }
  return false;
}

function pumped({ pumps, suffix }: AttackPattern, length: number): string {
  const times = length / pumps.reduce((sum, { pump }) => sum + pump.length, 0);
  return pumps.map(({ prefix, pump }) => prefix + pump.repeat(times)).join("") + suffix;
}

/** The least of three runs: the first one also compiles the expression. */
function msOf(expression: RegExp, text: string): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) {
    const startMs = performance.now();
    expression.test(text);
    least = Math.min(least, performance.now() - startMs);
  }
  return least;
}
