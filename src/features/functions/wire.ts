import { Byte, copyBytes, LOWER, sliceText, writeDecimal } from "../../core/bytes.ts";

/**
 * What a data worker and the thread of a function say to each other, in batches: the records of one turn are one text, since a text is what
 * crosses threads at the lowest cost (0.3 µs a request in a batch of 32; an array of texts four times that). A record is a word and the
 * number of a call, each field ends with a line break, and what may itself hold line breaks comes after its length. Bytes of bodies are in it
 * as one character a byte; pieces from LARGE_PIECE_BYTES on go by themselves, transferred, between two batches. docs/internals/functions.md#functions
 */

/** The words of records, each with its sender first. */
export const enum WireWord {
  /** Worker: a request, or the head of one for `onRequest`. */
  Request = "Q",
  /** Worker: the head of a response for `onResponse`. Thread: the response of a function, or of a hook in place of the request's. */
  Response = "R",
  /** Both: a piece of a body. */
  Body = "B",
  /** Both: the body is complete. */
  End = "E",
  /** Both: the body will not be completed. */
  Fault = "F",
  /** Both: the receiver has taken this many bytes of the body. */
  Taken = "W",
  /** Worker: the client has left, or the time is over. Thread: the response of `ctx.upstream()` is not wanted any more. */
  Cancel = "C",
  /** Worker: no more records of the call follow. */
  Over = "X",
  /** Thread: the hook changes nothing. */
  Pass = "N",
  /** Thread: the request is to go on with this head. */
  Changed = "M",
  /** Thread: it has failed, with the status of the refusal. */
  Failed = "T",
  /** Thread: a line for the log. */
  Log = "L",
  /** Thread: a request of `ctx.upstream()`. */
  Upstream = "U",
  /** Thread: the connection becomes a WebSocket; bytes of frames follow as a body, both ways. */
  Upgrade = "G",
}

/** Why a thread gets a request. */
export const enum CallKind {
  Fetch = "f",
  OnRequest = "q",
  /** The same with its body: the hook's result has one, too. */
  OnWholeRequest = "b",
  /** Only that a context is there for `onResponse`. */
  Context = "c",
}

/** Most bytes of a body under way without its taker's receipt. */
const WINDOW_BYTES: number = 256 * 1024;
/** Receipts come in steps of this many bytes. */
export const CREDIT_BYTES: number = 64 * 1024;
/** Pieces from this on are transferred. */
export const LARGE_PIECE_BYTES: number = 16 * 1024;
/** Larger ones go in several. */
export const MAX_PIECE_BYTES: number = 64 * 1024;

/** A piece of a body that is transferred by itself. */
export type LargePiece = readonly [id: number, bytes: Uint8Array];

/** Room for the records of a turn; the sender drops larger buffers after use. */
const BATCH_BYTES = 16 * 1024;
const MAX_KEPT_BATCH_BYTES = 256 * 1024;
const MAX_DECIMAL_DIGITS = 16;
const BEYOND_LATIN1 = /[^\x00-\xff]/;

/**
 * Puts records together. They are gathered as bytes, and become a text once, when they are sent: a record that is put together of texts costs
 * three times as much, most of it for the collector.
 */
export class Batch {
  private bytes: Buffer = Buffer.allocUnsafeSlow(BATCH_BYTES);
  private at = 0;
  /** The mark before the bytes of a text that is no Latin-1. */
  private text = "";

  get isEmpty(): boolean {
    return this.at === 0 && this.text === "";
  }

  begin(word: WireWord, id: number): void {
    this.byte(word.charCodeAt(0));
    this.decimal(id);
    this.byte(Byte.Lf);
  }

  /** @param value without line breaks */
  line(value: string | number): void {
    if (typeof value === "number" && value >= 0) this.decimal(value);
    else this.put(String(value));
    this.byte(Byte.Lf);
  }

  /** Whatever the text holds. */
  raw(text: string): void {
    this.line(text.length);
    this.put(text);
  }

  /** Bytes, one character each. */
  rawBytes(bytes: Uint8Array, from: number, to: number): void {
    this.line(to - from);
    this.copy(bytes, from, to);
  }

  /** A part of a line. */
  put(text: string): void {
    if (BEYOND_LATIN1.test(text)) {
      this.text = this.settled() + text;
      return;
    }
    this.reserve(text.length);
    this.at += this.bytes.latin1Write(text, this.at, text.length);
  }

  /** A part of a line. @param byte 0 to 255 */
  byte(byte: number): void {
    this.reserve(1);
    this.bytes[this.at++] = byte;
  }

