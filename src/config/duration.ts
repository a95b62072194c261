/**
 * Reads a duration: `500ms`, `60s`, `1m30s`, `2h`, `1d12h`, or a whole number (or its digits) of seconds.
 * Gives milliseconds, or -1 when the value is none of these or too long to count exactly. docs/configuration.md#values
 * The package `ms` knows no `1m30s`, counts bare numbers in milliseconds, and takes `1.5h` and `-5s`.
 */
export function parseDuration(value: string | number): number {
  if (typeof value === "number") return inRange(value * 1000);
  const text = value.trim();
  // Some readers of YAML take 060 for octal: it is none.
  if (/^\d+$/.test(text)) return /^0\d/.test(text) ? -1 : inRange(Number(text) * 1000);
  const parts = DURATION.exec(text);
  if (parts === null || text === "") return -1;
  let totalMs = 0;
  for (let i = 0; i < UNITS.length; i++) totalMs += Number(parts[i + 1] ?? 0) * UNITS[i]!.ms;
  return inRange(totalMs);
}

/** Writes milliseconds (a whole number, at least 0) so that `parseDuration` reads the same number: 90000 is `1m30s`. */
export function formatDuration(ms: number): string {
  let rest = ms;
  let text = "";
  for (const unit of UNITS) {
    const count = Math.floor(rest / unit.ms);
    if (count > 0) text += `${count}${unit.name}`;
    rest -= count * unit.ms;
  }
  return text === "" ? "0s" : text;
}

/** The intended meaning of a duration with a space in it or a unit in full, such as `60 sec`; "" if that is not clear. */
export function meantDuration(text: string): string {
  const parts = /^(\d+)\s*([a-z]+)$/i.exec(text.trim());
  const unit = UNIT_WORDS.exec(parts?.[2] ?? "");
  if (parts === null || unit === null) return "";
  return `${parts[1]}${unit[1] === undefined ? unit[0].charAt(0).toLowerCase() : "ms"}`;
}

function inRange(ms: number): number {
  return Number.isSafeInteger(ms) && ms >= 0 ? ms : -1;
}

const DURATION = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/;

const UNIT_WORDS = /^(?:(ms|msecs?|millis|milliseconds?)|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)$/i;

const UNITS = [
  { name: "d", ms: 86_400_000 },
  { name: "h", ms: 3_600_000 },
  { name: "m", ms: 60_000 },
  { name: "s", ms: 1000 },
  { name: "ms", ms: 1 },
] as const;

/** The longest time for which caches and browsers are told to keep something. */
export const TEN_YEARS_MS: number = 10 * 365 * 86_400_000;
