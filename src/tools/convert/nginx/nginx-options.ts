import { ipVersion } from "../../../core/ip-address.ts";
import { allowOnly, ConditionalAccess, noteTwo, readAccess, refuseRule, requireAuth } from "../access.ts";
import { type Keys, sectionAt } from "../keys.ts";
import { durationSetting, hasType, type Rule } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { runsApplication } from "./nginx-applications.ts";
import { bodyTexts, includes } from "./nginx-bodies.ts";
import { verdictOf } from "./nginx-directives.ts";
import { limitRate, listings, proxyCookies, proxyRedirect } from "./nginx-responses.ts";
import type { Scope } from "./nginx-scope.ts";
import { nginxSize, nginxTemplate, nginxTime } from "./nginx-values.ts";

/** What a location says beside where requests go. The rows of the table count in turn. */
export function applyOptions(scope: Scope, rule: Rule): void {
  for (const apply of OPTIONS) apply(scope, rule);
}

/** Fields of a response that is made without a look at clients or files. */
export function applyResponseFields(scope: Scope, rule: Rule): void {
  responseHeaders(scope, rule);
  expires(scope, rule);
}

type Option = (scope: Scope, rule: Rule) => void;

const isUpstream = (rule: Rule): boolean => hasType(rule.keys, "upstream");
/** Fields of requests to scripts are the client's own. */
const isProxied = (rule: Rule): boolean =>
  isUpstream(rule) && rule.keys.fastcgi === undefined && !runsApplication(rule);
const isStatic = (rule: Rule): boolean => hasType(rule.keys, "static");

function bodySize(scope: Scope, rule: Rule): void {
  const bytes = nginxSize(scope.value("client_max_body_size") ?? "1m");
  if (bytes !== null && isUpstream(rule)) rule.keys.max_body_bytes = bytes === 0 ? "unlimited" : bytes;
}

/** Bodies go on as they come. */
function requestBuffering(scope: Scope, rule: Rule): void {
  if (!isUpstream(rule)) return;
  const one = scope.one(isProxied(rule) ? "proxy_request_buffering" : "fastcgi_request_buffering");
  if (one?.args[0] !== "off") return;
  rule.keys.inbound_chunked_mode = "passthrough";
  scope.ledger.carry(one);
}

function timeouts(scope: Scope, rule: Rule): void {
  if (!isUpstream(rule)) return;
  for (const kind of ["proxy", "grpc", "fastcgi", "uwsgi", "scgi"]) {
    const connect = nginxTime(scope.value(`${kind}_connect_timeout`) ?? "");
    if (connect !== null && connect > 0) sectionAt(rule.keys, "timeouts").connect = durationSetting(connect);
    const read = nginxTime(scope.value(`${kind}_read_timeout`) ?? "");
    if (read === null || read === 0) continue;
    Object.assign(sectionAt(rule.keys, "timeouts"), {
      response_header: durationSetting(read),
      idle: durationSetting(read),
    });
  }
}

function requestHeaders(scope: Scope, rule: Rule): void {
  const own = [...scope.inherited("proxy_set_header"), ...scope.inherited("grpc_set_header")];
  const set: Keys = {};
  const remove: string[] = [];
  let host: Statement | null = null;
  for (const one of own) {
    const [name = "", value = ""] = one.args;
    if (/^host$/i.test(name)) host = one;
    else if (!isProxied(rule)) scope.ledger.standard(one);
    else if (OWN_FIELDS.test(name)) ownField(scope, one);
    else if (value === "") {
      remove.push(name);
      scope.ledger.carry(one);
    } else setField(scope, one, set, remove);
  }
  if (!isProxied(rule)) {
    if (host !== null) scope.ledger.standard(host);
    return;
  }
  hostField(scope, rule, host);
  if (Object.keys(set).length > 0) sectionAt(rule.keys, "headers", "request").set = set;
  if (remove.length > 0) sectionAt(rule.keys, "headers", "request").remove = remove;
}

/** Fields that the gateway sets on every request. */
const OWN_FIELDS =
  /^(x-forwarded-(for|proto|host|port|server|ssl)|x-real-ip|x-request-id|forwarded|connection|upgrade|via|x-scheme|x-original-proto)$/i;

