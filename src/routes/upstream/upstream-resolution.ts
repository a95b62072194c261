import type { KeyPath } from "../../config/config-fault.ts";
import { LENIENT_MEANING, warnOfSpool } from "../../config/limit-check.ts";
import { originOf, parseOrigin, speaksHttp2, usesTls } from "../../config/origin.ts";
import type {
  HealthCheckConfig,
  LoadBalancingConfig,
  RouteBase,
  TargetConfig,
  UpstreamRouteConfig,
  UpstreamTlsConfig,
} from "../../config/route-config.ts";
import type { RouteSurroundings } from "../../config/route-syntax.ts";
import { upstreamTls } from "../../config/upstream-tls.ts";
import type { UpstreamEntry } from "./upstream-keys.ts";

/** What the keys of `type: upstream` give. */
export function resolveUpstream(
  values: UpstreamEntry,
  base: RouteBase,
  path: KeyPath,
  around: RouteSurroundings,
): UpstreamRouteConfig {
  const { proxy } = around;
  if (base.inboundChunkedMode === "normalize" && values.max_body_bytes > 0) {
    warnOfSpool(values.max_body_bytes, proxy, [...path, "max_body_bytes"], around.log);
  }
  const targets = resolveTargets(values, path, around);
  return {
    ...base,
    type: "upstream",
    methods: values.methods,
    targets,
    loadBalancing: resolveBalancing(values, path, around),
    healthCheck: resolveHealthCheck(values, path, around),
    circuitBreaker: {
      enabled: values.circuit_breaker.enabled,
      failureThreshold: values.circuit_breaker.failure_threshold,
      openDurationMs: values.circuit_breaker.open_duration,
      failureStatuses: values.circuit_breaker.failure_statuses,
      slowStartMs: values.circuit_breaker.slow_start,
    },
    retryAttempts: values.retries.attempts,
    timeouts: {
      connectMs: values.timeouts.connect ?? proxy.transport.connectTimeoutMs,
      responseHeaderMs: values.timeouts.response_header ?? proxy.transport.responseHeaderTimeoutMs,
      idleMs: values.timeouts.idle,
      totalMs: values.timeouts.total,
    },
    strictOrigins: resolveStrictness(values, targets, path, around),
    preserveHost: values.preserve_host,
    stripPrefix: values.strip_prefix,
    tls: resolveTls(values, targets, path, around),
  };
}

function resolveTargets(values: UpstreamEntry, path: KeyPath, { log }: RouteSurroundings): TargetConfig[] {
  if (values.target !== "" && values.targets.length > 0) {
    log.fault([...path, "target"], "a route has either target (one server) or targets (a list): remove one", true);
  }
  const isKnown = !log.isFaulty([...path, "target"]) && !log.isFaulty([...path, "targets"]);
  if (isKnown && values.target === "" && values.targets.length === 0) {
    log.fault(
      path,
      "an upstream route needs target, the server to send requests to, such as target: http://127.0.0.1:9001",
    );
  }
  if (values.target !== "") return [targetOf(values.target, 1, false, [...path, "target"], log)];
  const list = values.targets.map((one, i) =>
    targetOf(one.url, one.weight, one.backup, [...path, "targets", i, "url"], log),
  );
  const primary = list.filter((one) => !one.backup);
  if (list.length > 0 && primary.length === 0)
    log.fault([...path, "targets"], "every target is a backup: leave backup out of one at least", true);
  else if (list.length > 0 && list.every((one) => one.weight === 0)) {
    log.warn([...path, "targets"], "every weight is 0: requests of this route get 503");
  }
  return list;
}

function targetOf(
  url: string,
  weight: number,
  backup: boolean,
  path: KeyPath,
  log: RouteSurroundings["log"],
): TargetConfig {
  const parsed = parseOrigin(url);
  if (typeof parsed === "string") log.fault(path, parsed);
  const origin = typeof parsed === "string" ? originOf("http", "", 0, "") : parsed;
  return { ...origin, url: origin.originKey + origin.basePath, weight, backup };
}

function resolveBalancing(values: UpstreamEntry, path: KeyPath, { log }: RouteSurroundings): LoadBalancingConfig {
  const { policy, header, cookie } = values.load_balancing;
  const at = [...path, "load_balancing"];
  const isMeant = (key: string) => log.isFaulty([...at, key]);
  if (policy === "header" && header === "" && !isMeant("header"))
    log.fault(at, "policy: header needs header, the name to go by, such as header: X-User", true);
  if (policy === "cookie" && cookie === "" && !isMeant("cookie"))
    log.fault(at, "policy: cookie needs cookie, the name to go by, such as cookie: session", true);
  if (policy !== "header" && header !== "") log.warn([...at, "header"], `has no effect with policy: ${policy}`);
  if (policy !== "cookie" && cookie !== "") log.warn([...at, "cookie"], `has no effect with policy: ${policy}`);
  return { policy, keyName: policy === "header" ? header.toLowerCase() : policy === "cookie" ? cookie : "" };
}

function resolveHealthCheck(values: UpstreamEntry, path: KeyPath, { log }: RouteSurroundings): HealthCheckConfig {
  const check = values.health_check;
  const at = [...path, "health_check"];
  if (check.enabled && check.path === "" && !log.isFaulty([...at, "path"]))
    log.fault(at, "a health check needs path, the page to ask for, such as path: /health", true);
  if (check.enabled && check.timeout > check.interval)
    log.warn([...at, "timeout"], "is longer than interval: probes of one target overlap");
  return {
    enabled: check.enabled,
    path: check.path,
    intervalMs: check.interval,
    timeoutMs: check.timeout,
    healthyThreshold: check.healthy_threshold,
    unhealthyThreshold: check.unhealthy_threshold,
    expectStatusFrom: check.expect_status[0],
    expectStatusTo: check.expect_status[1],
  };
}

function resolveStrictness(
  values: UpstreamEntry,
  targets: readonly TargetConfig[],
  path: KeyPath,
  { server, log }: RouteSurroundings,
): boolean {
  const at = [...path, "strict_origins"];
  if (values.strict_origins === false) {
    const isHttp2 = targets.length > 0 && targets.every((target) => speaksHttp2(target.scheme));
    log.warn(at, isHttp2 ? "has no effect: every target speaks HTTP/2" : `is false: ${LENIENT_MEANING}`);
  }
  return values.strict_origins ?? server.strictOrigins;
}

function resolveTls(
  values: UpstreamEntry,
  targets: readonly TargetConfig[],
  path: KeyPath,
  { log, files }: RouteSurroundings,
): UpstreamTlsConfig {
  const { tls } = values;
  const at = [...path, "tls"];
  const isUsed = tls.ca_file !== "" || tls.cert_file !== "" || tls.server_name !== "" || tls.insecure_skip_verify;
  if (isUsed && targets.length > 0 && !targets.some((target) => usesTls(target.scheme))) {
    log.warn(at, "has no effect: no target speaks TLS (https:// or h2://)");
  }
  return upstreamTls.resolve(tls, { path: at, log, files });
}
