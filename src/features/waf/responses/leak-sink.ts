import { copyBytes, EMPTY_BYTES } from "../../../core/bytes.ts";
import { Fault } from "../../../core/fault.ts";
import { TimerNode, type TimerOwner, type TimerWheel } from "../../../core/timer-wheel.ts";
import {
  type Exchange,
  ExchangeState,
  type IdleExchangePorts,
  type ResponseSink,
  type ResponseSource,
} from "../../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../../message/header-block.ts";
import { PassingSink } from "../../../message/passing-sink.ts";
import type { NowMs } from "../../../message/ports.ts";
import { Framing, type ResponseHead } from "../../../message/request-head.ts";
import { codingsOf, contentOf, extraBytes } from "../body/content-codings.ts";
import type { LEAK_RULES } from "./leak-rules.ts";
import { type Leak, LeakScan } from "./leak-scan.ts";

/** Bytes of a response's content that are examined for leaks. docs/waf.md#responses */
const MAX_LEAK_BYTES = 16_384;
/** Milliseconds for which a response is held to be examined; then it is examined as it goes out. */
const LEAK_HOLD_MS = 1000;

/**
 *   Waiting ──head: no text, no body──▶ Passing
 *      ├─────▶ Holding: head and body wait ──enough is there, or the end: it is examined──▶ Passing
 *      │          ├──it takes too long, or there is no room──▶ Watching
 *      │          └──it leaks──▶ Over: 502 in its place
 *      ├─────▶ Watching: each piece is examined and goes out ──enough has──▶ Passing
 *      │          └──it leaks, and is to be withheld──▶ Over: the response is cut
 *      └─────▶ Copying: it goes out, and a copy is unpacked when enough is there ──▶ Passing
 */
const enum Stage {
  Waiting = 0,
  Passing,
  Holding,
  Watching,
  Copying,
  Over,
}

/** Says which leaks count, and takes note of them. */
export interface LeakJudge {
  /** Whether a response that leaks is withheld, rather than logged alone. */
  readonly withholds: boolean;
  readonly services: {
    readonly wheel: TimerWheel;
    readonly turn: NowMs;
    readonly idle: IdleExchangePorts;
    /** Room for what is held of responses. */
    readonly room: { take(bytes: number): boolean; giveBack(bytes: number): void };
  };
  /** The rules that count for a request's response. */
  rulesFor(ex: Exchange): typeof LEAK_RULES;
  /** Reports a leak. @returns whether the response is to be withheld */
  report(ex: Exchange, leak: Leak): boolean;
}

/** Looks at the head and the first bytes of one exchange's response. While it keeps any of them it is the client's source. */
export class LeakSink extends PassingSink implements ResponseSource, TimerOwner {
  private readonly policy: LeakJudge;
  private stage: Stage = Stage.Waiting;
  private origin: ResponseSource;
  private scan: LeakScan | null = null;
  /** How the body is compressed. */
  private codings: ReturnType<typeof codingsOf> = [];
  /** Length of the body; -1 if it is known at the end alone. */
  private length = -1;
  /** Bytes of the body that are examined, as they come. */
  private maxBytes = MAX_LEAK_BYTES;
  private seenBytes = 0;
  /** What has been kept of the body, to be examined, in `[0, keptBytes)`. */
  private kept: Buffer | null = null;
  private keptBytes = 0;
  private reserved = 0;
  private timer: TimerNode | null = null;
  /** Whose response is held; null if none is. */
  private ex: Exchange | null = null;

  constructor(inner: ResponseSink, policy: LeakJudge) {
    super(inner);
    this.policy = policy;
    this.origin = policy.services.idle.source;
  }

  /** The held data is a copy. */
  override get returnsBytes(): boolean {
    return this.stage === Stage.Holding || this.stage === Stage.Over || super.returnsBytes;
  }

  override head(ex: Exchange): void {
    const { response, source } = ex;
    const rules = response.fromUpstream ? this.policy.rulesFor(ex) : NO_RULES;
    this.origin = source;
    this.stage = Stage.Passing;
    if (rules.length === 0) return this.inner.head(ex);
    this.scan = new LeakScan(rules);
    const leak = this.inFields(response.headers);
    if (leak !== null && this.policy.report(ex, leak)) return this.refuse(ex);
    if (leak !== null || !hasText(response) || !this.holds(ex)) this.inner.head(ex);
  }

  protected override get passesBody(): boolean {
    return this.stage === Stage.Passing;
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    if (this.stage === Stage.Passing) return this.inner.body(ex, bytes, from, to);
    if (this.stage === Stage.Over) return true;
    const end = Math.min(to, from + this.maxBytes - this.seenBytes);
    this.seenBytes += end - from;
    const isEnough = this.seenBytes === this.maxBytes || this.seenBytes === this.length;
    if (!isEnough && this.stage !== Stage.Watching && this.keep(bytes, from, end))
      return this.stage === Stage.Holding || this.inner.body(ex, bytes, from, to);
    const leak = this.find(bytes, from, end);
    if (leak !== null && this.policy.report(ex, leak)) {
      this.refuse(ex);
      return true;
    }
    // Of a compressed body, what comes later cannot be read by itself.
    const isDone = isEnough || leak !== null || this.codings.length > 0;
    const takesMore = this.goOn(ex, isDone ? Stage.Passing : Stage.Watching);
    return ex.state === ExchangeState.Finished || (this.inner.body(ex, bytes, from, to) && takesMore);
  }

