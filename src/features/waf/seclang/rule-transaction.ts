import type { RuleState } from "../../../message/rule-state.ts";
import {
  type ChainedRule,
  isNamed,
  type RuleEngine,
  type RuleNames,
  type RuleTarget,
} from "../../../proto/seclang/rule-set.ts";
import type { RequestFacts } from "./request-facts.ts";
import type { RuleValue } from "./rule-values.ts";

/**
 * Steps that rules of `waf.rules` may take in one request. A byte that an operator or a transformation looks at is a step of some 2 to
 * 5 ns; where the automaton of an expression has no room, each of its instructions is one for each byte. Beyond it the request
 * scores PROTOCOL-007.
 */
export const RULE_STEPS = 16_777_216;
/** Variables that rules of one request set, and characters of one; further ones are not set, longer ones cut. */
export const MAX_RULE_VARIABLES = 512;
const MAX_RULE_VARIABLE_CHARS = 8192;

/** A rule that matched, as it is told. */
export interface RuleMatch {
  readonly rule: ChainedRule;
  readonly msg: string;
  readonly logdata: string;
  /** The variable that matched last, such as `ARGS:q`. */
  readonly variable: string;
  readonly name: string;
  readonly value: string;
}

/** Which rules are passed over: none, those of a phase, of the request, or all. */
export const enum Allowed {
  Nothing = 0,
  Phase,
  Request,
  Everything,
}

/** What rules have found and set in one request, from its head to its response. */
export class RuleTransaction implements RuleState {
  readonly facts: RequestFacts;
  readonly variables: Map<string, string> = new Map();
  engine: RuleEngine;
  allowed: Allowed = Allowed.Nothing;
  processor = "";
  /** Steps that are left. */
  steps = RULE_STEPS;
  /** What matched of the rule at hand. */
  matched: { readonly variable: string; readonly name: string; readonly value: string }[] = [];
  /** The rule at hand, for macros. */
  rule: ChainedRule | null = null;
  /** Rules that are in the log already: a stream is judged piece by piece. */
  readonly told: Set<ChainedRule> = new Set();
  /** What was so when the head had been judged; null before. */
  private afterHead: HeadState | null = null;
  private isBodyJudged = false;
  private readonly removed: RuleNames[] = [];
  private readonly removedTargets: { readonly rules: RuleNames; readonly target: RuleTarget }[] = [];

  constructor(facts: RequestFacts, engine: RuleEngine) {
    this.facts = facts;
    this.engine = engine;
  }

  get onlyDetects(): boolean {
    return this.engine !== "on";
  }

  /** Whether the firewall's own rules are passed over, too. */
  get skipsAll(): boolean {
    return this.allowed >= Allowed.Request || this.engine === "off";
  }

  /** Counts steps. @returns whether there are more */
  take(steps: number): boolean {
    this.steps -= steps;
    return this.steps >= 0;
  }

  set(name: string, value: string): void {
    if (!this.variables.has(name) && this.variables.size >= MAX_RULE_VARIABLES) return;
    this.variables.set(name, value.slice(0, MAX_RULE_VARIABLE_CHARS));
  }

  /** The rules for the head have been asked. */
  endHead(): void {
    const { engine, allowed, processor, steps, removed, removedTargets } = this;
    const variables = [...this.variables];
    this.afterHead = {
      engine,
      allowed,
      processor,
      steps,
      variables,
      removed: removed.length,
      removedTargets: removedTargets.length,
    };
  }

  /**
   * A body, or a message of a stream, is going to be judged. Each is judged as if it came alone: what rules have set, counted, let pass and taken of
   * the steps for the one before is undone.
   */
  beginBody(): void {
    const before = this.afterHead;
    if (this.isBodyJudged && before !== null) {
      this.engine = before.engine;
      this.allowed = before.allowed;
      this.processor = before.processor;
      this.steps = before.steps;
      this.variables.clear();
      for (const [name, value] of before.variables) this.variables.set(name, value);
      this.removed.length = before.removed;
      this.removedTargets.length = before.removedTargets;
    }
    this.isBodyJudged = true;
  }

  /** How many of `ctl:ruleRemove…` hold. */
  get removedCount(): number {
    return this.removed.length + this.removedTargets.length;
  }

  remove(rules: RuleNames): void {
    this.removed.push(rules);
  }

  removeTarget(rules: RuleNames, target: RuleTarget): void {
    this.removedTargets.push({ rules, target });
  }

  isRemoved(rule: Pick<ChainedRule, "id" | "tags" | "msg">): boolean {
    return this.removed.length > 0 && this.removed.some((names) => isNamed(names, rule));
  }

  /** Targets that rules before this one have taken away from it. */
  removedTargetsOf(rule: Pick<ChainedRule, "id" | "tags" | "msg">): readonly RuleTarget[] {
    if (this.removedTargets.length === 0) return NO_TARGETS;
    return this.removedTargets.filter(({ rules }) => isNamed(rules, rule)).map(({ target }) => target);
  }

  /** Whether a rule of the firewall itself is off for a parameter, by the number of its counterpart. */
  turnsOff(crs: readonly number[], param: string): boolean {
    return crs.some((id) => {
      const rule = { id, tags: NO_TAGS, msg: "" };
      if (this.isRemoved(rule)) return true;
      return this.removedTargetsOf(rule).some(({ key }) => key !== "" && key === param);
    });
  }

  /** All values of a variable. */
  valuesOf(name: string): readonly RuleValue[] {
    switch (name) {
      case "TX":
        return [...this.variables].map(([key, value]) => ({ name: key, value }));
      case "MATCHED_VAR":
        return [{ name: "", value: this.matched.at(-1)?.value ?? "" }];
      case "MATCHED_VAR_NAME":
        return [{ name: "", value: this.matched.at(-1)?.variable ?? "" }];
      case "MATCHED_VARS":
        return this.matched.map(({ variable, value }) => ({ name: variable, value }));
      case "MATCHED_VARS_NAMES":
        return this.matched.map(({ variable }) => ({ name: variable, value: variable }));
      default:
        return this.facts.valuesOf(name);
    }
  }
}

interface HeadState {
  readonly engine: RuleEngine;
  readonly allowed: Allowed;
  readonly processor: string;
  readonly steps: number;
  readonly variables: readonly (readonly [name: string, value: string])[];
  /** How many. */
  readonly removed: number;
  readonly removedTargets: number;
}

const NO_TARGETS: readonly RuleTarget[] = [];
const NO_TAGS: readonly string[] = [];
