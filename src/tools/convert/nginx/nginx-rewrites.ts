import { refuseRule } from "../access.ts";
import { beginningOf, type Condition, EVERYTHING } from "../condition.ts";
import { copied } from "../effort.ts";
import { expressionOf } from "../expression.ts";
import type { Keys } from "../keys.ts";
import { excepting, joined, type Modifier, refusal } from "../modifiers.ts";
import type { PathRule } from "../path-rule.ts";
import { closed, hasType, type Rule, responseBy, ruleOf } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { answer } from "./nginx-answers.ts";
import { askedBy, conditionsOf, isCleartext, isWithoutFile, type NginxTest } from "./nginx-conditions.ts";
import { verdictOf } from "./nginx-directives.ts";
import { applyResponseFields } from "./nginx-options.ts";
import { regexPlaces } from "./nginx-places.ts";
import type { Scope } from "./nginx-scope.ts";
import { nginxTemplate } from "./nginx-values.ts";

/** What the module rewrite does in a block before its own response. */
interface Script {
  /** Rules in front of the block's own, in their order. */
  readonly rules: Rule[];
  /** What counts for all rules of the block. */
  readonly guards: Modifier[];
  /** `rewrite` of the block's route, or null. */
  readonly rewrite: Keys | null;
}

/** The known facts of the server in which a block is. */
export interface ScriptSite {
  /** Directives that settings of the listeners have taken the place of. */
  readonly settled: ReadonlySet<Statement>;
  /** Whether clients come by TLS alone. */
  readonly isTlsAlone: boolean;
  /** Whether a rewritten path leads to the same location again. */
  readonly staysHere: (scope: Scope, path: string) => boolean;
}

/**
 * Reads `rewrite`, `if`, `return` and `limit_except` of a block, in their order. What no route can do closes what it would have taken.
 * @param place where the block counts
 */
export function scriptOf(site: ScriptSite, scope: Scope, place: PathRule): Script {
  const rules: Rule[] = [];
  const guards: Modifier[] = [];
  let rewrite: Keys | null = null;
  for (const one of scope.children) {
    if (one.name === "return") break;
    if (one.name === "limit_except") guards.push(...methodsOf(scope, one));
    if (site.settled.has(one)) continue;
    if (one.name === "if") {
      const { rules: own, guards: others } = conditional(site, scope, one, place);
      rules.push(...own);
      guards.push(...others);
    } else if (one.name === "rewrite") {
      const redirect = redirectOf(scope, one, place);
      const change: Keys | null = redirect === null && rewrite === null ? changeOf(site, scope, one) : null;
      if (change !== null) rewrite = change;
      else if (redirect !== null) rules.push(redirect);
      else leaveRewrite(scope, one, place, { rules, guards });
    }
  }
  for (const rule of rules)
    if (hasType(rule.keys, "redirect") || hasType(rule.keys, "respond")) applyResponseFields(scope, rule);
  return { rules, guards, rewrite };
}

/** `rewrite` that leads elsewhere; null for others, and if no redirect says it. */
function redirectOf(scope: Scope, one: Statement, place: PathRule): Rule | null {
  const [pattern = "", to = "", flag = ""] = one.args;
  if (flag !== "permanent" && flag !== "redirect" && !/^(https?:|\$scheme)/.test(to)) return null;
  const template = nginxTemplate(to.replace(/\?$/, ""), true);
  const regex = expressionOf(pattern, false);
  if (template === null || regex === null || template.startsWith("{scheme}")) return null;
  const keepsQuery = !to.endsWith("?") && !template.includes("{uri}");
  const rule = ruleOf(one, `${one.file}:${one.line} ${one.text}`, {
    type: "redirect",
    regex,
    to: keepsQuery ? `${template}${to.includes("?") ? "&" : "?"}{query}` : template,
    status: flag === "permanent" ? 301 : 302,
  });
  rule.path = beginningOf(regex, place);
  scope.ledger.carry(one);
  return rule;
}

