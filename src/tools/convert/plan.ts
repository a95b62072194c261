import type { Condition } from "./condition.ts";
import type { Keys } from "./keys.ts";
import { Ledger } from "./ledger.ts";
import { type PathRule, ROOT } from "./path-rule.ts";
import type { Statement } from "./statement.ts";

/** One rule of the other gateway, to become a route. The first rule that fits a request takes it. */
export interface Rule {
  /** The directive that it comes of. */
  readonly origin: Statement;
  /** The rule in a few words, for its comment. */
  readonly title: string;
  /** Names, or `*.` and a name; empty for every host. */
  hosts: readonly string[];
  path: PathRule;
  /** Empty for every method. */
  methods: string[];
  /** `match` of the route. */
  match: Keys;
  /** Requests that fit one of these go on to later rules (exceptions.ts). */
  notAny?: readonly Condition[];
  /** Of a folder of files: whether its folders have their page. */
  folders?: "served" | "closed";
  /** A path that it takes and the other gateway leaves to later rules. */
  givesBack?: PathRule;
  /** All other keys of the route, `type` first. */
  keys: Keys;
  /** Whose notes are shown at the route, beside those of `origin`. */
  readonly scopes: Statement[];
  /** Names in `server.listeners` at which it counts; every address without it. */
  readonly listeners?: readonly string[];
}

/** A stream of the new file. */
export interface PlannedStream {
  /** The directive that it comes of. */
  readonly origin: Statement;
  /** `type` first. */
  readonly keys: Keys;
}

/** A map of the new file. docs/routing.md#maps */
export interface PlannedMap {
  /** The directive that it comes of. */
  readonly origin: Statement;
  readonly name: string;
  readonly keys: Keys;
}

/** What a converter has made of the files. */
export class Plan {
  readonly ledger: Ledger = new Ledger();
  /** Sections of config.yaml. */
  readonly config: { server: Keys; proxy: Keys } = { server: {}, proxy: {} };
  readonly rules: Rule[] = [];
  readonly maps: PlannedMap[] = [];
  /** What becomes streams, which have no order. docs/streams.md */
  readonly streams: PlannedStream[] = [];
  /** The name of the product, for the first line of the files. */
  readonly product: string;

  constructor(product: string) {
    this.product = product;
  }
}

/** A rule for every host and path that does nothing yet. */
export function ruleOf(origin: Statement, title: string, keys: Keys): Rule {
  return {
    origin,
    title,
    hosts: [],
    path: ROOT,
    methods: [],
    match: {},
    keys,
    scopes: [],
  };
}

/** Whether the keys are those of a route of this type. */
export function hasType({ type }: Keys, name: "upstream" | "static" | "redirect" | "respond"): boolean {
  return type === name;
}

/** Whether a rule lets requests of its place through to later ones, by its expression for the path. */
export function isPartial({ keys }: Rule): boolean {
  return keys.regex !== undefined;
}

/** Keeps clients out: where what decides about them could not be carried over. */
export function closed(rule: Rule): void {
  responseBy(rule, { type: "respond", status: 503, body: CLOSED });
}

/** Puts a response in the place of what a rule does. Its expression stays: without it, the rule would take all paths of its place. */
export function responseBy(rule: Rule, keys: Keys): void {
  const { regex } = rule.keys;
  rule.keys = regex === undefined ? keys : { ...keys, regex };
}

/** Milliseconds as a duration of the files. */
export function durationSetting(ms: number): string {
  if (ms % 3_600_000 === 0 && ms > 0) return `${ms / 3_600_000}h`;
  if (ms % 60_000 === 0 && ms > 0) return `${ms / 60_000}m`;
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${Math.round(ms)}ms`;
}

const CLOSED = "This address is not set up yet.\n";

/** Whether a route refuses whatever it is asked. */
export function isRefusal(keys: Keys): boolean {
  return hasType(keys, "respond") && Number(keys.status) >= 400;
}
