import { allowOnly } from "./access.ts";
import { holdsHost, holdsPath, moved } from "./arrange.ts";
import { type Condition, EVERYTHING, excludesMatch, holdsMatch, joinedMatch } from "./condition.ts";
import { copied, EFFORT } from "./effort.ts";
import type { Ledger } from "./ledger.ts";
import type { PathRule } from "./path-rule.ts";
import { isRefusal as isRefusing, type Rule, responseBy } from "./plan.ts";
import type { Statement } from "./statement.ts";

/** A directive that changes what other ones do. */
export interface Modifier {
  readonly statement: Statement;
  /** Those that it counts for. */
  readonly conditions: readonly Condition[];
  /** Rules that it does not count for: those asked before it. */
  readonly spared?: ReadonlySet<Rule>;
  /** Whether it keeps clients out: it then counts for a whole rule where the part that it is for cannot be told from the rest. */
  readonly isRefusal?: boolean;
  /** Whether it keeps them out before the rule itself does. */
  readonly isFirst?: boolean;
  apply(rule: Rule): void;
}

/**
 * Rules with what changes them: where that counts for a part of a rule, the part becomes a rule of its own, in front of the wider ones.
 * A part that two of them are for has both.
 */
export function applied(rules: readonly Rule[], modifiers: readonly Modifier[]): Rule[] {
  return rules.flatMap((rule) => {
    // What refuses all its requests has nothing left to refuse.
    const isClosed = isRefusing(rule.keys);
    const own = modifiers.filter(
      ({ spared, isRefusal, isFirst }) =>
        spared?.has(rule) !== true && !(isRefusal === true && isClosed && isFirst !== true),
    );
    const parts = partsOf(rule, own);
    for (const part of parts) {
      EFFORT.take(own.length + part.scopes.length);
      for (const modifier of own) {
        const { conditions, isRefusal, statement } = modifier;
        const counts = (one: Condition): boolean =>
          covers(one, part) || (isRefusal === true && isUnclear(part, one, parts.length > MAX_PARTS));
        if (!conditions.some(counts)) continue;
        modifier.apply(part);
        if (!part.scopes.includes(statement)) part.scopes.push(statement);
      }
    }
    return parts;
  });
}

/** A rule cut at all conditions; the narrower parts come first. */
function partsOf(rule: Rule, modifiers: readonly Modifier[]): Rule[] {
  let parts = [rule];
  for (const condition of modifiers.flatMap(({ conditions }) => conditions)) {
    if (parts.length > MAX_PARTS) break;
    const byPlace = new Map<string, Rule>();
    EFFORT.take(8 * parts.length);
    for (const part of parts.flatMap((one) => [...narrower(one, condition), one])) {
      const key = JSON.stringify([part.path, part.hosts, part.match, part.methods]);
      if (!byPlace.has(key)) byPlace.set(key, part);
    }
    parts = [...byPlace.values()];
  }
  return parts;
}

/**
 * A modifier of which conditions have exceptions (`notAny`), as several without: what is excepted becomes rules of its own, which stay as
 * they are.
 */
export function excepting({ conditions, apply, ...rest }: Modifier): Modifier[] {
  return conditions.flatMap((condition): Modifier[] => {
    const within = { ...condition, notAny: [] };
    const excepted = condition.notAny.flatMap((one) => joined(within, one) ?? []);
    const own = {
      ...rest,
      conditions: [within],
      apply: (rule: Rule): void => {
        if (!excepted.some((one) => covers(one, rule))) apply(rule);
      },
    };
    return excepted.length === 0 ? [own] : [{ ...rest, conditions: excepted, apply: () => {} }, own];
  });
}

/**
 * Refuses what fits one of the conditions, but for what fits one of its `notAny`: `deny if admin !internal`. Where the exceptions are
 * addresses and the status is 403, the routes get `ip_rules`, else a response. A refusal before it stays.
 * @param spared rules that are asked before the refusal
 * @param isFirst whether it is asked before the response of any rule
 */
export function refusal(
  statement: Statement,
  conditions: readonly Condition[],
  {
    status = 403,
    spared,
    isFirst = false,
  }: { readonly status?: number; readonly spared?: ReadonlySet<Rule>; readonly isFirst?: boolean } = {},
): Modifier[] {
  return conditions.flatMap((condition): Modifier[] => {
    // Those of address rules are 403.
    const isByRules = (one: Condition): boolean => status === 403 && isOfAddresses(one);
    const networks = condition.notAny.filter(isByRules).flatMap(({ match }) => match.client_ip as string[]);
    const apply = (rule: Rule): void => {
      if (!isFirst && isRefusing(rule.keys)) return;
      if (networks.length > 0) allowOnly(rule, networks);
      else responseBy(rule, { type: "respond", status });
    };
    const notAny = condition.notAny.filter((one) => !isByRules(one));
    const base = { statement, isRefusal: true, isFirst, ...(spared === undefined ? {} : { spared }) };
    return excepting({ ...base, conditions: [{ ...condition, notAny }], apply });
  });
}

