import { jsonObject, jsonText } from "./log-batch.ts";
import { type LogLevel, LogThreshold } from "./log-level.ts";

/** For how long failures to connect to one origin, for one reason, stay at one line of a worker's log. */
export const CONNECT_FAILURE_LOG_MS = 10_000;
/** Origins and reasons of which a worker remembers that. */
export const MAX_LOGGED_ORIGINS = 256;

/** One kind of event of the log. */
export interface EventRow {
  /** What it tells, for `edge help log`. */
  readonly meaning: string;
  /** `info` without it; what has come to nothing (`ok: false`) is an error. docs/operations.md#log-level */
  readonly level?: LogLevel | "always";
  /** Lines a second of one thread; the next one says how many were left out. Without it every event is a line. */
  readonly perSecond?: number;
  /** One line in so many milliseconds for each thing that it is about, likewise. */
  readonly everyMs?: number;
}

/**
 * All events but `access`, whose fields are in ACCESS_FIELDS, and `stream` (docs/streams.md#log): a new one is a row here, and the call of EventLog that writes it.
 * A flood is seen in the counters and must not drown the log: what a client can cause without being heard has a bound.
 */
export const EVENTS = {
  listening: { level: "always", meaning: "The ports are open; `http3_port` is UDP." },
  draining: { level: "always", meaning: "SIGTERM or SIGINT: after `delay_ms` no new connection is accepted." },
  drain_cut: {
    level: "warn",
    meaning: "Connections still active after `shutdown_timeout` were closed; the exit code is 3.",
  },
  config_reload: {
    meaning:
      "SIGHUP, once every worker serves the new configuration. With `ok: false`, `faults` says why nothing changed. `removed` names listeners and protections that are gone, `needs_restart` what takes effect only after a restart.",
  },
  audit: {
    level: "always",
    meaning:
      "An operator did something: `action` is reload, drain, undrain, maintenance, log_level, purge, upgrade, log_reopen or stop; `by` a user of `internal_api.auth`, token, `uid 0` at the UNIX socket, signal, or null; `from` an address, unix, or the name of the signal (docs/operations.md#audit). Written at every level.",
  },
  cache_disk_open: {
    meaning:
      "The folder of `cache.disk` is in use, at the start or again: `path`, `entries` and `bytes` that are there.",
  },
  cache_disk_failed: {
    level: "warn",
    meaning:
      "The folder of `cache.disk` cannot be used, or is full: `path`, and `reason`, such as ENOSPC. The cache goes on in memory. One line until it can be used again.",
  },
  function_log: {
    level: "always",
    perSecond: 100,
    meaning:
      "A function has written it by `ctx.log` or `console`: `module`, `level`, `message`, `route` and `request_id`. Lines below `log.level` are left out.",
  },
  function_failed: {
    level: "error",
    perSecond: 20,
    meaning:
      "A function, or a hook, has thrown, gave no response that can be sent, or none in time: `module`, `what`, `error`, `at` (file, line and column), `stack`, `route` and `request_id`; `request_ids` of those under way where it may belong to any of them.",
  },
  function_load_failed: {
    level: "error",
    meaning:
      "A module cannot be loaded, or lacks what is asked for: `module`, `error`, `at`, `stack`. An earlier version of it goes on; without one its requests get 500.",
  },
  function_thread_ended: {
    level: "warn",
    perSecond: 10,
    meaning:
      "The thread of a module has ended, and is started again where `restarted` says so: `module`, and `reason`, which is stuck (it did not come back within the time-out), memory, exit (`process.exit`, or a failure of the runtime) or broken (what it said cannot be read).",
  },
  function_scheduled: {
    meaning:
      "A run of `functions.cron` was due at `due`: `module`, `schedule`, `result`, which is ok, error, timeout, died (its thread has ended), overlap (the run before is still under way) or store_away (the store of the fleet cannot be asked), `duration_ms`, `error`, `stack`. What another gateway of the fleet runs has no line.",
  },
  upgrade: { meaning: "SIGUSR2: a new binary took over. With `ok: false`, `error` says why this process goes on." },
  log_reopen: {
    meaning: "SIGUSR1: the files of the access log are opened anew; `outputs` is how many outputs of its own it has.",
  },
  start: { meaning: "A note or warning about how the gateway was started." },
  upstream_failed: {
    level: "warn",
    meaning:
      "No connection to an upstream: `reason` is ECONNREFUSED, ENOTFOUND, timeout, CERT_HAS_EXPIRED, server_id_denied (docs/sidecar.md#ids-of-servers) and so on; of a UNIX socket ENOENT (no such socket) and EACCES (no permission to connect to it). One line in 10 s for each upstream and reason.",
    everyMs: CONNECT_FAILURE_LOG_MS,
  },
  lenient_answer: {
    meaning:
      "A response was accepted because `strict_origins` is false: `upstream`, and `reason` is bare_lf, folding, repeated_length, body_of_204 or repeated_coding. One line in 10 s for each upstream and reason.",
    everyMs: CONNECT_FAILURE_LOG_MS,
  },
  script_errors: {
    level: "warn",
    meaning:
      "A FastCGI script wrote of errors, on FCGI_STDERR: `upstream`, `request_id`, `script` and `text`, its first 2,048 bytes in one line. docs/php.md#errors",
    perSecond: 100,
  },
  mirror_difference: {
    meaning:
      "A mirror's response differs: `route`, `upstream` (the mirror), `request_id`, `status` of both and whether the bodies are the same. One line in 10 s for each route and mirror.",
    everyMs: CONNECT_FAILURE_LOG_MS,
  },
  connection_limit: {
    level: "warn",
    meaning:
      "Too many client connections, in total or from one address, or no file descriptors left: `reason`, the setting as `key`, and `open`. One line a minute for each reason.",
  },
  limit_reject: {
    level: "warn",
    meaning:
      "A limit ended a request (408, 413, 503): `reason`, the setting as `key`, `route`, `client_ip`, `body_bytes`.",
    perSecond: 100,
  },
  spool_failed: {
    level: "error",
    meaning: "A large body could not be written to disk: `folder` and `reason`, such as ENOSPC. The client got 503.",
    perSecond: 1,
  },
  upstream_unhealthy: { level: "warn", meaning: "A health check failed `unhealthy_threshold` times in a row." },
  upstream_healthy: { meaning: "An unhealthy upstream passes its health check again." },
  breaker_open: {
    level: "warn",
    meaning:
      "A circuit breaker opened: the upstream gets no requests. `failures` are those in a row; with `success_rate`, `recent_failures` of `recent_requests` failed.",
  },
  breaker_hint: {
    meaning:
      "Another gateway says that the upstream is down (`cluster.health`): it is tried by itself before it gets more requests, for a moment at most.",
    perSecond: 100,
  },
  breaker_closed: { meaning: "A circuit breaker closed again." },
  waf_block: {
    level: "warn",
    meaning: "The firewall refused a request: `rule_id`, `category`, `location`. `path` is the target up to its query.",
  },
  waf_detect: { level: "warn", meaning: "The firewall matched a request in detection mode and let it pass." },
  waf_over_limit: {
    level: "warn",
    meaning: "413: the body is larger than `max_inspect_body_size` and `over_limit` is `reject`.",
  },
  prefix_guard_block: { level: "warn", meaning: "403: the path leads out of its static prefix.", perSecond: 100 },
  framing_reject: { level: "warn", meaning: "A malformed request was refused, by `reason`.", perSecond: 100 },
  tls_reject: { meaning: "A TLS handshake failed, by `reason`.", perSecond: 100 },
  rate_limited: { level: "warn", meaning: "A request exceeded its rate limit.", perSecond: 20 },
  maintenance_reject: { meaning: "503: a request came to what is under maintenance.", perSecond: 20 },
  auth_refused: {
    level: "warn",
    meaning:
      "A request without good credentials: `auth` is the method, `status` what it got: 401, 403, a redirect to a sign-in, 429 after too many wrong passwords, or 503 where nothing could be said. `reason` says in a word why a token was not taken (docs/authentication.md#refused-tokens). The name that was tried is not written.",
    perSecond: 20,
  },
  auth_field_dropped: {
    level: "warn",
    meaning:
      "A method of `auth` let a request in, and the value for `field` has control characters, outer space or more than 8192 bytes: the request, or its response, goes on without that field.",
    perSecond: 1,
  },
  auth_service_failed: {
    level: "error",
    meaning: "An authentication service gave no verdict, by `reason`: requests got 503.",
    everyMs: 1000,
  },
  bot_challenge: {
    meaning:
      "403: a request was asked for a task (`server.bots`): `reason` is what was suspicious, or all; `form` page, or json for a program; `solution` why the one that it brought does not count, else none; `user_agent`.",
    perSecond: 20,
  },
  bot_solved: { meaning: "A browser has solved its task and got a pass.", perSecond: 20 },
  sign_in_failed: {
    level: "warn",
    meaning:
      "OpenID Connect: `step` is login (the provider could not be asked), callback (the way back failed), renewal or logout; `reason` says why.",
    perSecond: 20,
  },
  session_cut: {
    level: "warn",
    meaning:
      "OpenID Connect: a user has signed in, and the cookies of the session have no room for all claims. `claims` names those that are not whole.",
    perSecond: 5,
  },
  jwks_fetched: {
    meaning:
      "The keys of a token issuer are there, or are others than before; `passed_over` says which are of no use, and why.",
  },
  jwks_failed: {
    level: "warn",
    meaning:
      "The keys of a token issuer could not be fetched; `keys_kept` from before stay, and `retry_in_s` says when it is tried again.",
  },
  schema_learned: {
    meaning:
      "The gRPC upstream of `transcoder.auto` has told its services by reflection: for the first time, otherwise than before, or after it could not be asked.",
  },
  schema_failed: {
    level: "warn",
    meaning:
      "It could not be asked; with `kept` its routes stay as they were, else they are 503. It is tried again, and no further line tells of it until `schema_learned`.",
  },
  cert_obtained: { meaning: "ACME: the first certificate for these names." },
  cert_renewed: { meaning: "ACME: a certificate was renewed." },
  cert_taken: { meaning: "ACME: another gateway obtained this certificate, and it is served here now." },
  cert_imported: { meaning: "ACME: a certificate of `cache_dir` was taken into the storage that gateways share." },
  cert_store_away: {
    level: "error",
    meaning:
      "The storage of certificates that gateways share cannot be reached, and why: what this gateway has seen is served from its copies, and none is ordered.",
    perSecond: 1,
  },
  cert_store_sealed: {
    meaning:
      "With several secrets in `storage_key`, at the start: `documents` of the shared storage were sealed anew with the first one; `left` could not be.",
  },
  cert_store_back: { meaning: "The storage of certificates that gateways share is there again.", perSecond: 1 },
  cert_failed: { level: "error", meaning: "ACME: an attempt failed; `retry_in_s` says when the next one is made." },
  cert_waiting: { meaning: "ACME: attempts failed before this start; `retry_in_s` says when the next one is made." },
  cert_refused: {
    level: "warn",
    meaning:
      "ACME: a name that a client asked for gets no certificate for now, and why; with `dropped` it had one, which is shown no more.",
    perSecond: 20,
  },
  cert_record_left: {
    level: "warn",
    meaning: "ACME: the record of a dns-01 challenge could not be removed from its zone.",
  },
  certificate_reload: { meaning: "A certificate file changed." },
  geo_reload: {
    meaning:
      "A database of addresses has changed: `database`, `file` and when it was `built`. With `ok: false`, `error` says why the one before stays.",
  },
  sidecar_warning: {
    level: "warn",
    meaning: "A body exceeds the limit of the sidecar, or a setting leaves something unprotected.",
    perSecond: 100,
  },
  workload_identity: {
    meaning:
      "The SPIFFE agent has given the sidecar an identity: `identity`, and `not_after`, its end. With `ok: false` the agent is away or gives none, by `error`: what it gave before stays until its end.",
  },
  sidecar_denied: {
    level: "warn",
    meaning:
      "403 at a sidecar: `reason` is allowed_ids or authorization for what comes in, with `identity`, the SPIFFE id of the client (empty without one); outbound for what goes out to no split.",
    perSecond: 20,
  },
  start_failed: {
    level: "error",
    meaning: "The gateway could not start, with `--log-format json`; one line for each reason.",
  },
  worker_failed: { level: "error", meaning: "A worker could not start." },
  worker_stalled: {
    level: "error",
    meaning:
      "A worker did not respond for `stalled_ms` and is replaced; its connections are lost. With `held: true` the system holds its thread: it is left alone until it moves.",
  },
  worker_died: { level: "error", meaning: "A worker ended and was started again." },
  exception: { level: "error", meaning: "A defect in edge, which cost one connection at most. Please report it." },
  cluster_store_away: {
    level: "error",
    meaning:
      "The store of the fleet cannot be reached, and why: limits of the fleet are each gateway's own meanwhile, and purges wait.",
    perSecond: 1,
  },
  config_source_away: {
    level: "error",
    meaning:
      "The URL that the configuration comes from could not be asked: `error` says why, `version` which configuration serves on and `age_s` for how long. One line until it can be asked again.",
  },
  config_source_back: { meaning: "The URL that the configuration comes from could be asked again." },
  config_not_kept: {
    level: "error",
    meaning: "The last good configuration from afar could not be written into `folder`, by `reason`.",
  },
  canary_begin: {
    meaning:
      "A configuration is tried: `canaries` of `nodes` gateways take `version` first, with `own` this one among them.",
  },
  canary_end: {
    meaning:
      "The trial is over: `version` is taken everywhere. With `ok: false` it is taken nowhere, by `reason`. `requests` and `errors` (5xx) of the canaries, `others_requests` and `others_errors` are what it was judged by.",
  },
  cluster_store_back: { meaning: "The store of the fleet is there again.", perSecond: 1 },
  telemetry_failed: {
    level: "error",
    meaning:
      "The collector did not take what was sent to it: `signal` is traces, metrics or logs, `dropped` how much was lost since the start. One line a minute for each signal.",
    everyMs: 60_000,
  },
  log_failed: {
    level: "error",
    meaning: "Lines of the access log cannot be written to `output`; they are dropped and counted.",
    perSecond: 1,
  },
  log_dropped: { level: "warn", meaning: "Lines that could not be written in time." },
} as const satisfies Readonly<Record<string, EventRow>>;

