import { allowOnly, isLoopbackAddress, noteLocal, refuseRule, THIS_MACHINE } from "../access.ts";
import { type AdviceRow, adviceIn } from "../advice.ts";
import { siteRank, widerHosts } from "../arrange.ts";
import { type Keys, sectionAt } from "../keys.ts";
import { closed, hasType, Plan, type Rule } from "../plan.ts";
import { sealed } from "../seal.ts";
import type { Statement } from "../statement.ts";
import { rulesOf } from "./caddy-directives.ts";
import { ORDER } from "./caddy-ends.ts";
import { listedSites } from "./caddy-listeners.ts";
import type { ClientFacts } from "./caddy-matchers.ts";
import type { Caddyfile } from "./caddy-parser.ts";
import { type Address, boundTo, type CaddyBlock, portsOf, siteAddress, siteLeads, sitesOf } from "./caddy-sites.ts";
import { PRIVATE_RANGES, timeText } from "./caddy-values.ts";

/** Makes rules and settings of a Caddyfile. docs/migrate-caddy.md */
export function convertCaddyfile({ file, options, sites, others }: Caddyfile): Plan {
  const plan = new Plan("Caddy");
  const { ledger } = plan;
  for (const one of [...(options === null ? [] : [options]), ...others.map(({ statement }) => statement), ...sites])
    ledger.enter(one);
  for (const { statement, fault } of others) {
    if (fault === "") ledger.carry(statement);
    else ledger.noteWhole(statement, fault, "nothing, or import it");
  }
  const ports = portsOf(options);
  const read = sites.map((site) => ({
    site,
    addresses: [site.name, ...site.args].map((one) => siteAddress(one, ports)),
  }));
  const list = sitesOf(read);
  const groups = listedSites(plan, list, options);
  if (groups !== null) certified(plan, list);
  const { kept, isTls } = groups === null ? listeners(plan, list, options) : { kept: [], isTls: false };
  const clients = options === null ? NO_OPTIONS : globalOptions(plan, options);
  const order = orderOf(options, ledger);
  const rules = kept.flatMap(({ site, addresses }) => {
    ledger.carry(site);
    if (isTls && addresses.every(({ isClear }) => isClear) && siteLeads(site)) {
      for (const one of site.block ?? []) ledger.carry(one);
      return [];
    }
    const own = ownRules(site, { ledger, clients: { ...clients, hasTls: isTls }, file, order });
    return siteRules(plan, sealed(own, ledger), addresses, site);
  });
  plan.rules.push(...inSiteOrder(rules));
  for (const group of groups ?? []) {
    const own = group.sites.flatMap(({ site, addresses }) => {
      ledger.carry(site);
      const facts = { ...clients, hasTls: group.isTls, scheme: group.isTls ? ("https" as const) : ("http" as const) };
      return rulesAt(sealed(ownRules(site, { ledger, clients: facts, file, order }), ledger), addresses);
    });
    const led = group.led.map(({ rule, names }) => ({ rule, site: names }));
    const listeners = groups!.length === 1 ? undefined : group.names;
    plan.rules.push(
      ...inSiteOrder([...led, ...own]).map((rule) => (listeners === undefined ? rule : { ...rule, listeners })),
    );
  }
  // Sites of a file that is not there may be narrower than any of these.
  if (others.some(({ isLost }) => isLost === true)) for (const rule of plan.rules) closed(rule);
  plan.config.server.max_body_bytes = "unlimited";
  if (plan.rules.some(({ keys }) => hasType(keys, "upstream")))
    sectionAt(plan.config.proxy, "transport").response_header_timeout = "10m";
  ledger.settle((one) => adviceIn(ADVICE, one));
  return plan;
}

/** Without global options. */
const NO_OPTIONS: Omit<ClientFacts, "hasTls"> = { clientFault: "", remoteFault: "" };

/** A rule, and the names of the site that it is of: within a site, rules stay in their order whatever their hosts. */
interface SiteRule {
  readonly rule: Rule;
  readonly site: readonly string[];
}

/** The rules of a site; closed if its handshake lets in no client without a certificate, which is not carried over. */
function ownRules(site: Statement, facts: Parameters<typeof rulesOf>[1]): Rule[] {
  const rules = rulesOf(site, facts);
  const asked = site.all("tls").flatMap((one) => one.all("client_auth"));
  if (asked.length > 0) for (const rule of rules) refuseRule(rule);
  for (const one of asked)
    facts.ledger.note(
      one,
      "its clients need certificates: the routes of the site are closed",
      "set server.tls.client_auth with client_ca_file and auth.mtls at the routes, and remove ip_rules",
    );
  return rules;
}

