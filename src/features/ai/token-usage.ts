import { Byte } from "../../core/bytes.ts";
import { TopMembers } from "./top-members.ts";

/** Tokens of one request and its response. */
interface TokenUsage {
  readonly prompt: number;
  readonly completion: number;
}

/** More than any model takes: a number beyond it is no count. */
const MAX_COUNT = 100_000_000;
const DATA = "data:";

/** Finds the usage that a response says, as its body passes. */
export interface UsageReader {
  feed(bytes: Uint8Array, from: number, to: number): void;
  /** The counts that the response has; null without any. */
  readonly usage: TokenUsage | null;
  /** Tokens of the response by its length, for want of anything better. */
  readonly guess: number;
}

/** The reader for a response of this type. @param type as Content-Type says it */
export function usageReader(type: string): UsageReader {
  return /^text\/event-stream\b/i.test(type.trim()) ? new StreamUsage() : new WholeUsage();
}

/** A response in one piece: the member `usage` of its outermost object. */
class WholeUsage implements UsageReader {
  private readonly members: TopMembers = new TopMembers(["usage"]);
  private bytes = 0;

  feed(bytes: Uint8Array, from: number, to: number): void {
    this.bytes += to - from;
    this.members.feed(bytes, from, to);
  }

  get usage(): TokenUsage | null {
    return readUsage(this.members.get("usage")?.text ?? null, null);
  }

  get guess(): number {
    return tokensIn(this.bytes);
  }
}

/**
 * A stream of events: the last `data:` with a usage, which may be of events before it as well. Events of `/responses` and `/messages` have it in an object
 * that they are about.
 */
class StreamUsage implements UsageReader {
  private readonly inner: TopMembers = new TopMembers(["usage"]);
  private readonly members: TopMembers = new TopMembers(["usage"], {
    names: ["response", "message"],
    members: this.inner,
  });
  /** Bytes of the line's `data:` that have come; more than that once it is there, -1 in another line. */
  private matched = 0;
  private events = 0;
  usage: TokenUsage | null = null;

  feed(bytes: Uint8Array, from: number, to: number): void {
    for (let i = from; i < to; i++) {
      const byte = bytes[i]!;
      if (byte === Byte.Lf || byte === Byte.Cr) this.endLine();
      else if (this.matched === DATA.length) this.members.feed(bytes, i, i + 1);
      else if (this.matched >= 0) this.matched = byte === DATA.charCodeAt(this.matched) ? this.matched + 1 : -1;
    }
  }

  /** About a token an event. */
  get guess(): number {
    return this.events;
  }

  private endLine(): void {
    if (this.matched === DATA.length) {
      this.events++;
      const said = this.members.get("usage") ?? this.inner.get("usage");
      this.usage = readUsage(said?.text ?? null, this.usage) ?? this.usage;
      this.members.reset();
    }
    this.matched = 0;
  }
}

/** About so many tokens have these bytes of text. */
export function tokensIn(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** Reads the value of a member `usage`; null without any count. @param before an earlier usage, whose prompt counts if this one has none */
function readUsage(text: string | null, before: TokenUsage | null): TokenUsage | null {
  let value: unknown = null;
  try {
    value = JSON.parse(text ?? "null");
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const said = value as Readonly<Record<string, unknown>>;
  const asked = said.prompt_tokens ?? said.input_tokens;
  // Anthropic counts the cached parts of a request apart.
  const cached = countOf(said.cache_creation_input_tokens) + countOf(said.cache_read_input_tokens);
  const prompt = asked === undefined ? (before?.prompt ?? 0) : countOf(asked) + cached;
  const completion = countOf(said.completion_tokens ?? said.output_tokens);
  // Some count what a model has thought in the total alone.
  const all = Math.max(countOf(said.total_tokens), prompt + completion);
  return all > 0 ? { prompt, completion: all - prompt } : null;
}

/** 0 without a value, NaN for no count. */
function countOf(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_COUNT
    ? (value as number)
    : NaN;
}
