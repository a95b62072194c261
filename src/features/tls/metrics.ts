import type { MetricRows } from "../../core/metric-row.ts";

/** What is shown of certificates. docs/tls.md#replacing-certificates */
export const TLS_METRICS = {
  gateway_certificate_not_after_seconds: {
    kind: "gauge",
    help: "When the certificate of a domain expires, in seconds since the epoch.",
    labels: ["domain"],
    group: "Certificates",
    title: "Certificates, days left",
    advice:
      "Renewals come long before the end. If less than a week is left, run `edge certs` and read the lines `cert_failed`.",
  },
  gateway_certificate_reloads_total: {
    kind: "counter",
    help: "Certificate files found changed, by result.",
    labels: ["result"],
    group: "Certificates",
    title: "Certificate files changed",
    advice: "`failed`: certificate and key do not belong together, or one cannot be read. The one before stays in use.",
  },
} as const satisfies MetricRows;
