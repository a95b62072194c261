import { isClosed } from "./access.ts";
import { holdsHost, holdsPath } from "./arrange.ts";
import { EVERYTHING } from "./condition.ts";
import { EFFORT } from "./effort.ts";
import { withoutExceptions } from "./exceptions.ts";
import { escapedRegex } from "./expression.ts";
import type { Ledger } from "./ledger.ts";
import { ROOT } from "./path-rule.ts";
import { hasType, isRefusal, type Rule, responseBy } from "./plan.ts";

/**
 * Makes up for paths that the other gateway reads otherwise than a route: what keeps clients out there keeps them out here, however the path
 * is spelled, and what lets them in takes no path of one that does not. docs/migrate.md
 * @param rules in the order in which they are asked
 */
export function sealed(rules: readonly Rule[], ledger: Ledger): Rule[] {
  const guards = rules.map(keepsOut);
  const lastFiles = rules.findLastIndex(({ keys }) => hasType(keys, "static"));
  if (!guards.includes(true) && lastFiles < 0 && !rules.some(leadsAway)) return [...rules];
  const all = rules.flatMap((rule, at): Rule[] => {
    const { reading, value, kind } = rule.path;
    // One that asks for a password or an address lets clients in as well.
    const isNarrower =
      reading?.isBelow === true && kind === "prefix" && value !== "/" && !isRefusal(rule.keys) && !isClosed(rule.keys);
    EFFORT.take(isNarrower ? rules.length - at : 1);
    const isShut = isNarrower && rules.some((one, i) => i > at && guards[i] && overlaps(one, rule));
    const own = isShut ? { ...rule, notAny: [{ ...EVERYTHING, path: { kind: "exact" as const, value } }] } : rule;
    // What something else answers there is not sent as a file here.
    return guards[at] || leadsAway(rule) || at < lastFiles ? [own, ...otherSpellings(rule)] : [own];
  });
  const known = new Set(all);
  const arranged = withoutExceptions(all, ledger);
  // A route of files has no exact path: the folder's own name is left to none.
  for (const rule of arranged)
    if (!known.has(rule) && rule.path.kind === "exact" && hasType(rule.keys, "static"))
      responseBy(rule, { type: "respond", status: 404 });
  return arranged;
}

/** Whether a rule lets in less than every client. */
function keepsOut({ keys }: Rule): boolean {
  return keys.auth !== undefined || keys.ip_rules !== undefined || isRefusal(keys);
}

/** Whether a rule sends clients elsewhere: to sign in, as far as is known. */
function leadsAway({ keys }: Rule): boolean {
  return hasType(keys, "redirect");
}

/** The rest of what the other gateway takes as the path of a rule that keeps clients out. */
function otherSpellings(rule: Rule): Rule[] {
  const { reading = {}, value, kind } = rule.path;
  const { isByLetters = false, isAnyCase = false } = reading;
  const hasLetters = /[a-z]/i.test(value);
  if (
    value === "/" ||
    rule.keys.regex !== undefined ||
    !((isByLetters && kind === "prefix") || (isAnyCase && hasLetters))
  )
    return [];
  // One that names a file there, with a slash behind it, may be the file.
  const end = kind === "exact" ? "/?$" : isByLetters ? "" : "(/|$)";
  const regex = `${isAnyCase && hasLetters ? "(?i)" : ""}^${escapedRegex(value)}${end}`;
  const status = isRefusal(rule.keys) ? rule.keys.status : keepsOut(rule) || leadsAway(rule) ? 403 : 404;
  // One that says nothing of the path is the same for its other spellings.
  const isAsRedirect = leadsAway(rule) && !/\{(rest|match)/.test(String(rule.keys.to));
  return [
    {
      ...rule,
      title: `${rule.title}: other spellings of the path`,
      path: ROOT,
      keys: isAsRedirect ? { ...rule.keys, regex } : { type: "respond", status, regex },
      scopes: [],
    },
  ];
}

/** Whether the exact path of the other rule may be asked of a rule that keeps clients out. */
function overlaps(guard: Rule, { hosts, path: { value } }: Rule): boolean {
  const isOfHosts =
    guard.hosts.length === 0 ||
    hosts.length === 0 ||
    guard.hosts.some((one) => hosts.some((other) => holdsHost(one, other) || holdsHost(other, one)));
  return isOfHosts && (guard.keys.regex !== undefined || holdsPath(guard.path, { kind: "exact", value }));
}
