import { Byte, isOws, latin1 } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";

/** Finds the cookies with a name, one after the other. RFC 6265 §4.2.1; HTTP/2 may bring a Cookie field for each. */
export class CookieValues {
  /** Where the pair of the last one begins: its name may have space around it. */
  pairFrom = 0;
  /** Where the value of the last one is in `headers.bytes`, without space around it. */
  from = 0;
  to = 0;
  private readonly name: Uint8Array;
  private headers: HeaderBlock | null = null;
  /** The field that is being read, and where it goes on; -1 before the first and after the last. */
  private field = -1;
  private at = 0;

  constructor(name: string) {
    this.name = latin1(name);
  }

  /** Begins with the first cookie of a request. */
  begin(headers: HeaderBlock): void {
    this.headers = headers;
    this.enter(headers.find(HeaderId.Cookie));
  }

  /** Goes on to the next one. @returns whether there is one */
  next(): boolean {
    const headers = this.headers!;
    for (; this.field >= 0; this.enter(headers.find(HeaderId.Cookie, this.field + 1))) {
      if (this.nextIn(headers.bytes, headers.valueTo(this.field))) return true;
    }
    return false;
  }

  private enter(field: number): void {
    this.field = field;
    if (field >= 0) this.at = this.headers!.valueFrom(field);
  }

  private nextIn(bytes: Uint8Array, end: number): boolean {
    while (this.at < end) {
      let from = this.at;
      let to = from;
      while (to < end && bytes[to] !== Byte.Semicolon) to++;
      this.at = to + 1;
      while (from < to && isOws(bytes[from]!)) from++;
      const value = this.valueOf(bytes, from, to);
      if (value < 0) continue;
      this.pairFrom = from;
      while (to > value && isOws(bytes[to - 1]!)) to--;
      this.from = value;
      while (this.from < to && isOws(bytes[this.from]!)) this.from++;
      this.to = to;
      return true;
    }
    return false;
  }

  /** Where the value begins, if `bytes[from, to)` is a pair with the name: readers leave out space around it. -1 otherwise. */
  private valueOf(bytes: Uint8Array, from: number, to: number): number {
    const { name } = this;
    if (from + name.length >= to) return -1;
    for (let i = 0; i < name.length; i++) if (bytes[from + i] !== name[i]) return -1;
    let at = from + name.length;
    while (at < to && isOws(bytes[at]!)) at++;
    return at < to && bytes[at] === Byte.Equals ? at + 1 : -1;
  }
}
