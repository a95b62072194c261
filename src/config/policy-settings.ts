import { quote } from "./config-fault.ts";
import { formatDuration } from "./duration.ts";
import { adviceOf, FOREIGN_CACHE_KEYS } from "./foreign-names.ts";
import { TEXT } from "./form.ts";
import { autonomousSystem, country } from "./geo-settings.ts";
import { headerName, headerValue, method, pathPrefix, routeMethod } from "./http-syntax.ts";
import { didYouMean } from "./nearest-name.ts";
import { describe, type Kind, list, measured, pairs, piece, resolved, type Spot, Wrong, written } from "./piece.ts";
import { block, type ConfigOf, isFaultyAt, orWritten, type Rows, type Values } from "./row.ts";
import { ruleFiles } from "./rule-files.ts";
import type { WafConfig } from "./runtime-config.ts";
import {
  cidr,
  duration,
  flag,
  integer,
  size,
  text,
  textLike,
  textOrNumber,
  word,
  wordOrEmpty,
  workFolder,
} from "./scalars.ts";

// Sections of `server:` that say what is done with requests and responses: guards, firewall, cache, added fields.

/** Default of a section that its presence enables. */
export const OFF = { enabled: false };
const TEN_YEARS_MS = 10 * 365 * 86_400_000;

/** Address rules, of the server or of a route: `deny` is looked at first. docs/guards.md#address-rules */
export const ipRules = block({
  allow: {
    type: list(cidr(), "networks"),
    example: ["192.0.2.0/24"],
    doc: "clients in these networks alone are let in",
  },
  deny: { type: list(cidr(), "networks"), example: ["192.0.2.7"], doc: "clients in these networks get 403" },
  allow_countries: {
    type: list(country(), "countries"),
    example: ["DE", "AT"],
    doc: "beside allow; by geo.country_db",
  },
  deny_countries: { type: list(country(), "countries"), example: ["AQ"], doc: "beside deny; by geo.country_db" },
  deny_asns: { type: list(autonomousSystem(), "numbers"), example: [64500], doc: "beside deny; by geo.asn_db" },
});

/** As nginx and others write a rate: `10r/s`, `300/m`. */
export const RATE: RegExp = /^([1-9]\d{0,8}) ?r?\/([smh])$/;

/** `rate_limit`, of the server or of a route: a token bucket. docs/guards.md#rate-limits */
const rateLimitBlock = block(
  {
    enabled: { type: flag(), default: true, doc: "false: requests are not counted" },
    requests: { type: integer(1), absent: 0, example: 100, doc: "this many in each window" },
    window: { type: duration(1), default: "1s", doc: "time in which so many requests are allowed" },
    burst: { type: integer(1), absent: 0, example: 200, doc: 'this many at once; the value of "requests" by default' },
    key: {
      type: textLike(
        /^(client_ip|address|user|route|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+)$/,
        "client_ip, user, route or header:NAME",
      ),
      default: "client_ip",
      doc: "or user (whom auth let in), route, or header:NAME",
    },
    ipv6_prefix: {
      type: integer(16, 128),
      default: 64,
      doc: "IPv6 prefix length that shares one bucket",
    },
    status: { type: integer(400, 599), default: 429, doc: "status of requests beyond the rate" },
    headers: { type: flag(), default: false, doc: "true: responses carry RateLimit and RateLimit-Policy" },
    scope: {
      type: word("node", "cluster"),
      default: "node",
      field: "reach",
      doc: "cluster: one limit for all gateways of a fleet",
    },
  },
  {
    absent: OFF,
    check(values, spot) {
      if (!values.enabled || values.requests > 0 || isFaultyAt(spot, "requests")) return;
      const message = "a rate limit needs requests, the number allowed in each window, such as requests: 100";
      spot.log.fault(spot.path, message, true);
    },
    finish({ requests, burst }, values) {
      const [key = "", header = ""] = values.key.split(":");
      return {
        // The size of the bucket, at least 1.
        burst: burst > 0 ? burst : Math.max(1, requests),
        key: (key === "address" ? "client_ip" : key) as "client_ip" | "header" | "route" | "user",
        // In lower case where `key` is `header`, else "".
        keyHeader: header.toLowerCase(),
      };
    },
    list(config, lines) {
      if (!config.enabled) return { enabled: false };
      const { enabled: _, ...others } = lines;
      return { ...others, key: config.key === "header" ? `header:${config.keyHeader}` : config.key };
    },
  },
);

