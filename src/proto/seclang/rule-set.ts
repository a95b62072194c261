/** A set of rules in the language of ModSecurity, as plain data: it goes from thread to thread. docs/waf.md#rules-of-your-own */
export interface RuleSet {
  /** The files that were named, absolute. */
  readonly files: readonly string[];
  readonly engine: RuleEngine;
  /** In the order of the files. */
  readonly entries: readonly RuleEntry[];
}

export type RuleEngine = "on" | "detection" | "off";

/** A rule with its chain, or a place that `skipAfter` names. */
export type RuleEntry = ChainedRule | { readonly marker: string };

export interface ChainedRule {
  readonly id: number;
  /** 1 to 4: head and body of the request, head and body of the response. */
  readonly phase: number;
  /** Where it is written, for messages: `file:line`. */
  readonly place: string;
  readonly disruptive: Disruptive;
  /** The status of `deny`, or of the redirect. */
  readonly status: number;
  /** Where `redirect` leads, with macros. */
  readonly redirect: string;
  readonly log: boolean;
  /** With macros. */
  readonly msg: string;
  /** With macros. */
  readonly logdata: string;
  readonly tags: readonly string[];
  /** 0, emergency, to 7, debug; -1 if it is not said. */
  readonly severity: number;
  readonly ver: string;
  readonly rev: string;
  readonly maturity: number;
  /** Entries that are passed over after a match. */
  readonly skip: number;
  /** The marker up to which they are; "" for none. */
  readonly skipAfter: string;
  /** What must match, one after the other. */
  readonly links: readonly RuleLink[];
}

export type Disruptive = "pass" | "deny" | "drop" | "redirect" | "allow" | "allow-phase" | "allow-request";

/** One rule of a chain. */
export interface RuleLink {
  /** Where to look; none for SecAction, which always matches. */
  readonly targets: readonly RuleTarget[];
  readonly excluded: readonly RuleTarget[];
  /** Null for SecAction. */
  readonly operator: RuleOperator | null;
  readonly transformations: readonly string[];
  readonly multiMatch: boolean;
  readonly capture: boolean;
  readonly setvars: readonly SetVar[];
  readonly controls: readonly RuleControl[];
  /** Its own text for the log, with macros; that of the first rule is the chain's. */
  readonly msg: string;
  readonly logdata: string;
}

/** A variable, and what is wanted of it. */
export interface RuleTarget {
  /** Such as `ARGS`. */
  readonly name: string;
  /** The one that is wanted, lower case; "" for all. */
  readonly key: string;
  /** An expression for names in its place; "" for none. */
  readonly keyExpression: string;
  /** Whether their number is meant. */
  readonly isCount: boolean;
}

export interface RuleOperator {
  readonly name: string;
  readonly negated: boolean;
  /** With macros, where the operator takes any. */
  readonly argument: string;
  /** What files hold, for operators that read some: phrases, networks. */
  readonly lines: readonly string[];
  /** Of an expression: texts of which every match has one, in lower case; null if there are none to go by. */
  readonly literals: readonly string[] | null;
}

/** Sets, adds to, or takes away a variable of the collection TX. Both texts have macros. */
export interface SetVar {
  readonly name: string;
  readonly value: string;
  readonly removes: boolean;
}

/** `ctl`: changes what follows in this request. */
export type RuleControl =
  | { readonly what: "engine"; readonly engine: RuleEngine }
  | { readonly what: "processor"; readonly processor: string }
  | { readonly what: "remove"; readonly rules: RuleNames }
  | { readonly what: "removeTarget"; readonly rules: RuleNames; readonly target: RuleTarget };

/** Rules by number, tag or message. */
export interface RuleNames {
  readonly by: "id" | "tag" | "msg";
  /** For numbers, both ends included. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Whether a rule is meant. */
export function isNamed({ by, from, to, text }: RuleNames, rule: Pick<ChainedRule, "id" | "tags" | "msg">): boolean {
  if (by === "id") return rule.id >= from && rule.id <= to;
  return by === "tag" ? rule.tags.includes(text) : rule.msg === text;
}