  /** A part of a line, of bytes, one character each. */
  copy(bytes: Uint8Array, from: number, to: number): void {
    this.reserve(to - from);
    this.at = copyBytes(this.bytes, this.at, bytes, from, to);
  }

  /** The same, in lower case. */
  copyLower(bytes: Uint8Array, from: number, to: number): void {
    this.reserve(to - from);
    const out = this.bytes;
    let { at } = this;
    for (let i = from; i < to; i++) out[at++] = LOWER[bytes[i]!]!;
    this.at = at;
  }

  /** Gives what there is, and is empty. */
  take(): string {
    const text = this.settled();
    this.text = "";
    if (this.bytes.length > MAX_KEPT_BATCH_BYTES) this.bytes = Buffer.allocUnsafeSlow(BATCH_BYTES);
    return text;
  }

  private settled(): string {
    const text = this.at === 0 ? this.text : this.text + sliceText(this.bytes, 0, this.at);
    this.at = 0;
    return text;
  }

  private decimal(value: number): void {
    this.reserve(MAX_DECIMAL_DIGITS);
    this.at = writeDecimal(this.bytes, this.at, value);
  }

  private reserve(count: number): void {
    if (this.at + count <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow((this.at + count) * 2);
    larger.set(this.bytes.subarray(0, this.at));
    this.bytes = larger;
  }
}

/** A thread's records are unreadable: its module has changed built-ins that the thread's own code uses. */
export class RecordFault extends RangeError {}

/**
 * Reads the records of a batch. One that breaks off, or has a number that is none, is a RecordFault: what follows it cannot be found, and a module
 * that changes its runtime may have written it.
 */
export class Records {
  word: WireWord = WireWord.End;
  id = 0;
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** Goes to the next record, whose fields are then to be read to its end. @returns false at the end of the batch */
  next(): boolean {
    if (this.at >= this.text.length) return false;
    this.word = this.text[this.at++] as WireWord;
    this.id = this.number();
    return true;
  }

  /** Whether the next record has this word and this number, without going to it. */
  continues(word: WireWord, id: number): boolean {
    return this.text.startsWith(`${word}${id}\n`, this.at);
  }

  /** Goes over the pieces of a body that is complete in this batch and comes right here, and gives it; null, if it is not. */
  wholeBody(id: number): Buffer | null {
    const before = this.at;
    const pieces: Buffer[] = [];
    while (this.continues(WireWord.Body, id)) {
      this.next();
      pieces.push(this.bytes());
    }
    if (pieces.length > 0 && this.continues(WireWord.End, id)) {
      this.next();
      return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    }
    this.at = before;
    return null;
  }

  line(): string {
    const from = this.at;
    const to = this.text.indexOf("\n", from);
    if (to < 0) throw new RecordFault("a record is cut");
    this.at = to + 1;
    return this.text.slice(from, to);
  }

  /** A count, a length or a number of a call; -1 for a length that is not known. */
  number(): number {
    const { text } = this;
    let { at } = this;
    const isNegative = text.charCodeAt(at) === Byte.Dash;
    if (isNegative) at++;
    const from = at;
    let value = 0;
    for (
      let digit = text.charCodeAt(at) - Byte.Zero;
      digit >= 0 && digit <= 9;
      digit = text.charCodeAt(++at) - Byte.Zero
    )
      value = value * 10 + digit;
    const isNumber = at > from && text.charCodeAt(at) === Byte.Lf && Number.isSafeInteger(value);
    if (!isNumber || (isNegative && value !== 1)) throw new RecordFault("no number");
    this.at = at + 1;
    return isNegative ? -1 : value;
  }

  /** Lines up to an empty one, which is gone over; each with its line break. A text of its own: what is kept of it does not keep the batch. */
  block(): string {
    const from = this.at;
    const to = this.text.indexOf("\n\n", from);
    if (to < 0) throw new RecordFault("a record is cut");
    this.at = to + 2;
    // A part of a text shares its memory; joining makes a copy.
    return `${this.text.slice(from, to)}\n`;
  }

  raw(): string {
    const length = this.number();
    const from = this.at;
    if (length < 0 || length > this.text.length - from) throw new RecordFault("a record is cut");
    this.at += length;
    return this.text.slice(from, this.at);
  }

  /** The bytes of a raw field, one character each. */
  bytes(): Buffer {
    return Buffer.from(this.raw(), "latin1");
  }

