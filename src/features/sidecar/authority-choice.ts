import { Fault } from "../../core/fault.ts";
import { faultRow } from "../../core/fault-rows.ts";
import { CLIENT_CLOSED_STATUS } from "../../core/status.ts";
import type { Exchange, Target, Upstream } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import type { TargetChoice } from "../../message/target.ts";
import type { UpstreamFailure } from "../../message/upstream.ts";

/** Origins that requests to the outbound listener of a sidecar have named and that are remembered, a worker. */
export const MAX_EGRESS_ORIGINS = 1024;

/** Counts what origins answer. */
interface OriginTally {
  upstreamAnswered(label: string, status: number, durationMs: number): void;
}

/** Gives the connections to an origin, and takes them back. */
export interface OriginSource {
  /**
   * The origin that an authority names.
   * @param authority `host` or `host:port`, as it came
   * @returns its key and connections, or why it cannot be one: BadHost, or LoopDetected where it is this listener itself
   */
  originOf(scheme: "http" | "https", authority: string): Upstream | Fault;
  /** Whether an address is a listener of the gateway's own: such a connection came by itself. @param authority `address:port` */
  isOwn(authority: string): boolean;
  /** Closes the connections of an origin that has not been asked for in a long time. */
  forget(upstream: Upstream): void;
}

/**
 * The choice where a request names its server itself. The targets that were used last are kept, one an origin as it is
 * written.
 */
export class AuthorityChoice implements TargetChoice {
  private readonly origins: OriginSource;
  private readonly tally: OriginTally;
  private readonly turn: NowMs;
  /** In the order of their last use. */
  private readonly targets: Map<string, OriginTarget> = new Map();

  constructor(origins: OriginSource, tally: OriginTally, turn: NowMs) {
    this.origins = origins;
    this.tally = tally;
    this.turn = turn;
  }

  /** Why the request names no server that it could go to; Fault.None if it does. */
  faultOf(ex: Exchange): Fault {
    const target = this.targetOf(ex);
    return target instanceof OriginTarget ? Fault.None : target;
  }

  choose(ex: Exchange): Target | null {
    const target = this.targetOf(ex);
    if (!(target instanceof OriginTarget)) return null;
    ex.attempt.target = target;
    ex.attempt.attemptedMs = this.turn.nowMs;
    return target;
  }

  chooseAgain(ex: Exchange, onlyAnother: boolean): Target | null {
    return onlyAnother ? null : this.choose(ex);
  }

  private targetOf(ex: Exchange): OriginTarget | Fault {
    const { request, client } = ex;
    const { destination } = client;
    // Whatever the request says: it was on its way to there.
    const isRedirected = destination !== "" && !this.origins.isOwn(destination);
    const authority = isRedirected ? destination : request.authority();
    if (authority === "") return Fault.MissingHost;
    const isSecure = !isRedirected && request.authorityTo > request.authorityFrom && HTTPS.test(request.target());
    const key = `${isSecure ? "https" : "http"}://${authority.toLowerCase()}`;
    const known = this.targets.get(key);
    if (known !== undefined) {
      this.targets.delete(key);
      this.targets.set(key, known);
      return known;
    }
    const upstream = this.origins.originOf(isSecure ? "https" : "http", authority);
    if (typeof upstream === "number") return upstream;
    const target = new OriginTarget(upstream, this.tally, this.turn);
    this.targets.set(key, target);
    if (this.targets.size > MAX_EGRESS_ORIGINS) this.forgetOldest();
    return target;
  }

  private forgetOldest(): void {
    const [key, target] = this.targets.entries().next().value!;
    this.targets.delete(key);
    // Two spellings may lead to one origin.
    const isShared = [...this.targets.values()].some((one) => one.upstream === target.upstream);
    if (!isShared) this.origins.forget(target.upstream);
  }
}

/** A server that a request has named. */
class OriginTarget implements Target {
  readonly upstream: Upstream;
  readonly basePath: Buffer = NO_PATH;
  private readonly tally: OriginTally;
  private readonly turn: NowMs;

  constructor(upstream: Upstream, tally: OriginTally, turn: NowMs) {
    this.upstream = upstream;
    this.tally = tally;
    this.turn = turn;
  }

  onAnswer(ex: Exchange, status: number): void {
    this.count(ex, status);
  }

  onFailure(ex: Exchange, { fault }: UpstreamFailure): void {
    ex.attempt.target = null;
    this.count(ex, faultRow(fault).status);
  }

  /** There is no other target. */
  onReplaced(): void {}

  onOver(ex: Exchange): void {
    ex.attempt.target = null;
    this.count(ex, CLIENT_CLOSED_STATUS);
  }

  private count(ex: Exchange, status: number): void {
    if (ex.attempt.attemptedMs < 0) return;
    this.tally.upstreamAnswered(this.upstream.label, Math.min(status, 599), this.turn.nowMs - ex.attempt.attemptedMs);
    ex.attempt.attemptedMs = -1;
  }
}

/** The scheme of an absolute-form target. */
const HTTPS = /^https:/i;
const NO_PATH: Buffer = Buffer.alloc(0);
