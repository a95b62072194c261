import type { BodySink, Exchange } from "../../message/exchange.ts";
import { JsonLines } from "../../proto/grpc/json-lines.ts";
import { type ReadJson, readJson } from "../../proto/grpc/json-text.ts";
import { LargeText, type MessageSource } from "./message-pump.ts";
import { BadInput, LongMessage } from "./request-input.ts";

/** Bytes of a JSON body, or of a message, from which on another thread transcodes it: reading and writing it here takes up to 30 ms. */
export const LARGE_MESSAGE_BYTES = 48 * 1024;

/** Messages that are there: those of a small JSON array, or the one that a body without an array is. */
export class GivenMessages implements MessageSource {
  readonly isOver = true;
  readonly lastBytes: number;
  private readonly values: readonly ReadJson[];
  private at = 0;

  /** @param bytes of the body that they came in */
  constructor(values: readonly ReadJson[], bytes: number) {
    this.values = values;
    this.lastBytes = bytes / Math.max(1, values.length);
  }

  next(): ReadJson | null {
    return this.values[this.at++] ?? null;
  }

  more(): void {}
}

/** The elements of a large JSON array, which has been checked: each is read when its turn has come. */
export class ArrayElements implements MessageSource {
  readonly isOver = true;
  lastBytes = 0;
  private readonly body: Uint8Array;
  private readonly edges: Uint32Array;
  private at = 0;

  /** @param edges of `elementSpans` */
  constructor(body: Uint8Array, edges: Uint32Array) {
    this.body = body;
    this.edges = edges;
  }

  next(): ReadJson | LargeText | null {
    const { at, edges } = this;
    if (at === edges.length) return null;
    this.at += 2;
    this.lastBytes = edges[at + 1]! - edges[at]!;
    return messageText(this.body.subarray(edges[at], edges[at + 1]));
  }

  more(): void {}
}

/** The lines of a request's body, which is stopped while there are some that have not been read. */
export class BodyLines implements MessageSource, BodySink {
  lastBytes = 0;
  isOver = false;
  private readonly ex: Exchange;
  private readonly lines: JsonLines;
  private readonly maxBytes: number;
  private onArrived: () => void = () => {};
  private isPaused = false;

  /** @param maxBytes of one message */
  constructor(ex: Exchange, maxBytes: number) {
    this.ex = ex;
    this.maxBytes = maxBytes;
    this.lines = new JsonLines(maxBytes);
  }

  /** Asks for the body. @param onArrived called when there may be a message */
  begin(onArrived: () => void): void {
    this.onArrived = onArrived;
    this.ex.sink.wantBody(this.ex);
  }

  next(): ReadJson | LargeText | null {
    const line = this.lines.next();
    if (line === null) return null;
    if (line === "too long") throw new LongMessage(this.maxBytes);
    this.lastBytes = line.length;
    return messageText(line);
  }

  more(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.ex.flow.resumeBody(this.ex);
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    this.lines.push(bytes, from, to);
    this.onArrived();
    if (this.lines.isEmpty || ex.body !== this) return;
    this.isPaused = true;
    ex.flow.pauseBody(ex);
  }

  onBodyEnd(): void {
    this.isOver = true;
    this.lines.end();
    this.onArrived();
  }

  onBodyFault(): void {}
}

/** A message as it came: a large one is for another thread to read. @throws BadInput */
export function messageText(bytes: Uint8Array): ReadJson | LargeText {
  return bytes.length > LARGE_MESSAGE_BYTES ? new LargeText(bytes) : parsed(bytes);
}

/** A JSON text as it came. @throws BadInput */
export function parsed(bytes: Uint8Array): ReadJson {
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    throw new BadInput("a message is not UTF-8");
  }
  const read = readJson(text);
  if (read instanceof Error) throw new BadInput(read.message.replace("the body", "a message"));
  return read;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
