import type { Metric } from "../features/telemetry/metric.ts";
import type { CertificateTerm } from "./certificate-keeper.ts";

/**
 * When certificates expire. Where several are for one domain, the first counts, which is the one that is shown.
 * docs/acme.md#failures
 * @param terms asked at every scrape
 */
export function certificateMetrics(terms: () => readonly CertificateTerm[]): Metric {
  return {
    name: "gateway_certificate_not_after_seconds",
    help: "When the certificate of a domain expires, in seconds since the epoch.",
    type: "gauge",
    read: () => {
      const values = new Map<string, number>();
      for (const { domain, notAfter } of terms()) if (!values.has(domain)) values.set(domain, notAfter);
      return [...values].map(([domain, value]) => ({ value, labels: { domain } }));
    },
  };
}
