import { type Advice, type AdviceRow, adviceIn } from "../advice.ts";
import type { Statement } from "../statement.ts";

/**
 * Whether a directive needs no setting: the gateway does it anyway, or has no such part. Each is held to HAProxy itself by
 * tests/conformance/converted-standard.test.ts; what has no line there is noted.
 */
export function isStandard({ name, args, parent }: Statement): boolean {
  const [first = ""] = args;
  if (name === "option") return args.length === 1 && STANDARD_OPTIONS.has(first);
  if (name === "mode") return first === "http" || first === "tcp";
  if (name === "timeout") return STANDARD_TIMEOUTS.has(first);
  if (parent?.name === "global") return STANDARD_GLOBALS.has(name);
  return name === "global" || name === "defaults" || STANDARD_NAMES.has(name);
}

const STANDARD_OPTIONS: ReadonlySet<string> = new Set([
  "forwardfor",
  "http-server-close",
  "http-keep-alive",
  "httplog",
  "dontlognull",
  "dontlog-normal",
  "log-health-checks",
  "log-separate-errors",
  "redispatch",
  "tcpka",
  "clitcpka",
  "srvtcpka",
  "prefer-last-server",
  "contstats",
  "socket-stats",
]);
const STANDARD_TIMEOUTS: ReadonlySet<string> = new Set([
  "queue",
  "tunnel",
  "client-fin",
  "server-fin",
  "check",
  "tarpit",
]);
const STANDARD_GLOBALS: ReadonlySet<string> = new Set([
  "log",
  "log-tag",
  "spread-checks",
  "hard-stop-after",
  "description",
]);
const STANDARD_NAMES: ReadonlySet<string> = new Set(["log", "log-tag", "id", "backlog", "fullconn", "description"]);

/** Why a directive is not carried over, and what to do instead. */
const ADVICE: readonly AdviceRow[] = [
  [
    /^(option|timeout|maxconn|tune\..*|ssl-.*|chroot|user|group|daemon|pidfile|cpu-map|ulimit-n|http-reuse|hash-type|unique-id-.*|capture|no)$/,
    "no test has compared its value with the gateway's",
    "see docs/migrate-haproxy.md, and edge help config",
  ],
  [/^stats$/, "the gateway has a dashboard of its own", "open /internal/, or see edge status"],
  [
    /^(stick-table|stick|tcp-request|tcp-response|tcp-check)$/,
    "there are no stick tables and no rules for connections",
    "see rate_limit, server.max_connections_per_ip and load_balancing",
  ],
  [
    /^(errorfile|errorloc|errorfiles|errorloc30[23]|http-error)$/,
    "pages of errors are HTML files that are named by their status",
    "set errors at the route or the server: docs/pages.md",
  ],
  [
    /^(log-format|log-format-sd|error-log-format)$/,
    "formats are json, common, combined or a template",
    "set server.access_log.format: docs/operations.md",
  ],
  [/^(userlist|user|group)$/, "passwords are hashed by bcrypt or argon2id", "make a users_file with edge passwd"],
  [
    /^(resolvers|nameserver|hold|resolve_retries|accepted_payload_size|parse-resolv-conf)$/,
    "names of origins are resolved by the system's name servers",
    "set proxy.transport.nameservers",
  ],
  [
    /^(peers|peer|mailers|mailer|program|ring|cache|fcgi-app|http-errors|log-forward|crt-store|lua-.*)$/,
    "this section has no counterpart",
    "see docs/README.md",
  ],
  [
    /^\.(if|elif|else|endif)$/,
    "conditions of the start are not asked: the lines of all branches are read",
    "remove the lines of the other branches",
  ],
  [/^acl$/, "no directive that is carried over uses it", "nothing, or a route with match"],
  [/^backend$/, "no frontend that is carried over uses it", "nothing, or write a route for it"],
  [/^(server|default-server|balance|cookie)$/, "its backend is used by no route", "nothing, or write a route for it"],
  [
    /^(req|rsp|block|reqrep|reqadd|rspadd)/,
    "HAProxy itself has dropped this directive",
    "write it as http-request first",
  ],
];

/** What is said of a directive that no other part of the converter has taken. */
export function haproxyAdvice(statement: Statement): Advice {
  return adviceIn(ADVICE, statement);
}
