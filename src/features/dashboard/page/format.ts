/** A number for people: 12,345, 4.2, 0.031. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return `${short(value / 1e6)} M`;
  if (size >= 10_000) return `${short(value / 1e3)} k`;
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return size >= 10 ? value.toFixed(1) : value.toFixed(size >= 0.1 ? 1 : size === 0 ? 0 : 2);
}

/** Bytes with a unit of 1024. */
export function bytes(value: number): string {
  let unit = 0;
  let rest = value;
  while (rest >= 1000 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit++;
  }
  return `${unit === 0 ? Math.round(rest) : short(rest)} ${UNITS[unit]}`;
}

/** Milliseconds as ms or s; the gateway measures to a tenth. */
export function duration(ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms)) return "–";
  if (ms < 0.1) return "< 0.1 ms";
  if (ms < 1) return `${Number(ms.toFixed(2))} ms`;
  if (ms < 999.5) return `${Number(short(ms))} ms`;
  return `${Number(short(ms / 1000))} s`;
}

/** A share of 1 in percent. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  if (value === 0 || value >= 99.95) return `${Math.round(value)} %`;
  return value < 0.1 ? "< 0.1 %" : `${value.toFixed(value < 10 ? 1 : 0)} %`;
}

/** How long a time is: 12 s, 3 min, 4 h, 5 days. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** How long ago. */
export function ago(ms: number): string {
  return ms < 2000 ? "now" : `${span(ms)} ago`;
}

/** The time of day, with seconds. */
export function clock(at: number): string {
  return TIME.format(at);
}

/** `1 address`, `2 addresses`. */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** A text of a client without what could turn it round or hide a part of it: control characters and marks of direction. */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "\ufffd");
}

function short(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1);
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
