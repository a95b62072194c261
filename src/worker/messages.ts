import type { MessagesOf } from "../core/message-takers.ts";
import type { ClockReading } from "../core/shared-clock.ts";
import type { WantedMessage } from "../features/acme/acme-messages.ts";
import type { QuestionMessage } from "../features/admin/control-channel.ts";
import type { BreakerMessage } from "../features/balance/balancer.ts";
import type { BannedMessage } from "../features/bans/ban-watch.ts";
import type { CacheBuffers } from "../features/cache/store/cache-memory.ts";
import type { DashboardWord } from "../features/dashboard/dashboard-messages.ts";
import type { FleetWord } from "../features/fleet/fleet-messages.ts";
import type { FunctionWordMessage } from "../features/functions/function-messages.ts";
import type { ListenerCertificates } from "../features/tls/tls-messages.ts";
import type { KeywordMemory } from "../features/waf/rule-table.ts";
import type { BodyBudgetBuffers } from "../memory/body-budget.ts";
import type { ConnectionBuffers } from "../memory/connection-counts.ts";
import type { CounterBuffers, CounterLabels } from "../memory/counter-table.ts";
import type { KnownName, NamedMessage } from "../net/name-resolver.ts";
import type { ListeningSocket, OpeningListener } from "./listeners.ts";
import type { TargetWord } from "./live-targets.ts";
import type { PackedConfig } from "./packed-config.ts";
import type { ListedWorkerServices, SharedFields, StartFields } from "./services.ts";

/** What the control thread tells a worker. */
export type ToWorker =
  | ({
      readonly kind: "start";
      readonly index: number;
      /** How many workers there are. */
      readonly workers: number;
      readonly config: PackedConfig;
      readonly labels: CounterLabels;
      readonly counters: CounterBuffers;
      readonly incidents: SharedArrayBuffer;
      readonly bodyBudget: BodyBudgetBuffers;
      readonly connections: ConnectionBuffers;
      /** Token buckets of the rate limits; see TokenBuckets. */
      readonly buckets: SharedArrayBuffer;
      /** Answers to HTTP-01 challenges; see createChallengeTable. */
      readonly challenges: SharedArrayBuffer;
      /** The control thread's clock at this moment. */
      readonly clock: ClockReading;
      /** The states of the configuration's upstream nodes; see NodeTable. */
      readonly nodes: SharedArrayBuffer;
      /** The places of nodes in it, in the order of the configuration. */
      readonly slots: Int32Array;
      /** Facts about the names of origins. */
      readonly names: readonly KnownName[];
      /** What sticky cookies are made with where their route has no secret: the same in all workers. */
      readonly cookieKey: string;
      /** The memory of the response cache; null if it is off. */
      readonly cache: CacheBuffers | null;
      /** The WAF's tables of keywords; null if it is off. */
      readonly keywords: KeywordMemory | null;
      /** Rings for spans, one a worker; none if none are recorded. */
      readonly spans: readonly SharedArrayBuffer[];
      /** Sockets that listen already, for this worker; if there are none it opens its own. */
      readonly sockets: readonly ListeningSocket[];
      /** Whether a predecessor or a dead worker may still have the UDP port, which cannot be shared or handed over. */
      readonly waitsForQuic: boolean;
      /** What the TLS listeners show. */
      readonly certificates: ListenerCertificates;
      /** UNIX sockets that listen, to be duplicated. */
      readonly unixSockets: readonly ListeningSocket[];
      /** Where the worker shows that it moves; see WorkerWatch. */
      readonly beats: SharedArrayBuffer;
    } & StartFields &
      SharedFields)
  | MessagesOf<ListedWorkerServices>
  /** Build it, change nothing yet, and answer `prepared`. */
  | ({ readonly kind: "prepare" } & NewConfiguration)
  /** Take it up: every worker has built it. To be answered with `applied`. */
  | ({ readonly kind: "commit" } & NewConfiguration)
  /** The same with other targets for the configuration in use. */
  | TargetWord
  /** Some worker could not build it: what has been prepared goes. */
  | { readonly kind: "abort"; readonly id: number }
  /** To be answered with `fenced`: see WorkerFence. */
  | { readonly kind: "fence"; readonly id: number }
  | { readonly kind: "drain"; readonly hasSuccessor: boolean }
  /** Accept on the sockets of another worker too; the descriptors are the receiver's. */
  | { readonly kind: "help"; readonly worker: number; readonly sockets: readonly ListeningSocket[] }
  /** That worker accepts by itself again. */
  | { readonly kind: "leave"; readonly worker: number }
  /** The time for draining is over: end what is left, and answer `drained`. */
  | { readonly kind: "cut" };

/** A configuration that a reload brings, with the shared memory that belongs to it. */
export interface NewConfiguration extends SharedFields {
  /** Names the reload in the responses to it. */
  readonly id: number;
  readonly config: PackedConfig;
  readonly labels: CounterLabels;
  readonly nodes: SharedArrayBuffer;
  readonly cache: CacheBuffers | null;
  /** UNIX sockets that listen, to be duplicated. */
  readonly unixSockets: readonly ListeningSocket[];
  readonly spans: readonly SharedArrayBuffer[];
}

/** Lines of the log; with `access` those of the access log, if they have outputs of their own. */
export interface LinesMessage<Kind extends "log" | "access" = "log" | "access"> {
  readonly kind: Kind;
  readonly batch: string;
  /** With `access`, the name of the set of outputs. */
  readonly outputs?: string;
}

/** What a worker tells the control thread. */
export type FromWorker =
  | { readonly kind: "ready" }
  | { readonly kind: "listening"; readonly sockets: readonly ListeningSocket[] }
  | {
      readonly kind: "failed";
      readonly code: string;
      readonly message: string;
      /** Whose address could not be had, where `code` says so. */
      readonly listener: OpeningListener;
    }
  | QuestionMessage
  | BannedMessage
  | DashboardWord
  | { readonly kind: "fenced"; readonly id: number }
  /** `error` is "" if the configuration can be used. */
  | { readonly kind: "prepared"; readonly id: number; readonly error: string }
  | { readonly kind: "applied"; readonly id: number }
  | LinesMessage<"log">
  | LinesMessage<"access">
  | { readonly kind: "exception"; readonly message: string }
  | FleetWord
  | BreakerMessage
  | NamedMessage
  | WantedMessage
  | FunctionWordMessage
  | { readonly kind: "drained" };
