import { allowOnly, isLoopback, noteLocal, THIS_MACHINE } from "../access.ts";
import { hasType, Plan, type Rule, ruleOf, section } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { rulesOf, timeText } from "./caddy-directives.ts";
import type { Caddyfile } from "./caddy-parser.ts";
import { PRIVATE_RANGES } from "./caddy-values.ts";

/** One address of a site. */
interface Address {
  readonly scheme: string;
  readonly host: string;
  /** -1 where none is written. */
  readonly port: number;
}

/** Makes rules and settings of a Caddyfile. docs/migrate.md#caddy */
export function convertCaddyfile({ options, sites, others }: Caddyfile): Plan {
  const plan = new Plan("Caddy");
  const { ledger } = plan;
  for (const one of [...(options === null ? [] : [options]), ...others.map(({ statement }) => statement), ...sites])
    ledger.enter(one);
  for (const { statement, fault } of others) {
    if (fault === "") ledger.carry(statement);
    else ledger.noteWhole(statement, fault, "nothing, or import it");
  }
  const list = sites.map((site) => ({ site, addresses: [site.name, ...site.args].map(addressOf) }));
  const isTls = listeners(plan, list);
  if (options !== null) globalOptions(plan, options, isTls);
  const rules = list.flatMap(({ site, addresses }) => {
    ledger.carry(site);
    if (isTls && addresses.every(({ scheme }) => scheme === "http") && leadsToTls(site)) {
      for (const one of site.block ?? []) ledger.carry(one);
      return [];
    }
    return siteRules(plan, site, addresses);
  });
  // Caddy finds the site first: by a full name, then a pattern, then the one for all.
  plan.rules.push(...rules.sort((a, b) => rank(b.site) - rank(a.site)).map(({ rule }) => rule));
  plan.config.server.max_body_bytes = "unlimited";
  if (plan.rules.some(({ keys }) => hasType(keys, "upstream")))
    section(plan.config.proxy, "transport").response_header_timeout = "10m";
  for (const { statement } of ledger.account())
    if (!ledger.isJudged(statement) && STANDARD.has(statement.name)) ledger.standardWhole(statement);
  ledger.settle(adviceOf);
  return plan;
}

/** Without a need of a setting. */
const STANDARD: ReadonlySet<string> = new Set([
  "order",
  "log_skip",
  "log_append",
  "log_name",
  "skip_log",
  "auto_https",
  "push",
  "tracing_off",
  "grace_period",
  "persist_config",
  "storage_clean_interval",
  "ocsp_stapling",
]);

/** A rule, and the names of the site that it is of: within a site, rules stay in their order whatever their hosts. */
interface SiteRule {
  readonly rule: Rule;
  readonly site: readonly string[];
}

function siteRules(plan: Plan, site: Statement, addresses: readonly Address[]): SiteRule[] {
  const own = rulesOf(site.block ?? [], plan.ledger);
  const last = own.at(-1);
  const isWhole =
    last !== undefined &&
    last.path.value === "/" &&
    last.path.kind === "prefix" &&
    Object.keys(last.match).length === 0 &&
    last.hosts.length === 0 &&
    last.methods.length === 0 &&
    !last.isPartial;
  if (!isWhole)
    own.push(ruleOf(site, `${site.file}:${site.line} ${site.text}: all other paths`, { type: "respond", status: 200 }));
  // A site that only this machine could reach stays so: the gateway may listen at other addresses as well.
  const [bind] = site.all("bind");
  if (bind !== undefined && bind.args.length > 0 && bind.args.every(isLoopback)) {
    for (const rule of own) allowOnly(rule, THIS_MACHINE);
    noteLocal(plan.ledger, bind);
  }
  const hosts = [...new Set(addresses.map(({ host }) => host))];
  const groups: string[][] = hosts.includes("")
    ? [[]]
    : [
        hosts.filter((one) => !one.startsWith("*.")),
        ...hosts.filter((one) => one.startsWith("*.")).map((one) => [one]),
      ].filter((one) => one.length > 0);
  return groups.flatMap((group) =>
    own.map((rule) => ({ rule: { ...rule, hosts: rule.hosts.length > 0 ? rule.hosts : group }, site: group })),
  );
}