/** Caddy finds the site first: by a full name, then a pattern, then the one for all. */
function inSiteOrder(rules: readonly SiteRule[]): Rule[] {
  return rules.toSorted((a, b) => siteRank(b.site) - siteRank(a.site)).map(({ rule }) => rule);
}

function siteRules(plan: Plan, own: readonly Rule[], addresses: readonly Address[], site: Statement): SiteRule[] {
  // A site that only this machine could reach stays so: the gateway may listen at other addresses as well.
  const [bind] = site.all("bind");
  const isNarrower = !isLoopbackAddress(String(plan.config.server.host ?? ""));
  if (bind !== undefined && isNarrower && bind.args.length > 0 && boundTo(site).every(isLoopbackAddress)) {
    for (const rule of own) allowOnly(rule, THIS_MACHINE);
    noteLocal(plan.ledger, bind);
  }
  return rulesAt(own, addresses);
}

/** The rules of a site, for its names. */
function rulesAt(own: readonly Rule[], addresses: readonly Address[]): SiteRule[] {
  const hosts = [...new Set(addresses.map(({ host }) => host))];
  // None of as many letters holds another.
  const byRank = Map.groupBy(hosts, (one) => siteRank([one]));
  const groups: string[][] = hosts.includes("") ? [[]] : [...byRank.values()];
  return groups.flatMap((group) =>
    own.map((rule) => ({ rule: { ...rule, hosts: rule.hosts.length > 0 ? rule.hosts : group }, site: group })),
  );
}

/**
 * Ports and certificates. Of several listeners one in clear text and one with TLS are kept; sites of others are left out, since a route
 * does not go by the port.
 */
function listeners(
  plan: Plan,
  sites: readonly CaddyBlock[],
  options: Statement | null,
): { kept: CaddyBlock[]; isTls: boolean } {
  const { server } = plan.config;
  const all = sites.flatMap((one) => one.addresses.map(({ isClear, port }) => ({ one, isClear, port })));
  const ports = (isClear: boolean): number[] => all.filter((one) => one.isClear === isClear).map(({ port }) => port);
  const tlsPort = prefer(ports(false), 443);
  // Beside TLS, clear text on another port than the usual one is a listener of its own.
  const { http } = portsOf(options);
  const clearPort = prefer(
    ports(true).filter((port) => tlsPort === undefined || port === http),
    80,
  );
  const tlsSites = [...new Set(all.filter(({ isClear, port }) => !isClear && port === tlsPort).map(({ one }) => one))];
  const names = secure(plan, tlsSites);
  const isTls = tlsPort !== undefined && (names.length > 0 || server.tls !== undefined);
  const main = tlsSites[0] ?? all.find(({ isClear, port }) => isClear && port === clearPort)?.one;
  const [place, ...places] = main === undefined ? [] : boundTo(main.site, options);
  if (place !== undefined) server.host = place;
  if (places.length > 0) plan.ledger.note(main!.site, `the gateway listens at ${place} alone`, "set server.host");
  const kept = keptSites(plan, sites, { tlsPort, clearPort, tlsSites, place, options });
  server.port = clearPort ?? (isTls ? 80 : (tlsPort ?? 80));
  if (!isTls) return { kept, isTls };
  Object.assign(sectionAt(server, "tls"), { port: tlsPort });
  const clearKept = kept.filter(({ site, addresses }) => addresses.some(({ isClear }) => isClear) && !siteLeads(site));
  const redirects = options?.all("auto_https")[0];
  if (clearKept.length === 0 && redirects === undefined) sectionAt(server, "tls").redirect_http = true;
  if (names.length > 0) server.acme = { enabled: true, domains: [...new Set(names)] };
  return { kept, isTls };
}

/** Certificates of all sites at listeners of their own: by the local authority, if the file has none and asks no public one. */
function certified(plan: Plan, sites: readonly CaddyBlock[]): void {
  const { server } = plan.config;
  const secured = sites.filter(({ addresses }) => addresses.some(({ isClear }) => !isClear));
  const names = secure(plan, secured);
  if (names.length > 0) server.acme = { enabled: true, domains: [...new Set(names)] };
  const tls = server.tls as Keys | undefined;
  if (secured.length > 0 && names.length === 0 && tls?.cert_file === undefined)
    sectionAt(server, "tls").internal = true;
}

