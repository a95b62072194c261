import type { LiveAttacker } from "./live-state.ts";

/** Requests of one address that were refused for one reason, of late. */
interface Refused {
  readonly address: string;
  readonly reason: string;
  readonly count: number;
  readonly path: string;
  readonly userAgent: string;
  readonly ja4: string;
}

interface Entry {
  refusals: number;
  readonly reasons: Map<string, number>;
  readonly firstAt: number;
  lastAt: number;
  path: string;
  userAgent: string;
  ja4: string;
}

/** The addresses with most refusals of the last minutes. Bounded: the one that was seen longest ago makes way. */
export class Attackers {
  /** The one that was seen last comes last. */
  private readonly entries: Map<string, Entry> = new Map();

  /** @param at milliseconds since the epoch */
  add({ address, reason, count, path, userAgent, ja4 }: Refused, at: number): void {
    const entry = this.entries.get(address) ?? {
      refusals: 0,
      reasons: new Map<string, number>(),
      firstAt: at,
      lastAt: at,
      path: "",
      userAgent: "",
      ja4: "",
    };
    this.entries.delete(address);
    if (this.entries.size >= MAX_ADDRESSES) this.entries.delete(this.entries.keys().next().value!);
    this.entries.set(address, entry);
    entry.refusals += count;
    entry.lastAt = at;
    if (entry.reasons.has(reason) || entry.reasons.size < MAX_REASONS)
      entry.reasons.set(reason, (entry.reasons.get(reason) ?? 0) + count);
    if (path !== "") entry.path = path;
    if (userAgent !== "") entry.userAgent = userAgent;
    if (ja4 !== "") entry.ja4 = ja4;
  }

  /** The worst first; all that have been quiet for long are forgotten. */
  worst(nowMs: number): LiveAttacker[] {
    for (const [address, { lastAt }] of this.entries) {
      if (nowMs - lastAt < QUIET_MS) break;
      this.entries.delete(address);
    }
    return [...this.entries]
      .sort(([, a], [, b]) => b.refusals - a.refusals)
      .slice(0, SHOWN)
      .map(([address, { reasons, ...entry }]) => ({
        address,
        ...entry,
        reasons: [...reasons].sort(([, a], [, b]) => b - a).slice(0, SHOWN_REASONS),
      }));
  }
}

const MAX_ADDRESSES = 1000;
const MAX_REASONS = 16;
const QUIET_MS = 15 * 60_000;
const SHOWN = 20;
const SHOWN_REASONS = 4;
