import { numberField, OF_REQUEST, OF_TARGET, optional, textField } from "../../core/event-row.ts";

/** What a sidecar writes to the log. docs/sidecar.md */
export const SIDECAR_EVENTS = {
  sidecar_warning: {
    level: "warn",
    meaning: "A body exceeds the limit of the sidecar, or a setting leaves something unprotected.",
    advice: "Set what it names, or raise the limit.",
    perSecond: 100,
    fields: {
      message: textField("what it is"),
      method: optional(textField("method of the request")),
      path: optional(textField("its path")),
      limit: optional(numberField("the limit, in bytes")),
    },
  },
  sidecar_denied: {
    level: "warn",
    meaning: "403 at a sidecar, for who asks, or where it goes.",
    advice:
      "`allowed_ids`, `authorization`: allow the identity where it should come in, otherwise see what calls. `outbound`: give the destination a split where the application should reach it.",
    perSecond: 20,
    fields: {
      ...OF_REQUEST,
      identity: textField("SPIFFE id of the client; empty without one"),
      host: textField("host that was asked for"),
      ...OF_TARGET,
      reason: textField("allowed_ids or authorization for what comes in; outbound for what goes out to no split"),
    },
  },
} as const;
