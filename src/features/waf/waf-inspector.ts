import type { RequestHead } from "../../message/request-head.ts";
import { isHarmless, type RouteFacts } from "./dot-segment-judge.ts";
import { TRAVERSAL_RULES, TraversalSign } from "./traversal-rules.ts";
import { maySpellDotDot, TraversalScan } from "./traversal-scan.ts";
import type { WafRule } from "./waf-rule.ts";

/** Applies the rules to requests. What it found of the last one stands in its fields. */
export class WafInspector {
  /** The rules that matched, in the order of the table. */
  readonly triggered: WafRule[] = [];
  /** Offset in the path of the first thing found. */
  foundAt = 0;
  private readonly routes: RouteFacts;
  private readonly isDisabled: ReadonlySet<string>;
  private readonly traversal: TraversalScan = new TraversalScan();

  /**
   * @param disabledRules ids of rules that stay silent
   * @param routes decides on relative paths
   */
  constructor(disabledRules: readonly string[], routes: RouteFacts) {
    this.isDisabled = new Set(disabledRules);
    this.routes = routes;
  }

  /** @returns the anomaly score, 0 for a request that no rule matches */
  inspect(head: RequestHead): number {
    if (!maySpellDotDot(head)) {
      if (this.triggered.length > 0) this.triggered.length = 0;
      return 0;
    }
    return this.inspectPath(head);
  }

  private inspectPath(head: RequestHead): number {
    this.triggered.length = 0;
    let signs = this.traversal.scan(head.bytes, head.pathFrom, head.pathTo);
    this.foundAt = this.traversal.firstAt;
    if ((signs & TraversalSign.Plain) !== 0 && !isHarmless(head.path(), head, this.routes)) {
      signs |= TraversalSign.Literal;
    }
    let score = 0;
    for (const rule of TRAVERSAL_RULES) {
      if ((signs & rule.sign) === 0 || this.isDisabled.has(rule.id)) continue;
      this.triggered.push(rule);
      score += rule.score;
    }
    return score;
  }
}