/** Certificates of the sites with TLS. @returns the names for which a public authority has to be asked */
function secure(plan: Plan, sites: readonly CaddyBlock[]): string[] {
  const names: string[] = [];
  for (const { site, addresses } of sites) {
    const tls = site.all("tls").find(({ args }) => args.length === 2);
    if (tls !== undefined) certificate(plan, tls);
    const isInternal = site.all("tls").some(({ args }) => args[0] === "internal");
    for (const { host, isClear } of addresses) {
      if (isClear || tls !== undefined || host === "") continue;
      if (isPublic(host) && !isInternal) names.push(host);
      else
        plan.ledger.note(
          site,
          `${host} has no certificate of a public authority`,
          "set server.tls.cert_file and key_file, or server.acme with a private directory",
        );
    }
  }
  return names;
}

/** Where the gateway listens. */
interface Chosen {
  readonly tlsPort: number | undefined;
  readonly clearPort: number | undefined;
  readonly tlsSites: readonly CaddyBlock[];
  /** Undefined for all addresses. */
  readonly place: string | undefined;
  readonly options: Statement | null;
}

/** The sites that can be reached there by the same clients as before. */
function keptSites({ ledger }: Plan, sites: readonly CaddyBlock[], chosen: Chosen): CaddyBlock[] {
  const { tlsPort, clearPort, tlsSites, place, options } = chosen;
  const tlsHosts = new Set(
    tlsSites.flatMap((one) => one.addresses.filter((it) => !it.isClear).map(({ host }) => host)),
  );
  return sites.flatMap(({ site, addresses }): CaddyBlock[] => {
    const isOwn = ({ isClear, port }: Address): boolean => port === (isClear ? clearPort : tlsPort);
    const own = addresses.filter(isOwn);
    const bound = boundTo(site, options);
    const isElsewhere = bound.length > 0 && !bound.includes(place ?? "") && !bound.every(isLoopbackAddress);
    const isShadowed =
      own.length > 0 && own.every(({ isClear }) => isClear) && !siteLeads(site) && isWithin(own, tlsHosts);
    if (own.length === 0 || isElsewhere || isShadowed) {
      ledger.noteWhole(
        site,
        isShadowed
          ? "its names are those of a site with TLS, and routes do not go by the port: it is left out"
          : `the gateway listens at one address, on one port in clear text and one with TLS, here ${clearPort ?? "none"} and ${tlsPort ?? "none"}: it is left out`,
        "serve it by a second gateway",
      );
      return [];
    }
    for (const { port } of addresses.filter((address) => !isOwn(address)))
      ledger.note(site, `nothing listens on port ${port}`, "serve it by a second gateway");
    return [{ site, addresses: own }];
  });
}

/** Whether some name of a site is one of another that has TLS: what that asks of clients would count for neither. */
function isWithin(own: readonly Address[], tlsHosts: ReadonlySet<string>): boolean {
  return own.some(({ host }) => widerHosts(host).some((wide) => tlsHosts.has(wide)));
}

function prefer(ports: readonly number[], usual: number): number | undefined {
  return ports.includes(usual) ? usual : ports[0];
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
  const own = sectionAt(plan.config.server, "tls");
  if (own.cert_file === undefined) Object.assign(own, pair);
  else if (own.cert_file !== pair.cert_file)
    own.certificates = [...((own.certificates as object[] | undefined) ?? []), pair];
  plan.ledger.carry(tls);
}

function globalOptions(plan: Plan, options: Statement): Omit<ClientFacts, "hasTls"> {
  const { server } = plan.config;
  const { ledger } = plan;
  let facts = NO_OPTIONS;
  ledger.carry(options);
  for (const one of options.block ?? []) {
    const [first = ""] = one.args;
    const acme = server.acme as Record<string, unknown> | undefined;
    if (one.name === "email" && acme !== undefined) acme.email = first;
    else if (one.name === "acme_ca" && acme !== undefined) acme.directory_url = first;
    else if (one.name === "acme_ca_root" && acme !== undefined) acme.ca_file = first;
    else if (one.name === "key_type" && acme !== undefined && /^(p256|p384|rsa2048|rsa4096)$/.test(first))
      acme.key_type = first;
    else if (/^(http_port|https_port|default_bind)$/.test(one.name)) void 0;
    else if (one.name === "grace_period" && timeText(first) !== null) server.shutdown_timeout = timeText(first);
    else if (one.name === "servers") {
      facts = serverOptions(plan, one);
      continue;
    } else continue;
    ledger.carry(one);
  }
  return facts;
}

