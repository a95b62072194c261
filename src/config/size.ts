/**
 * Reads a size: a whole number (or its digits) of bytes, `512KiB`, `4MiB`, `1GiB` (powers of 1024), or `4MB`
 * (powers of 1000), in any letter case. Gives bytes, or -1 when the value is none of these or too large to count
 * exactly. A negative number is handed back as it is, for the caller to judge. docs/configuration.md#values
 * The package `bytes` (3.1.2) takes `4MiB` for 4 bytes and `4MB` for 4 MiB.
 */
export function parseSize(value: string | number): number {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : -1;
  const parts = SIZE.exec(value.trim());
  if (parts === null) return -1;
  const bytes = Number(parts[1]) * (FACTORS.get((parts[2] ?? "").toLowerCase()) ?? Number.NaN);
  return Number.isSafeInteger(bytes) ? bytes : -1;
}

/** Writes bytes (a whole number, at least 0) so that `parseSize` reads the same number: 4194304 is `4MiB`. */
export function formatSize(bytes: number): string {
  for (const [name, factor] of BINARY) {
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor}${name}`;
  }
  return String(bytes);
}

/** The intended meaning of a size with a short unit, such as `10m` or `10 Mi`; "" if that is not clear. */
export function meantSize(text: string): string {
  const parts = /^(\d+)\s*([kmgt])i?$/i.exec(text.trim());
  return parts === null ? "" : `${parts[1]}${parts[2]!.toUpperCase()}iB`;
}

/** Digits alone have no zero in front, which some readers of YAML take for octal. */
const SIZE = /^(?!0\d+$)(\d+) ?([a-zA-Z]*)$/;

const BINARY = [
  ["TiB", 1024 ** 4],
  ["GiB", 1024 ** 3],
  ["MiB", 1024 ** 2],
  ["KiB", 1024],
] as const;

const FACTORS = new Map<string, number>([
  ["", 1],
  ["b", 1],
  ["kib", 1024],
  ["mib", 1024 ** 2],
  ["gib", 1024 ** 3],
  ["tib", 1024 ** 4],
  ["kb", 1000],
  ["mb", 1000 ** 2],
  ["gb", 1000 ** 3],
  ["tb", 1000 ** 4],
]);
