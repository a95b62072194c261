import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { networkAddress } from "../../core/ip-address.ts";
import { countedAddress } from "../../message/client-peer.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { requestHost } from "../../message/request-host.ts";
import { CookieValues } from "../../proto/semantics/cookie-values.ts";
import { MAX_BOUND_AGENT_BYTES } from "./agents.ts";

/** How long the task of a challenge may be solved, in milliseconds. */
const CHALLENGE_LIFE_MS = 300_000;
/** Cookies of one name in which edge looks for a pass: another site of the domain may have set further ones. */
const MAX_PASSES_TRIED = 4;

/** What a route asks of a pass. */
export interface PassTerms {
  /** Bits of work. */
  readonly difficulty: number;
  /** For how long a solved task counts. */
  readonly ttlMs: number;
}

/** Why a solution is refused; "none" where the request brings none. */
export type SolutionFault = "none" | "malformed" | "expired" | "weak" | "forged" | "unsolved";

/** What the cookies of a request are worth: a pass, a task that has just been solved (`pass` is what it gives), or nothing. */
type Standing =
  | { readonly is: "passed" }
  | { readonly is: "solved"; readonly pass: string }
  | { readonly is: "refused"; readonly solution: SolutionFault };

/**
 * Tasks and passes, stateless: both are signed texts that hold when they were issued and for how much work, and are worth something
 * to the client's network, user agent and host alone. A pass counts from when its task was issued, so that a solution which is sent
 * again gives the same pass again. docs/bots.md#tasks-and-passes
 */
export class BotTokens {
  private readonly key: string;
  private readonly passes: CookieValues = new CookieValues(PASS_COOKIE);
  private readonly solutions: CookieValues = new CookieValues(SOLUTION_COOKIE);

  /** @param secret what all that serve the same hosts have in common */
  constructor(secret: string) {
    this.key = createHmac("sha256", secret).update("edge bots").digest("base64url");
  }

  /** A new task for the client. @param nowMs milliseconds since the epoch */
  task(ex: Exchange, { difficulty }: PassTerms, nowMs: number): string {
    return this.signed("task", ex, Math.floor(nowMs / 1000).toString(36), difficulty);
  }

  /** Judges the cookies of a request. @param nowMs milliseconds since the epoch */
  judge(ex: Exchange, terms: PassTerms, nowMs: number): Standing {
    const { headers } = ex.request;
    if (headers.find(HeaderId.Cookie) < 0) return NOTHING;
    this.passes.begin(headers);
    for (let tried = 0; tried < MAX_PASSES_TRIED && this.passes.next(); tried++) {
      if (this.isPass(textOf(ex, this.passes), ex, terms, nowMs)) return PASSED;
    }
    let fault: SolutionFault = "none";
    this.solutions.begin(headers);
    for (let tried = 0; tried < MAX_PASSES_TRIED && this.solutions.next(); tried++) {
      const text = textOf(ex, this.solutions);
      const found = this.solutionFault(text, ex, terms, nowMs);
      if (found === "none") {
        const [issued = ""] = text.split(".");
        return { is: "solved", pass: this.signed("pass", ex, issued, difficultyOf(text)) };
      }
      fault = found;
    }
    return { is: "refused", solution: fault };
  }

  private isPass(text: string, ex: Exchange, { difficulty, ttlMs }: PassTerms, nowMs: number): boolean {
    const parts = TOKEN.exec(text);
    if (parts === null || Number(parts[2]) < difficulty) return false;
    return isWithin(parts[1]!, ttlMs, nowMs) && this.isSigned("pass", ex, parts[1]!, parts[2]!, text);
  }

  /** The cheapest check comes first. @returns "none" for one that is good */
  private solutionFault(text: string, ex: Exchange, { difficulty }: PassTerms, nowMs: number): SolutionFault {
    const parts = SOLUTION.exec(text);
    if (parts === null) return "malformed";
    const [, issued = "", bits = ""] = parts;
    if (!isWithin(issued, CHALLENGE_LIFE_MS, nowMs)) return "expired";
    if (Number(bits) < difficulty) return "weak";
    if (!this.isSigned("task", ex, issued, bits, text.slice(0, text.lastIndexOf(".")))) return "forged";
    return zeroBits(createHash("sha256").update(text).digest()) >= Number(bits) ? "none" : "unsolved";
  }

  private isSigned(purpose: string, ex: Exchange, issued: string, bits: string, text: string): boolean {
    const expected = Buffer.from(this.signed(purpose, ex, issued, Number(bits)));
    const found = Buffer.from(text);
    return found.length === expected.length && timingSafeEqual(found, expected);
  }

  private signed(purpose: string, ex: Exchange, issued: string, bits: number): string {
    const { headers } = ex.request;
    const agent = headers.find(HeaderId.UserAgent);
    const from = agent < 0 ? 0 : headers.valueFrom(agent);
    const to = agent < 0 ? 0 : headers.valueTo(agent);
    const mac = createHmac("sha256", this.key)
      .update(`${purpose}\n${issued}\n${bits}\n${networkOf(ex)}\n${requestHost(ex.request)}\n`)
      .update(headers.bytes.subarray(from, Math.min(to, from + MAX_BOUND_AGENT_BYTES)))
      .digest("base64url");
    return `${issued}.${bits}.${mac.slice(0, MAC_CHARS)}`;
  }
}

/** The network of a client; of clients that a proxy does not name, the proxy's. */
export function networkOf(ex: Exchange): string {
  return networkAddress(countedAddress(ex));
}

/** The bits before the first one that is set. */
export function zeroBits(hash: Uint8Array): number {
  let bits = 0;
  for (const byte of hash) {
    if (byte !== 0) return bits + Math.clz32(byte) - 24;
    bits += 8;
  }
  return bits;
}

/** Whether a moment in seconds, as text, is at most so long ago; clocks of a fleet may differ a little. */
function isWithin(issued: string, lifeMs: number, nowMs: number): boolean {
  const ageMs = nowMs - Number.parseInt(issued, 36) * 1000;
  return ageMs <= lifeMs && ageMs >= -CLOCK_SKEW_MS;
}

function difficultyOf(text: string): number {
  return Number(text.split(".")[1]);
}

function textOf({ request: { headers } }: Exchange, { from, to }: CookieValues): string {
  return to - from > MAX_TOKEN_CHARS ? "" : Buffer.from(headers.bytes.subarray(from, to)).latin1Slice();
}

/** The cookies: a pass, which is the gateway's, and a solution, which its page sets. */
export const PASS_COOKIE = "edge_pass";
export const SOLUTION_COOKIE = "edge_solution";

/** 132 bits. */
const MAC_CHARS = 22;
/** When, for how much work, signature; of a solution also the number that solves it. */
const TOKEN = /^([0-9a-z]{6,7})\.(\d{1,2})\.[A-Za-z0-9_-]{22}$/;
const SOLUTION = /^([0-9a-z]{6,7})\.(\d{1,2})\.[A-Za-z0-9_-]{22}\.[0-9a-z]{1,11}$/;
const MAX_TOKEN_CHARS = 64;
const CLOCK_SKEW_MS = 30_000;
const PASSED: Standing = { is: "passed" };
const NOTHING: Standing = { is: "refused", solution: "none" };
