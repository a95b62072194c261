import { Byte } from "../../core/bytes.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { BodyInspector, type BodyQuestion } from "./body/body-inspector.ts";
import { BodyReading } from "./body/body-reading.ts";
import { adminRule } from "./detectors/admin-paths.ts";
import {
  DotDot,
  isHarmless,
  PathSign,
  pathSigns,
  type RouteFacts,
  TRAVERSAL_RULES,
  TraversalScan,
} from "./detectors/path-traversal.ts";
import { RESTRICTED_FILE, restrictedAt } from "./detectors/restricted-files.ts";
import { Findings } from "./findings.ts";
import { inspectHeaders, mayHeadersMatch } from "./header-inspector.ts";
import { findGroups, findPackedGroups, PAIR_BYTES } from "./match/escaped-scan.ts";
import { SeenValues } from "./match/seen-values.ts";
import { StepBudget } from "./match/step-budget.ts";
import { InputLocation, ValueReading } from "./match/value-reading.ts";
import { inspectPath, mayNameFile, mayPathMatch } from "./path-inspector.ts";
import { ProtocolProfile } from "./protocol-profile.ts";
import { idsOf, isActive, PLAIN, type Sharpness } from "./rule.ts";
import { type RuleExclusion, RuleSwitches } from "./rule-switches.ts";
import { type RuleTables, tablesOf, WAF_RULES } from "./rule-table.ts";
import { inspectPairs, ValueInspector } from "./value-inspector.ts";

/** Applies the rules to requests. What it found of the last one is in `findings`. */
export class WafInspector {
  readonly findings: Findings;
  /** The body that is examined: rules of files look at the same one. */
  readonly body: BodyReading = new BodyReading();
  /** What the inspection of the last request has cost. */
  readonly steps: StepBudget;
  private readonly onSpent: () => void;
  private readonly routes: RouteFacts;
  private readonly tables: RuleTables;
  private readonly queryGroups: number;
  private readonly protocol: ProtocolProfile | null;
  /** Whether rules of level 2 count. */
  private readonly isSharp: boolean;
  private readonly seen: SeenValues = new SeenValues();
  private readonly seenQueries: SeenValues = new SeenValues();
  private readonly traversal: TraversalScan = new TraversalScan();
  private readonly values: ValueInspector;
  private readonly bodies: BodyInspector;
  /** Whether the firewall read all of the last body: false if content codings hide more than it inflates. */
  sawWholeBody = true;

  /**
   * @param disabledRules ids of rules that stay silent
   * @param routes decides on relative paths
   * @param exclusions rules that stay silent in places
   * @param steps what the inspection of a request may cost
   * @param onSpent is called after each inspection that was given up for its cost
   * @param sharpness which rules count
   */
  constructor(
    disabledRules: readonly string[],
    routes: RouteFacts,
    exclusions: readonly RuleExclusion[] = [],
    steps: StepBudget = new StepBudget(),
    onSpent: () => void = () => {},
    sharpness: Sharpness = PLAIN,
  ) {
    this.tables = tablesOf(sharpness);
    this.protocol = ProtocolProfile.of(sharpness.protocol);
    this.isSharp = sharpness.level > 1;
    this.queryGroups = this.tables.groupsAt[InputLocation.Query]!;
    this.routes = routes;
    this.onSpent = onSpent;
    this.steps = steps;
    const value = new ValueReading(steps);
    this.findings = new Findings(switchesOf(disabledRules, exclusions, sharpness), value);
    this.values = new ValueInspector(value, this.findings, this.tables);
    this.bodies = new BodyInspector(this.values, this.findings, this.tables);
  }

