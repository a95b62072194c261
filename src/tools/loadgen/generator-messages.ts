import type { ThreadPlan } from "./load-plan.ts";
import type { Samples } from "./sample-batch.ts";

/** From the command to a generator thread. */
export type ToGenerator =
  | { readonly kind: "connect"; readonly share: ThreadPlan }
  /** The clock of all threads begins at this time, in milliseconds since the epoch. */
  | { readonly kind: "start"; readonly startEpochMs: number }
  | { readonly kind: "stop" };

/** From a generator thread. */
export type FromGenerator =
  | { readonly kind: "ready" }
  /** All connections are open, or have failed once. */
  | { readonly kind: "connected" }
  | { readonly kind: "samples"; readonly samples: Samples }
  /** All has ended; the time of the last request counts from the beginning of the run's clock. */
  | { readonly kind: "done"; readonly lastSentMs: number };
