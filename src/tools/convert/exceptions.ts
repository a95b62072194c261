import { type Condition, EVERYTHING } from "./condition.ts";
import { EFFORT } from "./effort.ts";
import type { Ledger } from "./ledger.ts";
import { covers, joined, partOf } from "./modifiers.ts";
import { ROOT } from "./path-rule.ts";
import { closed, isPartial, type Rule } from "./plan.ts";

/**
 * Rules that take all requests but some (`notAny`), as rules in another order: what the later ones do with the exceptions comes first.
 * Where that makes too many rules, one is closed, and noted.
 */
export function withoutExceptions(rules: readonly Rule[], ledger: Ledger): Rule[] {
  const given = new Set(rules);
  /** The last one first. */
  let later: Rule[] = [];
  let compared = 0;
  for (const rule of rules.toReversed()) {
    const { notAny = [], path, hosts, methods, match } = rule;
    const place = { ...EVERYTHING, path, hosts, methods, match };
    const excepted = notAny.flatMap((one) => joined(place, one) ?? []);
    delete rule.notAny;
    compared += excepted.length === 0 ? 0 : (excepted.length + 1) * later.length;
    const parts = compared > MAX_COMPARED ? [] : partsOf(excepted, later, rule);
    if (excepted.length > 0 && (compared > MAX_COMPARED || parts.length + later.length > MAX_RULES)) {
      closed(rule);
      ledger.note(rule.origin, "its exceptions make too many routes: it is closed", "write routes with match");
      later.push(rule);
    } else if (parts.length === 0) later.push(rule);
    else later = unshadowed([...parts, rule, ...later.toReversed()], given).reverse();
  }
  return later.reverse();
}

function partsOf(excepted: readonly Condition[], later: readonly Rule[], rule: Rule): Rule[] {
  const inOrder = excepted.length === 0 ? [] : later.toReversed();
  return excepted.flatMap((one) => partsWithin(one, inOrder, rule));
}

/** Rules without all that ask for the same as one before them. @param given of which none is left out, so that it is noted */
function unshadowed(rules: readonly Rule[], given: ReadonlySet<Rule>): Rule[] {
  const places = new Set<string>();
  EFFORT.take(2 * rules.length);
  return rules.filter((rule) => {
    const place = placeOf(rule);
    const isNew = !places.has(place);
    places.add(place);
    return isNew || given.has(rule);
  });
}

/** What a rule asks of requests, as a text. */
function placeOf({ path, hosts, methods, match, keys }: Rule): string {
  return JSON.stringify([path.kind, path.value, hosts, methods, match, keys.regex ?? ""]);
}

/** What the rules do with the requests of a condition; 404 for those that none of them takes. */
function partsWithin(condition: Condition, rules: readonly Rule[], { origin, title }: Rule): Rule[] {
  const parts: Rule[] = [];
  const places = new Set<string>();
  EFFORT.take(rules.length);
  for (const rule of rules) {
    const part = partOf(rule, condition);
    if (part === null || places.has(placeOf(part))) continue;
    places.add(placeOf(part));
    parts.push(part);
    // No request of the condition reaches the rules after it.
    if (!isPartial(part) && holds(part, condition)) return parts;
  }
  const { path, hosts, methods, match } = condition;
  const rest: Rule = {
    origin,
    title: `${title}: what it does not take`,
    hosts,
    path: path ?? ROOT,
    methods: [...methods],
    match: { ...match },
    keys: { type: "respond", status: 404 },
    scopes: [],
  };
  return [...parts, rest];
}

/** Whether a rule takes all that the condition says. */
function holds({ path, hosts, methods, match }: Rule, condition: Condition): boolean {
  const rest = {
    ...condition,
    path: condition.path ?? ROOT,
    hosts: condition.hosts,
    methods: [...condition.methods],
  };
  return covers({ ...EVERYTHING, path, hosts, methods, match }, rest);
}

/** Rules of one section; each exception repeats the rules after it. */
const MAX_RULES = 5000;
/** Exceptions of one section, each with the rules after it. */
const MAX_COMPARED = 500_000;