function ownField(scope: Scope, one: Statement): void {
  const [name = "", value = ""] = one.args;
  if (OWN_VALUES.get(name.toLowerCase())?.test(value) === true) scope.ledger.standard(one);
  else
    scope.ledger.note(
      one,
      `${name} is the gateway's own, and not ${value === "" ? "taken off" : value}`,
      "read the field as docs/upstreams.md describes it",
    );
}

/** What each of them has anyway. */
const OWN_VALUES: ReadonlyMap<string, RegExp> = new Map([
  ["x-forwarded-for", /^\$(proxy_add_x_forwarded_for|remote_addr)$/],
  ["x-forwarded-proto", /^\$(scheme|proxy_x_forwarded_proto)$/],
  ["x-forwarded-host", /^\$(host|http_host|proxy_x_forwarded_host)$/],
  ["x-real-ip", /^\$remote_addr$/],
  ["x-request-id", /^\$request_id$/],
  ["connection", /^(|upgrade|close|keep-alive|\$(connection_upgrade|http_connection|proxy_connection))$/i],
  ["upgrade", /^(\$http_upgrade|websocket)$/i],
]);

function setField(scope: Scope, one: Statement, set: Keys, remove: string[]): void {
  const [name = "", value = ""] = one.args;
  const template = nginxTemplate(value);
  if (template === null) {
    // The client's own must not pass for it.
    remove.push(name);
    scope.ledger.note(
      one,
      "a variable in it has no placeholder: the field is removed",
      "write the value with placeholders: docs/placeholders.md",
    );
  } else {
    set[name] = template;
    scope.ledger.carry(one);
  }
}

function hostField(scope: Scope, rule: Rule, host: Statement | null): void {
  const value = host?.args[1] ?? "$proxy_host";
  if (/^\$(host|http_host|server_name)(:\$server_port)?$/.test(value)) scope.ledger.carry(host);
  else if (value === "$proxy_host") {
    // The name of a group is sent as Host, and a target's own name otherwise.
    const [pass] = scope.here("proxy_pass", "grpc_pass");
    const authority = /^\w+:\/\/([^/:]+)/.exec(pass?.args[0] ?? "")?.[1] ?? "";
    const isGroup = rootOf(scope).block("upstream", authority) !== undefined;
    if (isGroup && !authority.includes("_")) sectionAt(rule.keys, "headers", "request", "set").Host = authority;
    else rule.keys.preserve_host = false;
    if (isGroup && authority.includes("_"))
      scope.ledger.note(
        pass!,
        `Host is the target's own name: ${authority} is none of a host`,
        "set host_header, if the origin asks for a name",
      );
    scope.ledger.carry(host);
  } else if (host !== null && /^[\w.:-]+$/.test(value)) {
    sectionAt(rule.keys, "headers", "request", "set").Host = value;
    scope.ledger.carry(host);
  } else if (host !== null)
    scope.ledger.note(host, "Host is the client's, the target's or a literal name", "set preserve_host or host_header");
}

/** Fields that nginx adds to responses, or takes off them. */
function responseHeaders(scope: Scope, rule: Rule): void {
  const set: Keys = {};
  const replaced: Keys = {};
  const removed: string[] = [];
  const isRefusal = hasType(rule.keys, "respond") && Number(rule.keys.status ?? 200) >= 400;
  for (const one of scope.inherited("add_header")) {
    const [name = "", written = "", always] = one.args;
    // Without the word, nginx adds it to none of these.
    if (isRefusal && always === undefined) {
      scope.ledger.standard(one);
      continue;
    }
    // A line break at its end would end the line that it is in.
    const value = withoutLineEnd(written);
    const template = nginxTemplate(value);
    if (template !== null && /^(etag|last-modified)$/i.test(name)) {
      // There is one of them.
      if (value === "") removed.push(name);
      else replaced[name] = template;
      scope.ledger.carry(one);
      continue;
    }
    if (template === null)
      scope.ledger.note(
        one,
        "a variable in it has no placeholder",
        "write the value with placeholders: docs/placeholders.md",
      );
    else if (value === "") scope.ledger.standard(one);
    else {
      const known = set[name] as string[] | undefined;
      set[name] = [...(known ?? []), template];
      scope.ledger.carry(one);
    }
  }
  const remove = scope.inherited(
    "proxy_hide_header",
    "fastcgi_hide_header",
    "uwsgi_hide_header",
    "scgi_hide_header",
    "more_clear_headers",
  );
  scope.ledger.carry(...remove);
  const names = [...remove.flatMap(({ args }) => args).filter((name) => !/[*:]/.test(name)), ...removed];
  const response = (): Keys => sectionAt(rule.keys, "headers", "response");
  if (names.length > 0) response().remove = names;
  if (Object.keys(replaced).length > 0) response().set = replaced;
  const type = Object.keys(set).find((name) => name.toLowerCase() === "content-type");
  if (type !== undefined && hasType(rule.keys, "respond")) {
    if (rule.keys.body !== undefined) rule.keys.content_type = (set[type] as string[])[0];
    delete set[type];
  }
  const added = Object.entries(set);
  if (added.length > 0)
    response().add = Object.fromEntries(
      added.map(([name, list]) => [name, (list as string[]).length === 1 ? (list as string[])[0] : list]),
    );
}

