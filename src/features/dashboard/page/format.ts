import { span } from "../../../core/number-text.ts";

/** How long ago. */
export function ago(ms: number): string {
  return ms < 2000 ? "now" : `${span(ms)} ago`;
}

/** The time of day, with seconds. */
export function clock(at: number): string {
  return TIME.format(at);
}

/** A text of a client without what could turn it round or hide a part of it: control characters and marks of direction. */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "\ufffd");
}

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** A text that begins with a capital letter, unless it begins with a path or an address. */
export function sentence(text: string): string {
  return /^[a-z]+(?: |$)/.test(text) ? text.slice(0, 1).toUpperCase() + text.slice(1) : text;
}
