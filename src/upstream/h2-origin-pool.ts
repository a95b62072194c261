import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { TimerNode, type TimerOwner } from "../core/timer-wheel.ts";
import type { Exchange, Upstream, UpstreamCaller } from "../message/exchange.ts";
import type { UpstreamFailure } from "../message/upstream.ts";
import { Allowance } from "../proto/h2/allowance.ts";
import { FrameBlock } from "../proto/h2/send-flow.ts";
import { type ConnectionPool, H2UpstreamConnection } from "./h2-upstream-connection.ts";
import { H2UpstreamStream, type StreamPool } from "./h2-upstream-stream.ts";
import { H2_ORIGIN_STREAMS } from "./limits.ts";
import { awaitsName, type ConnectFailure, type OriginSettings, type UpstreamSocketPorts } from "./origin-socket.ts";
import { CALL_BYTES, expectedBodyBytes, H2_SEND_RESERVE_BYTES } from "./send-room.ts";
import { StartRoom } from "./sent-start.ts";

/** Connections of one worker to one origin of HTTP/2 that take streams; what they have no room for waits. */
const MAX_H2_ORIGIN_CONNECTIONS = 128;
/** Of these, those that are made so that request bodies do not share a window; beyond, they share the one that has most room. */
const H2_ORIGIN_SPREAD = 16;
/** Milliseconds for which bodies share connections after a further one could not be made. */
const H2_ORIGIN_SHARE_MS = 10_000;
/** Exchanges of one worker that wait for a stream to one origin; further ones get 503. */
const MAX_H2_ORIGIN_WAITING = 4096;
/** Milliseconds for which the number of streams beyond which an origin has refused one bounds its new connections. */
const H2_LEARNT_MS = 1000;
/**
 * New connections to an origin that turns away or wears out the old ones, at once and a second; then a rest comes before each.
 * As many again if it is us who have reset too much on the old ones.
 */
export const H2_ORIGIN_CHURN_BURST = 8;
const H2_ORIGIN_CHURN_PER_SECOND = 2;
const H2_ORIGIN_REST_MS = 500;

/** Free stream objects that a pool keeps. */
const MAX_FREE_STREAMS = 256;

/**
 * The connections of one worker to one origin that speaks HTTP/2: exchanges share them, another is made when all have as
 * many streams as they may, or where a body might find no window beside others, and what finds no room waits in order.
 * Connections that the origin turns away, or on which streams end badly, are left for new ones, at a bounded rate.
 * docs/security.md#connections-to-origins
 */
export class H2OriginPool implements Upstream, ConnectionPool, StreamPool, TimerOwner {
  readonly settings: OriginSettings;
  readonly context: UpstreamSocketPorts;
  readonly label: string;
  readonly authority: string;
  readonly block: FrameBlock = new FrameBlock();
  private readonly startRoom: StartRoom = new StartRoom();
  /** Those that take further streams, now or when they are there; the newest is the last. */
  private readonly open: H2UpstreamConnection[] = [];
  /** Exchanges without a connection, in the order in which they came. */
  private readonly waiting: Set<H2UpstreamStream> = new Set();
  private readonly free: H2UpstreamStream[] = [];
  private readonly churn = new Allowance(H2_ORIGIN_CHURN_BURST, H2_ORIGIN_CHURN_PER_SECOND);
  private readonly moves = new Allowance(H2_ORIGIN_CHURN_BURST, H2_ORIGIN_CHURN_PER_SECOND);
  private readonly timer: TimerNode = new TimerNode(this);
  private readonly maxConnections: number;
  private nextSerial = 1;
  /** Streams that a new connection will take, as far as is known. */
  private expected = H2_ORIGIN_STREAMS;
  /** Until then no connection is made, since the last ones were turned away. */
  private restUntilMs = -H2_ORIGIN_REST_MS;
  /** Until then bodies share connections, since no further one could be made. */
  private sharesUntilMs = 0;
  private learnt = H2_ORIGIN_STREAMS;
  private learntUntilMs = 0;
  /** Whether connections close as soon as they have no streams. */
  isClosed = false;

  constructor(settings: OriginSettings, context: UpstreamSocketPorts) {
    this.settings = settings;
    this.context = context;
    this.label = settings.originKey;
    this.authority = settings.authority;
    this.maxConnections = settings.maxConnections ?? MAX_H2_ORIGIN_CONNECTIONS;
  }

  send(ex: Exchange, caller: UpstreamCaller): void {
    this.begin(ex, caller, 0);
  }

