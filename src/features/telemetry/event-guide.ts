import type { EventName } from "./events.ts";

/** What to do about each event of the log: docs/events.md is made of it. A test names those that are missing. */
export const EVENT_GUIDE: Readonly<Partial<Record<EventName, string>>> = {
  listening: "Nothing. Two of them without an end between: the process was started again, see what ended it.",
  draining: "Nothing, where the end was wanted. The line `audit` before it says which signal came.",
  drain_cut:
    "Requests were cut. Raise `server.shutdown_timeout`, or let the load balancer take the instance out earlier (`drain_delay`).",
  config_reload:
    "With `ok: false`, mend what `faults` names and reload; until then the configuration from before serves. Check that `removed` was wanted, and restart for what `needs_restart` names.",
  audit: "Keep it: it says who changed what.",
  cache_disk_open: "Nothing.",
  cache_disk_failed: "See the disk: space, permissions, errors. The cache goes on in memory.",
  function_log: "What the function's author has meant by it.",
  function_failed: "Mend the module at the place in `at`, and reload. The request in `request_id` got 500, 502 or 504.",
  function_load_failed: "Mend the module at the place in `at`, and reload; `edge check` loads all of them beforehand.",
  function_scheduled:
    "With `ok: false`: error and died name what to mend in the module; timeout: raise `timeout`, or do less; overlap: let it run less often; store_away: see Redis.",
  function_thread_ended:
    "stuck: find the loop, in the line `function_failed` before it. memory: find what grows, or raise `functions.memory`. exit: take `process.exit` out.",
  upgrade: "With `ok: false`, the old process goes on: mend what `error` says and send SIGUSR2 again.",
  log_reopen: "Nothing.",
  start: "Read it once: it names what is left unprotected or unusual about the start.",
  upstream_failed:
    "See the origin: ECONNREFUSED is no process, timeout no machine or a firewall, CERT_HAS_EXPIRED its certificate, ENOTFOUND its name.",
  script_errors: "Mend the script; `error_log` and `log_errors` of PHP say what goes there.",
  lenient_answer: "Mend the origin, then take `strict_origins: false` away.",
  mirror_difference: "Compare both responses: the mirror is not what the target is.",
  connection_limit: "Raise the setting in `key`, or find the address that holds so many.",
  limit_reject: "Where regular users are hit, raise the setting in `key`; otherwise nothing.",
  spool_failed: "Make room in `folder`, or set `proxy.transport.max_spooled_bytes`.",
  upstream_unhealthy: "See the origin, and what its health path says.",
  upstream_healthy: "Nothing.",
  breaker_open: "See the origin: `failures` requests in a row failed there.",
  breaker_hint: "Nothing. `breaker_open` follows where the upstream is down for this gateway as well.",
  breaker_closed: "Nothing. `open_for_ms` is how long it was out.",
  waf_block:
    "From one address: an attack, nothing need be done. From users: a false positive, which an exclusion of `rule_id` at `location` lets pass (docs/waf.md#false-positives).",
  waf_detect: "Decide whether it is an attack. When all of them are, set `mode: enforce`.",
  waf_over_limit: "Raise `max_inspect_body_size`, or exclude the route from `over_limit: reject`.",
  prefix_guard_block: "Nothing: a scanner looks for files outside.",
  framing_reject: "Nothing, unless it comes from your own load balancer or program: mend that.",
  tls_reject: "Nothing for single ones. From regular clients: their version of TLS or their certificate is too old.",
  rate_limited: "Where regular users are hit, raise the limit or choose another `key`.",
  maintenance_reject: "Nothing, while maintenance is wanted.",
  auth_refused: "Many from one address are guesses. Many `reason: expired` of all users: a clock is wrong.",
  auth_field_dropped: "See what the provider or service sends: the field is missing for the origin.",
  auth_service_failed: "See the service: while it is away no request is let in.",
  bot_challenge: "Nothing. Where people complain, see `reason` and allow what they use.",
  bot_solved: "Nothing.",
  sign_in_failed:
    "See `step` and `reason`: the provider's address, the client's secret, the return address, the clock.",
  session_cut:
    "Nothing, if only `allow` needs them: it was judged by all claims. If `headers` or `{auth.claim.NAME}` need them, have the provider send fewer groups.",
  jwks_fetched: "Nothing. `passed_over` names keys of the issuer that are of no use.",
  jwks_failed: "See the issuer's URL. The keys from before hold until they are replaced there.",
  cert_obtained: "Nothing.",
  cert_renewed: "Nothing.",
  cert_failed:
    "See `error`: DNS that does not point here, port 80 that cannot be reached, a rate limit of the authority.",
  cert_waiting: "Mend what failed before; SIGHUP tries at once.",
  cert_refused: "Where the name is yours, let the `ask` URL approve it.",
  cert_record_left: "Remove the record from the zone by hand; the next challenge does not need it.",
  certificate_reload: "With `ok: false`, mend the files: certificate and key must belong together.",
  geo_reload: "With `ok: false`, fetch the file again.",
  sidecar_warning: "Set what it names, or raise the limit.",
  workload_identity: "With `ok: false`, see the SPIFFE agent before `not_after`.",
  sidecar_denied:
    "`allowed_ids`, `authorization`: allow the identity where it should come in, otherwise see what calls. `outbound`: give the destination a split where the application should reach it.",
  schema_learned: "Nothing.",
  schema_failed: "See the gRPC server: whether it is there, and whether its reflection is on.",
  start_failed: "Mend what `error` says; `edge check` says more of the files.",
  worker_failed: "See `error`: an address that is taken, a file that cannot be read.",
  worker_stalled:
    "See the machine's CPU and swap; with `held: true` its disks and network file systems, or a debugger. Restart the process where the worker stays held. Report it where all these were well.",
  worker_died: "Report it with the lines before; the worker is started again.",
  exception: "Report it; it cost one connection at most.",
  cert_taken: "Nothing.",
  cert_imported:
    "Nothing. Once all gateways have it from the storage, the files in `cache_dir` can be deleted, whose keys are in the clear.",
  cert_store_away: "See the storage, its credentials and the network between. Renewals wait; they have weeks.",
  cert_store_back: "Nothing.",
  cert_store_sealed:
    "Once all gateways have the new secret as the first one, and `left` is 0, take the old one away. Where it is not: start a gateway anew, or see `edge certs`.",
  cluster_store_away: "See Redis and the network between; limits and purges go on by themselves meanwhile.",
  config_source_away: "See the server of the URL. The configuration from before serves, over restarts as well.",
  config_source_back: "Nothing.",
  config_not_kept: "Make the folder writable: without it a start needs the source of the configuration.",
  canary_begin: "Nothing. `edge nodes` shows which gateways have it.",
  canary_end:
    "With `ok: false`, see what the canaries logged: the version is not taken until the source has another one.",
  cluster_store_back: "Nothing.",
  telemetry_failed: "See the collector. Spans and metrics are lost meanwhile, requests are not affected.",
  log_failed: "See the file's folder or the syslog server.",
  log_dropped: "Let what reads the log be faster, or write less (`sample`, `log-level`).",
};
