import { EMPTY_BYTES } from "../../core/bytes.ts";
import type { BodyEditor } from "../../message/editing-sink.ts";
import { type FoundLiteral, LiteralSearch } from "../../proto/semantics/literal-search.ts";
import type { BodyRewriteConfig } from "./body-settings.ts";

/** Bytes of a new body from which on they go out before more are made. */
const MAX_PIECE_BYTES = 65_536;

/** The texts that one route replaces in bodies. */
export class TextRules {
  readonly search: LiteralSearch;
  readonly replacements: readonly Buffer[];
  readonly once: boolean;

  constructor({ rules, ignoreCase, once }: Omit<BodyRewriteConfig, "types">) {
    this.search = new LiteralSearch(
      rules.map(({ find }) => Buffer.from(find)),
      ignoreCase,
    );
    this.replacements = rules.map((rule) => Buffer.from(rule.with));
    this.once = once;
  }

  /** The whole of a body with the texts replaced. */
  apply(body: Uint8Array): Buffer {
    const editor = new BodyReplacer(this);
    editor.feed(body, 0, body.length);
    const pieces: Uint8Array[] = [];
    for (let piece = editor.next(true); piece !== null; piece = editor.next(true)) pieces.push(piece);
    return Buffer.concat(pieces);
  }
}

/** Replaces texts in a body that comes in pieces: it keeps no more of it than the bytes that may begin a text. */
export class BodyReplacer implements BodyEditor {
  readonly isWaiting = false;
  private readonly rules: TextRules;
  private readonly isOff: Uint8Array;
  private readonly found: FoundLiteral = { literal: -1, from: 0, to: 0 };
  /** The rest to look through, in `[at, to)`. */
  private bytes: Uint8Array = EMPTY_BYTES;
  private at = 0;
  private to = 0;
  private isOwn = false;
  /** Whether all that can be said of it without further bytes has been said. */
  private isDry = true;

  constructor(rules: TextRules) {
    this.rules = rules;
    this.isOff = new Uint8Array(rules.replacements.length);
  }

  feed(bytes: Uint8Array, from: number, to: number): void {
    if (from === to) return;
    this.isDry = false;
    if (this.at === this.to) {
      this.bytes = bytes;
      this.at = from;
      this.to = to;
      this.isOwn = false;
      return;
    }
    this.bytes = Buffer.concat([this.bytes.subarray(this.at, this.to), bytes.subarray(from, to)]);
    this.at = 0;
    this.to = this.bytes.length;
    this.isOwn = true;
  }

  next(hasEnded: boolean): Uint8Array | null {
    if (this.at === this.to || (this.isDry && !hasEnded)) return null;
    const { search, replacements, once } = this.rules;
    const { bytes, found, isOff } = this;
    const pieces: Uint8Array[] = [];
    let size = 0;
    do {
      search.find(bytes, this.at, this.to, hasEnded, isOff, found);
      if (found.from > this.at) pieces.push(bytes.subarray(this.at, found.from));
      size += found.from - this.at;
      this.at = found.from;
      if (found.literal < 0) break;
      const replacement = replacements[found.literal]!;
      pieces.push(replacement);
      size += replacement.length;
      this.at = found.to;
      if (once) isOff[found.literal] = 1;
    } while (size < MAX_PIECE_BYTES && this.at < this.to);
    this.isDry = found.literal < 0;
    if (size === 0) return this.at < this.to && !this.isDry ? EMPTY_BYTES : null;
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, size);
  }

  settle(): void {
    if (this.isOwn || this.at === this.to) return;
    this.bytes = Uint8Array.prototype.slice.call(this.bytes, this.at, this.to);
    this.to -= this.at;
    this.at = 0;
    this.isOwn = true;
  }

  close(): void {
    this.at = this.to;
    this.bytes = EMPTY_BYTES;
  }
}
