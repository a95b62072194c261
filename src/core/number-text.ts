// Numbers for people, the same on a page, on a terminal and in a sentence. No locale but English, so that a text can be searched for.

/** A number: `12.3k`, `9,876`, `4.2`, `0.03`. */
export function numberText(value: number): string {
  if (!Number.isFinite(value)) return NOTHING;
  const size = Math.abs(value);
  if (size >= 999_500_000) return `${three(value / 1e9)}G`;
  if (size >= 999_500) return `${three(value / 1e6)}M`;
  if (size >= 10_000) return `${three(value / 1e3)}k`;
  if (size >= 99.95 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return size >= 0.1 ? value.toFixed(1) : value.toFixed(2);
}

/** `1 address`, `2 addresses`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${numberText(value)} ${value === 1 ? one : many}`;
}

/** The same with every digit: `12345 routes`. */
export function exactly(value: number, one: string, many = `${one}s`): string {
  return `${value} ${value === 1 ? one : many}`;
}

/** Bytes, in units of 1024: `1.5 KiB`. */
export function bytes(value: number): string {
  let left = value;
  let unit = 0;
  while (left >= 999.5 && unit < UNITS.length - 1) {
    left /= 1024;
    unit++;
  }
  return `${unit === 0 ? Math.round(left) : three(left)} ${UNITS[unit]}`;
}

/** Milliseconds: `0.25 ms`, `12.3 ms`, `1.5 s`. The gateway measures to a tenth. */
export function durationText(ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms)) return NOTHING;
  if (ms < 0.1) return "< 0.1 ms";
  return ms < 999.5 ? `${three(ms)} ms` : `${three(ms / 1000)} s`;
}

/** A share of 1 in percent: `< 0.1 %`, `3.4 %`, `96 %`. */
export function percentText(share: number): string {
  if (!Number.isFinite(share)) return NOTHING;
  const value = share * 100;
  if (value === 0 || value >= 99.95) return `${Math.round(value)} %`;
  return value < 0.1 ? "< 0.1 %" : `${Number(value.toFixed(value < 9.95 ? 1 : 0))} %`;
}

/** How long something is, in the two largest units, from a minute on without seconds: `12s`, `5m`, `2h 5m`, `3d 4h`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? two(hours, "h", minutes % 60, "m") : two(Math.floor(hours / 24), "d", hours % 24, "h");
}

/** The first names of a list, and how many there are beside them: `a, b, c and 2 more`. */
export function listed(names: readonly string[], most = 3): string {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

/** All names of a list: `a, b and c`. */
export function series(names: readonly string[], last: "and" | "or" = "and"): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} ${last} ${names.at(-1)}`;
}

function two(value: number, unit: string, rest: number, smaller: string): string {
  return rest === 0 ? `${value}${unit}` : `${value}${unit} ${rest}${smaller}`;
}

/** Three digits are what such numbers are good for. */
function three(value: number): string {
  const size = Math.abs(value);
  return String(Number(value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2)));
}

/** In place of a number that is not known. */
const NOTHING = "–";
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