/** The name of an event. */
export type EventName = keyof typeof EVENTS;

/** Where lines go: to a worker's batch, or to the control thread's writer. */
export interface LineSink {
  /** Takes a whole line with its line break. */
  add(line: string): void;
  /** So many lines were left out for their bound: they count as dropped. */
  leftOut(lines: number): void;
}

/** What has been written of one kind of event. */
interface Tally {
  second: number;
  lines: number;
  leftOut: number;
}

/** The events of one thread, each with the bound of its row. */
export class EventLog {
  private readonly sink: LineSink;
  private readonly clock: { readonly nowMs: number };
  private readonly tallies: Map<EventName, Tally> = new Map();
  /** By event and thing; the one that was written longest ago comes first. */
  private readonly things: Map<string, { atMs: number; leftOut: number }> = new Map();

  private readonly threshold: LogThreshold;

  /**
   * @param clock milliseconds since the epoch
   * @param threshold the level, which may change
   */
  constructor(sink: LineSink, clock: { readonly nowMs: number }, threshold: LogThreshold = new LogThreshold()) {
    this.sink = sink;
    this.clock = clock;
    this.threshold = threshold;
  }

  /** Writes an event, where level and bound let it. */
  event(name: EventName, fields: EventFields): void {
    const hasFailed = fields.ok === false && this.threshold.takes("error");
    if (this.takes(name) || hasFailed) this.write(name, fields);
  }

