import { parseCidr } from "../../../config/cidr.ts";
import { ipVersion } from "../../../core/ip-address.ts";
import { isServerAddress } from "../backends.ts";
import type { ObjectStore } from "../object-store.ts";
import type { ConfigMap, KubeObject } from "../objects.ts";
import { secretPairs } from "../secret-lists.ts";
import { AnnotationReader, type LostAnnotation } from "./annotation-reader.ts";
import type { AnnotationName } from "./annotation-rows.ts";
import { isHost } from "./ingress-shapes.ts";

type Keys = Readonly<Record<string, unknown>>;

/** Which requests go to a canary. Header goes before cookie, cookie before share. */
export interface CanaryTerms {
  readonly header: string;
  /** "" for always and never; between slashes an expression. */
  readonly headerValue: string;
  readonly cookie: string;
  /** From 0 to 100. */
  readonly percent: number;
}

/** The annotations of an Ingress as keys of edge, for all its paths. */
export interface IngressTerms {
  /** Keys of upstream routes, as routes.yaml has them. Users are references to their Secret. */
  readonly keys: Keys;
  readonly scheme: "http" | "https" | "h2c" | "h2" | "";
  readonly redirect: { readonly to: string; readonly status: number } | null;
  /** The target of a redirect of /; "" for none. */
  readonly appRoot: string;
  readonly toHttps: "tls" | "always" | "never";
  readonly hasWwwRedirect: boolean;
  readonly aliases: readonly string[];
  readonly isRegex: boolean;
  readonly rewriteTarget: string;
  readonly usesServiceAddress: boolean;
  /** The Service that serves while that of a path has no endpoints; "". */
  readonly spareService: string;
  readonly canary: CanaryTerms | null;
  readonly ignored: readonly LostAnnotation[];
  readonly refused: readonly LostAnnotation[];
}

/** Reads the annotations of an Ingress. @param isStrict whether its Secrets must be there. docs/kubernetes-annotations.md */
export function ingressTerms(ingress: KubeObject, store: ObjectStore, isStrict = true): IngressTerms {
  const { annotations = {}, namespace = "" } = ingress.metadata;
  const read = new AnnotationReader(annotations);
  const target = read.text("rewrite-target");
  const scheme = schemeOf(read);
  const keys = {
    ...responseKeys(read, namespace, store),
    ...trafficKeys(read),
    ...upstreamTls(read, scheme),
    ...balancing(read),
    ...guards(read, namespace, isStrict ? store : null),
    ...cors(read),
  };
  return {
    keys,
    scheme,
    redirect: redirectOf(read),
    appRoot: appRootOf(read),
    toHttps: read.isOn("force-ssl-redirect") ? "always" : read.isOn("ssl-redirect", true) ? "tls" : "never",
    hasWwwRedirect: read.isOn("from-to-www-redirect"),
    aliases: read
      .list("server-alias")
      .filter((alias) => isHost(alias) || read.lose("server-alias", `${alias} is no host`)),
    isRegex: read.isOn("use-regex") || /\$\d/.test(target),
    rewriteTarget: rewriteOf(read, target),
    usesServiceAddress: read.isOn("service-upstream"),
    spareService: read.text("default-backend"),
    canary: canaryOf(read),
    ignored: read.ignored,
    refused: read.refused,
  };
}

function schemeOf(read: AnnotationReader): IngressTerms["scheme"] {
  const word = read.text("backend-protocol").toUpperCase();
  const scheme = SCHEMES[word];
  if (scheme === undefined && word !== "")
    read.lose("backend-protocol", `${word} is not carried: use a route with fastcgi`);
  return scheme ?? "";
}

const SCHEMES: Readonly<Record<string, IngressTerms["scheme"]>> = {
  HTTP: "http",
  HTTPS: "https",
  GRPC: "h2c",
  GRPCS: "h2",
  AUTO_HTTP: "http",
};

