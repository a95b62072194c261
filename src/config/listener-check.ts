import type { KeyPath } from "./config-fault.ts";
import type { FaultLog } from "./fault-log.ts";
import type { RuntimeConfig } from "./runtime-config.ts";

/** One TCP address that the gateway would listen on. */
interface Listener {
  readonly path: KeyPath;
  readonly host: string;
  readonly port: number;
}

/** Notes a fault where two listeners of the gateway want one port, which the system would refuse at start-up. */
export function checkListeners(config: Omit<RuntimeConfig, "routes">, log: FaultLog): void {
  const taken: Listener[] = [];
  for (const listener of listeners(config)) {
    const earlier = taken.find((other) => other.port === listener.port && overlaps(other.host, listener.host));
    if (earlier === undefined) taken.push(listener);
    else if (!log.isFaulty(listener.path) && !log.isFaulty(earlier.path)) {
      const name = earlier.path.join(".");
      log.fault(listener.path, `port ${listener.port} is taken by ${name}: choose another`);
    }
  }
  const { sidecar, server } = config;
  if (
    sidecar.enabled &&
    sidecar.mode !== "egress" &&
    sidecar.appPort === server.port &&
    overlaps(server.host, "127.0.0.1")
  ) {
    log.warn(["sidecar", "app_port"], "is the gateway's own server.port: it would forward requests to itself");
  }
}

function listeners({ server, sidecar, internalApi }: Omit<RuntimeConfig, "routes">): Listener[] {
  const all: Listener[] = [{ path: ["server", "port"], host: server.host, port: server.port }];
  if (server.tls.enabled) all.push({ path: ["server", "tls", "port"], host: server.host, port: server.tls.port });
  if (sidecar.enabled && sidecar.mode !== "egress") {
    all.push({ path: ["sidecar", "ingress_port"], host: sidecar.ingressHost, port: sidecar.ingressPort });
  }
  if (sidecar.enabled && sidecar.mode !== "ingress") {
    all.push({ path: ["sidecar", "egress_port"], host: sidecar.egressHost, port: sidecar.egressPort });
  }
  all.push({ path: ["internal_api", "listen"], host: internalApi.listenHost, port: internalApi.listenPort });
  return all.filter((listener) => listener.port > 0);
}

function overlaps(a: string, b: string): boolean {
  const isEvery = (host: string) => host === "0.0.0.0" || host === "::";
  return a === b || isEvery(a) || isEvery(b);
}
