import { type Records, WireWord } from "../wire.ts";
import { IncomingBody } from "./incoming-body.ts";
import { nativeOf } from "./lazy-request.ts";
import { OutgoingBody } from "./outgoing-body.ts";
import { responseFields, splitLength } from "./response-head.ts";
import { type Receiver, readResponse, type ThreadLink } from "./thread-link.ts";

/** A request of `ctx.upstream()`, which the data worker sends to the route's target. docs/functions.md#modules */
export class UpstreamCall implements Receiver {
  readonly response: Promise<Response>;
  private readonly link: ThreadLink;
  private readonly id: number;
  private readonly answer: PromiseWithResolvers<Response> = Promise.withResolvers();
  private readonly outgoing: OutgoingBody;
  private incoming: IncomingBody | null = null;
  private isOver = false;

  /**
   * @param call the number of the call that it belongs to
   * @param isOwn whether it is the client's request as it came
   */
  constructor(link: ThreadLink, call: number, request: Request, isOwn: boolean) {
    this.link = link;
    this.id = link.nextId();
    this.response = this.answer.promise;
    const { fields, length } = splitLength(responseFields(nativeOf(request.headers)));
    // The length that a copy of the request says may be that of another body.
    const declared = isOwn ? length : -1;
    link.add(this.id, this);
    this.outgoing = new OutgoingBody(
      link,
      this.id,
      {
        writeHead: (mode, whole) => {
          const out = link.record(WireWord.Upstream, this.id);
          out.line(call);
          out.line(request.method);
          out.line(request.url);
          out.line(fields.length);
          for (const [name, value] of fields) {
            out.line(name);
            out.line(value);
          }
          out.line(declared);
          out.line(mode);
          if (mode === "1") out.rawBytes(whole!, 0, whole!.length);
        },
        onSent: () => {},
        onReadError: (error) => this.fail(error),
        // The thread logs it: no handler of the module takes it.
        onCancelError: (error) => void Promise.reject(error),
      },
      declared,
    );
    request.signal.addEventListener("abort", () => this.fail(request.signal.reason), { once: true });
    if (request.signal.aborted) this.fail(request.signal.reason);
    else if (request.bodyUsed) this.fail(new TypeError("the body of the request has been used"));
    else this.outgoing.start(request.body as ReadableStream<unknown> | null);
  }

  onResponse(records: Records): void {
    const { status, fields, mode, body } = readResponse(records);
    if (status === 0) return this.end(new TypeError("no response from the target of the route"));
    const isBodiless = mode === "0" || status === 204 || status === 205 || status === 304;
    if (mode === "2") this.incoming = new IncomingBody(this.link, this.id, () => this.cancel());
    else this.end(null);
    const given = isBodiless ? null : mode === "1" ? body : this.incoming!.stream;
    this.answer.resolve(new Response(given, { status, headers: fields }));
  }

  onBody(bytes: Uint8Array): void {
    this.incoming?.push(bytes);
  }

  onEnd(): void {
    this.incoming?.end();
    this.end(null);
  }

  onFault(): void {
    const error = new TypeError("the response of the route's target was not completed");
    this.incoming?.fail(error);
    this.end(error);
  }

  onTaken(bytes: number): void {
    this.outgoing.taken(bytes);
  }

  onCancel(): void {
    this.onFault();
  }

  onOver(): void {
    this.onFault();
  }

  private fail(error: unknown): void {
    if (this.isOver) return;
    this.incoming?.fail(error);
    this.link.record(WireWord.Cancel, this.id);
    this.end(error);
  }

  private cancel(): void {
    if (this.isOver) return;
    this.link.record(WireWord.Cancel, this.id);
    this.end(null);
  }

  /** @param error null if it ends well; it matters while there is no response */
  private end(error: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.link.remove(this.id);
    this.outgoing.cancel(error);
    if (error !== null) this.answer.reject(error);
  }
}
