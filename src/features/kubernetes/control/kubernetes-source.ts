import type { ControlService } from "../../../core/control-service.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { KubernetesConfig } from "../settings.ts";
import type { Cluster, KubernetesPorts } from "./cluster.ts";

/** Serves the Gateways, routes and Ingresses of a cluster. docs/gateway-api.md */
export class KubernetesSource implements ControlService<RuntimeConfig> {
  private readonly ports: KubernetesPorts;
  private running: Cluster | null = null;
  private asked = "";

  constructor(ports: KubernetesPorts) {
    this.ports = ports;
  }

  use(config: RuntimeConfig): void {
    const { kubernetes } = config.providers;
    const asked = JSON.stringify(kubernetes);
    this.running?.noteOwn(config);
    if (asked === this.asked) return;
    this.asked = asked;
    void this.running?.stop();
    this.running = kubernetes.enabled ? clusterOf(kubernetes, this.ports) : null;
    this.running?.noteOwn(config);
    this.running?.start();
  }

  async stop(): Promise<void> {
    await this.running?.stop();
  }
}

/** What reads objects of a cluster is loaded if there is one: it is a twentieth of the control thread's code. */
function clusterOf(config: KubernetesConfig, ports: KubernetesPorts): Cluster {
  const module = require("./cluster.ts") as typeof import("./cluster.ts");
  return new module.Cluster(config, ports);
}
