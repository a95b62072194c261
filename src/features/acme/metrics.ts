import type { MetricRows } from "../../core/metric-row.ts";

/** What is shown of certificates by ACME. docs/acme.md#failures */
export const ACME_METRICS = {
  gateway_acme_renewals_total: {
    kind: "counter",
    help: "ACME orders that ended, by result.",
    labels: ["result"],
    group: "Certificates",
    title: "ACME orders",
    advice:
      "`failure`: find `cert_failed` in your log for the reason and when it is tried again. The certificate from before stays in use.",
  },
  gateway_acme_storage_up: {
    kind: "gauge",
    help: "Whether the shared storage of certificates is reachable; 1 if it is in files.",
    labels: [],
    group: "Certificates",
    title: "Storage of certificates",
    advice: "If it stays 0, edge renews none of your certificates. Find `cert_store_away` in your log for the reason.",
  },
  gateway_acme_storage_failures_total: {
    kind: "counter",
    help: "Calls that the storage of certificates that gateways share did not answer.",
    labels: [],
    group: "Certificates",
    title: "Storage calls failed",
    advice: "A few are passing faults. If there are many, check your storage and the network between.",
  },
} as const satisfies MetricRows;
