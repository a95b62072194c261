import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { DashboardGuard } from "./watchers.ts";

/** `GET /internal/`: the page. docs/dashboard.md */
export class DashboardHandler implements Handler {
  readonly name = "dashboard";
  private readonly guard: DashboardGuard;

  constructor(guard: DashboardGuard) {
    this.guard = guard;
  }

  handle(ex: Exchange): Verdict {
    if (!this.guard.admitsShell(ex)) return Verdict.Done;
    // Unpacked where it is first asked for.
    const { PACKED_PAGE, PLAIN_PAGE } = require("./dashboard-page.ts") as typeof import("./dashboard-page.ts");
    ex.sink.fixed(ex, takesGzip(ex) ? PACKED_PAGE : PLAIN_PAGE);
    return Verdict.Done;
  }
}

/** As browsers say it: what is written in any other way gets the page as it is. */
function takesGzip({ request: { headers } }: Exchange): boolean {
  return /(?:^|,)\s*gzip\s*(?:,|$)/i.test(headers.valueOf(HeaderId.AcceptEncoding));
}
