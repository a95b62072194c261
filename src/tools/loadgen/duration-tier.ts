/** One tier of a run: a duration with a name. */
export interface DurationTier {
  /** `quick`, `medium`, `soak` or `custom`. */
  readonly name: string;
  readonly durationMs: number;
}

/** The words that `-tier` takes. docs/tools.md#load-generator */
export const TIER_WORDS = ["quick", "medium", "steady", "soak", "all"] as const;

const QUICK: DurationTier = { name: "quick", durationMs: 5000 };
const MEDIUM: DurationTier = { name: "medium", durationMs: 60_000 };
const SOAK: DurationTier = { name: "soak", durationMs: 300_000 };
const ALL = [QUICK, MEDIUM, SOAK];
const BY_WORD: Readonly<Record<string, readonly DurationTier[]>> = {
  quick: [QUICK],
  medium: [MEDIUM],
  steady: [MEDIUM],
  soak: [SOAK],
  all: ALL,
};

/** The tiers of a `-tier` word; none for an unknown one. */
export function tiersOf(word: string): readonly DurationTier[] {
  return BY_WORD[word] ?? [];
}

/**
 * The tiers of a list of durations, in order, each duration once. A duration has the name of the tier that is as long.
 * @param durationsMs in milliseconds
 * @param name of a tier whose rules hold whatever the duration; "" for none
 */
export function tiersOfDurations(durationsMs: readonly number[], name: string): DurationTier[] {
  const named = tiersOf(name)[0]?.name;
  return [...new Set(durationsMs)].map((durationMs) => ({
    name: named ?? ALL.find((tier) => tier.durationMs === durationMs)?.name ?? "custom",
    durationMs,
  }));
}

/** A duration as it is in file names and lists: whole seconds such as `60s`, else milliseconds such as `1500ms`. */
export function durationKey(durationMs: number): string {
  return durationMs % 1000 === 0 ? `${durationMs / 1000}s` : `${durationMs}ms`;
}
