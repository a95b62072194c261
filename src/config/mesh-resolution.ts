import { checkBothOrNeither } from "./certificate-resolution.ts";
import type { KeyPath } from "./config-fault.ts";
import { quote } from "./config-fault.ts";
import type { SidecarValues, TranscoderValues } from "./config-schema.ts";
import type { ConfiguredFiles } from "./configured-file.ts";
import type { FaultLog } from "./fault-log.ts";
import type {
  FieldMapping,
  SidecarConfig,
  TrafficSplit,
  TranscodedRouteConfig,
  TranscoderConfig,
} from "./mesh-config.ts";
import { didYouMean } from "./nearest-name.ts";
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

/** `transcoder:`. Decisions §11. */
export function resolveTranscoder(values: TranscoderValues, log: FaultLog, files: ConfiguredFiles): TranscoderConfig {
  if (!values.enabled && values.routes.length > 0) {
    log.warn(["transcoder"], "the section is there, but enabled is not true: it has no effect");
  }
  const schemaFile = (path: KeyPath, name: string) => (values.enabled ? files.file(path, name) : files.absolute(name));
  const shared = schemaFile(["transcoder", "descriptor_set"], values.descriptor_set);
  const shapes = new Map<string, number>();
  const routes = values.routes.map((route, i): TranscodedRouteConfig => {
    const path = ["transcoder", "routes", i];
    const segments = route.http_path.split("/").slice(1);
    checkParameters(segments, route.http_path, [...path, "http_path"], log);
    const shape = `${route.http_method} /${segments.map((part) => (part.startsWith(":") ? ":" : part)).join("/")}`;
    const earlier = shapes.get(shape);
    if (earlier === undefined) shapes.set(shape, i);
    else
      log.fault(
        [...path, "http_path"],
        `the same method and path shape as routes[${earlier}]: only one of them can answer`,
      );
    return {
      position: log.position(path),
      httpMethod: route.http_method,
      httpPath: route.http_path,
      segments,
      grpcMethod: route.grpc_method,
      upstream: origin(route.upstream_url, [...path, "upstream_url"], log),
      fieldMappings: mappings(route.field_mappings, segments, [...path, "field_mappings"], log),
      descriptorSet:
        route.descriptor_set === "" ? shared : schemaFile([...path, "descriptor_set"], route.descriptor_set),
      timeoutMs: route.timeout ?? values.timeout,
    };
  });
  return { enabled: values.enabled, maxBodyBytes: values.max_body_bytes, routes };
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
      const at = origin(backend.target, [...path, "backends", j, "target"], log);
      return { ...at, url: at.originKey + at.basePath, weight: backend.weight, backup: false };
    });
    if (backends.length > 0 && backends.every((backend) => backend.weight === 0)) {
      log.warn([...path, "backends"], "every weight is 0: requests below this prefix get 503");
    }
    return { prefix: split.prefix, backends };
  });
  return splits.sort((a, b) => b.prefix.length - a.prefix.length);
}

function origin(url: string, path: KeyPath, log: FaultLog): OriginConfig {
  const parsed = parseOrigin(url);
  if (typeof parsed !== "string") return parsed;
  log.fault(path, parsed);
  return originOf("http", "", 0, "");
}

function checkParameters(segments: readonly string[], path: string, at: KeyPath, log: FaultLog): void {
  const names = segments.filter((part) => part.startsWith(":"));
  const odd = names.find((part) => !/^:[A-Za-z_]\w*$/.test(part));
  if (odd !== undefined) log.fault(at, `expected parameters such as :id, found ${quote(odd)} in ${quote(path)}`);
  const twice = names.find((part, i) => names.indexOf(part) !== i);
  if (twice !== undefined) log.fault(at, `the parameter ${twice} stands twice in ${quote(path)}`);
}

function mappings(
  found: readonly [string, string][],
  segments: readonly string[],
  path: KeyPath,
  log: FaultLog,
): FieldMapping[] {
  const params = segments.filter((part) => part.startsWith(":")).map((part) => part.slice(1));
  return found.map(([param, field]) => {
    if (!params.includes(param)) {
      const message = `expected a parameter of http_path, found ${quote(param)}${didYouMean(param, params)}`;
      log.fault([...path, param], message, true);
    }
    return { param, field };
  });
}
