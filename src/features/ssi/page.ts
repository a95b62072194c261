import { EMPTY_BYTES } from "../../core/bytes.ts";
import type { BodyEditor } from "../../message/editing-sink.ts";
import { isTrue, type PageDirective, readDirective, withVariables } from "./directive.ts";

/** Bytes of one directive; a longer one is text. */
const MAX_DIRECTIVE_BYTES = 4096;
/** Conditions within each other. */
const MAX_NESTING = 16;
/** Variables that one page may set, and characters of a value. */
const MAX_VARIABLES = 100;
const MAX_VALUE_CHARS = 4096;

/** A page asks its surroundings. */
interface PagePorts {
  /** A value of the request; null if there is none. */
  valueOf(name: string): string | null;
  /** The time as `timefmt` has it. */
  timeAs(format: string, isGmt: boolean): string;
  /** Fetches a path of the same host; gives null if there is nothing to include. @returns how to give it up */
  include(path: string, done: (body: Uint8Array | null) => void): () => void;
  /** The include has come. */
  onIncluded(): void;
}

interface Condition {
  isShown: boolean;
  /** Whether a part of it has been shown. */
  isTaken: boolean;
  hasElse: boolean;
}

/** Carries out the directives of a page that comes in pieces. docs/ssi.md */
export class Page implements BodyEditor {
  isWaiting = false;
  private readonly ports: PagePorts;
  private readonly variables: Map<string, string> = new Map();
  private readonly conditions: Condition[] = [];
  private message = "[an error occurred while processing the directive]";
  private timeFormat = "%A, %d-%b-%Y %H:%M:%S %Z";
  private bytes: Buffer = Buffer.alloc(0);
  private isOwn = true;
  private included: Uint8Array | null = null;
  private giveUp: (() => void) | null = null;

  constructor(ports: PagePorts) {
    this.ports = ports;
  }

  feed(bytes: Uint8Array, from: number, to: number): void {
    const piece = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset + from, to - from);
    this.isOwn = this.bytes.length > 0;
    this.bytes = this.isOwn ? Buffer.concat([this.bytes, piece]) : piece;
  }

  next(hasEnded: boolean): Uint8Array | null {
    while (!this.isWaiting) {
      if (this.included !== null) {
        const { included } = this;
        this.included = null;
        if (included.length > 0) return included;
      }
      const { bytes } = this;
      if (bytes.length === 0) return null;
      const mark = bytes.indexOf(OPEN);
      if (mark !== 0) {
        const end = mark > 0 ? mark : bytes.length - (hasEnded ? 0 : beginning(bytes));
        if (end === 0) return null;
        this.bytes = bytes.subarray(end);
        if (this.isShown) return bytes.subarray(0, end);
        continue;
      }
      const close = bytes.subarray(0, MAX_DIRECTIVE_BYTES).indexOf(CLOSE, OPEN.length);
      if (close < 0) {
        if (!hasEnded && bytes.length < MAX_DIRECTIVE_BYTES) return null;
        // It is no directive.
        this.bytes = bytes.subarray(OPEN.length);
        if (this.isShown) return OPEN;
        continue;
      }
      this.bytes = bytes.subarray(close + CLOSE.length);
      const output = this.run(readDirective(bytes.latin1Slice(OPEN.length, close)));
      if (output !== "") return Buffer.from(output, "latin1");
    }
    return null;
  }

  settle(): void {
    if (!this.isOwn && this.bytes.length > 0) this.bytes = Buffer.from(this.bytes);
    this.isOwn = true;
  }

  close(): void {
    this.giveUp?.();
    this.giveUp = null;
    this.bytes = Buffer.from(EMPTY_BYTES);
  }

  private get isShown(): boolean {
    return this.conditions.every((one) => one.isShown);
  }

  /** @returns the text in the place of the directive */
  private run(directive: PageDirective | null): string {
    if (directive === null) return this.isShown ? this.message : "";
    const { name, values } = directive;
    if (name === "if" || name === "elif" || name === "else" || name === "endif") return this.choose(name, values);
    if (!this.isShown) return "";
    if (name === "echo") return this.echo(values);
    if (name === "set") return this.set(values);
    if (name === "config") return this.configure(values);
    return name === "include" ? this.include(values) : this.message;
  }

  private choose(name: string, values: ReadonlyMap<string, string>): string {
    const { conditions } = this;
    const current = conditions.at(-1);
    if (name === "if") {
      if (conditions.length === MAX_NESTING) return this.message;
      const is = isTrue(values.get("expr") ?? "/", this.lookUp);
      const outer = this.isShown;
      conditions.push({ isShown: is === true, isTaken: is === true, hasElse: false });
      return is === null && outer ? this.message : "";
    }
    if (current === undefined) return this.message;
    if (name === "endif") conditions.pop();
    else if (current.hasElse) return this.message;
    else {
      current.hasElse = name === "else";
      const is = name === "else" || isTrue(values.get("expr") ?? "/", this.lookUp) === true;
      current.isShown = is && !current.isTaken;
      current.isTaken ||= is;
    }
    return "";
  }

  private readonly lookUp = (name: string): string => this.find(name)?.text ?? "";

  /** @returns null for an unknown name; the texts of clients are not plain */
  private find(name: string): { readonly text: string; readonly isPlain: boolean } | null {
    const own = this.variables.get(name);
    if (own !== undefined) return { text: own, isPlain: false };
    if (name === "DATE_LOCAL" || name === "DATE_GMT")
      return { text: this.ports.timeAs(this.timeFormat, name === "DATE_GMT"), isPlain: true };
    const value = this.ports.valueOf(name);
    return value === null ? null : { text: value, isPlain: false };
  }

  private echo(values: ReadonlyMap<string, string>): string {
    const name = values.get("var");
    if (name === undefined) return this.message;
    const text = this.find(name)?.text ?? values.get("default") ?? "(none)";
    const encoding = values.get("encoding") ?? "entity";
    if (encoding === "url")
      return text.replace(/[^\w.~-]/g, (one) => `%${one.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`);
    // "none" is not carried out: a value of a client would be code of the page.
    return escaped(text);
  }

  private set(values: ReadonlyMap<string, string>): string {
    const name = values.get("var");
    const value = values.get("value");
    if (name === undefined || value === undefined) return this.message;
    const text = withVariables(value, this.lookUp);
    if (text.length > MAX_VALUE_CHARS || (this.variables.size === MAX_VARIABLES && !this.variables.has(name)))
      return this.message;
    this.variables.set(name, text);
    return "";
  }

  private configure(values: ReadonlyMap<string, string>): string {
    this.message = values.get("errmsg") ?? this.message;
    this.timeFormat = values.get("timefmt") ?? this.timeFormat;
    return "";
  }

  private include(values: ReadonlyMap<string, string>): string {
    const path = values.get("virtual");
    if (path === undefined) return this.message;
    this.isWaiting = true;
    const giveUp = this.ports.include(withVariables(path, this.lookUp), (body) => {
      this.isWaiting = false;
      this.giveUp = null;
      this.included = body ?? Buffer.from(this.message, "latin1");
      this.ports.onIncluded();
    });
    if (this.isWaiting) this.giveUp = giveUp;
    return "";
  }
}

/** Bytes at the end of a piece that may begin a directive. */
function beginning(bytes: Buffer): number {
  for (let length = Math.min(OPEN.length - 1, bytes.length); length > 0; length--)
    if (bytes.subarray(bytes.length - length).equals(OPEN.subarray(0, length))) return length;
  return 0;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}

const OPEN: Buffer = Buffer.from("<!--#");
const CLOSE: Buffer = Buffer.from("-->");
