import type { QuicSession } from "node:quic";
import { Fault } from "../core/fault.ts";
import { MAX_FREE_EXCHANGES } from "../core/limits.ts";
import { ClientPeer } from "../message/client-peer.ts";
import { Exchange } from "../message/exchange.ts";
import { refuseSession } from "../net/quic.ts";
import { isForbiddenTrailer } from "../proto/h1/trailer-names.ts";
import { type HeadRules, RequestHeadReader } from "../proto/h2/request-head-reader.ts";
import { TrailerReader } from "../proto/h2/trailer-reader.ts";
import { FieldDictionary } from "../proto/h3/field-dictionary.ts";
import { readCertificate } from "./client-certificate.ts";
import type { ClientSocketPorts } from "./client-socket.ts";
import type { IdleSource } from "./connection-gate.ts";
import { H3Session, type H3SessionEndpoint } from "./h3-session.ts";
import { MAX_IDLE_LOOKS, MIN_IDLE_CLOSED_MS } from "./limits.ts";
import type { PassedNames } from "./tls-endpoint.ts";

/** How long the requests that come over an HTTP/3 connection wait for its GOAWAY, so that the client has none on its way then. */
export const H3_HOLD_MS = 100;

/** Who counts what comes over HTTP/3. */
export interface StreamObserver {
  onStreamOpen(): void;
  onStreamClose(): void;
}

/** All HTTP/3 connections of the one worker that has the UDP port. */
export class H3Endpoint implements IdleSource, H3SessionEndpoint {
  readonly ctx: ClientSocketPorts;
  readonly observer: StreamObserver;
  readonly headReader: RequestHeadReader;
  readonly trailerReader: TrailerReader = new TrailerReader(isForbiddenTrailer);
  readonly dictionary: FieldDictionary = new FieldDictionary();
  /** Null if no name is passed through. Those that are have no HTTP/3 here. */
  passed: PassedNames | null = null;
  /** The demand of all handshakes; see `clientDemand`. */
  demand = "";
  private readonly sessions: Set<H3Session> = new Set();
  private readonly free: Exchange[] = [];
  private isHolding = false;
  private isRefusing = false;

  constructor(ctx: ClientSocketPorts, rules: HeadRules, observer: StreamObserver) {
    this.ctx = ctx;
    this.observer = observer;
    this.headReader = new RequestHeadReader(rules);
  }

  /** Connections that are open. */
  get size(): number {
    return this.sessions.size;
  }

  /** Whether a request is in progress. */
  get isAnswering(): boolean {
    for (const session of this.sessions) if (session.isAnswering) return true;
    return false;
  }

  /** Whether a connection is in use, or about to be: see `H3Session.isBusy`. */
  isBusy(nowMs: number): boolean {
    for (const session of this.sessions) if (session.isBusy(nowMs)) return true;
    return false;
  }

  /** Whether a connection begins: see `H3Session.isBeginning`. */
  isBeginning(nowMs: number): boolean {
    for (const session of this.sessions) if (session.isBeginning(nowMs)) return true;
    return false;
  }

  /** Whether a connection was made a moment ago: see `H3Session.isFresh`. */
  isFresh(nowMs: number): boolean {
    for (const session of this.sessions) if (session.isFresh(nowMs)) return true;
    return false;
  }

  /** Takes a connection. */
  accept(session: QuicSession): void {
    this.ctx.turn.begin();
    const { gate } = this.ctx;
    if (gate.enter()) {
      const taken = new H3Session(this, session);
      if (this.isHolding) taken.hold();
      if (this.isRefusing) taken.leave();
      this.sessions.add(taken);
      return;
    }
    // There is no queue in which it could wait. Any earlier, the client would learn of an internal error.
    gate.refused(1);
    session.onerror = IGNORE;
    session.opened.then(() => refuseSession(session), IGNORE);
    session.closed.catch(IGNORE);
  }

  longestIdle(nowMs: number): H3Session | null {
    let longest: H3Session | null = null;
    let longestMs = MIN_IDLE_CLOSED_MS;
    let left = MAX_IDLE_LOOKS;
    for (const session of this.sessions) {
      const idleMs = session.idleMs(nowMs);
      if (idleMs > longestMs) {
        longest = session;
        longestMs = idleMs;
      }
      if (--left === 0) break;
    }
    return longest;
  }

  forget(session: H3Session): void {
    if (this.sessions.delete(session)) this.ctx.gate.leave();
  }

  /** Tells every connection that is there, in H3_HOLD_MS, to close once it has nothing more to answer. */
  drain(): void {
    const present = [...this.sessions];
    for (const session of present) session.hold();
    setTimeout(() => {
      for (const session of present) session.leave();
    }, H3_HOLD_MS);
  }

  /** Refuses connections that come from now on; the runtime may have taken one already that it has not announced. */
  refuse(): void {
    this.isRefusing = true;
  }

  /** Makes the requests of all connections wait for `leave`. */
  hold(): void {
    this.isHolding = true;
    for (const session of this.sessions) session.hold();
  }

  /** Tells every connection at once to close when it has nothing more to answer. */
  leave(): void {
    for (const session of this.sessions) session.leave();
  }

  /** Ends every connection at once, and tells their clients. */
  end(): void {
    for (const session of [...this.sessions]) session.end();
  }

  /**
   * Who is at the other end of a connection whose handshake is done, which has verified the certificate.
   * @returns null if the certificate has expired since the session that is resumed began
   */
  peerOf(session: QuicSession): ClientPeer | null {
    const address = session.path?.remote.address ?? "";
    const { isCurrent, identity } = readCertificate(session.peerCertificate, this.ctx.clock.nowMs);
    if (isCurrent) {
      const peer = new ClientPeer(address, true, session.path?.local.port ?? 0, "", identity, QUIC_TLS);
      peer.listener = this.ctx.listener;
      peer.demand = this.demand;
      return peer;
    }
    this.ctx.observer.onRefused(Fault.ClientCertificateRefused, address);
    return null;
  }

  /** An exchange, fresh or used before. */
  takeExchange(): Exchange {
    const { idlePorts } = this.ctx;
    const free = this.free.pop();
    if (free === undefined) return new Exchange(idlePorts);
    free.reset(idlePorts);
    return free;
  }

  /** Takes back an exchange without references. */
  giveExchange(exchange: Exchange): void {
    exchange.release();
    if (this.free.length < MAX_FREE_EXCHANGES) this.free.push(exchange);
  }
}

const IGNORE = (): void => {};

/** RFC 9001 §4.2: QUIC speaks no other version. */
const QUIC_TLS = { getTLSVersion: () => "TLSv1.3" };
