import { type Exchange, type Handler, type ResponseSource, Verdict } from "../../message/exchange.ts";
import { Framing, Method } from "../../message/request-head.ts";
import type { AccessGuard } from "./access-guard.ts";
import { NO_STORE } from "./built-in-response.ts";

/** How a worker asks the control thread, where the data is. */
export interface ControlPort {
  /**
   * Asks and calls `answer` once, now or later.
   * @param what name of the question
   * @param body what belongs to it: the query of a GET
   */
  ask(
    what: string,
    body: string,
    response: (status: number, contentType: string, body: string, etag?: string) => void,
  ): void;
}

/** A built-in endpoint whose response comes from the control thread, for those whom the guard lets in. */
export class ControlHandler implements Handler {
  readonly name: string;
  private readonly what: string;
  private readonly guard: AccessGuard;
  private readonly port: ControlPort;
  private readonly bodyOf: (ex: Exchange) => string;

  /** @param what the question that the control thread is asked @param bodyOf what belongs to it */
  constructor(what: string, guard: AccessGuard, port: ControlPort, bodyOf: (ex: Exchange) => string = queryOf) {
    this.name = `control:${what}`;
    this.what = what;
    this.guard = guard;
    this.port = port;
    this.bodyOf = bodyOf;
  }

  handle(ex: Exchange): Verdict {
    if (!this.guard.admits(ex)) return Verdict.Done;
    const pending = new PendingResponse(ex);
    ex.source = pending;
    this.port.ask(this.what, this.bodyOf(ex), (status, contentType, body) => pending.give(status, contentType, body));
    return Verdict.Done;
  }
}

/** A response on its way. It lets go of the exchange, which is pooled, as soon as one of the two is done with the other. */
export class PendingResponse implements ResponseSource {
  private ex: Exchange | null;

  constructor(ex: Exchange) {
    this.ex = ex;
  }

  give(status: number, contentType: string, body: string, etag = ""): void {
    const ex = this.ex;
    if (ex === null) return;
    const bytes = Buffer.from(body, "utf8");
    const isHead = ex.request.method === Method.Head;
    const { response: reply } = ex;
    reply.status = status;
    reply.headers.resetOwn();
    reply.headers.add("Content-Type", contentType);
    reply.headers.add(NO_STORE[0], NO_STORE[1]);
    if (etag !== "") reply.headers.add("ETag", etag);
    reply.framing = isHead ? Framing.None : Framing.Length;
    reply.contentLength = bytes.length;
    reply.lengthWithoutBody = isHead;
    reply.withoutBody = isHead;
    ex.sink.head(ex);
    // The write may have shown that the client is gone.
    if (!isHead && this.ex === ex) ex.sink.body(ex, bytes, 0, bytes.length);
    if (this.ex !== ex) return;
    this.ex = null;
    ex.sink.end(ex);
  }

  /** The whole body was given at once. */
  onWritable(_ex: Exchange): void {}

  onCancelled(_ex: Exchange): void {
    this.ex = null;
  }
}

/** The query of the target without its question mark; "" when there is none. */
export function queryOf(ex: Exchange): string {
  const target = ex.request.target();
  const fragment = target.indexOf("#");
  const whole = fragment < 0 ? target : target.slice(0, fragment);
  const question = whole.indexOf("?");
  return question < 0 ? "" : whole.slice(question + 1);
}
