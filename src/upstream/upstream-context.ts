import type { Leniency } from "../core/leniency.ts";
import type { TimerWheel, Turn } from "../core/timer-wheel.ts";
import type { IdleExchangePorts } from "../message/exchange.ts";
import type { NameResolver } from "../net/name-resolver.ts";
import type { WriterGroup } from "../net/socket-buffers.ts";

/** What all upstream connections of one worker share. */
export interface UpstreamContext {
  readonly writers: WriterGroup;
  readonly wheel: TimerWheel;
  readonly turn: Turn;
  readonly idlePorts: IdleExchangePorts;
  /** The addresses of origins that are named. */
  readonly names: NameResolver;
  /** What every socket event begins and ends with: the time is read, the gathered output is sent. */
  beginTurn(): void;
  endTurn(): void;
  /** No connection to an origin could be made: why, as the system or the TLS library puts it. */
  onConnectFailed(originKey: string, reason: string): void;
  /** An answer of an origin was taken although it departs from HTTP/1.1. */
  onLeniency(originKey: string, what: Leniency): void;
  /** An exception escaped from the handling of an upstream connection. */
  onException(error: unknown): void;
}