function expires(scope: Scope, rule: Rule): void {
  const found = scope.one("expires");
  if (found === null) return;
  const value = found.args.at(-1) ?? "";
  const ms = nginxTime(value.replace(/^[+]/, ""));
  const text =
    value === "off"
      ? ""
      : value === "epoch" || value.startsWith("-")
        ? "no-cache"
        : value === "max"
          ? "max-age=315360000"
          : ms === null
            ? null
            : `max-age=${ms / 1000}`;
  if (text === null || found.args[0] === "modified") {
    scope.ledger.note(
      found,
      "only a fixed time is carried over",
      "set cache_control, or headers.response.set.Cache-Control",
    );
    return;
  }
  scope.ledger.carry(found);
  if (text === "") return;
  if (isStatic(rule)) rule.keys.cache_control = text;
  else sectionAt(rule.keys, "headers", "response", "set")["Cache-Control"] = text;
  const date = FIXED_DATES.get(value);
  if (date !== undefined) sectionAt(rule.keys, "headers", "response", "set").Expires = date;
}

/** The dates that nginx sends for times which depend on no request. */
const FIXED_DATES: ReadonlyMap<string, string> = new Map([
  ["epoch", "Thu, 01 Jan 1970 00:00:01 GMT"],
  ["max", "Thu, 31 Dec 2037 23:55:55 GMT"],
]);

function compression(scope: Scope, rule: Rule): void {
  const gzip = scope.isOn("gzip");
  const brotli = scope.isOn("brotli");
  const zstd = scope.isOn("zstd");
  const level = Number(scope.value(brotli ? "brotli_comp_level" : "gzip_comp_level") ?? "");
  const names = scope.inherited("gzip_types", "brotli_types", "zstd_types");
  scope.ledger.carry(...names);
  const smallest = nginxSize(scope.value("gzip_min_length") ?? scope.value("brotli_min_length") ?? "");
  if (!(gzip || brotli || zstd) || hasType(rule.keys, "redirect")) return;
  const types = [...new Set(["text/html", ...names.flatMap(({ args }) => args)])];
  rule.keys.compression = {
    enabled: true,
    encodings: [...(zstd ? ["zstd"] : []), ...(brotli ? ["br"] : []), ...(gzip ? ["gzip"] : [])],
    types: types.includes("*") ? ["*/*"] : types,
    min_bytes: smallest === null ? 20 : smallest,
    ...(level >= 1 && level <= 9 ? { level } : {}),
  };
}

function errorPages(scope: Scope, rule: Rule): void {
  const pages: Keys = {};
  const root = scope.one("root")?.args[0] ?? null;
  for (const one of scope.inherited("error_page")) {
    const page = one.args.at(-1) ?? "";
    const codes = one.args.slice(0, -1).filter((code) => /^[45]\d\d$/.test(code));
    if (
      root === null ||
      !/^\/[\w./-]+\.html?$/.test(page) ||
      root.includes("$") ||
      codes.length === 0 ||
      one.args.some((word) => word.startsWith("="))
    ) {
      scope.ledger.note(
        one,
        "pages of errors are HTML files that are named by their status",
        "set errors at the route or the server: docs/pages.md",
      );
      continue;
    }
    scope.ledger.carry(one);
    scope.ledger.carry(scope.one("root"));
    for (const code of codes) pages[code] = `${root.replace(/\/$/, "")}${page}`;
  }
  const intercepts = scope.isOn("proxy_intercept_errors");
  if (Object.keys(pages).length > 0) rule.keys.errors = intercepts ? { ...pages, intercept: true } : pages;
}

