import { allowOnly, refuseRule, THIS_MACHINE } from "../access.ts";
import { redirectAt } from "../addresses.ts";
import { byPaths } from "../by-paths.ts";
import { beginningOf, type Condition, EVERYTHING } from "../condition.ts";
import { copied, EFFORT, STEPS_A_DIRECTIVE } from "../effort.ts";
import { withoutExceptions } from "../exceptions.ts";
import { contentExpressionOf } from "../expression.ts";
import { type Keys, sectionAt } from "../keys.ts";
import { applied, type Modifier, noteUnused, partOf, refusal } from "../modifiers.ts";
import { ROOT } from "../path-rule.ts";
import { closed, durationSetting, hasType, Plan, type Rule, ruleOf } from "../plan.ts";
import { sealed } from "../seal.ts";
import type { Statement } from "../statement.ts";
import { statementTitle } from "../statement.ts";
import { haproxyAdvice, isStandard } from "./haproxy-advice.ts";
import { backendKeys, Defaults, HaproxySection } from "./haproxy-backends.ts";
import { Acls, type HaproxyRequest, type HaproxyTest, PASSWORDS } from "./haproxy-conditions.ts";
import { edit, taking } from "./haproxy-edits.ts";
import { frontendLeads, isLedToTls, isSameEntry, rulesText, srcFaultOf } from "./haproxy-frontends.ts";
import { type HaproxyGroup, listedBinds, listeners } from "./haproxy-listeners.ts";
import { convertHaproxyTcp } from "./haproxy-streams.ts";
import { formatOf, haproxyTime } from "./haproxy-values.ts";

/** What a section is converted with. */
interface Work {
  readonly plan: Plan;
  readonly backends: ReadonlyMap<string, HaproxySection>;
  readonly facts: HaproxyRequest;
  /** Whether clear text leads to TLS. */
  isRedirected: boolean;
}

/** Makes rules and settings of a configuration of HAProxy. docs/migrate-haproxy.md */
export function convertHaproxy(sections: readonly Statement[]): Plan {
  const plan = new Plan("HAProxy");
  const { ledger } = plan;
  for (const one of sections) ledger.enter(one);
  const proxies: HaproxySection[] = [];
  const defaults = new Defaults();
  for (const one of sections) {
    if (one.name === "defaults") defaults.add(one);
    else if (/^(frontend|backend|listen)$/.test(one.name)) proxies.push(new HaproxySection(one, defaults.of(one)));
  }
  const backends = new Map(
    proxies.filter(({ statement }) => statement.name !== "frontend").map((one) => [one.name, one]),
  );
  const entries = proxies.filter((one) => one.statement.name !== "backend" && isHttp(one, plan, backends));
  const groups = listedBinds(plan, entries, frontendLeads);
  const kept = groups === null ? byPorts(plan, entries, backends) : byListeners(plan, groups, backends);
  serverWide(plan, kept, sections);
  for (const { statement } of ledger.account())
    if (!ledger.isJudged(statement) && isStandard(statement)) ledger.standard(statement);
  ledger.settle(haproxyAdvice);
  return plan;
}

/** The rules of frontends at one port in clear text and one with TLS. @returns the frontends that are carried over */
function byPorts(
  plan: Plan,
  entries: readonly HaproxySection[],
  backends: Work["backends"],
): readonly HaproxySection[] {
  const { kept, local, hasTls, hasClear } = listeners(plan, entries, isSameEntry, frontendLeads);
  const others = kept.filter((one) => !local.includes(one));
  const serving = others.find((one) => !frontendLeads(one)) ?? others[0];
  let isRedirected = false;
  for (const entry of [...others, ...local]) {
    const facts = { hasTls, hasClear, srcFault: srcFaultOf(entry), pathFault: "", changed: new Set<string>() };
    const work: Work = { plan, backends, facts, isRedirected: false };
    const rules = entryRules(entry, work);
    isRedirected ||= work.isRedirected || (hasTls && frontendLeads(entry));
    if (local.includes(entry)) for (const rule of rules) allowOnly(rule, THIS_MACHINE);
    // Two other frontends that say the same are one.
    if (local.includes(entry) || entry === serving) plan.rules.push(...rules);
  }
  if (isRedirected && plan.config.server.tls !== undefined) sectionAt(plan.config.server, "tls").redirect_http = true;
  return kept;
}

