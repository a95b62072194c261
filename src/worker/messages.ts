import type { ClockReading } from "../core/shared-clock.ts";
import type { FieldsOfEvent } from "../facts/events.ts";
import type { ControlQuestion, ControlReply } from "../features/admin/control-channel.ts";
import type { FetchedKeySet } from "../features/auth/jwt/key-ring.ts";
import type { BreakerChange } from "../features/balance/balancer.ts";
import type { CacheBuffers } from "../features/cache/store/cache-memory.ts";
import type { FleetNews, FleetState, FleetWord } from "../features/fleet/fleet-messages.ts";
import type { FunctionNewsMessage, FunctionWordMessage } from "../features/functions/function-messages.ts";
import type { GeoBuffers } from "../features/geo/place-finder.ts";
import type { LogLevel } from "../features/telemetry/log-level.ts";
import type { CertificatesMessage, ListenerCertificates } from "../features/tls/tls-messages.ts";
import type { KeywordMemory } from "../features/waf/rule-table.ts";
import type { BodyBudgetBuffers } from "../memory/body-budget.ts";
import type { ConnectionBuffers } from "../memory/connection-counts.ts";
import type { CounterBuffers, CounterLabels } from "../memory/counter-table.ts";
import type { KnownName } from "../net/name-resolver.ts";
import type { ListeningSocket, OpeningListener } from "./listeners.ts";
import type { PackedConfig } from "./packed-config.ts";

/** What the control thread tells a worker. */
export type ToWorker =
  | {
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
      /** What is known of the names of origins. */
      readonly names: readonly KnownName[];
      /** What sticky cookies are made with where their route has no secret: the same in all workers. */
      readonly cookieKey: string;
      /** The memory of the response cache; null where it is off. */
      readonly cache: CacheBuffers | null;
      /** The WAF's tables of keywords; null where it is off. */
      readonly keywords: KeywordMemory | null;
      /** The databases of addresses. */
      readonly geo: GeoBuffers;
      readonly fleet: FleetState;
      /** Rings for spans, one a worker; none where none are recorded. */
      readonly spans: readonly SharedArrayBuffer[];
      /** Sockets that listen already, for this worker; where there are none it opens its own. */
      readonly sockets: readonly ListeningSocket[];
      /** Whether a predecessor or a dead worker may still have the UDP port, which cannot be shared or handed over. */
      readonly waitsForQuic: boolean;
      /** What the TLS listeners show. */
      readonly certificates: ListenerCertificates;
      /** The fetched keys of token issuers that are there. */
      readonly keySets: readonly FetchedKeySet[];
      readonly logLevel: LogLevel;
      /** Of `internal_api.socket`, to be duplicated; -1 where there is none. */
      readonly internalSocket: number;
      /** Where the worker shows that it moves; see WorkerWatch. */
      readonly beats: SharedArrayBuffer;
    }
  | { readonly kind: "answer"; readonly reply: ControlReply }
  /** Build it, change nothing yet, and answer `prepared`. */
  | ({ readonly kind: "prepare" } & NewConfiguration)
  /** Take it up: every worker has built it. To be answered with `applied`. */
  | ({ readonly kind: "commit" } & NewConfiguration)
  /** Some worker could not build it: what has been prepared goes. */
  | { readonly kind: "abort"; readonly id: number }
  | CertificatesMessage
  | { readonly kind: "geo"; readonly geo: GeoBuffers }
  /** Another thread has found addresses. */
  | { readonly kind: "names"; readonly known: KnownName }
  | FleetNews
  | FunctionNewsMessage
  /** How much is logged from now on. */
  | { readonly kind: "log-level"; readonly level: LogLevel }
  /** Keys of token issuers, newer than what was there. */
  | { readonly kind: "keys"; readonly sets: readonly FetchedKeySet[] }
  /** The certificate that a client of this worker has asked for is there, or there will be none. */
  | { readonly kind: "settled"; readonly name: string }
  /** The dashboard is watched, or no longer: say once a second what was `seen`. */
  | { readonly kind: "observe"; readonly isWatched: boolean }
  /** An event for the watchers of this worker. */
  | { readonly kind: "live"; readonly text: string }
  /** To be answered with `fenced`: see WorkerFence. */
  | { readonly kind: "fence"; readonly id: number }
  /** The process will drain soon: what asks for its health is to know. */
  | { readonly kind: "leaving" }
  | { readonly kind: "drain"; readonly hasSuccessor: boolean }
  /** Accept on the sockets of another worker too; the descriptors are the receiver's. */
  | { readonly kind: "help"; readonly worker: number; readonly sockets: readonly ListeningSocket[] }
  /** That worker accepts by itself again. */
  | { readonly kind: "leave"; readonly worker: number }
  /** The time for draining is over: end what is left, and answer `drained`. */
  | { readonly kind: "cut" };

/** A configuration that a reload brings, with the shared memory that belongs to it. */
export interface NewConfiguration {
  /** Names the reload in the responses to it. */
  readonly id: number;
  readonly config: PackedConfig;
  readonly labels: CounterLabels;
  readonly nodes: SharedArrayBuffer;
  readonly cache: CacheBuffers | null;
  readonly geo: GeoBuffers;
  /** Of `internal_api.socket`, to be duplicated; -1 where there is none. */
  readonly internalSocket: number;
  readonly spans: readonly SharedArrayBuffer[];
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
  | { readonly kind: "question"; readonly question: ControlQuestion }
  /** So many clients watch the dashboard by this worker. */
  | { readonly kind: "watchers"; readonly count: number }
  /** `seen` is a SeenTraffic as JSON: many small objects are dearer to clone. */
  | { readonly kind: "seen"; readonly seen: string }
  /** The worker has logged that an operator has done something. */
  | { readonly kind: "audited"; readonly fields: FieldsOfEvent<"audit"> }
  | { readonly kind: "fenced"; readonly id: number }
  /** `error` is "" where the configuration can be used. */
  | { readonly kind: "prepared"; readonly id: number; readonly error: string }
  | { readonly kind: "applied"; readonly id: number }
  | { readonly kind: "log"; readonly batch: string }
  /** Lines of the access log, where they have outputs of their own. */
  | { readonly kind: "access"; readonly batch: string }
  | { readonly kind: "exception"; readonly message: string }
  | FleetWord
  | { readonly kind: "breaker"; readonly key: string; readonly change: BreakerChange }
  /** Addresses that the other threads may not know. */
  | { readonly kind: "named"; readonly known: KnownName }
  /** A client asks for a name that has no certificate; `settled` answers. */
  | { readonly kind: "wanted"; readonly name: string }
  | FunctionWordMessage
  | { readonly kind: "drained" };
