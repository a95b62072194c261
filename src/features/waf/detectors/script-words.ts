import { isLowerLetter } from "../../../core/bytes.ts";
import { WordSet } from "../match/word-set.ts";

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
/** Functions that attacks on a page call, separated by blanks. */
export const SCRIPT_FUNCTIONS: readonly [sinks: string, evaluators: string, boxes: string] = [
  "print fetch import write writeln open",
  "eval settimeout setinterval setimmediate function execscript",
  "alert prompt confirm msgbox",
];
/** What a program in a page starts from. */
export const SCRIPT_OBJECTS: readonly [objects: string, frames: string] = [
  "document window location localstorage sessionstorage navigator",
  "self top parent frames globalthis this",
];

/** Whether `bytes[from, to)` names an attribute that holds a program: onclick, onerror, … */
export function isHandlerName(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from < SHORTEST || to - from > LONGEST || bytes[from] !== LOWER_O || bytes[from + 1] !== LOWER_N)
    return false;
  for (let at = from + 2; at < to; at++) {
    if (!isLowerLetter(bytes[at]!)) return false;
  }
  for (let length = MIN_STEM; length <= MAX_STEM && from + 2 + length <= to; length++) {
    if (STEMS.valueOf(bytes, from + 2, from + 2 + length) !== 0) return true;
  }
  return false;
}

export const SECRETS: WordSet = new WordSet([[1, "cookie localstorage sessionstorage domain location"]]);
export const SCRIPT = 1;
export const DATA = 2;
export const SCHEMES: WordSet = new WordSet([
  [SCRIPT, "javascript vbscript livescript jscript"],
  [DATA, "data"],
]);
export const DOCUMENTS: WordSet = new WordSet([[1, "text/html application/xhtml+xml text/xml text/javascript"]]);
export const VOID: WordSet = new WordSet([[1, "void"]]);
/** ( = " ' */
export const BEFORE_URL: readonly number[] = [0x28, 0x3d, 0x22, 0x27];
/** What ends the expression, the block or the list that a value is in: ) * + , - ; ? ] } */
export const OPENERS: readonly number[] = [0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x3b, 0x3f, 0x5d, 0x7d];

export const enum ScriptWord {
  /** A function that attacks call, and others too. */
  Sink = 1,
  /** One that runs text. */
  Evaluator,
  /** One that shows that a program ran. */
  Box,
  /** What a program in a page starts from. */
  Object,
  /** A window: only its brackets tell it from a word of prose. */
  Frame,
  /** Turns numbers into a program. */
  Codes,
  /** Turns text into a program. */
  Decoder,
  /** Leads from any value to Function. */
  Maker,
  Scheme,
}

export const WORDS: WordSet = new WordSet([
  [ScriptWord.Sink, SCRIPT_FUNCTIONS[0]],
  [ScriptWord.Evaluator, SCRIPT_FUNCTIONS[1]],
  [ScriptWord.Box, SCRIPT_FUNCTIONS[2]],
  [ScriptWord.Object, SCRIPT_OBJECTS[0]],
  [ScriptWord.Frame, SCRIPT_OBJECTS[1]],
  [ScriptWord.Codes, "fromcharcode fromcodepoint"],
  [ScriptWord.Decoder, "atob unescape decodeuri decodeuricomponent string"],
  [ScriptWord.Maker, "constructor __proto__ $eval getownpropertydescriptor"],
  [ScriptWord.Scheme, "javascript vbscript"],
]);

const STEMS: WordSet = new WordSet([[1, EVENT_STEMS]]);
const MIN_STEM = 3;
const MAX_STEM = 13;
const SHORTEST = 5;
const LONGEST = 40;
const LOWER_N = 0x6e;
const LOWER_O = 0x6f;
