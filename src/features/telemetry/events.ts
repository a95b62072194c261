import { ERROR, nullable, numberField, OF_REQUEST, optional, ROUTE, STATUS, textField } from "../../core/event-row.ts";

/** What telemetry and the log write of themselves. docs/operations.md#log */
export const TELEMETRY_EVENTS = {
  telemetry_failed: {
    level: "error",
    meaning: "The collector refused or missed data. One line a minute for each signal.",
    advice: "Check your collector. Spans and metrics are lost meanwhile, requests are not affected.",
    everyMs: 60_000,
    fields: {
      signal: textField("traces, metrics or logs"),
      error: ERROR,
      dropped: numberField("how much was lost since the start"),
    },
  },
  log_failed: {
    level: "error",
    meaning: "Lines of the access log cannot be written to `output`; they are dropped and counted.",
    advice: "Check the file's folder or the syslog server.",
    perSecond: 1,
    fields: { output: textField("the output"), error: ERROR },
  },
  log_reopen: {
    meaning: "SIGUSR1: the files of the access log are opened anew.",
    advice: "You do not need to do anything.",
    fields: {
      outputs: optional(numberField("how many outputs of its own the log has")),
      note: optional(textField("why there is nothing to reopen")),
    },
  },
  log_dropped: {
    level: "warn",
    meaning: "Lines that could not be written in time.",
    advice: "Let what reads the log be faster, or write less (`sample`, `log-level`).",
    fields: { lines: numberField("how many") },
  },
} as const;

const OF_REFUSAL = {
  request_id: optional(OF_REQUEST.request_id),
  client_ip: OF_REQUEST.client_ip,
  reason: textField("the refusal (docs/reference.md#refusals)"),
  status: numberField("status of the response; 0 without one"),
} as const;

/** What is written of requests that are refused for their bytes or by a limit. docs/security.md#resources-of-one-client */
export const REFUSAL_EVENTS = {
  limit_reject: {
    level: "warn",
    meaning: "A limit ended a request (408, 413, 503).",
    advice: "If your users exceed it, raise the setting in `key`; otherwise you do not need to do anything.",
    perSecond: 100,
    fields: {
      ...OF_REQUEST,
      route: ROUTE,
      reason: textField("the refusal (docs/reference.md#refusals)"),
      key: nullable(textField("the setting; null without one")),
      limit: optional(numberField("bytes that a body may have")),
      body_bytes: numberField("bytes of its body that came"),
      status: STATUS,
    },
  },
  framing_reject: {
    level: "warn",
    meaning: "A malformed request was refused.",
    advice: "You do not need to do anything unless it comes from your own load balancer or program: fix that.",
    perSecond: 100,
    fields: OF_REFUSAL,
  },
  tls_reject: {
    meaning: "A TLS handshake failed.",
    advice: "Ignore single ones. From your clients: their version of TLS or their certificate is too old.",
    perSecond: 100,
    fields: OF_REFUSAL,
  },
} as const;
