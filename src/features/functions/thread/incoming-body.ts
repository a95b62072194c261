import { edenGC } from "bun:jsc";
import { KeptBytes } from "../../../core/kept-bytes.ts";
import { CREDIT_BYTES, TakenBytes } from "../wire.ts";
import type { ThreadLink } from "./thread-link.ts";

/** Bytes of bodies after which the thread's collector is asked to run: it does not see that their memory is in use. */
const COLLECT_BYTES = 4 * 1024 * 1024;
let uncollected = 0;

function collect(bytes: number): void {
  uncollected += bytes;
  if (uncollected < COLLECT_BYTES) return;
  uncollected = 0;
  setImmediate(edenGC);
}

/** Streams that give pieces which are no one else's. */
const streams: WeakSet<object> = new WeakSet();

/** Whether this is the stream of a body as it came: who reads it has its pieces alone. */
export function isIncoming(stream: object): boolean {
  return streams.has(stream);
}

/** A piece of an incoming body has been sent on, and its memory with it. @param bytes its length */
export function onSentOn(bytes: number): void {
  uncollected -= bytes;
}

/** A body that comes from a data worker, as a stream: what is read of it is told, so that a window of it is under way at most. */
export class IncomingBody {
  readonly stream: ReadableStream<Uint8Array>;
  private readonly link: ThreadLink;
  private readonly id: number;
  private controller!: ReadableStreamDefaultController<Uint8Array>;
  private readonly waiting: KeptBytes = new KeptBytes();
  private isEnded = false;
  private isOver = false;
  /** Whether the reader wants more than has come. */
  private isWanted = false;
  private readonly taken: TakenBytes = new TakenBytes();
  private readonly onLeft: () => void;

  /** @param onLeft the reader does not want the rest */
  constructor(link: ThreadLink, id: number, onLeft: () => void) {
    this.link = link;
    this.id = id;
    this.onLeft = onLeft;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        pull: () => this.pull(),
        cancel: () => this.leave(),
      },
      { highWaterMark: 0 },
    );
    streams.add(this.stream);
  }

  push(bytes: Uint8Array): void {
    collect(bytes.length);
    if (this.isOver) return this.credit(bytes.length);
    if (this.isWanted) this.give(bytes);
    else this.waiting.keepOwn(bytes);
  }

  end(): void {
    this.isEnded = true;
    if (this.isWanted || !this.waiting.holds) this.pull();
  }

  fail(error: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.waiting.drop();
    this.controller.error(error);
  }

  private pull(): void {
    if (this.isOver) return;
    const next = this.waiting.nextKept();
    if (next !== null) this.give(next);
    else if (this.isEnded) {
      this.isOver = true;
      this.controller.close();
    } else this.isWanted = true;
  }

  private give(bytes: Uint8Array): void {
    this.isWanted = false;
    const { length } = bytes;
    this.controller.enqueue(bytes as Uint8Array<ArrayBuffer>);
    this.credit(length);
  }

  private leave(): void {
    this.isOver = true;
    this.credit(this.waiting.drop() + CREDIT_BYTES);
    this.onLeft();
  }

  private credit(bytes: number): void {
    this.taken.add(bytes);
    this.taken.tell(this.link, this.id);
  }
}