  override end(ex: Exchange): void {
    if (this.stage === Stage.Over) return;
    const leak = this.find(EMPTY_BYTES, 0, 0);
    if (leak !== null && this.policy.report(ex, leak)) return this.refuse(ex);
    this.goOn(ex, Stage.Passing);
    if (ex.state !== ExchangeState.Finished) this.inner.end(ex);
  }

  override abort(ex: Exchange, fault: Fault): void {
    if (this.stage === Stage.Over) return;
    this.letGo(ex, Stage.Over);
    this.inner.abort(ex, fault);
  }

  onWritable(ex: Exchange): void {
    this.origin.onWritable(ex);
  }

  onCancelled(ex: Exchange): void {
    this.letGo(ex, Stage.Over);
    this.origin.onCancelled(ex);
  }

  /** The body takes too long to be waited for: what there is goes out, unless it leaks. */
  onTimer(): void {
    const { ex } = this;
    if (ex === null || this.stage !== Stage.Holding) return;
    const leak = this.find(EMPTY_BYTES, 0, 0);
    if (leak !== null && this.policy.report(ex, leak)) this.refuse(ex);
    else this.goOn(ex, leak !== null || this.codings.length > 0 ? Stage.Passing : Stage.Watching);
  }

  /** Begins to look at the body. @returns whether the head waits for it */
  private holds(ex: Exchange): boolean {
    const { headers, framing, contentLength } = ex.response;
    const { services, withholds } = this.policy;
    const isEvents = EVENT_STREAM.test(headers.valueOf(HeaderId.ContentType));
    this.codings = codingsOf(headers);
    const isCoded = this.codings.length > 0;
    if (isCoded && isEvents) return false;
    if (isCoded) this.maxBytes += extraBytes(headers);
    this.length = framing === Framing.Length ? contentLength : -1;
    this.stage = withholds && !isEvents ? Stage.Holding : isCoded ? Stage.Copying : Stage.Watching;
    if (this.stage === Stage.Watching) return false;
    this.ex = ex;
    ex.source = this;
    if (this.stage === Stage.Copying) return false;
    this.timer = new TimerNode(this);
    services.wheel.arm(this.timer, services.turn.nowMs + LEAK_HOLD_MS);
    return true;
  }

  /** Lets head and body out, as far as they were held. @returns whether the client takes more */
  private goOn(ex: Exchange, next: Stage): boolean {
    const { stage, kept, keptBytes } = this;
    this.letGo(ex, next);
    if (stage !== Stage.Holding) return true;
    this.inner.head(ex);
    if (keptBytes === 0 || ex.state === ExchangeState.Finished) return true;
    return this.inner.body(ex, kept!, 0, keptBytes);
  }

  /** Keeps a copy. @returns false if there is no room */
  private keep(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.kept === null) {
      const room = this.length < 0 ? this.maxBytes : Math.min(this.maxBytes, this.length);
      if (!this.policy.services.room.take(room)) return false;
      this.reserved = room;
      this.kept = Buffer.allocUnsafeSlow(room);
    }
    this.keptBytes = copyBytes(this.kept, this.keptBytes, bytes, from, to);
    return true;
  }

  private inFields(headers: HeaderBlock): Leak | null {
    for (let i = 0; i < headers.count; i++) {
      const leak = this.scan!.inOne(headers.bytes, headers.valueFrom(i), headers.valueTo(i));
      if (leak !== null) return leak;
    }
    return null;
  }

  /** Looks at the kept data, and at a piece after it. */
  private find(bytes: Uint8Array, from: number, to: number): Leak | null {
    const { stage, scan, kept, keptBytes, codings } = this;
    if (stage === Stage.Passing || scan === null) return null;
    if (codings.length === 0) {
      const leak = kept === null ? null : scan.feed(kept, 0, keptBytes);
      return leak ?? scan.feed(bytes, from, to);
    }
    const piece = bytes.subarray(from, to);
    const packed = kept === null ? piece : Buffer.concat([kept.subarray(0, keptBytes), piece]);
    const content = contentOf(codings, packed, MAX_LEAK_BYTES).bytes;
    return scan.feed(content, 0, content.length);
  }

  private refuse(ex: Exchange): void {
    this.letGo(ex, Stage.Over);
    this.origin.onCancelled(ex);
    this.inner.abort(ex, Fault.ResponseWithheld);
  }

  /** Keeps nothing any more, and is no longer the client's source. */
  private letGo(ex: Exchange, next: Stage): void {
    const { services } = this.policy;
    this.stage = next;
    this.ex = null;
    if (ex.source === this) ex.source = this.origin;
    this.kept = null;
    if (this.timer !== null) services.wheel.remove(this.timer);
    this.timer = null;
    services.room.giveBack(this.reserved);
    this.reserved = 0;
  }
}

/** Whether a body comes that may be read, whatever it is called: keys are downloads, and some responses say no type. */
function hasText({ headers, framing, contentLength, withoutBody }: ResponseHead): boolean {
  if (withoutBody || framing === Framing.None || (framing === Framing.Length && contentLength === 0)) return false;
  return !MEDIA.test(headers.valueOf(HeaderId.ContentType));
}

const NO_RULES: typeof LEAK_RULES = [];
const EVENT_STREAM = /^\s*text\/event-stream/i;
/** What is no text, though a format that is text in part may be. */
const MEDIA =
  /^\s*(?:image\/(?!svg)|audio\/|video\/|font\/|application\/(?:grpc|pdf|zip|gzip|wasm|protobuf|x-protobuf|zstd|vnd\.(?:ms-|openxml))|multipart\/x-mixed-replace)/i;
