import { FOREIGN_CACHE_KEYS } from "./foreign-names.ts";
import { headerName, headerValue, method, pathPrefix } from "./http-syntax.ts";
import { describe, type Entries, list, must, or, orElse, piece, section, Wrong } from "./piece.ts";
import { block, isFaultyAt } from "./row.ts";
import {
  cidr,
  decimal,
  duration,
  durationOr,
  flag,
  integer,
  port,
  portOrOff,
  size,
  text,
  textLike,
  word,
  wordOrEmpty,
} from "./scalars.ts";

// One line is one key: its name, what may stand there, its default. Whether a section is on when it is present without
// `enabled` stands in its first line; the second argument of `section` is how an absent section is read.

const OFF = { enabled: false };
const TEN_YEARS_MS = 10 * 365 * 86_400_000;
const RATE_LIMIT_KEY = /^(client_ip|route|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+)$/;
const CHUNKED_MODE = wordOrEmpty("normalize", "passthrough", "reject");

/** Address rules, of the server or of a route. */
export const ipRules = section({
  allow: list(cidr(), "networks"),
  deny: list(cidr(), "networks"),
});

/** `rate_limit`, of the server or of a route: a token bucket, on when present. docs/security.md#client-addresses */
export const rateLimit = block(
  {
    enabled: { type: flag(), default: true },
    requests: { type: integer(1), absent: 0, example: 100, doc: "so many in each window" },
    window: { type: duration(1), default: "1s" },
    burst: { type: integer(1), absent: 0, example: 200, doc: 'so many at once; as many as "requests" by default' },
    key: {
      type: textLike(RATE_LIMIT_KEY, "client_ip, route or header:NAME"),
      default: "client_ip",
      doc: "or route, or header:NAME",
    },
    status: { type: integer(400, 599), default: 429 },
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
        // At least 1.
        burst: burst > 0 ? burst : Math.max(1, requests),
        key: key as "client_ip" | "header" | "route",
        /** Lower-case header name when `key` is `header`, else "". */
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

/** The mode of inbound chunked bodies; "" is unset, which the next level decides. */
export const chunkedMode = or(CHUNKED_MODE, "");

const tls = section(
  {
    enabled: or(flag(), true),
    port: or(port(0), 8443),
    cert_file: or(text("a file name"), ""),
    key_file: or(text("a file name"), ""),
    certificates: list(
      section({
        cert_file: must(text("a file name"), "the PEM file of the certificate and its chain"),
        key_file: must(text("a file name"), "the PEM file of the private key"),
      }),
      "certificates",
    ),
    min_version: or(word("1.2", "1.3"), "1.2"),
    client_auth: or(word("none", "request", "require"), "none"),
    client_ca_file: or(text("a file name"), ""),
    redirect_http: or(flag(), false),
    redirect_port: or(port(0), 0),
  },
  OFF,
);

const http2 = section({
  enabled: or(flag(), true),
  max_concurrent_streams: or(integer(1, 65_535), 128),
  max_header_list_bytes: or(size(1024), 65_536),
  unknown_pseudo_headers: or(word("drop", "reject"), "drop"),
  extended_connect: or(flag(), false),
});

const http3 = section({ enabled: or(flag(), true), port: orElse(port(0), -1) }, OFF);

const proxyProtocol = section({ enabled: or(flag(), true), trusted: list(cidr(), "networks") }, OFF);

/** On when present, off when absent: decisions §1. */
const waf = section(
  {
    enabled: or(flag(), true),
    mode: or(word("enforce", "detection"), "enforce"),
    anomaly_threshold: or(integer(1, 1_000_000), 5),
    max_inspect_body_size: or(size(0, 16_777_216), 65_536),
    over_limit: or(word("inspect", "reject"), "inspect"),
    disabled_rules: list(text("a rule name"), "rule names"),
    allowed_ips: list(cidr(), "networks"),
    exclusions: list(
      section({
        rule: must(text("a rule name"), "the name of the rule to switch off here, such as SQLI-001"),
        path: orElse(pathPrefix(), ""),
        param: or(text("a parameter name"), ""),
      }),
      "exclusions",
    ),
  },
  OFF,
);

/** Off unless `enabled` is true. Spec, "Response cache". */
const cache = section(
  {
    enabled: or(flag(), false),
    default_ttl: or(duration(0, TEN_YEARS_MS), "60s"),
    max_entries: or(integer(1, 100_000_000), 1000),
    max_payload_size: or(size(1, 1_073_741_824), 1_048_576),
    max_bytes: or(size(1, 4_293_918_720), "256MiB"),
    cookies: or(word("share", "bypass"), "share"),
  },
  {},
  new Map(FOREIGN_CACHE_KEYS),
);

/** Off unless `enabled` is true: it talks to a certificate authority. */
const acme = section({
  enabled: or(flag(), false),
  directory_url: or(
    textLike(
      /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/,
      "the URL of an ACME directory, such as https://ca.example/directory",
    ),
    "https://acme-v02.api.letsencrypt.org/directory",
  ),
  email: or(textLike(/^([^\s@,;:?]+@[^\s@,;:?]+)?$/, "an e-mail address such as admin@example.com"), ""),
  domains: list(text("a domain name"), "domain names"),
  cache_dir: or(text("a folder name"), "certs"),
  challenge_type: or(word("http-01", "tls-alpn-01"), "http-01"),
  ca_file: or(text("a file name"), ""),
  eab: section({
    kid: or(text("the key id that the CA gave"), ""),
    hmac_key: or(text("the key that the CA gave, in base64url", true), ""),
  }),
});

const cors = section(
  {
    enabled: or(flag(), true),
    allowed_origins: list(
      textLike(
        /^(\*|https?:\/\/[^\s/?#@*]+)$/i,
        'an origin such as https://app.example.com (no path, no slash at the end), or "*"',
      ),
      "origins",
    ),
    allowed_methods: or(list(method(), "methods"), ["GET", "HEAD", "POST"]),
    allowed_headers: list(headerName(), "header names"),
    exposed_headers: list(headerName(), "header names"),
    allow_credentials: or(flag(), false),
    max_age: or(duration(0, TEN_YEARS_MS), "10m"),
  },
  OFF,
);

const securityHeaders = section(
  {
    enabled: or(flag(), true),
    frame_options: or(wordOrEmpty("DENY", "SAMEORIGIN"), "SAMEORIGIN"),
    referrer_policy: or(
      wordOrEmpty(
        "no-referrer",
        "no-referrer-when-downgrade",
        "origin",
        "origin-when-cross-origin",
        "same-origin",
        "strict-origin",
        "strict-origin-when-cross-origin",
        "unsafe-url",
      ),
      "strict-origin-when-cross-origin",
    ),
    hsts: or(hsts(), true),
  },
  OFF,
);

const accessLog = section({ enabled: or(flag(), true), sample: or(decimal(0, 1), 1) });

/** The keys of `server:`. Spec, "`server` (general)"; decisions §1 "Server defaults". */
export const serverEntries = {
  host: or(text("an address such as 0.0.0.0 or 127.0.0.1"), "0.0.0.0"),
  port: or(portOrOff(), 8080),
  workers: or(countOrAuto("workers", 1024), 0),
  header_timeout: or(duration(1), "10s"),
  read_timeout: or(duration(1), "30s"),
  min_body_rate: or(size(0), 240),
  write_timeout: or(duration(1), "30s"),
  idle_timeout: or(duration(1), "120s"),
  half_close_grace: or(durationOr("serve"), "1s"),
  shutdown_timeout: or(duration(0), "30s"),
  drain_delay: or(duration(0), "0s"),
  max_header_bytes: or(size(1024, 16_777_216), 65_536),
  max_header_fields: or(integer(1, 10_000), 100),
  max_body_bytes: or(size(0), 4_194_304),
  max_connections: or(countOrAuto("connections", 10_000_000), 0),
  max_connections_per_ip: or(integer(0, 10_000_000), 0),
  max_unsent_bytes: or(size(1_048_576), "128MiB"),
  inbound_chunked_mode: chunkedMode,
  request_trailers: or(word("expose", "drop"), "expose"),
  trusted_proxies: list(cidr(), "networks"),
  ip_rules: ipRules,
  tls,
  http2,
  http3,
  proxy_protocol: proxyProtocol,
  waf,
  cache,
  acme,
  cors,
  security_headers: securityHeaders,
  rate_limit: rateLimit,
  access_log: accessLog,
} satisfies Entries;

/** `auto` or a number; 0 is auto. */
function countOrAuto(what: string, max: number) {
  const count = integer(0, max);
  return piece<number>((value) => {
    if (value === "auto") return 0;
    const result = count["~run"]({ value }, {});
    return result.issues === undefined
      ? (result.value as number)
      : new Wrong(`expected a number of ${what} from 1 to ${max}, or "auto", found ${describe(value)}`);
  });
}

/** `true`, `false`, or the whole value of the header. */
function hsts() {
  const value = headerValue();
  return piece<string>((found) => {
    if (found === true || found === "true") return "max-age=31536000";
    if (found === false || found === "false" || found === "") return "";
    const result = value["~run"]({ value: found }, {});
    const text = result.issues === undefined ? String(result.value) : "";
    return /^max-age=\d+/i.test(text)
      ? text
      : new Wrong(
          `expected true, false or a value such as "max-age=31536000; includeSubDomains", found ${describe(found)}`,
        );
  });
}
