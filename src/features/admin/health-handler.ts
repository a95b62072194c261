import type { Takers } from "../../core/message-takers.ts";
import type { WorkerService } from "../../core/worker-service.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import { prebuiltJson } from "./built-in-response.ts";

/** From the control thread: the process will drain soon, and what asks for its health is to know. */
interface LeavingMessage {
  readonly kind: "leaving";
}

/** `/health`: 200 `{"status":"ok"}`, and 503 `{"status":"draining"}` once the process is going away and none takes its place. */
export class HealthHandler implements Handler, WorkerService<unknown> {
  readonly name = "health";
  readonly onMessage: Takers<LeavingMessage> = { leaving: () => this.stop(false) };
  /** Set when the process stops accepting. docs/operations.md#ending */
  draining = false;

  /** A check that meets this process while its successor serves would take the host out of service. */
  stop(hasSuccessor: boolean): void {
    this.draining = !hasSuccessor;
  }

  handle(ex: Exchange): Verdict {
    ex.sink.fixed(ex, this.draining ? DRAINING : OK);
    return Verdict.Done;
  }
}

const OK = prebuiltJson(200, { status: "ok" });
const DRAINING = prebuiltJson(503, { status: "draining" });
