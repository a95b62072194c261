import { ENGINE, VERSION } from "../../core/version.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { prebuiltJson } from "./built-in-response.ts";
import { uptimeText } from "./uptime.ts";

/** `/api/status`: server, version, uptime and engine, all strings. The response is made anew when its second is over. */
export class StatusHandler implements Handler {
  readonly name = "status";
  private readonly running: NowMs;
  private second = -1;
  private response: PrebuiltResponse;

  /** @param running since when the process runs, in milliseconds; the time of day has no part in it. docs/operations.md#clock */
  constructor(running: NowMs) {
    this.running = running;
    this.response = statusResponse(0);
  }

  handle(ex: Exchange): Verdict {
    const second = Math.floor(this.running.nowMs / 1000);
    if (second !== this.second) {
      this.second = second;
      this.response = statusResponse(second);
    }
    ex.sink.fixed(ex, this.response);
    return Verdict.Done;
  }
}

function statusResponse(seconds: number): PrebuiltResponse {
  return prebuiltJson(200, { server: "edge", version: VERSION, uptime: uptimeText(seconds), engine: ENGINE });
}
