import { holdsHost, holdsPath, moved } from "./arrange.ts";
import type { Condition } from "./condition.ts";
import type { Keys, PathRule, Rule } from "./plan.ts";
import type { Statement } from "./statement.ts";

/** A directive that changes what other ones do. */
export interface Modifier {
  readonly statement: Statement;
  readonly conditions: readonly Condition[];
  apply(rule: Rule): void;
}

/** Rules with what changes them: where that counts for a part of a rule, the part becomes a rule of its own. */
export function applied(rules: readonly Rule[], modifiers: readonly Modifier[]): Rule[] {
  const parts = rules.flatMap((rule) => {
    const cuts = modifiers.flatMap(({ conditions }) => conditions.flatMap((one) => narrower(rule, one)));
    const byPlace = new Map(cuts.map((cut) => [JSON.stringify([cut.path, cut.hosts, cut.match, cut.methods]), cut]));
    return [...[...byPlace.values()].sort((a, b) => b.path.value.length - a.path.value.length), rule];
  });
  for (const part of parts) {
    for (const { conditions, apply, statement } of modifiers) {
      if (!conditions.some((one) => covers(one, part))) continue;
      apply(part);
      if (!part.scopes.includes(statement)) part.scopes.push(statement);
    }
  }
  return parts;
}

/** The part of a rule that a condition picks out, where it is not all or nothing of it. */
function narrower(rule: Rule, condition: Condition): Rule[] {
  if (covers(condition, rule)) return [];
  const path: PathRule = condition.path !== null && holdsPath(rule.path, condition.path) ? condition.path : rule.path;
  if (condition.path !== null && path !== condition.path && !holdsPath(condition.path, rule.path)) return [];
  if (condition.regex !== "") return [];
  const hosts = commonHosts(rule.hosts, condition.hosts);
  if (hosts === null) return [];
  const { type, ...rest } = rule.keys;
  const isMoved = path !== rule.path;
  const keys = { type, ...(isMoved ? moved(rule, path, rest) : rest) };
  return [
    {
      ...rule,
      keys: structuredClone(keys),
      path,
      hosts,
      match: { ...rule.match, ...condition.match },
      methods: condition.methods.length > 0 ? [...condition.methods] : rule.methods,
      scopes: [...rule.scopes],
    },
  ];
}

function covers({ path, hosts, match, methods, regex }: Condition, rule: Rule): boolean {
  if (hosts.length > 0 && !(rule.hosts.length > 0 && rule.hosts.every((one) => holdsAny(hosts, one)))) return false;
  if (path !== null && !holdsPath(path, rule.path)) return false;
  if (regex !== "") return false;
  if (methods.length > 0 && (rule.methods.length === 0 || !rule.methods.every((one) => methods.includes(one))))
    return false;
  return Object.entries(match).every(
    ([key, value]) => JSON.stringify((rule.match as Keys)[key]) === JSON.stringify(value),
  );
}

function holdsAny(wide: readonly string[], host: string): boolean {
  return wide.some((one) => holdsHost(one, host));
}

/** The hosts that both have; empty for every host, null for none. */
function commonHosts(a: readonly string[], b: readonly string[]): string[] | null {
  if (a.length === 0 || b.length === 0) return [...a, ...b];
  const both = [...a.filter((one) => holdsAny(b, one)), ...b.filter((one) => holdsAny(a, one))];
  return both.length === 0 ? null : [...new Set(both)];
}