/** Whether a condition asks for the client's address, and nothing else. */
function isOfAddresses({ path, hosts, methods, match, regex }: Condition): boolean {
  if (path !== null || regex !== "" || hosts.length + methods.length > 0) return false;
  return "client_ip" in match && Object.keys(match).length === 1;
}

/** Notes what keeps clients out and counts for no rule. */
export function noteUnused(modifiers: readonly Modifier[], rules: readonly Rule[], ledger: Ledger): void {
  const used = new Set(rules.flatMap(({ scopes }) => scopes));
  for (const { statement, isRefusal } of modifiers)
    if (isRefusal === true && !used.has(statement)) ledger.note(statement, "it counts for no route", "nothing");
}

/** A condition within another one: the narrower path counts. Null if nothing fits both, or it cannot be said. */
export function joined(a: Condition, b: Condition): Condition | null {
  EFFORT.take(2);
  const path = commonPath(a.path, b.path);
  const hosts = commonHosts(a.hosts, b.hosts);
  const methods = commonMethods(a.methods, b.methods);
  const match = joinedMatch(a.match, b.match);
  if (path === undefined || hosts === null || methods === null || match === null) return null;
  if (a.regex !== "" && b.regex !== "") return null;
  return { path, hosts, methods, match, regex: a.regex || b.regex, notAny: [...a.notAny, ...b.notAny] };
}

/** Whether no request fits both, as their paths, hosts and methods show it. */
export function isApart(a: Condition, b: Condition): boolean {
  const isOtherPath = a.regex === "" && b.regex === "" && commonPath(a.path, b.path) === undefined;
  return isOtherPath || commonHosts(a.hosts, b.hosts) === null || commonMethods(a.methods, b.methods) === null;
}

/** Undefined if no path is of both. */
function commonPath(a: PathRule | null, b: PathRule | null): PathRule | null | undefined {
  if (a === null || b === null) return a ?? b;
  return holdsPath(a, b) ? b : holdsPath(b, a) ? a : undefined;
}

/** The part of a rule that a condition picks out, if it is not all or nothing of it. */
function narrower(rule: Rule, condition: Condition): Rule[] {
  if (covers(condition, rule) || condition.regex !== "") return [];
  const part = partOf(rule, condition);
  return part === null ? [] : [part];
}

/** The part of a rule that a condition picks out; null if it is nothing of it, or no rule says it. */
export function partOf(rule: Rule, condition: Condition): Rule | null {
  const { path, hosts, methods, match } = rule;
  const common = joined({ ...EVERYTHING, path, hosts, methods, match }, { ...condition, regex: "", notAny: [] });
  if (common === null) return null;
  const { type, ...rest } = rule.keys;
  const place = common.path ?? path;
  const isMoved = place.kind !== path.kind || place.value !== path.value;
  return {
    ...rule,
    keys: copied({ type, ...(isMoved ? moved(rule, place, rest) : rest) }),
    path: place,
    hosts: common.hosts,
    match: common.match,
    methods: [...common.methods],
    scopes: [...rule.scopes],
  };
}

/** Whether a condition picks out a part of a rule that no rule says. @param isUncut where rules have not been cut at all conditions */
function isUnclear(rule: Rule, condition: Condition, isUncut: boolean): boolean {
  const { path, hosts, methods, match } = rule;
  const place = { ...EVERYTHING, path, hosts, methods };
  if (joined(place, { ...condition, match: {}, regex: "", notAny: [] }) === null) return false;
  if (excludesMatch(match, condition.match)) return false;
  return isUncut || condition.regex !== "" || joinedMatch(match, condition.match) === null;
}

/** Whether all that a rule takes fits a condition, as far as their words show it. */
export function covers(
  { path, hosts, match, methods, regex }: Condition,
  rule: Pick<Rule, "path" | "hosts" | "methods" | "match">,
): boolean {
  EFFORT.take(1);
  if (hosts.length > 0 && !(rule.hosts.length > 0 && rule.hosts.every((one) => holdsAny(hosts, one)))) return false;
  if (path !== null && !holdsPath(path, rule.path)) return false;
  if (regex !== "") return false;
  if (methods.length > 0 && (rule.methods.length === 0 || !rule.methods.every((one) => methods.includes(one))))
    return false;
  return holdsMatch(match, rule.match);
}

function holdsAny(wide: readonly string[], host: string): boolean {
  return wide.some((one) => holdsHost(one, host));
}

/** The hosts that both have; empty for every host, null for none. A list that stays whole stays itself. */
function commonHosts(a: readonly string[], b: readonly string[]): readonly string[] | null {
  if (a.length === 0 || b.length === 0) return a.length === 0 ? b : a;
  const both = [...a.filter((one) => holdsAny(b, one)), ...b.filter((one) => holdsAny(a, one))];
  return both.length === 0 ? null : [...new Set(both)];
}

/** The methods that both have; empty for every method, null for none. */
function commonMethods(a: readonly string[], b: readonly string[]): string[] | null {
  if (a.length === 0 || b.length === 0) return [...a, ...b];
  const common = a.filter((one) => b.includes(one));
  return common.length === 0 ? null : common;
}

/** Parts of one rule; more conditions than make these are not told apart. */
const MAX_PARTS = 256;
