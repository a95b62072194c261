import type { Exchange } from "./exchange.ts";

/** What a phase says of a request. */
export const enum Verdict {
  /** Go on to the next phase. */
  Next = 0,
  /** The reply has been given or begun, or the exchange is refused. */
  Done,
  /** The phase waits for something and will call `pipeline.resume`. */
  Wait,
}

/** One step of the way down. */
export interface Phase {
  readonly name: string;
  run(ex: Exchange): Verdict;
}

/** The end of the way down: it makes the reply. */
export interface Handler {
  readonly name: string;
  handle(ex: Exchange): Verdict;
}

/** A look at the reply on its way up. */
export interface ReplyTap {
  readonly name: string;
  /** Before the head is written: fields may still be added. */
  onHead(ex: Exchange): void;
  /** After the exchange is over, answered or cut. */
  onEnd(ex: Exchange): void;
}

/** The phases in their order and the taps. */
export class Pipeline {
  private readonly phases: readonly Phase[];
  private readonly headTaps: readonly ReplyTap[];
  private readonly endTaps: readonly ReplyTap[];

  /**
   * @param phases in the order of the way down
   * @param headTaps called when a reply's head is about to be written
   * @param endTaps called when the exchange is over
   */
  constructor(phases: readonly Phase[], headTaps: readonly ReplyTap[], endTaps: readonly ReplyTap[]) {
    this.phases = phases;
    this.headTaps = headTaps;
    this.endTaps = endTaps;
  }

  /** Sends a request down from the first phase. */
  start(ex: Exchange): void {
    ex.step = 0;
    this.resume(ex);
  }

  /** Goes on behind the phase that waited. */
  resume(ex: Exchange): void {
    const phases = this.phases;
    let verdict = Verdict.Next;
    while (verdict === Verdict.Next && ex.step < phases.length) verdict = phases[ex.step++]!.run(ex);
  }

  /** Lets the taps see and amend the head. */
  onHead(ex: Exchange): void {
    for (let i = 0; i < this.headTaps.length; i++) this.headTaps[i]!.onHead(ex);
  }

  /** Tells the taps that the exchange is over. */
  onEnd(ex: Exchange): void {
    for (let i = 0; i < this.endTaps.length; i++) this.endTaps[i]!.onEnd(ex);
  }
}
