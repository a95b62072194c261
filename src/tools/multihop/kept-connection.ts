import { ByteLink, type Endpoint } from "./byte-link.ts";
import { answerField, type H1Answer, readResponses } from "./h1-answers.ts";

/** One request and its response on a kept connection. */
export interface KeptExchange {
  readonly sent: Buffer;
  readonly received: Buffer;
  /** Null when no whole response came. */
  readonly answer: H1Answer | null;
  /** The fault in the connection; "" when all is well. */
  readonly fault: string;
}

/** A benign client's persistent HTTP/1.1 connection: it must never feel what others do to the gateway. */
export class KeptConnection {
  private link: ByteLink | null = null;
  private mayBeClosed = true;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly answerMs: number,
  ) {}

  /** Sends one request and reads its response. A connection that was lost without notice is a fault, and made anew. */
  async exchange(request: Buffer): Promise<KeptExchange> {
    let fault = "";
    try {
      fault = this.lossSoFar();
      this.link ??= await ByteLink.connect(this.endpoint);
    } catch (error) {
      return { sent: request, received: Buffer.alloc(0), answer: null, fault: (error as Error).message };
    }
    const { link } = this;
    const read = () => readResponses(link.received, link.ending !== "open");
    link.forget();
    link.send(request);
    const isThere = () => read().answers.length > 0 || read().fault !== "" || link.ending !== "open";
    const isInTime = await link.until(isThere, this.answerMs);
    const { answers: responses, isWhole, fault: unreadable } = read();
    const response = responses[0] ?? null;
    const { received } = link;
    if (response === null)
      fault ||= unreadable || (isInTime ? "the connection ended without a response" : "no response");
    else if (responses.length > 1 || !isWhole) fault ||= "bytes after the response";
    this.mayBeClosed = response !== null && /close/i.test(answerField(response, "connection"));
    if (response === null || responses.length > 1 || !isWhole) this.close();
    else link.forget();
    return { sent: request, received, answer: response, fault };
  }

  close(): void {
    this.link?.close();
    this.link = null;
    this.mayBeClosed = true;
  }

  /** What happened to the connection since the last response. */
  private lossSoFar(): string {
    const { link, mayBeClosed } = this;
    if (link === null) return "";
    const surplus = link.received.length > 0 ? "an unrequested response came on the kept connection" : "";
    const loss = link.ending !== "open" && !mayBeClosed ? "the kept connection was closed in between" : "";
    if (link.ending !== "open" || surplus !== "" || mayBeClosed) this.close();
    return surplus || loss;
  }
}
