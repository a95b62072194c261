import { copyBytes } from "../../core/bytes.ts";
import { writeWindowUpdate } from "./frame-writer.ts";
import type { Session } from "./session.ts";

/** What became of DATA that has come. */
export const enum RecvFlow {
  Taken = 0,
  /** More than the stream's window allows. */
  BeyondWindow,
  /** More, or at the end less, than was declared. */
  WrongLength,
}

/**
 * The DATA of one stream on its way in: what the peer may send ahead, what was declared, and what is kept while its taker
 * has stopped it. The stream's window opens as the taker takes. RFC 9113 §5.2, §8.1.1.
 */
export class StreamInflow {
  /** Whether the peer has ended the stream. */
  isEnded = false;
  isPaused = false;
  private readonly windowBytes: number;
  private streamId = 0;
  private session!: Session;
  /** Bytes that are still to come where the length is declared; -1 where it is not. */
  private remaining = -1;
  private window = 0;
  private uncredited = 0;
  private kept: Buffer[] = [];
  /** Where the last kept block ends. */
  private keptEnd = 0;
  /** Memory that the kept blocks take. */
  keptRoom = 0;

  /** @param windowBytes the stream's window as it has been announced */
  constructor(windowBytes: number) {
    this.windowBytes = windowBytes;
  }

  /** Makes ready for another stream. */
  begin(streamId: number, session: Session): void {
    this.isEnded = false;
    this.isPaused = false;
    this.streamId = streamId;
    this.session = session;
    this.remaining = -1;
    this.window = this.windowBytes;
    this.uncredited = 0;
  }

  /** The head has said how much will come. @param length -1 where it has not */
  declare(length: number, isEnd: boolean): void {
    this.remaining = length;
    this.isEnded = isEnd;
  }

  /** Whether untaken bytes are kept. */
  get holds(): boolean {
    return this.kept.length > 0;
  }

  /** DATA has come, or the end. @param flowBytes what it takes from the window */
  receive(length: number, flowBytes: number, isEnd: boolean): RecvFlow {
    this.window -= flowBytes;
    if (this.window < 0) return RecvFlow.BeyondWindow;
    this.isEnded = isEnd;
    if (this.remaining < 0) return RecvFlow.Taken;
    this.remaining -= length;
    return this.remaining < 0 || (isEnd && this.remaining > 0) ? RecvFlow.WrongLength : RecvFlow.Taken;
  }

  /** Keeps a piece for later; small ones share a block, so that frames of one byte cost what their bytes cost. */
  keep(bytes: Uint8Array, from: number, to: number): void {
    const last = this.kept[this.kept.length - 1];
    let at = from;
    if (last !== undefined && this.keptEnd < last.length) {
      at = Math.min(to, from + last.length - this.keptEnd);
      this.keptEnd = copyBytes(last, this.keptEnd, bytes, from, at);
    }
    if (at === to) return;
    const block = Buffer.allocUnsafeSlow(Math.max(MIN_KEPT_BYTES, to - at));
    this.keptEnd = copyBytes(block, 0, bytes, at, to);
    this.kept.push(block);
    this.keptRoom += block.length;
  }

  /** Takes the next kept piece; null when there is none. */
  nextKept(): Buffer | null {
    const block = this.kept.shift();
    if (block === undefined) return null;
    this.keptRoom -= block.length;
    return this.kept.length === 0 ? block.subarray(0, this.keptEnd) : block;
  }

  /** Bytes have been taken: the stream's window opens, in steps. */
  credit(flowBytes: number): void {
    this.uncredited += flowBytes;
    if (this.isEnded || this.session.isOver || this.uncredited * 2 < this.windowBytes) return;
    writeWindowUpdate(this.session.out, this.streamId, this.uncredited);
    this.window += this.uncredited;
    this.uncredited = 0;
  }

  /** Lets go of what is kept. @returns its bytes */
  drop(): number {
    let bytes = 0;
    for (let piece = this.nextKept(); piece !== null; piece = this.nextKept()) bytes += piece.length;
    return bytes;
  }
}

const MIN_KEPT_BYTES = 1024;