/** The same, also as `10r/s`. */
export const rateLimit: typeof rateLimitBlock = orWritten(
  rateLimitBlock,
  { is: "text", pattern: RATE },
  (value) => {
    if (typeof value !== "string") return value;
    const [, requests, unit] = RATE.exec(value.trim()) ?? [];
    if (unit !== undefined) return { requests: Number(requests), window: `1${unit}` };
    return new Wrong(
      `expected a rate such as 10r/s or 300r/m, or a section with requests and window, found ${describe(value)}`,
    );
  },
  OFF,
);

/** Of bodies that forms, scripts and clients of APIs send. */
const MEDIA_TYPES: string[] = [
  "application/x-www-form-urlencoded",
  "multipart/form-data",
  "application/json",
  "*+json",
  "text/plain",
  "application/xml",
  "text/xml",
  "*+xml",
  "application/grpc",
  "*+proto",
];
/** Of programs, settings, logs and backups. */
const EXTENSIONS: string[] = [
  "asa asax ascx backup bak bat cer cfg cmd com config conf cs csproj csr dat db dbf dll dos htr htw ida idc idq inc ini key licx",
  "lnk log mdb old pass pdb pol printer pwd rdb resources resx sql swp sys vb vbs vbproj vsdisco webinfo xsd xsx",
].flatMap((line) => line.split(" "));

const wafProtocol = block(
  {
    enabled: { type: flag(), default: true, doc: "false: the lists do not count" },
    methods: {
      type: list(routeMethod(), "methods"),
      default: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
      doc: "any other method scores; an empty list allows all",
    },
    content_types: {
      type: list(text("a media type"), "media types"),
      default: MEDIA_TYPES,
      doc: "of requests with a body; *+json is any with that suffix; an empty list allows all",
    },
    restricted_files: {
      type: list(text("a file or folder"), "names"),
      example: ["phpinfo.php"],
      doc: "segments of a path, beside those of FILES-001",
    },
    restricted_extensions: {
      type: list(text("an extension"), "extensions"),
      default: EXTENSIONS,
      doc: "extensions of paths that are refused",
    },
    headers: {
      type: list(headerName(), "names of header fields"),
      default: ["Proxy", "Lock-Token", "Content-Range", "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"],
      doc: "fields that no client may send",
    },
  },
  { absent: OFF },
);

