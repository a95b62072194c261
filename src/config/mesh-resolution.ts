import { checkBothOrNeither } from "./certificate-resolution.ts";
import { type KeyPath, quote } from "./config-fault.ts";
import type { SidecarValues } from "./config-schema.ts";
import type { ConfiguredFiles } from "./configured-file.ts";
import type { FaultLog } from "./fault-log.ts";
import type { SidecarConfig, TrafficSplit } from "./mesh-config.ts";
import { originOf, parseOrigin } from "./origin.ts";
import type { OriginConfig } from "./route-config.ts";
import { resolveHost } from "./server-resolution.ts";

/** `sidecar:`. Decisions §10. */
export function resolveSidecar(values: SidecarValues, log: FaultLog, files: ConfiguredFiles): SidecarConfig {
  const path = ["sidecar"];
  if (values.enabled) checkSidecar(values, log);
  else if (values.traffic_splits.length > 0)
    log.warn(path, "the section is there, but enabled is not true: it has no effect");
  const isUsed = values.enabled;
  return {
    enabled: values.enabled,
    mode: values.mode,
    ingressHost: resolveHost(values.ingress_host, ["sidecar", "ingress_host"], log),
    ingressPort: values.ingress_port,
    egressHost: resolveHost(values.egress_host, ["sidecar", "egress_host"], log),
    egressPort: values.egress_port,
    appPort: values.app_port,
    maxBodyBytes: values.max_body_bytes,
    strictMtls: values.strict_mtls,
    certificate: isUsed
      ? files.pair(["sidecar", "cert_file"], values.cert_file, ["sidecar", "key_file"], values.key_file)
      : { certFile: files.absolute(values.cert_file), keyFile: files.absolute(values.key_file) },
    caFile: isUsed ? files.bundle(["sidecar", "ca_file"], values.ca_file) : files.absolute(values.ca_file),
    insecureSkipVerify: values.insecure_skip_verify,
    allowedIds: values.allowed_ids,
    trafficSplits: resolveSplits(values, log),
  };
}

function checkSidecar(values: SidecarValues, log: FaultLog): void {
  checkBothOrNeither(values.cert_file, values.key_file, ["sidecar"], log);
  const isMeant = log.isFaulty(["sidecar", "cert_file"]) || log.isFaulty(["sidecar", "key_file"]);
  const hasIngress = values.mode !== "egress";
  if (values.strict_mtls && values.cert_file === "" && values.key_file === "" && !isMeant) {
    log.fault(["sidecar", "strict_mtls"], "needs cert_file and key_file, the sidecar's own certificate");
  }
  if (!values.strict_mtls && hasIngress && values.cert_file === "" && !isMeant) {
    log.warn(["sidecar"], "no cert_file: the inbound listener speaks cleartext");
  }
  if (values.insecure_skip_verify) {
    log.warn(["sidecar", "insecure_skip_verify"], "certificate verification is disabled for outbound connections");
  }
}

function resolveSplits(values: SidecarValues, log: FaultLog): TrafficSplit[] {
  const seen = new Set<string>();
  const splits = values.traffic_splits.map((split, i) => {
    const path = ["sidecar", "traffic_splits", i];
    if (seen.has(split.prefix))
      log.fault([...path, "prefix"], `a second split for ${split.prefix}: put its backends into the first`);
    seen.add(split.prefix);
    if (split.backends.length === 0)
      log.fault([...path, "backends"], "expected at least one backend, found an empty list");
    const backends = split.backends.map((backend, j) => {
      const at = backendOrigin(backend.target, [...path, "backends", j, "target"], log);
      return { ...at, url: at.originKey, weight: backend.weight, backup: false };
    });
    if (backends.length > 0 && backends.every((backend) => backend.weight === 0)) {
      log.warn([...path, "backends"], "every weight is 0: requests below this prefix get 503");
    }
    return { prefix: split.prefix, backends };
  });
  return splits.sort((a, b) => b.prefix.length - a.prefix.length);
}

/** Spec, "Sidecar mode": of a backend's URL scheme, host and port count; path, query and fragment are dropped. */
function backendOrigin(url: string, path: KeyPath, log: FaultLog): OriginConfig {
  const kept = /^([a-z][a-z0-9+.-]*:\/\/)?[^/?#]*/i.exec(url)![0];
  const dropped = url.slice(kept.length);
  if (dropped !== "" && dropped !== "/") {
    log.warn(path, `${quote(dropped)} is dropped: paths pass through a sidecar unchanged`);
  }
  return meshOrigin(kept, path, log);
}

/** The parts of an origin, or of nothing where a fault has been noted. */
export function meshOrigin(url: string, path: KeyPath, log: FaultLog): OriginConfig {
  const parsed = parseOrigin(url);
  if (typeof parsed !== "string") return parsed;
  log.fault(path, parsed);
  return originOf("http", "", 0, "");
}
