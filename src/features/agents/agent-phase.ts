import { Fault } from "../../core/fault.ts";
import { agentPattern, fitsAgent } from "../../message/agent-pattern.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { AgentsConfig } from "./settings.ts";

/** The verdict on a request. */
type AgentAction = AgentsConfig["rules"][number]["action"] | "pass";

/** A rule, ready to judge. */
interface AgentRule {
  readonly pattern: string;
  readonly action: AgentAction;
  /** Takes a request of the agent into account; null without one. */
  readonly limit: AgentLimit | null;
}

/** How often an agent may come. */
export interface AgentLimit {
  /** @returns the refusal; null if the request may go on */
  take(ex: Exchange): PrebuiltResponse | null;
}

/** The rules of a configuration. */
export class AgentRules {
  private readonly rules: readonly AgentRule[];
  private readonly unsigned: AgentsConfig["unsigned"];

  /** @param limitOf makes the limit of a rule, by its number; null without one */
  constructor(config: AgentsConfig, limitOf: (rule: number) => AgentLimit | null) {
    this.unsigned = config.unsigned;
    this.rules = config.rules.map(({ agent, action }, i) => ({
      pattern: agentPattern(agent),
      action,
      limit: limitOf(i),
    }));
  }

  /** The first rule that fits an agent; null if none does. */
  ruleOf(agent: string): AgentRule | null {
    return this.rules.find(({ pattern }) => fitsAgent(pattern, agent)) ?? null;
  }

  /** The verdict on a request. */
  actionOf(ex: Exchange): AgentAction {
    const agent = ex.agentName;
    return agent === "" ? this.unsigned : (this.ruleOf(agent)?.action ?? "pass");
  }
}

/** `agents`: applies the rules for agents that sign, and for requests that are not signed. docs/agents.md#rules */
export class AgentPhase implements Phase {
  readonly name = "agents";
  private readonly rules: AgentRules;

  constructor(rules: AgentRules) {
    this.rules = rules;
  }

  run(ex: Exchange): Verdict {
    const agent = ex.agentName;
    // Health checks, metrics and robots.txt have rules of their own.
    if (ex.route!.kind.isBuiltIn) return Verdict.Next;
    const refusal = agent === "" ? null : (this.rules.ruleOf(agent)?.limit?.take(ex) ?? null);
    if (refusal !== null) {
      ex.sink.fixed(ex, refusal);
      return Verdict.Done;
    }
    const fault = FAULTS[this.rules.actionOf(ex)];
    if (fault === Fault.None) return Verdict.Next;
    ex.sink.abort(ex, fault);
    return Verdict.Done;
  }
}

/** A challenge is that of bots, which comes later. */
const FAULTS: Readonly<Record<AgentAction, Fault>> = {
  pass: Fault.None,
  allow: Fault.None,
  challenge: Fault.None,
  block: Fault.AgentRefused,
  payment: Fault.PaymentRequired,
};
