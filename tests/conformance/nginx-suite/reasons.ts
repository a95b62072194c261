import type { FileResult } from "./run.ts";

/** Why files of the suite do not pass as a whole, by the beginnings of their names; the first row that fits counts. */
const REASONS: readonly (readonly [files: string, reason: string])[] = [
  [
    "error_log syslog access_log config_dump stream_access_log stream_error_log",
    "habit: texts of nginx's own log lines and dumps",
  ],
  ["server_tokens h2_server_tokens h3_server_tokens", "habit: `Server: edge`, and pages of errors of its own"],
  [
    "http_absolute_redirect h2_absolute_redirect h3_absolute_redirect",
    "habit: redirects of edge's own are relative (RFC 9110 §10.2.2)",
  ],
  [
    "http_host h2_host h3_host http_uri http_request_port",
    "habit: a target and a Host that disagree, and odd forms of names, are 400",
  ],
  ["auth_basic auth_delay", "habit: passwords by crypt, MD5 or in clear text are refused as too weak"],
  ["autoindex", "habit: the page of a folder is edge's own"],
  [
    "range proxy_cache_range proxy_cache_max_range proxy_force_ranges image",
    "feature: of several ranges the whole file is sent; no ranges of recoded bodies",
  ],
  ["proxy_cache_vary proxy_xar proxy_if rewrite_if", "feature: no route asks for `$args` as a whole, or for a file"],
  [
    "proxy_cache fastcgi_cache h2_proxy_cache proxy_h2_cache not_modified_proxy",
    "feature: the cache stores 200, 301 and 404 with a length, by Cache-Control; habit: a body without a length may be cut short",
  ],
  ["h3_request_body h2_request_body body", "feature: no variables of the body, and no files of it"],
  [
    "h2_proxy_request_buffering h2_fastcgi_request_buffering proxy_h2_request_buffering proxy_request_buffering fastcgi_request_buffering grpc_request_buffering",
    "feature: no variables of the body, and no files of it; FastCGI gets bodies with their length",
  ],
  [
    "grpc proxy_h2",
    "habit of the suite: an origin that takes one request for each connection, of which edge shares one; feature: variables of the origin",
  ],
  ["h2 h3 quic", "habit: sizes and order of frames, GOAWAY by a number of requests, names of more than 64 KiB"],
  [
    "http_resolver upstream_resolve upstream_service upstream_zone upstream_resolver",
    "feature: targets of variables, `resolve` and `service`",
  ],
  ["upstream_sticky", "habit: cookies of edge's own, which are signed; feature: `route` and `learn`"],
  ["upstream_keepalive", "habit: number and life of kept connections are edge's own"],
  ["upstream", "habit: which target comes first is left to chance; feature: limits of one target"],
  ["stream", "feature: streams have targets, networks and names of TLS, but no variables, responses and limits"],
  [
    "proxy_protocol ssl_proxy_protocol realip http_listen",
    "feature: PROXY headers for all paths of an address, from senders that are named",
  ],
  ["ssl", "feature: variables of TLS, optional certificates of clients, curves, sessions and CRLs of one server"],
  ["proxy_ssl", "feature: certificates and names of TLS to origins have no variables"],
  [
    "referer geo map split userid http_variables http_headers_multi",
    "feature: `geo` behind proxies, trailers that the gateway adds; habit: an empty `Referer` is none",
  ],
  [
    "http_error_page rewrite http_try_files index http_location",
    "feature: pages of errors are files; the page of a folder is index.html",
  ],
  ["auth_request", "feature: the service that decides is an HTTP origin"],
  ["limit_", "feature: one limit at a route, without a dry run; a burst is served at once"],
  ["http_keepalive", "feature: no number of requests for a connection, no list of browsers"],
  ["gunzip gzip_flush charset", "feature: compressed or encoded bodies of origins go on as they are"],
  [
    "proxy_redirect proxy_cookie proxy_upstream_cookie",
    "feature: expressions and variables in rules for Location and cookies",
  ],
  ["headers trailers http_expect", "feature: fields by the status of a response, trailers that the gateway adds"],
];

/** Of every configuration of the suite, and without a word about what fails. */
const USUAL: ReadonlySet<string> = new Set([
  "pid",
  "error_log",
  "listen",
  "location",
  "server",
  "access_log",
  "log_format",
]);
const MAX_NAMED = 8;

/** Why the assertions of a file do not all pass, in a few words. */
export function reasonOf({ file, noted, isLate }: FileResult): string {
  const row = REASONS.find(([files]) => files.split(" ").some((start) => file.startsWith(start)));
  const names = noted.filter((name) => !USUAL.has(name));
  const said = names.slice(0, MAX_NAMED).map((name) => `\`${name}\``);
  const about =
    said.length === 0 ? "" : `convert names ${said.join(", ")}${names.length > MAX_NAMED ? " and more" : ""}`;
  const reasons = [row?.[1] ?? (about === "" ? "habit: what nginx does beside the RFCs" : "feature"), about];
  return `${isLate ? "ended by the limit of four minutes; " : ""}${reasons.filter((one) => one !== "").join("; ")}`;
}
