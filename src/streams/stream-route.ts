import type { OpenStreams, StreamCounters } from "../memory/stream-counters.ts";
import type { StreamRecord } from "../memory/stream-record.ts";
import type { OriginSettings } from "../upstream/origin-socket.ts";

/** What balancing keeps of a connection that looks for a target; see StreamAttempt. */
export interface StreamAttempt {
  readonly clientIp: string;
  triedTargets: number;
  attemptedMs: number;
  readonly upstreamMs: number;
  isTrial: boolean;
  isForced: boolean;
}

/** A target of a stream, chosen for a connection, and told what becomes of it. */
export interface ForwardTarget {
  readonly bit: number;
  readonly dial: OriginSettings;
  readonly node: {
    onConnected(attempt: StreamAttempt): void;
    /** @param isOurs whether that says nothing of the target */
    onNotConnected(attempt: StreamAttempt, isOurs: boolean): void;
    disconnected(): void;
  };
}

/** One stream of a configuration, in one worker: what its connections ask. Those that are there keep the one they began with. */
export interface StreamRoute {
  /** Its name in metrics and log. */
  readonly label: string;
  readonly protocol: StreamRecord["protocol"];
  readonly connectMs: number;
  readonly idleMs: number;
  /** Targets that are tried for one connection. */
  readonly attempts: number;
  readonly sendProxy: "" | "v1" | "v2";
  readonly maxConnections: number;
  readonly counters: StreamCounters;
  readonly open: OpenStreams;
  /** Puts a connection on its way. @returns null if there is no target that may have it */
  choose(attempt: StreamAttempt): ForwardTarget | null;
  /** Whether anything depends on the client's address: who may come in, its target, what the log says. */
  readonly needsAddress: boolean;
  /** Knows who is banned; null if no client can be. */
  readonly bans: { isBanned(address: string): boolean } | null;
  /** Whether clients at this address may come in. */
  admits(address: string): boolean;
  /** A connection is over, or was refused. Null if that is not logged. */
  readonly log: ((record: StreamRecord) => void) | null;
}