function rateLimit(scope: Scope, rule: Rule): void {
  for (const one of scope.inherited("limit_req")) {
    const zone = /^zone=(.+)$/.exec(one.args.find((word) => word.startsWith("zone=")) ?? "")?.[1] ?? "";
    const declared = rootOf(scope)
      .here("limit_req_zone")
      .find(({ args }) => args.some((word) => word.startsWith(`zone=${zone}:`)));
    const rate = /^rate=(\d+)r\/([sm])$/.exec(declared?.args.find((word) => word.startsWith("rate=")) ?? "");
    const key = declared?.args[0] ?? "";
    const isByClient = /^\$(binary_)?remote_addr$/.test(key);
    if (
      declared === undefined ||
      rate === null ||
      "rate_limit" in rule.keys ||
      !(isByClient || key === "$server_name")
    ) {
      scope.ledger.note(
        one,
        "a limit counts requests of a client's address, one limit a route",
        "set rate_limit at the route: docs/guards.md#rate-limits",
      );
      continue;
    }
    const burst = Number(/^burst=(\d+)$/.exec(one.args.find((word) => word.startsWith("burst=")) ?? "")?.[1] ?? 0);
    const status = Number(scope.value("limit_req_status") ?? 503);
    rule.keys.rate_limit = {
      requests: Number(rate[1]),
      window: rate[2] === "s" ? "1s" : "1m",
      burst: burst + 1,
      ...(isByClient ? {} : { key: "route" }),
      status,
    };
    scope.ledger.carry(declared);
    if (burst > 0 && !one.args.includes("nodelay"))
      scope.ledger.note(
        one,
        "requests of a burst are served at once, none is delayed",
        "lower burst, if the origin needs a steady rate",
      );
    else scope.ledger.carry(one);
  }
}

function rootOf(scope: Scope): Scope {
  return scope.outer === null || scope.statement?.name === "http" ? scope : rootOf(scope.outer);
}

/** `satisfy any` beside passwords or a deciding service: who fits one of the two comes in. */
export function isEitherEnough(scope: Scope): boolean {
  const isOn = (name: string): boolean => (scope.one(name)?.args[0] ?? "off") !== "off";
  return scope.one("satisfy")?.args[0] === "any" && (isOn("auth_basic") || isOn("auth_request"));
}

function addressRules(scope: Scope, rule: Rule): void {
  const own = scope.inherited("allow", "deny");
  const satisfy = scope.one("satisfy");
  if (satisfy !== null) scope.ledger.standard(satisfy);
  if (own.length === 0) return;
  const access = new ConditionalAccess();
  for (const { name, args } of own) access.add(name === "allow", args[0] ?? "");
  const rules = readAccess(access);
  const letsNobodyIn = rules !== null && rules !== "open" && rules.allow === undefined;
  if (isEitherEnough(scope)) {
    // Whom no address rule lets in has the password.
    if (letsNobodyIn) {
      scope.ledger.carry(...own);
      return;
    }
    for (const one of own)
      scope.ledger.note(
        one,
        "satisfy any: address rules and auth must both let a client in here",
        "use two routes, one with match.client_ip and auth: false",
      );
  }
  if (rules === null) {
    for (const one of own)
      scope.ledger.note(
        one,
        "deny is checked before allow, whatever their order",
        "write the networks so that no allowed one is within a denied one; until then the route is closed",
      );
    refuseRule(rule);
    return;
  }
  if (rules !== "open") mergeAddressRules(rule, rules);
  for (const one of own) if (!scope.ledger.isJudged(one)) scope.ledger.carry(one);
}