function serverOptions(plan: Plan, statement: Statement): Omit<ClientFacts, "hasTls"> {
  const { server } = plan.config;
  const { ledger } = plan;
  const [trusted] = statement.all("trusted_proxies");
  const fields = statement.all("client_ip_headers").flatMap(({ args }) => args.map((one) => one.toLowerCase()));
  const isUsual = fields.length === 0 || fields.join() === "x-forwarded-for";
  const isTrusted = trusted?.args[0] === "static" && isUsual && statement.args.length === 0;
  for (const one of statement.block ?? []) {
    if (one.name === "trusted_proxies" && isTrusted) {
      server.trusted_proxies = one.args
        .slice(1)
        .flatMap((word) => (word === "private_ranges" ? PRIVATE_RANGES : [word]));
      ledger.carry(statement, one);
    } else if (one.name === "trusted_proxies")
      ledger.note(
        one,
        "proxies are trusted for X-Forwarded-For, by their addresses, and at every listener",
        "set server.trusted_proxies",
      );
    else if (one.name === "protocols") {
      if (one.args.includes("h3") && server.tls !== undefined) server.http3 = { enabled: true };
      ledger.note(one, "HTTP/1.1 and HTTP/2 are always spoken", "see server.http2 and server.http3");
    } else if (one.name === "client_ip_headers" && isUsual && isTrusted) ledger.carry(one);
    else if (one.name === "trusted_proxies_strict" && isTrusted) ledger.carry(one);
    else if (one.name === "timeouts") timeoutsOf(plan, statement, one);
  }
  if (isTrusted && statement.all("trusted_proxies_strict").length === 0)
    ledger.note(
      trusted,
      "the client is the last address of X-Forwarded-For that is none of a trusted proxy, there the first of all",
      "name all proxies in server.trusted_proxies",
    );
  if (trusted === undefined) return NO_OPTIONS;
  if (!isTrusted) return { clientFault: UNTRUSTED, remoteFault: "" };
  return {
    clientFault: "",
    remoteFault: "a route compares the client's address, remote_ip that of the proxy before it",
  };
}

const UNTRUSTED = "client_ip is told by proxies that are not carried over";

/** The directives that end a request, in the order that `order` gives them. */
function orderOf(options: Statement | null, ledger: Plan["ledger"]): readonly string[] {
  const list = [...ORDER];
  for (const one of options?.all("order") ?? []) {
    const [name = "", where = "", other = ""] = one.args;
    const from = list.indexOf(name);
    // Of other directives those that keep clients out always come first.
    if (from < 0) {
      ledger.note(one, "directives that keep clients out, or are not known, come before all others", "nothing");
      continue;
    }
    list.splice(from, 1);
    const at = list.indexOf(other);
    if (where === "first") list.unshift(name);
    else if (where === "last") list.push(name);
    else list.splice(at < 0 ? (where === "before" ? 0 : list.length) : where === "before" ? at : at + 1, 0, name);
    ledger.carry(one);
  }
  return list;
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
const ADVICE: readonly AdviceRow[] = [
  [/^(log|log_\w+|skip_log)$/, "the access log has settings of its own", "see server.access_log: docs/operations.md"],
  [
    /^admin$/,
    "the gateway has endpoints of its own, which the public port has as well",
    "see internal_api: docs/endpoints.md#access",
  ],
  [
    /^(flush_interval|(buffer_)?(requests|responses)|(request|response)_buffers|stream_\w+)$/,
    "bodies go on as they come, in both directions",
    "nothing, or see docs/upstreams.md",
  ],
  [/^auto_https$/, "clear text is not led to TLS by itself then", "set server.tls.redirect_http"],
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
    "this change of the path has no counterpart",
    "see rewrite at the route: docs/routing.md#rewrite",
  ],
  [/^bind$/, "the gateway listens on one address", "set server.host"],
  [/^@/, "no directive that is carried over uses it", "nothing, or a route with match"],
  [
    /^(debug|persist_config|ocsp_\w+|grace_period|auto_https|storage|local_certs|skip_install_trust|pki|cert_issuer|on_demand_tls|acme_.*|email|log)$/,
    "this option has no counterpart of the same kind",
    "see docs/operations.md and docs/acme.md",
  ],
  [
    /^(handle_response|dynamic|lb_try_.*|health_.*|unhealthy_.*|replace_status|copy_response|rewrite|verbose_logs|trusted_proxies)$/,
    "this part of reverse_proxy has no counterpart",
    "see upstream routes: docs/upstreams.md",
  ],
];
