import type { Fault } from "../core/fault.ts";
import type { Exchange } from "./exchange.ts";
import type { FixedReply } from "./fixed-reply.ts";
import type { HeaderBlock } from "./header-block.ts";

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
  /** Whether the phase is about the request's body, so that a request without one passes it by. */
  readonly concernsBody?: boolean;
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
  /** Before the head in `ex.reply` is written: fields may still be taken out, and added (`ex.reply.addExtra`). */
  onHead(ex: Exchange): void;
  /** Before the head of an answer by which the connection leaves HTTP is written. */
  onUpgrade?(ex: Exchange): void;
  /** Before a prebuilt reply is written: only `ex.reply.addExtra` has an effect. */
  onFixed?(ex: Exchange, reply: FixedReply): void;
  /** After the exchange is over, answered or cut. */
  onEnd(ex: Exchange): void;
}

/** Looks at trailers that follow a request whose head has gone on already, or goes on without them. */
export interface TrailerGate {
  /** @returns Fault.None, or why the request is refused; whoever calls refuses it */
  judgeTrailers(ex: Exchange, trailers: HeaderBlock): Fault;
}

type FixedTap = ReplyTap & Required<Pick<ReplyTap, "onFixed">>;

/** The phases in their order and the taps. */
export class Pipeline {
  private readonly phases: readonly Phase[];
  private readonly phasesWithoutBody: readonly Phase[];
  private readonly headTaps: readonly ReplyTap[];
  private readonly fixedTaps: readonly FixedTap[];
  private readonly endTaps: readonly ReplyTap[];
  /** Null where nobody looks at trailers. */
  readonly trailerGate: TrailerGate | null;

  /**
   * @param phases in the order of the way down
   * @param headTaps called by the sink when a reply's head is about to be written, be it prebuilt
   * @param endTaps called when the exchange is over
   * @param trailerGate asked by the protocol engines before trailers follow a head
   */
  constructor(
    phases: readonly Phase[],
    headTaps: readonly ReplyTap[],
    endTaps: readonly ReplyTap[],
    trailerGate: TrailerGate | null = null,
  ) {
    this.phases = phases;
    this.phasesWithoutBody = phases.filter((phase) => phase.concernsBody !== true);
    this.headTaps = headTaps;
    this.fixedTaps = headTaps.filter((tap): tap is FixedTap => tap.onFixed !== undefined);
    this.endTaps = endTaps;
    this.trailerGate = trailerGate;
  }

  /** Sends a request down from the first phase. */
  start(ex: Exchange): void {
    ex.step = 0;
    ex.phases = ex.request.hasBody() ? this.phases : this.phasesWithoutBody;
    this.resume(ex);
  }

  /** Goes on behind the phase that waited. */
  resume(ex: Exchange): void {
    const { phases } = ex;
    let verdict = Verdict.Next;
    while (verdict === Verdict.Next && ex.step < phases.length) verdict = phases[ex.step++]!.run(ex);
  }

  /** Lets the taps see and amend the head. For sinks, which call it once a reply. */
  onHead(ex: Exchange): void {
    for (let i = 0; i < this.headTaps.length; i++) this.headTaps[i]!.onHead(ex);
  }

  /** Lets the taps see and amend the head of an answer by which the connection leaves HTTP. For sinks, likewise. */
  onUpgrade(ex: Exchange): void {
    for (let i = 0; i < this.headTaps.length; i++) this.headTaps[i]!.onUpgrade?.(ex);
  }

  /** Lets the taps add to a prebuilt reply. For sinks, likewise. */
  onFixed(ex: Exchange, reply: FixedReply): void {
    for (let i = 0; i < this.fixedTaps.length; i++) this.fixedTaps[i]!.onFixed(ex, reply);
  }

  /** Tells the taps that the exchange is over. */
  onEnd(ex: Exchange): void {
    for (let i = 0; i < this.endTaps.length; i++) this.endTaps[i]!.onEnd(ex);
  }
}

/** The pipeline of nobody, where there are no requests. */
export const IDLE_PIPELINE: Pipeline = new Pipeline([], [], []);
