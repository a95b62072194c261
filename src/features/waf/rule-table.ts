import { WAF_CATEGORIES } from "../../memory/counter-rows.ts";
import { CONSOLE, DIAGNOSIS } from "./detectors/admin-paths.ts";
import { ASP_GROUP } from "./detectors/asp-code.ts";
import { FILE_GROUP } from "./detectors/file-names.ts";
import { JSON_RULES } from "./detectors/json-readings.ts";
import { LDAP_GROUP } from "./detectors/ldap-filters.ts";
import { LOOKUP_GROUP } from "./detectors/lookup-expressions.ts";
import { MAIL_GROUP } from "./detectors/mail-commands.ts";
import { MONGO_GROUP } from "./detectors/mongo-operators.ts";
import { PAGE_MARKUP_GROUP } from "./detectors/page-markup.ts";
import { TRAVERSAL_RULES } from "./detectors/path-traversal.ts";
import { LINE_BREAK_GROUP, MESSAGE_RULES, NUL_GROUP } from "./detectors/protocol-abuse.ts";
import { RESTRICTED_FILE } from "./detectors/restricted-files.ts";
import { SCANNER_GROUP } from "./detectors/scanner-names.ts";
import { CALL_GROUP } from "./detectors/script-calls.ts";
import { SCRIPT_GROUP } from "./detectors/script-context.ts";
import { CODE_GROUP } from "./detectors/server-code.ts";
import { SHELL_GROUP } from "./detectors/shell-commands.ts";
import { SQL_GROUP } from "./detectors/sql-group.ts";
import { STRICT_COMMAND_GROUP } from "./detectors/strict-commands.ts";
import { STRICT_MARKUP_GROUP } from "./detectors/strict-markup.ts";
import { STRICT_PATH_GROUP } from "./detectors/strict-paths.ts";
import { STRICT_SQL_GROUP } from "./detectors/strict-sql.ts";
import { SYSTEM_PATH_GROUP } from "./detectors/system-paths.ts";
import { SCRIPT_UPLOAD } from "./detectors/upload-names.ts";
import { URL_GROUP } from "./detectors/url-targets.ts";
import { KeywordAutomaton, type KeywordGroup, keywordMemory } from "./match/keyword-automaton.ts";
import { InputLocation } from "./match/value-reading.ts";
import { PROTOCOL_RULES } from "./protocol-profile.ts";
import { LEAK_RULES } from "./responses/leak-rules.ts";
import { ANY_TEXT, type DetectorGroup, isActive, PLAIN, type Sharpness, type WafRule, words } from "./rule.ts";

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
  // The last are the classes Fold, and Lead with what only overlong sequences have behind one.
  keywords: () => words("%0 %u \\u \\x \xef \xe0\x80"),
  detectors: () => [],
};

/** Character references of HTML, in which some pages send form values. Articles that show tags have them, too. */
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
  CALL_GROUP,
  SHELL_GROUP,
  CODE_GROUP,
  ASP_GROUP,
  LDAP_GROUP,
  MAIL_GROUP,
  FILE_GROUP,
  URL_GROUP,
  LOOKUP_GROUP,
  SCANNER_GROUP,
  LINE_BREAK_GROUP,
  NUL_GROUP,
  STRICT_SQL_GROUP,
  STRICT_MARKUP_GROUP,
  STRICT_COMMAND_GROUP,
  STRICT_PATH_GROUP,
  SYSTEM_PATH_GROUP,
  PAGE_MARKUP_GROUP,
  ESCAPES,
  REFERENCES,
  BACKSLASHES,
];

/** The whole rule table, in the order in which rules are reported: by category, then by number. */
export const WAF_RULES: readonly WafRule[] = [
  ...TRAVERSAL_RULES,
  ...DETECTOR_GROUPS.flatMap((group) => group.rules),
  SCRIPT_UPLOAD,
  RESTRICTED_FILE,
  DIAGNOSIS,
  CONSOLE,
  ...MESSAGE_RULES,
  ...PROTOCOL_RULES,
  ...JSON_RULES,
].sort((a, b) => placeOf(a) - placeOf(b));

const ALL_RULES: readonly Pick<WafRule, "id" | "crs">[] = [...WAF_RULES, ...LEAK_RULES];
const MAIN_NUMBERS: ReadonlySet<number> = new Set(ALL_RULES.flatMap(({ crs }) => (crs ?? []).slice(0, 1)));
const OTHER_NUMBERS: ReadonlySet<number> = new Set(
  ALL_RULES.flatMap(({ crs }) => (crs ?? []).slice(1)).filter((number) => !MAIN_NUMBERS.has(number)),
);

