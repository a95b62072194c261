import {
  compileRuleExpression,
  isExpressionFault,
  MAX_RULE_PROGRAM,
  MIN_RULE_STATES_BYTES,
  type RuleExpressionLimits,
} from "../../../proto/expression/expression.ts";
import type {
  ChainedRule,
  RuleControl,
  RuleEngine,
  RuleLink,
  RuleSet,
  RuleTarget,
} from "../../../proto/seclang/rule-set.ts";
import { LiteralFilter } from "./literal-filter.ts";
import { type MacroText, macroText } from "./macro-text.ts";
import { literalsOf, type OperatorTest, operatorOf } from "./operators.ts";
import { TRANSFORMATION_OF, type Transformation } from "./transformations.ts";

/** Memory for what all expressions of a set of rules remember of texts, in each worker. */
const RULE_STATES_BYTES = 33_554_432;

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
  /** Null if it matches by itself. */
  readonly operator: OperatorTest | null;
  /** What may spare asking the operator; null if nothing does. */
  readonly filter: LinkFilter | null;
  readonly negated: boolean;
  readonly transformations: readonly Transformation[];
  /** Names the transformations together. */
  readonly chain: string;
  readonly multiMatch: boolean;
  readonly capture: boolean;
  readonly setvars: readonly { readonly name: MacroText; readonly value: MacroText; readonly removes: boolean }[];
  readonly controls: readonly RuleControl[];
  readonly msg: MacroText;
  readonly logdata: MacroText;
}

/** How a rule of a chain is found not to match, together with others. */
export interface LinkFilter {
  readonly literals: LiteralFilter;
  /** The number of the operator in it. */
  readonly operator: number;
  /** The number of the values that it is asked about, changed as they are: rules with the same share it. */
  readonly values: number;
}

/** Which values of a variable are meant. */
export interface Selector {
  readonly target: RuleTarget;
  /** Null if all are. */
  readonly takes: ((name: string) => boolean) | null;
}

/** @param disabled numbers of rules that are off */
export function compileRules(set: RuleSet, disabled: ReadonlySet<string>): CompiledRules {
  const limits = limitsOf(set.entries.length);
  const filters = filtersOf(set);
  const phases: CompiledEntry[][] = Array.from({ length: PHASES + 1 }, () => []);
  for (const entry of set.entries) {
    if ("marker" in entry) for (const phase of phases) phase.push(entry);
    else if (!disabled.has(String(entry.id))) phases[entry.phase]!.push(compiled(entry, limits, filters));
  }
  // Markers alone are nothing to do.
  return {
    engine: set.engine,
    readsBodies: BODY_VARIABLES.test(JSON.stringify(set.entries)),
    phases: phases.map((phase) => (phase.every((one) => "marker" in one) ? [] : phase)),
  };
}

/** What each expression may remember, if there are so many rules. */
function limitsOf(rules: number): RuleExpressionLimits {
  const share = Math.floor(RULE_STATES_BYTES / Math.max(rules, 1));
  return { program: MAX_RULE_PROGRAM, statesBytes: Math.min(Math.max(share, MIN_RULE_STATES_BYTES), 1_048_576) };
}

/** One filter for all rules of a set, with the number of each of those that it knows. */
function filtersOf(set: RuleSet): ReadonlyMap<RuleLink, LinkFilter> {
  const links = set.entries.flatMap((entry) => ("marker" in entry ? [] : entry.links.filter(mayBeFiltered)));
  const literals = new LiteralFilter(links.map(({ operator }) => literalsOf(operator!)!));
  const numbers = new Map<string, number>();
  return new Map(
    links.map((link, operator) => {
      const key = JSON.stringify([link.targets, link.excluded, link.transformations]);
      const values = numbers.get(key) ?? numbers.size;
      numbers.set(key, values);
      return [link, { literals, operator, values }];
    }),
  );
}

/** Values that rules make are others for each rule; a count is no text, and with multiMatch values on the way fit, too. */
function mayBeFiltered({ operator, targets, multiMatch }: RuleLink): boolean {
  if (operator === null || operator.negated || multiMatch || literalsOf(operator) === null) return false;
  return targets.every(({ name, isCount }) => !isCount && name !== "TX" && !name.startsWith("MATCHED_"));
}

function compiled(
  rule: ChainedRule,
  limits: RuleExpressionLimits,
  filters: ReadonlyMap<RuleLink, LinkFilter>,
): CompiledRule {
  const links = rule.links.map((link) => linkOf(link, limits, filters.get(link) ?? null));
  return { rule, redirect: macroText(rule.redirect), links };
}

function linkOf(link: RuleLink, limits: RuleExpressionLimits, filter: LinkFilter | null): CompiledLink {
  return {
    targets: link.targets.map(selectorOf),
    excluded: link.excluded.map(selectorOf),
    operator: link.operator === null ? null : operatorOf(link.operator, limits),
    filter,
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
