import type { Takers } from "../core/message-takers.ts";
import type { WorkerService } from "../core/worker-service.ts";
import type { FleetNews, FleetState, FleetWord } from "../features/fleet/fleet-messages.ts";
import { FleetBuckets } from "../features/limit/fleet-buckets.ts";
import { COUNTERS } from "../memory/counter-rows.ts";
import type { WorkerCounters } from "../memory/counter-table.ts";
import type { BucketCall, BucketReplies } from "../message/bucket-call.ts";
import type { WorkerServices } from "./worker-services.ts";

/** A worker's way to the store of the fleet, which the control thread has. */
export class WorkerFleet implements WorkerService<unknown> {
  readonly onMessage: Takers<Extract<FleetNews, { kind: "fleet" | "taken" }>> = {
    fleet: ({ state }) => this.take(state),
    taken: ({ id, responses }) => this.taken(id, responses),
  };
  readonly buckets: FleetBuckets;
  private readonly post: (message: FleetWord) => void;
  private readonly services: Pick<WorkerServices, "inTurn">;
  private readonly workers: number;
  private readonly asked: Map<number, (responses: BucketReplies) => void> = new Map();
  private lastId = 0;

  /** @param workers of this gateway; the others are taken to have as many */
  constructor(
    post: (message: FleetWord) => void,
    services: Pick<WorkerServices, "inTurn">,
    workers: number,
    counters: WorkerCounters,
  ) {
    this.post = post;
    this.services = services;
    this.workers = workers;
    this.buckets = new FleetBuckets({
      nowMs: () => performance.now(),
      count: (what) => counters.add(what === "wait" ? COUNTERS.clusterWaits : COUNTERS.clusterAlone),
      ask: (calls, response) => this.ask(calls, response),
      later: (work, afterMs) => {
        const turn = (): void => services.inTurn(work);
        if (afterMs === 0) setImmediate(turn);
        else setTimeout(turn, afterMs);
      },
    });
  }

  begin({ fleet }: { readonly fleet: FleetState }): void {
    this.take(fleet);
  }

  private take({ isUp, nodes, timeoutMs }: FleetState): void {
    this.buckets.use(isUp, nodes, this.workers, timeoutMs);
  }

  /** The control thread has asked the store. */
  private taken(id: number, responses: BucketReplies): void {
    const response = this.asked.get(id);
    this.asked.delete(id);
    response?.(responses);
  }

  private ask(calls: readonly BucketCall[], response: (responses: BucketReplies) => void): void {
    if (this.asked.size >= MAX_ASKED) return void queueMicrotask(() => this.services.inTurn(() => response(null)));
    const id = ++this.lastId;
    this.asked.set(id, response);
    this.post({ kind: "take", id, calls });
  }
}

/** Calls under way: the control thread answers each within the store's limit of two seconds. */
const MAX_ASKED = 1024;
