import type { MetricRows } from "../../core/metric-row.ts";

/** Metrics of bans. docs/bans.md */
export const BAN_METRICS = {
  gateway_bans_total: {
    kind: "counter",
    help: "Bans since the start, by source: blocks, operator or fleet.",
    labels: ["source"],
    group: "Firewall and guards",
    title: "Bans",
    advice:
      "It rises under attack. If your users complain, check `client_banned` in the log and the reasons of their refusals.",
  },
  gateway_bans_active: {
    kind: "gauge",
    help: "Clients and networks that are banned now, without those of feeds.",
    labels: [],
    group: "Firewall and guards",
    title: "Banned now",
    advice: "`edge bans list` shows them.",
  },
  gateway_bans_refused_total: {
    kind: "counter",
    help: "Refusals to banned clients: connections before TLS and HTTP, or requests on connections that were open.",
    labels: ["what"],
    group: "Firewall and guards",
    title: "Refused to banned clients",
    advice:
      "You do not need to do anything: this is what bans are for. Many of `request` behind a load balancer are usual.",
  },
  gateway_ban_feed_networks: {
    kind: "gauge",
    help: "Networks of each feed of bans.",
    labels: ["feed"],
    group: "Firewall and guards",
    title: "Networks of ban feeds",
    advice: "0, or a sudden fall: see what makes the list.",
  },
  gateway_ban_feed_failures_total: {
    kind: "counter",
    help: "Looks at feeds of bans that have failed.",
    labels: ["feed"],
    group: "Firewall and guards",
    title: "Ban feeds that failed",
    advice: "The list before stays in use. Find `ban_feed` in your log for the reason.",
  },
} as const satisfies MetricRows;
