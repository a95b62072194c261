import type { Fault } from "../../core/fault.ts";
import { KeptBytes } from "../../core/kept-bytes.ts";
import { type Exchange, ExchangeState, type ResponseSink, type ResponseSource } from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import { PassingSink } from "../../message/passing-sink.ts";
import type { TunnelEnd } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing } from "../../message/request-head.ts";
import { dropTable } from "../../proto/h1/response-encoder.ts";
import { writeFields } from "./field-record.ts";
import type { FunctionLink } from "./function-link.ts";
import { type ResponseRecord, recordFault } from "./response-record.ts";
import { WireWord } from "./wire.ts";

/** Whom a sink asks about a response that it holds. */
interface HookOwner {
  readonly holdsBodies: boolean;
  /** Bytes of a body that is held. */
  readonly maxBodyBytes: number;
  /** There is one: `ask` follows, or `pass`. */
  askResponse(): void;
  onTooLong(): void;
  onExchangeOver(): void;
}

/**
 *   Waiting ──head──▶ (Gathering, with bodies: until the end) ──▶ Holding ──pass──▶ Passing
 *      └──refused, upgraded──▶ Passing                              └──drop──▶ Dropped: another response goes out
 */
const enum Stage {
  Waiting = 0,
  Gathering,
  Holding,
  Passing,
  Dropped,
}

const DROP: Uint8Array = dropTable(HOP_BY_HOP);

/** Holds the head of a response, and what follows of it, until `onResponse` has said what becomes of it. */
export class HookSink extends PassingSink implements ResponseSource {
  private readonly owner: HookOwner;
  private stage: Stage = Stage.Waiting;
  private ex: Exchange | null = null;
  private origin: ResponseSource | null = null;
  private kept: KeptBytes = new KeptBytes();
  private size = 0;
  private hasEnded = false;
  /** Whether the origin was told to wait. */
  private isStopped = false;

  constructor(inner: ResponseSink, owner: HookOwner) {
    super(inner);
    this.owner = owner;
  }

  /** The held data is copied. */
  override get returnsBytes(): boolean {
    return this.stage !== Stage.Passing || super.returnsBytes;
  }

  // ── the response ──────────────────────────────────────────────────────────────────────────────────────────────

  /** What the gateway says in the place of a response stays as it is; what it has made beforehand is a response like another. */
  override fixed(ex: Exchange, response: PrebuiltResponse): void {
    if (this.stage !== Stage.Waiting || response.isRefusal) return this.over(() => this.inner.fixed(ex, response));
    ex.response.status = response.status;
    ex.response.headers.copyFrom(response.block);
    ex.response.framing = response.hasLength ? Framing.Length : Framing.None;
    ex.response.contentLength = response.body.length;
    const hasBody = ex.response.settleBody(ex.request.method);
    // The thread is asked later: until then the response is held.
    this.head(ex);
    if (hasBody && response.body.length > 0) this.body(ex, response.body, 0, response.body.length);
    this.end(ex);
  }

  override head(ex: Exchange): void {
    if (this.stage !== Stage.Waiting) return this.inner.head(ex);
    this.ex = ex;
    this.origin = ex.source;
    ex.source = this;
    if (this.owner.holdsBodies && ex.response.framing !== Framing.None) {
      this.stage = Stage.Gathering;
      return;
    }
    this.stage = Stage.Holding;
    this.owner.askResponse();
  }

  protected override get passesBody(): boolean {
    return this.stage === Stage.Passing;
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    if (this.stage === Stage.Passing) return this.inner.body(ex, bytes, from, to);
    if (this.stage === Stage.Dropped) return true;
    this.kept.keep(bytes, from, to);
    this.size += to - from;
    if (this.stage === Stage.Holding) {
      this.isStopped = true;
      return false;
    }
    if (this.size > this.owner.maxBodyBytes) {
      this.stage = Stage.Holding;
      this.owner.onTooLong();
    }
    return true;
  }

  override end(ex: Exchange): void {
    if (this.stage === Stage.Passing) return this.over(() => this.inner.end(ex));
    if (this.stage === Stage.Dropped) return;
    this.hasEnded = true;
    if (this.stage !== Stage.Gathering) return;
    this.stage = Stage.Holding;
    this.owner.askResponse();
  }