/** The rules of frontends at listeners of their own. @returns the frontends that are carried over */
function byListeners(
  plan: Plan,
  groups: readonly HaproxyGroup[],
  backends: Work["backends"],
): readonly HaproxySection[] {
  const made = groups.map(({ entry, isTls, names }) => {
    const facts = {
      hasTls: isTls,
      hasClear: !isTls,
      srcFault: srcFaultOf(entry),
      pathFault: "",
      changed: new Set<string>(),
    };
    // All comes one way: nothing has to lead to TLS but the routes of clear text.
    return { entry, names, rules: entryRules(entry, { plan, backends, facts, isRedirected: true }) };
  });
  const kinds = Map.groupBy(
    made,
    ({ entry, rules }) => `${groups.findIndex((one) => one.entry === entry)} ${rulesText(rules)}`,
  );
  const hasTls = groups.some(({ isTls }) => isTls);
  for (const same of kinds.values()) {
    const names = same.flatMap((one) => one.names);
    if (hasTls && isLedToTls(same[0]!.rules[0])) {
      redirectAt(plan.config.server, names);
      continue;
    }
    plan.rules.push(...same[0]!.rules.map((rule) => (kinds.size === 1 ? rule : { ...rule, listeners: names })));
  }
  return [...new Set(groups.map(({ entry }) => entry))];
}

/** Those of `mode tcp` become streams. */
function isHttp(entry: HaproxySection, plan: Plan, backends: ReadonlyMap<string, HaproxySection>): boolean {
  const { ledger } = plan;
  const mode = entry.find("mode");
  if (mode?.args[0] === "tcp" && entry.statement.all("bind").length > 0) {
    convertHaproxyTcp(plan, entry, backends);
    return false;
  }
  if (
    mode?.args[0] === "tcp" ||
    (mode === null &&
      entry.statement.all("http-request").length === 0 &&
      entry.statement.all("use_backend").length === 0 &&
      entry.statement.all("default_backend").length === 0 &&
      entry.statement.all("server").length === 0)
  ) {
    ledger.noteWhole(entry.statement, "TCP is not converted", "write a route of the type tcp: docs/streams.md");
    return false;
  }
  return true;
}

/** The rules of a frontend, in the order in which HAProxy asks them. */
function entryRules(entry: HaproxySection, work: Work): Rule[] {
  const { ledger } = work.plan;
  const acls = new Acls(work.facts, entry.defaults, entry.statement);
  ledger.carry(entry.statement);
  const { rules, edits } = requests(entry, acls, work);
  const ways: Rule[] = [];
  for (const one of entry.statement.all("use_backend")) ways.push(...useBackend(one, acls, work));
  const fallback = entry.find("default_backend");
  const name = fallback?.args[0] ?? (entry.statement.name === "listen" ? entry.name : null);
  if (name !== null) {
    ways.push(...backendRules(fallback ?? entry.statement, name, [], work));
    ledger.carry(fallback);
  }
  const all = withoutExceptions([...rules, ...ways], ledger);
  const changed = applied(all, edits);
  noteUnused(edits, changed, ledger);
  compression(entry, changed, work.plan);
  return sealed(changed, ledger);
}

/** What the `http-request` rules of a section make, and those of its defaults before them. */
function requests(entry: HaproxySection, acls: Acls, work: Work): Made {
  const rules: Rule[] = [];
  const edits: Modifier[] = [];
  // A request that one of these takes is asked no further rule of its kind.
  const accepted = { tcp: [] as Condition[], http: [] as Condition[] };
  const shared = (entry.defaults?.block ?? []).filter(({ name }) => /^(http|tcp)-(request|response)$/.test(name));
  const all = [...shared, ...(entry.statement.block ?? [])];
  // Connections are judged before requests, wherever the lines are.
  const own = [
    ...all.filter(({ name }) => name === "tcp-request"),
    ...all.filter(({ name }) => name !== "tcp-request"),
  ];
  EFFORT.take(STEPS_A_DIRECTIVE * own.length);
  for (const one of own) {
    if (one.name === "monitor-uri") rules.push(monitor(one, work));
    if (one.name === "stats" && one.args[0] === "uri") rules.push(statistics(one, work));
    if (
      OLD_GUARD.test(one.name) ||
      (one.name === "filter" && !/^(compression|trace|cache|bwlim\S*)$/.test(one.args[0] ?? ""))
    ) {
      edits.push(shutBy(one, [EVERYTHING], `${one.name} has no counterpart`, work.plan));
      continue;
    }
    if (!RULES.test(one.name)) continue;
    const list = one.name === "tcp-request" ? accepted.tcp : accepted.http;
    const made = request(one, acls, work, { accepted: list, spared: new Set(rules) });
    rules.push(...made.rules);
    edits.push(...made.edits);
  }
  return { rules, edits };
}