/** A rule that several blocks are for lets in whom all of them let in. */
function mergeAddressRules(rule: Rule, rules: { readonly allow?: string[]; readonly deny?: string[] }): void {
  const known = rule.keys.ip_rules as { readonly allow?: string[]; readonly deny?: string[] } | undefined;
  if (JSON.stringify(known) === JSON.stringify(rules)) return;
  const deny = [...new Set([...(known?.deny ?? []), ...(rules.deny ?? [])])];
  const allow = known?.allow ?? rules.allow;
  rule.keys.ip_rules = { ...(allow === undefined ? {} : { allow }), ...(deny.length === 0 ? {} : { deny }) };
  if (known?.allow !== undefined && rules.allow !== undefined) allowOnly(rule, rules.allow);
}

/** What decides who comes in, or what is sent, by means that are not known here: its routes are closed. */
function closeUnknown(scope: Scope, rule: Rule): void {
  const within: Scope[] = [];
  let isRefused = false;
  for (let at: Scope | null = scope; at !== null; at = at.outer) {
    for (const one of closingOf(at)) {
      if (within.some((inner) => inner.here(one.name).length > 0) || (isRefused && NOTED.has(one))) continue;
      isRefused = true;
      NOTED.add(one);
      scope.ledger.note(
        one,
        "its decision has no counterpart: its routes are closed",
        "set auth at them: docs/authentication.md, in the place of ip_rules",
      );
      refuseRule(rule);
    }
    if (at.statement?.name === "http") break;
    within.push(at);
  }
}

/** The first directives of a block, by their names, that close routes; looked for once. */
function closingOf(scope: Scope): readonly Statement[] {
  const known = CLOSING.get(scope);
  if (known !== undefined) return known;
  const firsts = new Map<string, Statement>();
  for (const one of scope.children)
    if (!firsts.has(one.name) && one.block?.some(({ name }) => name === "server") !== true) firsts.set(one.name, one);
  const found = [...firsts.values()].filter((one) => verdictOf(one).isClosing);
  CLOSING.set(scope, found);
  return found;
}

const NOTED = new WeakSet<Statement>();
const CLOSING = new WeakMap<Scope, readonly Statement[]>();

function basicAuth(scope: Scope, rule: Rule): void {
  const realm = scope.value("auth_basic");
  if (realm === null || realm === "off") return;
  const file = scope.value("auth_basic_user_file");
  askFor(
    scope,
    rule,
    { basic: { users_file: file ?? "htpasswd", realm }, keep_authorization: true },
    scope.one("auth_basic")!,
  );
}

/** Asks for one way to prove who a client is; two of them close the route. */
function askFor(scope: Scope, rule: Rule, auth: Keys, statement: Statement): void {
  if (JSON.stringify(rule.keys.auth) === JSON.stringify(auth)) return;
  if (!requireAuth(rule, auth)) noteTwo(scope.ledger, statement);
}

function forwardAuth(scope: Scope, rule: Rule): void {
  const found = scope.one("auth_request");
  const path = found?.args[0] ?? "off";
  if (found === null || path === "off") return;
  const server = enclosing(scope, "server");
  const location = server?.children.find((one) => one.name === "location" && one.args.at(-1) === path) ?? null;
  const url = location?.all("proxy_pass").at(0) ?? null;
  const target = url?.args[0] ?? "";
  if (location === null || !/^https?:\/\/[^$]+$/.test(target)) {
    scope.ledger.note(
      found,
      "the service that decides could not be found",
      "set auth.forward at the route; until then it is closed",
    );
    refuseRule(rule);
    return;
  }
  const hasPath = /^https?:\/\/[^/]+\//.test(target);
  scope.ledger.carry(found, location, url);
  askFor(scope, rule, { forward: { url: hasPath ? target : `${target}${path}` } }, found);
  for (const one of location.block ?? []) if (FORWARD_AUTH_STANDARD.test(one.name)) scope.ledger.standard(one);
  for (const one of scope.inherited("auth_request_set"))
    scope.ledger.note(
      one,
      "fields of the deciding service go to the origin by their names",
      "name them in auth.forward.response_headers",
    );
}

const FORWARD_AUTH_STANDARD =
  /^(internal|proxy_pass_request_body|proxy_set_header|proxy_http_version|proxy_buffering)$/;

function enclosing(scope: Scope, name: string): Scope | null {
  if (scope.statement?.name === name) return scope;
  return scope.outer === null ? null : enclosing(scope.outer, name);
}

