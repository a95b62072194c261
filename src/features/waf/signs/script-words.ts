import { WordSet } from "../match/word-set.ts";

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
/** What ends the expression, the block or the list that a value stands in: ) * + , - ; ] } */
export const OPENERS: readonly number[] = [0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x3b, 0x5d, 0x7d];

export const enum Word {
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
  [Word.Sink, SCRIPT_FUNCTIONS[0]],
  [Word.Evaluator, SCRIPT_FUNCTIONS[1]],
  [Word.Box, SCRIPT_FUNCTIONS[2]],
  [Word.Object, SCRIPT_OBJECTS[0]],
  [Word.Frame, SCRIPT_OBJECTS[1]],
  [Word.Codes, "fromcharcode fromcodepoint"],
  [Word.Decoder, "atob unescape decodeuri decodeuricomponent string"],
  [Word.Maker, "constructor __proto__ $eval getownpropertydescriptor"],
  [Word.Scheme, "javascript vbscript"],
]);
