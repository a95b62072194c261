import { EMPTY_BYTES, sliceText } from "../../core/bytes.ts";
import { RequestHead } from "../../message/request-head.ts";
import { BUDGET_EXHAUSTED } from "./detectors/protocol-abuse.ts";
import { type IncidentLocation, MAX_SNIPPET_CHARS, snippetOf } from "./incident.ts";
import { InputLocation, type ValueReading } from "./match/value-reading.ts";
import { type DetectionListener, isForTexts, type WafRule } from "./rule.ts";
import type { RuleSwitches } from "./rule-switches.ts";
import { WAF_RULES } from "./rule-table.ts";

/** A rule that matched. */
export interface Finding {
  readonly rule: WafRule;
  readonly location: IncidentLocation;
  /** Name of the parameter, header, cookie or JSON member, lower case; "" for the path. */
  readonly param: string;
  /** Its part of the anomaly score. */
  readonly score: number;
  /** See `snippetOf`. */
  readonly snippet: string;
}

/** Takes rules away for one request. */
interface RuleOverrides {
  /** @param crs numbers of the rule's counterparts @param param the name of what it matched in */
  turnsOff(crs: readonly number[], param: string): boolean;
}

/** What the rules found in one request. A rule counts once, whatever it matched and however often. */
export class Findings implements DetectionListener {
  /** In the order in which they were found. */
  readonly list: Finding[] = [];
  score = 0;
  /** Whether there is something new to tell since `begin` or `mark`. */
  get isNew(): boolean {
    return this.list.length > this.told;
  }
  /** Whether a find refuses the request, whatever the score. */
  refuses = false;
  private told = 0;
  private switches: RuleSwitches;
  private readonly value: ValueReading;
  private head: RequestHead = NO_HEAD;
  /** What rules of `waf.rules` have taken away for this request; null if there are none. */
  overrides: RuleOverrides | null = null;
  private source: Uint8Array = EMPTY_BYTES;
  private sourceFrom = 0;
  private sourceTo = 0;

  /** @param value the reading that detectors look at */
  constructor(switches: RuleSwitches, value: ValueReading) {
    this.switches = switches;
    this.value = value;
  }

  /** Judges by other switches from the next `begin` on. */
  use(switches: RuleSwitches): void {
    this.switches = switches;
  }

  /** Forgets all, for another request. */
  begin(head: RequestHead): void {
    this.head = head;
    this.score = 0;
    this.told = 0;
    this.refuses = false;
    this.switches.begin();
    if (this.list.length > 0) this.list.length = 0;
  }

  /** What there is has been told. */
  mark(): void {
    this.told = this.list.length;
  }

  /** Lets go of the request's bytes. */
  end(): void {
    this.source = EMPTY_BYTES;
    this.value.release();
  }

  /** Says where the value in the reading is on the wire, its name included. */
  setSource(bytes: Uint8Array, from: number, to: number): void {
    this.source = bytes;
    this.sourceFrom = from;
    this.sourceTo = to;
  }

  found(rule: WafRule, at: number): void {
    this.value.steps.take(this.list.length + 1);
    if (this.value.isQuoted && !isForTexts(rule)) return;
    if (this.has(rule) || this.switches.isOff(rule, this.head, this.value)) return;
    const { value } = this;
    const param = sliceText(value.name, 0, value.nameLength);
    if (this.overrides?.turnsOff(rule.crs ?? [], param)) return;
    this.add({ rule, location: LOCATIONS[value.location]!, param, snippet: this.snippet(at) });
  }

  /** A rule on the path has matched. @param at offset in the target. What is shown ends where the query begins. */
  foundInPath(rule: WafRule, at: number): void {
    if (this.switches.isOff(rule, this.head, null)) return;
    this.add({ rule, location: "url", param: "", snippet: snippetOf(this.head.targetBeforeQuery(), at) });
  }

  /** A rule on a part of the head has matched. @param text what is shown of it, one character a byte */
  foundInHead(rule: WafRule, location: IncidentLocation, param: string, text: string): void {
    if (this.has(rule) || this.switches.isOff(rule, this.head, null)) return;
    this.add({ rule, location, param, snippet: snippetOf(text, 0) });
  }

  /** The request's steps are spent: the rest of it is not inspected. */
  foundSpent(): void {
    const { value } = this;
    if (this.has(BUDGET_EXHAUSTED) || this.switches.isOff(BUDGET_EXHAUSTED, this.head, value)) return;
    const param = sliceText(value.name, 0, value.nameLength);
    this.add({ rule: BUDGET_EXHAUSTED, location: LOCATIONS[value.location]!, param, snippet: this.snippet(0) });
  }

  /** The rules in the order of the table. */
  rules(): WafRule[] {
    return WAF_RULES.filter((rule) => this.has(rule));
  }

  /** The finding of the rule with the highest score, of the first in the table on a tie; null if there is none. */
  leader(): Finding | null {
    return this.rules().reduce<Finding | null>((leader, rule) => {
      const finding = this.list.find((one) => one.rule === rule)!;
      return leader === null || finding.score > leader.score ? finding : leader;
    }, null);
  }

  private has(rule: WafRule): boolean {
    return this.list.some((finding) => finding.rule === rule);
  }

  private add(found: Omit<Finding, "score">): void {
    const { rule } = found;
    const refuses = this.switches.refuses(rule);
    const score = rule.json === undefined || refuses ? rule.score : 0;
    this.list.push({ ...found, score });
    this.score += score;
    this.refuses ||= refuses;
  }

  /** What is on the wire where that is short enough, else the reading around the find. */
  private snippet(at: number): string {
    const { source, sourceFrom, sourceTo, value } = this;
    if (sourceTo - sourceFrom <= MAX_SNIPPET_CHARS) return snippetOf(sliceText(source, sourceFrom, sourceTo), 0);
    const from = Math.max(0, at - MAX_SNIPPET_CHARS);
    return snippetOf(sliceText(value.bytes, from, Math.min(value.length, at + MAX_SNIPPET_CHARS)), at - from);
  }
}

const LOCATIONS: Readonly<Record<InputLocation, IncidentLocation>> = {
  [InputLocation.Query]: "query",
  [InputLocation.Agent]: "header",
  [InputLocation.Header]: "header",
  [InputLocation.Extension]: "header",
  [InputLocation.Body]: "body",
  [InputLocation.Path]: "url",
  [InputLocation.Segment]: "url",
  [InputLocation.PathRest]: "url",
};
const NO_HEAD: RequestHead = new RequestHead();
