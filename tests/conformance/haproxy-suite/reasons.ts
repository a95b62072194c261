import type { FileResult } from "./run.ts";

/** Why files of the suite do not pass, by the beginnings of their names; the first row that fits counts. */
const REASONS: readonly (readonly [files: string, reason: string])[] = [
  [
    "balance/balance-hash balance/balance-uri",
    "habit: `hash` has a ring of its own, so that another target has a path",
  ],
  ["cache/early_hints", "feature: no 103 of the gateway's own; those of an origin go on"],
  [
    "cache",
    "feature: `http-response cache-store` with conditions, and the samples `res.cache_hit` and `res.cache_name`",
  ],
  [
    "checks/http-monitor-uri",
    "habit: a request that no route takes gets 404, where HAProxy has 503 for want of a server",
  ],
  [
    "checks",
    "feature: checks of TCP, mail, databases and agents, variables in checks, and log lines of HAProxy about them",
  ],
  ["compression/basic compression/min_size", "feature: compression of requests; habit: HTTP/1.1 to origins"],
  ["compression", "feature: `compression` without a type means edge's own list of types"],
  [
    "connection/proxy_protocol connection/tcp sample_fetches/tlvs",
    "feature: PROXY headers from senders that are named, TLVs, and PROXY headers to origins",
  ],
  ["connection/reverse", "feature: connections that a server opens to the gateway"],
  ["connection", "feature: samples about connections, and modes of their reuse"],
  ["converter sample_fetches jwt protobuf", "feature: samples and converters of HAProxy in fields and conditions"],
  ["http-capture log ssl/log_forward", "habit: log lines are JSON; feature: logs of others are not forwarded"],
  ["http-cookies/cookie_insert", "habit: cookies of edge's own, which are signed"],
  [
    "http-cookies/h2_cookie",
    "habit of the suite: `cookie` is sent on as one field by edge, too, behind SETTINGS that the client does not expect",
  ],
  ["http-errorfiles", "feature: pages of errors are HTML files by status: docs/pages.md"],
  [
    "http-messaging/h1_host http-messaging/h1_authority http-messaging/h1_request_target http-messaging/http_transfer http-messaging/h2_desync",
    "habit: edge answers 400 to odd authorities and to both lengths at once, where HAProxy mends them",
  ],
  [
    "http-messaging/http_request_buffer http-messaging/http_wait",
    "feature: no route waits for a whole body; habit: a request of HTTP/1.1 has a Host",
  ],
  [
    "http-messaging/websocket http-messaging/protocol_upgrade http-messaging/srv_ws",
    "habit: WebSockets are `Upgrade` in the origin's spelling, and 400 if their fields lack",
  ],
  ["http-messaging", "habit: log lines are JSON; feature: samples of HAProxy"],
  ["http-rules/h1or2", "habit: a `Content-Length` that is a list gets 400"],
  ["http-rules filters", "feature: maps, samples, converters and other rules of HAProxy"],
  ["lua mailers spoe peers stick-table stickiness", "feature: tables of HAProxy, which it shares with peers"],
  [
    "mcli proxy server stats webstats startup/automatic",
    "feature: HAProxy's commands at run time; edge has `edge targets`, `edge routes` and the like",
  ],
  ["startup", "habit: texts of HAProxy's own about its configuration"],
  ["ssl", "feature: samples about TLS, lists of certificates with filters, and commands at run time for certificates"],
  ["stream/unique-id", "habit: `X-Request-Id` is edge's own"],
  ["stream tcp-rules", "feature: samples and rules of HAProxy about connections"],
];

const MAX_NAMED = 8;
/** Of every configuration of the suite. */
const USUAL: ReadonlySet<string> = new Set(["thread-groups", "timeout", "tune.idle-pool.shared"]);

/** Why a file does not pass, in a few words. */
export function reasonOf({ file, noted }: FileResult): string {
  const row = REASONS.find(([files]) => files.split(" ").some((start) => file.startsWith(start)));
  const names = noted.filter((name) => !USUAL.has(name));
  const shown = names.slice(0, MAX_NAMED).map((name) => `\`${name}\``);
  const about =
    shown.length === 0 ? "" : `; convert names ${shown.join(", ")}${names.length > MAX_NAMED ? " and more" : ""}`;
  return `${row?.[1] ?? "not explained yet"}${about}`;
}
