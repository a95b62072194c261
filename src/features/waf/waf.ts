import type { NowMs } from "../../message/ports.ts";
import type { RouteFacts } from "./dot-segment-judge.ts";
import type { IncidentListener } from "./incident.ts";
import { StepBudget } from "./match/step-budget.ts";
import { WafInspector } from "./waf-inspector.ts";
import { type AddressSet, WafJudge, type WafSettings } from "./waf-judge.ts";

/**
 * What the phases of the firewall share, made once a configuration and worker. One inspector serves them all: what it
 * found of a request is judged before it looks at another, and what it has learnt of harmless values serves each.
 */
export class Waf {
  readonly settings: WafSettings;
  readonly inspector: WafInspector;
  readonly judge: WafJudge;
  readonly allowedIps: AddressSet;
  readonly listener: IncidentListener;

  /**
   * @param allowedIps clients that the WAF lets pass
   * @param routes decides on relative paths
   */
  constructor(
    settings: WafSettings,
    allowedIps: AddressSet,
    routes: RouteFacts,
    listener: IncidentListener,
    clock: NowMs,
  ) {
    this.settings = settings;
    const steps = new StepBudget();
    const onSpent = (): void => listener.onBudgetExhausted();
    this.inspector = new WafInspector(settings.disabledRules, routes, settings.exclusions, steps, onSpent);
    this.judge = new WafJudge(settings, listener, clock);
    this.allowedIps = allowedIps;
    this.listener = listener;
  }
}
