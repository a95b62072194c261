import { ERROR, flagField, numberField, OK, optional, textField } from "../../core/event-row.ts";

const VERSION = textField("the configuration");

/** What a fleet writes to the log. docs/fleet.md */
export const FLEET_EVENTS = {
  cluster_store_away: {
    level: "error",
    meaning:
      "The gateway cannot reach the store of the fleet, and why. Meanwhile each gateway limits by itself, and purges wait.",
    advice: "Check your Redis and the network between. You do not need to restart anything.",
    perSecond: 1,
    fields: { error: ERROR },
  },
  cluster_store_back: {
    meaning: "The store of the fleet is there again.",
    advice: "You do not need to do anything.",
    perSecond: 1,
    fields: { nodes: numberField("gateways of the fleet") },
  },
  canary_begin: {
    meaning: "A configuration is tried: `canaries` of `nodes` gateways take `version` first.",
    advice: "You do not need to do anything. `edge nodes` shows which gateways have it.",
    fields: {
      version: VERSION,
      own: flagField("whether this gateway is among them"),
      canaries: numberField("gateways that take it first"),
      nodes: numberField("gateways of the fleet"),
    },
  },
  canary_end: {
    meaning: "The trial is over: all gateways take `version`. With `ok: false` none does, by `reason`.",
    advice:
      "With `ok: false`, check the log of the canaries: no gateway takes the version until the source has another one.",
    fields: {
      ok: OK,
      version: VERSION,
      reason: optional(textField("why no gateway takes it")),
      requests: numberField("requests of the canaries"),
      errors: numberField("5xx among them"),
      others_requests: numberField("requests of the other gateways"),
      others_errors: numberField("5xx among them"),
    },
  },
} as const;

/** What a configuration from afar writes to the log. docs/fleet.md#configuration-from-afar */
export const REMOTE_EVENTS = {
  config_source_away: {
    level: "error",
    meaning: "The URL of the configuration did not answer. One line until it answers again.",
    advice: "Check the server of your URL. The configuration from before serves, over restarts as well.",
    fields: {
      source: textField("the URL"),
      error: ERROR,
      version: textField("the configuration that serves on"),
      age_s: numberField("for how long it has served"),
    },
  },
  config_source_back: {
    meaning: "The URL of the configuration answers again.",
    advice: "You do not need to do anything.",
    fields: { source: textField("the URL") },
  },
  config_not_kept: {
    level: "error",
    meaning: "The last good configuration from afar could not be written into `folder`.",
    advice: "Make the folder writable: without it a start needs the source of the configuration.",
    fields: { folder: textField("the folder"), reason: textField("why") },
  },
} as const;
