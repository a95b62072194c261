import { messageOf } from "../core/error-text.ts";
import type { Takers } from "../core/message-takers.ts";
import type { CounterLabels, WorkerCounters } from "../memory/counter-table.ts";
import { type TargetChanges, withTargets } from "../routes/target-changes.ts";
import type { ChangedNodes, NodeSet } from "./node-set.ts";
import { failReload } from "./test-hooks.ts";
import type { WorkerRuntime } from "./worker-runtime.ts";

/** Other targets for routes and streams of the configuration in use. */
export interface NewTargets extends TargetChanges {
  /** Names the change in the responses to it. */
  readonly id: number;
  readonly nodes: ChangedNodes;
  /** With those of new targets; null if there are none. */
  readonly labels: CounterLabels | null;
}

/** Both steps of a change: build, then take up. Each is answered, as those of a configuration are. */
export type TargetWord =
  | ({ readonly kind: "prepare-targets" } & NewTargets)
  | ({ readonly kind: "commit-targets" } & NewTargets);

type Said =
  | { readonly kind: "prepared"; readonly id: number; readonly error: string }
  | { readonly kind: "applied"; readonly id: number };

/** What live changes of targets ask of their worker. */
interface LivePorts {
  readonly runtime: WorkerRuntime;
  readonly nodes: NodeSet;
  readonly counters: Pick<WorkerCounters, "useLabels">;
}

/**
 * Gives routes and streams of the configuration in use other targets, in two steps, as they get a configuration: first all is built, then all gets
 * its place. The routing table, and all that phases know of routes, stay. docs/internals/upstreams.md#changes-of-targets
 */
export class LiveTargets {
  readonly takers: Takers<TargetWord, Said> = {
    "prepare-targets": (next, _, response) => response({ kind: "prepared", id: next.id, error: this.prepare(next) }),
    "commit-targets": (next, _, response) => {
      this.commit(next);
      response({ kind: "applied", id: next.id });
    },
  };
  private readonly ports: () => LivePorts;
  private prepared: { readonly id: number; commit(): void } | null = null;

  /** @param ports asked for each change */
  constructor(ports: () => LivePorts) {
    this.ports = ports;
  }

  /** Forgets the prepared handlers. */
  abort(): void {
    this.prepared = null;
  }

  /** @returns why the targets cannot be used, or "" */
  private prepare(next: NewTargets): string {
    const { counters } = this.ports();
    try {
      // Labels are numbered for the life of the process: those in use are among them.
      if (next.labels !== null) counters.useLabels(next.labels);
      this.prepared = this.built(next);
      failReload();
      return "";
    } catch (error) {
      this.prepared = null;
      return messageOf(error);
    }
  }

  private built({ id, routes, streams: others, nodes: changed }: NewTargets): { readonly id: number; commit(): void } {
    const { config, router, make, streams, pools } = this.ports().runtime;
    const nodes = this.ports().nodes.prepareTargets(changed);
    const first = router.routes.length - config.routes.length;
    const handlers = routes.map((change) => ({
      route: router.routes[first + change.index]!,
      handler: make(withTargets(config.routes[change.index]!, change), nodes),
    }));
    const made = others.map((change) => streams!.withTargets(change, nodes));
    const commit = (): void => {
      nodes.commit();
      // Requests under way end in the handlers that have them.
      for (const { route, handler } of handlers) route.handler = handler;
      for (const stream of made) stream.commit();
      pools.closeOrigins(changed.goneOrigins);
    };
    return { id, commit };
  }

  private commit(next: NewTargets): void {
    // A worker that was started meanwhile has prepared nothing.
    const fault = this.prepared?.id === next.id ? "" : this.prepare(next);
    // The others serve them already: a thread that cannot is started again, with the same ones.
    if (this.prepared === null) throw new Error(`targets that others serve cannot be used: ${fault}`);
    this.prepared.commit();
    this.prepared = null;
  }
}
