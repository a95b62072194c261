import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { ControlQuestion, ControlReply } from "../features/admin/control-channel.ts";
import type { BreakerChange } from "../features/balance/upstream-node.ts";
import type { CounterBuffers, CounterLabels } from "../shared/counter-table.ts";
import type { ClockReading } from "./shared-clock.ts";

/** What the control thread tells a worker. */
export type ToWorker =
  | {
      readonly kind: "start";
      readonly index: number;
      readonly config: RuntimeConfig;
      readonly labels: CounterLabels;
      readonly counters: CounterBuffers;
      readonly incidents: SharedArrayBuffer;
      readonly bodyBudget: SharedArrayBuffer;
      /** Token buckets of the rate limits; see TokenBuckets. */
      readonly buckets: SharedArrayBuffer;
      /** The control thread's clock at this moment. */
      readonly clock: ClockReading;
      /** The states of the configuration's upstream nodes; see NodeTable. */
      readonly nodes: SharedArrayBuffer;
      /** Sockets that listen already, for this worker; where there are none it opens its own. */
      readonly fds: readonly number[];
      /** When the process started, in milliseconds since the epoch. */
      readonly startedAtMs: number;
      /** Whether the endpoints that only tests use are there. */
      readonly testHooks: boolean;
    }
  | { readonly kind: "answer"; readonly reply: ControlReply }
  | {
      readonly kind: "reload";
      readonly config: RuntimeConfig;
      readonly labels: CounterLabels;
      readonly nodes: SharedArrayBuffer;
    }
  | { readonly kind: "drain" };

/** What a worker tells the control thread. */
export type FromWorker =
  | { readonly kind: "ready" }
  | { readonly kind: "listening"; readonly fds: readonly number[] }
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  | { readonly kind: "question"; readonly question: ControlQuestion }
  | { readonly kind: "log"; readonly batch: string }
  | { readonly kind: "exception"; readonly message: string }
  | { readonly kind: "breaker"; readonly key: string; readonly change: BreakerChange }
  | { readonly kind: "drained" };