const RULES = /^(http-request|redirect|http-response|http-after-response|tcp-request|tcp-response|block)$/;
/** What older versions had for refusals and changes of requests. */
const OLD_GUARD = /^(req\w+|rspi?deny)$/;

/** Closes what a directive that is left out may be for. */
function shutBy(statement: Statement, conditions: readonly Condition[], why: string, { ledger }: Plan): Modifier {
  ledger.note(
    statement,
    `${why}: the routes that it may be for are closed`,
    "write routes with match, and remove ip_rules",
  );
  return {
    statement,
    conditions: conditions.map((one) => ({ ...one, notAny: [] })),
    isRefusal: true,
    apply: refuseRule,
  };
}

/** The page of `stats` is no path of an application. */
function statistics(statement: Statement, { plan }: Work): Rule {
  const rule = ruleOf(statement, statementTitle(statement), { type: "respond", status: 404 });
  rule.path = { kind: "exact", value: (statement.args[1] ?? "/").replace(/[?#].*$/s, "") || "/" };
  plan.ledger.note(statement, "the gateway has a dashboard of its own: the path is 404", "open /internal/");
  return rule;
}

function monitor(statement: Statement, { plan }: Work): Rule {
  const rule = ruleOf(statement, statementTitle(statement), { type: "respond", status: 200 });
  rule.path = { kind: "exact", value: statement.args[0] ?? "/" };
  plan.ledger.carry(statement);
  return rule;
}

/** Rules of a backend for the conditions of a `use_backend`; none is every request. */
function backendRules(
  origin: Statement,
  name: string,
  conditions: readonly Condition[],
  { backends, plan, facts }: Work,
): Rule[] {
  const { ledger } = plan;
  const backend = backends.get(name);
  const keys = backend === undefined ? null : backendKeys(backend, ledger);
  const places: readonly (Condition | null)[] = conditions.length === 0 ? [null] : conditions;
  return places.flatMap((condition) => {
    const rule = ruleOf(origin, `${statementTitle(origin)}${name === "" ? "" : ` (backend ${name})`}`, {});
    if (condition !== null) put(rule, condition);
    if (backend === undefined || keys === null) {
      closed(rule);
      ledger.note(
        origin,
        backend === undefined
          ? `there is no backend ${name}: the route is closed`
          : `the backend ${name} has no servers: the route is closed`,
        "write its targets",
      );
      return [rule];
    }
    ledger.carry(backend.statement);
    rule.scopes.push(backend.statement);
    const { regex } = rule.keys;
    const { type, ...others } = copied(keys);
    rule.keys = { type, ...(regex === undefined ? {} : { regex }), ...others };
    if (rule.path.kind === "prefix" && rule.path.value !== "/") rule.keys.strip_prefix = false;
    const own = backend.statement === origin ? [rule] : backendRequests(backend, rule, { plan, facts });
    // Responses of the backend itself have no expression beside their own.
    if (regex !== undefined && own.length > 1) {
      closed(rule);
      ledger.note(origin, "the backend answers some of its requests itself: it is closed", "write routes with match");
      return [rule];
    }
    compression(backend, own, plan);
    return own;
  });
}

/** `http-request` and `http-response` of a backend, for a rule that leads there. @returns the rule with those before it */
function backendRequests(backend: HaproxySection, rule: Rule, { plan, facts }: Pick<Work, "plan" | "facts">): Rule[] {
  const own = { ...facts, changed: new Set(facts.changed) };
  const acls = new Acls(own, backend.defaults, backend.statement);
  const work = { plan, backends: new Map(), facts: own, isRedirected: false };
  const { rules, edits } = requests(backend, acls, work);
  const { path, hosts, methods, match, notAny = [] } = rule;
  const place = { ...EVERYTHING, path, hosts, methods, match };
  const before = applied(rules, edits).flatMap((one) => {
    const part = partOf(one, place);
    return part === null ? [] : [{ ...part, notAny: [...(one.notAny ?? []), ...notAny] }];
  });
  const changed = [...before, ...applied([rule], edits)];
  noteUnused(edits, changed, plan.ledger);
  return changed;
}

function put(rule: Rule, { path, hosts, methods, match, notAny, regex }: Condition): void {
  if (notAny.length > 0) rule.notAny = notAny;
  rule.path = path ?? ROOT;
  rule.hosts = hosts;
  rule.methods = [...methods];
  rule.match = { ...match };
  if (regex === "") return;
  rule.path = beginningOf(regex, rule.path);
  const { type, ...others } = rule.keys;
  rule.keys = { type, regex, ...others };
}

function useBackend(statement: Statement, acls: Acls, work: Work): Rule[] {
  const { ledger } = work.plan;
  const [name = "", ...words] = statement.args;
  const asked = acls.asked(words);
  const any = "any" in asked ? asked.any : [EVERYTHING];
  const places = byPaths(any) ?? (any.every(isOfContent) ? any : null);
  const fault = !("any" in asked) ? "routes do not go by the scheme, nor by passwords" : asked.fault;
  const why = name.includes("%[")
    ? "backends are chosen by conditions, not by a map or a field"
    : fault || (places === null ? BY_REGEX : "");
  if (why !== "" || places === null) {
    ledger.note(
      statement,
      `${why}: what it may be for is closed`,
      "write routes with match, and remove those with 503",
    );
    return shutRules(statement, any);
  }
  ledger.carry(statement, ...acls.linesOf(words));
  noteSegments(statement, acls.linesOf(words), words, work.plan);
  return backendRules(statement, name, places, work);
}

const BY_REGEX = "no route has its expression";

/** Whether the expression of a condition takes the same paths as they are sent and as routes compare them. */
function isOfContent({ regex, notAny }: Condition): boolean {
  if (regex === "") return true;
  return notAny.length === 0 && !/%|\/\//.test(regex) && contentExpressionOf(regex.replace(/^\(\?i\)/, "")) !== null;
}

/** Routes that are closed in the place of a directive that cannot be said. */
function shutRules(statement: Statement, conditions: readonly Condition[]): Rule[] {
  return conditions.map((one) => {
    const rule = ruleOf(statement, statementTitle(statement), {});
    closed(rule);
    put(rule, one);
    return rule;
  });
}

/** `path_beg /api` takes /apix too. */
function noteSegments(
  statement: Statement,
  lines: readonly Statement[],
  words: readonly string[],
  { ledger }: Plan,
): void {
  const tests = [...lines.map(({ args }) => args), words];
  const isOpen = tests.some(
    (list) => list.some((word) => /^path_beg/.test(word)) && list.some((word) => /^\/.*[^/]$/.test(word)),
  );
  if (isOpen)
    ledger.note(
      statement,
      "a prefix takes whole segments of a path: /api and /api/x, not /apix",
      "write another route for such paths, if there are any",
    );
}

/** What directives make: rules of their own, and changes of the others. */
interface Made {
  readonly rules: Rule[];
  readonly edits: Modifier[];
}

/** What has been read before a rule. */
interface Before {
  /** Requests that no further rule of this kind is asked about; added to by `allow` and `accept`. */
  readonly accepted: Condition[];
  /** Rules that take their requests before this one. */
  readonly spared: ReadonlySet<Rule>;
}

/** What `http-request`, `http-response`, `tcp-request` and `redirect` make: rules of their own, or a change of all rules. */
function request(statement: Statement, acls: Acls, work: Work, before: Before): Made {
  const { ledger } = work.plan;
  const words = wordsOf(statement);
  const at = words.findIndex((word) => word === "if" || word === "unless");
  const action = at < 0 ? words : words.slice(0, at);
  const condition = at < 0 ? [] : words.slice(at);
  const [kind = ""] = action;
  const none: Made = { rules: [], edits: [] };
  if (/^(set|add|del|replace)-(header|value|path|pathq|uri|query|method)$/.test(kind))
    return { rules: [], edits: changes(statement, action, condition, acls, work) };
  if (HARMLESS.test(kind)) return none;
  if (kind === "allow" || kind === "accept") {
    accept(statement, acls, condition, before, ledger);
    return none;
  }
  if (LET_IN.test(kind)) return refusals(statement, { action, condition }, acls, work, before);
  const asked = acls.asked(condition);
  if ("special" in asked && asked.special === "cleartext" && kind === "redirect" && action[1] === "scheme") {
    work.isRedirected = true;
    ledger.carry(statement, ...acls.linesOf(condition));
    return none;
  }
  // Clear text leads to TLS before anything else.
  if (
    kind === "redirect" &&
    action[1] === "scheme" &&
    condition.length === 0 &&
    acls.facts.hasTls &&
    !work.isRedirected
  ) {
    work.isRedirected = true;
    ledger.carry(statement);
    return none;
  }
  if (kind === "return" || kind === "redirect") {
    const rules = answers(statement, action, asked, before.accepted, work);
    if (acls.facts.pathFault !== "" && rules.some(({ keys }) => /\{(uri|path)\}/.test(String(keys.to))))
      ledger.note(
        statement,
        "its path is the client's own, not the one that has been set before",
        "write to with a regex: docs/answers.md",
      );
    ledger.carry(...acls.linesOf(condition));
    return { rules, edits: [] };
  }
  const any = "any" in asked ? asked.any : [EVERYTHING];
  return {
    rules: [],
    edits: [shutBy(statement, any, `${action.slice(0, 2).join(" ")} has no counterpart here`, work.plan)],
  };
}

/** Actions that keep no request out, and change none: what goes by their results is closed if it is asked. */
const HARMLESS =
  /^(capture|log|set-log-level|set-nice|set-tos|set-mark|no-op|disable-l7-retry|set-priority\S*|inspect-delay|track-sc\S*|sc-\S*|(un)?set-var\S*|early-hint|wait-for-\S*|do-resolve\S*|strict-mode|(set|del)-map\S*|(add|del)-acl\S*|set-bandwidth-limit|cache-\S*|set-timeout|normalize-uri|expect-\S*|set-src\S*|set-dst\S*|set-status|set-fc-\S*|set-bc-\S*)$/;

/** The action of a directive, and what follows it. */
function wordsOf({ name, args }: Statement): readonly string[] {
  if (name === "redirect") return ["redirect", ...args];
  if (name === "block") return ["deny", ...args];
  return /^tcp-re/.test(name) && /^(connection|session|content)$/.test(args[0] ?? "") ? args.slice(1) : args;
}

/** Fields and paths that are changed. */
function changes(
  statement: Statement,
  action: readonly string[],
  condition: readonly string[],
  acls: Acls,
  { plan }: Work,
): Modifier[] {
  const { ledger } = plan;
  const [kind = "", name = "", value = ""] = action;
  const asked = acls.asked(condition);
  const isResponse = statement.name !== "http-request";
  const isOfPath = /-(path|pathq|uri|query|method)$/.test(kind);
  if (
    "special" in asked &&
    !isOfPath &&
    !isResponse &&
    asked.special === "cleartext" &&
    isScheme(name, value, "http")
  ) {
    ledger.carry(statement);
    return [];
  }
  const any = "any" in asked ? asked.any : [EVERYTHING];
  const isSaid =
    "any" in asked && asked.fault === "" && any.every(({ notAny, regex }) => notAny.length + regex.length === 0);
  const made = isSaid || condition.length === 0 ? edit(statement, action, isResponse, plan) : null;
  if (isSaid && !isResponse && isScheme(name, value, "https") && condition.length > 0) {
    ledger.carry(statement);
    return [];
  }
  // What is asked from here on is another path, or another field, than the client's own.
  if (!isResponse && isOfPath) acls.facts.pathFault = "the path has been changed before";
  else if (!isResponse) acls.facts.changed.add(name.toLowerCase());
  // Responses of HAProxy's own pass no http-response.
  const isForwarded = statement.name === "http-response";
  if (made !== null) {
    ledger.carry(...acls.linesOf(condition));
    return [
      {
        statement,
        conditions: any,
        apply(rule) {
          if (!isForwarded || hasType(rule.keys, "upstream")) made(rule);
        },
      },
    ];
  }
  const wide = any.map((one) => ({ ...one, notAny: [] }));
  if (isOfPath && !isResponse) return [shutBy(statement, byPaths(wide) ?? [EVERYTHING], NO_CHANGE, plan)];
  const isTaken = !isResponse && /^[\w-]+$/.test(name) && !/^(host|connection|upgrade)$/i.test(name);
  ledger.note(
    statement,
    `${isSaid || condition.length === 0 ? NO_CHANGE : "its condition has no counterpart in a route"}${isTaken ? ": the field is taken off all requests that it may be for" : ""}`,
    "set headers or rewrite at a route with match: docs/upstreams.md#header-edits",
  );
  if (!isTaken) return !isResponse && /^del/.test(kind) ? [shutBy(statement, [EVERYTHING], NO_CHANGE, plan)] : [];
  return [{ statement, conditions: byPaths(wide) ?? [EVERYTHING], apply: taking(name) }];
}

const NO_CHANGE = "this change of a header or a path has no counterpart";

/** Whether a field says how the client came, as the gateway does by itself. */
function isScheme(name: string, value: string, scheme: string): boolean {
  return /^x-forwarded-proto$/i.test(name) && value === scheme;
}

/** `allow` and `accept`: later rules of this kind do not count for these requests. */
function accept(
  statement: Statement,
  acls: Acls,
  condition: readonly string[],
  { accepted }: Before,
  ledger: Plan["ledger"],
): void {
  const asked = acls.asked(condition);
  if (
    "any" in asked &&
    asked.fault === "" &&
    asked.any.every(({ notAny, regex }) => notAny.length + regex.length === 0)
  ) {
    accepted.push(...asked.any);
    ledger.carry(statement, ...acls.linesOf(condition));
  } else
    ledger.note(
      statement,
      "its condition has no counterpart in a route: rules after it refuse its requests as well",
      "write a route with match for them",
    );
}

/** `deny`, `reject`, `auth` and the like. */
function refusals(
  statement: Statement,
  { action, condition }: { readonly action: readonly string[]; readonly condition: readonly string[] },
  acls: Acls,
  { plan }: Work,
  { accepted, spared }: Before,
): Made {
  const { ledger } = plan;
  const asked = acls.asked(condition);
  const isSecret = action[0] === "auth" || ("special" in asked && asked.special === "not-authenticated");
  const any = "any" in asked ? asked.any : [EVERYTHING];
  const lines = acls.linesOf(condition);
  const fault = "any" in asked ? asked.fault : isSecret ? "" : "routes do not go by the scheme";
  if (isSecret || fault === PASSWORDS)
    ledger.note(
      statement,
      `${PASSWORDS}: the routes are closed until there are such`,
      "make a users_file with edge passwd, and set auth.basic in the place of ip_rules",
    );
  else if (fault !== "")
    ledger.note(
      statement,
      `${fault}: the routes that it may be for are closed`,
      "write routes with match for what gets in",
    );
  else ledger.carry(statement);
  ledger.carry(...lines);
  const conditions = any.map((one) => ({ ...one, notAny: [...one.notAny, ...accepted] }));
  const status = statusOf(action);
  if (isSecret || fault !== "") {
    // Only some paths, by an expression: these alone are closed.
    const byRegex = conditions.filter(({ regex }) => regex !== "");
    const rest = any.filter(({ regex }) => regex === "").map((one) => ({ ...one, notAny: [] }));
    const edits =
      rest.length === 0 ? [] : [{ statement, conditions: rest, spared, isRefusal: true, apply: refuseRule }];
    return { rules: refusing(statement, byRegex, status), edits };
  }
  if (conditions.some(({ notAny }) => notAny.length > 0)) {
    const byRegex = conditions.filter(({ regex }) => regex !== "");
    const rest = conditions.filter(({ regex }) => regex === "");
    return { rules: refusing(statement, byRegex, status), edits: refusal(statement, rest, { status, spared }) };
  }
  return { rules: refusing(statement, conditions, status), edits: [] };
}

function refusing(statement: Statement, conditions: readonly Condition[], status: number): Rule[] {
  return conditions.map((one) => {
    const rule = ruleOf(statement, statementTitle(statement), { type: "respond", status });
    put(rule, one);
    return rule;
  });
}

/** `redirect` and `return` as rules. */
function answers(
  statement: Statement,
  action: readonly string[],
  asked: HaproxyTest,
  accepted: readonly Condition[],
  { plan }: Work,
): Rule[] {
  const { ledger } = plan;
  const any = "any" in asked ? asked.any : [EVERYTHING];
  const fault = "any" in asked ? asked.fault : "its condition has no counterpart in a route";
  const keys = actionKeys(action);
  if (fault !== "" || keys === null) {
    ledger.note(
      statement,
      `${fault || `${action.slice(0, 2).join(" ")} has no counterpart here`}: what it may be for is closed`,
      "write routes with match for its requests, and remove those with 503",
    );
    return shutRules(
      statement,
      any.map((one) => ({ ...one, notAny: [...one.notAny, ...accepted] })),
    );
  }
  ledger.carry(statement);
  return any.map((condition) => {
    const rule = ruleOf(statement, statementTitle(statement), { ...keys });
    put(rule, { ...condition, notAny: [...condition.notAny, ...accepted] });
    return rule;
  });
}

/** What keeps requests out. */
const LET_IN = /^(deny|reject|tarpit|silent-drop|auth)$/;

/** The status of a refusal. */
function statusOf(action: readonly string[]): number {
  const after = (name: string): string | undefined =>
    action.includes(name) ? action[action.indexOf(name) + 1] : undefined;
  const status = Number(after("deny_status") ?? after("status") ?? 403);
  return status >= 400 && status <= 599 ? status : 403;
}

function actionKeys(action: readonly string[]): Keys | null {
  const after = (name: string): string | undefined =>
    action.includes(name) ? action[action.indexOf(name) + 1] : undefined;
  const [kind] = action;
  const scheme = kind === "redirect" ? after("scheme") : undefined;
  if (scheme === "https" || scheme === "http")
    return { type: "redirect", to: `${scheme}://{host}{uri}`, status: Number(after("code") ?? 302) };
  if (kind === "return") {
    const body = formatOf(after("string") ?? after("lf-string") ?? "");
    if (
      body === null ||
      action.some((word) => /^(file|lf-file|errorfile|errorfiles|default-errorfiles|hdr)$/.test(word))
    )
      return null;
    const type = after("content-type");
    return {
      type: "respond",
      status: Number(after("status") ?? 200),
      ...(body === "" ? {} : { body, content_type: type ?? "text/plain" }),
    };
  }
  if (kind !== "redirect") return null;
  const status = Number(after("code") ?? 302);
  const location = after("location");
  const prefix = after("prefix");
  const to = formatOf(location ?? (prefix === undefined ? "" : `${prefix.replace(/\/$/, "")}%[pathq]`));
  const isClear = to !== null && /^(\/|https?:\/\/[\w.-]|\{(uri|path)\})/.test(to);
  return isClear ? { type: "redirect", to, status } : null;
}

function compression(entry: HaproxySection, rules: readonly Rule[], { ledger }: Plan): void {
  const algorithms = entry.find("compression", "algo") ?? entry.find("compression", "algo-res");
  if (algorithms === null) return;
  const types = entry.find("compression", "type") ?? entry.find("compression", "type-res");
  const encodings = algorithms.args.includes("gzip") ? ["gzip"] : [];
  ledger.carry(algorithms, types);
  if (encodings.length === 0) return;
  for (const { keys } of rules)
    if (!hasType(keys, "redirect"))
      keys.compression ??= {
        enabled: true,
        encodings,
        ...(types === null ? {} : { types: types.args.slice(1).map((one) => one.replace(/\/$/, "/*")) }),
      };
}

/** What counts for the whole gateway here. */
function serverWide(plan: Plan, entries: readonly HaproxySection[], sections: readonly Statement[]): void {
  const { server } = plan.config;
  for (const [name, keys] of CLIENT_TIMES) {
    const found = entries.map((entry) => entry.find("timeout", name)).find((one) => one !== null);
    const ms = haproxyTime(found?.args[1] ?? "");
    if (found === undefined || found === null || ms === null || ms === 0) continue;
    for (const key of keys) server[key] = durationSetting(ms);
    plan.ledger.carry(found);
  }
  const global = sections.find(({ name }) => name === "global");
  const connections = global?.all("maxconn")[0];
  if (connections !== undefined && Number(connections.args[0]) > 0) {
    server.max_connections = Number(connections.args[0]);
    plan.ledger.carry(connections);
  }
  const threads = global?.all("nbthread")[0];
  if (threads !== undefined && Number(threads.args[0]) > 0) {
    server.workers = Number(threads.args[0]);
    plan.ledger.carry(threads);
  }
  if (entries.some((entry) => entry.statement.all("bind").some(({ args }) => args.join(" ").includes("quic"))))
    server.http3 = { enabled: true };
  server.max_body_bytes = "unlimited";
}

const CLIENT_TIMES: readonly (readonly [string, readonly string[]])[] = [
  ["client", ["read_timeout", "write_timeout"]],
  ["http-request", ["header_timeout"]],
  ["http-keep-alive", ["idle_timeout"]],
];
