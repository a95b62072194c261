import type { MetricRows } from "../../core/metric-row.ts";

/** What is counted at a sidecar. docs/sidecar.md */
export const SIDECAR_METRICS = {
  gateway_sidecar_denied_requests_total: {
    kind: "counter",
    help: "Requests refused by a sidecar because of the client or the destination, by the setting that refused them.",
    labels: ["reason"],
    group: "Sidecar",
    title: "Denied for who asks",
    advice:
      "A service without permission calls, or its identity has changed. With `outbound`, your application calls a destination without a split. Find it in your log, in `sidecar_denied`.",
  },
  gateway_sidecar_server_requests_total: {
    kind: "counter",
    help: "Outbound requests of a sidecar, by the SPIFFE id of the server that responded and status code; none: without an id or a response, other: beyond the first 255.",
    labels: ["server", "code"],
    group: "Sidecar",
    title: "Requests by server",
    advice:
      "The servers that your application calls, and how that ends. `none` are servers without an identity, or without a response.",
  },
  gateway_sidecar_peer_requests_total: {
    kind: "counter",
    help: "Inbound requests of a sidecar, by the SPIFFE id of the client and status code; none: without an id, other: beyond the first 255.",
    labels: ["peer", "code"],
    group: "Sidecar",
    title: "Requests by peer",
    advice: "Who calls your service, and how that ends. `none` are clients without an identity.",
  },
} as const satisfies MetricRows;
