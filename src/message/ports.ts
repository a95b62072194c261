import type { Fault } from "../core/fault.ts";
import type { Exchange } from "./exchange.ts";
import type { HeaderBlock } from "./header-block.ts";
import type { PrebuiltResponse } from "./prebuilt-response.ts";

/**
 * Where a response goes: one implementation a protocol. Before a sink writes a response, other than an interim one or a 101, it
 * shows it to `ex.pipeline.onHead` or `onFixed`, and writes the fields of `ex.reply.extra` with it.
 */
export interface ReplySink {
  /**
   * Whether bytes that were given to `body` may be overwritten once it has returned true, or once `onWritable` was called
   * after it had returned false. For a sink that does not say so, bytes that are lent are copied.
   */
  readonly returnsBytes?: boolean;
  /** Whether `body` copies: bytes may be overwritten as soon as it has returned, whatever it has returned. */
  readonly copiesBytes?: boolean;
  /** Writes a whole prebuilt response. Nothing else may be written for this exchange. */
  fixed(ex: Exchange, reply: PrebuiltResponse): void;
  /** Writes an interim response (102, 103) with these fields. */
  interim(ex: Exchange, status: number, headers: HeaderBlock): void;
  /** Writes the head in `ex.reply`. */
  head(ex: Exchange): void;
  /**
   * Writes body bytes; they must stay unchanged, since they may be kept until the client takes them.
   * @returns false when the source should hold until its `onWritable`
   */
  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean;
  /** Ends the response. The exchange must not be touched by the caller after this. */
  end(ex: Exchange): void;
  /** Answers with the fault's status, or cuts the response when its head is out. The exchange is over for the caller. */
  abort(ex: Exchange, fault: Fault): void;
  /** Tells the client to send the body it announced with Expect: 100-continue, where it did. */
  wantBody(ex: Exchange): void;
  /** Whether the client waits for `wantBody` and has sent nothing of its body; without it, that is not known. */
  awaitsConsent?(ex: Exchange): boolean;
  /** After a 101: every byte from the client goes to `tunnel` until one side closes. */
  upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd;
}

/** One end of a tunnel: takes bytes, says when it can take more. */
export interface TunnelEnd {
  /** Both ends know each other now: what came early can go through. */
  tunnelStart(): void;
  /** @returns false when the sender should hold until `tunnelWritable` is called on it */
  tunnelWrite(bytes: Uint8Array, from: number, to: number): boolean;
  /** The peer has ended its direction. */
  tunnelEnd(): void;
  /** The peer takes bytes again. */
  tunnelWritable(): void;
  /** The peer is gone. */
  tunnelClose(): void;
}

/** Where the request body comes from: it can be stopped and restarted. */
export interface BodyFlow {
  /** No `onBody` after this, but for bytes that are being handed over. */
  pauseBody(ex: Exchange): void;
  /** The same, but a little is read on, so that the client's end is seen; without it, that is seen anyway. */
  holdBody?(ex: Exchange): void;
  resumeBody(ex: Exchange): void;
}

/** Something that an exchange holds and that must be given back when it is over. */
export interface Held {
  release(): void;
}

/** A request body that can be handed on more than once. */
export interface RepeatableBody extends Held {
  /** Whether it stays for the attempts after the next one; else that one keeps what it sends. */
  readonly isKept: boolean;
  /** Begins at the start, for another attempt. */
  restart(): void;
  /** Hands on what may be handed on now. */
  deliver(): void;
}

/** Who takes the request body. */
export interface BodySink {
  /** Whether the bytes of the last `onBody` may be overwritten: they have left, or were copied. */
  readonly keepsNothing?: boolean;
  /** The bytes must stay unchanged: they may be kept until the consumer takes them. */
  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void;
  onBodyEnd(ex: Exchange): void;
  /** The body will not be completed; the caller sees to the response. */
  onBodyFault(ex: Exchange, fault: Fault): void;
}

/** Who makes the response, where that takes time. */
export interface ReplySource {
  /** Names a body that is the same whenever it is given again, as that of a file in one state; absent for all others. */
  readonly contentKey?: string;
  /** The client takes bytes again. */
  onWritable(ex: Exchange): void;
  /** The client is gone; nothing may be written any more. */
  onCancelled(ex: Exchange): void;
}

/** Monotonic-enough time for timers: milliseconds. */
export interface NowMs {
  readonly nowMs: number;
}

/** Shows the gateway's own refusals to people. docs/pages.md */
export interface RefusalPages {
  /** A refusal as this client is to get it: a page with the same status, or the response as it is. */
  shown(ex: Exchange, reply: PrebuiltResponse): PrebuiltResponse;
}

/** Where clients are, as databases of addresses tell. docs/guards.md#countries-and-networks */
export interface ClientPlaces {
  /** Two capital letters; "" where it is not known, and for what is no address. */
  countryOf(address: string): string;
  /** The autonomous system that an address belongs to; 0 where it is not known. */
  asnOf(address: string): number;
}

/** Gives requests the ids by which the log names them. */
export interface RequestNamer {
  /** The id of a request, which gets one where it has none yet: a valid one of the client's, or a new one. */
  idOf(ex: Exchange): string;
}