  /**
   * Exchanges that need a new connection share one as long as it is new, so that many of them make no storm. One that has been left out
   * twice shares only what no exchange has begun on: an origin that retires its connections so soon may be about to retire that one too.
   */
  sendFresh(ex: Exchange, caller: UpstreamCaller): void {
    const newest = this.open[this.open.length - 1];
    const isShared = newest?.isFresh === true && (ex.attempt.leftOuts < 2 || !newest.streams.isUsed);
    this.begin(ex, caller, isShared ? newest.serial : this.nextSerial);
  }

  /** The connection takes no further streams. */
  forget(connection: H2UpstreamConnection): void {
    const index = this.open.indexOf(connection);
    if (index >= 0) this.open.splice(index, 1);
  }

  /** Connections close when their streams are over. */
  close(): void {
    this.isClosed = true;
    this.renew();
  }

  /** Exchanges go over new connections from now on; those under way end where they are. */
  renew(): void {
    for (const connection of this.open.splice(0)) connection.retire();
    this.serve();
  }

  /** Whether a connection that does no good may be left; bounds how many are. */
  mayLeave(): boolean {
    return this.churn.spend(this.context.turn.nowMs);
  }

  /** Whether a connection may be left on which we have reset much. Clients can bring that about: the origin is not blamed. */
  mayMoveOn(): boolean {
    return this.moves.spend(this.context.turn.nowMs);
  }

  /** The origin did not want a connection: where that goes on, a rest comes before the next one. */
  noteTurnedAway(): void {
    if (!this.mayLeave()) this.restUntilMs = this.context.turn.nowMs + H2_ORIGIN_REST_MS;
  }

  /** Streams that a connection is given at most, after the origin has refused more on one a short while ago. */
  get learntLimit(): number {
    return this.context.turn.nowMs < this.learntUntilMs ? this.learnt : H2_ORIGIN_STREAMS;
  }

  /** The origin has refused a stream beyond so many. */
  learnLimit(streams: number): void {
    this.learnt = streams;
    this.learntUntilMs = this.context.turn.nowMs + H2_LEARNT_MS;
  }

  /** The origin has said how many streams a connection may have. */
  onLimit(streams: number): void {
    this.expected = Math.min(H2_ORIGIN_STREAMS, streams);
    for (const stream of this.waiting) if (stream.awaitsConnection) stream.wait(false);
    this.serve();
  }

  /** The origin's name has addresses now: what has waited for it begins to wait for a connection. */
  onNamed(): void {
    for (const stream of this.waiting) if (stream.awaitsConnection) stream.wait(true);
  }

  /** Whether nothing is known of the origin's name yet. */
  get awaitsName(): boolean {
    return awaitsName(this.settings, this.context);
  }

  /** The step at which a new connection waits. */
  get connectLateness(): FaultDetail {
    return this.open.at(-1)?.isReached === true ? FaultDetail.TlsHandshakeTimeout : FaultDetail.ConnectTimeout;
  }

  /** The id of the request that has waited longest for a connection; "" if none waits. */
  get requestId(): string {
    for (const { ex } of this.waiting) return ex?.response.requestId() ?? "";
    return "";
  }

  /** No connection could be made: if there is no other, what waits will not get one. */
  onConnectFailed({ fault, detail }: ConnectFailure): void {
    if (this.open.length > 0) {
      this.sharesUntilMs = this.context.turn.nowMs + H2_ORIGIN_SHARE_MS;
      return this.serve();
    }
    const lost = [...this.waiting];
    for (const stream of lost) if (this.waiting.delete(stream)) stream.fail(fault, detail, false);
  }

  /** A stream is over, or does not wait any more. @param connection null if it has never had one */
  onStreamOver(stream: H2UpstreamStream, connection: H2UpstreamConnection | null): void {
    if (connection === null) this.waiting.delete(stream);
    else connection.streams.forget(stream);
    if (this.free.length < MAX_FREE_STREAMS) this.free.push(stream);
    if (connection === null) return;
    connection.settle();
    if (this.waiting.size > 0) this.serve();
  }

  /** There may be room: what has waited longest begins first; for the rest connections are made. */
  serve(): void {
    if (this.waiting.size === 0) return;
    let misses = 0;
    for (const stream of this.waiting) {
      const connection = this.connectionFor(stream.leastSerial, stream.expectedBytes);
      if (connection === null) {
        // A waiter that needs a new connection does not hold up the others; the pool tries the rest next time.
        const isAny = stream.leastSerial === 0 && stream.expectedBytes < 0;
        if (isAny || ++misses > MAX_MISSES) break;
        continue;
      }
      this.waiting.delete(stream);
      connection.start(stream);
    }
    if (this.waiting.size > 0) this.grow();
  }

  /** The rest is over. */
  onTimer(): void {
    this.serve();
  }

