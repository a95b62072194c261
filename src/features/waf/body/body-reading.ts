import { EMPTY_BYTES } from "../../../core/bytes.ts";
import type { HeaderBlock } from "../../../message/header-block.ts";
import { type Content, codingsOf, contentOf, type Packing } from "./content-codings.ts";
import { type DeclaredTypes, declaredTypes, UNDECLARED } from "./declared-types.ts";

/**
 * The beginning of a body, read once for all that look at it: what its request says of it, and its content with the codings undone. One
 * object an inspector, used again for every body.
 */
export class BodyReading {
  /** The body as it came, in `[from, to)`. */
  bytes: Uint8Array = EMPTY_BYTES;
  from = 0;
  to = 0;
  /** Most bytes of content that the firewall reads. */
  maxBytes = 0;
  types: DeclaredTypes = UNDECLARED;
  /** Known codings, in the order in which they were applied. */
  codings: readonly Packing[] = [];
  private unpacked: Content | null = null;

  /** Takes another body. */
  begin(headers: HeaderBlock, bytes: Uint8Array, from: number, to: number, maxBytes: number): void {
    this.bytes = bytes;
    this.from = from;
    this.to = to;
    this.maxBytes = maxBytes;
    this.types = declaredTypes(headers);
    this.codings = codingsOf(headers);
    this.unpacked = null;
  }

  /** Undoes the codings, the first time that it is asked. */
  unpack(): Content {
    this.unpacked ??= contentOf(this.codings, this.bytes.subarray(this.from, this.to), this.maxBytes);
    return this.unpacked;
  }

  /** What an application reads that goes by the codings: the body as it is if there are none, or they are wrong. */
  text(): Uint8Array {
    const content = this.codings.length === 0 ? EMPTY_BYTES : this.unpack().bytes;
    return content.length === 0 ? this.bytes.subarray(this.from, this.to) : content;
  }

  /** Lets go of the body. */
  release(): void {
    this.bytes = EMPTY_BYTES;
    this.unpacked = null;
  }
}
