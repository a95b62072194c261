import { escapedTemplate } from "../../../proto/template/template.ts";
import { allowOnly, noteTwo, requireAuth } from "../access.ts";
import { goDuration } from "../caddy/caddy-values.ts";
import { escapedRegex } from "../expression.ts";
import { type Keys, sectionAt } from "../keys.ts";
import type { Ledger } from "../ledger.ts";
import { closed, durationSetting, hasType, type Rule } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { child } from "./traefik-services.ts";

/** Puts a middleware into a rule. @returns whether it could be said as a whole; what could not has been noted, or will be */
type Apply = (statement: Statement, rule: Rule, ledger: Ledger) => boolean;

/** THE middlewares that are carried over. docs/migrate-traefik.md */
export const MIDDLEWARES: Readonly<Record<string, Apply>> = {
  stripPrefix(statement, rule, ledger) {
    const prefixes = child(statement, "prefixes");
    ledger.carry(prefixes);
    if (!hasType(rule.keys, "upstream")) return true;
    const { value, kind } = rule.path;
    const fits = (prefixes?.args ?? [])
      .map((one) => one.replace(/\/$/, ""))
      .find((one) => value === one || value.startsWith(`${one}/`));
    // A path that has none of the prefixes stays as it is.
    if (fits === undefined && kind === "exact") return true;
    if (fits === undefined) {
      // The prefix is narrower than the path of the rule.
      const [first] = prefixes?.args ?? [];
      if (first !== undefined && prefixes!.args.length === 1)
        rule.keys.rewrite = { regex: `^${escapedRegex(first.replace(/\/$/, ""))}/(.*)$`, to: "/{match.1}" };
      return prefixes?.args.length === 1;
    }
    if (kind === "exact") rule.keys.rewrite = { path: value.slice(fits.length) || "/" };
    else if (fits === value) delete rule.keys.strip_prefix;
    else rule.keys.rewrite = { regex: `^${escapedRegex(fits)}/(.*)$`, to: "/{match.1}" };
    return true;
  },
  addPrefix(statement, rule, ledger) {
    const prefix = child(statement, "prefix")?.args[0] ?? "";
    ledger.carry(child(statement, "prefix"));
    if (!hasType(rule.keys, "upstream")) return true;
    const base = prefix.replace(/\/$/, "");
    if (typeof rule.keys.target === "string") rule.keys.target += base;
    else if (Array.isArray(rule.keys.targets))
      rule.keys.targets = (rule.keys.targets as { url: string }[]).map((one) => ({ ...one, url: one.url + base }));
    return true;
  },
  replacePath(statement, rule, ledger) {
    const path = child(statement, "path");
    ledger.carry(path);
    if (hasType(rule.keys, "upstream")) rule.keys.rewrite = { path: escapedTemplate(path?.args[0] ?? "/") };
    return true;
  },
  replacePathRegex(statement, rule, ledger) {
    const to = (child(statement, "replacement")?.args[0] ?? "").replace(/\$\{?(\d)\}?/g, "{match.$1}");
    ledger.carry(child(statement, "replacement"), child(statement, "regex"));
    if (hasType(rule.keys, "upstream")) rule.keys.rewrite = { regex: child(statement, "regex")?.args[0] ?? "", to };
    return to.startsWith("/") || to.startsWith("{match.");
  },
  redirectScheme(statement, rule, ledger) {
    ledger.carry(...(statement.block ?? []));
    if (rule.hosts.length === 0) {
      closed(rule);
      return false;
    }
    const port = child(statement, "port")?.args[0] ?? "";
    rule.keys = {
      type: "redirect",
      to: `${child(statement, "scheme")?.args[0] ?? "https"}://{host}${port === "" || port === "443" ? "" : `:${port}`}{uri}`,
      status: child(statement, "permanent")?.args[0] === "true" ? 301 : 302,
    };
    return true;
  },
  redirectRegex(statement, rule, ledger) {
    const regex = child(statement, "regex")?.args[0] ?? "";
    const to = child(statement, "replacement")?.args[0] ?? "";
    const status = child(statement, "permanent")?.args[0] === "true" ? 301 : 302;
    const [whole, www, isOptional, bare = ""] =
      /^\^?https?\??:\/\/(\(\?:www\\?\.\)(\?)?)?([\w-]+(?:\\?\.[\w-]+)*)\/\(\.[*+]\)\$?$/.exec(regex) ?? [];
    const host = bare.replaceAll("\\", "");
    const hosts = www === undefined ? [host] : isOptional === undefined ? [`www.${host}`] : [host, `www.${host}`];
    const base = /^(https?:\/\/[\w.:-]+)\/\$\{?1\}?$/.exec(to)?.[1];
    const isOwn = rule.hosts.length === 0 || rule.hosts.some((one) => hosts.includes(one));
    if (whole === undefined || base === undefined || !isOwn) return false;
    ledger.carry(...(statement.block ?? []));
    if (rule.hosts.length > 1) return false;
    if (rule.hosts.length === 0) rule.hosts = hosts;
    rule.keys = { type: "redirect", to: `${base}{uri}`, status };
    return true;
  },
  headers: headers,
  basicAuth(statement, rule, ledger) {
    const users: Keys = {};
    for (const line of child(statement, "users")?.args ?? []) {
      const at = line.indexOf(":");
      users[line.slice(0, at)] = line.slice(at + 1).replaceAll("$$", "$");
    }
    const file = child(statement, "usersFile");
    const realm = child(statement, "realm")?.args[0] ?? "traefik";
    const removes = child(statement, "removeHeader")?.args[0] === "true";
    const auth = {
      basic: file === null ? { users, realm } : { users_file: file.args[0], realm },
      ...(removes ? {} : { keep_authorization: true }),
    };
    if (!requireAuth(rule, auth)) noteTwo(ledger, statement);
    ledger.carry(...(statement.block ?? []).filter(({ name }) => /^(users|usersFile|realm|removeHeader)$/.test(name)));
    return true;
  },
  forwardAuth(statement, rule, ledger) {
    const list = (name: string): readonly string[] => child(statement, name)?.args ?? [];
    const auth = {
      forward: {
        url: list("address")[0] ?? "",
        ...(list("authRequestHeaders").length > 0 ? { request_headers: list("authRequestHeaders") } : {}),
        ...(list("authResponseHeaders").length > 0 ? { response_headers: list("authResponseHeaders") } : {}),
      },
    };
    if (!requireAuth(rule, auth)) noteTwo(ledger, statement);
    ledger.carry(...["address", "authRequestHeaders", "authResponseHeaders"].map((name) => child(statement, name)));
    const trust = child(statement, "trustForwardHeader");
    if (trust !== null)
      ledger.note(trust, "fields about the client are believed of named proxies", "set server.trusted_proxies");
    return true;
  },
  rateLimit(statement, rule, ledger) {
    const average = Number(child(statement, "average")?.args[0] ?? 0);
    const ms = goDuration(child(statement, "period")?.args[0] ?? "1s") ?? 1000;
    const burst = Number(child(statement, "burst")?.args[0] ?? 1);
    ledger.carry(...["average", "period", "burst"].map((name) => child(statement, name)));
    if (average > 0)
      rule.keys.rate_limit = {
        requests: average,
        window: durationSetting(ms < 1000 ? ms * 1000 : ms),
        burst: Math.max(1, burst),
      };
    return true;
  },
  ipAllowList: allowList,
  ipWhiteList: allowList,
  compress(statement, rule, ledger) {
    const smallest = child(statement, "minResponseBodyBytes");
    const encodings = child(statement, "encodings");
    ledger.carry(smallest, encodings);
    if (!hasType(rule.keys, "redirect"))
      rule.keys.compression = {
        enabled: true,
        encodings: encodings?.args ?? ["gzip", "br", "zstd"],
        min_bytes: Number(smallest?.args[0] ?? 1024),
      };
    return true;
  },
  buffering(statement, rule, ledger) {
    const bytes = child(statement, "maxRequestBodyBytes");
    if (bytes !== null) rule.keys.max_body_bytes = Number(bytes.args[0]) > 0 ? Number(bytes.args[0]) : "unlimited";
    ledger.carry(bytes);
    return true;
  },
  retry(statement, rule, ledger) {
    const attempts = child(statement, "attempts");
    if (rule.keys.targets !== undefined)
      rule.keys.retries = { attempts: Math.max(1, Math.min(10, Number(attempts?.args[0] ?? 1) - 1)) };
    ledger.carry(attempts);
    return true;
  },
  grpcWeb(statement, rule, ledger) {
    if (hasType(rule.keys, "upstream")) rule.keys.grpc_web = true;
    ledger.carry(...(statement.block ?? []));
    return true;
  },
};

