import type { Exchange } from "../../message/exchange.ts";
import type { ReplyTap } from "../../message/pipeline.ts";

/** When an exchange is over, its target, its time limit and its kept body hear of it. */
export class ForwardEnd implements ReplyTap {
  readonly name = "forwardEnd";

  onHead(_ex: Exchange): void {}

  onEnd(ex: Exchange): void {
    if (ex.target !== null) ex.target.onOver(ex);
    if (ex.deadline !== null) ex.deadline.release();
    if (ex.replay !== null) ex.replay.release();
  }
}