  /**
   * To be asked where the fields cost something to make; `write` follows where it is true.
   * @returns whether the level and the bound of this kind let it be written; what is beyond the bound counts as left out
   */
  takes(name: EventName): boolean {
    const { perSecond, level = "info" }: EventRow = EVENTS[name];
    if (level !== "always" && !this.threshold.takes(level)) return false;
    if (perSecond === undefined || this.threshold.isVerbose) return true;
    let tally = this.tallies.get(name);
    if (tally === undefined) {
      tally = { second: -1, lines: 0, leftOut: 0 };
      this.tallies.set(name, tally);
    }
    const second = Math.floor(this.clock.nowMs / 1000);
    if (second !== tally.second) {
      tally.second = second;
      tally.lines = 0;
    }
    if (tally.lines++ < perSecond) return true;
    tally.leftOut++;
    this.sink.leftOut(1);
    return false;
  }

  /** Writes an event that `takes` let pass. */
  write(name: EventName, fields: EventFields): void {
    const tally = this.tallies.get(name);
    this.add(name, fields, tally?.leftOut ?? 0);
    if (tally !== undefined) tally.leftOut = 0;
  }

  /** Writes an event about a thing, such as an origin, once in `everyMs` of its row. @param thing whatever tells things apart */
  eventOf(thing: string, name: EventName, fields: EventFields): void {
    const { nowMs } = this.clock;
    const { everyMs = 0, level = "info" }: EventRow = EVENTS[name];
    if (level !== "always" && !this.threshold.takes(level)) return;
    const key = `${name} ${thing}`;
    const last = this.things.get(key);
    const sinceMs = last === undefined ? -1 : nowMs - last.atMs;
    // A clock that was set back counts as long enough.
    if (last !== undefined && sinceMs >= 0 && sinceMs < everyMs) {
      last.leftOut++;
      return;
    }
    this.things.delete(key);
    // Clients of a sidecar name the origins: the one that was written longest ago makes way.
    if (this.things.size >= MAX_LOGGED_ORIGINS) this.things.delete(this.things.keys().next().value!);
    this.things.set(key, { atMs: nowMs, leftOut: 0 });
    this.add(name, fields, last?.leftOut ?? 0);
  }

