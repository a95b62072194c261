import type { Takers } from "../../core/message-takers.ts";
import { errorBody } from "../../core/status.ts";
import type { WorkerService } from "../../core/worker-service.ts";
import { type Exchange, type Handler, type ResponseSource, Verdict } from "../../message/exchange.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, Method } from "../../message/request-head.ts";
import type { DashboardNews } from "./dashboard-messages.ts";

/** Who may see the dashboard. */
export interface DashboardGuard {
  /** Answers the exchange with a refusal if it must not go on. @returns whether it may */
  admits(ex: Exchange): boolean;
  /** The same for what holds nothing of the gateway, so that no token is needed. */
  admitsShell(ex: Exchange): boolean;
}

/** Asks the control thread for the first event: 200 with the event, or another status with the fault. */
type AskToWatch = (response: (status: number, contentType: string, body: string) => void) => void;

/**
 * The open streams of one worker: every event goes to each of them, and is dropped for one whose client does not keep up.
 * They outlive configurations. docs/dashboard.md#the-stream
 */
export class Watchers implements WorkerService<{ readonly internalApi: unknown }> {
  readonly onMessage: Takers<Extract<DashboardNews, { kind: "live" }>> = { live: ({ text }) => this.send(text) };
  private readonly streams: Set<LiveStream> = new Set();
  private readonly onCount: (count: number) => void;
  private isOver = false;
  /** Who may see the internal endpoints, as text; "" before the first configuration. */
  private access = "";

  /** @param onCount learns how many there are whenever that has changed, or may have */
  constructor(onCount: (count: number) => void) {
    this.onCount = onCount;
  }

  /** Writes an event to all. */
  send(text: string): void {
    const bytes = eventOf(text);
    for (const stream of [...this.streams]) stream.send(bytes);
  }

  /** Where others may see the internal endpoints, watchers come again, and show who they are. */
  use({ internalApi }: { readonly internalApi: unknown }): void {
    const access = JSON.stringify(internalApi);
    if (this.access !== "" && access !== this.access) this.endAll();
    this.access = access;
  }

  /** Ends all streams, and every one that begins from now on. */
  stop(): void {
    this.isOver = true;
    this.endAll();
  }

  private endAll(): void {
    for (const stream of [...this.streams]) stream.end();
  }

  /** A stream has got its first event. */
  add(stream: LiveStream): void {
    this.streams.add(stream);
    if (this.isOver) stream.end();
    else this.onCount(this.streams.size);
  }

  /** A stream has ended, or did not begin. */
  remove(stream: LiveStream): void {
    this.streams.delete(stream);
    this.onCount(this.streams.size);
  }
}

/** `GET /internal/api/stream` */
export class StreamHandler implements Handler {
  readonly name = "liveStream";
  private readonly guard: DashboardGuard;
  private readonly ask: AskToWatch;
  private readonly watchers: Watchers;

  constructor(guard: DashboardGuard, ask: AskToWatch, watchers: Watchers) {
    this.guard = guard;
    this.ask = ask;
    this.watchers = watchers;
  }

  handle(ex: Exchange): Verdict {
    if (!this.guard.admits(ex)) return Verdict.Done;
    const stream = new LiveStream(ex, this.watchers);
    ex.source = stream;
    this.ask((status, contentType, body) => {
      if (status === 200) stream.open(body);
      else stream.refuse(status, contentType, body);
    });
    return Verdict.Done;
  }
}

/** One stream of events. It lets go of the exchange, which is pooled, as soon as one of the two is done with the other. */
class LiveStream implements ResponseSource {
  private ex: Exchange | null;
  private readonly watchers: Watchers;
  /** Whether the client has taken what it was sent. */
  private isReady = true;

  constructor(ex: Exchange, watchers: Watchers) {
    this.ex = ex;
    this.watchers = watchers;
  }

  /** Writes the head and the first event. */
  open(first: string): void {
    const { ex } = this;
    // It was counted when it was asked for.
    if (ex === null) return this.watchers.remove(this);
    const { response } = ex;
    const isHead = ex.request.method === Method.Head;
    response.status = 200;
    response.headers.resetOwn();
    for (const [name, value] of FIELDS) response.headers.add(name, value);
    response.framing = isHead ? Framing.None : Framing.Chunked;
    response.lengthWithoutBody = false;
    response.withoutBody = isHead;
    ex.sink.head(ex);
    if (this.ex !== ex) return this.watchers.remove(this);
    this.watchers.add(this);
    if (isHead) this.end();
    else this.send(eventOf(first));
  }

  refuse(status: number, contentType: string, body: string): void {
    const { ex } = this;
    this.ex = null;
    if (ex === null) return;
    const fields = [["Content-Type", contentType], ["Cache-Control", "no-store"], RETRY_AFTER] as const;
    ex.sink.fixed(ex, new PrebuiltResponse(status, fields, body));
  }

  send(bytes: Buffer): void {
    const { ex } = this;
    if (ex !== null && this.isReady) this.isReady = ex.sink.body(ex, bytes, 0, bytes.length);
  }

  end(): void {
    const { ex } = this;
    this.ex = null;
    this.watchers.remove(this);
    if (ex !== null) ex.sink.end(ex);
  }

  onWritable(_ex: Exchange): void {
    this.isReady = true;
  }

  onCancelled(_ex: Exchange): void {
    this.ex = null;
    this.watchers.remove(this);
  }
}

/** The HTML Standard's format of an event stream: the text holds no line break. */
function eventOf(text: string): Buffer {
  return Buffer.from(`data: ${text}\n\n`, "utf8");
}

const RETRY_AFTER = ["Retry-After", "5"] as const;
const FIELDS = [
  ["Content-Type", "text/event-stream"],
  ["Cache-Control", "no-store"],
  ["X-Content-Type-Options", "nosniff"],
  // A proxy on the way must not gather events.
  ["X-Accel-Buffering", "no"],
] as const;

/** What a refusal to watch says. */
export function watchRefusal(message: string): { status: number; contentType: string; body: string } {
  return { status: 503, contentType: "application/json", body: JSON.stringify(errorBody(503, message)) };
}
