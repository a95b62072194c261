import { Fault } from "../../core/fault.ts";
import { type Exchange, ExchangeState, type Phase, type ResponseSource, Verdict } from "../../message/exchange.ts";
import { ExtraFields } from "../../message/extra-fields.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { NowMs } from "../../message/ports.ts";
import { Method, type RequestHead } from "../../message/request-head.ts";
import { requestScheme } from "../../message/request-scheme.ts";
import { prefersHtml } from "../../proto/semantics/accept.ts";
import { routedPath } from "../../proto/target/routed-path.ts";
import { type AgentFacts, type AgentReader, MAX_BOUND_AGENT_BYTES } from "./agents.ts";
import {
  type BotTokens,
  networkOf,
  PASS_COOKIE,
  type PassTerms,
  SOLUTION_COOKIE,
  type SolutionFault,
} from "./bot-tokens.ts";
import { challengeResponse } from "./challenge-page.ts";
import type { CrawlerCheck } from "./crawler-check.ts";
import type { CrawlerName } from "./crawlers.ts";
import type { Impostors } from "./impostors.ts";
import { FALSE_CRAWLER, opensSocket, signalOf } from "./signals.ts";

/** Who must solve a task at a route. */
export interface BotRules extends PassTerms {
  /** Whether every client must, and not just one that shows a signal. */
  readonly asksAll: boolean;
  /** Whether suspicious clients must. */
  readonly asksSuspicious: boolean;
  readonly impostors: "off" | "detection" | "challenge" | "block";
  readonly crawlers: ReadonlySet<CrawlerName>;
  /** Finds the user agents that are kept out; null for none. */
  readonly blocked: RegExp | null;
  /** Finds the user agents that are admitted; null for none. */
  readonly agents: RegExp | null;
  readonly networks: { has(address: string): boolean };
  /** Whether everything is open at a canonical path. */
  isOpen(path: string): boolean;
}

/** Why a request is challenged. */
export interface ChallengeCause {
  /** The name of a signal, or "all". */
  readonly reason: string;
  /** What was wrong with the solution that it brought. */
  readonly solution: SolutionFault;
  /** Whether the client gets the page; a program gets JSON. */
  readonly isPage: boolean;
}

/** Who wants to know: the counters and the log. */
export interface BotListener {
  onBotChallenged(ex: Exchange, cause: ChallengeCause): void;
  onBotSolved(ex: Exchange): void;
  onImpostor(ex: Exchange, action: BotRules["impostors"], ja4: string): void;
}

/** What the phase is made of. */
export interface BotPorts {
  /** One entry a route, by its index; null if no client is asked. */
  readonly rules: readonly (BotRules | null)[];
  readonly tokens: BotTokens;
  readonly agents: AgentReader;
  readonly impostors: Impostors;
  readonly crawlers: CrawlerCheck;
  /** Milliseconds since the epoch. */
  readonly clock: NowMs;
  /** Runs something that is not a socket event as a turn of its own. */
  readonly turns: { inTurn(work: () => void): void };
  readonly listener: BotListener;
  /** Says what rules for agents make of a request: whether it is challenged; null without such rules. docs/agents.md#rules */
  readonly agentAction: ((ex: Exchange) => string) | null;
}

/**
 * `bots`: asks clients for a task before it lets them in; the gateway's own cookies are removed from what goes on, on every route.
 * docs/bots.md
 */
export class BotPhase implements Phase {
  readonly name = "bots";
  private readonly parts: BotPorts;

  constructor(parts: BotPorts) {
    this.parts = parts;
  }

  run(ex: Exchange): Verdict {
    const rules = this.parts.rules[ex.route!.index]!;
    const verdict = rules === null ? Verdict.Next : this.judge(ex, rules);
    if (verdict === Verdict.Next) dropOwnCookies(ex.request);
    return verdict;
  }

  private judge(ex: Exchange, rules: BotRules): Verdict {
    const agent = ex.request.headers.valueOf(HeaderId.UserAgent);
    if (rules.blocked?.test(agent.slice(0, MAX_BOUND_AGENT_BYTES)) === true && !isLetIn(ex, rules, agent)) {
      ex.sink.abort(ex, Fault.AgentRefused);
      return Verdict.Done;
    }
    const facts = this.parts.agents.read(agent);
    const action = this.parts.agentAction?.(ex) ?? "";
    if (action === "allow") return Verdict.Next;
    const ja4 = rules.impostors === "off" ? "" : this.parts.impostors.find(ex, agent, facts);
    const reason = action === "challenge" ? "all" : reasonFor(ex, rules, facts, ja4);
    if ((reason === "" && ja4 === "") || isLetIn(ex, rules, agent)) return Verdict.Next;
    if (ja4 !== "") this.parts.listener.onImpostor(ex, rules.impostors, ja4);
    if (ja4 !== "" && rules.impostors === "block") {
      ex.sink.abort(ex, Fault.Impostor);
      return Verdict.Done;
    }
    if (reason === "") return Verdict.Next;
    const standing = this.parts.tokens.judge(ex, rules, this.parts.clock.nowMs);
    if (standing.is === "passed") return Verdict.Next;
    if (standing.is === "solved") {
      ex.response.addExtra(passFields(standing.pass, rules.ttlMs, requestScheme(ex) === "https"));
      this.parts.listener.onBotSolved(ex);
      return Verdict.Next;
    }
    const { solution } = standing;
    const { crawler } = facts;
    if (crawler === null || !rules.crawlers.has(crawler)) return this.challenge(ex, rules, reason, solution);
    return this.verify(ex, crawler, () => this.challenge(ex, rules, FALSE_CRAWLER, solution));
  }