function rewriteOf(read: AnnotationReader, target: string): string {
  if (target === "") return "";
  if (/^\/[\x21-\x7e]*$/.test(target) && !/[?#{}]/.test(target)) return target;
  read.lose("rewrite-target", "expected a path");
  return "";
}

function appRootOf(read: AnnotationReader): string {
  const path = read.text("app-root");
  if (path === "" || (/^\/[\x21-\x7e]*$/.test(path) && !path.startsWith("//") && !/[{}\\]/.test(path))) return path;
  read.lose("app-root", "expected a path that begins with one slash");
  return "";
}

function redirectOf(read: AnnotationReader): IngressTerms["redirect"] {
  for (const [name, codeName, usual] of [
    ["temporal-redirect", "temporal-redirect-code", 302],
    ["permanent-redirect", "permanent-redirect-code", 301],
  ] as const) {
    const text = read.text(name);
    if (text === "") continue;
    const to = text.replace(/\$(\w+)/g, (whole, variable: string) => {
      const isGroup = /^\d$/.test(variable) && read.isOn("use-regex");
      return isGroup ? `{match.${variable}}` : (URL_VARIABLES.get(variable) ?? whole);
    });
    if (/[$\\\s]/.test(to) || !/^(https?:\/\/[^/]|\/(?!\/))/i.test(to)) {
      read.lose(name, "expected a URL, with no other variable than $host, $uri and $request_uri");
      continue;
    }
    const code = read.number(codeName) ?? usual;
    const isKnown = [301, 302, 303, 307, 308].includes(code);
    if (!isKnown) read.lose(codeName, `${code} is no status of a redirect: ${usual}`);
    return { to, status: isKnown ? code : usual };
  }
  return null;
}

const URL_VARIABLES: ReadonlyMap<string, string> = new Map([
  ["host", "{host}"],
  ["uri", "{path}"],
  ["request_uri", "{uri}"],
]);

/** Bodies, timeouts and further attempts. */
function trafficKeys(read: AnnotationReader): Keys {
  const size = read.text("proxy-body-size");
  const [, digits = "", unit = ""] = /^(\d{1,12})([kmg]?)$/i.exec(size) ?? [];
  if (size !== "" && digits === "") read.lose("proxy-body-size", "expected a size such as 8m");
  const timeouts: Record<string, string> = {};
  const seconds = (name: AnnotationName, ...keys: string[]): void => {
    const text = read.text(name);
    const [, count = ""] = /^(\d{1,6})s?$/.exec(text) ?? [];
    if (count !== "" && Number(count) > 0) for (const key of keys) timeouts[key] = `${Number(count)}s`;
    else if (text !== "") read.lose(name, "expected seconds");
  };
  seconds("proxy-connect-timeout", "connect");
  seconds("proxy-read-timeout", "response_header", "idle");
  return {
    ...(digits === ""
      ? {}
      : { max_body_bytes: Number(digits) === 0 ? "unlimited" : `${digits}${UNITS[unit.toLowerCase()]}` }),
    ...(Object.keys(timeouts).length === 0 ? {} : { timeouts }),
    ...attempts(read),
  };
}

const UNITS: Readonly<Record<string, string>> = { "": "B", k: "KiB", m: "MiB", g: "GiB" };
const MOST_ATTEMPTS = 10;

function attempts(read: AnnotationReader): Keys {
  const words = read
    .text("proxy-next-upstream")
    .split(/\s+/)
    .filter((word) => word !== "");
  const tries = read.number("proxy-next-upstream-tries");
  const statuses = words.flatMap((word) => (/^http_[45]\d\d$/.test(word) ? [Number(word.slice(5))] : []));
  const unknown = words.filter((word) => !/^(http_[45]\d\d|error|timeout|off|invalid_header)$/.test(word));
  if (unknown.length > 0)
    read.lose("proxy-next-upstream", `${unknown.join(", ")}: edge sends no request again that may have been acted on`);
  const more = tries === null ? null : tries === 0 ? MOST_ATTEMPTS : Math.min(tries - 1, MOST_ATTEMPTS);
  const count = words.includes("off") ? 0 : more;
  return {
    ...(count === null ? {} : { retries: { attempts: count } }),
    ...(statuses.length === 0 || words.includes("off") ? {} : { circuit_breaker: { failure_statuses: statuses } }),
  };
}

/** TLS to the backend. ingress-nginx checks no certificate unless proxy-ssl-verify is on. */
function upstreamTls(read: AnnotationReader, scheme: string): Keys {
  const isChecked = read.isOn("proxy-ssl-verify");
  const name = read.text("proxy-ssl-name");
  if (name !== "" && !isHost(name)) read.lose("proxy-ssl-name", "expected a host name");
  if (scheme !== "https" && scheme !== "h2") return {};
  return {
    tls: {
      ...(isChecked ? {} : { insecure_skip_verify: true }),
      ...(name !== "" && isHost(name) ? { server_name: name } : {}),
    },
  };
}

/** What becomes of responses, and of fields of requests. */
function responseKeys(read: AnnotationReader, namespace: string, store: ObjectStore): Keys {
  const prefix = read.text("x-forwarded-prefix");
  const isPrefix = /^\/[\x21-\x7e]*$/.test(prefix) && !/[{}$]/.test(prefix);
  if (prefix !== "" && !isPrefix) read.lose("x-forwarded-prefix", "expected a path");
  const set = customHeaders(read, namespace, store);
  const headers = {
    ...(isPrefix ? { request: { set: { "X-Forwarded-Prefix": prefix } } } : {}),
    ...(set === null ? {} : { response: { set } }),
  };
  const host = read.text("upstream-vhost");
  const isName = host !== "" && isHost(host);
  if (host !== "" && !isName) read.lose("upstream-vhost", "expected a host name");
  const mirror = read.text("mirror-target").replace(/\$request_uri$|\$uri$/, "");
  const isMirror = /^https?:\/\/[a-z0-9.-]+(:\d{1,5})?\/?$/i.test(mirror) && !isOwnMachine(mirror);
  if (mirror !== "" && !isMirror) read.lose("mirror-target", "expected a server, with no variable but $request_uri");
  return {
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(isName ? { host_header: host } : {}),
    ...(isMirror ? { mirror: { target: mirror.replace(/\/$/, "") } } : {}),
    ...(read.isOn("enable-access-log", true) ? {} : { access_log: { enabled: false } }),
    ...locations(read),
    ...cookies(read),
  };
}

function customHeaders(read: AnnotationReader, namespace: string, store: ObjectStore): Keys | null {
  const [from = "", name = ""] = read.text("custom-headers").split("/");
  if (from === "") return null;
  const fields = from === namespace ? store.get<ConfigMap>("ConfigMap", from, name)?.data : undefined;
  const isPlain = Object.entries(fields ?? {}).every(
    ([field, value]) => /^[A-Za-z0-9-]+$/.test(field) && /^[\x20-\x7e]*$/.test(value) && !/[{}$]/.test(value),
  );
  if (fields !== undefined && isPlain) return fields;
  read.lose(
    "custom-headers",
    "expected namespace/name of a ConfigMap in the namespace of the Ingress, with plain values",
  );
  return null;
}

function locations(read: AnnotationReader): Keys {
  const [from, to] = [read.text("proxy-redirect-from"), read.text("proxy-redirect-to")];
  if (from === "" && to === "") return {};
  if (from === "off" || to === "off") return {};
  if (from === "default" || to === "default") return { rewrite_location: { enabled: true } };
  if (
    /^(https?:\/\/|\/)[\x21-\x7e]*$/.test(from) &&
    /^(https?:\/\/|\/)[\x21-\x7e]*$/.test(to) &&
    !/[$~]/.test(from + to)
  )
    return { rewrite_location: { rules: [{ from, to }] } };
  read.lose("proxy-redirect-from", "expected a URL or path here and in proxy-redirect-to, without variables");
  return {};
}

function cookies(read: AnnotationReader): Keys {
  const rewritten: Record<string, Keys> = {};
  for (const [name, key] of [
    ["proxy-cookie-domain", "domain"],
    ["proxy-cookie-path", "path"],
  ] as const) {
    const text = read.text(name);
    if (text === "" || text === "off") continue;
    const [from = "", to = "", rest] = text.split(/\s+/);
    if (to !== "" && rest === undefined && !/[$~;]/.test(text)) rewritten[key] = { [from]: to };
    else read.lose(name, "expected two texts without variables");
  }
  return Object.keys(rewritten).length === 0 ? {} : { rewrite_cookies: rewritten };
}

function balancing(read: AnnotationReader): Keys {
  const by = read.text("upstream-hash-by");
  const word = read.text("load-balance");
  if (read.text("affinity") === "cookie") {
    const name = read.text("session-cookie-name");
    const isName = /^[\w!#$%&'*+.^`|~-]+$/.test(name);
    if (name !== "" && !isName) read.lose("session-cookie-name", "expected the name of a cookie");
    const age = read.number("session-cookie-max-age") ?? read.number("session-cookie-expires");
    const cookie = { name: isName ? name : "INGRESSCOOKIE", ...(age === null ? {} : { ttl: `${age}s` }) };
    return { load_balancing: { policy: "sticky", cookie } };
  }
  if (read.has("affinity")) read.lose("affinity", "expected cookie");
  const policy = hashPolicy(by.replace(/^\$\{(\w+)\}$/, "$$$1"));
  if (policy !== null) return { load_balancing: policy };
  if (by !== "")
    read.lose("upstream-hash-by", "expected one variable: $request_uri, $remote_addr, $http_NAME or $cookie_NAME");
  if (word === "ewma") return { load_balancing: { policy: "p2c" } };
  if (word !== "" && word !== "round_robin") read.lose("load-balance", "expected round_robin or ewma");
  return {};
}

function hashPolicy(variable: string): Keys | null {
  if (/^\$(request_uri|uri)$/.test(variable)) return { policy: "uri_hash" };
  if (/^\$(binary_)?remote_addr$/.test(variable)) return { policy: "ip_hash" };
  const [, kind = "", name = ""] = /^\$(http|cookie)_(\w+)$/.exec(variable) ?? [];
  if (kind === "http") return { policy: "header", header: name.replaceAll("_", "-") };
  return kind === "cookie" ? { policy: "cookie", cookie: name } : null;
}

/** Who may come in, and how often. */
function guards(read: AnnotationReader, namespace: string, store: ObjectStore | null): Keys {
  const allow = [...networks(read, "whitelist-source-range"), ...networks(read, "allowlist-source-range")];
  const deny = networks(read, "denylist-source-range");
  const rules = { ...(allow.length > 0 ? { allow } : {}), ...(deny.length > 0 ? { deny } : {}) };
  const isFirewall = read.isOn("enable-modsecurity") || read.isOn("enable-owasp-core-rules");
  return {
    ...(Object.keys(rules).length === 0 ? {} : { ip_rules: rules }),
    ...authKeys(read, namespace, store),
    ...limits(read),
    ...(isFirewall ? { waf: { mode: "enforce" } } : {}),
  };
}

function networks(read: AnnotationReader, name: AnnotationName): readonly string[] {
  const all = read.list(name);
  if (read.has(name) && all.length === 0) read.lose(name, "names no network");
  const wrong = all.find((one) => typeof parseCidr(one) === "string");
  if (wrong !== undefined) read.lose(name, `${wrong} is no network`);
  return all;
}

function authKeys(read: AnnotationReader, namespace: string, store: ObjectStore | null): Keys {
  const basic = basicOf(read, namespace, store);
  const forward = forwardOf(read);
  if (basic !== null && forward !== null) {
    read.lose("auth-url", "beside auth-type: a route has one method, and both would have to pass");
    return {};
  }
  if (basic !== null) return { auth: { basic } };
  return forward === null ? {} : { auth: { forward } };
}

function basicOf(read: AnnotationReader, namespace: string, store: ObjectStore | null): Keys | null {
  if (!read.has("auth-type")) {
    if (read.has("auth-secret")) read.lose("auth-secret", "needs auth-type: basic");
    return null;
  }
  if (read.text("auth-type") !== "basic") {
    read.lose("auth-type", "expected basic");
    return null;
  }
  const [first = "", second] = read.text("auth-secret").split("/");
  const [from, name] = second === undefined ? [namespace, first] : [first, second];
  const kind = read.text("auth-secret-type") || "auth-file";
  if (name === "" || from !== namespace) read.lose("auth-secret", "expected a Secret of the Ingress's namespace");
  else if (kind !== "auth-file" && kind !== "auth-map") read.lose("auth-secret-type", "expected auth-file or auth-map");
  else {
    const key = kind === "auth-file" ? "auth" : "";
    const users = store === null ? {} : secretPairs(store, namespace, name, key);
    if (typeof users === "string") read.lose("auth-secret", users);
    else if (!Object.values(users).every((hash) => /^\$(2[aby]|argon2(id|i|d))\$/.test(hash)))
      read.lose("auth-secret", "has a hash that is too weak to be used: make bcrypt ones with htpasswd -B");
    const realm = read.text("auth-realm");
    const isRealm = /^[\x20\x21\x23-\x5b\x5d-\x7e]{1,64}$/.test(realm);
    if (realm !== "" && !isRealm) read.lose("auth-realm", "expected at most 64 plain characters, without quotes");
    return { users_secret: { name, ...(key === "" ? {} : { key }) }, ...(isRealm ? { realm } : {}) };
  }
  return null;
}

function forwardOf(read: AnnotationReader): Keys | null {
  const url = read.text("auth-url");
  if (!read.has("auth-url")) return null;
  if (!/^https?:\/\/[^/?#$@]+([/?][^#$]*)?$/i.test(url)) {
    read.lose("auth-url", "expected a URL without variables");
    return null;
  }
  if (isOwnMachine(url)) {
    read.lose("auth-url", "leads to services of the machine itself");
    return null;
  }
  const method = read.text("auth-method").toUpperCase();
  if (!["", "GET", "HEAD", "POST"].includes(method)) read.lose("auth-method", "expected GET, HEAD or POST");
  const fields = read.list("auth-response-headers");
  return { url, ...(method === "" ? {} : { method }), ...(fields.length === 0 ? {} : { response_headers: fields }) };
}

/** Whether a URL names the machine that edge runs on, or services that it alone can reach, by its address or as localhost. */
function isOwnMachine(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, "") : "";
  if (/^(127\.|::1$|::ffff:7f)/.test(host) || /(^|\.)localhost\.?$/.test(host)) return true;
  return ipVersion(host) !== 0 && !isServerAddress(host);
}

const BURST = 5;
/** As ingress-nginx answers. */
const OVER_LIMIT = 503;

function limits(read: AnnotationReader): Keys {
  const times = read.number("limit-burst-multiplier") || BURST;
  const speed = read.number("limit-rate") ?? 0;
  const paced = speed > 0 ? { limit_rate: `${speed}KiB` } : {};
  const all = [
    { requests: read.number("limit-rps") ?? 0, window: "1s" },
    { requests: read.number("limit-rpm") ?? 0, window: "1m" },
  ].filter(({ requests }) => requests > 0);
  if (all.length === 0) return paced;
  return { ...paced, rate_limit: all.map((one) => ({ ...one, burst: one.requests * times, status: OVER_LIMIT })) };
}

function cors(read: AnnotationReader): Keys {
  if (!read.isOn("enable-cors")) return {};
  const origins = read.list("cors-allow-origin");
  const allowed = origins.filter((one) => /^(\*|https?:\/\/(\*\.)?[^\s/?#@*]+)$/i.test(one));
  if (allowed.length < origins.length) read.lose("cors-allow-origin", "has an origin with a star within its name");
  const isAny = allowed.includes("*") || origins.length === 0;
  const methods = read.list("cors-allow-methods");
  const fields = read.list("cors-allow-headers");
  const exposed = read.list("cors-expose-headers");
  const age = read.number("cors-max-age") ?? 1_728_000;
  if (allowed.length === 0 && !isAny) return {};
  return {
    cors: {
      allowed_origins: isAny ? ["*"] : allowed,
      allowed_methods: methods.length > 0 ? methods : CORS_METHODS,
      allowed_headers: fields.length > 0 ? fields : CORS_FIELDS,
      ...(exposed.length > 0 ? { exposed_headers: exposed } : {}),
      // No browser takes cookies for every origin.
      allow_credentials: read.isOn("cors-allow-credentials", true) && !isAny && !fields.includes("*"),
      max_age: `${age}s`,
    },
  };
}

const CORS_METHODS = ["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"];
const CORS_FIELDS = [
  ...["DNT", "Keep-Alive", "User-Agent", "X-Requested-With", "If-Modified-Since", "Cache-Control", "Content-Type"],
  ...["Range", "Authorization"],
];

function canaryOf(read: AnnotationReader): CanaryTerms | null {
  if (!read.isOn("canary")) return null;
  const header = read.text("canary-by-header");
  const cookie = read.text("canary-by-cookie");
  const isHeader = /^[A-Za-z0-9-]+$/.test(header);
  if (header !== "" && !isHeader) read.lose("canary-by-header", "expected the name of a field");
  const isCookie = /^[\w!#$%&'*+.^`|~-]+$/.test(cookie);
  if (cookie !== "" && !isCookie) read.lose("canary-by-cookie", "expected the name of a cookie");
  const value = read.text("canary-by-header-value");
  const pattern = read.text("canary-by-header-pattern");
  const total = Math.max(1, read.number("canary-weight-total") ?? 100);
  return {
    header: isHeader ? header : "",
    headerValue: value === "" && pattern !== "" ? `/${pattern}/` : value,
    cookie: isCookie ? cookie : "",
    percent: Math.min(100, ((read.number("canary-weight") ?? 0) * 100) / total),
  };
}