  /** Names and values, after their number. */
  fields(): [string, string][] {
    const count = this.number();
    const fields: [string, string][] = [];
    for (let i = 0; i < count; i++) fields.push([this.line(), this.line()]);
    return fields;
  }
}

/**
 * Gives the memory of a piece back at once, which no one reads any more: the collector, which sees little memory of its own in use, would let tens
 * of MiB gather.
 */
export function discard(piece: Uint8Array): void {
  const { buffer } = piece;
  if (piece.length >= LARGE_PIECE_BYTES && buffer instanceof ArrayBuffer && buffer.byteLength === piece.length)
    buffer.transfer(0);
}

/** Counts the bytes under way of one body, for its sender. */
export class SendWindow {
  private left: number = WINDOW_BYTES;

  /** @returns whether more may be sent */
  sent(bytes: number): boolean {
    this.left -= bytes;
    return this.left > 0;
  }

  /** @returns whether more may be sent */
  taken(bytes: number): boolean {
    this.left += bytes;
    return this.left > 0;
  }

  get isOpen(): boolean {
    return this.left > 0;
  }
}

/** Counts the bytes of one body that its reader has used, and notifies the sender in steps, which then sends on. */
export class TakenBytes {
  private bytes = 0;

  add(bytes: number): void {
    this.bytes += bytes;
  }

  /** Notifies the other side, if there is a step. */
  tell(link: { record(word: WireWord, id: number): Batch }, id: number): void {
    if (this.bytes < CREDIT_BYTES) return;
    link.record(WireWord.Taken, id).line(this.bytes);
    this.bytes = 0;
  }
}

/** The cells of a thread that it shares with the control thread and the data workers, as indices of an Int32Array. */
export const enum WireCell {
  /** Grows while the thread's event loop turns. */
  Beat = 0,
  /** Memory of its heap, KiB. */
  HeapKib,
  /** The call that is running now, and of which worker: 0 for none. */
  Current,
  CurrentWorker,
  /** The kernel's number of the thread: 0 before it has begun, UNKNOWN_THREAD if the system does not tell. */
  ThreadId,
  /** Requests that it has, of all data workers; grows by one when a place is given back for which others wait. See ThreadPlaces. */
  Taken,
  Bell,
  /** From here on, a cell for each data worker: the last of its calls that has been begun. Then one for the places that each has taken, and one
   * for whether it waits for one. */
  Begun,
}

/** @param workers how many data workers there are */
export function createCells(workers: number): SharedArrayBuffer {
  return new SharedArrayBuffer((WireCell.Begun + 3 * workers) * Int32Array.BYTES_PER_ELEMENT);
}

/** Which of the wanted functions a module exports. */
export interface ModuleExports {
  readonly fetch: boolean;
  readonly onRequest: boolean;
  readonly onResponse: boolean;
  /** `file:line` of each, as far as it is known, for the log. */
  readonly places: Readonly<Record<"fetch" | "onRequest" | "onResponse", string>>;
}

/** Messages of the control thread to the thread of a function. */
export type ToFunction =
  | {
      readonly kind: "load";
      readonly module: string;
      readonly cells: SharedArrayBuffer;
      /** For the descriptors that it opens: see FileCells. */
      readonly files: SharedArrayBuffer;
      /** Whether what belongs to the whole process may be changed. */
      readonly mayChangeProcess: boolean;
    }
  /** Requests of a data worker come by this port from now on. */
  | { readonly kind: "connect"; readonly worker: number; readonly port: MessagePort }
  /** That data worker has ended: so have its calls. */
  | { readonly kind: "disconnect"; readonly worker: number }
  /** Nothing more comes: answered by `finished` when what calls have left behind is done. */
  | { readonly kind: "finish" };

/** Its messages to the control thread. */
export type FromFunction =
  | { readonly kind: "loaded"; readonly exports: ModuleExports }
  | { readonly kind: "failed"; readonly problem: ModuleProblem }
  | { readonly kind: "finished" }
  /** Something that belongs to no request. */
  | { readonly kind: "log"; readonly line: FunctionLine };

/** The error and its place. */
export interface ModuleProblem {
  readonly error: string;
  /** `file:line:column` in a module; "" if it is not known. */
  readonly at: string;
  readonly stack: string;
}

/** A line for the log that a function, or its thread, has caused. */
export interface FunctionLine {
  readonly event: "function_log" | "function_failed";
  readonly level: "debug" | "info" | "warn" | "error";
  readonly fields: Readonly<
    Record<string, string | number | boolean | null | readonly string[] | Readonly<Record<string, unknown>>>
  >;
}
