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
    return readUsage(this.members.get("usage")?.text ?? null);
  }

  get guess(): number {
    return tokensIn(this.bytes);
  }
}

/** A stream of events: the last `data:` with a usage, which may be of events before it as well. */
class StreamUsage implements UsageReader {
  private readonly members: TopMembers = new TopMembers(["usage"]);
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
      this.usage = readUsage(this.members.get("usage")?.text ?? null) ?? this.usage;
      this.members.reset();
    }
    this.matched = 0;
  }
}

/** About so many tokens have these bytes of text. */
export function tokensIn(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** Reads the value of a member `usage`; null without any count. */
function readUsage(text: string | null): TokenUsage | null {
  let value: unknown = null;
  try {
    value = JSON.parse(text ?? "null");
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const said = value as Readonly<Record<string, unknown>>;
  const prompt = said.prompt_tokens ?? said.input_tokens ?? 0;
  const completion = said.completion_tokens ?? said.output_tokens ?? 0;
  const total = said.total_tokens ?? 0;
  if (!isCount(prompt) || !isCount(completion) || !isCount(total)) return null;
  // Some count what a model has thought in the total alone.
  const all = Math.max(total, prompt + completion);
  return all === 0 ? null : { prompt, completion: all - prompt };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_COUNT;
}
