import { numberField, OF_REQUEST, OF_TARGET, optional, textField } from "../../core/event-row.ts";

/** What a sidecar writes to the log. docs/sidecar.md */
export const SIDECAR_EVENTS = {
  sidecar_warning: {
    level: "warn",
    meaning: "A body exceeds the limit of the sidecar, or a setting leaves something unprotected.",
    advice: "Change the named setting, or raise the limit.",
    perSecond: 100,
    fields: {
      message: textField("the warning"),
      method: optional(textField("method of the request")),
      path: optional(textField("its path")),
      limit: optional(numberField("the limit, in bytes")),
    },
  },
  sidecar_denied: {
    level: "warn",
    meaning: "403 at a sidecar, because of the client or of the destination.",
    advice:
      "`allowed_ids`, `authorization`: allow the identity if you expect it, otherwise find the caller. `outbound`: give the destination a split if your application should reach it.",
    perSecond: 20,
    fields: {
      ...OF_REQUEST,
      identity: textField("SPIFFE id of the client; empty without one"),
      host: textField("requested host"),
      ...OF_TARGET,
      reason: textField("allowed_ids or authorization inbound; outbound for a request without a split"),
    },
  },
} as const;