/** docs/waf.md */
export const waf = block(
  {
    enabled: { type: flag(), default: true, doc: "false: nothing is inspected" },
    mode: { type: word("enforce", "detection"), default: "enforce", guard: ["enforce"], doc: "detection only logs" },
    level: { type: integer(1, 2), default: 1, doc: "2: also rules that find more, and err more often" },
    profile: {
      type: list(word("php", "java", "node", "python", "ruby", "sql", "mongo", "ldap", "files"), "words"),
      example: ["php"],
      doc: "what the applications are made with: rules of level 2 for it count",
    },
    anomaly_threshold: { type: integer(1, 1_000_000), default: 5, doc: "requests with this score or more are blocked" },
    max_inspect_body_size: {
      type: size(0, 16_777_216),
      default: "64KiB",
      field: "maxInspectBodyBytes",
      doc: "how much of a body is inspected, after decompression; 0 inspects none",
    },
    over_limit: {
      type: word("inspect", "reject"),
      default: "inspect",
      doc: "of a larger body the beginning is inspected; reject: 413",
    },
    disabled_rules: {
      type: list(textOrNumber("a rule name"), "rule names"),
      example: ["SCANNER-001"],
      doc: 'as named in waf_block lines and by "edge waf test"',
    },
    reveal_rules: {
      type: flag(),
      default: true,
      doc: "false: the 403 says neither score nor rules; the log does",
    },
    fields: {
      type: pairs(word("text"), "post.body: text"),
      example: { "post.body": "text" },
      doc: "parameters and members that hold code or rich text: rules about their content are off there",
    },
    protocol: { type: wafProtocol, doc: "lists of what applications take; off without this section" },
    responses: {
      type: word("off", "detection", "enforce"),
      default: "off",
      guard: ["enforce"],
      doc: "detection: responses of origins that leak stack traces, SQL errors, keys or listings are logged; enforce: 502 in their place",
    },
    rules: {
      type: ruleFiles(),
      example: ["./custom.conf"],
      doc: "files with rules of your own, in the language of ModSecurity; they are asked first",
    },
    allowed_ips: { type: list(cidr(), "networks"), example: ["192.0.2.9"], doc: "clients that skip the firewall" },
    exclusions: {
      doc: "rules that are off in places",
      type: list(
        block({
          rule: {
            type: textOrNumber("a rule name"),
            required: "the name of the rule to switch off here, such as SQLI-001",
            example: "SQLI-001",
            doc: "or a family, SQLI-*, or a number of the Core Rule Set: off for this path and parameter; either may be left out",
          },
          path: {
            type: pathPrefix(),
            absent: "",
            example: "/search",
            doc: "where the rule is off: this path and all below it",
          },
          param: {
            type: text("a parameter name"),
            absent: "",
            example: "q",
            doc: "where the rule is off: this parameter, header or member",
          },
        }),
        "exclusions",
      ),
    },
  },
  { absent: OFF },
);

const routeWafBlock = block({
  mode: {
    type: word("enforce", "detection", "off"),
    absent: null,
    example: "detection",
    doc: "the server's by default",
  },
  level: { type: waf.rows.level.type, absent: null, example: 2, doc: "in place of server.waf.level" },
  profile: { type: waf.rows.profile.type, absent: null, example: ["php"], doc: "in place of server.waf.profile" },
  anomaly_threshold: {
    type: waf.rows.anomaly_threshold.type,
    absent: null,
    example: 10,
    doc: "in place of server.waf.anomaly_threshold",
  },
  disabled_rules: {
    type: waf.rows.disabled_rules.type,
    absent: null,
    example: ["XSS-001"],
    doc: "beside server.waf.disabled_rules",
  },
  fields: {
    type: waf.rows.fields.type,
    absent: null,
    example: { "post.body": "text" },
    doc: "in place of server.waf.fields",
  },
  responses: {
    type: waf.rows.responses.type,
    absent: null,
    example: "enforce",
    doc: "in place of server.waf.responses",
  },
  rules: { type: waf.rows.rules.type, absent: null, example: ["./shop.conf"], doc: "in place of server.waf.rules" },
  exclusions: {
    type: waf.rows.exclusions.type,
    absent: null,
    example: [{ rule: "SQLI-001", param: "q" }],
    doc: "beside server.waf.exclusions",
  },
});

/** `waf` of a route: what is not said is the server's; a bare word is the mode. docs/waf.md#at-a-route */
export const routeWaf: typeof routeWafBlock = orWritten(
  routeWafBlock,
  word("enforce", "detection", "off").form,
  (value) => (typeof value === "string" ? { mode: value } : value === false ? { mode: "off" } : value),
);

/** What the firewall is told at a route; null is the server's. */
export type RouteWafConfig = ConfigOf<typeof routeWafBlock>;