function cache(scope: Scope, rule: Rule): void {
  const zone = scope.value("proxy_cache");
  if (zone === null || zone === "off" || !isUpstream(rule)) return;
  const valid = scope.inherited("proxy_cache_valid");
  const [plain] = valid.filter(({ args }) => args.length === 1 || args.includes("200") || args.includes("any"));
  const ms = nginxTime(plain?.args.at(-1) ?? "");
  rule.keys.cache = { enabled: true, ...(ms === null ? { default_ttl: "0s" } : { default_ttl: durationSetting(ms) }) };
  if (ms !== null) scope.ledger.carry(plain!);
  for (const one of valid)
    if (one !== plain)
      scope.ledger.note(
        one,
        "one time counts for responses that do not say their own",
        "let the origin send Cache-Control",
      );
  for (const one of rootOf(scope).here("proxy_cache_path"))
    if (one.args.some((word) => word.startsWith(`keys_zone=${zone}:`))) cacheZone(scope, one);
  const key = scope.one("proxy_cache_key");
  const isPlain = /^"?\$(scheme)?(\$proxy_host|\$host)?\$(request_uri|uri\$is_args\$args)"?$/.test(
    key?.args[0] ?? "$request_uri",
  );
  const others = scope.inherited("proxy_no_cache").concat(scope.inherited("proxy_cache_bypass"));
  if (isPlain && key !== null) scope.ledger.standard(key);
  // What one client gets must not be another one's.
  for (const one of [...(isPlain || key === null ? [] : [key]), ...others]) {
    rule.keys.cache = false;
    scope.ledger.note(
      one,
      "it is not carried over: nothing of the route is stored",
      "see cache.key and cache: docs/cache.md",
    );
  }
}

function cacheZone(scope: Scope, one: Statement): void {
  scope.ledger.note(
    one,
    "stored responses are in memory, with a limit of their own",
    "see server.cache, and server.cache.disk for files",
  );
}

function originTls(scope: Scope, rule: Rule): void {
  const tls: Keys = {};
  const kind = scope.here("grpc_pass").length > 0 ? "grpc" : "proxy";
  const certificate = scope.value(`${kind}_ssl_certificate`);
  const key = scope.value(`${kind}_ssl_certificate_key`);
  const authorities = scope.value(`${kind}_ssl_trusted_certificate`);
  const verifies = scope.isOn(`${kind}_ssl_verify`);
  const sendsName = scope.isOn(`${kind}_ssl_server_name`);
  // By default it is the name in the address, which may be that of a group.
  const nameOf = scope.value(`${kind}_ssl_name`) ?? (sendsName || verifies ? addressName(scope, kind) : null);
  if (
    !isUpstream(rule) ||
    !/^(https|h2):/.test(String(rule.keys.target ?? (rule.keys.targets as Keys[] | undefined)?.[0]?.url ?? ""))
  )
    return;
  if (certificate !== null && key !== null) Object.assign(tls, { cert_file: certificate, key_file: key });
  if (authorities !== null) tls.ca_file = authorities;
  if (nameOf !== null && !nameOf.includes("$")) tls.server_name = nameOf;
  // nginx verifies no certificate of an origin without a word.
  if (!verifies) tls.insecure_skip_verify = true;
  rule.keys.tls = tls;
}

/** The server's name in the address of a location; null if it has a variable, or is an address itself. */
function addressName(scope: Scope, kind: string): string | null {
  const name = /^\w+:\/\/([\w.-]+)/.exec(scope.here(`${kind}_pass`)[0]?.args[0] ?? "")?.[1] ?? null;
  return name === null || ipVersion(name) !== 0 || name === "unix" ? null : name;
}

const OPTIONS: readonly Option[] = [
  bodySize,
  requestBuffering,
  timeouts,
  requestHeaders,
  responseHeaders,
  expires,
  compression,
  errorPages,
  rateLimit,
  addressRules,
  basicAuth,
  forwardAuth,
  cache,
  originTls,
  proxyRedirect,
  proxyCookies,
  limitRate,
  listings,
  closeUnknown,
  bodyTexts,
  includes,
];

function withoutLineEnd(text: string): string {
  let end = text.length;
  while (end > 0 && "\r\n".includes(text[end - 1]!)) end--;
  return text.slice(0, end);
}
