import { Clock } from "../core/clock.ts";
import type { Takers } from "../core/message-takers.ts";
import { TimerWheel, Turn } from "../core/timer-wheel.ts";
import type { WorkerService } from "../core/worker-service.ts";
import { IDLE_PORTS } from "../message/idle-ports.ts";
import { type KnownName, type NameResolver, type NamesMessage, threadResolver } from "../net/name-resolver.ts";
import { SlabPool, WriterGroup } from "../net/socket-buffers.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { nameDetail } from "../upstream/failure-detail.ts";
import type { UpstreamSocketPorts } from "../upstream/origin-socket.ts";

/** A worker whose tick comes so much later than the one before has been stalled: a stopped process, a machine asleep. */
const STANDSTILL_MS = 250;

/** What one worker has once, whatever its configuration. */
export class WorkerServices implements WorkerService<Pick<RuntimeConfig, "proxy">> {
  readonly onMessage: Takers<NamesMessage> = { names: ({ known }) => this.names.learn(known) };
  readonly turn: Turn = new Turn();
  readonly clock: Clock = new Clock(Date.now);
  readonly writers: WriterGroup = new WriterGroup(new SlabPool());
  readonly wheel: TimerWheel;
  readonly names: NameResolver;
  readonly upstream: UpstreamSocketPorts;
  private tickedMs: number = this.turn.nowMs;
  private isForgiving = false;

  /**
   * @param onException is notified of every exception that escaped from the data plane
   * @param onFailed is notified of every attempt at an origin that has failed
   * @param onLeniency is notified of every response that was taken although it departs from HTTP/1.1
   * @param onScriptErrors is notified of what scripts write of errors
   * @param onKnown is notified of addresses that the other threads may not know
   */
  constructor(
    onException: (error: unknown) => void,
    onFailed: UpstreamSocketPorts["onFailed"],
    onLeniency: UpstreamSocketPorts["onLeniency"],
    onScriptErrors: NonNullable<UpstreamSocketPorts["onScriptErrors"]> = () => {},
    onKnown: (known: KnownName) => void = () => {},
  ) {
    this.wheel = new TimerWheel(this.turn.nowMs, onException);
    this.names = threadResolver((name, failure) => onFailed(name, failure, nameDetail(failure), ""), onKnown);
    const { turn, writers, wheel } = this;
    this.upstream = {
      writers,
      wheel,
      turn,
      idlePorts: IDLE_PORTS,
      names: this.names,
      onFailed,
      onLeniency,
      onScriptErrors,
      onException,
    };
  }

  use({ proxy }: Pick<RuntimeConfig, "proxy">): void {
    this.names.use(proxy.transport);
  }

  /**
   * Runs timers and refreshes the date; called every TICK_MS. After a standstill the timers wait for one more tick: what has
   * come meanwhile came in time, and is read before any worker is called late.
   */
  tick(): void {
    const { turn } = this;
    turn.begin();
    this.clock.update();
    this.isForgiving = !this.isForgiving && turn.nowMs - this.tickedMs > STANDSTILL_MS;
    this.tickedMs = turn.nowMs;
    if (!this.isForgiving) this.wheel.advance(turn.nowMs);
    this.writers.flushAll();
  }

  /** Runs something that is not a socket event as a turn of its own. */
  inTurn(work: () => void): void {
    this.turn.begin();
    work();
    this.writers.flushAll();
  }
}
