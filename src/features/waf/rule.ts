import type { WAF_CATEGORIES } from "../../memory/counter-rows.ts";
import { InputLocation, type ValueReading } from "./match/value-reading.ts";
import type { WafConfig } from "./settings.ts";

/** The attack that a rule protects against: a label of metrics and incidents. */
type WafCategory = (typeof WAF_CATEGORIES)[number];

/** Weights as in the OWASP Core Rule Set. A traversal match scores at least 5. */
export const CRITICAL_SCORE = 5;
export const ERROR_SCORE = 4;
export const WARNING_SCORE = 3;
export const NOTICE_SCORE = 2;

/**
 * One row of the rule table, beside the detector that reports it; `tests/vectors/waf/rules.json` has what each matches, and
 * look-alikes that it does not. ARCHITECTURE.md says how to add one.
 */
export interface WafRule {
  /** Such as `SQLI-001`: the category, and a number in it. */
  readonly id: string;
  readonly category: WafCategory;
  /** Points that a match adds to the anomaly score, once a request. */
  readonly score: number;
  /** The finding, as `edge waf test` prints it. */
  readonly description: string;
  /**
   * What calls the detector: of all that this rule can match, a part that hardly any other text has. None where keywords of the
   * group, or of another of its rules, are part of it anyway. `KeywordGroup` says how they are written.
   */
  readonly keywords?: readonly string[];
  /** 2 for a rule with more false positives: it counts from `waf.level: 2` on. 1 by default. */
  readonly level?: 2;
  /** Kinds of applications for which it counts at level 1 as well. `waf.profile` */
  readonly profiles?: readonly WafProfile[];
  /** Set for a rule that needs a section of the configuration: `waf.protocol`. */
  readonly needs?: "protocol";
  /** The key of `waf.json` that says whether a find is refused: only then it scores. */
  readonly json?: keyof WafConfig["json"];
  /** Rules of the OWASP Core Rule Set that find the same, its main one first; none if it has no counterpart. */
  readonly crs?: readonly number[];
}

/**
 * The rules that a number of the Core Rule Set switches off: those whose main counterpart it is. What goes by a whole engine there, or finds
 * a part of what a rule here finds, would otherwise take most rules with it.
 */
export function counterpartsOf(number: string, rules: readonly Pick<WafRule, "id" | "crs">[]): string[] {
  return rules.filter(({ crs }) => crs?.[0] === Number(number)).map(({ id }) => id);
}

/** Names of rules, with numbers of the Core Rule Set as the rules that they switch off. */
export function idsOf(names: readonly string[], rules: readonly Pick<WafRule, "id" | "crs">[]): string[] {
  return names.flatMap((name) => (/^\d+$/.test(name) ? counterpartsOf(name, rules) : [name]));
}

/** A technology of applications. docs/waf.md#profiles */
type WafProfile = WafConfig["profile"][number];

/** How sharp a firewall is. docs/waf.md#levels */
export interface Sharpness {
  /** 1, or 2 for all rules. */
  readonly level: number;
  readonly profile: readonly WafProfile[];
  /** Parameters and members that hold code or rich text, by name. `waf.fields` */
  readonly fields?: readonly (readonly [name: string, kind: "text"])[];
  /** What of JSON is refused; absent if nothing is. */
  readonly json?: WafConfig["json"];
  /** Lists of what applications take; absent or off if there are none. */
  readonly protocol?: WafConfig["protocol"] | null;
}

/** Level 1 without profiles. */
export const PLAIN: Sharpness = { level: 1, profile: [] };

/** Whether a rule counts in a field that holds code or rich text: what is no text, or is acted on wherever it is written. */
export function isForTexts({ id, category }: { readonly id: string; readonly category: string }): boolean {
  return !CONTENT.includes(category) || ALSO_FOR_TEXTS.includes(id);
}

/** What texts and programs are about. */
const CONTENT: readonly string[] = ["sqli", "xss", "rce", "lfi", "rfi", "ssrf", "ldap"];
/** External entities of XML, serialized objects: no one writes them. */
const ALSO_FOR_TEXTS: readonly string[] = ["LFI-004", "RCE-010"];

/** Whether a rule counts. */
export function isActive(rule: WafRule, { level, profile }: Sharpness): boolean {
  return (rule.level ?? 1) <= level || (rule.profiles ?? []).some((one) => profile.includes(one));
}

/** Takes a detector's findings. */
export interface DetectionListener {
  /** @param at offset in the value */
  found(rule: WafRule, at: number): void;
}

/** Looks through one value after the other. */
export interface Detector {
  /** Takes time linear in the value's length; `value.steps` counts what costs more than its bytes. */
  analyse(value: ValueReading, listener: DetectionListener): void;
}

/** Wherever a client can put text. */
export const ANY_TEXT: readonly InputLocation[] = [
  InputLocation.Query,
  InputLocation.Agent,
  InputLocation.Header,
  InputLocation.Extension,
  InputLocation.Body,
  InputLocation.Path,
  InputLocation.Segment,
];

/** Values that an application makes something of: not those of fields that browsers and proxies add. */
export const VALUES: readonly InputLocation[] = [
  InputLocation.Query,
  InputLocation.Header,
  InputLocation.Body,
  InputLocation.Segment,
];

/** The same, and the values that an application takes out of the rest of a path. */
export const VALUES_AND_PATHS: readonly InputLocation[] = [...VALUES, InputLocation.PathRest];

/** Wherever the name of a file or of a command can get into one that the server uses. */
export const NAMES: readonly InputLocation[] = [
  InputLocation.Query,
  InputLocation.Header,
  InputLocation.Extension,
  InputLocation.Body,
  InputLocation.Segment,
  InputLocation.PathRest,
];

/** Rules that share a detector, and that detector. */
export interface DetectorGroup {
  readonly rules: readonly WafRule[];
  /** The parts of a request that it inspects. */
  readonly locations: readonly InputLocation[];
  /** Keywords that belong to no single rule. */
  readonly keywords: () => readonly string[];
  /** Makes the detectors; each inspector has its own. They look at a value when one of the group's keywords is in it. */
  readonly detectors: () => readonly Detector[];
}

/** Words separated by blanks. */
export function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}

/** Each of some words, with something in front of it or after it. */
export function each(text: string, change: (word: string) => string | readonly string[]): string[] {
  return words(text).flatMap(change);
}