  /** A crawler has no body to send: a request with one waits for nothing. */
  private verify(ex: Exchange, crawler: CrawlerName, refuse: () => Verdict): Verdict {
    const { crawlers, turns } = this.parts;
    const standing = crawlers.standing(crawler, ex.clientIp);
    if (standing === "verified") return Verdict.Next;
    if (standing === "refused" || ex.request.hasBody()) return refuse();
    const wait = new CrawlerWait(ex);
    const isAsked = crawlers.ask(crawler, ex.clientIp, networkOf(ex), (isVerified) => {
      turns.inTurn(() => {
        if (!wait.end()) return;
        if (!isVerified) refuse();
        else {
          dropOwnCookies(ex.request);
          ex.pipeline.resume(ex);
        }
      });
    });
    if (isAsked) return Verdict.Wait;
    wait.end();
    return refuse();
  }

  private challenge(ex: Exchange, rules: BotRules, reason: string, solution: SolutionFault): Verdict {
    const { listener, tokens, clock } = this.parts;
    const { request } = ex;
    const isPage = !opensSocket(request) && prefersHtml(request.headers);
    listener.onBotChallenged(ex, { reason, solution, isPage });
    ex.detail = reason;
    if (!isPage) {
      ex.sink.abort(ex, Fault.BotChallenge);
      return Verdict.Done;
    }
    ex.fault = Fault.BotChallenge;
    const page = challengeResponse({
      task: tokens.task(ex, rules, clock.nowMs),
      difficulty: rules.difficulty,
      isAgain: solution !== "none",
      sends: request.method !== Method.Get && request.method !== Method.Head,
      requestId: ex.pipeline.nameOf(ex),
    });
    ex.sink.fixed(ex, page);
    return Verdict.Done;
  }
}

/** Why a client is asked; "" if it is not. */
function reasonFor(ex: Exchange, rules: BotRules, facts: AgentFacts, ja4: string): string {
  if (rules.asksAll) return "all";
  if (ja4 !== "" && rules.impostors === "challenge") return "impostor";
  if (!rules.asksSuspicious) return "";
  const signal = signalOf(ex, facts);
  return signal === "" && facts.crawler !== null ? FALSE_CRAWLER : signal;
}

/** An exchange that waits for name servers. Its end ends the wait. */
class CrawlerWait implements ResponseSource {
  private readonly ex: Exchange;
  private readonly clientSource: ResponseSource;
  private isOver = false;

  constructor(ex: Exchange) {
    this.ex = ex;
    this.clientSource = ex.source;
    ex.source = this;
  }

  /** @returns whether the exchange still waits */
  end(): boolean {
    if (this.isOver || this.ex.state !== ExchangeState.Open) return false;
    this.isOver = true;
    this.ex.source = this.clientSource;
    return true;
  }

  onWritable(): void {}

  onCancelled(): void {
    this.isOver = true;
  }
}

function isLetIn(ex: Exchange, rules: BotRules, agent: string): boolean {
  const path = routedPath(ex.request, ex.canonicalPath);
  // An origin that decodes more than once might find another path in what is still encoded.
  if (!path.includes("%") && rules.isOpen(path)) return true;
  return rules.networks.has(ex.clientIp) || rules.agents?.test(agent) === true;
}

/** A cache on the way must not give one client's cookie to others. RFC 9111 §5.2.2.7 */
function passFields(pass: string, ttlMs: number, isSecure: boolean): ExtraFields {
  const secure = isSecure ? "; Secure" : "";
  return new ExtraFields([
    [
      "Set-Cookie",
      `${PASS_COOKIE}=${pass}; Path=/; Max-Age=${Math.floor(ttlMs / 1000)}; HttpOnly; SameSite=Lax${secure}`,
    ],
    ["Set-Cookie", `${SOLUTION_COOKIE}=; Path=/; Max-Age=0; SameSite=Lax${secure}`],
    ["Cache-Control", "private"],
  ]);
}

/** No origin sees the gateway's cookies, which would let a client in elsewhere. */
function dropOwnCookies(request: RequestHead): void {
  request.headers.rewriteAll(HeaderId.Cookie, (text) => {
    if (!OWN_COOKIES.test(text)) return text;
    const kept = text.split(";").filter((pair) => !OWN_COOKIE.test(pair));
    return kept.length === 0 ? null : kept.join(";").trim();
  });
}

const OWN_COOKIES = new RegExp(`${PASS_COOKIE}|${SOLUTION_COOKIE}`);
const OWN_COOKIE = new RegExp(`^\\s*(${PASS_COOKIE}|${SOLUTION_COOKIE})\\s*=`);
