import type { RuleControl, RuleTarget } from "../../../proto/seclang/rule-set.ts";
import {
  type CompiledEntry,
  type CompiledLink,
  type CompiledRule,
  type LinkFilter,
  type Selector,
  selectorOf,
} from "./compiled-rules.ts";
import { STEPS_SPENT } from "./operators.ts";
import { Allowed, type RuleMatch, type RuleTransaction } from "./rule-transaction.ts";
import type { RuleValue } from "./rule-values.ts";

/** What rules of a phase have come to. */
export interface PhaseResult {
  /** The rule that ends the request; null if none does. */
  readonly ending: { readonly match: RuleMatch; readonly redirect: string } | null;
  /** Rules that matched and are to be told, in their order, the ending one included. */
  readonly matches: readonly RuleMatch[];
  /** Whether the steps of the request are spent, so that some rules were not asked. */
  readonly isSpent: boolean;
}

/** Whether a find does not count: an exclusion of the configuration. */
type IsExcluded = (id: string, name: string) => boolean;

/** Asks the rules of a phase, in their order, until one ends the request. docs/waf.md#rules-of-your-own */
export function runPhase(
  entries: readonly CompiledEntry[],
  transaction: RuleTransaction,
  isExcluded: IsExcluded,
): PhaseResult {
  const matches: RuleMatch[] = [];
  const run = new PhaseRun(transaction, isExcluded);
  try {
    const ending = run.all(entries, matches);
    return { ending, matches, isSpent: transaction.facts.isCut };
  } catch (error) {
    if (error !== STEPS_SPENT) throw error;
    return { ending: null, matches, isSpent: true };
  } finally {
    if (transaction.allowed === Allowed.Phase) transaction.allowed = Allowed.Nothing;
  }
}

class PhaseRun {
  private readonly transaction: RuleTransaction;
  private readonly isExcluded: IsExcluded;
  /** By transformations: what has become of values. */
  private readonly changed: Map<string, Map<string, string>> = new Map();
  /** By the number of values: the operators of the filter that some of these may fit. */
  private readonly mayFit: (Int32Array | undefined)[] = [];

  constructor(transaction: RuleTransaction, isExcluded: IsExcluded) {
    this.transaction = transaction;
    this.isExcluded = isExcluded;
  }

  all(entries: readonly CompiledEntry[], matches: RuleMatch[]): PhaseResult["ending"] {
    const { transaction } = this;
    let skip = 0;
    let skipAfter = "";
    for (const entry of entries) {
      if (transaction.allowed !== Allowed.Nothing || transaction.engine === "off") return null;
      if ("marker" in entry) {
        if (entry.marker === skipAfter) skipAfter = "";
        continue;
      }
      const { rule } = entry;
      if (transaction.isRemoved(rule) || skipAfter !== "") continue;
      if (skip > 0) {
        skip--;
        continue;
      }
      const match = this.match(entry);
      if (match === null) continue;
      ({ skip, skipAfter } = rule);
      const ends = rule.disruptive === "deny" || rule.disruptive === "drop" || rule.disruptive === "redirect";
      if (rule.log || ends) matches.push(match);
      if (ends && !transaction.onlyDetects) return { match, redirect: entry.redirect(transaction) };
      if (!ends) this.allow(rule.disruptive);
    }
    return null;
  }

  private allow(what: string): void {
    const { transaction } = this;
    // Where rules are tried out, none ends the others.
    if (transaction.onlyDetects) return;
    if (what === "allow") transaction.allowed = Allowed.Everything;
    else if (what === "allow-request") transaction.allowed = Allowed.Request;
    else if (what === "allow-phase") transaction.allowed = Allowed.Phase;
  }

  /** A rule and its chain. @returns null if they do not match */
  private match(compiled: CompiledRule): RuleMatch | null {
    const { transaction } = this;
    const { rule, links } = compiled;
    transaction.matched = [];
    transaction.rule = rule;
    for (const link of links) if (!this.matchLink(link, compiled)) return null;
    const last = transaction.matched.at(-1) ?? { variable: "", name: "", value: "" };
    const [first] = links;
    return { rule, msg: first!.msg(transaction), logdata: this.logdata(links), ...last };
  }

  private logdata(links: readonly CompiledLink[]): string {
    for (const link of links) {
      const text = link.logdata(this.transaction);
      if (text !== "") return text;
    }
    return "";
  }

  /** Whether a rule of a chain matches, in any of its values; what it sets is set for each. */
  private matchLink(link: CompiledLink, { rule }: CompiledRule): boolean {
    const { transaction } = this;
    if (link.operator === null) {
      this.act(link);
      return true;
    }
    if (link.filter !== null && !this.mayMatch(link, link.filter)) return false;
    const removed = transaction.removedTargetsOf(rule);
    const excluded = removed.length === 0 ? link.excluded : [...link.excluded, ...removed.map(cachedSelector)];
    let matches = false;
    for (const selector of link.targets) {
      for (const one of this.valuesOf(selector, excluded)) {
        if (!this.matchValue(link, selector, one)) continue;
        if (this.isExcluded(String(rule.id), plainName(one.name))) continue;
        matches = true;
        const variable = one.name === "" ? selector.target.name : `${selector.target.name}:${one.name}`;
        transaction.matched.push({ variable, name: one.name, value: this.fitting });
        this.act(link);
      }
    }
    return matches;
  }