  private begin(ex: Exchange, caller: UpstreamCaller, leastSerial: number): void {
    const expectedBytes = ex.request.hasBody() ? expectedBodyBytes(ex) : -1;
    const connection = this.connectionFor(leastSerial, expectedBytes);
    if (connection === null && this.waiting.size >= MAX_H2_ORIGIN_WAITING) return caller.onFailure(ex, NO_ROOM);
    const stream = this.free.pop() ?? new H2UpstreamStream(this.context, this.startRoom);
    stream.begin(this, ex, caller, leastSerial);
    if (connection !== null) return connection.start(stream);
    this.waiting.add(stream);
    stream.wait(!this.open.some((one) => !one.isComing));
    this.grow();
  }

  /**
   * A connection with room, and with a window for a body; null if one is to be waited for.
   * @param leastSerial of the first that will do; if no more can be made, each will
   * @param bodyBytes what the request's body may have; -1 if there is none
   */
  private connectionFor(leastSerial: number, bodyBytes: number): H2UpstreamConnection | null {
    const { open } = this;
    const isFull = open.length >= this.maxConnections;
    let widest: H2UpstreamConnection | null = null;
    for (let i = 0; i < open.length; i++) {
      const connection = open[i]!;
      if ((connection.serial < leastSerial && !isFull) || !connection.hasRoom()) continue;
      if (bodyBytes < 0 || connection.fitsBody(bodyBytes)) return connection;
      if (widest === null || connection.roomForBody > widest.roomForBody) widest = connection;
    }
    return widest === null || this.mayMakeFor(widest) ? null : widest;
  }

  /** Whether a body waits for a further connection rather than share the one that has most room. */
  private mayMakeFor({ session }: H2UpstreamConnection): boolean {
    const { nowMs } = this.context.turn;
    if (nowMs < Math.max(this.restUntilMs, this.sharesUntilMs)) return false;
    const most = session.sendWindow < H2_SEND_RESERVE_BYTES ? this.maxConnections : H2_ORIGIN_SPREAD;
    return this.open.length < Math.min(most, this.maxConnections);
  }

  /** Makes connections for what waits, as far as they are not on their way already. */
  private grow(): void {
    const { open, waiting, context } = this;
    const expected = Math.min(this.expected, this.learntLimit);
    // An origin that takes no streams for the time being is not helped by another connection.
    if (expected === 0 && open.length > 0) return;
    let coming = 0;
    for (const connection of open) if (connection.isComing) coming++;
    const each = expected === 0 ? waiting.size : expected;
    const apart = Math.min(bodiesOf(waiting), H2_ORIGIN_SPREAD - (open.length - coming));
    const wanted = Math.max(Math.ceil(waiting.size / each), apart);
    if (coming >= wanted) return;
    const restedMs = context.turn.nowMs - this.restUntilMs;
    if (restedMs < 0) return context.wheel.arm(this.timer, this.restUntilMs);
    // After a rest it is tried with one.
    const most = restedMs < H2_ORIGIN_REST_MS ? 1 : MAX_COMING;
    const connectMs = firstOf(waiting).connectMs;
    for (; coming < wanted && coming < most; coming++) {
      if (open.length >= this.maxConnections) this.leaveOne();
      if (open.length >= this.maxConnections) return;
      const connection = new H2UpstreamConnection(this, this.nextSerial++);
      open.push(connection);
      connection.connect(connectMs);
    }
  }

  /** Takes no further streams on a connection that holds little but what was given up; one with live streams at a bounded rate. */
  private leaveOne(): void {
    const deserted = this.open.find(({ isDeserted }) => isDeserted);
    if (deserted !== undefined) deserted.retire();
    else this.open.find(({ isClogged }) => isClogged)?.moveOn();
  }
}

function firstOf(waiting: ReadonlySet<H2UpstreamStream>): H2UpstreamStream {
  for (const stream of waiting) return stream;
  throw new Error("nothing waits");
}

/** Those that may not find a window beside each other, as many as connections are made at a time. */
function bodiesOf(waiting: ReadonlySet<H2UpstreamStream>): number {
  let [looks, bodies] = [0, 0];
  for (const { expectedBytes } of waiting) {
    if (expectedBytes > H2_SEND_RESERVE_BYTES && expectedBytes !== CALL_BYTES) bodies++;
    if (++looks > MAX_MISSES || bodies === MAX_COMING) break;
  }
  return bodies;
}

/** Waiting exchanges that are passed over at a time. */
const MAX_MISSES = 32;
/** Connections that are made at a time. */
const MAX_COMING = 16;

const NO_ROOM: UpstreamFailure = {
  fault: Fault.OriginQueueFull,
  detail: FaultDetail.None,
  sent: false,
  bodyTaken: false,
  answered: false,
  reused: false,
};
