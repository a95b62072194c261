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
  ask(faults, server.proxyProtocol.enabled && server.tls.enabled, "server.proxy_protocol together with server.tls");
  ask(faults, config.sidecar.enabled, "sidecar");
  ask(faults, config.transcoder.enabled, "transcoder");
  ask(faults, config.internalApi.listenPort >= 0, "internal_api.listen");
  ask(warnings, server.tls.enabled, "server.tls");
  ask(warnings, server.cache.enabled, "server.cache");
  for (const route of config.routes) {
    if (route.type !== "upstream") continue;
    ask(
      faults,
      route.targets.some((t) => t.scheme === "h2" || t.scheme === "h2c"),
      "routes: h2:// and h2c:// targets",
    );
  }
  return { faults, warnings };
}
