import { LENIENCIES } from "../../../../src/core/leniency.ts";
import { ForwardHandler, type ForwardSettings } from "../../../../src/features/forward/forward-handler.ts";
import { RequestIds } from "../../../../src/features/forward/forward-head.ts";
import type { Exchange, Phase, Target } from "../../../../src/message/exchange.ts";
import { IDLE_PORTS as IDLE } from "../../../../src/message/idle-ports.ts";
import type { TargetChoice } from "../../../../src/message/target.ts";
import type { UpstreamFailure } from "../../../../src/message/upstream.ts";
import { threadResolver } from "../../../../src/net/name-resolver.ts";
import { OriginPool } from "../../../../src/upstream/h1-upstream.ts";
import type { UpstreamSocketPorts } from "../../../../src/upstream/origin-socket.ts";
import { ClientSession } from "../../edge/client-session.ts";
import { budgetOf } from "../ingest/body-route.ts";

/** Times of the origin's side; shorter than the client's where they are compared. */
export const TIMES = { connectMs: 5000, responseHeaderMs: 15_000, idleMs: 25_000 } as const;
export const KEPT_MS = 90_000;

/** Takes one pool after the other and writes down what becomes of the attempts. */
class InTurn implements TargetChoice {
  readonly failures: UpstreamFailure[] = [];
  private readonly targets: readonly Target[];
  private next = 0;

  constructor(pools: readonly OriginPool[]) {
    this.targets = pools.map((upstream) => ({
      upstream,
      basePath: Buffer.alloc(0),
      onAnswer: () => {},
      onFailure: (_ex: Exchange, failure: UpstreamFailure) => void this.failures.push(failure),
      onReplaced: () => {},
      onOver: () => {},
    }));
  }

  choose(ex: Exchange): Target {
    const target = this.targets[this.next++ % this.targets.length]!;
    ex.attempt.target = target;
    return target;
  }

  chooseAgain(ex: Exchange, onlyAnother: boolean): Target | null {
    return onlyAnother && this.targets.length === 1 ? null : this.choose(ex);
  }
}

/** A client connection whose requests all go to an origin. */
export class ForwardSession {
  readonly client: ClientSession;
  readonly pools: OriginPool[];
  /** What answers needed of a lenient origin. */
  readonly leniencies: string[] = [];
  private readonly choice: InTurn;

  /**
   * @param ports of the origins, taken in turn
   * @param phases before forwarding
   * @param isLenient whether what old origins send is taken
   */
  constructor(
    ports: readonly number[] = [81],
    settings: Partial<ForwardSettings> = {},
    phases: readonly Phase[] = [],
    isLenient = false,
  ) {
    const script = (ex: Exchange): void => void handler.handle(ex);
    this.client = new ClientSession(script, {}, phases);
    const { ctx, turn, wheel } = this.client;
    const context: UpstreamSocketPorts = {
      writers: ctx.writers,
      wheel,
      turn,
      idlePorts: IDLE,
      names: threadResolver(() => {}),
      onFailed: () => {},
      onLeniency: (_origin, what) => void this.leniencies.push(LENIENCIES[what]!),
      onException: (error) => void this.client.exceptions.push(error),
    };
    this.pools = ports.map((port) => new OriginPool({ ...originAt(port), isLenient }, context));
    this.choice = new InTurn(this.pools);
    const bodies = budgetOf(64);
    const services = { requestIds: new RequestIds({ nowMs: 1_700_000_000_000 }), wheel, turn, bodies };
    const handler = new ForwardHandler({ ...FORWARD, ...settings }, this.choice, services);
  }

  /** What the attempts failed of. */
  get failures(): readonly UpstreamFailure[] {
    return this.choice.failures;
  }

  /** Kept connections of all origins. */
  get kept(): number {
    return this.pools.reduce((sum, pool) => sum + pool.idleCount, 0);
  }
}

const FORWARD: ForwardSettings = {
  preserveHost: true,
  times: TIMES,
  totalMs: 0,
  retryAttempts: 1,
  retryStatuses: null,
  backoffMs: 0,
  canBeRefused: false,
  streamsBodies: false,
  failureStatuses: null,
  requestEdits: null,
  signer: null,
  responseEdits: null,
  responseRewrite: null,
};

function originAt(port: number) {
  return {
    originKey: `http://origin.test:${port}`,
    hostname: "192.0.2.1",
    port,
    authority: `origin.test:${port}`,
    tls: null,
    maxIdleConnections: 2,
    maxResponseFields: 256,
    idleTimeoutMs: KEPT_MS,
  };
}
