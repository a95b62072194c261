import { type Advice, type AdviceRow, adviceIn } from "../advice.ts";
import type { Statement } from "../statement.ts";
import { verdictOf } from "./nginx-directives.ts";

/** What to do in the place of directives that have no counterpart of the same kind, by name or by the beginning of the name. */
const ADVICE: readonly AdviceRow[] = [
  [
    /^(user|pid|lock_file|env)$/,
    "how the process is started is not in its configuration",
    "see the unit in scripts/systemd, or the user that starts edge serve",
  ],
  [
    /^error_log$/,
    "events go to standard output as JSON lines",
    "read them with edge logs, and set server.access_log.outputs for files",
  ],
  [
    /^log_format$/,
    "formats are json, common, combined or a template",
    "set server.access_log.format: docs/operations.md",
  ],
  [/^load_module$/, "there are no modules to load", "look for the feature in edge help config"],
  [
    /^(types|default_type)$/,
    "files have the media type that the gateway knows for their extension, else application/octet-stream",
    "see Content-Type: docs/files.md",
  ],
  [
    /^charset/,
    "files of text have charset=utf-8; the responses of origins stay as they are",
    "let the origin say its charset",
  ],
  [
    /^proxy_method$|^proxy_set_body$|_pass_request_(headers|body)$|^disable_symlinks$/,
    "this is not done: its routes are closed",
    "do it in the application",
  ],
  [/^stream$/, "streams are not converted", "write routes of the type tcp, udp or tls_passthrough: docs/streams.md"],
  [
    /^mail$/,
    "there is no proxy for mail",
    "keep this part with nginx, or forward it as it is by a route of the type tcp",
  ],
  [
    /^(fastcgi|uwsgi|scgi)_cache/,
    "responses are stored as they say themselves",
    "set server.cache, and cache at the route: docs/cache.md",
  ],
  [/^fastcgi_/, "it has no counterpart for scripts", "see the table at the end of docs/php.md"],
  [/^(scgi|uwsgi)_/, "it has no counterpart for applications", "see docs/uwsgi.md"],
  [
    /^memcached_/,
    "there is no such protocol to origins",
    "put the application behind an HTTP server of its own, and name it as target",
  ],
  [
    /_by_lua|^lua_|^js_|^perl/,
    "there is no Lua, njs or Perl",
    "write a function or a hook in TypeScript: docs/functions.md",
  ],
  [
    /^(map|geo|split_clients|map_hash.*|geoip.*)$/,
    "there are no variables of the configuration's own",
    "write the cases as routes with match, by header, cookie, query, client_ip, country or share",
  ],
  [/^set$/, "there are no variables of the configuration's own", "write the value where it is used"],
  [/^if$/, "conditions are routes with match", "write a route with match for the case"],
  [/^(location|internal)$/, "no client can ask for it, and nothing that is carried over uses it", "nothing"],
  [/^(upstream|server)$/, "no route that is carried over uses it", "nothing"],
  [/^rewrite$/, "this rewrite has no counterpart", "use rewrite at the route, or a redirect with regex"],
  [
    /^sub_filter/,
    "no route that is carried over uses it, or it has variables",
    "write rewrite_body at the route: docs/body-rewriting.md",
  ],
  [/^addition_|^xslt|^ssi|^image_filter/, "bodies of responses are not changed", "change them in the application"],
  [/^autoindex/, "folders are not listed", "serve a page made by the application"],
  [/^index$/, "the page of a folder is index.html", "rename it"],
  [/^stub_status$|^status|^api$/, "the gateway has its own metrics", "read /metrics, or edge status"],
  [/^resolver$/, "names of origins are resolved by the system's name servers", "set proxy.transport.nameservers"],
  [
    /^ssl_ciphers$|^ssl_conf_command$/,
    "the ciphers are those of the runtime's TLS library",
    "remove it, or set server.tls.min_version",
  ],
  [
    /^ssl_(crl|trusted_certificate|ocsp.*|verify_depth|password_file|engine|reject_handshake)$/,
    "there is no such setting of TLS",
    "see docs/tls.md",
  ],
  [
    /^proxy_cache_|^proxy_no_cache$/,
    "the cache goes by Cache-Control of the origin",
    "see cache at the route: docs/cache.md",
  ],
  [
    /^proxy_next_upstream/,
    "only requests that no origin has acted on are repeated",
    "see retries and circuit_breaker.failure_statuses",
  ],
  [
    /^proxy_(bind|method|pass_request_.*|set_body|cookie_.*|redirect|limit_rate|force_ranges|ignore_client_abort|store.*|ssl_.*)$/,
    "this is not changed on the way",
    "change it in the application, or by headers at the route",
  ],
  [/^proxy_ignore_headers$/, "the origin's fields about caching count", "change it there"],
  [/^(proxy|grpc)_send_timeout$/, "there is no time-out of its own for sending", "see timeouts at the route"],
  [
    /^limit_(rate|conn|req|except)/,
    "this limit has no counterpart here",
    "see rate_limit and server.max_connections_per_ip: docs/guards.md",
  ],
  [
    /^(dav_|mp4|flv|hls|f4f|slice|secure_link|random_index|empty_gif|auth_delay|userid|referer|valid_referers)/,
    "this module has no counterpart",
    "leave it to the application",
  ],
  [/^auth_jwt/, "tokens are checked by auth.jwt", "set auth.jwt at the route: docs/authentication.md"],
  [/^mirror/, "copies are made by mirror at a route", "set mirror at the route"],
  [/^modsecurity/, "rules of ModSecurity are read by the firewall", "name the files in server.waf.rules: docs/waf.md"],
  [/^health_check$/, "health checks are a section of the route", "set health_check at the route"],
  [/^(brotli|zstd|gzip)/, "this detail of compression has no counterpart", "see server.compression"],
  [
    /^expires$|^add_header$/,
    "it is not set for files by their extension",
    "set headers or cache_control at a route with a folder of its own",
  ],
];

const NOT_COMPARED: Advice = {
  why: "not compared: the gateway has no such setting",
  cure: "look for its purpose in edge help config",
};

/** What is said of a directive that no other part of the converter has taken. */
export function nginxAdvice(statement: Statement): Advice {
  const { row, isClosing } = verdictOf(statement);
  if (row?.why !== undefined) return { why: row.why, cure: row.cure ?? "nothing" };
  return adviceIn(ADVICE, statement, isClosing ? undefined : NOT_COMPARED);
}