function rank([host]: readonly string[]): number {
  return host === undefined ? 0 : host.startsWith("*.") ? host.length : 1_000_000;
}

function addressOf(text: string): Address {
  const [, scheme = "", rest = ""] = /^(?:(https?):\/\/)?(.*)$/.exec(text)!;
  const parts = /^(\[[^\]]*\]|[^:/]*)(?::(\d+))?(\/.*)?$/.exec(rest);
  const host = (parts?.[1] ?? "").toLowerCase().replace(/^(0\.0\.0\.0|\[::\]|\*)$/, "");
  return { scheme, host, port: Number(parts?.[2] ?? -1) };
}

/** A site of clear text that does nothing but lead to https. */
function leadsToTls(site: Statement): boolean {
  const block = site.block ?? [];
  return (
    block.length > 0 &&
    block.every(
      ({ name, args }) => name === "redir" && /^https:\/\//.test(args.find((one) => one.startsWith("http")) ?? ""),
    )
  );
}

/** Ports and certificates. @returns whether there is TLS */
function listeners(
  plan: Plan,
  list: readonly { readonly site: Statement; readonly addresses: readonly Address[] }[],
): boolean {
  const { server } = plan.config;
  const { ledger } = plan;
  const clear: number[] = [];
  const secure: number[] = [];
  const names: string[] = [];
  for (const { site, addresses } of list) {
    const tls = site.all("tls").find(({ args }) => args.length === 2);
    const isInternal = site.all("tls").some(({ args }) => args[0] === "internal");
    for (const { scheme, host, port } of addresses) {
      const isClear =
        scheme === "http" ||
        port === 80 ||
        (host === "" && scheme === "" && tls === undefined && !isInternal && port !== 443);
      if (isClear) clear.push(port < 0 ? 80 : port);
      else secure.push(port < 0 ? 443 : port);
      if (!isClear && tls === undefined && host !== "") {
        if (isPublic(host) && !isInternal) names.push(host);
        else
          ledger.note(
            site,
            `${host} has no certificate of a public authority`,
            "set server.tls.cert_file and key_file, or server.acme with a private directory",
          );
      }
    }
    if (tls !== undefined) certificate(plan, tls);
  }
  const [clearPort] = prefer(clear, 80);
  const [tlsPort] = prefer(secure, 443);
  for (const { site, addresses } of list)
    for (const { port } of addresses)
      if (port > 0 && port !== clearPort && port !== tlsPort)
        ledger.note(
          site,
          `there is one port for clear text and one for TLS, here ${clearPort ?? "none"} and ${tlsPort ?? "none"}`,
          "serve it by these, or start a second gateway",
        );
  const hasTls = tlsPort !== undefined && (names.length > 0 || server.tls !== undefined);
  server.port = clearPort ?? (hasTls ? 80 : (tlsPort ?? 80));
  if (!hasTls) return false;
  Object.assign(section(server, "tls"), { port: tlsPort });
  const clearSites = list.filter(
    ({ site, addresses }) =>
      addresses.some(({ scheme, port }) => scheme === "http" || port === 80) && !leadsToTls(site),
  );
  if (clearSites.length === 0) section(server, "tls").redirect_http = true;
  if (names.length > 0) server.acme = { enabled: true, domains: [...new Set(names)] };
  return true;
}

function prefer(ports: readonly number[], usual: number): number[] {
  return ports.includes(usual) ? [usual] : [...ports].slice(0, 1);
}

function isPublic(host: string): boolean {
  return (
    host.includes(".") &&
    !/^[\d.]+$/.test(host) &&
    !host.startsWith("[") &&
    !/\.(localhost|local|internal|home\.arpa|test)$/.test(host) &&
    !host.startsWith("*.")
  );
}

function certificate(plan: Plan, tls: Statement): void {
  const pair = { cert_file: tls.args[0]!, key_file: tls.args[1]! };
  const own = section(plan.config.server, "tls");
  if (own.cert_file === undefined) Object.assign(own, pair);
  else if (own.cert_file !== pair.cert_file)
    own.certificates = [...((own.certificates as object[] | undefined) ?? []), pair];
  plan.ledger.carry(tls);
}

