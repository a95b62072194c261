import { Fault } from "../../core/fault.ts";
import { KeptBytes } from "../../core/kept-bytes.ts";
import { type Exchange, mayRespond } from "../../message/exchange.ts";
import type { FunctionLink } from "./function-link.ts";
import { type ResponseRecord, recordFault, setResponse } from "./response-record.ts";
import { discard, TakenBytes } from "./wire.ts";

/** Who owns a response that comes of a thread. */
export interface ThreadResponseOwner {
  /** The head goes out now. */
  onHead(): void;
  /** Something of it has come, or has been taken. */
  onProgress(): void;
  /** All of it has been given: the exchange's end is the owner's to write. */
  onComplete(): void;
  /** It is none that can be sent, or breaks off. @param why for the log; "" if that has been logged */
  onBroken(why: string): void;
  /** The exchange has ended meanwhile. */
  onEnded(): void;
}

/** Gives a response of a thread to the client's sink, as the client takes it. */
export class ThreadResponse {
  /** Whether the client takes nothing for now. */
  isFull = false;
  isBegun = false;
  private readonly ex: Exchange;
  private readonly link: FunctionLink;
  private readonly id: number;
  private readonly owner: ThreadResponseOwner;
  /** Bytes that are still to come; infinite where that is not known. */
  private left = Number.POSITIVE_INFINITY;
  private readonly held: KeptBytes = new KeptBytes();
  /** What the client's sink may still keep a part of. */
  private lent: Uint8Array | null = null;
  private hasEnded = false;
  private readonly taken: TakenBytes = new TakenBytes();
  private isOver = false;

  constructor(ex: Exchange, link: FunctionLink, id: number, owner: ThreadResponseOwner) {
    this.ex = ex;
    this.link = link;
    this.id = id;
    this.owner = owner;
  }

  begin(record: ResponseRecord): void {
    const { ex, owner } = this;
    if (this.isBegun) return;
    const fault = recordFault(record);
    if (fault !== "") return owner.onBroken(`the response cannot be sent: ${fault}`);
    this.isBegun = true;
    owner.onHead();
    const withBody = setResponse(ex, record);
    if (withBody && record.mode === "2" && record.length >= 0) this.left = record.length;
    ex.sink.head(ex);
    if (record.mode === "1" && withBody && mayRespond(ex)) ex.sink.body(ex, record.body!, 0, record.body!.length);
    if (!mayRespond(ex)) this.ended();
    else if (record.mode === "2") owner.onProgress();
    else this.complete();
  }

  piece(bytes: Uint8Array): void {
    if (this.isOver) return;
    this.left -= bytes.length;
    if (this.left < 0) return this.owner.onBroken("the body is longer than its Content-Length");
    this.owner.onProgress();
    if (this.isFull) this.held.keepOwn(bytes);
    else this.give(bytes);
  }

  end(): void {
    if (this.isOver) return;
    if (this.left > 0 && Number.isFinite(this.left))
      return this.owner.onBroken("the body is shorter than its Content-Length");
    this.hasEnded = true;
    if (!this.held.holds) this.complete();
  }

  /** The client takes bytes again. */
  onWritable(): void {
    if (this.isOver) return;
    this.isFull = false;
    if (this.lent !== null && this.ex.sink.returnsBytes === true) discard(this.lent);
    this.lent = null;
    this.owner.onProgress();
    this.credit(0);
    while (!this.isFull && this.held.holds && !this.isOver) this.give(this.held.nextKept()!);
    if (this.hasEnded && !this.held.holds && !this.isOver) this.complete();
  }

  /** Nothing more is given. */
  stop(): void {
    this.isOver = true;
    this.held.drop();
  }

  private give(bytes: Uint8Array): void {
    const { ex } = this;
    const takesMore = ex.sink.body(ex, bytes, 0, bytes.length);
    if (!mayRespond(ex)) return this.ended();
    if (takesMore) {
      const { length } = bytes;
      if (ex.sink.returnsBytes === true) discard(bytes);
      this.credit(length);
    } else {
      this.isFull = true;
      this.lent = bytes;
      this.taken.add(bytes.length);
    }
  }

  /** Tells the thread what has been taken, in steps. */
  private credit(bytes: number): void {
    this.taken.add(bytes);
    this.taken.tell(this.link, this.id);
  }

  private complete(): void {
    this.stop();
    this.owner.onComplete();
  }

  private ended(): void {
    this.stop();
    this.owner.onEnded();
  }
}

/** The refusal of a request that a thread has failed with this status. */
export function faultOfStatus(status: number): Fault {
  return status === 400 ? Fault.BadTarget : status === 501 ? Fault.FunctionMethod : Fault.FunctionFailed;
}
