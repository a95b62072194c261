import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { EventFields, EventName } from "../features/telemetry/events.ts";

/**
 * Warns of what a sidecar's configuration leaves open, whenever a configuration is taken up. docs/sidecar.md#tls-outbound
 */
export function warnOfSidecar(config: RuntimeConfig, event: (event: EventName, fields: EventFields) => void): void {
  for (const message of sidecarWarnings(config)) event("sidecar_warning", { message });
}

function sidecarWarnings({ sidecar }: RuntimeConfig): readonly string[] {
  if (!sidecar.enabled) return [];
  const warnings: string[] = [];
  if (sidecar.insecureSkipVerify && sidecar.mode !== "ingress") {
    warnings.push("sidecar.insecure_skip_verify: certificate verification is disabled for outbound connections");
  }
  if (sidecar.certificate.certFile === "" && sidecar.mode !== "egress") {
    warnings.push("sidecar: no cert_file, so the inbound listener speaks cleartext");
  }
  return warnings;
}
