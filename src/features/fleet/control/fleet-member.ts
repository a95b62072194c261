import type { ControlService } from "../../../core/control-service.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { type Metric, type MetricRows, metricOf } from "../../../core/metric-row.ts";
import type { CounterTotals } from "../../../memory/counter-totals.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { FLEET_EVENTS, REMOTE_EVENTS } from "../events.ts";
import { REMOTE_METRICS } from "../metrics.ts";
import type { CanaryRollout } from "./canary-rollout.ts";
import type { FleetPorts } from "./fleet.ts";
import { HealthHints, type KnownTargets } from "./health-hints.ts";
import type { RemoteConfig, RemoteFields } from "./remote-config.ts";

/** What a member of a fleet asks the control thread for. */
export interface MemberPorts {
  /** Reads the source again, and takes up what is there. */
  reload(): Promise<unknown>;
  /** What the source has cannot be applied. */
  refused(fields: RemoteFields & { readonly faults: readonly string[] }): void;
  readonly event: EventWriter<typeof FLEET_EVENTS & typeof REMOTE_EVENTS>;
  isEnding(): boolean;
}

type Samples = ReturnType<Metric["read"]>;

/** What a gateway has to do with others beside limits and purges: configurations from afar, and their trials. docs/fleet.md */
export class FleetMember implements ControlService<RuntimeConfig> {
  private readonly remote: RemoteConfig | null;
  private readonly ports: MemberPorts;
  private readonly canary: CanaryRollout | null;
  private readonly health: HealthHints;

  /** @param remote null if the configuration came from files */
  constructor(remote: RemoteConfig | null, totals: CounterTotals, nodes: KnownTargets, ports: MemberPorts) {
    this.remote = remote;
    this.ports = ports;
    this.health = new HealthHints(nodes);
    this.canary = remote?.rollout({ ...ports, counts: () => countsOf(totals) }) ?? null;
  }

  /** The gateway serves: its configuration is watched from now on. */
  begin(): void {
    this.remote?.begin({ ...this.ports, canary: this.canary! });
  }

  stop(): void {
    this.remote?.stop();
  }

  /** The source as `/internal/api/status` shows it; null if the configuration came from files. */
  source(): object | null {
    return this.remote?.state() ?? null;
  }

  /** Without samples where the configuration came from files. */
  metrics(): readonly Metric[] {
    const { remote } = this;
    const family = (name: keyof typeof REMOTE_METRICS, read: (from: RemoteConfig) => Samples) =>
      metricOf<MetricRows, string>(REMOTE_METRICS, name, () => (remote === null ? [] : read(remote)));
    const is = (fact: boolean): number => (fact ? 1 : 0);
    return [
      ...this.health.metrics(),
      family("gateway_config_source_up", (from) => [{ value: is(from.state().reachable), labels: {} }]),
      family("gateway_config_polls_total", ({ asked }) =>
        Object.entries(asked).map(([result, value]) => ({ value, labels: { result } })),
      ),
      family("gateway_config_canary", (from) => {
        const { on_trial, waiting } = from.state();
        return [
          { value: is(on_trial), labels: { role: "canary" } },
          { value: is(waiting !== ""), labels: { role: "waiting" } },
        ];
      }),
      family("gateway_config_rollbacks_total", () => [{ value: this.canary?.rollbacks ?? 0, labels: {} }]),
    ];
  }

  /** What it does with the store of the fleet. */
  readonly fleetPorts: Pick<FleetPorts, "about" | "onBeat" | "onLeave"> = {
    about: () => {
      const { remote } = this;
      if (remote === null) return { config: "", trial: "" };
      const { version, on_trial, waiting } = remote.state();
      return { config: version, trial: on_trial ? "canary" : waiting === "" ? "" : "waiting" };
    },
    onBeat: async (store, { health }) => {
      await this.canary?.beat(store);
      if (health) await this.health.beat(store);
    },
    onLeave: async (store) => {
      await this.canary?.leave(store);
    },
  };
}

/** Requests that have ended since the start, and those of them that were a 5xx. */
function countsOf(totals: CounterTotals): { readonly requests: number; readonly errors: number } {
  let [requests, errors] = [0, 0];
  for (const { status, count } of totals.requests()) {
    requests += count;
    if (status >= 500) errors += count;
  }
  return { requests, errors };
}
