import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import { jsonReply } from "./built-in-reply.ts";

/** `/health`: 200 `{"status":"ok"}`, and 503 `{"status":"draining"}` once the process is going away. */
export class HealthHandler implements Handler {
  readonly name = "health";
  /** Set when the process stops accepting. docs/operations.md#ending */
  draining = false;

  handle(ex: Exchange): Verdict {
    ex.sink.fixed(ex, this.draining ? DRAINING : OK);
    return Verdict.Done;
  }
}

const OK = jsonReply(200, { status: "ok" });
const DRAINING = jsonReply(503, { status: "draining" });