/**
 * Middlewares without which the same clients reach the same paths; the routes of any other one that is not carried over are closed.
 * `inFlightReq` counts requests at the same time: it keeps room for the origin, and no client out, so its routes stay open, with a note.
 */
export const HARMLESS: ReadonlySet<string> = new Set([
  "circuitBreaker",
  "compress",
  "contentType",
  "errors",
  "grpcWeb",
  "inFlightReq",
  "retry",
]);

function allowList(statement: Statement, rule: Rule, ledger: Ledger): boolean {
  const ranges = child(statement, "sourceRange");
  // With a strategy, another address is compared than a route compares.
  if (ranges === null || ranges.args.length === 0 || child(statement, "ipStrategy") !== null) return false;
  allowOnly(rule, ranges.args);
  ledger.carry(ranges);
  return true;
}

function headers(statement: Statement, rule: Rule, ledger: Ledger): boolean {
  // Other hosts are refused, and clear text may be.
  const isAsking = (statement.block ?? []).some(
    ({ name, args }) => (name === "allowedHosts" && args.length > 0) || (name === "sslRedirect" && args[0] === "true"),
  );
  if (isAsking) return false;
  for (const one of statement.block ?? []) {
    if (one.name === "customRequestHeaders" || one.name === "customResponseHeaders") {
      ledger.carry(one);
      custom(
        one,
        sectionAt(rule.keys, "headers", one.name === "customRequestHeaders" ? "request" : "response"),
        ledger,
      );
      continue;
    }
    const field = SECURITY_FIELDS[one.name];
    if (field === undefined) continue;
    const [name, value] = field(one.args[0] ?? "");
    if (value !== "") sectionAt(rule.keys, "headers", "response", "set")[name] = value;
    ledger.carry(one);
  }
  const seconds = Number(child(statement, "stsSeconds")?.args[0] ?? 0);
  if (seconds > 0) {
    const below = child(statement, "stsIncludeSubdomains")?.args[0] === "true" ? "; includeSubDomains" : "";
    const preload = child(statement, "stsPreload")?.args[0] === "true" ? "; preload" : "";
    sectionAt(rule.keys, "headers", "response", "set")["Strict-Transport-Security"] =
      `max-age=${seconds}${below}${preload}`;
  }
  ledger.carry(...["stsSeconds", "stsIncludeSubdomains", "stsPreload"].map((name) => child(statement, name)));
  return true;
}

function custom(statement: Statement, edits: Keys, ledger: Ledger): void {
  for (const one of statement.block ?? []) {
    const [value = ""] = one.args;
    if (value === "") edits.remove = [...((edits.remove as string[] | undefined) ?? []), one.name];
    else sectionAt(edits, "set")[one.name] = escapedTemplate(value);
    ledger.carry(one);
  }
}

/** Switches of the middleware headers, as the fields that they are. */
const SECURITY_FIELDS: Readonly<Record<string, (value: string) => readonly [string, string]>> = {
  frameDeny: (value) => ["X-Frame-Options", value === "true" ? "DENY" : ""],
  customFrameOptionsValue: (value) => ["X-Frame-Options", value],
  contentTypeNosniff: (value) => ["X-Content-Type-Options", value === "true" ? "nosniff" : ""],
  browserXssFilter: (value) => ["X-XSS-Protection", value === "true" ? "1; mode=block" : ""],
  referrerPolicy: (value) => ["Referrer-Policy", value],
  contentSecurityPolicy: (value) => ["Content-Security-Policy", escapedTemplate(value)],
  permissionsPolicy: (value) => ["Permissions-Policy", escapedTemplate(value)],
};
