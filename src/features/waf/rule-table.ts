import { WAF_CATEGORIES } from "../../shared/counter-rows.ts";
import { FILE_GROUP } from "./detectors/file-names.ts";
import { LOOKUP_GROUP } from "./detectors/lookup-expressions.ts";
import { MONGO_GROUP } from "./detectors/mongo-operators.ts";
import { TRAVERSAL_RULES } from "./detectors/path-traversal.ts";
import { LINE_BREAK_GROUP, MESSAGE_RULES, NUL_GROUP } from "./detectors/protocol-abuse.ts";
import { SCANNER_GROUP } from "./detectors/scanner-names.ts";
import { SCRIPT_GROUP } from "./detectors/script-context.ts";
import { CODE_GROUP } from "./detectors/server-code.ts";
import { SHELL_GROUP } from "./detectors/shell-commands.ts";
import { SQL_GROUP } from "./detectors/sql-phrases.ts";
import { SCRIPT_UPLOAD } from "./detectors/upload-names.ts";
import { URL_GROUP } from "./detectors/url-targets.ts";
import { KeywordAutomaton, type KeywordGroup, keywordMemory } from "./match/keyword-automaton.ts";
import { InputLocation } from "./match/value-reading.ts";
import { type DetectorGroup, type WafRule, words } from "./rule.ts";

/** Escapes that are left after the first decoding, for which a value is read once more. Those of bytes beyond ASCII begin with a letter. */
const ESCAPES: DetectorGroup = {
  rules: [],
  locations: [
    InputLocation.Query,
    InputLocation.Header,
    InputLocation.Extension,
    InputLocation.Body,
    InputLocation.Path,
    InputLocation.Segment,
    InputLocation.PathRest,
  ],
  // The last is the class Fold.
  keywords: () => words("%0 %u \\u \\x \xef"),
  detectors: () => [],
};

/** Character references of HTML, in which some pages write what they are sent. Articles that show tags have them, too. */
const REFERENCES: DetectorGroup = {
  rules: [],
  locations: [InputLocation.Query, InputLocation.Segment],
  keywords: () => words("&lt;s &lt;i &lt;b &lt;/ &#00 &#x0 &#000"),
  detectors: () => [],
};

/** A backslash, which in quoted cookies begins an escape of any character. */
const BACKSLASHES: DetectorGroup = {
  rules: [],
  locations: [InputLocation.Header, InputLocation.Extension],
  keywords: () => ["\\"],
  detectors: () => [],
};

/** All detectors of values, in the order in which they look at one; a bit stands for each group, `bitOf`. */
export const DETECTOR_GROUPS: readonly DetectorGroup[] = [
  SQL_GROUP,
  MONGO_GROUP,
  SCRIPT_GROUP,
  SHELL_GROUP,
  CODE_GROUP,
  FILE_GROUP,
  URL_GROUP,
  LOOKUP_GROUP,
  SCANNER_GROUP,
  LINE_BREAK_GROUP,
  NUL_GROUP,
  ESCAPES,
  REFERENCES,
  BACKSLASHES,
];

/** The whole rule table, in the order in which rules are reported: by category, then by number. */
export const WAF_RULES: readonly WafRule[] = [
  ...TRAVERSAL_RULES,
  ...DETECTOR_GROUPS.flatMap((group) => group.rules),
  SCRIPT_UPLOAD,
  ...MESSAGE_RULES,
].sort((a, b) => placeOf(a) - placeOf(b));

export const ESCAPE_BIT: number = bitOf(ESCAPES);
export const REFERENCE_BIT: number = bitOf(REFERENCES);
export const SCRIPT_BIT: number = bitOf(SCRIPT_GROUP);
export const NUL_BIT: number = bitOf(NUL_GROUP);

/** Bits of the groups that look at a location. */
export const QUERY_GROUPS: number = groupsAt(InputLocation.Query);
export const BODY_GROUPS: number = groupsAt(InputLocation.Body);
export const AGENT_GROUPS: number = groupsAt(InputLocation.Agent);
export const EXTENSION_GROUPS: number = groupsAt(InputLocation.Extension);

/** The bits of the groups that look at a location, such as QUERY_GROUPS. */
export function groupsAt(location: InputLocation): number {
  return DETECTOR_GROUPS.filter((group) => group.locations.includes(location)).reduce(
    (bits, group) => bits | bitOf(group),
    0,
  );
}

/** The keywords of each group: its own, and those of its rules. */
export function keywordGroups(): KeywordGroup[] {
  return DETECTOR_GROUPS.map((group) => ({
    bit: bitOf(group),
    keywords: [...group.keywords(), ...group.rules.flatMap((rule) => rule.keywords ?? [])],
  }));
}

/** The automaton of all keywords; made when it is asked for first, since a gateway without a WAF needs none. */
export function keywordAutomaton(): KeywordAutomaton {
  automaton ??= KeywordAutomaton.of(keywordGroups());
  return automaton;
}

/** The tables of all keywords for the workers, so that they are made once and not by each. */
export function sharedKeywords(): SharedArrayBuffer {
  return keywordMemory(keywordGroups());
}

/** @param memory what `sharedKeywords` gave, on another thread */
export function adoptKeywords(memory: SharedArrayBuffer): void {
  automaton ??= KeywordAutomaton.from(memory);
}

function bitOf(group: DetectorGroup): number {
  return 1 << DETECTOR_GROUPS.indexOf(group);
}

function placeOf({ category, id }: WafRule): number {
  return WAF_CATEGORIES.indexOf(category) * 1000 + Number(id.slice(id.indexOf("-") + 1));
}

let automaton: KeywordAutomaton | null = null;
