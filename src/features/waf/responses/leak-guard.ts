import type { TimerWheel } from "../../../core/timer-wheel.ts";
import type { Exchange, IdleExchangePorts } from "../../../message/exchange.ts";
import type { NowMs } from "../../../message/ports.ts";
import { type IncidentListener, snippetOf } from "../incident.ts";
import { idsOf } from "../rule.ts";
import { type RuleExclusion, RuleSwitches } from "../rule-switches.ts";
import type { AddressSet } from "../waf-scorer.ts";
import { KEY_RULE, LEAK_RULES } from "./leak-rules.ts";
import type { Leak } from "./leak-scan.ts";
import { type LeakJudge, LeakSink } from "./leak-sink.ts";

/** Settings of responses: `waf.responses`, and the rules that do not count. */
interface LeakSettings {
  /** Whether a response that leaks is withheld, rather than logged alone. */
  readonly withholds: boolean;
  readonly disabledRules: readonly string[];
  readonly exclusions: readonly RuleExclusion[];
}

/** What looking at responses asks of its worker. */
export interface LeakPorts {
  readonly listener: IncidentListener;
  readonly clock: NowMs;
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  readonly idle: IdleExchangePorts;
  /** Room for what is held of responses; one for all routes of a worker. */
  readonly room: HeldRoom;
  /** Clients whose responses are not looked at. */
  readonly allowedIps: AddressSet;
}

/** Bytes that may be held at the same time. */
export class HeldRoom {
  private left: number;

  constructor(bytes: number) {
    this.left = bytes;
  }

  /** @returns whether there was room */
  take(bytes: number): boolean {
    if (bytes > this.left) return false;
    this.left -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.left += bytes;
  }
}

/**
 * Which leaks count, and what is done about one. Responses are looked at before a coding, a page or the cache makes something else of
 * them; the cache's own fetches come this way, too. docs/waf.md#responses
 */
export class LeakPolicy implements LeakJudge {
  readonly services: LeakPorts;
  readonly withholds: boolean;
  private readonly switches: RuleSwitches;
  /** The rules that count on every path; null where paths have exclusions. */
  private readonly everywhere: typeof LEAK_RULES | null;

  constructor(settings: LeakSettings, services: LeakPorts) {
    this.services = services;
    this.withholds = settings.withholds;
    const { disabledRules, exclusions } = settings;
    this.switches = new RuleSwitches(idsOf(disabledRules, LEAK_RULES), exclusions);
    this.everywhere = exclusions.length === 0 ? LEAK_RULES.filter((rule) => !this.switches.isDisabled(rule)) : null;
  }

  /** Looks at the response of a request, unless its client is one whose responses are not looked at. */
  watch(ex: Exchange): void {
    if (!this.services.allowedIps.has(ex.clientIp)) ex.sink = new LeakSink(ex.sink, this);
  }

  /** The rules that count for a request's response. */
  rulesFor({ request }: Exchange): typeof LEAK_RULES {
    if (this.everywhere !== null) return this.everywhere;
    this.switches.begin();
    return LEAK_RULES.filter((rule) => !this.switches.isOff(rule, request, null));
  }

  /** Reports a leak. @returns whether the response is to be withheld */
  report(ex: Exchange, { rule, text, at, words }: Leak): boolean {
    const { listener, clock } = this.services;
    const isBlocked = this.withholds && rule.isWithheld;
    listener.onIncident(
      {
        timestampMs: clock.nowMs,
        clientIp: ex.clientIp,
        method: ex.request.methodText(),
        path: ex.request.targetBeforeQuery(),
        category: rule.category,
        ruleId: rule.id,
        anomalyScore: rule.score,
        action: isBlocked ? "blocked" : "logged",
        location: "response",
        payloadSnippet:
          rule.id === KEY_RULE ? words : snippetOf(text.slice(Math.max(0, at - LEAD_CHARS), at + LEAD_CHARS), 0),
        ...(rule.crs === undefined ? {} : { crs: rule.crs[0]! }),
      },
      ex,
    );
    return isBlocked;
  }
}

const LEAD_CHARS = 64;
