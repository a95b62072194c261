/** A member of a dictionary: what kind its value is, and the value as it is written, without parameters. */
export interface Member {
  readonly kind: MemberKind;
  readonly text: string;
}

export type MemberKind = "integer" | "decimal" | "string" | "token" | "bytes" | "boolean" | "date" | "display" | "list";

/**
 * Reads a dictionary as strictly as RFC 9651 §4.2.2 asks; of a key that occurs twice the last counts. Parameters are read and
 * dropped.
 * @param text all lines of the field, joined by commas
 * @returns null where any of it is malformed
 */
export function parseDictionary(text: string): ReadonlyMap<string, Member> | null {
  return new DictionaryReader(text).dictionary();
}

class DictionaryReader {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text.replace(/^ +| +$/g, "");
  }

  dictionary(): ReadonlyMap<string, Member> | null {
    const members = new Map<string, Member>();
    while (this.at < this.text.length) {
      const key = this.take(KEY);
      if (key === null) return null;
      const member = this.take(EQUALS) === null ? TRUE : this.value();
      if (member === null || !this.parameters()) return null;
      members.delete(key);
      members.set(key, member);
      this.take(OWS);
      if (this.at === this.text.length) return members;
      // A comma at the end is followed by nothing: that is malformed too.
      if (this.take(COMMA) === null || this.at === this.text.length) return null;
    }
    return members;
  }

  private value(): Member | null {
    return this.text[this.at] === "(" ? this.innerList() : this.item();
  }

  private item(): Member | null {
    for (const [kind, pattern] of ITEMS) {
      const text = this.take(pattern);
      if (text !== null) return { kind, text };
    }
    return null;
  }

  private innerList(): Member | null {
    const from = this.at++;
    for (;;) {
      this.take(SPACES);
      if (this.take(CLOSE) !== null) return { kind: "list", text: this.text.slice(from, this.at) };
      if (this.item() === null || !this.parameters()) return null;
      const next = this.text[this.at];
      if (next !== " " && next !== ")") return null;
    }
  }

  private parameters(): boolean {
    while (this.take(SEMICOLON) !== null) {
      if (this.take(KEY) === null) return false;
      if (this.take(EQUALS) !== null && this.item() === null) return false;
    }
    return true;
  }

  private take(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    if (match === null) return null;
    this.at = pattern.lastIndex;
    return match[0];
  }
}

const TRUE: Member = { kind: "boolean", text: "?1" };
const KEY = /[a-z*][a-z0-9_.*-]*/y;
const EQUALS = /=/y;
const COMMA = /,[ \t]*/y;
const OWS = /[ \t]*/y;
const SPACES = / */y;
const SEMICOLON = /; */y;
const CLOSE = /\)/y;
/** In this order, so that a decimal is none of the integers. RFC 9651 §3.3. */
const ITEMS: readonly (readonly [MemberKind, RegExp])[] = [
  ["decimal", /-?\d{1,12}\.\d{1,3}(?![\d.])/y],
  ["integer", /-?\d{1,15}(?![\d.])/y],
  ["string", /"(?:[ !\x23-\x5b\x5d-\x7e]|\\["\\])*"/y],
  ["token", /[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*/y],
  ["bytes", /:[A-Za-z0-9+/=]*:/y],
  ["boolean", /\?[01]/y],
  ["date", /@-?\d{1,15}(?![\d.])/y],
  ["display", /%"(?:[ !\x23\x24\x26-\x7e]|%[0-9a-f]{2})*"/y],
];
