import { sliceText } from "../../core/bytes.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { canonicalise } from "../../proto/target/canonical-path.ts";
import { decodeFully } from "../../proto/target/percent-decoding.ts";
import { InputLocation, MAX_FIELD_NAME_BYTES, type ValueReading } from "./match/value-reading.ts";
import { isForTexts, type Sharpness, type WafRule } from "./rule.ts";

/** Switches one rule, or with `SQLI-*` its whole family, off for a path and all below it, and where `param` is named for one parameter; "" means any. */
export interface RuleExclusion {
  readonly rule: string;
  readonly path: string;
  readonly param: string;
}

/** What switches go by: of a rule of requests or of responses. */
interface SwitchedRule extends Pick<WafRule, "id" | "crs"> {
  readonly category: string;
}

/** Which rules are off, where: `disabled_rules`, `exclusions`. docs/waf.md#false-positives */
export class RuleSwitches {
  private readonly disabled: ReadonlySet<string>;
  /** Names of the fields that hold text. */
  private readonly texts: ReadonlySet<string>;
  private readonly exclusions: ReadonlyMap<string, readonly PlacedExclusion[]>;
  /** What of JSON is refused. */
  private readonly json: Sharpness["json"];
  /** Tells requests apart. */
  private request = 0;

  /**
   * @param disabledRules ids
   * @param inactive rules that are too sharp for the firewall
   * @param sharpness see there
   */
  constructor(
    disabledRules: readonly string[],
    exclusions: readonly RuleExclusion[],
    inactive: readonly WafRule[] = [],
    { fields = [], json }: Pick<Sharpness, "fields" | "json"> = {},
  ) {
    this.json = json;
    this.disabled = new Set([...disabledRules, ...inactive.map((rule) => rule.id)]);
    this.texts = new Set(fields.map(([name]) => name.toLowerCase().slice(0, MAX_FIELD_NAME_BYTES)));
    this.exclusions = Map.groupBy(exclusions.map(placed), (exclusion) => exclusion.rule);
  }

  /** Another request comes. */
  begin(): void {
    this.request++;
  }

  /** Whether a find refuses the request by itself. */
  refuses({ json }: Pick<WafRule, "json">): boolean {
    return json !== undefined && this.json?.[json] === "refuse";
  }

  /** Whether a rule counts nowhere. */
  isDisabled(rule: SwitchedRule): boolean {
    return this.disabled.has(rule.id);
  }

  /**
   * Whether a rule that has matched does not count. Asked of few requests, so strings are made here.
   * @param value what it matched in; null for the path, which has no name
   */
  isOff(rule: SwitchedRule, head: RequestHead, value: ValueReading | null): boolean {
    if (this.isDisabled(rule)) return true;
    if (this.texts.size > 0 && value !== null && !isForTexts(rule) && this.isText(value)) return true;
    if (this.exclusions.size === 0) return false;
    const family = `${rule.id.slice(0, rule.id.lastIndexOf("-"))}-*`;
    return [rule.id, family, ...numbersOf(rule)].some((name) => this.isExcluded(name, head, value));
  }

  /** Whether a rule of `waf.rules` that has matched does not count. @param param the name of what it matched in; "" for none */
  excludes(id: string, head: RequestHead, param: string): boolean {
    const name = param.toLowerCase().slice(0, MAX_FIELD_NAME_BYTES);
    const last = name.slice(name.lastIndexOf(".") + 1);
    return (this.exclusions.get(id) ?? []).some(
      (one) => (one.param === "" || one.param === name || one.param === last) && this.isInPlace(one, head),
    );
  }

  /** Whether a value is one of a field that holds text; what a header or a cookie is called does not count. */
  private isText(value: ValueReading): boolean {
    if (value.location !== InputLocation.Query && value.location !== InputLocation.Body) return false;
    if (value.isName) return false;
    const name = sliceText(value.name, 0, value.nameLength);
    return this.texts.has(name) || this.texts.has(dotted(name));
  }

  private isExcluded(name: string, head: RequestHead, value: ValueReading | null): boolean {
    const exclusions = this.exclusions.get(name);
    return exclusions?.some((exclusion) => this.isInPlace(exclusion, head) && isNamed(exclusion.param, value)) ?? false;
  }

  /** Whether the request is below the exclusion's path; worked out once, however many values of a request match. */
  private isInPlace(exclusion: PlacedExclusion, head: RequestHead): boolean {
    if (exclusion.request !== this.request) {
      exclusion.request = this.request;
      exclusion.isInPlace = isBelow(exclusion.path, head);
    }
    return exclusion.isInPlace;
  }
}

/** An exclusion, and whether the request at hand is in its place. */
interface PlacedExclusion extends RuleExclusion {
  /** The request that this was worked out for. */
  request: number;
  isInPlace: boolean;
}

/** The numbers of its counterparts. */
function numbersOf({ crs }: SwitchedRule): string[] {
  return (crs ?? []).map(String);
}

/** `post[body]`, as forms name what is `post.body` in JSON. */
function dotted(name: string): string {
  return name.replaceAll("[", ".").replaceAll("]", "");
}

function placed(exclusion: RuleExclusion): PlacedExclusion {
  const param = exclusion.param.toLowerCase().slice(0, MAX_FIELD_NAME_BYTES);
  return { ...exclusion, param, request: -1, isInPlace: false };
}

/** A JSON member may be named by its whole path or by its own name. */
function isNamed(param: string, value: ValueReading | null): boolean {
  if (param === "") return true;
  if (value === null) return false;
  const name = sliceText(value.name, 0, value.nameLength);
  return name === param || name.slice(value.lastNameFrom) === param;
}

/** Whether the request's path lies below a prefix however it is read, so that no spelling gains an exclusion. */
function isBelow(prefix: string, head: RequestHead): boolean {
  if (prefix === "" || prefix === "/") return true;
  const raw = head.path();
  const decoded = decodeFully(raw).text;
  // As servers read it that know parameters of segments, or take a backslash for a slash.
  const plain = decoded.replaceAll("\\", "/").replace(/;[^/]*/g, "");
  return [raw, decoded, plain].every((reading) => {
    const { canonical } = canonicalise(reading);
    return canonical === prefix || canonical.startsWith(`${prefix}/`);
  });
}