/** Notes rules that do not exist. An empty list of known ones leaves the check out. */
export function checkWafRules(
  config: Pick<WafConfig, "disabledRules" | "exclusions" | "rules">,
  ownRules: readonly string[],
  { path, log }: Pick<Spot, "path" | "log">,
): void {
  const written = config.rules.entries.flatMap((entry) => ("id" in entry ? [String(entry.id)] : []));
  const knownRules = ownRules.length === 0 ? ownRules : [...ownRules, ...written];
  const check = (rule: string, ...at: (string | number)[]): void => {
    const isPart = knownRules.includes(`~${rule}`);
    if (knownRules.length === 0 || knownRules.includes(rule) || (isPart && at[0] === "exclusions")) return;
    const names = knownRules.filter((name) => !name.startsWith("~"));
    const message = isPart
      ? `${rule} finds a part of what rules here find, and switches none of them off: name one of those, or write an exclusion`
      : `expected the name of a WAF rule, found ${quote(rule)}${didYouMean(rule, names)}`;
    log.fault([...path, ...at], message);
  };
  for (const [i, rule] of config.disabledRules.entries()) check(rule, "disabled_rules", i);
  for (const [i, { rule }] of config.exclusions.entries()) {
    const isFamily = rule.endsWith("-*") && knownRules.some((known) => known.startsWith(rule.slice(0, -1)));
    if (!isFamily) check(rule, "exclusions", i, "rule");
  }
}

/** `cache.disk`. docs/cache.md#on-disk */
const cacheDisk = block(
  {
    path: {
      type: workFolder(),
      required: "a folder for stored responses, such as /var/cache/edge",
      example: "/var/cache/edge",
      doc: "of its own; made where the folder above it is there",
    },
    max_bytes: { type: size(1_048_576, 214_748_364_800), default: "1GiB", doc: "of all files together" },
  },
  {},
);

/** Off unless `enabled` is true. docs/cache.md */
export const cache = block(
  {
    enabled: { type: flag(), default: false, doc: "responses are stored" },
    default_ttl: {
      type: duration(0, TEN_YEARS_MS),
      default: "60s",
      doc: "for responses that do not say how long they are fresh",
    },
    max_entries: {
      type: integer(1, 100_000_000),
      default: 1000,
      doc: "stored responses; beyond it the least recently used are evicted",
    },
    max_payload_size: {
      type: size(1, 1_073_741_824),
      default: "1MiB",
      field: "maxPayloadBytes",
      doc: "larger responses are not stored",
    },
    max_bytes: { type: size(1, 4_293_918_720), default: "256MiB", doc: "memory of all stored responses together" },
    eviction: {
      type: word("lru", "s3fifo"),
      default: "lru",
      doc: "what makes way: the least recently used, or what is asked for rarely",
    },
    cookies: {
      type: word("share", "bypass"),
      default: "share",
      doc: "bypass: responses that involve cookies are stored only with public or s-maxage",
    },
    purge_from: {
      type: list(cidr(), "networks"),
      example: ["192.0.2.10"],
      doc: "clients whose PURGE takes responses out; none by default",
    },
    disk: {
      type: cacheDisk,
      absent: null,
      restart: "everywhere",
      doc: "what is stored survives a restart; none by default",
    },
    status_key: { type: flag(), default: false, doc: "Cache-Status says the key of each response: for development" },
  },
  {
    misplaced: new Map(adviceOf(FOREIGN_CACHE_KEYS)),
    notes: ["Stale responses: as the upstream's Cache-Control says, stale-while-revalidate=30 and stale-if-error=60."],
    check(values, { log, path }) {
      const { disk } = values;
      if (values.enabled && disk !== null && values.max_payload_size > disk.max_bytes / 4)
        log.warn(
          [...path, "max_payload_size"],
          "is above a quarter of disk.max_bytes: such responses are not kept on disk",
        );
      if (values.enabled && values.max_payload_size > values.max_bytes)
        log.warn([...path, "max_payload_size"], "is above max_bytes: responses of that size are never stored");
    },
  },
);

