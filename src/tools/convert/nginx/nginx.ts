import { refuseRule } from "../access.ts";
import { holdsHost, siteRank } from "../arrange.ts";
import { isPartial, Plan, type Rule, ruleOf } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { nginxAdvice } from "./nginx-advice.ts";
import { verdictOf } from "./nginx-directives.ts";
import {
  convertListeners,
  isClosedByTls,
  type Listening,
  type NginxListeners,
  nginxListeners,
} from "./nginx-listeners.ts";
import { convertSite } from "./nginx-locations.ts";
import type { NginxFile } from "./nginx-parser.ts";
import { staysAt } from "./nginx-places.ts";
import { Scope } from "./nginx-scope.ts";
import { convertServerWide } from "./nginx-server-wide.ts";
import { convertStreams } from "./nginx-streams.ts";
import { type CommonTrust, closeByTrust, convertTrust } from "./nginx-trust.ts";
import { putVariables } from "./nginx-variables.ts";

/** Puts the first name of each server in the place of `$server_name`, whatever host was asked for. */
function putServerNames(statements: readonly Statement[], name = ""): void {
  for (const one of statements) {
    const own = one.name === "server" ? (one.all("server_name")[0]?.args[0] ?? "") : name;
    if (PLAIN_NAME.test(own) && one.args.some((word) => word.includes("server_name")))
      one.args = one.args.map((word) => word.replaceAll(/\$(?:\{server_name\}|server_name\b)/g, own));
    if (one.block !== null) putServerNames(one.block, own);
  }
}

const PLAIN_NAME = /^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i;

/** Makes rules and settings of a configuration of nginx. docs/migrate-nginx.md */
export function convertNginx({ statements, missing }: NginxFile): Plan {
  const plan = new Plan("nginx");
  const { ledger } = plan;
  for (const one of statements) ledger.enter(one);
  putServerNames(statements);
  putVariables(plan, statements);
  for (const one of missing) missingInclude(plan, one);
  const main = new Scope(statements, null, null, ledger);
  // A file of sites-available has servers without the block around them.
  const blocks = main.here("http");
  const https = blocks.map((one) => main.inner(one));
  const http = https[0] ?? main;
  const servers = [
    ...https.flatMap((scope) => scope.here("server").map((one) => scope.inner(one))),
    ...(http === main ? [] : []),
  ];
  const alone = http === main ? main.here("server").map((one) => main.inner(one)) : [];
  const listeners = nginxListeners([...servers, ...alone]);
  const own = plan.config.server;
  convertStreams(plan, main);
  const isLocations = listeners.length === 0 && main.here("location").length > 0;
  const groups = convertListeners(plan, listeners);
  if (isLocations) own.port = 80;
  else if (listeners.length === 0) noClients(plan);
  const trust = convertTrust(
    plan,
    groups.flatMap(({ served }) => served),
  );
  for (const group of groups) plan.rules.push(...rulesOf(plan, http, { ...group, trust }));
  // A file of locations alone, for the includes of servers.
  if (isLocations) {
    const rules: Rule[] = [];
    convertSite({ scope: main, http: main, rules, settled: new Set(), isTlsAlone: false, staysHere: staysAt });
    plan.rules.push(...rules);
  }
  convertServerWide(plan, main, http);
  for (const { statement } of ledger.account()) {
    if (ledger.isJudged(statement)) continue;
    if (statement.name === "types" && statement.block !== null) {
      for (const one of statement.block) ledger.standardWhole(one);
      ledger.note(statement, nginxAdvice(statement).why, nginxAdvice(statement).cure);
    } else if (WHOLE.has(statement.name) || (statement.name === "map" && statement.args[0] === "$http_upgrade"))
      ledger.standardWhole(statement);
    else if (verdictOf(statement).isStandard || isWithoutUse(statement)) ledger.standard(statement);
  }
  ledger.settle(nginxAdvice);
  return plan;
}

/** Rules of a server for some of its names. Within one, they stay in their order whatever their hosts. */
interface Site {
  readonly names: readonly string[];
  readonly rules: readonly Rule[];
}

/** What is known of all servers together. */
interface Servers extends NginxListeners {
  readonly trust: CommonTrust;
}

/** The rules of the servers of the same addresses. */
function rulesOf(plan: Plan, http: Scope, servers: Servers): Rule[] {
  const { served, names } = servers;
  // Routes do not go by the port: where a name is served in clear text too, that of TLS counts.
  const hasTls = ({ listens }: Listening): boolean => listens.some(({ isTls }) => isTls);
  const sites = [...served.filter(hasTls), ...served.filter((one) => !hasTls(one))].flatMap((listening) => {
    plan.ledger.carry(listening.scope.statement);
    return convertServer(plan, listening, http, servers);
  });
  const rules = sites.sort((a, b) => siteRank(b.names) - siteRank(a.names)).flatMap((site) => site.rules);
  return names.length === 0 ? rules : rules.map((rule) => ({ ...rule, listeners: names }));
}

