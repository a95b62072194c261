import { MAX_RULE_PROGRAM, MIN_RULE_STATES_BYTES, RULE_STATES_BYTES } from "../../../core/limits.ts";
import type {
  ChainedRule,
  Control,
  RuleEngine,
  RuleLink,
  RuleSet,
  RuleTarget,
} from "../../../proto/seclang/rule-set.ts";
import { compileRuleExpression, isExpressionFault, type RuleExpressionLimits } from "../../../shared/expression.ts";
import { type MacroText, macroText } from "./macro-text.ts";
import { type Operator, operatorOf } from "./operators.ts";
import { TRANSFORMATION_OF, type Transformation } from "./transformations.ts";

/** A set of rules made ready; one for all requests of a worker. */
export interface CompiledRules {
  readonly engine: RuleEngine;
  /** Whether a variable of the body is named anywhere. */
  readonly readsBodies: boolean;
  /** By phase, from 1 on. */
  readonly phases: readonly (readonly CompiledEntry[])[];
}

/** A rule, or a marker, which is in each phase. */
export type CompiledEntry = CompiledRule | { readonly marker: string };

export interface CompiledRule {
  readonly rule: ChainedRule;
  readonly redirect: MacroText;
  readonly links: readonly CompiledLink[];
}

export interface CompiledLink {
  readonly targets: readonly Selector[];
  readonly excluded: readonly Selector[];
  /** Null where it matches by itself. */
  readonly operator: Operator | null;
  readonly negated: boolean;
  readonly transformations: readonly Transformation[];
  /** Names the transformations together. */
  readonly chain: string;
  readonly multiMatch: boolean;
  readonly capture: boolean;
  readonly setvars: readonly { readonly name: MacroText; readonly value: MacroText; readonly removes: boolean }[];
  readonly controls: readonly Control[];
  readonly msg: MacroText;
  readonly logdata: MacroText;
}

/** Which values of a variable are meant. */
export interface Selector {
  readonly target: RuleTarget;
  /** Null where all are. */
  readonly takes: ((name: string) => boolean) | null;
}

/** @param disabled numbers of rules that are off */
export function compileRules(set: RuleSet, disabled: ReadonlySet<string>): CompiledRules {
  const limits = limitsOf(set.entries.length);
  const phases: CompiledEntry[][] = Array.from({ length: PHASES + 1 }, () => []);
  for (const entry of set.entries) {
    if ("marker" in entry) for (const phase of phases) phase.push(entry);
    else if (!disabled.has(String(entry.id))) phases[entry.phase]!.push(compiled(entry, limits));
  }
  // Markers alone are nothing to do.
  return {
    engine: set.engine,
    readsBodies: BODY_VARIABLES.test(JSON.stringify(set.entries)),
    phases: phases.map((phase) => (phase.every((one) => "marker" in one) ? [] : phase)),
  };
}

/** What each expression may remember, where there are so many rules. */
export function limitsOf(rules: number): RuleExpressionLimits {
  const share = Math.floor(RULE_STATES_BYTES / Math.max(rules, 1));
  return { program: MAX_RULE_PROGRAM, statesBytes: Math.min(Math.max(share, MIN_RULE_STATES_BYTES), 1_048_576) };
}

function compiled(rule: ChainedRule, limits: RuleExpressionLimits): CompiledRule {
  return { rule, redirect: macroText(rule.redirect), links: rule.links.map((link) => linkOf(link, limits)) };
}

function linkOf(link: RuleLink, limits: RuleExpressionLimits): CompiledLink {
  return {
    targets: link.targets.map(selectorOf),
    excluded: link.excluded.map(selectorOf),
    operator: link.operator === null ? null : operatorOf(link.operator, limits),
    negated: link.operator?.negated ?? false,
    transformations: link.transformations.map((name) => TRANSFORMATION_OF[name]!),
    chain: link.transformations.join(),
    multiMatch: link.multiMatch,
    capture: link.capture,
    setvars: link.setvars.map(({ name, value, removes }) => ({
      name: macroText(name),
      value: macroText(value),
      removes,
    })),
    controls: link.controls,
    msg: macroText(link.msg),
    logdata: macroText(link.logdata),
  };
}

/** Names are compared without regard to case. */
export function selectorOf(target: RuleTarget): Selector {
  const { key, keyExpression } = target;
  if (keyExpression === "") return { target, takes: key === "" ? null : (name) => name.toLowerCase() === key };
  const made = compileRuleExpression(`(?i)${keyExpression}`, limitsOf(1));
  if (isExpressionFault(made)) throw new Error(`an expression that was never checked: ${made.fault}`);
  return { target, takes: (name) => made.test(name) };
}

const PHASES = 4;
const BODY_VARIABLES = /ARGS|FILES|XML|REQBODY|REQUEST_BODY/i;