const corsRows = {
  enabled: { type: flag(), default: true, doc: "false: no field is added and preflights go to the routes" },
  allowed_origins: {
    type: resolved(
      list(
        textLike(
          /^(\*|https?:\/\/[^\s/?#@*]+)$/i,
          'an origin such as https://app.example.com (no path, no slash at the end), or "*"',
        ),
        "origins",
      ),
      (origins) => starOr(origins.map((origin) => origin.toLowerCase())),
    ),
    example: ["https://app.example.com"],
    doc: 'or ["*"]',
  },
  allowed_methods: {
    type: list(method(), "methods"),
    default: ["GET", "HEAD", "POST"],
    doc: "methods that pages of other origins may use",
  },
  allowed_headers: {
    type: resolved(list(headerName(), "header names"), starOr),
    example: ["Content-Type", "Authorization"],
    doc: "request fields that pages of other origins may set; *: any",
  },
  exposed_headers: {
    type: resolved(list(headerName(), "header names"), starOr),
    example: ["X-Request-Id"],
    doc: "response fields that pages of other origins may read; *: any",
  },
  allow_credentials: { type: flag(), default: false, doc: "pages of other origins may send cookies" },
  max_age: { type: inSeconds(), default: "10m", doc: "how long a browser keeps the response to a preflight" },
} as const satisfies Rows;

/** docs/guards.md#cors */
export const cors = block(corsRows, { absent: OFF, check: checkCors });

function checkCors(values: Values<typeof corsRows>, spot: Spot): void {
  const { log, path } = spot;
  if (!values.enabled) return;
  if (values.allowed_origins.length === 0 && !isFaultyAt(spot, "allowed_origins"))
    log.fault(path, "needs allowed_origins, such as [https://app.example.com]", true);
  if (!values.allow_credentials) return;
  // Fetch §3.2.5: with credentials "*" is no wildcard, so browsers would refuse what the operator meant to allow.
  for (const key of ["allowed_origins", "allowed_headers", "exposed_headers"] as const) {
    if (values[key].includes("*"))
      log.fault([...path, key], 'expected every name written out: "*" cannot go together with allow_credentials: true');
  }
}

/** What is added to responses that do not say it themselves; "" adds nothing. docs/guards.md#security-headers */
export const securityHeaders = block(
  {
    enabled: { type: flag(), default: true, doc: "false: no field is added" },
    frame_options: {
      type: wordOrEmpty("DENY", "SAMEORIGIN") as Kind<string>,
      default: "SAMEORIGIN",
      doc: 'or DENY, or ""',
    },
    referrer_policy: {
      type: wordOrEmpty(
        "no-referrer",
        "no-referrer-when-downgrade",
        "origin",
        "origin-when-cross-origin",
        "same-origin",
        "strict-origin",
        "strict-origin-when-cross-origin",
        "unsafe-url",
      ) as Kind<string>,
      default: "strict-origin-when-cross-origin",
      doc: 'Referrer-Policy; "": none',
    },
    hsts: { type: hsts(), default: true, doc: "over TLS only; false, or the whole value of the header" },
  },
  { absent: OFF },
);

function starOr(names: readonly string[]): readonly string[] {
  return names.includes("*") ? ["*"] : names;
}

/** A duration of which whole seconds count. */
function inSeconds(): Kind<number, number, "Seconds"> {
  const seconds = resolved(duration(0, TEN_YEARS_MS), (ms) => Math.floor(ms / 1000));
  return measured(
    written(seconds, (count) => formatDuration(count * 1000)),
    "Seconds",
  );
}

/** `true`, `false`, or the whole value of the header; resolved to that, "" for `false`. */
function hsts(): Kind<string> {
  const value = headerValue();
  return piece<string>(
    (found) => {
      if (found === true || found === "true") return "max-age=31536000";
      if (found === false || found === "false" || found === "") return "";
      const result = value["~run"]({ value: found }, {});
      const text = result.issues === undefined ? String(result.value) : "";
      return /^max-age=\d+/i.test(text)
        ? text
        : new Wrong(
            `expected true, false or a value such as "max-age=31536000; includeSubDomains", found ${describe(found)}`,
          );
    },
    { is: "either", forms: [{ is: "flag" }, TEXT] },
  );
}
