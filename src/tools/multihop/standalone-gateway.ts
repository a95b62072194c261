import { InProcessGateway } from "../../control/in-process-gateway.ts";
import { BACKENDS, type BackendName } from "./backend.ts";

/**
 * The reference deployment in this process: the gateway with its firewall on, and a prefix for each origin.
 * @param ports where the origins listen, on loopback
 */
export function startStandaloneGateway(ports: ReadonlyMap<BackendName, number>): Promise<InProcessGateway> {
  const routes = BACKENDS.map(
    ({ name, prefix }) => `- {type: upstream, prefix: ${prefix}, target: "http://127.0.0.1:${ports.get(name)}"}`,
  );
  return InProcessGateway.start({ config: CONFIG, routes: `${routes.join("\n")}\n` });
}

const CONFIG = `server:
  host: 127.0.0.1
  port: 0
  access_log: {enabled: false}
  waf: {enabled: true, mode: enforce}
`;
