import type { BucketCall, BucketReplies } from "../../message/bucket-call.ts";
import type { PurgeOrder } from "../../message/purge-order.ts";

/** What workers know of the fleet. */
export interface FleetState {
  /** Whether the store can be reached. */
  readonly isUp: boolean;
  /** Gateways that were last seen, this one among them; at least 1. */
  readonly nodes: number;
  /** How long requests wait for the store. */
  readonly timeoutMs: number;
}

/** From the control thread to a worker. */
export type FleetNews =
  | { readonly kind: "fleet"; readonly state: FleetState }
  /** What the store says of buckets; null while it is away. */
  | { readonly kind: "taken"; readonly id: number; readonly responses: BucketReplies }
  /** Another gateway of the fleet has purged; to one worker. */
  | { readonly kind: "purge"; readonly order: PurgeOrder };

/** From a worker. */
export type FleetWord =
  /** Buckets of the fleet; to be answered with `taken`. */
  | { readonly kind: "take"; readonly id: number; readonly calls: readonly BucketCall[] }
  | { readonly kind: "purged"; readonly order: PurgeOrder };
