import {
  CONNECT_FAILURE_LOG_MS,
  ERROR,
  flagField,
  nullable,
  numberField,
  OF_REQUEST,
  OK,
  optional,
  textField,
  texts,
  UPSTREAM,
} from "../core/event-row.ts";

const SUCCESSOR = optional(numberField("process that goes on"));
const WORKER = numberField("number of the worker");

/** What the gateway as a whole, its listeners and its connections write to the log. */
export const GATEWAY_EVENTS = {
  listening: {
    level: "always",
    meaning: "The ports are open.",
    advice:
      "You do not need to do anything. Two of them without an end between: the process was started again, see what ended it.",
    fields: {
      host: textField("address that it listens at"),
      port: optional(numberField("port of HTTP")),
      tls_port: optional(numberField("port of HTTPS")),
      sidecar_ingress_port: optional(numberField("inbound port of a sidecar")),
      sidecar_egress_port: optional(numberField("outbound port")),
      internal_port: optional(numberField("port of `internal_api.listen`")),
      tcp_ports: optional(textField("ports of streams")),
      http3_port: optional(numberField("port of HTTP/3, of UDP")),
      internal_socket: optional(textField("path of the UNIX socket")),
      listeners: optional(texts("name and address of each listener of `server.listeners`")),
      workers: numberField("how many workers there are"),
      version: textField("version of edge"),
      pid: numberField("the process"),
    },
  },
  draining: {
    level: "always",
    meaning: "SIGTERM or SIGINT: after `delay_ms` no new connection is accepted.",
    advice: "You do not need to do anything if you wanted the end. The line `audit` before it names the signal.",
    fields: {
      delay_ms: numberField("`drain_delay`"),
      timeout_ms: numberField("`shutdown_timeout`"),
      successor: SUCCESSOR,
    },
  },
  drain_cut: {
    level: "warn",
    meaning: "Connections still active after `shutdown_timeout` were closed; the exit code is 3.",
    advice:
      "Requests were cut. Raise `server.shutdown_timeout`, or let the load balancer take the instance out earlier (`drain_delay`).",
    fields: { connections: numberField("how many") },
  },
  config_reload: {
    meaning: "A reload, once every worker serves the new configuration. With `ok: false` nothing changed.",
    advice:
      "With `ok: false`, fix what `faults` names and reload; until then the configuration from before serves. Check that `removed` was wanted, and restart for what `needs_restart` names.",
    fields: {
      ok: OK,
      generation: optional(numberField("counts the configurations that have been in use")),
      faults: optional(texts("why nothing changed")),
      routes: optional(numberField("how many routes there are")),
      targets: optional(
        numberField(
          "routes and streams that have got other targets, where nothing else has changed: `generation` stays",
        ),
      ),
      needs_restart: optional(texts("what takes effect only after a restart")),
      removed: optional(texts("listeners and protections that are gone")),
      late: optional(texts("workers that took too long to take it up")),
      source: optional(textField("the URL that it comes from")),
      version: optional(textField("the configuration")),
      etag: optional(textField("its ETag")),
      rolled_back_to: optional(textField("of a rollback: when that configuration first served")),
    },
  },
  secret_kept: {
    level: "warn",
    meaning: "The file of a `${file:…}` is gone at a reload: the value from before stays in use.",
    advice: "Put your file back, and reload. edge does not start without it.",
    fields: { file: textField("the file"), error: ERROR },
  },
  state_failed: {
    level: "warn",
    meaning:
      "State that outlives the process could not be read or written (docs/operations.md#what-outlives-the-process).",
    advice:
      "Let edge write to `file`, or name a folder for it in `$STATE_DIRECTORY`. Until then a restart forgets what operators set, and earlier configurations.",
    fields: { file: textField("the file"), error: ERROR },
  },
  audit: {
    level: "always",
    meaning: "An operator did something (docs/operations.md#audit). Written at every level.",
    advice: "Keep these lines: they show you who changed what.",
    fields: {
      action: textField(
        "reload, reload_dry_run, rollback, drain, undrain, maintenance, log_level, purge, ban, ban_lift, upgrade, log_reopen, stop, route_put, route_delete or route_weights",
      ),
      by: nullable(textField("a user of `internal_api.auth`, token, `uid 0` at the UNIX socket, signal, or null")),
      from: textField("an address, unix, or the name of the signal"),
      ok: optional(OK),
      generation: optional(numberField("of a reload: counts the configurations that have been in use")),
      faults: optional(texts("why nothing changed")),
      name: optional(textField("of route_put, route_delete and route_weights: the route of the API")),
      target: optional(textField("of drain and undrain: the origin")),
      targets: optional(texts("of drain and undrain: all origins, if a name is that of several")),
      without_target: optional(texts("of drain: routes that have no target left")),
      address: optional(textField("of ban and ban_lift: the address or network")),
      until: optional(textField("of ban: when it ends")),
      steps: optional(numberField("of a rollback: how many configurations back")),
      to: optional(textField("of a rollback: when that configuration first served")),
      on: optional(flagField("of maintenance: whether it is on")),
      route: optional(nullable(textField("of maintenance: the route; null for all"))),
      level: optional(textField("of log_level: the level")),
      before: optional(textField("the level before")),
      kind: optional(textField("of a purge: uri, prefix, tags or all")),
      uri: optional(textField("of a purge: the URL")),
      prefix: optional(textField("of a purge: the beginning of the URLs")),
      tags: optional(texts("of a purge: the tags")),
      soft: optional(flagField("of a purge: whether responses are kept as stale ones")),
      purged: optional(numberField("of a purge: how many responses")),
    },
  },
  upgrade: {
    meaning: "SIGUSR2: a new binary took over. With `ok: false`, `error` says why this process goes on.",
    advice: "With `ok: false`, the old process goes on: fix what `error` says and send SIGUSR2 again.",
    fields: {
      ok: OK,
      binary: textField("the file"),
      successor: SUCCESSOR,
      sockets: optional(numberField("listening sockets that were handed over")),
      exit_code: optional(nullable(numberField("with which the new process has ended"))),
      error: optional(ERROR),
    },
  },
  start: {
    meaning: "A note or warning about how the gateway was started.",
    advice: "Read it once: it names unprotected or unusual settings of your start.",
    fields: { note: textField("the note"), variable: optional(textField("variable of the environment")) },
  },
  start_failed: {
    level: "error",
    meaning: "The gateway could not start, with `--log-format json`; one line for each reason.",
    advice: "Fix the cause in `error`; `edge check` tells you more about your files.",
    fields: { error: ERROR },
  },
  working_folder: {
    level: "warn",
    meaning: "The folder that edge was started in was deleted, or is there again.",
    advice:
      "With `ok: false`, make your folder with its files again; edge moves into it within a second. Until then you cannot upgrade.",
    fields: { ok: OK, folder: textField("the folder"), error: optional(ERROR) },
  },
  upstream_failed: {
    level: "warn",
    meaning:
      "An attempt at an upstream has failed: no connection, or no whole response. One line in 10 s for each upstream and reason.",
    advice:
      "`edge help` with the word in `fault_detail` says the cause and the cure, such as `edge help closed_before_head`.",
    everyMs: CONNECT_FAILURE_LOG_MS,
    fields: {
      upstream: UPSTREAM,
      reason: textField(
        "ECONNREFUSED, ENOTFOUND, timeout, CERT_HAS_EXPIRED, server_id_denied (docs/sidecar.md#ids-of-servers) and so on; of a UNIX socket ENOENT (no such socket) and EACCES (no permission to connect to it); the word of `fault_detail` if the system says none",
      ),
      fault_detail: optional(textField("why, in the word that the access log has for it")),
      request_id: optional(textField("id of the request that it was for")),
    },
  },
  lenient_answer: {
    meaning:
      "A response was accepted because `strict_origins` is false. One line in 10 s for each upstream and reason.",
    advice: "Fix your origin, then remove `strict_origins: false`.",
    everyMs: CONNECT_FAILURE_LOG_MS,
    fields: {
      upstream: UPSTREAM,
      reason: textField("bare_lf, folding, repeated_length, body_of_204 or repeated_coding"),
    },
  },
  script_errors: {
    level: "warn",
    meaning: "A FastCGI script wrote of errors, on FCGI_STDERR. docs/php.md#errors",
    advice: "Fix your script; `error_log` and `log_errors` of PHP choose its output.",
    perSecond: 100,
    fields: {
      upstream: UPSTREAM,
      request_id: OF_REQUEST.request_id,
      script: textField("the script"),
      text: textField("its first 2,048 bytes in one line"),
    },
  },
  upstream_unhealthy: {
    level: "warn",
    meaning: "A health check failed `unhealthy_threshold` times in a row.",
    advice: "Check your origin, and the response of its health path.",
    fields: {
      upstream: UPSTREAM,
      status: numberField("status of the last response; 0 without one"),
      error: textField("why there was none, or how its body is not a good one"),
      fault_detail: optional(textField("why there was none, in the word that the access log has for it")),
    },
  },
  upstream_healthy: {
    meaning: "An unhealthy upstream passes its health check again.",
    advice: "You do not need to do anything.",
    fields: { upstream: UPSTREAM },
  },
  breaker_open: {
    level: "warn",
    meaning: "A circuit breaker opened: the upstream gets no requests.",
    advice: "Check your origin: `failures` requests in a row failed there.",
    fields: {
      upstream: UPSTREAM,
      failures: numberField("failures in a row"),
      recent_requests: optional(numberField("with `success_rate`: counted requests")),
      recent_failures: optional(numberField("failures among them")),
      open_ms: numberField("how long it is open"),
    },
  },
  breaker_hint: {
    meaning:
      "Another gateway says that the upstream is down (`cluster.health`): it is tried by itself before it gets more requests, for a moment at most.",
    advice: "You do not need to do anything. `breaker_open` follows if the upstream is down for this gateway as well.",
    perSecond: 100,
    fields: { upstream: UPSTREAM },
  },
  breaker_closed: {
    meaning: "A circuit breaker closed again.",
    advice: "You do not need to do anything. `open_for_ms` is how long it was out.",
    fields: { upstream: UPSTREAM, open_for_ms: numberField("how long it was out") },
  },
  connection_limit: {
    level: "warn",
    meaning:
      "Too many client connections, in total or from one address, or no file descriptors left. One line a minute for each reason.",
    advice: "Raise the setting in `key`, or find the address that holds so many connections.",
    fields: {
      reason: textField("too_many_connections, too_many_of_one_address or out_of_descriptors"),
      key: textField("the setting"),
      client_ip: optional(OF_REQUEST.client_ip),
      open: numberField("connections that are open"),
    },
  },
  worker_failed: {
    level: "error",
    meaning: "A worker could not start.",
    advice: "Check `error`: edge cannot bind your address, or cannot read a file.",
    fields: { worker: WORKER, error: ERROR },
  },
  worker_stalled: {
    level: "error",
    meaning:
      "A worker did not respond for `stalled_ms` and is replaced; its connections are lost. With `held: true` the system holds its thread: it is left alone until it moves.",
    advice:
      "Check your machine's CPU and swap; with `held: true` its disks and network file systems, or a debugger. Restart the process if the worker stays held. Please report it if all these were well.",
    fields: {
      worker: WORKER,
      stalled_ms: numberField("how long it did not respond"),
      held: flagField("whether the system holds its thread"),
    },
  },
  worker_died: {
    level: "error",
    meaning: "A worker ended and was started again.",
    advice: "Please report it with the lines before. You do not need to restart anything.",
    fields: { worker: WORKER, reason: textField("why"), restarted: flagField("whether it is started again") },
  },
  exception: {
    level: "error",
    meaning: "A defect in edge, which cost one connection at most, or a warning of the runtime. Please report it.",
    advice: "Please report it; it cost one connection at most.",
    fields: {
      worker: optional(WORKER),
      what: optional(textField("part of the gateway")),
      error: textField("the error with its stack"),
    },
  },
} as const;
