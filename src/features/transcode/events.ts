import { ERROR, flagField, numberField, optional, texts, UPSTREAM } from "../../core/event-row.ts";

/** What the transcoder writes to the log. docs/transcoder.md#auto-by-reflection */
export const TRANSCODE_EVENTS = {
  schema_learned: {
    meaning:
      "The gRPC upstream of `transcoder.auto` has named its services by reflection: for the first time, with changes, or after a failure.",
    advice: "You do not need to do anything.",
    fields: {
      upstream: UPSTREAM,
      routes: numberField("routes that were made of it"),
      skipped: optional(texts("methods that edge leaves out, and why")),
    },
  },
  schema_failed: {
    level: "warn",
    meaning:
      "It did not answer; with `kept` its routes stay, else they are 503. edge tries again, without further lines until `schema_learned`.",
    advice: "Check your gRPC server: whether it is there, and whether its reflection is on.",
    fields: { upstream: UPSTREAM, error: ERROR, kept: flagField("whether routes from before stay") },
  },
} as const;