  override abort(ex: Exchange, fault: Fault): void {
    if (this.stage === Stage.Dropped) return;
    this.release();
    this.over(() => this.inner.abort(ex, fault));
  }

  override upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    this.stage = Stage.Passing;
    this.owner.onExchangeOver();
    return this.inner.upgrade(ex, tunnel);
  }

  // ── the hook ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Tells the thread of the response. */
  ask(link: FunctionLink, id: number): void {
    const { status, headers } = this.ex!.response;
    const out = link.record(WireWord.Response, id);
    out.line(status);
    writeFields(out, headers, DROP);
    const hasBody = this.owner.holdsBodies && this.hasEnded;
    out.line(hasBody ? "1" : "0");
    if (!hasBody) return;
    const whole = this.kept.takeWhole();
    out.rawBytes(whole, 0, whole.length);
    this.kept.keepOwn(whole);
  }

  /** Status and fields of the response are these. @returns why they cannot be, or "" */
  setHead(record: ResponseRecord): string {
    const why = recordFault(record);
    if (why !== "") return why;
    const { status, fields } = record;
    const { response } = this.ex!;
    response.status = status;
    const kept = keptFields(response.headers);
    response.headers.resetOwn();
    for (const [name, value] of fields) if (!CONNECTION.test(name)) response.headers.add(name, value);
    for (const [name, value] of kept) response.headers.add(name, value);
    if (status === 204 || status === 205 || status === 304) this.dropBody();
    return "";
  }

  /** The response goes on, and what was held of it. */
  pass(): void {
    const ex = this.ex!;
    const { uses } = ex;
    const { kept, isStopped, hasEnded } = this;
    this.kept = new KeptBytes();
    this.release();
    this.stage = Stage.Passing;
    const isOpen = () => ex.uses === uses && ex.state !== ExchangeState.Finished;
    const { origin } = this;
    this.inner.head(ex);
    let takesMore = true;
    for (let piece = kept.nextKept(); piece !== null && isOpen(); piece = kept.nextKept())
      takesMore = this.inner.body(ex, piece, 0, piece.length);
    if (!isOpen()) return;
    if (hasEnded) this.inner.end(ex);
    else if (isStopped && takesMore) origin!.onWritable(ex);
  }

  /** Another response goes out in its place: what made it is stopped. */
  drop(): void {
    const { ex, origin } = this;
    this.release();
    this.stage = Stage.Passing;
    if (ex === null) return;
    ex.sink = this.inner;
    if (!this.hasEnded) origin?.onCancelled(ex);
    ex.response.trailers = null;
  }

  /** The body is not sent: the status has none. */
  private dropBody(): void {
    const ex = this.ex!;
    if (!this.hasEnded) this.origin!.onCancelled(ex);
    this.hasEnded = true;
    this.kept.drop();
    ex.response.framing = Framing.None;
    ex.response.contentLength = 0;
    ex.response.lengthWithoutBody = false;
  }

  // ── the client, while the response is held ────────────────────────────────────────────────────────────────────

  onWritable(): void {}

  onCancelled(ex: Exchange): void {
    const { origin, hasEnded } = this;
    this.release();
    this.stage = Stage.Dropped;
    this.owner.onExchangeOver();
    if (!hasEnded) origin?.onCancelled(ex);
  }

  /** The client's source is again what makes the response. */
  private release(): void {
    if (this.ex !== null && this.ex.source === this && this.origin !== null) this.ex.source = this.origin;
    this.kept.drop();
  }

  private over(last: () => void): void {
    this.stage = Stage.Passing;
    this.owner.onExchangeOver();
    last();
  }
}

/** Fields that frame the message stay with the gateway: an upstream's length is that of the body, which goes on. */
function keptFields(headers: HeaderBlock): [string, string][] {
  const kept: [string, string][] = [];
  for (let i = 0; i < headers.count; i++)
    if (DROP[headers.ids[i]!] === 1) kept.push([headers.nameText(i), headers.valueText(i)]);
  return kept;
}

const CONNECTION = /^(connection|content-length|transfer-encoding|keep-alive|te|trailer|upgrade|proxy-.*)$/i;
