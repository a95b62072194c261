import { KeptBytes } from "../../core/kept-bytes.ts";
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
 * The DATA of one stream on its way in: what the peer may send ahead, what was declared, and the kept data while its taker
 * has stopped it. The stream's window opens as the taker takes. RFC 9113 §5.2, §8.1.1.
 */
export class StreamInflow extends KeptBytes {
  /** Whether the peer has ended the stream. */
  isEnded = false;
  isPaused = false;
  private readonly windowBytes: number;
  private streamId = 0;
  private session!: Session;
  /** Bytes that are still to come where the length is declared; -1 if it is not. */
  private remaining = -1;
  private window = 0;
  private uncredited = 0;
  /** @param windowBytes the stream's window as it has been announced */
  constructor(windowBytes: number) {
    super();
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

  /** The head has said how much will come. @param length -1 if it has not */
  declare(length: number, isEnd: boolean): void {
    this.remaining = length;
    this.isEnded = isEnd;
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

  /** Bytes have been taken: the stream's window opens, in steps. */
  credit(flowBytes: number): void {
    this.uncredited += flowBytes;
    if (this.isEnded || this.session.isOver || this.uncredited * 2 < this.windowBytes) return;
    writeWindowUpdate(this.session.out, this.streamId, this.uncredited);
    this.window += this.uncredited;
    this.uncredited = 0;
  }
}