/** A change of the path on its way to an origin; null if the changed path could lead to another location. */
function changeOf(site: ScriptSite, scope: Scope, one: Statement): Keys | null {
  const [pattern = "", to = "", flag = ""] = one.args;
  const [pass] = scope.here("proxy_pass", "grpc_pass");
  const template = nginxTemplate(to, true);
  const regex = expressionOf(pattern, false);
  if (pass === undefined || template === null || regex === null || !template.startsWith("/") || to.includes("?"))
    return null;
  // A path behind the address is not put in front of one that has been rewritten.
  if (/^\w+:\/\/[^/]+\/./.test(pass.args[0] ?? "")) return null;
  if (flag !== "break" && !site.staysHere(scope, to)) return null;
  scope.ledger.carry(one);
  return { regex, to: template };
}

/** A rewrite that no route can do: the paths that it is for are closed. */
function leaveRewrite(scope: Scope, one: Statement, place: PathRule, into: Pick<Script, "rules" | "guards">): void {
  const regex = expressionOf(one.args[0] ?? "", true);
  scope.ledger.note(
    one,
    "no route does the same: the paths that it is for are closed",
    "use rewrite at the route, or a redirect with regex",
  );
  if (regex === null) {
    into.guards.push({ statement: one, conditions: [EVERYTHING], isRefusal: true, apply: refuseRule });
    return;
  }
  into.rules.push(closedAt(one, place, regex));
}

/** `if`: what it does with the requests that fit, or with all that do not. */
function conditional(
  site: ScriptSite,
  scope: Scope,
  one: Statement,
  place: PathRule,
): Pick<Script, "rules" | "guards"> {
  const { ledger } = scope;
  const asked = askedBy(one);
  const effect = effectOf(one);
  if (one.block?.length === 0) {
    ledger.standard(one);
    return { rules: [], guards: [] };
  }
  if (effect === null) {
    ledger.noteWhole(one, "conditions are routes with match", "write a route with match for the case");
    return { rules: [], guards: [] };
  }
  if (asked !== null && isCleartext(asked) && site.isTlsAlone) {
    ledger.standardWhole(one);
    return { rules: [], guards: [] };
  }
  const positive = asked === null ? null : positiveOf(asked);
  const fitting = positive === null ? null : conditionsOf(positive, true);
  const rules = fitting === null ? null : rulesFor(scope, one, effect, { place, fitting });
  if (rules !== null) {
    noteRest(scope, one, effect);
    return { rules, guards: [] };
  }
  const excepted = asked === null || positive !== null ? null : exceptionsOf(asked);
  const guards = excepted === null ? null : guardsFor(scope, one, effect, excepted);
  if (guards !== null) {
    noteRest(scope, one, effect);
    return { rules: [], guards };
  }
  const isForFiles = asked !== null && isWithoutFile(asked) && effect.name !== "return";
  ledger.note(
    one,
    isForFiles
      ? "paths without a file are not found: routes that are not of files are closed"
      : "its condition has no counterpart in a route: the routes that it is for are closed",
    "write a route with match for what gets in, or auth.mtls for certificates",
  );
  const isSpared = ({ keys }: Rule): boolean => isForFiles && (hasType(keys, "static") || keys.fastcgi !== undefined);
  const apply = (rule: Rule): void => {
    if (!isSpared(rule)) refuseRule(rule);
  };
  // A folder is no file.
  const folders = isForFiles && asked?.subject === "-f" ? [closedAt(one, place, "/$")] : [];
  return { rules: folders, guards: [{ statement: one, conditions: [EVERYTHING], isRefusal: true, apply }] };
}

/** Closes the paths of an expression. */
function closedAt(one: Statement, place: PathRule, regex: string): Rule {
  const rule = ruleOf(one, `${one.file}:${one.line} ${one.text}`, {});
  rule.path = place;
  closed(rule);
  rule.keys.regex = regex;
  return rule;
}

/** The same with what is asked said without `not`; null if it is not the same. */
function positiveOf(asked: NginxTest): NginxTest | null {
  if (!asked.isNot) return asked;
  // Whatever is not nothing fits.
  return asked.sign === "=" && asked.value === "" && /^(http|cookie|arg)_/.test(asked.subject)
    ? { ...asked, isNot: false, sign: "~", value: "." }
    : null;
}

