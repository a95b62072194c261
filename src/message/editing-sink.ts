import type { Fault } from "../core/fault.ts";
import type { Exchange, ResponseSource } from "./exchange.ts";
import { HeaderBlock } from "./header-block.ts";
import { IDLE_PORTS } from "./idle-ports.ts";
import { PassingSink } from "./passing-sink.ts";
import { PrebuiltResponse } from "./prebuilt-response.ts";

/** Makes another body of the pieces of a body. */
export interface BodyEditor {
  /** Takes a piece, of which nothing is needed any more once `next` has given null or `settle` was called. */
  feed(bytes: Uint8Array, from: number, to: number): void;
  /** The next piece of the new body; null if more has to come first. @param hasEnded whether no more comes */
  next(hasEnded: boolean): Uint8Array | null;
  /** Copies the part of its pieces that it still needs. */
  settle(): void;
  /** Whether it waits for something else than the rest of the body, and asks for no more of it. */
  readonly isWaiting: boolean;
  /** The exchange is over: nothing is called any more. */
  close(): void;
}

/**
 * Gives the client another body than the handler gives, as it comes: the handler is stopped while the client takes nothing. Until all of
 * the new body has left it is the client's source.
 */
export abstract class EditingSink extends PassingSink implements ResponseSource {
  /** Null if the body passes as it is. */
  private editor: BodyEditor | null = null;
  private origin: ResponseSource = IDLE_PORTS.source;
  private ex: Exchange | null = null;
  private hasHead = false;
  /** Whether another response has taken the place of the handler's. */
  private isReplaced = false;
  private isBlocked = false;
  /** Whether the handler has stopped until `onWritable`. */
  private isStopped = false;
  private hasEnded = false;
  private isPumping = false;

  /**
   * Judges a response by its head, which it makes that of the new body.
   * @returns null if the body passes as it is; or the response that the client gets in place of this one
   */
  protected abstract editorOf(ex: Exchange): BodyEditor | PrebuiltResponse | null;

  protected override get passesBody(): boolean {
    return this.hasHead && this.editor === null && !this.isReplaced;
  }

  override head(ex: Exchange): void {
    this.hasHead = true;
    const editor = this.editorOf(ex);
    if (editor instanceof PrebuiltResponse) {
      this.isReplaced = true;
      ex.source.onCancelled(ex);
      return this.inner.fixed(ex, editor);
    }
    if (editor !== null) {
      this.editor = editor;
      this.ex = ex;
      this.origin = ex.source;
      ex.source = this;
    }
    this.inner.head(ex);
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    const { editor } = this;
    if (editor === null) return this.isReplaced || this.inner.body(ex, bytes, from, to);
    editor.feed(bytes, from, to);
    this.pump(ex);
    if (this.editor === null) return true;
    editor.settle();
    this.isStopped = this.isBlocked || editor.isWaiting;
    return !this.isStopped;
  }

  override end(ex: Exchange): void {
    if (this.isReplaced) return;
    if (this.editor === null) return this.inner.end(ex);
    // The handler is done with the exchange: the client's events are for this sink alone.
    this.hasEnded = true;
    this.origin = IDLE_PORTS.source;
    ex.source = this;
    const { trailers } = ex.response;
    if (trailers !== null) {
      ex.response.trailers = new HeaderBlock();
      ex.response.trailers.copyFrom(trailers);
    }
    this.pump(ex);
  }

  override abort(ex: Exchange, fault: Fault): void {
    this.letGo(ex);
    if (!this.isReplaced) this.inner.abort(ex, fault);
  }

  onWritable(ex: Exchange): void {
    this.isBlocked = false;
    if (this.editor === null) return this.origin.onWritable(ex);
    this.goOn(ex);
  }

  onCancelled(ex: Exchange): void {
    const { origin } = this;
    this.letGo(ex);
    origin.onCancelled(ex);
  }

  /** The editor waits no more. */
  protected resume(): void {
    if (this.ex !== null) this.goOn(this.ex);
  }

  private goOn(ex: Exchange): void {
    this.pump(ex);
    const { editor } = this;
    if (editor === null || !this.isStopped || this.isBlocked || editor.isWaiting || this.hasEnded) return;
    this.isStopped = false;
    this.origin.onWritable(ex);
  }

  private pump(ex: Exchange): void {
    const { editor } = this;
    if (this.isPumping || editor === null) return;
    this.isPumping = true;
    let piece = this.isBlocked ? null : editor.next(this.hasEnded);
    while (piece !== null) {
      this.isBlocked = piece.length > 0 && !this.inner.body(ex, piece, 0, piece.length);
      // The client may have left meanwhile.
      piece = this.isBlocked || this.editor === null ? null : editor.next(this.hasEnded);
    }
    this.isPumping = false;
    if (this.editor === null || this.isBlocked || editor.isWaiting || !this.hasEnded) return;
    this.letGo(ex);
    this.inner.end(ex);
  }

  private letGo(ex: Exchange): void {
    this.editor?.close();
    this.editor = null;
    this.ex = null;
    if (ex.source === this) ex.source = this.origin;
    this.origin = IDLE_PORTS.source;
  }
}
