import { Byte } from "../../../core/ascii.ts";
import { WordSet } from "../match/word-set.ts";

/** Whether `bytes[from, to)` names an attribute that holds a program: onclick, onerror, … */
export function isHandlerName(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from < SHORTEST || to - from > LONGEST || bytes[from] !== LOWER_O || bytes[from + 1] !== LOWER_N)
    return false;
  for (let at = from + 2; at < to; at++) {
    if (bytes[at]! < Byte.LowerA || bytes[at]! > Byte.LowerZ) return false;
  }
  for (let length = MIN_STEM; length <= MAX_STEM && from + 2 + length <= to; length++) {
    if (STEMS.valueOf(bytes, from + 2, from + 2 + length) !== 0) return true;
  }
  return false;
}

/** What the names of events begin with, separated by blanks. */
export const EVENT_STEMS: string = [
  "abort activate after animation autocomplete aux before begin blur bounce cancel canplay cellchange change",
  "click close command contextmenu controlselect copy cuechange cut dataavailable dataset dbl deactivate device",
  "drag drop duration emptied end error filterchange finish focus form fullscreen gesture got hashchange help",
  "input invalid key layout load losecapture lost media message mouse move navigate offline online orientation",
  "page paste pause play pointer popstate progress property rate ready reject repeat reset resize row scroll",
  "search seek select show slotchange stalled start storage submit suspend timeupdate toggle touch transition",
  "unhandled unload volume wait webkit wheel moz open outofsync snap security timeerror urlflip trackchange",
  "resume reverse mediacomplete contentvisib enter leave encrypted language gamepad",
].join(" ");
const STEMS: WordSet = new WordSet([[1, EVENT_STEMS]]);
const MIN_STEM = 3;
const MAX_STEM = 13;
const SHORTEST = 5;
const LONGEST = 40;
const LOWER_N = 0x6e;
const LOWER_O = 0x6f;