function globalOptions(plan: Plan, options: Statement, isTls: boolean): void {
  const { server } = plan.config;
  const { ledger } = plan;
  ledger.carry(options);
  for (const one of options.block ?? []) {
    const [first = ""] = one.args;
    const acme = server.acme as Record<string, unknown> | undefined;
    if (one.name === "email" && acme !== undefined) acme.email = first;
    else if (one.name === "acme_ca" && acme !== undefined) acme.directory_url = first;
    else if (one.name === "acme_ca_root" && acme !== undefined) acme.ca_file = first;
    else if (one.name === "key_type" && acme !== undefined && /^(p256|p384|rsa2048|rsa4096)$/.test(first))
      acme.key_type = first;
    else if (one.name === "http_port" && server.port === 80) server.port = Number(first);
    else if (one.name === "https_port" && isTls) section(server, "tls").port = Number(first);
    else if (one.name === "default_bind") server.host = first;
    else if (one.name === "admin" && first === "off") void 0;
    else if (one.name === "grace_period" && timeText(first) !== null) server.shutdown_timeout = timeText(first);
    else if (one.name === "servers") {
      serverOptions(plan, one);
      continue;
    } else continue;
    ledger.carry(one);
  }
}

function serverOptions(plan: Plan, statement: Statement): void {
  const { server } = plan.config;
  const { ledger } = plan;
  for (const one of statement.block ?? []) {
    if (one.name === "trusted_proxies" && one.args[0] === "static") {
      server.trusted_proxies = one.args
        .slice(1)
        .flatMap((word) => (word === "private_ranges" ? PRIVATE_RANGES : [word]));
      ledger.carry(statement, one);
    } else if (one.name === "protocols") {
      if (one.args.includes("h3") && server.tls !== undefined) server.http3 = { enabled: true };
      ledger.carry(statement, one);
    } else if (one.name === "client_ip_headers" && one.args.join().toLowerCase() === "x-forwarded-for")
      ledger.standard(one);
    else if (one.name === "timeouts") timeoutsOf(plan, statement, one);
  }
}

function timeoutsOf(plan: Plan, outer: Statement, statement: Statement): void {
  for (const one of statement.block ?? []) {
    const key = {
      read_body: "read_timeout",
      read_header: "header_timeout",
      write: "write_timeout",
      idle: "idle_timeout",
    }[one.name];
    const time = timeText(one.args[0] ?? "");
    if (key === undefined || time === null) continue;
    plan.config.server[key] = time;
    plan.ledger.carry(outer, statement, one);
  }
}

/** Why a directive is not carried over, and what to do instead. */
const ADVICE: readonly (readonly [RegExp, string, string])[] = [
  [/^log$/, "the access log has settings of its own", "see server.access_log: docs/operations.md"],
  [
    /^tls$/,
    "only certificate files and ACME for public names are carried over",
    "see server.tls and server.acme: docs/tls.md, docs/acme.md",
  ],
  [
    /^handle_errors$/,
    "pages of errors are HTML files that are named by their status",
    "set errors at the route or the server: docs/pages.md",
  ],
  [
    /^(templates|push|invoke|vars|map|fs|copy_response.*|intercept|method|tracing)$/,
    "this handler has no counterpart",
    "see routes with match, or leave it to the application",
  ],
  [
    /^(rewrite|uri|try_files|root)$/,
    "this change of the path cannot be said",
    "see rewrite at the route: docs/routing.md#rewrite",
  ],
  [/^bind$/, "the gateway listens on one address", "set server.host"],
  [/^@/, "no directive that is carried over uses it", "nothing, or a route with match"],
  [
    /^(admin|debug|storage|local_certs|skip_install_trust|pki|cert_issuer|on_demand_tls|acme_.*|email|log)$/,
    "this option has no counterpart of the same kind",
    "see docs/operations.md and docs/acme.md",
  ],
  [
    /^(handle_response|dynamic|lb_try_.*|health_.*|unhealthy_.*|replace_status|copy_response|rewrite|verbose_logs|trusted_proxies)$/,
    "this part of reverse_proxy has no counterpart",
    "see upstream routes: docs/upstreams.md",
  ],
];

function adviceOf({ name }: Statement): { readonly why: string; readonly cure: string } {
  for (const [names, why, cure] of ADVICE) if (names.test(name)) return { why, cure };
  return { why: "the gateway has no such directive", cure: "look for it in edge help config and edge help routes" };
}