function convertServer(plan: Plan, listening: Listening, http: Scope, servers: Servers): Site[] {
  const { scope, hosts, isDefault } = listening;
  const { served, settled, isTlsAlone, trust, tls } = servers;
  const isSingle = served.length === 1;
  const rules: Rule[] = [];
  convertSite({ scope, http, rules, settled, isTlsAlone, staysHere: staysAt });
  closeByTrust(plan, listening, rules, trust);
  if (isClosedByTls(plan, listening, tls)) for (const rule of rules) refuseRule(rule);
  // nginx finds the server first, then the location: full names, then patterns, then the default.
  const others = served.filter((one) => one !== listening).flatMap(({ unsaid }) => unsaid);
  const isShut = isDefault && others.length > 0;
  const groups: string[][] = [
    hosts.filter((one) => !one.startsWith("*.")),
    ...hosts.filter((one) => one.startsWith("*.")).map((one) => [one]),
  ];
  if (isSingle) groups.splice(0, groups.length, []);
  else if (isDefault) {
    // Its names need routes of their own where another server would take them, or none is left for the others.
    const names = served.filter((one) => one !== listening).flatMap((one) => one.hosts);
    const isTaken = (host: string): boolean => isShut || names.some((wide) => holdsHost(wide, host));
    const kept = groups.map((group) => group.filter(isTaken));
    groups.splice(0, groups.length, ...kept.filter((group) => group.length > 0), []);
  }
  const last = rules.at(-1);
  const isWhole = last !== undefined && last.path.value === "/" && last.path.kind === "prefix" && !isPartial(last);
  if (!isWhole && !isSingle && scope.statement !== null) rules.push(nothing(scope.statement));
  if (!isDefault && !isSingle && groups.every((group) => group.length === 0)) {
    plan.ledger.noteWhole(
      scope.statement!,
      "it has no name by which routes could be chosen: requests for it go to the other servers",
      "write its routes with host, or start a second gateway for its port",
    );
    return [];
  }
  if (isShut) noteShut(plan, scope, others);
  return groups
    .filter((group) => group.length > 0 || isDefault || isSingle)
    .map((names) => ({
      names,
      rules: rules
        .filter(({ hosts: own }) => own.length === 0 || names.length === 0 || names.some((host) => own.includes(host)))
        .map((rule) => ({ ...rule, hosts: rule.hosts.length > 0 ? rule.hosts : names, keys: { ...rule.keys } }))
        .map((rule) => {
          if (isShut && names.length === 0) refuseRule(rule);
          return rule;
        }),
    }));
}

/** What a server gets that may be for names of another one, by its expression. */
function noteShut({ ledger }: Plan, { statement }: Scope, unsaid: readonly string[]): void {
  ledger.remark(
    statement ?? { file: "routes.yaml", line: 0 },
    "server",
    `it takes all other names, and by ${unsaid.slice(0, 3).join(", ")} some of them are another server's: its routes are closed but for its own names`,
    "write names at host of the routes of both, and remove ip_rules",
  );
}

/** No client comes by HTTP; the gateway always listens for it: here for this machine alone. */
function noClients({ config, ledger, streams }: Plan): void {
  const taken = JSON.stringify(streams.map(({ keys }) => keys.listen));
  config.server.host = "127.0.0.1";
  config.server.port = [8080, 8081, 8082].find((port) => !taken.includes(`:${port}"`)) ?? 8083;
  ledger.remark(
    { file: "config.yaml", line: 0 },
    "server.port",
    "no server takes requests of HTTP: the gateway does so for this machine alone",
    "nothing: metrics and status are there",
  );
}

/** HTTP/2 is on, and a root of which no route has files needs none. */
function isWithoutUse({ name, args }: Statement): boolean {
  return (name === "http2" && args[0] === "on") || name === "root";
}

/** Blocks of which nothing inside says what is done with requests. */
const WHOLE: ReadonlySet<string> = new Set(["charset_map"]);

/** What a server without a location for it answers. */
function nothing(statement: Statement): Rule {
  return ruleOf(statement, `${statement.file}:${statement.line} server: all other paths`, {
    type: "respond",
    status: 404,
  });
}

/** Files of packages, which say nothing of requests that edge would not do itself. */
const STANDARD_FILES: ReadonlySet<string> = new Set([
  "mime.types",
  "options-ssl-nginx.conf",
  "ssl-params.conf",
  "ssl-dhparam.pem",
  "ssl-dhparams.pem",
  "fastcgi_params",
  "fastcgi.conf",
  "fastcgi-php.conf",
  "fastcgi_php.conf",
  "php_fastcgi.conf",
  "proxy_params",
  "uwsgi_params",
  "scgi_params",
]);

function missingInclude({ ledger }: Plan, statement: Statement): void {
  const [name = ""] = statement.args;
  const isOfModules = name.startsWith("modules-enabled/") || name.includes("/modules-enabled/");
  if (isOfModules || STANDARD_FILES.has(name.slice(name.lastIndexOf("/") + 1))) ledger.standard(statement);
  else ledger.note(statement, "the file is not there", "convert it as well, if it is about requests");
}
