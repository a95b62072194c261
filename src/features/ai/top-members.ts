import { Byte } from "../../core/bytes.ts";

/** A member of the outermost object of a JSON text. */
interface TopMember {
  /** Its value as it is written, one character a byte; null if it is longer than is kept. */
  readonly text: string | null;
  /** Where the value begins, and where it ends, white space after it included. */
  readonly from: number;
  readonly to: number;
  /** How many members of this name there are, in any case. */
  readonly count: number;
}

/** Objects in the outermost one, of which the last that comes counts. */
interface Nested {
  readonly names: readonly string[];
  readonly members: TopMembers;
}

/** Bytes of a name and of a value that are kept: a wanted name fits with each of its letters escaped. */
const MAX_NAME_BYTES = 128;
const MAX_VALUE_BYTES = 4096;

/**
 * Finds members of the outermost object of a JSON text by their names, in pieces of any length, in constant memory. It does not check that the
 * text is JSON.
 */
export class TopMembers {
  private readonly wanted: ReadonlySet<string>;
  private readonly nested: Nested | null;
  /** Whether the reader is in a nested object. */
  private isNested = false;
  private readonly found: Map<string, TopMember> = new Map();
  private depth = 0;
  private isString = false;
  private isEscaped = false;
  /** Whether a name comes next in the outermost object. */
  private takesName = false;
  private name = "";
  private isWanted = false;
  private value = "";
  private isTooLong = false;
  private from = 0;
  private at = 0;

  /** @param names in lower case @param nested objects whose members are wanted, too */
  constructor(names: readonly string[], nested: Nested | null = null) {
    this.wanted = new Set(names);
    this.nested = nested;
  }

  /** The last member of a name, in any case; undefined without one. */
  get(name: string): TopMember | undefined {
    return this.found.get(name);
  }

  /** Begins with another text. */
  reset(): void {
    this.found.clear();
    this.depth = 0;
    this.at = 0;
    this.isString = false;
    this.isEscaped = false;
    this.takesName = false;
    this.isWanted = false;
    this.isNested = false;
    this.nested?.members.reset();
  }

  feed(bytes: Uint8Array, from: number, to: number): void {
    for (let i = from; i < to; i++, this.at++) {
      const byte = bytes[i]!;
      const isNested = this.isNested;
      if (this.isString) this.inString(byte);
      else this.between(byte);
      if (isNested && this.isNested) this.nested!.members.feed(bytes, i, i + 1);
    }
  }

  private inString(byte: number): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (byte === BACKSLASH) this.isEscaped = true;
    else if (byte === QUOTE) this.isString = false;
    this.keep(byte);
  }

  private between(byte: number): void {
    if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if (this.depth === 1) this.endMember();
      this.depth--;
    } else if (byte === COMMA && this.depth === 1) {
      this.endMember();
      this.takesName = true;
      this.name = "";
      return;
    } else if (byte === Byte.Colon && this.depth === 1 && this.takesName) {
      return this.beginMember();
    }
    this.keep(byte);
    if (byte === QUOTE) this.isString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      this.depth++;
      if (this.depth !== 1) return;
      this.takesName = byte === OPEN_OBJECT;
      this.name = "";
    }
  }

  private keep(byte: number): void {
    if (this.takesName) {
      const isPart = this.isString || byte === QUOTE;
      if (this.depth === 1 && isPart && this.name.length < MAX_NAME_BYTES) this.name += String.fromCharCode(byte);
    } else if (this.isWanted) {
      if (this.value.length < MAX_VALUE_BYTES) this.value += String.fromCharCode(byte);
      else this.isTooLong = true;
    }
  }

  private beginMember(): void {
    this.takesName = false;
    this.name = nameOf(this.name);
    this.isWanted = this.wanted.has(this.name.toLowerCase());
    this.isNested = this.nested?.names.includes(this.name) === true;
    if (this.isNested) this.nested!.members.reset();
    this.value = "";
    this.isTooLong = false;
    this.from = this.at + 1;
  }

  private endMember(): void {
    this.isNested = false;
    if (!this.isWanted) return;
    this.isWanted = false;
    const name = this.name.toLowerCase();
    const count = (this.found.get(name)?.count ?? 0) + 1;
    this.found.set(name, { text: this.isTooLong ? null : this.value, from: this.from, to: this.at, count });
  }
}

/** The name of a member without escapes; "" if it is no string. */
function nameOf(written: string): string {
  try {
    return String(JSON.parse(written));
  } catch {
    return "";
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