/**
 * What exclusions and the like may name: our rules, and those of the Core Rule Set that are the main counterpart of one; with a tilde in front
 * those that only exclusions may name, being counterparts among others.
 */
export const RULE_NAMES: readonly string[] = [
  ...ALL_RULES.map(({ id }) => id),
  ...Array.from(MAIN_NUMBERS, String),
  ...Array.from(OTHER_NUMBERS, (number) => `~${number}`),
];

export const ESCAPE_BIT: number = bitOf(ESCAPES);
export const REFERENCE_BIT: number = bitOf(REFERENCES);
export const SCRIPT_BIT: number = bitOf(SCRIPT_GROUP);
export const NUL_BIT: number = bitOf(NUL_GROUP);

/** What calls the detectors: of the rules that count at level 1, or of all. */
export interface RuleTables {
  readonly automaton: KeywordAutomaton;
  /** By InputLocation: the bits of the groups that look there. */
  readonly groupsAt: readonly number[];
}

/** The tables of a firewall, made at first use, since a gateway without a WAF needs none. */
export function tablesOf(sharpness: Sharpness): RuleTables {
  if (isPlain(sharpness)) {
    plain ??= tables(plainMemory(), PLAIN);
    return plain;
  }
  sharp ??= tables(sharpMemory(), EVERYTHING);
  return sharp;
}

/** The keywords of each group: its own, and those of its rules. */
export function keywordGroups(sharpness: Sharpness = EVERYTHING): KeywordGroup[] {
  return groupsOf(sharpness).map((group) => ({
    bit: bitOf(group),
    keywords: [...group.keywords(), ...group.rules.flatMap((rule) => rule.keywords ?? [])],
  }));
}

/** The tables of keywords for the workers, so that they are made once and not by each. */
export interface KeywordMemory {
  readonly plain: SharedArrayBuffer | null;
  readonly sharp: SharedArrayBuffer | null;
}

/** @param used the firewalls that there are */
export function sharedKeywords(used: readonly Sharpness[]): KeywordMemory {
  const hasPlain = used.some(isPlain);
  const hasSharp = used.some((one) => !isPlain(one));
  return { plain: hasPlain ? plainMemory() : null, sharp: hasSharp ? sharpMemory() : null };
}

/** @param memory what `sharedKeywords` gave, on another thread */
export function adoptKeywords(memory: KeywordMemory): void {
  if (memory.plain !== null) plain ??= tables(memory.plain, PLAIN);
  if (memory.sharp !== null) sharp ??= tables(memory.sharp, EVERYTHING);
}

function plainMemory(): SharedArrayBuffer {
  return keywordMemory(keywordGroups(PLAIN));
}

function sharpMemory(): SharedArrayBuffer {
  return keywordMemory(keywordGroups());
}

function tables(memory: SharedArrayBuffer, sharpness: Sharpness): RuleTables {
  const groups = groupsOf(sharpness);
  const groupsAt = LOCATIONS.map((location) =>
    groups.filter((group) => group.locations.includes(location)).reduce((bits, group) => bits | bitOf(group), 0),
  );
  return { automaton: KeywordAutomaton.from(memory), groupsAt };
}

/** Groups with a rule that counts, and groups that only prepare. */
function groupsOf(sharpness: Sharpness): DetectorGroup[] {
  return DETECTOR_GROUPS.filter(({ rules }) => rules.length === 0 || rules.some((rule) => isActive(rule, sharpness)));
}

/** Whether no rule beyond those of level 1 counts. */
function isPlain({ level, profile }: Sharpness): boolean {
  return level === 1 && profile.length === 0;
}

function bitOf(group: DetectorGroup): number {
  return 1 << DETECTOR_GROUPS.indexOf(group);
}

function placeOf({ category, id }: WafRule): number {
  return WAF_CATEGORIES.indexOf(category) * 1000 + Number(id.slice(id.indexOf("-") + 1));
}

const EVERYTHING: Sharpness = { level: 2, profile: [] };
const LOCATIONS: readonly InputLocation[] = [...ANY_TEXT, InputLocation.PathRest];
let plain: RuleTables | null = null;
let sharp: RuleTables | null = null;
