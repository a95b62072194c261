import type { MetricRows } from "../../core/metric-row.ts";

/** Metrics of a fleet. docs/fleet.md */
export const FLEET_METRICS = {
  gateway_cluster_store_up: {
    kind: "gauge",
    help: "Whether the store of the fleet can be reached.",
    labels: [],
    group: "Fleet",
    title: "Store reachable",
    advice:
      "0: your Redis is down, and each gateway limits by itself. Find `cluster_store_away` in your log for the reason.",
  },
  gateway_cluster_nodes: {
    kind: "gauge",
    help: "Gateways of the fleet that were last seen.",
    labels: [],
    group: "Fleet",
    title: "Gateways",
    advice: "If you run more, one has ended or cannot reach the store.",
  },
  gateway_cluster_calls_total: {
    kind: "counter",
    help: "Requests to the store for a bucket.",
    labels: [],
    group: "Fleet",
    title: "Buckets asked for",
    advice: "How much the limits of the fleet cost the store: one script for each.",
  },
  gateway_cluster_call_failures_total: {
    kind: "counter",
    help: "Of these, requests that the store did not answer: the gateway's own buckets decided.",
    labels: [],
    group: "Fleet",
    title: "Buckets not answered",
    advice: "Your Redis is down or slow, and the gateway's own buckets decided. Your clients got no error for it.",
  },
  gateway_cluster_waits_total: {
    kind: "counter",
    help: "Requests that waited for the store of the fleet.",
    labels: [],
    group: "Fleet",
    title: "Waited for the store",
    advice:
      "Requests near a limit that came before tokens were fetched. Many of them: limits so small that each request must ask.",
  },
  gateway_cluster_local_decisions_total: {
    kind: "counter",
    help: "Requests under limits of the fleet that the gateway's own buckets decided: the store was away, or late.",
    labels: [],
    group: "Fleet",
    title: "Decided alone",
    advice:
      "Your Redis was down or late, and each gateway went by its part of the limit. Your clients got no error for it.",
  },
  gateway_cluster_health_hints_total: {
    kind: "counter",
    help: "Targets that were tried by themselves before further requests, since another gateway said that they are down.",
    labels: [],
    group: "Fleet",
    title: "Hints of targets that are down",
    advice:
      "You do not need to do anything. Many of them without `breaker_open`: another gateway alone cannot reach its targets.",
  },
} as const satisfies MetricRows;

/** Metrics of a configuration from afar. docs/fleet.md#configuration-from-afar */
export const REMOTE_METRICS = {
  gateway_config_source_up: {
    kind: "gauge",
    help: "Whether the source of the configuration answered the last poll.",
    labels: [],
    group: "Fleet",
    title: "Source of the configuration reachable",
    advice: "0: the last good configuration serves on. Find `config_source_away` in your log for the reason.",
  },
  gateway_config_polls_total: {
    kind: "counter",
    help: "Polls of the configuration's source, by result.",
    labels: ["result"],
    group: "Fleet",
    title: "Configurations asked for",
    advice:
      "`refused` grows: the source has a faulty configuration, and `config_reload` says why. `failed` grows: it is down.",
  },
  gateway_config_canary: {
    kind: "gauge",
    help: "1 during the trial of a configuration: canary if this gateway has it, waiting if others have.",
    labels: ["role"],
    group: "Fleet",
    title: "Trials of configurations",
    advice: "1 for longer than `cluster.canary.for`: your Redis is down, and no gateway moves.",
  },
  gateway_config_rollbacks_total: {
    kind: "counter",
    help: "Configurations that were tried on some gateways and not taken.",
    labels: [],
    group: "Fleet",
    title: "Configurations rolled back",
    advice: "The line `canary_end` has the result of the canaries.",
  },
} as const satisfies MetricRows;