  private add(name: EventName, fields: EventFields, leftOut: number): void {
    this.sink.add(eventLine(this.clock.nowMs, name, leftOut > 0 ? { ...fields, not_logged: leftOut } : fields));
  }
}

/** A value of an event's field. */
export type EventValue = string | number | boolean | null | readonly string[] | Readonly<Record<string, unknown>>;
/** Fields of an event, in the order in which they are written. */
export type EventFields = Readonly<Record<string, EventValue>>;

/**
 * One line of the log for an event: `{"timestamp":…,"event":…,<fields>,"time":…}` and a line break; both are the same, `time` as in every line. docs/operations.md#log
 * @param timestampMs milliseconds since the epoch
 * @param event its name, a key of EVENTS
 * @param fields texts may hold anything that a client sent: they are escaped, and cut at 2048 characters
 */
export function eventLine(timestampMs: number, event: EventName, fields: EventFields): string {
  const time = new Date(timestampMs).toISOString();
  let line = `{"timestamp":"${time}","event":${jsonText(event, MAX_TEXT)}`;
  for (const name of Object.keys(fields)) line += `,${jsonText(name, MAX_TEXT)}:${valueText(fields[name]!)}`;
  return `${line},"time":"${time}"}\n`;
}

function isList(value: EventValue): value is readonly string[] {
  return Array.isArray(value);
}

function valueText(value: EventValue): string {
  if (typeof value === "string") return jsonText(value, MAX_TEXT);
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "null";
  if (typeof value === "boolean" || value === null) return String(value);
  if (!isList(value)) return jsonObject(value);
  return `[${value
    .slice(0, MAX_ITEMS)
    .map((item) => jsonText(item, MAX_TEXT))
    .join(",")}]`;
}

const MAX_TEXT = 2048;
const MAX_ITEMS = 100;
