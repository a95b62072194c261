import { ERROR, flagField, numberField, OK, optional, textField } from "../../core/event-row.ts";

/** What the certificates of listeners write to the log. docs/tls.md */
export const TLS_EVENTS = {
  certificate_reload: {
    meaning: "A certificate file changed.",
    advice: "With `ok: false`, fix your files: certificate and key must belong together.",
    fields: { ok: OK, file: textField("the file"), error: optional(ERROR) },
  },
  internal_authority: {
    meaning:
      "The local authority of `tls.internal` is in use: `made` is true if this start has made it. With `ok: false` it cannot be read or made, or has signed for as many names as it may.",
    advice:
      "After `made: true` run `edge trust` once. With `ok: false`: the state folder must be writable, and a broken `internal-ca.pem` can be removed.",
    fields: {
      ok: OK,
      file: textField("its file, or the state folder"),
      made: optional(flagField("whether it is new")),
      fingerprint: optional(textField("SHA-256 of its root")),
      error: optional(ERROR),
    },
  },
  workload_identity: {
    meaning:
      "The SPIFFE agent has given the sidecar an identity. With `ok: false` the agent is down or gives none, by `error`: the identity before stays until its end.",
    advice: "With `ok: false`, check the SPIFFE agent before `not_after`.",
    fields: {
      ok: OK,
      identity: optional(textField("the SPIFFE id")),
      not_after: optional(textField("when it ends")),
      socket: optional(textField("the agent's socket")),
      error: optional(ERROR),
      retry_in_s: optional(numberField("time until the next try")),
    },
  },
} as const;
