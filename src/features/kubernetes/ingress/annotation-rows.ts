/** How edge deals with an annotation of ingress-nginx. */
interface AnnotationRow {
  readonly meaning: string;
  /** In edge: the keys that carry it, or why none is needed or there. */
  readonly here: string;
  /**
   * `carried`; `standard`: edge does so anyway; `lost`: an event names it, and the routes serve without it; `guard`: it says who may come in,
   * or could, so that without it the routes answer 503.
   */
  readonly fate: "carried" | "standard" | "lost";
  /** Whether routes are left out, if it is not carried. */
  readonly isGuard?: true;
  /** A value that the test tries, and others that it needs beside it. */
  readonly sample: string;
  readonly with?: Readonly<Record<string, string>>;
}

type Row = Omit<AnnotationRow, "fate">;
const carried = (here: string, meaning: string, sample: string, more: Partial<Row> = {}): AnnotationRow => ({
  ...{ fate: "carried", here, meaning, sample },
  ...more,
});
const standard = (meaning: string, here: string, sample = "on"): AnnotationRow => ({
  ...{ fate: "standard", here, meaning, sample },
});
const lost = (meaning: string, here: string, sample = "on", more: Partial<Row> = {}): AnnotationRow => ({
  ...{ fate: "lost", here, meaning, sample },
  ...more,
});
const guard = { isGuard: true } as const;
const SNIPPET = "raw text of nginx, which may hold access rules";
const snippet = (meaning: string): AnnotationRow => lost(meaning, SNIPPET, "deny all;", guard);
const BUFFERS = "edge streams within memory bounds of its own";
const TRACING = "server.telemetry says which requests are traced";
const OWN_COOKIE = "the cookie of edge has none of it: it is signed, HttpOnly, and Secure over TLS";
const CLIENT_CERTIFICATES = "client certificates belong to a listener: frontend validation of a Gateway";

