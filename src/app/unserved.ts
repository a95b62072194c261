import type { RuntimeConfig } from "../config/runtime-config.ts";

/** What a configuration asks for and this version does not do yet. */
export interface Unserved {
  /** To start without these would leave something open or broken that the configuration says is not. */
  readonly faults: readonly string[];
  /** The gateway is merely slower or less clever without these. */
  readonly warnings: readonly string[];
}

/** Compares a configuration with what this version does, so that no setting is passed over in silence. */
export function unservedBy(config: RuntimeConfig): Unserved {
  const { server } = config;
  const faults: string[] = [];
  const warnings: string[] = [];
  const ask = (list: string[], wanted: boolean, name: string) => {
    if (wanted && !list.includes(name)) list.push(name);
  };
  ask(faults, server.http3.enabled, "server.http3");
  ask(faults, server.acme.enabled, "server.acme");
  ask(faults, server.proxyProtocol.enabled, "server.proxy_protocol");
  ask(faults, server.ipRules.allow.length + server.ipRules.deny.length > 0, "server.ip_rules");
  ask(faults, server.rateLimit.enabled, "server.rate_limit");
  ask(faults, server.cors.enabled, "server.cors");
  ask(faults, server.securityHeaders.enabled, "server.security_headers");
  ask(faults, config.sidecar.enabled, "sidecar");
  ask(faults, config.transcoder.enabled, "transcoder");
  ask(faults, config.internalApi.listenPort >= 0, "internal_api.listen");
  ask(faults, server.waf.exclusions.length > 0, "server.waf.exclusions");
  ask(warnings, server.tls.enabled, "server.tls");
  ask(warnings, server.cache.enabled, "server.cache");
  for (const route of config.routes) {
    const { request, response } = route.headers;
    const edits = [request, response].some((one) => one.set.length + one.add.length + one.remove.length > 0);
    ask(faults, edits, "routes: headers");
    ask(faults, route.ipRules.allow.length + route.ipRules.deny.length > 0, "routes: ip_rules");
    ask(faults, route.rateLimit.enabled, "routes: rate_limit");
    if (route.type !== "upstream") continue;
    ask(
      faults,
      route.targets.some((t) => t.scheme === "h2" || t.scheme === "h2c"),
      "routes: h2:// and h2c:// targets",
    );
    ask(faults, route.timeouts.totalMs > 0, "routes: timeouts.total");
    ask(warnings, route.loadBalancing.policy !== "round_robin", "routes: load_balancing other than round_robin");
    ask(warnings, route.healthCheck.enabled, "routes: health_check");
  }
  return { faults, warnings };
}