  /**
   * Looks at path, query and headers.
   * @returns the anomaly score, 0 for a request that no rule matches
   */
  inspect(head: RequestHead): number {
    this.steps.taken = 0;
    const signs = pathSigns(head);
    const mayClimb = (signs & PathSign.Climb) !== 0;
    const mayPath = mayPathMatch(head, this.tables, this.steps);
    const mayFile = (signs & PathSign.Hidden) !== 0 || mayNameFile(head, this.isSharp);
    const mayQuery = head.targetTo > head.pathTo && this.mayQueryMatch(head);
    const mayHeaders = mayHeadersMatch(this.tables, head.headers, this.seen, this.steps);
    if (this.findings.score > 0) this.findings.begin(head);
    const { protocol } = this;
    if (!mayClimb && !mayPath && !mayFile && !mayQuery && !mayHeaders && protocol === null) return 0;
    this.findings.begin(head);
    this.steps.begin(0, this.steps.taken);
    if (protocol !== null) protocol.inspect(head, this.findings);
    if (mayClimb) this.inspectClimbs(head);
    if (mayFile) this.inspectFileName(head);
    if (mayPath) inspectPath(this.values, head);
    if (mayQuery)
      inspectPairs(this.values, InputLocation.Query, Byte.Ampersand, head.bytes, head.pathTo + 1, head.targetTo);
    if (mayHeaders) inspectHeaders(this.values, head.headers);
    return this.end();
  }

  /**
   * Looks at the body in `body`, and adds what it finds to what the head gave.
   * @param headScore what `inspect` returned of the head: it is examined again if there was something
   * @param question what is known of it beside the head
   * @returns the anomaly score of both
   */
  inspectBody(head: RequestHead, headScore: number, question: BodyQuestion = WHOLE_BODY): number {
    if (headScore > 0) this.inspect(head);
    else this.findings.begin(head);
    this.findings.mark();
    this.sawWholeBody = this.bodies.inspect(this.body, question);
    this.body.release();
    return this.end();
  }

  /**
   * Looks at trailers that follow a request whose head has gone on.
   * @returns the anomaly score of the trailers alone
   */
  inspectTrailers(head: RequestHead, trailers: HeaderBlock): number {
    if (this.findings.score > 0) this.findings.begin(head);
    this.steps.taken = 0;
    if (!mayHeadersMatch(this.tables, trailers, this.seen, this.steps)) return 0;
    this.findings.begin(head);
    this.steps.begin(0, this.steps.taken);
    inspectHeaders(this.values, trailers);
    return this.end();
  }

  private end(): number {
    this.findings.end();
    if (this.steps.isSpent) this.onSpent();
    return this.findings.score;
  }

  private mayQueryMatch(head: RequestHead): boolean {
    // To some origins a fragment is part of the query, or of the path.
    const { bytes, targetTo } = head;
    const from = head.pathTo + 1;
    if (this.seenQueries.has(0, bytes, from, targetTo)) return false;
    const { automaton } = this.tables;
    if ((findGroups(automaton, PAIR_BYTES, bytes, from, targetTo) & this.queryGroups) !== 0) return true;
    if ((findPackedGroups(automaton, bytes, from, targetTo, this.steps) & this.queryGroups) !== 0) return true;
    this.seenQueries.note(bytes, from, targetTo);
    return false;
  }

  private inspectFileName(head: RequestHead): void {
    const { value } = this.values;
    value.location = InputLocation.Path;
    this.values.nameNothing();
    value.loadEscaped(head.bytes, head.pathFrom, head.pathTo, false);
    const start = head.pathFrom - head.targetFrom;
    const at = restrictedAt(value);
    if (at >= 0) this.findings.foundInPath(RESTRICTED_FILE, start + at);
    const rule = adminRule(value);
    if (rule !== null) this.findings.foundInPath(rule, start);
  }

  private inspectClimbs(head: RequestHead): void {
    let spellings = this.traversal.scan(head.bytes, head.pathFrom, head.pathTo);
    if ((spellings & DotDot.Plain) !== 0 && !isHarmless(head.path(), head, this.routes)) {
      spellings |= DotDot.Literal;
    }
    const at = head.pathFrom - head.targetFrom + this.traversal.firstAt;
    for (const rule of TRAVERSAL_RULES) {
      if ((spellings & rule.spelling) !== 0) this.findings.foundInPath(rule, at);
    }
  }
}

/** Which rules are off: by name, by place, or since they are too sharp. */
export function switchesOf(
  disabledRules: readonly string[],
  exclusions: readonly RuleExclusion[],
  sharpness: Sharpness,
): RuleSwitches {
  const inactive = WAF_RULES.filter((rule) => !isActive(rule, sharpness));
  return new RuleSwitches(idsOf(disabledRules, WAF_RULES), exclusions, inactive, sharpness);
}

const WHOLE_BODY: BodyQuestion = { isJson: false, progress: null };