  /** Whether some value has a text that all that fits has: one pass over the values for all rules that look at the same ones. */
  private mayMatch(link: CompiledLink, { literals, operator, values }: LinkFilter): boolean {
    const { transaction } = this;
    if (!transaction.take(EVALUATION_STEPS)) throw STEPS_SPENT;
    let found = this.mayFit[values];
    if (found === undefined) {
      found = new Int32Array(literals.words);
      this.mayFit[values] = found;
      for (const selector of link.targets) {
        for (const { value } of this.valuesOf(selector, link.excluded)) {
          if (!transaction.take(value.length)) throw STEPS_SPENT;
          literals.find(this.transformed(link, value), found);
        }
      }
    }
    return (found[operator >> 5]! & (1 << (operator & 31))) !== 0;
  }

  private valuesOf({ target, takes }: Selector, excluded: readonly Selector[]): readonly RuleValue[] {
    const { transaction } = this;
    let values = transaction.valuesOf(target.name);
    if (!transaction.take((values.length + 1) * SELECTION_STEPS * (1 + excluded.length))) throw STEPS_SPENT;
    if (takes !== null) values = values.filter(({ name }) => takes(name));
    for (const one of excluded) {
      if (one.target.name !== target.name) continue;
      const { takes: leavesOut } = one;
      values = leavesOut === null ? [] : values.filter(({ name }) => !leavesOut(name));
    }
    return target.isCount ? [{ name: target.key, value: String(values.length) }] : values;
  }

  /** The reading of a value that matched last. */
  private fitting = "";

  private matchValue(link: CompiledLink, { target }: Selector, { value }: RuleValue): boolean {
    if (!link.multiMatch) return this.fits(link, target.isCount ? value : this.transformed(link, value));
    let reading = value;
    if (this.fits(link, reading)) return true;
    for (const change of link.transformations) {
      const next = this.changedBy(change, reading);
      if (next !== reading && this.fits(link, next)) return true;
      reading = next;
    }
    return false;
  }

  private fits(link: CompiledLink, value: string): boolean {
    const { transaction } = this;
    if (!transaction.take(EVALUATION_STEPS + value.length)) throw STEPS_SPENT;
    if (link.operator!(value, transaction, link.capture && !link.negated) === link.negated) return false;
    this.fitting = value;
    return true;
  }

  /** A value with all transformations of a rule; several rules often have the same. */
  private transformed(link: CompiledLink, value: string): string {
    const { transformations, chain } = link;
    if (transformations.length === 0) return value;
    const known = this.changed.get(chain) ?? new Map<string, string>();
    this.changed.set(chain, known);
    let result = known.get(value);
    if (result !== undefined) return result;
    result = value;
    for (const change of transformations) result = this.changedBy(change, result);
    known.set(value, result);
    return result;
  }

  private changedBy(change: (text: string) => string, text: string): string {
    if (!this.transaction.take(TRANSFORMATION_STEPS * text.length)) throw STEPS_SPENT;
    return change(text);
  }

  /** What a rule sets and changes when it matches. */
  private act({ setvars, controls }: CompiledLink): void {
    const { transaction } = this;
    for (const { name, value, removes } of setvars) {
      const key = name(transaction).toLowerCase();
      if (removes) transaction.variables.delete(key);
      else transaction.set(key, assigned(transaction.variables.get(key) ?? "", value(transaction)));
    }
    for (const control of controls) this.control(control);
  }

  private control(control: RuleControl): void {
    const { transaction } = this;
    switch (control.what) {
      case "engine":
        transaction.engine = control.engine;
        break;
      case "processor":
        transaction.processor = control.processor;
        break;
      case "remove":
        transaction.remove(control.rules);
        break;
      case "removeTarget":
        transaction.removeTarget(control.rules, control.target);
    }
  }
}

/** What `setvar` makes of a variable: `+5` and `-5` count. */
function assigned(before: string, value: string): string {
  const sum = /^([+-])(\d{1,15})$/.exec(value);
  if (sum === null) return value;
  const from = /^[+-]?\d{1,15}$/.test(before) ? Number(before) : 0;
  return String(sum[1] === "+" ? from + Number(sum[2]) : from - Number(sum[2]));
}

/** A name as exclusions have it: a member of JSON by its path alone. */
function plainName(name: string): string {
  return name.startsWith("json.") ? name.slice(5) : name;
}

const selectors: WeakMap<RuleTarget, Selector> = new WeakMap();

/** Expressions in `ctl` are made once. */
function cachedSelector(target: RuleTarget): Selector {
  const known = selectors.get(target) ?? selectorOf(target);
  selectors.set(target, known);
  return known;
}

/** To ask an operator costs as much as so many bytes, whatever the value. */
const EVALUATION_STEPS = 32;
const TRANSFORMATION_STEPS = 4;
/** To look at a name. */
const SELECTION_STEPS = 8;