/** What does not fit a condition with `not`; null if no route can ask it. */
function exceptionsOf(asked: NginxTest): Condition[] | null {
  if (asked.subject === "uri" || asked.subject === "document_uri") {
    // A prefix takes the path without its slash, too: no more may be excepted than is asked for.
    if (asked.sign === "~*" || (asked.sign === "~" && !/(\$|\(\/\|\$\)|\(\/\.\*\)\?)$/.test(asked.value))) return null;
    const places = asked.sign === "=" ? null : regexPlaces(asked.value);
    if (places !== null) return places.map((path) => ({ ...EVERYTHING, path }));
  }
  const conditions = conditionsOf(asked, false);
  return conditions?.every(({ regex }) => regex === "") === true ? conditions : null;
}

/** The directive of a block that decides about its requests; null if none does. */
function effectOf({ block }: Statement): Statement | null {
  for (const one of block ?? []) {
    if (one.name === "return" || one.name === "rewrite") return one;
    if (one.name === "break") return null;
    if (verdictOf(one).isClosing || CONTENT.test(one.name)) return one;
  }
  return null;
}

/** What decides where a request goes, inside of an `if`. */
const CONTENT = /_pass$|^(root|alias|try_files|internal)$/;

/** Rules for requests that fit; null if none can say it. */
function rulesFor(
  scope: Scope,
  one: Statement,
  effect: Statement,
  { place, fitting }: { readonly place: PathRule; readonly fitting: readonly Condition[] },
): Rule[] | null {
  return fitting.flatMap((condition) => {
    const own = joined({ ...EVERYTHING, path: place }, condition);
    if (own === null) return [];
    const rule = ruleOf(one, `${one.file}:${one.line} ${one.text}`, {});
    Object.assign(rule, {
      path: own.path ?? place,
      hosts: own.hosts,
      methods: [...own.methods],
      match: copied(own.match),
    });
    if (effect.name === "return") answer(scope, effect, rule);
    else {
      const redirect = effect.name === "rewrite" && own.regex === "" ? redirectOf(scope, effect, rule.path) : null;
      if (redirect === null) closed(rule);
      else rule.keys = redirect.keys;
    }
    if (own.regex !== "") rule.keys.regex = own.regex;
    if (effect.name === "return" || hasType(rule.keys, "redirect")) scope.ledger.carry(one, effect);
    else scope.ledger.note(one, "its work has no counterpart: its requests are closed", "write a route with match");
    return [rule];
  });
}

/** What counts for requests that do not fit. */
function guardsFor(scope: Scope, one: Statement, effect: Statement, fits: readonly Condition[]): Modifier[] | null {
  if (effect.name !== "return") return null;
  const wanted = ruleOf(one, "", {});
  answer(scope, effect, wanted);
  scope.ledger.carry(one, effect);
  if (fits.some(({ methods }) => methods.includes("GET") && !methods.includes("HEAD")))
    scope.ledger.note(one, "HEAD is allowed wherever GET is", "nothing");
  const except = [{ ...EVERYTHING, notAny: fits }];
  const { status, body } = wanted.keys;
  if (hasType(wanted.keys, "respond") && Number(status) >= 400 && body === undefined)
    return refusal(one, except, { status: Number(status) });
  const apply = (rule: Rule): void => responseBy(rule, copied(wanted.keys));
  return except.flatMap((condition) => excepting({ statement: one, isRefusal: true, conditions: [condition], apply }));
}

/** Notes what a block has beside what decides. */
function noteRest({ ledger }: Scope, one: Statement, effect: Statement): void {
  for (const child of one.block ?? [])
    if (child !== effect && !ledger.isJudged(child))
      ledger.note(child, "belongs to a condition, of which the response alone is carried over", "set it at the route");
}

/** `limit_except`: all other methods are refused. docs/migrate-nginx.md */
function methodsOf({ ledger }: Scope, statement: Statement): Modifier[] {
  const methods = statement.args.map((method) => method.toUpperCase());
  const [only, ...more] = statement.block ?? [];
  if (only === undefined) {
    ledger.standard(statement);
    return [];
  }
  if (only?.name === "deny" && only.args[0] === "all" && more.length === 0) ledger.carry(statement, only);
  else
    ledger.noteWhole(
      statement,
      "methods are allowed or not: all but these are refused to every client",
      "write another route for the other methods, with ip_rules or auth",
    );
  // Other methods have a location of their own, without the response of the block.
  return refusal(statement, [{ ...EVERYTHING, notAny: [{ ...EVERYTHING, methods }] }], { isFirst: true });
}
