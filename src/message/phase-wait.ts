import { type BodyFlow, type Exchange, ExchangeState, type ResponseSource } from "./exchange.ts";

/**
 * An exchange that waits in a phase: its body is not read meanwhile, and its end ends the wait. What the phases after it say of the
 * body's flow on the way down holds.
 */
export class PhaseWait implements BodyFlow, ResponseSource {
  isOver = false;
  private readonly ex: Exchange;
  private readonly onLeft: () => void;
  private readonly clientFlow: BodyFlow;
  private readonly clientSource: ResponseSource;
  private isGoingDown = false;
  private isPaused = false;

  /** @param onLeft is called where the client leaves, or its request is refused, before the wait ends */
  constructor(ex: Exchange, onLeft: () => void = () => {}) {
    this.ex = ex;
    this.onLeft = onLeft;
    this.clientFlow = ex.flow;
    this.clientSource = ex.source;
    ex.source = this;
    if (!ex.request.hasBody()) return;
    ex.flow = this;
    if (this.clientFlow.holdBody === undefined) this.clientFlow.pauseBody(ex);
    else this.clientFlow.holdBody(ex);
  }

  /** What was waited for is there. */
  end(): void {
    this.isOver = true;
    this.ex.source = this.clientSource;
  }

  /** The request goes on down; then its body comes, if no later phase holds it back. */
  goOn(): void {
    const { ex } = this;
    const { uses } = ex;
    this.isGoingDown = true;
    ex.pipeline.resume(ex);
    this.isGoingDown = false;
    // The exchange may be over, and another request's already.
    if (ex.uses !== uses || ex.state === ExchangeState.Finished) return;
    // What holds the body is its flow again: it looks for that, to see that nothing else has taken its place.
    if (ex.flow === this) ex.flow = this.clientFlow;
    if (!this.isPaused && ex.request.hasBody()) this.clientFlow.resumeBody(ex);
  }

  pauseBody(ex: Exchange): void {
    this.isPaused = true;
    if (!this.isGoingDown) this.clientFlow.pauseBody(ex);
  }

  resumeBody(ex: Exchange): void {
    this.isPaused = false;
    if (!this.isGoingDown) this.clientFlow.resumeBody(ex);
  }

  onWritable(): void {}

  onCancelled(): void {
    this.isOver = true;
    this.onLeft();
  }
}