/** THE annotations of ingress-nginx, without their prefix. docs/kubernetes-annotations.md */
export const ANNOTATION_ROWS = {
  "rewrite-target": carried("rewrite", "the path that the backend gets; $1 from the path's expression", "/$1", {
    with: { "use-regex": "true" },
  }),
  "use-regex": carried("regex", "paths are regular expressions, without regard to case", "true"),
  "app-root": carried("a route to /, type redirect", "redirects / to this path", "/home"),
  "ssl-redirect": carried("a route of cleartext, type redirect", "HTTP goes to HTTPS if the host has TLS", "false", {
    with: { tls: "" },
  }),
  "force-ssl-redirect": carried("a route of cleartext, type redirect", "HTTP goes to HTTPS in any case", "true"),
  "preserve-trailing-slash": standard("keeps the slash in redirects", "redirects keep path and query", "true"),
  "ssl-passthrough": lost("TLS goes to the backend unopened", "use a TLSRoute", "true", guard),
  "backend-protocol": carried("the scheme of targets", "HTTP, HTTPS, GRPC, GRPCS or AUTO_HTTP", "GRPC"),
  "proxy-body-size": carried("max_body_bytes", "largest request body; 0: any", "8m"),
  "client-body-buffer-size": standard("memory for a body", BUFFERS, "16k"),
  "proxy-connect-timeout": carried("timeouts.connect", "seconds", "7"),
  "proxy-read-timeout": carried("timeouts.response_header, timeouts.idle", "seconds", "7"),
  "proxy-send-timeout": lost("seconds between two writes", "server.write_timeout holds for all", "7"),
  "proxy-next-upstream": carried(
    "retries, circuit_breaker.failure_statuses",
    "when another endpoint is tried",
    "error http_502",
  ),
  "proxy-next-upstream-timeout": lost("how long that goes on", "timeouts.total is the nearest", "5"),
  "proxy-next-upstream-tries": carried("retries.attempts", "how many tries; 0: any number", "4"),
  "proxy-request-buffering": standard("buffers requests", BUFFERS, "off"),
  "proxy-buffering": standard("buffers responses", BUFFERS),
  "proxy-buffer-size": standard("size of a buffer", BUFFERS, "8k"),
  "proxy-buffers-number": standard("number of buffers", BUFFERS, "8"),
  "proxy-busy-buffers-size": standard("size of busy buffers", BUFFERS, "8k"),
  "proxy-max-temp-file-size": standard("size of a file for a response", BUFFERS, "8m"),
  "proxy-http-version": standard("1.1 to the backend", "edge speaks HTTP/1.1, or HTTP/2 by its scheme", "1.1"),
  "proxy-redirect-from": carried(
    "rewrite_location",
    "the beginning of Location of the backend, off or default",
    "http://app/",
    {
      with: { "proxy-redirect-to": "/app/" },
    },
  ),
  "proxy-redirect-to": carried("rewrite_location", "its replacement", "/app/", {
    with: { "proxy-redirect-from": "http://app/" },
  }),
  "proxy-cookie-domain": carried("rewrite_cookies.domain", "old and new domain of cookies", "a.internal b.example"),
  "proxy-cookie-path": carried("rewrite_cookies.path", "old and new path of cookies", "/one/ /two/"),
  "proxy-ssl-secret": lost("CA and client certificate for the backend", "use a BackendTLSPolicy", "default/ca"),
  "proxy-ssl-name": carried("tls.server_name", "the name in the backend's certificate", "app.internal", {
    with: { "backend-protocol": "HTTPS" },
  }),
  "proxy-ssl-server-name": standard("sends the name to the backend", "edge always does"),
  "proxy-ssl-verify": carried("tls.insecure_skip_verify", "on checks the backend's certificate", "on", {
    with: { "backend-protocol": "HTTPS" },
  }),
  "proxy-ssl-verify-depth": lost("length of the chain", "the whole chain counts", "2"),
  "proxy-ssl-protocols": lost("versions of TLS to the backend", "edge offers 1.2 and 1.3", "TLSv1.3"),
  "proxy-ssl-ciphers": lost("suites to the backend", "edge offers its own", "HIGH"),
  "upstream-vhost": carried("host_header", "the Host that the backend gets", "app.internal"),
  "x-forwarded-prefix": carried("headers.request.set", "X-Forwarded-Prefix", "/app"),
  "connection-proxy-header": standard("Connection to the backend", "edge writes its own", "keep-alive"),
  "service-upstream": carried("targets", "the Service's address instead of its endpoints", "true"),
  "load-balance": carried("load_balancing.policy", "round_robin or ewma", "ewma"),
  "upstream-hash-by": carried("load_balancing", "a variable that chooses the endpoint", "$request_uri"),
  "upstream-hash-by-subset": lost("chooses among a subset", "all endpoints take part", "true"),
  "upstream-hash-by-subset-size": lost("its size", "all endpoints take part", "3"),
  affinity: carried("load_balancing.policy", "cookie: a client keeps its endpoint", "cookie"),
  "affinity-mode": standard("balanced or persistent", "a client keeps its endpoint while that is ready", "persistent"),
  "affinity-canary-behavior": lost("whether clients stay with the canary", "each request is judged anew", "sticky"),
  "session-cookie-name": carried("load_balancing.cookie.name", "its name", "SHOP", { with: { affinity: "cookie" } }),
  "session-cookie-max-age": carried("load_balancing.cookie.ttl", "seconds", "60", { with: { affinity: "cookie" } }),
  "session-cookie-expires": carried("load_balancing.cookie.ttl", "seconds", "60", { with: { affinity: "cookie" } }),
  "session-cookie-path": lost("its path", OWN_COOKIE, "/app"),
  "session-cookie-domain": lost("its domain", OWN_COOKIE, "a.example"),
  "session-cookie-samesite": lost("its SameSite", OWN_COOKIE, "Lax"),
  "session-cookie-secure": lost("its Secure", OWN_COOKIE, "true"),
  "session-cookie-change-on-failure": standard("a new endpoint after a failure", "edge always chooses one", "true"),
  "session-cookie-conditional-samesite-none": lost("no SameSite=None for old browsers", OWN_COOKIE, "true"),
  canary: carried("further routes of the same path", "another Ingress takes a share of it", "true"),
  "canary-weight": carried("match.share", "its share", "20", { with: { canary: "true" } }),
  "canary-weight-total": carried("match.share", "of how many; 100", "200", {
    with: { canary: "true", "canary-weight": "20" },
  }),
  "canary-by-header": carried("match.header", "always or never in this field", "X-Canary", {
    with: { canary: "true" },
  }),
  "canary-by-header-value": carried("match.header", "or this value", "blue", {
    with: { canary: "true", "canary-by-header": "X-Canary" },
  }),
  "canary-by-header-pattern": carried("match.header", "or a value that fits", "^b", {
    with: { canary: "true", "canary-by-header": "X-Canary" },
  }),
  "canary-by-cookie": carried("match.cookie", "always or never in this cookie", "canary", { with: { canary: "true" } }),
  "auth-type": carried("auth.basic", "basic: name and password", "basic", {
    ...guard,
    with: { "auth-secret": "users" },
  }),
  "auth-secret": carried("auth.basic.users", "the Secret with the users", "users", {
    ...guard,
    with: { "auth-type": "basic" },
  }),
  "auth-secret-type": carried(
    "auth.basic.users",
    "auth-file: lines of name:hash; auth-map: a key for each",
    "auth-map",
    {
      ...guard,
      with: { "auth-type": "basic", "auth-secret": "map" },
    },
  ),
  "auth-realm": carried("auth.basic.realm", "what browsers show", "Shop", {
    with: { "auth-type": "basic", "auth-secret": "users" },
  }),
  "auth-url": carried("auth.forward.url", "another server decides", "http://auth.default.svc/verify", guard),
  "auth-method": carried("auth.forward.method", "the method of the question", "HEAD", {
    ...guard,
    with: { "auth-url": "http://auth.default.svc/" },
  }),
  "auth-response-headers": carried(
    "auth.forward.response_headers",
    "fields of its response for the backend",
    "X-User",
    {
      with: { "auth-url": "http://auth.default.svc/" },
    },
  ),
  "auth-signin": lost("the page to sign in", "clients get the response of the service", "https://id.example"),
  "auth-signin-redirect-param": lost("its parameter", "clients get the response of the service", "rd"),
  "auth-request-redirect": lost("X-Auth-Request-Redirect", "the service gets the fields of the request", "/"),
  "auth-proxy-set-headers": lost(
    "fields for the service, in a ConfigMap",
    "the service gets those of the request",
    "a/b",
  ),
  "auth-cache-key": lost("what its responses are kept by", "each request is judged", "$http_cookie"),
  "auth-cache-duration": lost("how long they are kept", "each request is judged", "200 5m"),
  "auth-always-set-cookie": lost(
    "cookies of the service",
    "auth.forward.response_headers goes to the backend alone",
    "true",
  ),
  "auth-keepalive": standard("connections that are kept", "edge keeps them", "8"),
  "auth-keepalive-requests": standard("requests of each", "edge keeps them", "8"),
  "auth-keepalive-timeout": standard("for how long", "edge keeps them", "8"),
  "auth-keepalive-share-vars": standard("variables of both requests", "there are none", "true"),
  "auth-snippet": snippet("raw text for the service's request"),
  "enable-global-auth": lost("the sign-in of all Ingresses", "server.auth holds for all routes", "false"),
  "auth-tls-secret": lost("the CA of client certificates", CLIENT_CERTIFICATES, "default/ca", guard),
  "auth-tls-verify-client": lost("whether they must be there", CLIENT_CERTIFICATES, "on", guard),
  "auth-tls-verify-depth": lost("length of their chain", CLIENT_CERTIFICATES, "2"),
  "auth-tls-error-page": lost("the page of a refusal", CLIENT_CERTIFICATES, "https://a.example"),
  "auth-tls-pass-certificate-to-upstream": lost("sends them to the backend", CLIENT_CERTIFICATES, "true"),
  "auth-tls-match-cn": lost("names that they must have", CLIENT_CERTIFICATES, "CN=a", guard),
  satisfy: lost("any: one of the checks is enough", "all checks must pass", "any", guard),
  "whitelist-source-range": carried("ip_rules.allow", "networks that may come in", "10.0.0.0/8", guard),
  "allowlist-source-range": carried("ip_rules.allow", "the same", "10.0.0.0/8", guard),
  "denylist-source-range": carried("ip_rules.deny", "networks that may not", "192.0.2.0/24", guard),
  "limit-rps": carried("rate_limit", "requests a second of an address", "10"),
  "limit-rpm": carried("rate_limit", "requests a minute of an address", "10"),
  "limit-burst-multiplier": carried("rate_limit.burst", "so many times as many at once; 5", "2", {
    with: { "limit-rps": "10" },
  }),
  "limit-connections": lost("connections of an address", "server.max_connections_per_ip holds for all", "5"),
  "limit-whitelist": lost("networks without limits", "limits hold for all", "10.0.0.0/8"),
  "limit-allowlist": lost("the same", "limits hold for all", "10.0.0.0/8"),
  "limit-rate": carried("limit_rate", "KiB a second of a response", "100"),
  "limit-rate-after": lost("from which KiB on", "limit_rate holds from the first byte on", "100"),
  "enable-cors": carried("cors", "scripts of other sites may call", "true"),
  "cors-allow-origin": carried("cors.allowed_origins", "which; *", "https://a.example", {
    with: { "enable-cors": "true" },
  }),
  "cors-allow-methods": carried("cors.allowed_methods", "with which methods", "GET, POST", {
    with: { "enable-cors": "true" },
  }),
  "cors-allow-headers": carried("cors.allowed_headers", "with which fields", "X-One", {
    with: { "enable-cors": "true" },
  }),
  "cors-allow-credentials": carried("cors.allow_credentials", "with cookies; true", "false", {
    with: { "enable-cors": "true", "cors-allow-origin": "https://a.example" },
  }),
  "cors-expose-headers": carried("cors.exposed_headers", "fields that they may read", "X-Two", {
    with: { "enable-cors": "true" },
  }),
  "cors-max-age": carried("cors.max_age", "seconds", "60", { with: { "enable-cors": "true" } }),
  "permanent-redirect": carried("type redirect", "clients are sent there", "https://new.example"),
  "permanent-redirect-code": carried("status", "its status; 301", "308", {
    with: { "permanent-redirect": "https://new.example" },
  }),
  "temporal-redirect": carried("type redirect", "clients are sent there for now", "https://new.example"),
  "temporal-redirect-code": carried("status", "its status; 302", "307", {
    with: { "temporal-redirect": "https://new.example" },
  }),
  "from-to-www-redirect": carried(
    "a route of the other host, type redirect",
    "www and the bare name lead to each other",
    "true",
  ),
  "relative-redirects": lost("redirects without a host", "Location has the host", "true"),
  "use-port-in-redirects": lost("redirects with a port", "Location has none", "true"),
  "server-alias": carried("hosts", "further hosts", "b.example"),
  "default-backend": carried("targets", "the Service that serves while this one has no endpoints", "spare"),
  "custom-http-errors": lost(
    "statuses that default-backend answers",
    "error pages are files: errors of a route",
    "404",
  ),
  "disable-proxy-intercept-errors": standard("errors of the backend go through", "they do", "true"),
  "custom-headers": carried(
    "headers.response.set",
    "response fields, in a ConfigMap of the namespace",
    "default/fields",
  ),
  "mirror-target": carried("mirror.target", "a copy of each request goes there", "http://copy.default.svc$request_uri"),
  "mirror-request-body": lost("off: without the body", "copies have the body", "off"),
  "mirror-host": lost("the Host of copies", "copies have the client's", "copy.example"),
  "enable-modsecurity": carried("waf.mode", "the firewall", "true", guard),
  "enable-owasp-core-rules": carried("waf.mode", "its rules: edge has its own", "true", guard),
  "modsecurity-snippet": snippet("rules of the firewall"),
  "modsecurity-transaction-id": lost("the id in its log", "edge has an id for each request", "$request_id"),
  "enable-access-log": carried("access_log", "false: no access line", "false"),
  "enable-rewrite-log": standard("lines about rewrites", "edge explain shows them", "true"),
  "enable-opentelemetry": lost("traces", TRACING, "true"),
  "opentelemetry-operation-name": lost("names of spans", TRACING, "a"),
  "opentelemetry-trust-incoming-span": lost("traces that clients began", TRACING, "true"),
  "ssl-ciphers": lost("suites to clients", "server.tls says which", "HIGH"),
  "ssl-prefer-server-ciphers": standard("the server's order counts", "it does", "true"),
  "http2-push-preload": lost("pushes", "browsers take none any more", "true"),
  "fastcgi-index": lost("the script of a folder", "use a route with fastcgi", "index.php"),
  "fastcgi-params-configmap": lost("parameters of scripts", "use a route with fastcgi", "a"),
  "server-snippet": snippet("raw text for the server"),
  "configuration-snippet": snippet("raw text for the path"),
  "stream-snippet": snippet("raw text for streams"),
} as const satisfies Readonly<Record<string, AnnotationRow>>;

/** The name of an annotation, without its prefix. */
export type AnnotationName = keyof typeof ANNOTATION_ROWS;

/** The row of a name; null for an unknown one. */
export function annotationRow(name: string): AnnotationRow | null {
  return Object.hasOwn(ANNOTATION_ROWS, name) ? ANNOTATION_ROWS[name as AnnotationName] : null;
}

export const ANNOTATION_PREFIX = "nginx.ingress.kubernetes.io/";
