import type { Exchange } from "../../message/exchange.ts";
import type { FixedReply } from "../../message/fixed-reply.ts";
import { type Handler, Verdict } from "../../message/pipeline.ts";
import { ENGINE, VERSION } from "../../shared/version.ts";
import { jsonReply } from "./built-in-reply.ts";
import { uptimeText } from "./uptime.ts";

/** `/api/status`: server, version, uptime and engine, all strings. The answer is made anew when its second is over. */
export class StatusHandler implements Handler {
  readonly name = "status";
  private readonly startedAtMs: number;
  private readonly clock: { readonly nowMs: number };
  private second = -1;
  private reply: FixedReply;

  /**
   * @param startedAtMs when the process started, in milliseconds since the epoch
   * @param clock the same scale
   */
  constructor(startedAtMs: number, clock: { readonly nowMs: number }) {
    this.startedAtMs = startedAtMs;
    this.clock = clock;
    this.reply = statusReply(0);
  }

  handle(ex: Exchange): Verdict {
    const second = Math.floor((this.clock.nowMs - this.startedAtMs) / 1000);
    if (second !== this.second) {
      this.second = second;
      this.reply = statusReply(second);
    }
    ex.sink.fixed(ex, this.reply);
    return Verdict.Done;
  }
}

function statusReply(seconds: number): FixedReply {
  return jsonReply(200, { server: "edge", version: VERSION, uptime: uptimeText(seconds), engine: ENGINE });
}
