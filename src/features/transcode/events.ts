import { ERROR, flagField, numberField, optional, texts, UPSTREAM } from "../../core/event-row.ts";

/** What the transcoder writes to the log. docs/transcoder.md#auto-by-reflection */
export const TRANSCODE_EVENTS = {
  schema_learned: {
    meaning:
      "The gRPC upstream of `transcoder.auto` has told its services by reflection: for the first time, otherwise than before, or after it could not be asked.",
    advice: "Nothing.",
    fields: {
      upstream: UPSTREAM,
      routes: numberField("routes that were made of it"),
      skipped: optional(texts("what is left out, and why")),
    },
  },
  schema_failed: {
    level: "warn",
    meaning:
      "It could not be asked; with `kept` its routes stay as they were, else they are 503. It is tried again, and no further line tells of it until `schema_learned`.",
    advice: "See the gRPC server: whether it is there, and whether its reflection is on.",
    fields: { upstream: UPSTREAM, error: ERROR, kept: flagField("whether routes from before stay") },
  },
} as const;
