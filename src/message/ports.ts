// What speaks to a request without naming it; what names it is in exchange.ts.

/** One end of a tunnel: takes bytes, says when it can take more. */
export interface TunnelEnd {
  /** Both ends know each other now: early bytes can go through. */
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

/** Something that an exchange holds and that must be given back when it is over. */
export interface Held {
  release(): void;
}

/** A request body that can be handed on more than once. */
export interface RepeatableBody extends Held {
  /** Whether the body stays for later attempts; else the next attempt keeps the bytes that it sends. */
  readonly isKept: boolean;
  /** Begins at the start, for another attempt. */
  restart(): void;
  /** Hands on what may be handed on now. */
  deliver(): void;
}

/** Monotonic-enough time for timers: milliseconds. */
export interface NowMs {
  readonly nowMs: number;
}

/** Where clients are, as databases of addresses tell. docs/guards.md#countries-and-networks */
export interface ClientPlaces {
  /** Two capital letters; "" if the country is unknown, or the text is no address. */
  countryOf(address: string): string;
  /** The autonomous system that an address belongs to; 0 if it is not known. */
  asnOf(address: string): number;
}

/** Without databases. */
export const NO_PLACES: ClientPlaces = { countryOf: () => "", asnOf: () => 0 };
